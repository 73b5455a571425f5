//! L1: the connection is cut once, and for long; a server that says nothing, refuses, or is full.

use super::{head, member, open, rebuilt, tally, told, uid, unread};
use readmark_hot::{Held, HotErrorKind, HotState, Wakeup};
use readmark_test_services::redis::Proxy;
use readmark_test_services::redis::Server;
use std::time::{Duration, Instant};

/// An operation answers within this, whatever happens: its own limit and what a busy machine adds.
const ANSWERED_WITHIN: Duration = Duration::from_secs(6);

#[tokio::test(flavor = "multi_thread")]
async fn cut_once_it_recovers_within_the_call() {
    let server = Server::start().await;
    let proxy = Proxy::start(server.address()).await;
    let hot = open(&proxy.url()).await.expect("open");
    rebuilt(&hot, uid(1), 1).await;
    for n in 2..10 {
        proxy.cut();
        proxy.heal();
        let applied = hot.apply(&[told(uid(1), head(n))]).await.remove(0).expect("apply").expect("a state");
        assert_eq!(applied.version.get(), n - 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_for_long_calls_fail_in_time_and_then_recover() {
    let server = Server::start().await;
    let proxy = Proxy::start(server.address()).await;
    let hot = open(&proxy.url()).await.expect("open");
    let token = rebuilt(&hot, uid(1), 1).await;
    let (watch, mut wakeups) = hot.subscribe().await.expect("subscribe");
    watch.add(uid(1)).await;
    proxy.cut();
    for _ in 0..3 {
        let start = Instant::now();
        let error = hot.picture(uid(1), None).await.expect_err("the server is away");
        assert!(error.is_retryable() && error.to_string().contains("picture failed at user 1"), "{error}");
        let many: Vec<_> = (0..300).map(|n| told(uid(n), head(2))).collect();
        let answers = hot.apply(&many).await;
        assert!(answers.iter().all(|one| one.as_ref().is_err_and(readmark_hot::HotError::is_retryable)));
        assert!(start.elapsed() < 2 * ANSWERED_WITHIN, "{:?}", start.elapsed());
    }
    assert!(hot.probe().await.is_err_and(|error| error.is_retryable()));
    watch.add(uid(2)).await;
    proxy.heal();
    let start = Instant::now();
    while hot.probe().await.is_err() {
        assert!(start.elapsed() < Duration::from_secs(30), "it does not recover");
    }
    assert_eq!(unread(&hot, uid(1)).await.expect("picture"), Held::Complete(1));
    assert_eq!(tokio::time::timeout(Duration::from_secs(30), wakeups.next()).await, Ok(Wakeup::All));
    hot.apply(&[told(uid(1), head(5))]).await.remove(0).expect("apply");
    assert_eq!(tokio::time::timeout(Duration::from_secs(30), wakeups.next()).await, Ok(Wakeup::User(uid(1))));
    rebuilt(&hot, uid(2), 1).await;
    assert_eq!(tokio::time::timeout(Duration::from_secs(30), wakeups.next()).await, Ok(Wakeup::User(uid(2))));
    assert!(hot.entries(uid(1), &token, 10).await.expect("entries").complete().is_some());
}

/// Connected, and nothing comes back.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_says_nothing_is_away() {
    let server = Server::start().await;
    let hot = open(&server.url()).await.expect("open");
    rebuilt(&hot, uid(1), 1).await;
    server.ask::<()>(&["CLIENT", "PAUSE", "6000", "ALL"]).await;
    let start = Instant::now();
    let error = hot.picture(uid(1), None).await.expect_err("it is paused");
    assert!(error.is_retryable() && start.elapsed() < ANSWERED_WITHIN, "{error} after {:?}", start.elapsed());
    while hot.probe().await.is_err() {
        assert!(start.elapsed() < Duration::from_secs(40), "it does not recover");
    }
    assert_eq!(unread(&hot, uid(1)).await.expect("picture"), Held::Complete(1));
}

/// Full: changes wait, what is there is read, nothing is half done.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_server_takes_nothing_and_says_so() {
    let server = Server::start().await;
    let hot = open(&server.url()).await.expect("open");
    rebuilt(&hot, uid(1), 1).await;
    server.ask::<()>(&["CONFIG", "SET", "maxmemory", "1"]).await;
    let error = hot.apply(&[told(uid(1), head(2))]).await.remove(0).expect_err("it is full");
    assert!(error.is_retryable(), "{error}");
    assert_eq!(unread(&hot, uid(1)).await.expect("picture"), Held::Complete(1));
    server.ask::<()>(&["CONFIG", "SET", "maxmemory", "0"]).await;
    let applied = hot.apply(&[told(uid(1), head(2))]).await.remove(0).expect("apply").expect("a state");
    assert_eq!((applied.version.get(), applied.appended), (1, 1));
}

/// Any one key that is evicted makes all of its user's missing.
#[tokio::test(flavor = "multi_thread")]
async fn one_missing_key_is_a_missing_user() {
    let server = Server::start().await;
    let hot = open(&server.url()).await.expect("open");
    for (n, key) in (1..).zip(["user", "conversations", "stream"]) {
        rebuilt(&hot, uid(n), 1).await;
        hot.apply(&[told(uid(n), head(3))]).await.remove(0).expect("apply");
        let removed: u64 = server.ask(&["DEL", &format!("test:{{{n}}}:{key}")]).await;
        assert_eq!(removed, 1, "{key}");
        assert_eq!(unread(&hot, uid(n)).await.expect("picture"), Held::Missing, "{key}");
        assert_eq!(hot.apply(&[told(uid(n), head(4))]).await.remove(0).expect("apply"), None, "{key}");
        rebuilt(&hot, uid(n), 4).await;
        assert_eq!(unread(&hot, uid(n)).await.expect("picture"), Held::Complete(4), "{key}");
    }
}

/// Also those of its tallies, as soon as one that is new is told.
#[tokio::test(flavor = "multi_thread")]
async fn missing_tallies_are_a_missing_user() {
    let server = Server::start().await;
    let hot = open(&server.url()).await.expect("open");
    for (n, key) in (1..).zip(["tallies", "tally-order"]) {
        let tally =
            async |seq| hot.apply_tallies(&[tally(uid(n), seq)]).await.remove(0).expect("apply_tallies");
        rebuilt(&hot, uid(n), 1).await;
        assert!(tally(1).await.is_some_and(|applied| applied.appended == 1));
        let removed: u64 = server.ask(&["DEL", &format!("test:{{{n}}}:{key}")]).await;
        assert_eq!(removed, 1, "{key}");
        assert_eq!(tally(2).await, None, "{key}");
    }
}

/// What can't be read is dropped, and rebuilt on next need.
#[tokio::test(flavor = "multi_thread")]
async fn garbage_is_a_missing_user() {
    let server = Server::start().await;
    let hot = open(&server.url()).await.expect("open");
    let token = rebuilt(&hot, uid(1), 1).await;
    server.ask::<()>(&["SET", "test:{1}:user", "garbage", "KEEPTTL"]).await;
    assert_eq!(unread(&hot, uid(1)).await.expect("picture"), Held::Missing);
    rebuilt(&hot, uid(1), 1).await;
    server.ask::<u64>(&["HSET", "test:{1}:conversations", "c", "\u{1}garbage"]).await;
    assert_eq!(unread(&hot, uid(1)).await.expect("picture"), Held::Missing);
    rebuilt(&hot, uid(1), 1).await;
    assert_eq!(unread(&hot, uid(1)).await.expect("picture"), Held::Complete(1));
    let old = hot.entries(uid(1), &token, 10).await.expect("entries");
    assert_eq!(old, Held::Complete(readmark_domain::hot::Synced::TooOld));
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_there_is_unavailable_and_nonsense_is_refused() {
    let port = readmark_test_services::redis::free_port();
    let error = open(&format!("redis://127.0.0.1:{port}")).await.expect_err("nobody is there");
    assert_eq!(error.kind, HotErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains(&port.to_string()), "{error}");
    for urls in ["", "127.0.0.1:1", "http://127.0.0.1:1"] {
        let error = open(urls).await.expect_err("no address");
        assert_eq!(error.kind, HotErrorKind::Refused, "{error}");
    }
    let (a, b) = (Server::start().await, Server::start().await);
    let error = open(&format!("{},{}", a.url(), b.url())).await.expect_err("no cluster");
    assert_eq!(error.kind, HotErrorKind::Refused, "{error}");
    let hot = open(&a.url()).await.expect("open");
    assert_eq!(hot.apply(&[told(uid(1), member(1))]).await.remove(0).expect("apply"), None);
}
