//! Who has read a message, and who may know.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use readmark_domain::register::ReceiptsMode;
use readmark_http::HttpSettings;
use readmark_query::{DetailsVisibleTo, QuerySettings};
use readmark_runtime::clock::Clock;
use readmark_runtime::ports::Rules;
use readmark_test_http_api::{Answer, Api, Token, conversation};
use serde_json::{Value, json};

async fn seeded(api: Api) -> Api {
    api.seed.joins("c1", &[7, 8, 9, 10], 0).await;
    api.seed.sends("c1", 7, 1..=3).await;
    api.seed.reads("c1", &[9, 8], 3).await;
    api
}

async fn api() -> Api {
    seeded(Api::default()).await
}

fn message(seq: u64, what: &str) -> String {
    format!("/v1/conversations/c1/messages/{seq}/{what}")
}

fn slug(answer: &Answer) -> (u16, String) {
    (answer.status.as_u16(), answer.problem())
}

#[tokio::test(start_paused = true)]
async fn a_receipt_says_who_counts() {
    let api = api().await;
    let answer = api.get(Token::User(7), &message(3, "receipt")).await;
    let version = answer.json()["version"].as_str().unwrap().to_owned();
    assert_eq!(
        answer.json(),
        json!({
            "conversation_id": "c1", "seq": "3", "msg_id": "903", "sender_uid": "7", "mode": "full",
            "recalled": false, "read": "2", "total": "3", "all_read": false, "version": version
        })
    );
    assert!(!answer.headers.contains_key("age"), "read for this answer");
    for token in [Token::User(10), Token::Service] {
        let same = api.get(token, &message(3, "receipt")).await;
        assert_eq!(same.json(), answer.json(), "members and the backend see the same: {token:?}");
    }
    api.seed.leaves("c1", &[10]).await;
    let later = api.get(Token::User(7), &message(3, "receipt")).await.json();
    assert_eq!(
        (&later["read"], &later["total"], &later["all_read"]),
        (&json!("2"), &json!("2"), &json!(true))
    );
    assert!(later["version"].as_str().unwrap() > version.as_str(), "who leaves raises the version");
    api.seed.recalls("c1", 3).await;
    let recalled = api.get(Token::User(7), &message(3, "receipt")).await.json();
    assert_eq!(
        (&recalled["recalled"], &recalled["read"], &recalled["total"], &recalled["all_read"]),
        (&json!(true), &json!("0"), &json!("0"), &json!(false))
    );
}

