//! `readmark inspect lag`: on a running server, on the files of one that has ended, and on Kafka while the store is away.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use readmark_test_commands::{Ended, NOBODY, PARTITIONS, Place, readmark};
use readmark_test_harness::{DEADLINE, DataDir, Options, Server, now_ms, wait_until};
use serde_json::{Value, json};

const LAG: [&str; 4] = ["inspect", "lag", "--format", "json"];
/// Partitions of each topic of an embedded log.
const EMBEDDED_PARTITIONS: usize = 4;

/// What a role is behind in a topic, from the totals; and the partitions must add up to it.
fn lag(ended: &Ended, role: &str, topic: &str, partitions: usize) -> u64 {
    assert_eq!(ended.code, 0, "{ended:?}");
    let document = ended.json();
    let of = |list: &str| -> Vec<Value> {
        let all = document[list].as_array().unwrap().iter();
        all.filter(|one| one["role"] == role && one["topic"] == topic).cloned().collect()
    };
    let (total, each) = (of("totals"), of("partitions"));
    assert_eq!((total.len(), each.len()), (1, partitions), "{document:#}");
    let sum = each.iter().map(|one| one["lag"].as_u64().unwrap()).sum::<u64>();
    assert_eq!(total[0]["lag"], sum, "{document:#}");
    sum
}

#[tokio::test]
async fn of_a_running_server_and_of_its_files() {
    let server = Server::fresh().await;
    let env = [("READMARK_DATA_DIR".to_owned(), server.data_dir().display().to_string())];
    let folder = tempfile::tempdir().unwrap();
    let event = json!({"type": "member_joined", "conversation_id": "c", "uid": "7", "at_seq": "0",
                       "occurred_at": now_ms().to_string()});
    server.as_service().events(&[event]).await;
    let handled = wait_until(DEADLINE, "the event to be handled", || async {
        let ended = readmark(&LAG, &env, folder.path());
        assert!(ended.stderr.contains("source: the readmark running on"), "{ended:?}");
        let document = ended.json();
        let ends = document["partitions"].as_array().unwrap().iter().map(|one| one["end"].as_u64().unwrap());
        let is_done = ends.sum::<u64>() > 0 && document["lag"] == 0;
        if is_done { Ok(ended) } else { Err(format!("{document:#}")) }
    })
    .await;
    for (role, topic) in [("catalog", "conversation-events"), ("aggregator", "acks"), ("watermark", "marks")]
    {
        assert_eq!(lag(&handled, role, topic, EMBEDDED_PARTITIONS), 0);
    }
    server.terminate().await;
    let ended = readmark(&LAG, &env, folder.path());
    assert!(ended.stderr.contains("source: the files in"), "{ended:?}");
    assert_eq!(lag(&ended, "catalog", "conversation-events", EMBEDDED_PARTITIONS), 0);
}

/// The address of a socket takes about 100 bytes.
#[tokio::test]
async fn of_a_directory_that_lies_deep() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("d".repeat(150)).join("data");
    std::fs::create_dir_all(deep.parent().unwrap()).unwrap();
    let server = Server::start(Options { data_dir: DataDir::at(deep.clone()), ..Options::default() }).await;
    let env = [("READMARK_DATA_DIR".to_owned(), deep.display().to_string())];
    let ended = readmark(&LAG, &env, folder.path());
    assert!(ended.stderr.contains("source: the readmark running on"), "{ended:?}");
    server.terminate().await;
}

#[tokio::test]
async fn on_kafka_while_the_store_is_away() {
    let place = Place::new();
    place.set_up();
    let ended = place.run(&LAG, &[("READMARK_STORE__CONTACT_POINTS", NOBODY)]);
    assert!(ended.stderr.contains("source: Kafka at"), "{ended:?}");
    assert_eq!(lag(&ended, "aggregator", "acks", PARTITIONS as usize), 0);
    assert_eq!(ended.json()["partitions"][0]["position"], Value::Null);
    place.remove().await;
}
