//! The Rust client against the real server.

use crate::common::{group, is_shown};
use readmark_client::{Acked, Client, ClientError, Event, FollowOptions, Parcel, Session, Token};
use readmark_domain::hot::News;
use readmark_domain::id::{ConversationId, Seq};
use readmark_test_harness::{DEADLINE, Server, now_ms, token, wait_until};
use readmark_test_live::{Proxy, joined, message, sent};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A short token lasts so long.
const SHORT_MS: u64 = 2_000;

fn id(text: &str) -> ConversationId {
    text.parse().unwrap()
}

fn seq(n: u64) -> Seq {
    Seq::new(n).unwrap()
}

/// A server, and a network before it.
async fn online() -> (Server, Proxy) {
    let server = Server::fresh().await;
    group(&server).await;
    let proxy = Proxy::before(&server.processes()[0]).await;
    (server, proxy)
}

fn client(server: &Server, proxy: &Proxy, uid: u64) -> Client {
    let token = Token::fixed(token::user(&server.secret(), uid, "phone"));
    Client::new(&proxy.url(), token).unwrap()
}

async fn next(session: &mut Session) -> Event {
    let event = tokio::time::timeout(DEADLINE, session.next()).await;
    event.expect("something happens").expect("the session goes on")
}

/// Takes events until one is as wanted.
async fn until<T>(session: &mut Session, wanted: impl Fn(&Event) -> Option<T>) -> T {
    loop {
        let event = next(session).await;
        if let Some(found) = wanted(&event) {
            return found;
        }
    }
}

async fn until_unread(session: &mut Session, total: u64) {
    while session.unread().total().get() != total {
        next(session).await;
    }
}

/// A session that has its snapshot.
async fn following(client: &Client) -> Session {
    let mut session = client.follow(FollowOptions::default());
    assert!(matches!(next(&mut session).await, Event::Connected));
    assert!(matches!(next(&mut session).await, Event::Snapshot));
    session
}

