//! R10: a replica that lacks the last writes takes over.

use super::{head, open, rebuilt, told, uid, unread};
use readmark_domain::hot::Synced;
use readmark_hot::{Held, HotState, Wakeup};
use readmark_test_services::redis::Proxy;
use readmark_test_services::redis::Server;
use std::time::{Duration, Instant};

async fn wait_for(server: &Server, section: &str, wanted: &str) {
    let start = Instant::now();
    loop {
        let info: String = server.ask(&["INFO", section]).await;
        if info.contains(wanted) {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(30), "no {wanted}: {info}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_takes_over_has_no_state() {
    let (master, replica) = (Server::start().await, Server::start().await);
    let proxy = Proxy::start(master.address()).await;
    let hot = open(&proxy.url()).await.expect("open");
    let port = master.port.to_string();
    replica.ask::<()>(&["REPLICAOF", "127.0.0.1", &port]).await;
    wait_for(&replica, "replication", "master_link_status:up").await;
    let token = rebuilt(&hot, uid(1), 1).await;
    hot.apply(&[told(uid(1), head(2))]).await.remove(0).expect("apply");
    replica.catches_up_with(&master).await;
    // The replica is cut off: what follows is lost to it.
    replica.ask::<()>(&["REPLICAOF", "127.0.0.1", "1"]).await;
    let lost = hot.apply(&[told(uid(1), head(3))]).await.remove(0).expect("apply").expect("a state");
    assert_eq!(lost.version.get(), 2);
    // As a replica it takes nothing and tells nothing, also of users of whom it has nothing.
    proxy.lead_to(replica.address());
    for (of, words) in [(uid(1), "a replica"), (uid(2), "a read only replica")] {
        let error = hot.picture(of, None).await.expect_err("it is a replica");
        assert!(error.is_retryable() && error.to_string().contains(words), "{error}");
        let error = hot.apply(&[told(of, head(4))]).await.remove(0).expect_err("it is a replica");
        assert!(error.is_retryable() && error.to_string().contains(words), "{error}");
    }
    assert!(hot.probe().await.is_err_and(|error| error.is_retryable()));
    let start = Instant::now();
    replica.ask::<()>(&["REPLICAOF", "NO", "ONE"]).await;
    let keys: Vec<String> = replica.ask(&["KEYS", "test:{1}:*"]).await;
    assert!(keys.len() >= 3, "it has the keys: {keys:?}");
    while hot.probe().await.is_err() {
        assert!(start.elapsed() < Duration::from_secs(60), "it does not recover");
    }
    assert_eq!(unread(&hot, uid(1)).await.expect("picture"), Held::Missing);
    assert_eq!(hot.apply(&[told(uid(1), head(4))]).await.remove(0).expect("apply"), None);
    let renewed = rebuilt(&hot, uid(1), 4).await;
    assert_ne!(renewed.epoch, token.epoch);
    assert_eq!(hot.entries(uid(1), &token, 10).await.expect("entries"), Held::Complete(Synced::TooOld));
    // The old master comes back as a replica, and is promoted: its own states of before are missing too.
    let port = replica.port.to_string();
    master.ask::<()>(&["REPLICAOF", "127.0.0.1", &port]).await;
    wait_for(&master, "replication", "master_link_status:up").await;
    master.ask::<()>(&["REPLICAOF", "NO", "ONE"]).await;
    proxy.lead_to(master.address());
    while hot.probe().await.is_err() {
        assert!(start.elapsed() < Duration::from_secs(90), "it does not recover");
    }
    assert_eq!(unread(&hot, uid(1)).await.expect("picture"), Held::Missing);
}

/// The address leads to another server, while the connection there is still leads to the old one.
#[tokio::test(flavor = "multi_thread")]
async fn a_master_that_becomes_a_replica_is_left() {
    let (old, new) = (Server::start().await, Server::start().await);
    let proxy = Proxy::start(old.address()).await;
    let hot = open(&proxy.url()).await.expect("open");
    let (watch, mut wakeups) = hot.subscribe().await.expect("subscribe");
    watch.add(uid(1)).await;
    rebuilt(&hot, uid(1), 1).await;
    assert_eq!(wakeups.next().await, Wakeup::User(uid(1)));
    proxy.lead_new_to(new.address());
    old.ask::<()>(&["REPLICAOF", "127.0.0.1", &new.port.to_string()]).await;
    wait_for(&old, "replication", "master_link_status:up").await;
    // Within one call.
    assert_eq!(unread(&hot, uid(1)).await.expect("picture"), Held::Missing);
    rebuilt(&hot, uid(1), 2).await;
    assert_eq!(unread(&hot, uid(1)).await.expect("picture"), Held::Complete(2));
    new.ask::<()>(&["REPLICAOF", "NO", "ONE"]).await;
    let (start, mut heads) = (Instant::now(), 3..);
    old.ask::<()>(&["REPLICAOF", "127.0.0.1", "1"]).await;
    loop {
        assert!(start.elapsed() < Duration::from_secs(60), "nothing wakes");
        let next = heads.next().expect("numbers do not end");
        hot.apply(&[told(uid(1), head(next))]).await.remove(0).expect("apply");
        if let Ok(wakeup) = tokio::time::timeout(Duration::from_millis(50), wakeups.next()).await {
            assert!([Wakeup::All, Wakeup::User(uid(1))].contains(&wakeup));
            if wakeup == Wakeup::User(uid(1)) {
                break;
            }
        }
    }
}
