//! What a user has unread.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use readmark_domain::counting::{Message, MessageFlags};
use readmark_domain::register::Latest;
use readmark_domain::time::{Order, TimeMs};
use readmark_store::Raise;
use readmark_test_http_api::{Api, NOW_MS, Token, conversation, message, seq, uid};
use serde_json::{Value, json};

/// `id unread/mentions head read floor` of each conversation, then the totals.
fn brief(body: &Value) -> (Vec<String>, String) {
    let text =
        |one: &Value, name: &str| one[name].as_str().unwrap_or_else(|| panic!("{name} in {one}")).to_owned();
    let listed = body["conversations"].as_array().unwrap().iter().map(|one| {
        let flags = [("marked_unread", "!"), ("muted", "~")];
        let flags: String =
            flags.iter().filter(|(name, _)| one[*name] == true).map(|(_, sign)| *sign).collect();
        format!(
            "{}{flags} {}/{} {} {} {}",
            text(one, "conversation_id"),
            text(one, "unread"),
            text(one, "mentions"),
            text(one, "head_seq"),
            text(one, "read_seq"),
            text(one, "floor_seq")
        )
    });
    (listed.collect(), format!("{}/{}", text(body, "total"), text(body, "mentions")))
}

async fn unread(api: &Api, token: Token, query: &str) -> (Vec<String>, String) {
    for who in [7, 8, 9] {
        api.tell(who).await;
    }
    let answer = api.get(token, &format!("/v1/unread{query}")).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    brief(&answer.json())
}

fn on(order: u64) -> Latest {
    Latest { order: Order::new(order).unwrap(), value: true }
}

#[tokio::test(start_paused = true)]
async fn unread_is_what_counts_above_the_floor() {
    let api = Api::default();
    assert_eq!(unread(&api, Token::User(8), "").await, (vec![], "0/0".into()), "somebody nobody knows of");
    api.seed.joins("c1", &[7, 8], 0).await;
    api.seed.sends("c1", 7, 1..=6).await;
    assert_eq!(unread(&api, Token::User(8), "").await, (vec!["c1 6/0 6 0 0".into()], "6/0".into()));
    assert_eq!(
        unread(&api, Token::User(7), "").await,
        (vec![], "0/0".into()),
        "sending clears one's own red dot"
    );
    assert_eq!(unread(&api, Token::User(7), "?all=true").await, (vec!["c1 0/0 6 0 6".into()], "0/0".into()));
    api.seed.recalls("c1", 5).await;
    api.seed.skips("c1", 6).await;
    api.seed.marks("c1", 8, 2).await;
    assert_eq!(unread(&api, Token::User(8), "").await, (vec!["c1 2/0 6 2 2".into()], "2/0".into()));
    api.seed.sends("c1", 8, [7]).await;
    api.seed.sends("c1", 7, [8]).await;
    let seen = unread(&api, Token::User(8), "").await;
    assert_eq!(
        seen,
        (vec!["c1 1/0 8 2 7".into()], "1/0".into()),
        "the own message raises the floor, not the mark"
    );
    assert_eq!(unread(&api, Token::Service, "?uid=8").await, seen, "the backend sees the same");
    api.seed.joins("c1", &[9], 8).await;
    assert_eq!(
        unread(&api, Token::User(9), "?all=true").await.0,
        ["c1 0/0 8 0 8"],
        "nothing from before the join"
    );
}

#[tokio::test(start_paused = true)]
async fn left_and_closed_are_gone_muted_is_not_counted_and_marked_is_shown() {
    let api = Api::default();
    for id in ["gone", "closed", "muted", "marked", "plain"] {
        api.seed.joins(id, &[7, 8], 0).await;
        api.seed.sends(id, 7, 1..=2).await;
    }
    api.seed.leaves("gone", &[8]).await;
    api.seed.closes("closed", true, 5).await;
    api.seed.marks("marked", 8, 2).await;
    let store = &api.seed.0;
    store.raise(uid(8), &conversation("muted"), &[Raise::Muted(on(5))]).await.unwrap();
    store.raise(uid(8), &conversation("marked"), &[Raise::MarkedUnread(on(5))]).await.unwrap();
    let (listed, total) = unread(&api, Token::User(8), "").await;
    assert_eq!(listed, ["marked! 0/0 2 2 2", "muted~ 2/0 2 0 0", "plain 2/0 2 0 0"]);
    assert_eq!(total, "2/0");
    api.seed.closes("closed", false, 6).await;
    assert_eq!(
        unread(&api, Token::User(8), "").await.1,
        "4/0",
        "opened again, the computed number comes back"
    );
}

