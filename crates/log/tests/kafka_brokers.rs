//! Three brokers, three copies, two of which must be there: `kill -9` of one loses, doubles and reorders nothing, appends
//! stall until the dead one is fenced and no longer, and consumption goes on without it.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a panic is how a test fails")]

mod cluster;

use cluster::traffic::Traffic;
use cluster::{Cluster, DEADLINE, Kind};
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use readmark_events::Topic;
use readmark_log::kafka::{KafkaLog, KafkaLogOptions, Remedy, TopicSizing, check_topics, setup_topics};
use std::sync::Arc;
use std::time::{Duration, Instant};

const BROKERS: u32 = 3;
const SIZING: TopicSizing = TopicSizing { partitions: 6, replication: BROKERS, keep_acks_ms: 86_400_000 };
/// The first port of the cluster of these tests.
const PORT: u16 = 19_900;

fn three() -> Arc<Cluster> {
    Arc::new(Cluster::own("brokers-test", PORT, Kind { brokers: BROKERS, ..Kind::default() }))
}

/// Runs what blocks.
async fn blocking(cluster: &Arc<Cluster>, run: impl FnOnce(&Cluster) + Send + 'static) {
    let cluster = Arc::clone(cluster);
    tokio::task::spawn_blocking(move || run(&cluster)).await.unwrap();
}

/// Waits until every partition of a topic has all its copies in sync.
async fn all_in_sync(options: &KafkaLogOptions) {
    let (brokers, name) = (options.brokers.clone(), Topic::Acks.full_name(&options.topic_prefix));
    let waiting = tokio::task::spawn_blocking(move || {
        let client: BaseConsumer =
            ClientConfig::new().set("bootstrap.servers", &brokers).set("group.id", "isr").create().unwrap();
        let start = Instant::now();
        loop {
            let metadata = client.fetch_metadata(Some(&name), Duration::from_secs(10)).unwrap();
            let partitions = metadata.topics().first().unwrap().partitions();
            let in_sync: Vec<usize> = partitions.iter().map(|one| one.isr().len()).collect();
            if in_sync.iter().all(|count| *count == BROKERS as usize) {
                return;
            }
            assert!(start.elapsed() < DEADLINE, "copies in sync: {in_sync:?}");
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    waiting.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn each_broker_in_turn_may_be_killed() {
    let cluster = three();
    let mut options = cluster.options();
    // Its coordinator dies, too, and knows it again afterwards.
    options.instance_id = Some("rides-through".to_owned());
    let report = setup_topics(&options, &SIZING.plans()).await.unwrap();
    assert_eq!(report.left().count(), 0, "{report:#?}");
    let traffic = Traffic::start(KafkaLog::open(options.clone()).await.unwrap()).await;
    for node in 1..=BROKERS {
        traffic.goes_on("records before the kill", 200).await;
        traffic.slowest();
        blocking(&cluster, move |cluster| cluster.kill(node)).await;
        // It stays dead: the other two go on without it, in every partition.
        traffic.goes_on("records with two of three brokers", 500).await;
        // So do those that start meanwhile.
        KafkaLog::open(options.clone()).await.unwrap();
        println!("broker {node} killed: the longest append took {:?}", traffic.slowest());
        blocking(&cluster, Cluster::start).await;
        all_in_sync(&options).await;
    }
    traffic.ends_exactly().await;
    replication_is_compared(&cluster).await;
}

/// Fewer copies than planned: the command that is told makes them, and then the rest is set.
async fn replication_is_compared(cluster: &Arc<Cluster>) {
    let options = cluster.options();
    let two = TopicSizing { replication: 2, ..SIZING };
    setup_topics(&options, &two.plans()).await.unwrap();
    let report = setup_topics(&options, &SIZING.plans()).await.unwrap();
    let of = |matter: &str| report.findings.iter().filter(|one| one.matter == matter).collect::<Vec<_>>();
    assert_eq!(of("replication").len(), Topic::ALL.len(), "{report:#?}");
    // Two of two would have to be there for every append.
    assert_eq!(of("min.insync.replicas").len(), Topic::ALL.len(), "{report:#?}");
    assert!(of("min.insync.replicas").iter().all(|one| one.commands.is_empty()), "{report:#?}");
    assert!(report.findings.iter().all(|one| one.remedy == Remedy::Operator && !one.stops_serving));
    let commands: Vec<String> = of("replication").into_iter().flat_map(|one| one.commands.clone()).collect();
    assert_eq!(commands.len(), Topic::ALL.len());
    blocking(cluster, move |cluster| {
        for command in commands {
            cluster.shell(&command);
        }
    })
    .await;
    let start = Instant::now();
    loop {
        let report = setup_topics(&options, &SIZING.plans()).await.unwrap();
        if report.left().count() == 0 {
            break;
        }
        assert!(start.elapsed() < DEADLINE, "{report:#?}");
    }
    assert_eq!(check_topics(&options, &SIZING.plans()).await.unwrap().findings, []);
    // One more broker than there is.
    let four = TopicSizing { replication: 4, ..SIZING };
    let report = check_topics(&options, &four.plans()).await.unwrap();
    assert!(report.findings.iter().all(|one| one.matter == "replication" && one.commands.is_empty()));
    assert!(report.findings[0].advice.contains("need 4 brokers and there are 3"), "{report:#?}");
}
