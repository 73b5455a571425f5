//! `readmark doctor` on parts that are away, not set up, and as they should be.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test fails")]

use readmark_test_commands::{Ended, NOBODY, PARTITIONS, Place, readmark};
use readmark_test_harness::{Part, Server, Services};
use serde_json::Value;

const DOCTOR: [&str; 3] = ["doctor", "--format", "json"];

/// The findings of a check.
fn findings(ended: &Ended, check: &str) -> Vec<Value> {
    let document = ended.json();
    let findings = document["findings"].as_array().unwrap().iter();
    let found: Vec<Value> = findings.filter(|finding| finding["check"] == check).cloned().collect();
    assert!(!found.is_empty(), "{check} is not in {document:#}");
    found
}

/// A check found exactly this, and says so; gives what to do.
fn expect(ended: &Ended, check: &str, outcome: &str, words: &[&str]) -> String {
    let found = findings(ended, check);
    let is_it = |finding: &&Value| {
        finding["outcome"] == outcome
            && words.iter().all(|word| finding["found"].as_str().unwrap().contains(word))
    };
    let finding =
        found.iter().find(is_it).unwrap_or_else(|| panic!("{check} {outcome} {words:?}: {found:#?}"));
    finding["to_do"].to_string()
}

#[test]
fn a_wrong_configuration_is_all_that_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let ended = readmark(&DOCTOR, &[("READMARK_SPEED".to_owned(), "9".to_owned())], folder.path());
    assert_eq!(ended.code, 2, "{ended:?}");
    expect(&ended, "configuration", "failed", &["speed (variable READMARK_SPEED): no such key"]);
}

#[test]
fn every_part_that_is_away_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{NOBODY}");
    let env = [
        ("READMARK_LISTEN", taken.local_addr().unwrap().to_string()),
        ("READMARK_LOG__KIND", "kafka".to_owned()),
        ("READMARK_LOG__BROKERS", NOBODY.to_owned()),
        ("READMARK_STORE__KIND", "cql".to_owned()),
        ("READMARK_STORE__CONTACT_POINTS", NOBODY.to_owned()),
        ("READMARK_HOT__KIND", "redis".to_owned()),
        ("READMARK_HOT__URL", url.clone()),
    ];
    // What has taken the address says nothing; it must not hold up the others.
    let env = env.map(|(name, value)| (name.to_owned(), value));
    let ended = readmark(&DOCTOR, &env, folder.path());
    assert_eq!(ended.code, 1, "{ended:?}");
    expect(&ended, "configuration", "ok", &["log Kafka, store CQL, hot state Redis"]);
    assert!(expect(&ended, "kafka", "failed", &[NOBODY, "Connection refused"]).contains("log.brokers"));
    expect(&ended, "topics", "not_checked", &[]);
    assert!(
        expect(&ended, "cql", "failed", &[NOBODY, "Connection refused"]).contains("store.contact_points")
    );
    expect(&ended, "keyspace", "not_checked", &[]);
    assert!(expect(&ended, "redis", "failed", &[&url, "Connection refused"]).contains("hot.url"));
    expect(&ended, "listen", "failed", &["is taken by another program"]);
    // Several processes do not share a secret that each makes for itself.
    assert!(expect(&ended, "tokens", "warning", &["secret of its own"]).contains("auth.secret_file"));
}

#[test]
fn files_that_are_named_must_be_there() {
    let folder = tempfile::tempdir().unwrap();
    let env = [
        ("READMARK_LISTEN", "127.0.0.1:0"),
        ("READMARK_AUTH__SECRET_FILE", "no-secret"),
        ("READMARK_AUTH__JWKS_FILE", "no-keys"),
    ];
    let env = env.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let ended = readmark(&DOCTOR, &env, folder.path());
    assert_eq!(ended.code, 2, "{ended:?}");
    expect(&ended, "configuration", "failed", &["auth.secret_file: no-secret", "auth.jwks_file: no-keys"]);
    expect(&ended, "tokens", "failed", &["no-secret"]);
    expect(&ended, "data directory", "ok", &["not there, the first start makes it"]);
}

#[tokio::test]
async fn a_running_server_is_found_by_its_directory() {
    let server = Server::fresh().await;
    let listen = server.listen().unwrap().to_string();
    let env = [
        ("READMARK_DATA_DIR".to_owned(), server.data_dir().display().to_string()),
        ("READMARK_LISTEN".to_owned(), listen.clone()),
    ];
    let folder = tempfile::tempdir().unwrap();
    let ended = readmark(&DOCTOR, &env, folder.path());
    assert_eq!(ended.code, 0, "{ended:?}");
    expect(&ended, "data directory", "ok", &["a readmark runs on it", &listen]);
    expect(&ended, "listen", "ok", &["is ready"]);
    expect(&ended, "tokens", "ok", &["secret"]);
    server.terminate().await;
    let ended = readmark(&DOCTOR, &env, folder.path());
    assert_eq!(ended.code, 0, "{ended:?}");
    expect(&ended, "data directory", "ok", &["free to be used"]);
    std::fs::remove_file(server.data_dir().join("store.redb")).unwrap();
    let ended = readmark(&DOCTOR, &env, folder.path());
    assert_eq!(ended.code, 1, "{ended:?}");
    expect(&ended, "data directory", "failed", &["has lost store.redb"]);
}

/// On the real parts, before and after a setup.
#[tokio::test]
async fn what_a_setup_makes_is_checked() {
    let place = Place::new();
    let redis = Services::shared().address(Part::Redis);
    let doctor = |more: &[(&str, &str)]| {
        let more: Vec<(&str, &str)> = [("READMARK_HOT__KIND", "redis"), ("READMARK_HOT__URL", redis)]
            .into_iter()
            .chain(more.iter().copied())
            .collect();
        place.run(&DOCTOR, &more)
    };
    let ended = doctor(&[]);
    assert_eq!(ended.code, 1, "{ended:?}");
    expect(&ended, "kafka", "warning", &["1 broker(s)"]);
    assert!(
        expect(&ended, "topics", "failed", &[&format!("{}.acks.v1", place.name())])
            .contains("`readmark setup`")
    );
    expect(&ended, "groups", "not_checked", &[]);
    expect(&ended, "cql", "ok", &["Cassandra", "1 node(s)"]);
    assert!(expect(&ended, "keyspace", "failed", &["there is no keyspace"]).contains("`readmark setup`"));
    expect(&ended, "clock", "ok", &[]);
    expect(&ended, "redis", "ok", &["one server answers"]);

    place.set_up();
    let ended = doctor(&[]);
    assert_eq!(ended.code, 0, "{ended:?}");
    expect(&ended, "topics", "ok", &[&format!("{PARTITIONS} partitions")]);
    expect(&ended, "groups", "ok", &["catalog 0", "aggregator 0", "watermark 0"]);
    expect(&ended, "keyspace", "ok", &["can be read"]);
    expect(&ended, "keyspace", "warning", &["keeps 1 copies"]);
    expect(&ended, "tokens", "ok", &["secret"]);
    expect(&ended, "listen", "ok", &["the system chooses a port"]);

    let ended = doctor(&[("READMARK_LOG__PARTITIONS", "3"), ("READMARK_STORE__REPLICATION", "2")]);
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(
        expect(&ended, "topics", "failed", &["partitions: wanted 3, found 2"]).contains("log.partitions")
    );
    assert!(expect(&ended, "keyspace", "warning", &["store.replication is 2"]).contains("ALTER KEYSPACE"));
    place.remove().await;
}