#[tokio::test(start_paused = true)]
async fn mentions_count_as_messages_do() {
    let api = Api::default();
    api.seed.joins("c1", &[7, 8, 9], 0).await;
    api.seed.sends("c1", 7, 1..=4).await;
    let (store, id) = (&api.seed.0, conversation("c1"));
    store.add_mentions(&id, seq(1), &[uid(8)]).await.unwrap();
    store.add_mentions(&id, seq(2), &[uid(8)]).await.unwrap();
    store.add_mention_all(&id, seq(3)).await.unwrap();
    assert_eq!(unread(&api, Token::User(8), "").await, (vec!["c1 4/3 4 0 0".into()], "4/3".into()));
    assert_eq!(unread(&api, Token::User(9), "").await.1, "4/1");
    api.seed.recalls("c1", 2).await;
    let flags = MessageFlags { not_countable: true, ..MessageFlags::default() };
    store.add_flags(&id, &[(seq(4), flags)]).await.unwrap();
    assert_eq!(unread(&api, Token::User(8), "").await.1, "2/2");
    api.seed.marks("c1", 8, 1).await;
    assert_eq!(unread(&api, Token::User(8), "").await.1, "1/1");
}

#[tokio::test(start_paused = true)]
async fn the_newest_thousand_are_listed_and_all_are_counted() {
    let api = Api::default();
    for n in 0..1_003_u64 {
        let id = format!("c{n:04}");
        api.seed.joins(&id, &[7, 8], 0).await;
        let sent_at = TimeMs::saturating(NOW_MS - 1_000_000 + (n * 37) % 1_003);
        api.seed.message(Message { sent_at, ..message(&id, 1, 7) }).await;
    }
    let answer = api.get(Token::User(8), "/v1/unread").await.json();
    let listed = answer["conversations"].as_array().unwrap();
    assert_eq!((listed.len(), &answer["total"]), (1_000, &json!("1003")));
    let newest_first: Vec<u64> = listed
        .iter()
        .map(|one| one["conversation_id"].as_str().unwrap()[1..].parse::<u64>().unwrap() * 37 % 1_003)
        .collect();
    assert!(newest_first.is_sorted_by(|a, b| a > b), "newest head first");
    let all = api.get(Token::User(8), "/v1/unread?all=true").await.json();
    assert_eq!(all["conversations"].as_array().unwrap().len(), 1_003);
}

/// E18: what a user has in other conversations stays in the total.
#[tokio::test(start_paused = true)]
async fn the_total_is_over_all_conversations() {
    let api = Api::default();
    for (id, sent) in [("c1", 3), ("c2", 1)] {
        api.seed.joins(id, &[7, 8], 0).await;
        api.seed.sends(id, 7, 1..=sent).await;
    }
    assert_eq!(unread(&api, Token::User(8), "").await.1, "4/0");
    let token = api.get(Token::User(8), "/v1/unread").await.json()["token"].clone();
    api.seed.sends("c2", 7, [2]).await;
    assert_eq!(unread(&api, Token::User(8), "").await.1, "5/0");
    let since = format!("/v1/sync?since={}", token.as_str().unwrap());
    let entry = &api.get(Token::User(8), &since).await.json()["entries"][0];
    assert_eq!((&entry["conversation_id"], &entry["total_unread"]), (&json!("c2"), &json!("5")));
}

/// E15: whichever read fails, there is an error or the whole answer.
#[tokio::test(start_paused = true)]
async fn the_token_stays_and_no_picture_is_half() {
    let seeded = async || {
        let api = Api::default();
        for id in ["c1", "c2"] {
            api.seed.joins(id, &[7, 8], 0).await;
            api.seed.sends(id, 7, 1..=2).await;
        }
        api
    };
    let api = seeded().await;
    let whole = api.get(Token::User(8), "/v1/unread").await.json();
    assert_eq!(api.get(Token::User(8), "/v1/unread").await.json(), whole, "with nothing new");
    let mut steps = 0;
    loop {
        let api = seeded().await;
        api.store.away_after(steps);
        let answer = api.get(Token::User(8), "/v1/unread").await;
        if answer.status == 200 {
            assert_eq!(brief(&answer.json()), brief(&whole), "whole, or not at all");
            break;
        }
        let seen = (answer.status.as_u16(), answer.problem());
        assert_eq!(seen, (503, "unavailable".into()), "after {steps} calls of the store");
        api.store.away_after(u64::MAX);
        let answer = api.get(Token::User(8), "/v1/unread").await;
        assert_eq!(brief(&answer.json()), brief(&whole), "and again, at once");
        steps += 1;
        assert!(steps < 100, "never answers");
    }
    assert!(steps >= 8, "registers twice, heads, newest messages, flags, mentions: {steps}");
}
