//! The tables: made once, by one process, whatever happens in between.

use crate::server::{config, now, session, unique};
use readmark_domain::dead_letter::{Actor, LetterId, Outcome, Resolution};
use readmark_domain::id::ConversationId;
use readmark_store::cql::{CqlConfig, CqlStore, Schema};
use readmark_store::{ConversationStore, DeadLetterStore, StoreErrorKind};
use std::sync::Arc;

/// The version that the program makes.
const VERSION: i32 = 2;

async fn migrate(keyspace: &str) -> Result<Option<i32>, readmark_store::StoreError> {
    let schema = Schema::connect(config(keyspace)).await?;
    let migrated = schema.migrate(now()).await?;
    assert_eq!(migrated.to, VERSION);
    assert!(schema.pending().await?.is_empty(), "something is left to do");
    Ok(migrated.from)
}

async fn open_error(keyspace: &str) -> (StoreErrorKind, String) {
    let error =
        CqlStore::open(&config(keyspace), Arc::new(now)).await.expect_err("a store without its tables");
    (error.kind, error.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn migrating_may_be_repeated() {
    let keyspace = unique("repeat");
    let (kind, words) = open_error(&keyspace).await;
    assert!(kind == StoreErrorKind::Refused && words.contains("run `readmark setup`"), "{words}");
    let pending = Schema::connect(config(&keyspace)).await.unwrap().pending().await.unwrap();
    assert!(pending[0].starts_with("CREATE KEYSPACE"), "{pending:?}");
    assert_eq!(migrate(&keyspace).await.unwrap(), None);
    assert_eq!(migrate(&keyspace).await.unwrap(), Some(VERSION));
    CqlStore::open(&config(&keyspace), Arc::new(now)).await.unwrap();
}

/// Interrupted after each of some steps: the next run finishes.
#[tokio::test(flavor = "multi_thread")]
async fn migrating_may_be_interrupted() {
    let session = session().await;
    for done in [1, 2, 3, 7] {
        let keyspace = unique(&format!("part{done}"));
        let pending = Schema::connect(config(&keyspace)).await.unwrap().pending().await.unwrap();
        for step in &pending[..done] {
            session.query_unpaged(step.as_str(), ()).await.unwrap();
        }
        assert_eq!(open_error(&keyspace).await.0, StoreErrorKind::Refused, "after {done} steps");
        assert_eq!(migrate(&keyspace).await.unwrap(), None, "after {done} steps");
        CqlStore::open(&config(&keyspace), Arc::new(now)).await.unwrap();
    }
}

/// One makes the tables, the others find them made.
#[tokio::test(flavor = "multi_thread")]
async fn one_migrates_at_a_time() {
    let keyspace = unique("many");
    let mut running = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let keyspace = keyspace.clone();
        running.spawn(async move { migrate(&keyspace).await.unwrap() });
    }
    let found = running.join_all().await;
    assert_eq!(found.iter().filter(|from| from.is_none()).count(), 1, "{found:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_keyspace_is_refused_and_left_alone() {
    let keyspace = unique("newer");
    migrate(&keyspace).await.unwrap();
    let text = format!("INSERT INTO {keyspace}.schema_versions (component, version) VALUES ('store', 3)");
    session().await.query_unpaged(text, ()).await.unwrap();
    let (kind, words) = open_error(&keyspace).await;
    assert!(kind == StoreErrorKind::Refused && words.contains("version 3"), "{words}");
    let schema = Schema::connect(config(&keyspace)).await.unwrap();
    for error in [schema.migrate(now()).await.unwrap_err(), schema.pending().await.unwrap_err()] {
        assert!(error.to_string().contains("use a newer readmark"), "{error}");
    }
    assert_eq!(schema.version().await.unwrap(), Some(3));
}

/// A keyspace as the release before made it: what is in it stays, and the new table is there.
#[tokio::test(flavor = "multi_thread")]
async fn a_keyspace_of_version_1_is_brought_up() {
    let keyspace = unique("upgrade");
    let pending = Schema::connect(config(&keyspace)).await.unwrap().pending().await.unwrap();
    let session = session().await;
    let (of_version_2, before): (Vec<_>, Vec<_>) =
        pending.into_iter().partition(|step| step.contains("dead_letter_state"));
    for step in before {
        session.query_unpaged(step, ()).await.unwrap();
    }
    let text = format!("INSERT INTO {keyspace}.schema_versions (component, version) VALUES ('store', 1)");
    session.query_unpaged(text, ()).await.unwrap();
    let text = format!(
        "UPDATE {keyspace}.conversations USING TIMESTAMP 41 SET head = 41 WHERE conversation_id = 'known'"
    );
    session.query_unpaged(text, ()).await.unwrap();

    let (kind, words) = open_error(&keyspace).await;
    assert!(kind == StoreErrorKind::Refused && words.contains("version 1, this program needs 2"), "{words}");
    let schema = Schema::connect(config(&keyspace)).await.unwrap();
    assert_eq!(schema.pending().await.unwrap(), of_version_2, "only what is new");
    assert_eq!(migrate(&keyspace).await.unwrap(), Some(1));

    let store = CqlStore::open(&config(&keyspace), Arc::new(now)).await.unwrap();
    let known = store.conversation(&ConversationId::new("known").unwrap()).await.unwrap();
    assert_eq!(known.map(|c| c.head.get()), Some(41));
    let id = LetterId { partition: 0, offset: 7 };
    let dropped = Resolution { at: now(), outcome: Outcome::Dropped, by: Actor::Operator };
    store.resolve_dead_letters(&[(id, dropped)]).await.unwrap();
    assert_eq!(store.resolutions(0, 0, 9, 9).await.unwrap(), [(id, dropped)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_keyspace_is_refused_by_the_store() {
    let keyspace = unique("older");
    migrate(&keyspace).await.unwrap();
    let session = session().await;
    session.query_unpaged(format!("TRUNCATE {keyspace}.schema_versions"), ()).await.unwrap();
    let text = format!("INSERT INTO {keyspace}.schema_versions (component, version) VALUES ('store', 0)");
    session.query_unpaged(text, ()).await.unwrap();
    let (kind, words) = open_error(&keyspace).await;
    assert!(
        kind == StoreErrorKind::Refused && words.contains("version 0") && words.contains("setup"),
        "{words}"
    );
    assert_eq!(migrate(&keyspace).await.unwrap(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_configuration_is_refused_in_words() {
    for keyspace in ["", "Readmark", "1a", "a-b", "a; DROP", &"a".repeat(43)] {
        let (kind, words) = open_error(keyspace).await;
        assert!(kind == StoreErrorKind::Refused && words.contains("keyspace"), "{words}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_away_is_waited_for() {
    // A port that nobody listens on.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nowhere = listener.local_addr().unwrap().to_string();
    drop(listener);
    let config = CqlConfig { contact_points: vec![nowhere.clone()], ..config("readmark") };
    let error = CqlStore::open(&config, Arc::new(now)).await.unwrap_err();
    assert!(error.is_retryable() && error.to_string().contains(&nowhere), "{error}");
}
