//! A client that lacks a right, or can't get in at all, is told so: which right on what, or why not, and soon.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a panic is how a test fails")]

mod cluster;

use bytes::Bytes;
use cluster::{Cluster, DEADLINE, Kind, create_all, repository};
use readmark_events::Topic;
use readmark_log::kafka::{
    KafkaLog, KafkaLogOptions, Producing, Remedy, TopicSizing, check_topics, setup_topics,
};
use readmark_log::{EventLog, Group, LogError, LogErrorKind, NewRecord, PolledEvent, TopicPartition};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// A start that can't succeed says so within the time for an answer, and what it takes to let the client go.
const SOON: Duration = Duration::from_secs(10);
/// The first port of the cluster of these tests; clients log in at the third of its broker.
const PORT: u16 = 19_700;
const LOGIN: u16 = PORT + 12;
const OPEN: u16 = PORT + 10;
/// What is asked where the other end gives no reason.
const HINT: &str = "are the port and log.security_protocol right?";

/// The cluster, running while a test uses it.
fn cluster() -> Arc<Cluster> {
    static RUNNING: Mutex<Weak<Cluster>> = Mutex::new(Weak::new());
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(cluster) = running.upgrade() {
        return cluster;
    }
    let kind = Kind {
        settings: Some(repository().join("scripts/services.d/kafka-secured.properties")),
        users: "admin:admin-secret reader:pw writer:pw asker:pw loner:pw blind:pw",
        ..Kind::default()
    };
    let cluster = Arc::new(Cluster::own("rights-test", PORT, kind));
    *running = Arc::downgrade(&cluster);
    cluster
}

fn login(options: &KafkaLogOptions, user: &str, password: &str) -> KafkaLogOptions {
    let mut options = KafkaLogOptions { brokers: format!("127.0.0.1:{LOGIN}"), ..options.clone() };
    for (name, value) in [
        ("security.protocol", "sasl_plaintext"),
        ("sasl.mechanism", "SCRAM-SHA-512"),
        ("sasl.username", user),
        ("sasl.password", password),
    ] {
        options.settings.insert(name.to_owned(), value.to_owned());
    }
    options
}

/// Topics of a test's own, made by the administrator.
async fn topics(cluster: &Cluster) -> KafkaLogOptions {
    let options = cluster.options();
    create_all(&login(&options, "admin", "admin-secret"), 2).await;
    options
}

/// Grants rights, as an operator would.
fn grant(cluster: &Cluster, prefix: &str, user: &str, rights: &[(&str, &str)]) {
    let folder = tempfile::tempdir().unwrap();
    let login = folder.path().join(format!("{user}.properties"));
    let text = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\nsasl.jaas.config=\
                org.apache.kafka.common.security.scram.ScramLoginModule required username=\"admin\" \
                password=\"admin-secret\";\n";
    std::fs::write(&login, text).unwrap();
    let tool =
        format!("kafka-acls.sh --bootstrap-server 127.0.0.1:{LOGIN} --command-config {}", login.display());
    for (resource, operations) in rights {
        let on = format!("--{resource} {prefix} --resource-pattern-type prefixed");
        let granted: String = operations.split(' ').map(|one| format!(" --operation {one}")).collect();
        cluster.shell(&format!("{tool} --add --allow-principal User:{user} {on}{granted}"));
        // The broker hears of them a moment later.
        let start = Instant::now();
        loop {
            let known = cluster.shell(&format!("{tool} --list --principal User:{user} {on}"));
            let is_known = |one: &str| known.contains(&format!("operation={}", as_listed(one)));
            if operations.split(' ').all(is_known) {
                break;
            }
            assert!(start.elapsed() < DEADLINE, "{operations} granted, but only these are known: {known}");
        }
    }
}

/// `DescribeConfigs` is listed as `DESCRIBE_CONFIGS`.
fn as_listed(operation: &str) -> String {
    let words = operation.chars().enumerate().map(|(at, letter)| match letter {
        letter if at > 0 && letter.is_uppercase() => format!("_{letter}"),
        letter => letter.to_uppercase().to_string(),
    });
    words.collect()
}

fn record(n: usize) -> NewRecord {
    NewRecord {
        topic: Topic::Acks,
        key: Bytes::from_static(b"7"),
        payload: Bytes::from(n.to_string()),
        headers: Vec::new(),
    }
}

async fn refused_append(log: &KafkaLog) -> LogError {
    let start = Instant::now();
    let error = log.append(vec![record(1), record(2)]).await.unwrap_err();
    assert!(start.elapsed() < DEADLINE, "after {:?}: {error}", start.elapsed());
    assert_eq!(error.kind, LogErrorKind::Refused, "{error}");
    error
}

