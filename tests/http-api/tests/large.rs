//! Large conversations: nobody is told at once, whoever reads compares first.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use futures::future::join_all;
use readmark_domain::counting::Message;
use readmark_domain::time::TimeMs;
use readmark_runtime::clock::Clock;
use readmark_sync::{Followed, News};
use readmark_test_http_api::{Api, NOW_MS, Token, conversation, message, seq, uid};
use serde_json::Value;

/// As long as what is known of a conversation may be old.
const SECOND_MS: u64 = 1_000;

async fn seeded() -> Api {
    let api = Api::default();
    api.seed.joins("big", &[7, 8, 9], 0).await;
    api.seed.joins("small", &[7, 8, 9], 0).await;
    api.seed.0.set_large(&conversation("big")).await.unwrap();
    api.seed.sends("big", 7, 1..=2).await;
    api.seed.sends("small", 7, 1..=1).await;
    api
}

async fn unread(api: &Api) -> Value {
    let answer = api.get(Token::User(8), "/v1/unread?all=true").await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

async fn follow(api: &Api, since: &Value) -> Followed {
    let since = since.as_str().unwrap().parse().unwrap();
    api.live.follow(uid(8), Some(&since), 100).await.unwrap()
}

/// `unread of the conversation / in all` of each entry.
fn told(followed: &Followed) -> Vec<String> {
    let News::Entries { entries, .. } = &followed.news else { panic!("no entries: {followed:?}") };
    let one = |entry| {
        let entry = serde_json::to_value(entry).unwrap();
        let text = |name: &str| entry[name].as_str().unwrap().to_owned();
        format!("{} {}/{}", text("conversation_id"), text("unread"), text("total_unread"))
    };
    entries.iter().map(one).collect()
}

/// R12, R24: who reads sees all of it, at the latest after a second, and versions have no gap.
#[tokio::test(start_paused = true)]
async fn who_reads_sees_what_nobody_was_told() {
    let api = seeded().await;
    let first = unread(&api).await;
    assert_eq!(first["total"], "3");
    api.seed.sends("big", 7, 3..=5).await;
    api.clock.sleep_ms(SECOND_MS).await;
    let second = unread(&api).await;
    assert_eq!(second["total"], "6");
    let followed = follow(&api, &first["token"]).await;
    assert_eq!((told(&followed), followed.has_large), (vec!["big 5/6".to_owned()], true));
    api.seed.sends("big", 7, [6]).await;
    api.clock.sleep_ms(SECOND_MS).await;
    let followed = follow(&api, &second["token"]).await;
    assert_eq!(told(&followed), ["big 6/7"], "following alone compares, too");
    assert_eq!(unread(&api).await["total"], "7");
}

#[tokio::test(start_paused = true)]
async fn recalls_mentions_own_messages_and_closing_are_seen() {
    let api = seeded().await;
    let id = conversation("big");
    assert_eq!(unread(&api).await["total"], "3");
    api.seed.recalls("big", 1).await;
    api.clock.sleep_ms(SECOND_MS).await;
    assert_eq!(unread(&api).await["total"], "2", "the head is the same");
    api.seed.0.add_mentions(&id, seq(3), &[uid(8)]).await.unwrap();
    api.seed.sends("big", 7, [3]).await;
    api.clock.sleep_ms(SECOND_MS).await;
    let answer = unread(&api).await;
    assert_eq!((&answer["total"], &answer["mentions"]), (&"3".into(), &"1".into()));
    api.seed.sends("big", 8, [4]).await;
    api.clock.sleep_ms(SECOND_MS).await;
    assert_eq!(unread(&api).await["total"], "1", "sending clears one's own red dot");
    api.seed.sends("big", 7, [5]).await;
    api.seed.closes("big", true, 5).await;
    api.clock.sleep_ms(SECOND_MS).await;
    let answer = unread(&api).await;
    assert_eq!((&answer["total"], answer["conversations"].as_array().unwrap().len()), (&"1".into(), 1));
}

/// Late messages and recalls of very old ones don't move the head: they are seen a minute later.
#[tokio::test(start_paused = true)]
async fn what_moves_no_head_is_seen_in_a_minute() {
    let api = seeded().await;
    api.seed.sends("big", 7, 3..=1_500).await;
    assert_eq!(unread(&api).await["total"], "1501");
    api.seed.recalls("big", 10).await;
    api.clock.sleep_ms(60_000).await;
    assert_eq!(unread(&api).await["total"], "1500");
}

/// What a conversation costs the store does not grow with who follows it, and what did not change is not read.
#[tokio::test(start_paused = true)]
async fn followers_share_what_is_read() {
    let api = seeded().await;
    let users: Vec<u64> = (100..200).collect();
    api.seed.joins("big", &users, 0).await;
    let pictures = join_all(users.iter().map(|who| api.live.picture(uid(*who)))).await;
    assert!(pictures.iter().all(|picture| picture.as_ref().unwrap().total.get() == 2));
    // Told once, in the rebuild or after it.
    join_all(users.iter().map(|who| api.live.picture(uid(*who)))).await;
    api.clock.sleep_ms(SECOND_MS).await;
    let calls = api.store.calls();
    let pictures = join_all(users.iter().map(|who| api.live.picture(uid(*who)))).await;
    assert!(pictures.iter().all(|picture| picture.as_ref().unwrap().total.get() == 2));
    assert_eq!(api.store.calls() - calls, 2, "one head and its flags, for a hundred users");
}

/// What nobody has unread is not read at all.
#[tokio::test(start_paused = true)]
async fn with_the_store_away_entries_go_on_and_pictures_do_not() {
    let api = seeded().await;
    let first = unread(&api).await;
    api.seed.sends("small", 7, [2]).await;
    api.seed.sends("big", 7, [3]).await;
    api.tell(8).await;
    api.clock.sleep_ms(SECOND_MS).await;
    api.store.set_away(true);
    assert!(!told(&follow(&api, &first["token"]).await).is_empty(), "what is there is told");
    let answer = api.get(Token::User(8), "/v1/unread").await;
    assert_eq!(
        (answer.status.as_u16(), answer.problem().as_str()),
        (503, "unavailable"),
        "it may be late by much"
    );
}

/// The newest message is the newest in the order of the list, too.
#[tokio::test(start_paused = true)]
async fn the_order_follows_what_was_compared() {
    let api = seeded().await;
    api.seed.message(Message { sent_at: TimeMs::saturating(NOW_MS - 10), ..message("small", 2, 7) }).await;
    api.tell(8).await;
    let ids = |answer: &Value| -> Vec<String> {
        let listed = answer["conversations"].as_array().unwrap().iter();
        listed.map(|one| one["conversation_id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&unread(&api).await), ["small", "big"]);
    api.seed.message(Message { sent_at: TimeMs::saturating(NOW_MS - 5), ..message("big", 3, 7) }).await;
    api.clock.sleep_ms(SECOND_MS).await;
    assert_eq!(ids(&unread(&api).await), ["big", "small"]);
}
