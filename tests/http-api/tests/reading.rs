//! Acks, marks, clearing and settings: what is answered, and what is then in the log.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use readmark_domain::fact::{AckFact, MarkFact, Origin, Receipts};
use readmark_domain::time::TimeMs;
use readmark_events::header_name;
use readmark_runtime::clock::Clock;
use readmark_store::Raise;
use readmark_test_http_api::{Api, Mood, NOW_MS, Token, conversation, message, seq, uid};
use serde_json::{Value, json};

/// c1: s = 7, readers 8 and 9 (9 joined after 2); 1…6 by 7 but 3 by 8; 4 skipped, 5 recalled.
async fn api() -> Api {
    let api = Api::default();
    api.seed.joins("c1", &[7, 8], 0).await;
    api.seed.joins("c1", &[9], 2).await;
    api.seed.sends("c1", 7, [1, 2]).await;
    api.seed.sends("c1", 8, [3]).await;
    api.seed.skips("c1", 4).await;
    api.seed.sends("c1", 7, [5, 6]).await;
    api.seed.recalls("c1", 5).await;
    api
}

fn acks(messages: &Value) -> Value {
    json!({"conversation_id": "c1", "messages": messages})
}

fn receipts(api: &Api) -> Vec<Receipts> {
    let facts: Vec<AckFact> = api.log.facts();
    facts
        .into_iter()
        .map(|fact| match fact {
            AckFact::Receipts(receipts) => receipts,
            AckFact::Recount(recount) => panic!("no recount is made here: {recount:?}"),
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn an_ack_becomes_a_record_for_each_sender() {
    let api = api().await;
    let messages =
        json!([{"seq": "6", "sender_uid": "7"}, {"seq": 1}, {"seq": "3"}, {"seq": "5"}, {"seq": "6"}]);
    let answer = api.post(Token::User(9), "/v1/acks", &acks(&messages)).await;
    assert_eq!(answer.status, 202, "{}", answer.text);
    let ignored = json!([{"seq": "1", "reason": "before_join"}]);
    assert_eq!(
        answer.json(),
        json!({"accepted": 3, "ignored": ignored}),
        "6 is one message, 5 raises the mark"
    );
    let receipts = receipts(&api);
    let told: Vec<_> = receipts
        .iter()
        .map(|one| (one.sender_uid.get(), one.seqs.iter().map(|seq| seq.get()).collect::<Vec<_>>()))
        .collect();
    assert_eq!(told, [(7, vec![5, 6]), (8, vec![3])]);
    for one in &receipts {
        assert_eq!(
            (one.reader_uid, one.origin, one.conversation_id.as_str()),
            (uid(9), Origin::Client, "c1")
        );
        assert_eq!(one.endpoint.as_ref().unwrap().as_str(), "phone");
        assert_eq!(one.occurred_at, TimeMs::saturating(NOW_MS));
    }
    for record in api.log.records() {
        let accepted = record.headers.iter().find(|(name, _)| name == header_name::ACCEPTED_AT_MS);
        assert_eq!(accepted.unwrap().1, NOW_MS.to_string());
    }
}

#[tokio::test(start_paused = true)]
async fn what_takes_no_ack_is_ignored_with_its_reason() {
    let api = api().await;
    let old = message("old", 1, 7);
    let old =
        readmark_domain::counting::Message { sent_at: TimeMs::saturating(NOW_MS - 91 * 86_400_000), ..old };
    api.seed.joins("old", &[7, 8], 0).await;
    api.seed.message(old).await;
    let body = json!({"conversation_id": "old", "messages": [{"seq": "1"}]});
    let answer = api.post(Token::User(8), "/v1/acks", &body).await;
    assert_eq!(answer.json(), json!({"accepted": 0, "ignored": [{"seq": "1", "reason": "expired"}]}));
    let messages = json!([{"seq": "4"}, {"seq": "3"}, {"seq": "3", "sender_uid": "8"}]);
    let answer = api.post(Token::User(8), "/v1/acks", &acks(&messages)).await;
    let ignored = json!([{"seq": "4", "reason": "skipped"}, {"seq": "3", "reason": "own_message"}]);
    assert_eq!(answer.json(), json!({"accepted": 0, "ignored": ignored}));
    assert!(api.log.records().is_empty(), "nothing accepted, nothing said");
}

#[tokio::test(start_paused = true)]
async fn a_wrong_sender_refuses_the_whole_ack() {
    let api = api().await;
    let messages = json!([{"seq": "1", "sender_uid": "7"}, {"seq": "3", "sender_uid": "7"}, {"seq": "2", "sender_uid": "8"}]);
    for attempt in 0..2 {
        let answer = api.post(Token::User(8), "/v1/acks", &acks(&messages)).await;
        assert_eq!(
            (answer.status.as_u16(), answer.problem().as_str()),
            (422, "malformed"),
            "attempt {attempt}"
        );
        let items = answer.json()["items"].clone();
        let named: Vec<_> =
            items.as_array().unwrap().iter().map(|item| (&item["index"], &item["field"])).collect();
        assert_eq!(named, [(&json!(1), &json!("sender_uid")), (&json!(2), &json!("sender_uid"))]);
    }
    assert!(api.log.records().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_identity_comes_from_the_token_only() {
    let api = api().await;
    let mut body = acks(&json!([{"seq": "1"}]));
    body["uid"] = json!("9");
    body["reader_uid"] = json!("9");
    assert_eq!(api.post(Token::User(8), "/v1/acks", &body).await.status, 202);
    let read = json!({"up_to_seq": "2", "uid": "9"});
    assert_eq!(api.post(Token::User(8), "/v1/conversations/c1/read", &read).await.status, 202);
    let settings = json!({"receipts": false, "uid": "9"});
    let answer = api.put(Token::User(8), "/v1/settings", &settings).await;
    assert_eq!((answer.status.as_u16(), answer.json()), (202, json!({"receipts": false})));
    assert!(receipts(&api).iter().all(|one| one.reader_uid == uid(8)));
    let marks: Vec<MarkFact> = api.log.facts();
    assert_eq!(marks.len(), 2);
    assert!(marks.iter().all(|mark| mark.uid() == uid(8)));
}

#[tokio::test(start_paused = true)]
async fn refusals_are_final_and_leave_nothing() {
    let api = api().await;
    api.seed.joins("c2", &[7, 8], 0).await;
    api.seed.sends("c2", 7, [1]).await;
    api.seed.leaves("c2", &[8]).await;
    api.seed.joins("c3", &[7, 8], 0).await;
    api.seed.sends("c3", 7, [1]).await;
    api.seed.closes("c3", true, 5).await;
    api.seed.joins("c4", &[7, 8], 0).await;
    for (id, at, status, slug) in [
        ("c1", 7, 409, "seq-beyond-head"),
        ("c2", 1, 403, "not-a-member"),
        ("c3", 1, 409, "conversation-closed"),
        ("c4", 1, 409, "seq-beyond-head"),
        ("c5", 1, 404, "unknown-conversation"),
    ] {
        let body = json!({"conversation_id": id, "messages": [{"seq": at}]});
        let mark = json!({"up_to_seq": at});
        for (path, body) in [
            ("/v1/acks".to_owned(), &body),
            (format!("/v1/conversations/{id}/read"), &mark),
            (format!("/v1/conversations/{id}/clear"), &mark),
        ] {
            let answer = api.post(Token::User(8), &path, body).await;
            assert_eq!((answer.status.as_u16(), answer.problem().as_str()), (status, slug), "{path} of {id}");
        }
    }
    let outsider = api.post(Token::User(10), "/v1/acks", &acks(&json!([{"seq": "1"}]))).await;
    assert_eq!(outsider.problem(), "not-a-member");
    let outsider = api.post(Token::User(10), "/v1/conversations/c4/clear", &json!({})).await;
    assert_eq!(outsider.problem(), "not-a-member", "c4 has members, though no message");
    assert!(api.log.records().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_message_that_later_ones_overtook_is_not_there_yet() {
    let api = api().await;
    api.seed.sends("c1", 7, [8]).await;
    let answer = api.post(Token::User(8), "/v1/acks", &acks(&json!([{"seq": "8"}, {"seq": "7"}]))).await;
    assert_eq!((answer.status.as_u16(), answer.problem().as_str()), (409, "seq-beyond-head"));
    assert_eq!(answer.json()["items"][0]["index"], 1, "names the one that is missing");
    let answer = api.post(Token::User(8), "/v1/conversations/c1/read", &json!({"up_to_seq": "7"})).await;
    assert_eq!(answer.problem(), "seq-beyond-head");
    assert!(api.log.records().is_empty(), "refused as a whole");
    api.seed.sends("c1", 7, [7]).await;
    let answer = api.post(Token::User(8), "/v1/acks", &acks(&json!([{"seq": "8"}, {"seq": "7"}]))).await;
    assert_eq!(answer.json()["accepted"], 2, "what is not there is never remembered");
}

#[tokio::test(start_paused = true)]
async fn until_it_is_sure_nothing_is_refused() {
    let api = api().await;
    api.log.hold_catalog();
    for (path, body) in [
        ("/v1/acks", acks(&json!([{"seq": "99"}]))),
        ("/v1/acks", json!({"conversation_id": "c9", "messages": [{"seq": "1"}]})),
        ("/v1/conversations/c1/read", json!({"up_to_seq": "99"})),
        ("/v1/conversations/c9/clear", json!({})),
    ] {
        let began = tokio::time::Instant::now();
        let answer = api.post(Token::User(8), path, &body).await;
        assert_eq!((answer.status.as_u16(), answer.problem().as_str()), (503, "not-sure-yet"), "{path}");
        assert_eq!(began.elapsed().as_millis(), 2_000, "{path}: after two seconds");
    }
    let answer = api.post(Token::User(8), "/v1/acks", &acks(&json!([{"seq": "1"}]))).await;
    assert_eq!(answer.status, 202, "what is known to be right waits for nobody");
}

#[tokio::test(start_paused = true)]
async fn what_the_catalog_applies_meanwhile_is_seen() {
    let api = api().await;
    let seed = api.seed.clone();
    api.log.catalog_will_apply(Box::pin(async move {
        seed.joins("c6", &[7, 8], 0).await;
        seed.sends("c6", 7, [1, 2]).await;
    }));
    let body = json!({"conversation_id": "c6", "messages": [{"seq": "2"}]});
    let answer = api.post(Token::User(8), "/v1/acks", &body).await;
    assert_eq!(
        (answer.status.as_u16(), answer.json()["accepted"].as_u64()),
        (202, Some(1)),
        "{}",
        answer.text
    );
    let seed = api.seed.clone();
    api.log.catalog_will_apply(Box::pin(async move { seed.sends("c6", 7, [3]).await }));
    let answer = api.post(Token::User(8), "/v1/conversations/c6/read", &json!({"up_to_seq": "3"})).await;
    assert_eq!((answer.status.as_u16(), answer.json()), (202, json!({"read_seq": "3"})));
    api.log.hold_catalog();
    let seed = api.seed.clone();
    api.log.catalog_will_apply(Box::pin(async move { seed.sends("c6", 7, [4]).await }));
    let answer = api.post(Token::User(8), "/v1/conversations/c6/read", &json!({"up_to_seq": "4"})).await;
    assert_eq!(answer.status, 202, "also before the catalog's position says so: {}", answer.text);
}

#[tokio::test(start_paused = true)]
async fn a_mark_answers_the_greater_of_asked_and_known() {
    let api = api().await;
    api.seed.marks("c1", 8, 5).await;
    for (asked, answered) in [("6", "6"), ("2", "5"), ("4", "5")] {
        let answer =
            api.post(Token::User(8), "/v1/conversations/c1/read", &json!({"up_to_seq": asked})).await;
        assert_eq!(
            (answer.status.as_u16(), answer.json()),
            (202, json!({"read_seq": answered})),
            "asked {asked}"
        );
    }
    let marks: Vec<MarkFact> = api.log.facts();
    let times: Vec<u64> = marks.iter().map(|mark| mark.occurred_at().get()).collect();
    assert_eq!(times, [NOW_MS, NOW_MS + 1, NOW_MS + 2], "no user gets a time twice");
}

#[tokio::test(start_paused = true)]
async fn wait_applied_answers_what_is_applied() {
    let api = api().await;
    let path = "/v1/conversations/c1/read?wait=applied";
    let began = tokio::time::Instant::now();
    let answer = api.post(Token::User(8), path, &json!({"up_to_seq": "5"})).await;
    assert_eq!(
        (answer.status.as_u16(), answer.json()),
        (202, json!({"read_seq": "5"})),
        "nobody applies it here"
    );
    assert_eq!(began.elapsed().as_millis(), 2_000);
    let (store, clock) = (api.store.clone(), api.clock.clone());
    let watermark = tokio::spawn(async move {
        use readmark_store::UserStore;
        let raise = Raise::Read { seq: seq(5), read_at: TimeMs::ZERO, endpoint: None };
        clock.sleep_ms(300).await;
        store.raise(uid(8), &conversation("c1"), &[raise]).await.unwrap();
    });
    let answer = api.post(Token::User(8), path, &json!({"up_to_seq": "5"})).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.json(), json!({"read_seq": "5", "unread": "1", "total_unread": "1"}));
    watermark.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn clearing_goes_to_the_head_that_is_known() {
    let api = api().await;
    let path = "/v1/conversations/c1/clear";
    for (body, cleared) in [("", "6"), ("{}", "6"), ("{\"up_to_seq\":\"2\"}", "2")] {
        let answer = api.call(Token::User(8), axum::http::Method::POST, path, body).await;
        assert_eq!(
            (answer.status.as_u16(), answer.json()),
            (202, json!({"cleared_seq": cleared})),
            "{body:?}"
        );
    }
    api.seed.joins("empty", &[8], 0).await;
    let answer = api.post(Token::User(8), "/v1/conversations/empty/clear", &json!({})).await;
    assert_eq!((answer.status.as_u16(), answer.json()), (202, json!({"cleared_seq": "0"})));
    let marks: Vec<MarkFact> = api.log.facts();
    let told: Vec<String> = marks
        .iter()
        .map(|mark| match mark {
            MarkFact::Cleared(cleared) => format!("cleared {}", cleared.up_to_seq),
            MarkFact::MarkedUnread(flag) => format!("marked {}", flag.value),
            MarkFact::ReadUpTo(_)
            | MarkFact::Muted(_)
            | MarkFact::UserSettings(_)
            | MarkFact::UserErased(_)
            | MarkFact::WatermarkImported(_) => panic!("{mark:?}"),
        })
        .collect();
    assert_eq!(told, ["cleared 6", "cleared 6", "cleared 2", "marked false"]);
}

#[tokio::test(start_paused = true)]
async fn parts_that_are_away_are_503_and_nothing_is_guessed() {
    let api = api().await;
    let body = acks(&json!([{"seq": "1"}]));
    api.log.set_mood(Mood::NeverAnswering);
    let began = tokio::time::Instant::now();
    let answer = api.post(Token::User(8), "/v1/acks", &body).await;
    assert_eq!((answer.status.as_u16(), answer.problem().as_str()), (503, "unavailable"));
    assert_eq!(began.elapsed().as_millis(), 5_000, "five seconds for the log");
    api.log.set_mood(Mood::Away);
    assert_eq!(api.post(Token::User(8), "/v1/acks", &body).await.problem(), "unavailable");
    api.log.set_mood(Mood::Refusing);
    assert_eq!(api.post(Token::User(8), "/v1/acks", &body).await.problem(), "internal");
    api.log.set_mood(Mood::Fine);
    api.store.set_away(true);
    for (path, body) in [
        ("/v1/acks", acks(&json!([{"seq": "6"}]))),
        ("/v1/conversations/c1/read", json!({"up_to_seq": "6"})),
        ("/v1/conversations/c1/clear", json!({})),
    ] {
        assert_eq!(api.post(Token::User(9), path, &body).await.problem(), "unavailable", "{path}");
    }
    assert!(api.log.records().is_empty());
    api.store.set_away(false);
    assert_eq!(api.post(Token::User(8), "/v1/acks", &body).await.status, 202, "the same request again");
}

#[tokio::test(start_paused = true)]
async fn acks_of_members_who_are_known_go_on_while_the_store_is_away() {
    let api = api().await;
    let of = |n: u64| acks(&json!([{"seq": n.to_string()}]));
    assert_eq!(api.post(Token::User(8), "/v1/acks", &of(1)).await.status, 202);
    assert_eq!(api.post(Token::User(9), "/v1/acks", &of(6)).await.status, 202);
    api.store.set_away(true);
    let (before, read) = (api.log.records().len(), "/v1/conversations/c1/read");
    assert_eq!(api.post(Token::User(8), "/v1/acks", &of(6)).await.status, 202, "another one has asked for 6");
    assert_eq!(api.post(Token::User(9), read, &json!({"up_to_seq": "6"})).await.status, 202);
    assert_eq!(
        api.post(Token::User(9), "/v1/acks", &of(1)).await.json()["ignored"][0]["reason"],
        "before_join"
    );
    assert_eq!(api.log.records().len(), before + 2);
    // Nothing is guessed: of a message that nobody asked for, of a message beyond the head, of a stranger.
    assert_eq!(api.post(Token::User(8), "/v1/acks", &of(2)).await.problem(), "unavailable");
    assert_eq!(api.post(Token::User(8), read, &json!({"up_to_seq": "7"})).await.problem(), "unavailable");
    assert_eq!(api.post(Token::User(10), "/v1/acks", &of(1)).await.problem(), "unavailable");
    assert_eq!(api.log.records().len(), before + 2);
    // Once the store has said that somebody is no member any more, that is what it said last.
    api.store.set_away(false);
    api.seed.leaves("c1", &[8]).await;
    assert_eq!(api.post(Token::User(8), "/v1/acks", &of(6)).await.problem(), "not-a-member");
    api.store.set_away(true);
    assert_eq!(api.post(Token::User(8), "/v1/acks", &of(6)).await.problem(), "unavailable");
}
