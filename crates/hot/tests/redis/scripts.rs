//! What scripts leave on the server: keys, their lives, what is written.

use super::{head, open, rebuilt, tally, told, uid};
use readmark_hot::{HotState, KEPT_MS};
use readmark_test_services::redis::Server;

/// All keys of a user live as long as its record; nothing lives for ever.
#[tokio::test(flavor = "multi_thread")]
async fn every_key_expires_with_its_user() {
    let server = Server::start().await;
    let hot = open(&server.url()).await.expect("open");
    rebuilt(&hot, uid(1), 1).await;
    hot.apply(&[told(uid(1), head(2))]).await.remove(0).expect("apply");
    hot.apply_tallies(&[tally(uid(1), 1)]).await.remove(0).expect("apply");
    let kept = i64::try_from(KEPT_MS).unwrap();
    let lives = async || {
        let mut keys: Vec<String> = server.ask(&["KEYS", "*"]).await;
        keys.sort();
        let mut lives = Vec::new();
        for key in &keys {
            lives.push(server.ask::<i64>(&["PTTL", key]).await);
        }
        (keys, lives)
    };
    let (keys, left) = lives().await;
    let wanted = ["conversations", "stream", "tallies", "tally-order", "user"];
    assert_eq!(keys, wanted.map(|key| format!("test:{{1}}:{key}")));
    assert!(left.iter().all(|ms| (kept - 60_000..=kept).contains(ms)), "{left:?}");
    for key in &keys {
        server.ask::<u64>(&["PEXPIRE", key, "1000000"]).await;
    }
    hot.touch(uid(1)).await.expect("touch");
    let (_, left) = lives().await;
    assert!(left.iter().all(|ms| (kept - 60_000..=kept).contains(ms)), "{left:?}");
    hot.forget(uid(1)).await.expect("forget");
    assert!(lives().await.0.is_empty());
}

/// RR-6: a repetition writes nothing at all, so nothing goes to replicas either.
#[tokio::test(flavor = "multi_thread")]
async fn what_changes_nothing_writes_nothing() {
    let server = Server::start().await;
    let hot = open(&server.url()).await.expect("open");
    rebuilt(&hot, uid(1), 1).await;
    hot.apply(&[told(uid(1), head(5))]).await.remove(0).expect("apply");
    hot.apply_tallies(&[tally(uid(1), 1)]).await.remove(0).expect("apply");
    let changes = async || -> u64 {
        let info: String = server.ask(&["INFO", "persistence"]).await;
        let line = info.lines().find_map(|line| line.strip_prefix("rdb_changes_since_last_save:"));
        line.and_then(|n| n.trim().parse().ok()).expect("a number")
    };
    let before = changes().await;
    for n in 1..=5 {
        hot.apply(&[told(uid(1), head(n))]).await.remove(0).expect("apply");
        hot.apply_tallies(&[tally(uid(1), 1)]).await.remove(0).expect("apply");
        hot.touch(uid(1)).await.expect("touch");
        hot.picture(uid(1), None).await.expect("picture");
        assert_eq!(hot.apply(&[told(uid(2), head(n))]).await.remove(0).expect("apply"), None);
    }
    assert_eq!(changes().await, before);
}

/// Texts are sent once: after that scripts are called by their hash.
#[tokio::test(flavor = "multi_thread")]
async fn texts_are_sent_once() {
    let server = Server::start().await;
    let hot = open(&server.url()).await.expect("open");
    rebuilt(&hot, uid(1), 1).await;
    server.ask::<()>(&["CONFIG", "RESETSTAT"]).await;
    let changes: Vec<_> = (2..=1_000).map(|n| told(uid(1), head(n))).collect();
    for answer in hot.apply(&changes).await {
        answer.expect("apply");
    }
    let stats: String = server.ask(&["INFO", "commandstats"]).await;
    let calls = |command: &str| {
        let line = stats.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")));
        line.and_then(|rest| rest.split(',').next()?.parse::<u64>().ok()).unwrap_or(0)
    };
    assert_eq!((calls("evalsha"), calls("eval")), (999, 0), "{stats}");
}