#[tokio::test(start_paused = true)]
async fn names_come_in_pages_and_both_lists_are_all_who_count() {
    let api = api().await;
    let page = |answer: &Answer| {
        let body = answer.json();
        let uids: Vec<u64> = body["uids"]
            .as_array()
            .unwrap()
            .iter()
            .map(|uid| uid.as_str().unwrap().parse().unwrap())
            .collect();
        (uids, body["next"].as_str().map(str::to_owned))
    };
    let first = api.get(Token::User(7), &message(3, "readers?limit=1")).await;
    let (uids, next) = page(&first);
    assert_eq!(uids, [8], "ascending");
    assert_eq!((&first.json()["read"], &first.json()["total"]), (&json!("2"), &json!("3")));
    let second = format!("readers?limit=1&cursor={}", next.unwrap());
    assert_eq!(page(&api.get(Token::User(7), &message(3, &second)).await), (vec![9], None));
    assert_eq!(page(&api.get(Token::User(7), &message(3, "unread-members")).await), (vec![10], None));
    assert_eq!(page(&api.get(Token::Service, &message(1, "unread-members")).await), (vec![8, 9, 10], None));
    api.seed.recalls("c1", 3).await;
    for list in ["readers", "unread-members"] {
        assert_eq!(
            page(&api.get(Token::User(7), &message(3, list)).await),
            (vec![], None),
            "{list} of a recalled one"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn names_are_for_the_sender_and_tallies_for_members() {
    let api = api().await;
    for list in ["readers", "unread-members"] {
        assert_eq!(
            slug(&api.get(Token::User(8), &message(3, list)).await),
            (403, "names-for-sender-only".into())
        );
        assert_eq!(slug(&api.get(Token::User(11), &message(3, list)).await), (403, "not-a-member".into()));
        assert_eq!(api.get(Token::Service, &message(3, list)).await.status, 200);
    }
    assert_eq!(slug(&api.get(Token::User(11), &message(3, "receipt")).await), (403, "not-a-member".into()));
    api.seed.leaves("c1", &[7]).await;
    for what in ["receipt", "readers"] {
        let answer = api.get(Token::User(7), &message(3, what)).await;
        assert_eq!(slug(&answer), (403, "not-a-member".into()), "a sender that has left: {what}");
    }
    let settings =
        QuerySettings { details_visible_to: DetailsVisibleTo::Members, ..QuerySettings::default() };
    let open = seeded(Api::new(Rules::default(), HttpSettings::default(), settings)).await;
    assert_eq!(open.get(Token::User(8), &message(3, "readers")).await.status, 200);
    assert_eq!(slug(&open.get(Token::User(11), &message(3, "readers")).await), (403, "not-a-member".into()));
}

#[tokio::test(start_paused = true)]
async fn the_policy_hides_names_or_all() {
    let api = api().await;
    api.seed.policy("c1", ReceiptsMode::Count, 1).await;
    let receipt = api.get(Token::User(7), &message(3, "receipt")).await.json();
    assert_eq!((&receipt["mode"], &receipt["read"]), (&json!("count"), &json!("2")));
    for token in [Token::User(7), Token::Service] {
        assert_eq!(slug(&api.get(token, &message(3, "readers")).await), (403, "receipts-count-only".into()));
    }
    api.seed.policy("c1", ReceiptsMode::Off, 2).await;
    for (token, what) in
        [(Token::User(7), "receipt"), (Token::Service, "receipt"), (Token::User(7), "readers")]
    {
        assert_eq!(slug(&api.get(token, &message(3, what)).await), (403, "receipts-off".into()), "{what}");
    }
    let rules = Rules { default_receipts: ReceiptsMode::Off, ..Rules::default() };
    let off = seeded(Api::new(rules, HttpSettings::default(), QuerySettings::default())).await;
    assert_eq!(slug(&off.get(Token::User(7), &message(3, "receipt")).await), (403, "receipts-off".into()));
}

#[tokio::test(start_paused = true)]
async fn what_is_not_there_is_404_once_it_is_sure() {
    let api = api().await;
    api.seed.skips("c1", 4).await;
    for (path, kind) in [
        (message(4, "receipt"), "unknown-message"),
        (message(5, "receipt"), "unknown-message"),
        (message(5, "readers"), "unknown-message"),
        ("/v1/conversations/c9/messages/1/receipt".to_owned(), "unknown-conversation"),
    ] {
        assert_eq!(slug(&api.get(Token::User(7), &path).await), (404, kind.into()), "{path}");
    }
    api.log.hold_catalog();
    for (token, path) in [
        (Token::User(7), message(5, "receipt")),
        (Token::Service, message(5, "readers")),
        (Token::User(11), message(3, "receipt")),
        (Token::User(7), "/v1/conversations/c9/messages/1/receipt".to_owned()),
    ] {
        assert_eq!(slug(&api.get(token, &path).await), (503, "not-sure-yet".into()), "{token:?} {path}");
    }
    assert_eq!(slug(&api.get(Token::User(7), &message(4, "receipt")).await), (404, "unknown-message".into()));
    let seed = api.seed.clone();
    api.log.catalog_will_apply(Box::pin(async move { seed.sends("c1", 7, [5]).await }));
    let answer = api.get(Token::User(7), &message(5, "receipt")).await;
    let why = "seen once the catalog has applied it, wherever its position is";
    assert_eq!(answer.json()["total"], "3", "{why}: {}", answer.text);
}

#[tokio::test(start_paused = true)]
async fn a_query_answers_each_message_in_the_order_asked() {
    let api = api().await;
    api.seed.joins("c2", &[8], 0).await;
    api.seed.sends("c2", 8, [1]).await;
    api.seed.joins("c3", &[7, 8], 0).await;
    api.seed.sends("c3", 8, [1]).await;
    api.seed.policy("c3", ReceiptsMode::Off, 1).await;
    let one = |id: &str, seq: u64| json!({"conversation_id": id, "seq": seq});
    let asked = json!({"messages": [
        one("c3", 1), one("c1", 3), one("c1", 99), one("c2", 1), one("c1", 1), one("c9", 1), one("c1", 3)]});
    let answer = api.post(Token::User(7), "/v1/receipts/query", &asked).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let told: Vec<String> = answer.json()["receipts"].as_array().unwrap().iter().map(brief).collect();
    assert_eq!(
        told,
        [
            "c3/1 receipts_off",
            "c1/3 2/3",
            "c1/99 not_found",
            "c2/1 forbidden",
            "c1/1 0/3",
            "c9/1 not_found",
            "c1/3 2/3"
        ]
    );
    let alone = api.get(Token::User(7), &message(3, "receipt")).await.json();
    assert_eq!(answer.json()["receipts"][1], alone, "as the receipt alone");
    api.log.hold_catalog();
    let answer = api.post(Token::User(7), "/v1/receipts/query", &asked).await;
    assert_eq!(slug(&answer), (503, "not-sure-yet".into()), "no part of it is guessed");
    let known = json!({"messages": [one("c1", 1), one("c1", 3)]});
    assert_eq!(api.post(Token::User(7), "/v1/receipts/query", &known).await.status, 200);
}

fn brief(receipt: &Value) -> String {
    let text = |name: &str| receipt[name].as_str().unwrap_or_default().to_owned();
    let place = format!("{}/{}", text("conversation_id"), text("seq"));
    match receipt["error"].as_str() {
        Some(error) => format!("{place} {error}"),
        None => format!("{place} {}/{}", text("read"), text("total")),
    }
}

#[tokio::test(start_paused = true)]
async fn large_conversations_are_answered_from_rows_up_to_30_s_old() {
    let api = api().await;
    api.seed.0.set_large(&conversation("c1")).await.unwrap();
    let first = api.get(Token::User(7), &message(3, "receipt")).await;
    assert_eq!((first.headers["age"].to_str().unwrap(), &first.json()["read"]), ("0", &json!("2")));
    api.seed.reads("c1", &[10], 3).await;
    api.clock.sleep_ms(29_000).await;
    let calls = api.store.calls();
    let old = api.get(Token::User(7), &message(3, "receipt")).await;
    assert_eq!(
        (old.headers["age"].to_str().unwrap(), &old.json()["read"]),
        ("29", &json!("2")),
        "and says so"
    );
    assert!(
        api.store.calls() - calls <= 4,
        "{} calls: neither roster nor readers again",
        api.store.calls() - calls
    );
    assert_eq!(slug(&api.get(Token::User(11), &message(3, "receipt")).await), (403, "not-a-member".into()));
    api.seed.joins("c1", &[11], 3).await;
    api.seed.sends("c1", 7, [4]).await;
    let newer = api.get(Token::User(7), &message(4, "receipt")).await;
    assert_eq!(newer.json()["total"], "4", "a roster from before a message is not used for it");
    api.clock.sleep_ms(1_000).await;
    let fresh = api.get(Token::User(7), &message(3, "receipt")).await;
    assert_eq!(fresh.json()["read"], "3", "after 30 s");
    let query = json!({"messages": [{"conversation_id": "c1", "seq": "3"}]});
    assert!(api.post(Token::User(7), "/v1/receipts/query", &query).await.headers.contains_key("age"));
    api.seed.leaves("c1", &[8]).await;
    let left = api.get(Token::User(8), &message(3, "receipt")).await;
    assert_eq!(slug(&left), (403, "not-a-member".into()), "rights are never from old rows");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_away_gives_no_answer_at_any_step() {
    let api = api().await;
    for path in [message(3, "receipt"), message(3, "readers")] {
        let mut steps = 0;
        loop {
            api.store.away_after(steps);
            let answer = api.get(Token::User(7), &path).await;
            if answer.status == 200 {
                assert_eq!(answer.json()["read"], "2");
                break;
            }
            assert_eq!(slug(&answer), (503, "unavailable".into()), "{path} after {steps} calls");
            steps += 1;
            assert!(steps < 20, "never answers");
        }
        assert!(steps >= 3, "{path}: messages, members and readers are read");
    }
}
