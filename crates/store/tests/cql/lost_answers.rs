//! Writes whose answers are lost after they took effect.

use crate::kinds::{KINDS, Kind, state, write};
use crate::proxy::{Fault, Proxy};
use crate::server::{config, contact_points, keyspace, open, open_with};
use crate::writes::seq;
use readmark_domain::id::ConversationId;
use readmark_store::ConversationStore;
use readmark_store::cql::{CqlConfig, CqlStore};
use std::collections::BTreeSet;

/// More than any call sends again.
const FOR_GOOD: u32 = 1_000;

async fn behind_a_proxy(request_timeout_ms: u64) -> (CqlStore, Proxy) {
    let proxy = Proxy::start(contact_points().remove(0)).await;
    let config = CqlConfig {
        contact_points: vec![proxy.address.to_string()],
        request_timeout_ms,
        ..config(keyspace().await)
    };
    (open_with(&config).await, proxy)
}

fn named(what: &str, kind: Kind) -> ConversationId {
    ConversationId::new(&format!("{what} {kind:?}")).unwrap()
}

/// Every statement that writes, alone or in a batch, one timeout or two: the adapter repeats it, and the call succeeds.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_timed_out_is_repeated() {
    let (store, proxy) = behind_a_proxy(10_000).await;
    let direct = open().await;
    for kind in KINDS {
        let calm = named("calm", kind);
        proxy.take_written();
        write(&store, kind, &calm).await.unwrap();
        let requests: BTreeSet<_> = proxy.take_written().into_iter().collect();
        assert!(!requests.is_empty(), "{kind:?} wrote nothing");
        let wanted = state(&direct, &calm).await;
        for (number, statements) in requests.iter().enumerate() {
            let id = named(&format!("repeated {number}"), kind);
            let before = proxy.lost();
            proxy.lose_of(statements, Fault::WriteTimeout, 2);
            write(&store, kind, &id).await.unwrap();
            assert_eq!(proxy.lost() - before, 2, "{kind:?}: answers to {statements:?} that were lost");
            assert_eq!(state(&direct, &id).await, wanted, "{kind:?}");
        }
    }
    let (prepared, lost) = (proxy.prepared_writes(), proxy.lost_statements());
    let never: Vec<_> = prepared.difference(&lost).collect();
    assert!(!prepared.is_empty() && never.is_empty(), "never lost: {never:#?}");
}

/// One more than it repeats, or silence: the call fails so that its caller tries again; what was written stands,
/// and trying again changes nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_landed_may_fail_and_be_tried_again() {
    let (store, proxy) = behind_a_proxy(700).await;
    let direct = open().await;
    for fault in [Fault::WriteTimeout, Fault::Silence] {
        for kind in KINDS {
            let (id, calm) = (named(&format!("{fault:?}"), kind), named(&format!("calm {fault:?}"), kind));
            write(&store, kind, &calm).await.unwrap();
            proxy.lose(fault, FOR_GOOD);
            let error = write(&store, kind, &id).await.expect_err("an answer that was lost");
            assert!(error.is_retryable(), "{fault:?}, {kind:?}: {error}");
            proxy.heal();
            write(&store, kind, &id).await.unwrap();
            assert_eq!(state(&direct, &id).await, state(&direct, &calm).await, "{fault:?}, {kind:?}");
        }
    }
}

/// The first write did take effect, though nobody was told.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_is_no_lost_write() {
    let (store, proxy) = behind_a_proxy(700).await;
    for fault in [Fault::WriteTimeout, Fault::Silence] {
        let id = named(&format!("landed {fault:?}"), Kind::Head);
        proxy.lose(fault, FOR_GOOD);
        store.raise_head(&id, seq(77)).await.expect_err("an answer that was lost");
        proxy.heal();
        let head = open().await.conversation(&id).await.unwrap().map(|c| c.head);
        assert_eq!(head, Some(seq(77)), "{fault:?}");
    }
}
