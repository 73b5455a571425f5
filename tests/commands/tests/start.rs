//! What `readmark serve` says when it can't start: one line with the part, where it was looked for, and what to do; and
//! the exit code.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use readmark_test_commands::{NOBODY, Place, readmark};
use readmark_test_harness::{Part, Services};

const SERVE: [&str; 3] = ["serve", "--roles", "all"];

fn serve(env: &[(&str, &str)], arguments: &[&str]) -> readmark_test_commands::Ended {
    let folder = tempfile::tempdir().unwrap();
    let mut all = vec![("READMARK_LISTEN".to_owned(), "127.0.0.1:0".to_owned())];
    all.extend(env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    readmark(arguments, &all, folder.path())
}

#[test]
fn no_broker() {
    let ended = serve(&[("READMARK_LOG__KIND", "kafka"), ("READMARK_LOG__BROKERS", NOBODY)], &SERVE);
    ended.expect_one_line(
        1,
        &["readmark: log:", NOBODY, "Connection refused", "start Kafka, or set log.brokers"],
    );
}

#[test]
fn no_store() {
    let ended = serve(&[("READMARK_STORE__KIND", "cql"), ("READMARK_STORE__CONTACT_POINTS", NOBODY)], &SERVE);
    let words = [
        "readmark: store:",
        NOBODY,
        "Connection refused",
        "start ScyllaDB or Cassandra",
        "store.contact_points",
    ];
    ended.expect_one_line(1, &words);
}

#[test]
fn no_redis() {
    let url = format!("redis://{NOBODY}");
    let ended = serve(&[("READMARK_HOT__KIND", "redis"), ("READMARK_HOT__URL", &url)], &SERVE);
    ended.expect_one_line(
        1,
        &["readmark: hot state:", &url, "Connection refused", "start Redis, or set hot.url"],
    );
}

#[test]
fn an_address_that_is_taken() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    serve(&[("READMARK_LISTEN", &address)], &SERVE).expect_one_line(1, &["can't listen on", &address]);
}

#[test]
fn embedded_parts_have_one_process_with_all_roles() {
    let ended = serve(&[], &["serve", "--roles", "catalog,gateway"]);
    ended.expect_one_line(2, &["log.kind", "store.kind", "--roles all"]);
}

#[test]
fn a_file_that_is_not_there() {
    let env = [
        ("READMARK_LOG__KIND", "kafka"),
        ("READMARK_LOG__SECURITY_PROTOCOL", "sasl_ssl"),
        ("READMARK_LOG__SECURITY_USER", "me"),
        ("READMARK_LOG__SECURITY_PASSWORD_FILE", "nowhere"),
    ];
    serve(&env, &SERVE).expect_one_line(2, &["log.security_password_file", "nowhere"]);
}

/// On the real parts: nothing made yet, other partitions, and tables of another version.
#[tokio::test]
async fn topics_and_tables_that_are_not_as_they_must_be() {
    let (place, services) = (Place::new(), Services::shared());
    let (brokers, nodes) = (services.address(Part::Kafka), services.address(Part::Cassandra));
    let topic = format!("{}.acks.v1", place.name());
    let serve = |more: &[(&str, &str)]| place.run(&SERVE, more);

    serve(&[]).expect_one_line(1, &["log:", brokers, &topic, "`readmark setup`"]);
    place.set_up();
    serve(&[("READMARK_LOG__PARTITIONS", "3")])
        .expect_one_line(1, &["log:", brokers, &topic, "log.partitions is 3"]);
    let missing = format!("{}x", place.name());
    let words = ["store:", nodes, &missing, "there are no tables", "`readmark setup`"];
    serve(&[("READMARK_STORE__KEYSPACE", &missing)]).expect_one_line(1, &words);

    let (session, versions) = (place.session().await, format!("{}.schema_versions", place.name()));
    let newer = format!("INSERT INTO {versions} (component, version, applied_at) VALUES ('store', 99, 0)");
    session.query_unpaged(newer, ()).await.unwrap();
    serve(&[]).expect_one_line(1, &["store:", nodes, place.name(), "version 99", "use a newer readmark"]);
    session.query_unpaged(format!("DELETE FROM {versions} WHERE component = 'store'"), ()).await.unwrap();
    let older = format!("INSERT INTO {versions} (component, version, applied_at) VALUES ('store', 1, 0)");
    session.query_unpaged(older, ()).await.unwrap();
    serve(&[]).expect_one_line(1, &["store:", nodes, place.name(), "version 1", "run `readmark setup`"]);
    place.remove().await;
}
