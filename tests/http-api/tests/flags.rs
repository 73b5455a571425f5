//! Marked unread by hand, and muted: what is answered, and what is then in the log.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use readmark_domain::fact::{FlagSet, MarkFact};
use readmark_test_http_api::{Api, Token};
use serde_json::json;

async fn api() -> Api {
    let api = Api::default();
    api.seed.joins("c1", &[7, 8], 0).await;
    api.seed.sends("c1", 7, 1..=2).await;
    api
}

/// `flag value endpoint` of each mark in the log; their times must rise.
fn told(api: &Api) -> Vec<String> {
    let marks: Vec<MarkFact> = api.log.facts();
    let flags: Vec<(&str, FlagSet)> = marks
        .into_iter()
        .map(|mark| match mark {
            MarkFact::MarkedUnread(flag) => ("marked", flag),
            MarkFact::Muted(flag) => ("muted", flag),
            other @ (MarkFact::ReadUpTo(_)
            | MarkFact::Cleared(_)
            | MarkFact::UserSettings(_)
            | MarkFact::UserErased(_)
            | MarkFact::WatermarkImported(_)) => panic!("{other:?}"),
        })
        .collect();
    assert!(flags.is_sorted_by(|(_, a), (_, b)| a.occurred_at < b.occurred_at), "{flags:?}");
    let one = |(name, flag): &(&str, FlagSet)| {
        let endpoint = flag.endpoint.as_ref().map_or("none", |endpoint| endpoint.as_str());
        format!("{name} {} {} {endpoint}", flag.uid, flag.value)
    };
    flags.iter().map(one).collect()
}

#[tokio::test(start_paused = true)]
async fn flags_are_facts_in_their_order() {
    let api = api().await;
    for (path, body) in [
        ("/v1/conversations/c1/unread-mark", json!({"marked": true})),
        ("/v1/conversations/c1/mute", json!({"muted": true})),
        ("/v1/conversations/c1/unread-mark", json!({"marked": false})),
        ("/v1/conversations/c1/mute", json!({"muted": false})),
    ] {
        let answer = api.post(Token::User(8), path, &body).await;
        assert_eq!((answer.status.as_u16(), answer.json()), (202, body), "{path}");
    }
    assert_eq!(
        told(&api),
        ["marked 8 true phone", "muted 8 true phone", "marked 8 false phone", "muted 8 false phone"]
    );
}

#[tokio::test(start_paused = true)]
async fn only_members_of_open_conversations_set_them() {
    let api = api().await;
    api.seed.joins("closed", &[8], 0).await;
    api.seed.closes("closed", true, 5).await;
    for (who, id, status, slug) in [
        (9, "c1", 403, "not-a-member"),
        (8, "c9", 404, "unknown-conversation"),
        (8, "closed", 409, "conversation-closed"),
    ] {
        for (call, body) in [("unread-mark", json!({"marked": true})), ("mute", json!({"muted": true}))] {
            let answer = api.post(Token::User(who), &format!("/v1/conversations/{id}/{call}"), &body).await;
            assert_eq!((answer.status.as_u16(), answer.problem().as_str()), (status, slug), "{call} of {id}");
        }
    }
    for (call, body) in [("unread-mark", json!({})), ("mute", json!({"muted": "yes"}))] {
        let answer = api.post(Token::User(8), &format!("/v1/conversations/c1/{call}"), &body).await;
        assert_eq!(answer.problem(), "malformed", "{call} {body}");
    }
    let backend = api.post(Token::Service, "/v1/conversations/c1/mute", &json!({"muted": true})).await;
    assert_eq!(backend.status, 403);
}