/// What a member hears that may not be one.
async fn refused_member(log: &KafkaLog, group: &Group) -> String {
    let mut member = log.join(group, &[Topic::Acks, Topic::Marks]).await.unwrap();
    let start = Instant::now();
    let error = loop {
        assert!(start.elapsed() < DEADLINE, "nothing was said");
        match member.next(100).await {
            Ok(PolledEvent::Records(records)) => panic!("got {records:?}"),
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind, LogErrorKind::Refused, "{error}");
    drop(member);
    error.to_string()
}

fn contains_all(words: &str, parts: &[&str]) {
    for part in parts {
        assert!(words.contains(part), "{part:?} is not in: {words}");
    }
}

fn at() -> TopicPartition {
    TopicPartition { topic: Topic::Acks, partition: 0 }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_write_is_told_which_right_on_which_topic() {
    let cluster = cluster();
    let options = topics(&cluster).await;
    let (prefix, group) = (&options.topic_prefix, Group(format!("{}.reader", options.topic_prefix)));
    grant(&cluster, prefix, "reader", &[("topic", "Describe DescribeConfigs Read"), ("group", "Read")]);
    let log = KafkaLog::open(login(&options, "reader", "pw")).await.unwrap();
    // Who may write nothing at all gets no number for its records.
    for _ in 0..2 {
        let right =
            format!("the right Write on the topic {prefix}.acks.v1 (or IdempotentWrite on the cluster)");
        contains_all(&refused_append(&log).await.to_string(), &["at acks/", &right]);
    }
    grant(&cluster, &format!("{prefix}.marks"), "reader", &[("topic", "Write")]);
    // One who may write elsewhere is refused this topic.
    let words = refused_append(&log).await.to_string();
    assert!(!words.contains("IdempotentWrite"), "{words}");
    contains_all(&words, &["at acks/", &format!("the right Write on the topic {prefix}.acks.v1")]);
    // What it may do it does, and it goes on doing it.
    let written = NewRecord { topic: Topic::Marks, ..record(1) };
    log.append(vec![written]).await.unwrap();
    assert_eq!(log.committed(&group, at()).await.unwrap(), None);
    assert_eq!(log.end_offset(at()).await.unwrap(), 0);
    assert_eq!(log.read(at(), 0, 1).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_read_is_told_so_at_the_start() {
    let cluster = cluster();
    let options = topics(&cluster).await;
    let (prefix, group) = (&options.topic_prefix, Group(format!("{}.writer", options.topic_prefix)));
    grant(&cluster, prefix, "writer", &[("topic", "Describe DescribeConfigs Write"), ("group", "Read")]);
    let log = KafkaLog::open(login(&options, "writer", "pw")).await.unwrap();
    let positions = log.append(vec![record(1)]).await.unwrap();
    let words = refused_member(&log, &group).await;
    contains_all(&words, &["the right Read on the topic", &format!("{prefix}.acks.v1")]);
    let error = log.read(positions[0].partition, 0, 1).await.unwrap_err();
    assert_eq!(error.kind, LogErrorKind::Refused, "{error}");
    contains_all(&error.to_string(), &[&format!("the right Read on the topic {prefix}.acks.v1")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_use_the_group_is_told_so_at_the_start() {
    let cluster = cluster();
    let options = topics(&cluster).await;
    let (prefix, group) = (&options.topic_prefix, Group(format!("{}.loner", options.topic_prefix)));
    grant(&cluster, prefix, "loner", &[("topic", "Describe DescribeConfigs Read Write")]);
    let log = KafkaLog::open(login(&options, "loner", "pw")).await.unwrap();
    log.append(vec![record(1)]).await.unwrap();
    contains_all(&refused_member(&log, &group).await, &[&format!("the right Read on the group {}", group.0)]);
    let error = log.committed(&group, at()).await.unwrap_err();
    assert_eq!(error.kind, LogErrorKind::Refused, "{error}");
    contains_all(&error.to_string(), &[&format!("the right Describe on the group {}", group.0)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_even_see_the_topics_is_told_so_and_not_that_they_are_missing() {
    let cluster = cluster();
    let options = topics(&cluster).await;
    let nobody = KafkaLogOptions { brokers: format!("127.0.0.1:{OPEN}"), ..options.clone() };
    for options in [nobody, login(&options, "blind", "pw")] {
        let error = KafkaLog::open(options.clone()).await.unwrap_err();
        assert_eq!(error.kind, LogErrorKind::Refused, "{error}");
        let name = format!("{}.conversation-events.v1", options.topic_prefix);
        contains_all(&error.to_string(), &[&format!("the right Describe on the topic {name}")]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_setup_says_which_right_it_lacks() {
    let cluster = cluster();
    let options = cluster.options();
    let prefix = &options.topic_prefix;
    let asker = login(&options, "asker", "pw");
    let sizing = TopicSizing { partitions: 2, replication: 1, keep_acks_ms: 86_400_000 };
    let plans = sizing.plans();
    grant(&cluster, prefix, "asker", &[("topic", "Describe")]);
    let error = setup_topics(&asker, &plans).await.unwrap_err();
    assert_eq!(error.kind, LogErrorKind::Refused, "{error}");
    contains_all(&error.to_string(), &[&format!("the right Create on the topic {prefix}.")]);
    setup_topics(&login(&options, "admin", "admin-secret"), &plans).await.unwrap();
    for error in
        [check_topics(&asker, &plans).await.unwrap_err(), setup_topics(&asker, &plans).await.unwrap_err()]
    {
        assert_eq!(error.kind, LogErrorKind::Refused, "{error}");
        contains_all(&error.to_string(), &[&format!("the right DescribeConfigs on the topic {prefix}.")]);
    }
    // Roles may work without that right: what may not be seen is not said to be wrong.
    KafkaLog::open(asker.clone()).await.unwrap();
    grant(&cluster, prefix, "asker", &[("topic", "DescribeConfigs")]);
    let longer = TopicSizing { keep_acks_ms: 2 * 86_400_000, ..sizing }.plans();
    let report = setup_topics(&asker, &longer).await.unwrap();
    let left: Vec<_> = report.left().collect();
    assert_eq!((left.len(), left[0].matter.as_str(), left[0].remedy), (1, "retention.ms", Remedy::Operator));
    contains_all(&left[0].advice, &[&format!("the right AlterConfigs on the topic {prefix}.acks.v1")]);
    assert!(left[0].commands[0].contains("--command-config"), "{left:?}");
}

/// Opens a log in vain, within the bound.
async fn vain(options: KafkaLogOptions) -> String {
    let start = Instant::now();
    let brokers = options.brokers.clone();
    let error = KafkaLog::open(options).await.unwrap_err();
    assert!(start.elapsed() < SOON, "said only after {:?}: {error}", start.elapsed());
    assert_eq!(error.kind, LogErrorKind::Unavailable, "{error}");
    contains_all(&error.to_string(), &[&brokers]);
    println!("{:?}: {error}", start.elapsed());
    error.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn who_can_not_log_in_is_told_why() {
    let cluster = cluster();
    let options = topics(&cluster).await;
    for (user, password) in [("reader", "wrong"), ("nobody-knows", "pw")] {
        let words = vain(login(&options, user, password)).await;
        contains_all(&words, &["SASL", "Authentication failed"]);
    }
    // Mechanisms and protocols that the broker does not speak there.
    let mut plain = login(&options, "reader", "pw");
    plain.settings.insert("sasl.mechanism".to_owned(), "PLAIN".to_owned());
    contains_all(&vain(plain).await, &["PLAIN", "SCRAM-SHA-512"]);
    let mut tls = login(&options, "reader", "pw");
    tls.settings.insert("security.protocol".to_owned(), "sasl_ssl".to_owned());
    contains_all(&vain(tls).await, &["SSL handshake failed"]);
    let without = KafkaLogOptions { brokers: format!("127.0.0.1:{LOGIN}"), ..options.clone() };
    contains_all(&vain(without).await, &[HINT]);
    let elsewhere =
        KafkaLogOptions { brokers: format!("127.0.0.1:{OPEN}"), ..login(&options, "reader", "pw") };
    vain(elsewhere).await;
}

/// A server that is no Kafka: says that to whoever asks, or nothing.
fn no_kafka(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            if !answer.is_empty() && stream.read(&mut [0; 64]).is_ok() {
                // The client may have gone.
                let _ = stream.write_all(answer);
            }
            kept.push(stream);
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_address_or_port_is_said_clearly_and_soon() {
    let at = |brokers: &str| KafkaLogOptions::new(brokers, "nowhere");
    // Nobody listens at port 1.
    contains_all(&vain(at("127.0.0.1:1")).await, &["127.0.0.1:1", "Connection refused"]);
    let error = check_topics(&at("127.0.0.1:1"), &[]).await.unwrap_err();
    contains_all(&error.to_string(), &["127.0.0.1:1", "Connection refused"]);
    contains_all(&vain(at("kafka.invalid:9092")).await, &["Failed to resolve 'kafka.invalid:9092'"]);
    contains_all(
        &vain(at(&no_kafka(b"HTTP/1.1 400 Bad Request\r\n\r\n"))).await,
        &["Invalid response size", HINT],
    );
    contains_all(&vain(at(&no_kafka(b""))).await, &[HINT]);
    // One of several that answers is enough.
    let cluster = Cluster::shared();
    let options = cluster.options();
    create_all(&options, 1).await;
    let brokers = format!("127.0.0.1:1,{}", cluster.brokers());
    KafkaLog::open(KafkaLogOptions { brokers, ..options.clone() }).await.unwrap();
    cluster::delete_all(options);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_append_to_brokers_that_are_gone_fails_within_its_time() {
    let cluster = cluster();
    let options = topics(&cluster).await;
    let mut admin = login(&options, "admin", "admin-secret");
    admin.producing = Producing { deliver_within: Duration::from_secs(2), ..Producing::GATEWAY };
    let log = KafkaLog::open(admin).await.unwrap();
    log.append(vec![record(1)]).await.unwrap();
    cluster.signal(1, "-STOP");
    let start = Instant::now();
    let error = log.append(vec![record(2)]).await.unwrap_err();
    cluster.signal(1, "-CONT");
    assert_eq!(error.kind, LogErrorKind::Unavailable, "{error}");
    assert!(start.elapsed() < SOON, "said only after {:?}: {error}", start.elapsed());
    log.append(vec![record(3)]).await.unwrap();
}
