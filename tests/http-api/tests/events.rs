//! What the IM backend hands in, as it lies in the log.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use readmark_domain::fact::{AckFact, ConversationFact, MarkFact};
use readmark_events::Topic;
use readmark_test_http_api::{Api, Mood, NOW_MS, Token};
use serde_json::json;

/// One of each, with reads before what they need.
fn one_of_each() -> serde_json::Value {
    json!({"events": [
        {"type": "read", "uid": "8", "endpoint": "phone", "conversation_id": "c1", "up_to_seq": "12", "occurred_at": "5"},
        {"type": "acked", "uid": "8", "conversation_id": "c1", "occurred_at": "5", "messages": [
            {"seq": "3", "sender_uid": "7"}, {"seq": 1, "sender_uid": 9}, {"seq": "2", "sender_uid": "7"},
            {"seq": "4", "sender_uid": "8"}]},
        {"type": "message_sent", "conversation_id": "c1", "seq": "1", "msg_id": "901", "sender_uid": "7",
            "occurred_at": NOW_MS.to_string(), "countable": true, "mentions": ["8"], "mention_all": false},
        {"type": "message_sent", "conversation_id": "c1", "seq": 2, "msg_id": 902, "sender_uid": 7, "occurred_at": NOW_MS + 60_000},
        {"type": "message_recalled", "conversation_id": "c1", "seq": "1", "occurred_at": "6"},
        {"type": "seq_skipped", "conversation_id": "c1", "from": "4", "to": "6", "occurred_at": "6"},
        {"type": "user_settings", "uid": "8", "receipts": true, "occurred_at": "6"},
        {"type": "member_joined", "conversation_id": "c1", "uid": "8", "at_seq": "0", "occurred_at": "6"},
        {"type": "member_left", "conversation_id": "c1", "uid": "8", "at_seq": "5", "occurred_at": "6"},
        {"type": "member_left", "conversation_id": "c1", "uid": "9", "occurred_at": "6", "a_field_of_tomorrow": {}},
        {"type": "conversation_closed", "conversation_id": "c1", "closed": true, "occurred_at": "6"},
        {"type": "conversation_policy", "conversation_id": "c1", "receipts": "count", "occurred_at": "6"}
    ]})
}

#[tokio::test(start_paused = true)]
async fn every_event_becomes_its_fact_and_conversations_come_first() {
    let api = Api::default();
    let answer = api.post(Token::Service, "/v1/events", &one_of_each()).await;
    assert_eq!((answer.status.as_u16(), answer.json()), (202, json!({"accepted": 12})), "{}", answer.text);
    let topics: Vec<Topic> = api.log.records().iter().map(|record| record.topic).collect();
    let of_conversations = topics.iter().filter(|topic| **topic == Topic::ConversationEvents).count();
    assert!(
        topics[..of_conversations].iter().all(|topic| *topic == Topic::ConversationEvents),
        "no read lies before the message it needs: {topics:?}"
    );
    let kinds: Vec<&str> = api
        .log
        .facts::<ConversationFact>()
        .iter()
        .map(|fact| match fact {
            ConversationFact::MessageSent(_) => "sent",
            ConversationFact::MessageRecalled(_) => "recalled",
            ConversationFact::SeqSkipped(_) => "skipped",
            ConversationFact::MemberJoined(_) => "joined",
            ConversationFact::MemberLeft(_) => "left",
            ConversationFact::ConversationClosed(_) => "closed",
            ConversationFact::ConversationPolicy(_) => "policy",
            ConversationFact::HeadImported(_) => "imported",
        })
        .collect();
    assert_eq!(kinds, ["sent", "sent", "recalled", "skipped", "joined", "left", "left", "closed", "policy"]);
    let acks: Vec<_> = api
        .log
        .facts::<AckFact>()
        .into_iter()
        .map(|fact| match fact {
            AckFact::Receipts(one) => {
                let seqs: Vec<u64> = one.seqs.iter().map(|seq| seq.get()).collect();
                (one.sender_uid.get(), one.reader_uid.get(), seqs, one.occurred_at.get())
            }
            AckFact::Recount(recount) => panic!("{recount:?}"),
        })
        .collect();
    assert_eq!(
        acks,
        [(7, 8, vec![2, 3], 5), (9, 8, vec![1], 5)],
        "by sender, without the reader's own message"
    );
    let marks: Vec<MarkFact> = api.log.facts();
    assert!(matches!(&marks[..], [MarkFact::ReadUpTo(_), MarkFact::UserSettings(_)]), "{marks:?}");
    assert!(
        api.log
            .records()
            .iter()
            .all(|record| record.headers.iter().any(|(name, _)| name == "accepted-at-ms"))
    );
}

#[tokio::test(start_paused = true)]
async fn when_the_log_is_away_nothing_is_promised() {
    let api = Api::default();
    for (mood, slug) in
        [(Mood::Away, "unavailable"), (Mood::NeverAnswering, "unavailable"), (Mood::Refusing, "internal")]
    {
        api.log.set_mood(mood);
        assert_eq!(api.post(Token::Service, "/v1/events", &one_of_each()).await.problem(), slug, "{mood:?}");
    }
    api.store.set_away(true);
    api.log.set_mood(Mood::Fine);
    let answer = api.post(Token::Service, "/v1/events", &one_of_each()).await;
    assert_eq!(answer.status, 202, "events need no store: {}", answer.text);
}