/// How many facts of a kind this user's calls have made of a topic.
async fn facts(server: &Server, topic: &str, kind: &str, reader: &str) -> usize {
    let records = server.topic(topic).await;
    records
        .iter()
        .map(|record| record.json())
        .filter(|fact| fact["type"] == kind && (fact["uid"] == reader || fact["reader_uid"] == reader))
        .count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_shows_unread_and_receipts_and_merges_what_it_sends() {
    let (server, proxy) = online().await;
    let mut reader = following(&client(&server, &proxy, 8)).await;
    let mut sender = following(&client(&server, &proxy, 7)).await;
    let mut other = following(&client(&server, &proxy, 9)).await;
    assert_eq!((reader.unread().total().get(), sender.unread().total().get()), (2, 0));

    sent(&server, "c", 7, [3, 4]).await;
    until_unread(&mut reader, 4).await;
    // Merged into one mark, at the highest.
    for n in [1, 4, 2, 3] {
        reader.mark_read(id("c"), seq(n));
    }
    until_unread(&mut reader, 0).await;
    let row = reader.unread().row(&id("c")).cloned().unwrap();
    assert_eq!((row.read_seq, row.floor_seq, row.head_seq), (seq(4), seq(4), seq(4)));
    assert_eq!(facts(&server, "marks", "read_up_to", "8").await, 1);

    // And acks into one request.
    other.ack(id("c"), seq(2), None);
    other.ack(id("c"), seq(1), Some("7".parse().unwrap()));
    until_unread(&mut other, 2).await;
    assert_eq!(facts(&server, "acks", "receipts", "9").await, 1);

    let tally = |sender: &Session, n: u64| {
        sender.tallies().get(&id("c"), seq(n)).map_or((0, 0), |tally| (tally.read, tally.total))
    };
    while [1, 2, 3, 4].map(|n| tally(&sender, n)) != [(2, 2), (2, 2), (1, 2), (1, 2)] {
        next(&mut sender).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_happens_offline_is_there_afterwards() {
    let (server, proxy) = online().await;
    let mut session = following(&client(&server, &proxy, 8)).await;
    let before = session.token().unwrap();
    proxy.goes_down();
    until(&mut session, |event| matches!(event, Event::Disconnected(_)).then_some(())).await;
    session.mark_read(id("c"), seq(2));
    session.ack(id("c"), seq(1), None);
    sent(&server, "c", 7, [3]).await;
    is_shown(&server, 8, "c", 3).await;
    assert_eq!(session.unread().total().get(), 2, "as last told");

    proxy.is_up();
    let mut events = Vec::new();
    while session.unread().row(&id("c")).is_none_or(|row| (row.unread.get(), row.read_seq) != (1, seq(2))) {
        events.push(next(&mut session).await);
    }
    let is_snapshot = |event: &Event| matches!(event, Event::Snapshot);
    assert!(!events.iter().any(is_snapshot), "it went on where it stood: {events:?}");
    let after = session.token().unwrap();
    assert!(after.epoch == before.epoch && after.version > before.version);

    // Who comes back later goes on from what was kept.
    let (token, unread) = (session.token(), session.unread());
    drop(session);
    sent(&server, "c", 7, [4]).await;
    let mut session = client(&server, &proxy, 8).follow(FollowOptions { token, unread });
    while session.unread().total().get() != 2 {
        assert!(!is_snapshot(&next(&mut session).await));
    }
    // A server that was restarted has lost what it told, and says so.
    server.terminate().await;
    sent_while_down(&mut session).await;
    server.restart().await;
    until(&mut session, |event| is_snapshot(event).then_some(())).await;
    until_unread(&mut session, 1).await;
}

/// A mark that can't go out yet.
async fn sent_while_down(session: &mut Session) {
    until(session, |event| matches!(event, Event::Disconnected(_)).then_some(())).await;
    session.mark_read(id("c"), seq(3));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_is_told_and_what_is_early_goes_again() {
    let (server, proxy) = online().await;
    joined(&server, "others", &[7]).await;
    sent(&server, "others", 7, [1]).await;
    let mut session = following(&client(&server, &proxy, 8)).await;
    session.mark_read(id("others"), seq(1));
    let (parcel, error) = loop {
        if let Event::Refused(parcel, error) = next(&mut session).await {
            break (parcel, error);
        }
    };
    assert_eq!(parcel, Parcel::Mark(id("others"), seq(1)));
    assert!(
        matches!(&error, ClientError::Refused { status: 403, problem, .. } if problem == "not-a-member"),
        "{error}"
    );

    // Marked before it has arrived here.
    session.mark_read(id("c"), seq(3));
    session.ack(id("c"), seq(3), None);
    let path = "/v1/conversations/c/read";
    let early = server.as_user(8, "desk").post(path, &json!({"up_to_seq": "3"})).await;
    assert_eq!(early.status, 409, "{early}");
    server.as_service().events(&[message("c", 7, 3)]).await;
    wait_until(DEADLINE, "the early mark to be taken", || async {
        let row = session.unread().row(&id("c")).cloned().unwrap();
        if row.read_seq == seq(3) && row.unread.get() == 0 { Ok(()) } else { Err(format!("{row:?}")) }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_outlives_its_tokens() {
    let (server, proxy) = online().await;
    let (secret, given) = (server.secret(), Arc::new(AtomicU32::new(0)));
    let counted = given.clone();
    let tokens = Token::from_fn(move || {
        counted.fetch_add(1, Ordering::SeqCst);
        let ends_s = (now_ms() + SHORT_MS) as f64 / 1_000.0;
        let claims = json!({"sub": "8", "scope": "user", "endpoint": "phone", "exp": ends_s});
        let token = token::sign(&secret, &claims);
        Box::pin(async move { Ok(token) })
    });
    let mut session = following(&Client::new(&proxy.url(), tokens).unwrap()).await;
    for n in 3..=4 {
        let end = until(&mut session, |event| match event {
            Event::Disconnected(error) => Some(error.to_string()),
            Event::Connected | Event::Snapshot | Event::Entry(_) | Event::Refused(..) => None,
        });
        let end = end.await;
        assert!(end.contains("4001"), "{end}");
        sent(&server, "c", 7, [n]).await;
        until_unread(&mut session, n).await;
    }
    assert!(given.load(Ordering::SeqCst) >= 3, "a token for each connection");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_a_user_and_of_the_backend() {
    let (server, proxy) = online().await;
    let odd = id("a/b c?%ü");
    joined(&server, odd.as_str(), &[7, 8]).await;
    let backend = Client::new(&proxy.url(), Token::fixed(token::service(&server.secret()))).unwrap();
    backend.events(&[message(odd.as_str(), 7, 1), message(odd.as_str(), 8, 2)]).await.unwrap();
    is_shown(&server, 8, odd.as_str(), 2).await;

    let user = client(&server, &proxy, 8);
    let acked = |n| Acked { seq: seq(n), sender_uid: None };
    let accepted = user.acks(&odd, &[acked(1), acked(2)]).await.unwrap();
    assert_eq!((accepted.accepted, accepted.ignored.len()), (1, 1));
    assert_eq!((accepted.ignored[0].seq, accepted.ignored[0].reason.as_str()), (seq(2), "own_message"));
    wait_until(DEADLINE, "the receipt", || async {
        let receipt = client(&server, &proxy, 7).receipt(&odd, seq(1)).await.unwrap();
        if (receipt.read, receipt.total) == (1, 1) { Ok(()) } else { Err(format!("{receipt:?}")) }
    })
    .await;

    user.read(&id("c"), seq(1)).await.unwrap();
    user.mark_unread(&id("c"), true).await.unwrap();
    user.mute(&odd, true).await.unwrap();
    user.set_receipts(false).await.unwrap();
    let row_is = |marked_unread: bool, unread: u64| {
        let user = user.clone();
        move || {
            let user = user.clone();
            async move {
                let picture = user.unread().await.unwrap();
                let row = picture.conversations.iter().find(|row| row.conversation_id == id("c")).unwrap();
                let seen = (row.row.marked_unread, row.row.unread.get());
                if seen == (marked_unread, unread) { Ok(()) } else { Err(format!("{row:?}")) }
            }
        }
    };
    wait_until(DEADLINE, "what was marked", row_is(true, 1)).await;
    user.clear(&id("c"), Some(seq(2))).await.unwrap();
    wait_until(DEADLINE, "what was cleared", row_is(false, 0)).await;

    let early = user.read(&id("c"), seq(9)).await.unwrap_err();
    assert!(early.is_retryable(), "{early}");
    assert!(
        matches!(&early, ClientError::Refused { status: 409, problem, .. } if problem == "seq-beyond-head")
    );
    let malformed = user.acks(&id("c"), &[]).await.unwrap_err();
    assert!(matches!(&malformed, ClientError::Refused { status: 422, .. }) && !malformed.is_retryable());
    let forbidden = user.events(&[message("c", 7, 3)]).await.unwrap_err();
    assert!(matches!(&forbidden, ClientError::Refused { status: 403, .. }), "{forbidden}");
    proxy.goes_down();
    let gone = user.unread().await.unwrap_err();
    assert!(matches!(gone, ClientError::NoAnswer { .. }) && gone.is_retryable(), "{gone}");
    let nobody = Client::new("ftp://readmark", Token::fixed("")).unwrap_err();
    assert!(matches!(nobody, ClientError::Address { .. }));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_own_read_is_known_by_its_endpoint() {
    let (server, proxy) = online().await;
    let mut phone = following(&client(&server, &proxy, 8)).await;
    let desk = Token::fixed(token::user(&server.secret(), 8, "desk"));
    let mut desk = following(&Client::new(&proxy.url(), desk).unwrap()).await;
    phone.mark_read(id("c"), seq(2));
    let own = |event: &Event| match event {
        Event::Entry(entry) => match &entry.news {
            News::ConversationRead { own, .. } => Some(*own),
            News::UnreadChanged { .. } | News::MessageRead { .. } => None,
        },
        Event::Connected | Event::Disconnected(_) | Event::Snapshot | Event::Refused(..) => None,
    };
    let of = tokio::time::timeout(Duration::from_secs(30), async {
        (until(&mut phone, own).await, until(&mut desk, own).await)
    });
    assert_eq!(of.await.unwrap(), (true, false));
}
