//! Setting topics up on a real Kafka, and what is done about topics that are not as planned.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a panic is how a test fails")]

mod cluster;

use bytes::Bytes;
use cluster::{Cluster, Kind, delete_all, repository};
use readmark_events::Topic;
use readmark_log::kafka::{
    KafkaLog, KafkaLogOptions, Remedy, TopicFinding, TopicPlan, TopicReport, TopicSizing, check_topics,
    create_topics, setup_topics,
};
use readmark_log::{EventLog, LogErrorKind, NewRecord, TopicPartition};
use std::collections::BTreeMap;
use std::time::Duration;

const DAY_MS: u64 = 86_400_000;
const SIZING: TopicSizing = TopicSizing { partitions: 3, replication: 1, keep_acks_ms: 90 * DAY_MS };

/// A prefix of its own, whose topics go with it.
struct Own(KafkaLogOptions);

impl Own {
    fn new() -> Self {
        Self(Cluster::shared().options())
    }

    fn name(&self, topic: Topic) -> String {
        topic.full_name(&self.0.topic_prefix)
    }

    async fn check(&self) -> TopicReport {
        check_topics(&self.0, &SIZING.plans()).await.unwrap()
    }

    async fn setup(&self) -> TopicReport {
        setup_topics(&self.0, &SIZING.plans()).await.unwrap()
    }

    /// Makes a topic otherwise than planned.
    async fn make(&self, topic: Topic, partitions: u32, settings: &[(&str, &str)]) {
        let plan = SIZING.plans().into_iter().find(|plan| plan.topic == topic).unwrap();
        let mut settings_of_plan = plan.settings.clone();
        settings_of_plan
            .extend(settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let plan = TopicPlan { partitions, settings: settings_of_plan, ..plan };
        create_topics(&self.0, &[plan]).await.unwrap();
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        delete_all(self.0.clone());
    }
}

fn remedies(report: &TopicReport) -> BTreeMap<(String, String), Remedy> {
    let key = |finding: &TopicFinding| (finding.topic.clone(), finding.matter.clone());
    report.findings.iter().map(|finding| (key(finding), finding.remedy)).collect()
}

fn found<'a>(report: &'a TopicReport, topic: &str, matter: &str) -> &'a TopicFinding {
    let is_it = |finding: &&TopicFinding| finding.topic == topic && finding.matter == matter;
    report.findings.iter().find(is_it).unwrap_or_else(|| panic!("{matter} of {topic}: {report:#?}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn topics_are_made_once_and_looking_makes_none() {
    let own = Own::new();
    for _ in 0..2 {
        let report = own.check().await;
        assert_eq!(report.findings.len(), Topic::ALL.len(), "{report:#?}");
        assert!(report.findings.iter().all(|finding| finding.matter == "topic" && finding.stops_serving));
        assert!(report.findings.iter().all(|finding| finding.remedy == Remedy::Setup));
    }
    let report = own.setup().await;
    assert_eq!(remedies(&report).len(), Topic::ALL.len());
    assert_eq!(report.left().count(), 0, "{report:#?}");
    for report in [own.check().await, own.setup().await] {
        assert_eq!(report.findings, []);
        assert_eq!(report.topics.len(), Topic::ALL.len());
    }
    let log = KafkaLog::open(own.0.clone()).await.unwrap();
    assert_eq!(log.partitions(Topic::Marks), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_setup_that_was_interrupted_is_finished_by_the_next() {
    let own = Own::new();
    // Some were made, one of them otherwise.
    create_topics(&own.0, &SIZING.plans()[..2]).await.unwrap();
    own.make(Topic::Marks, 3, &[("retention.ms", "1000")]).await;
    // At any moment: the requests are on their way, nobody waits for them.
    for ms in [1, 20, 60, 100] {
        let plans = SIZING.plans();
        drop(tokio::time::timeout(Duration::from_millis(ms), setup_topics(&own.0, &plans)).await);
    }
    own.setup().await;
    assert_eq!(own.check().await.findings, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_are_put_right_where_that_loses_nothing() {
    let own = Own::new();
    own.make(Topic::Acks, 3, &[("retention.ms", "604800000"), ("segment.ms", "3600000")]).await;
    own.make(Topic::Marks, 3, &[("cleanup.policy", "compact"), ("min.insync.replicas", "2")]).await;
    own.make(Topic::ConversationEvents, 3, &[("retention.bytes", "1000000"), ("max.message.bytes", "1000")])
        .await;
    own.make(Topic::DeadLetters, 3, &[("unclean.leader.election.enable", "true")]).await;
    own.make(Topic::ReadChanged, 3, &[("retention.ms", "-1"), ("max.message.bytes", "2000000")]).await;
    let [acks, marks, events, dead, changed] =
        [Topic::Acks, Topic::Marks, Topic::ConversationEvents, Topic::DeadLetters, Topic::ReadChanged]
            .map(|topic| own.name(topic));
    let made = own.name(Topic::ConversationChanged);
    let wanted = |remedy: Remedy| {
        let ours = [
            (&acks, "retention.ms"),
            (&marks, "cleanup.policy"),
            (&marks, "min.insync.replicas"),
            (&events, "retention.bytes"),
            (&events, "max.message.bytes"),
            (&dead, "unclean.leader.election.enable"),
            (&made, "topic"),
        ];
        let ours = ours.into_iter().map(|(topic, matter)| (topic, matter, remedy));
        ours.chain([(&changed, "retention.ms", Remedy::Operator)])
            .map(|(topic, matter, remedy)| ((topic.clone(), matter.to_owned()), remedy))
            .collect::<BTreeMap<_, _>>()
    };
    assert_eq!(remedies(&own.check().await), wanted(Remedy::Setup));
    let report = own.setup().await;
    assert_eq!(remedies(&report), wanted(Remedy::Done), "{report:#?}");
    // What was set beside the plan is still so.
    let told = Cluster::shared().shell(&format!(
        "kafka-configs.sh --bootstrap-server {} --describe --entity-type topics --entity-name {acks}",
        own.0.brokers
    ));
    assert!(told.contains("segment.ms=3600000") && told.contains("retention.ms=7776000000"), "{told}");
    // What is left to an operator is one command, as it is told.
    let left = found(&report, &changed, "retention.ms");
    assert!(!left.stops_serving && left.advice.contains("longer than planned"), "{left:?}");
    Cluster::shared().shell(&left.commands[0]);
    assert_eq!(own.check().await.findings, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_number_of_partitions_is_refused_with_a_way_out() {
    let own = Own::new();
    let (acks, marks) = (own.name(Topic::Acks), own.name(Topic::Marks));
    own.make(Topic::Acks, 2, &[]).await;
    own.make(Topic::Marks, 5, &[]).await;
    let report = own.setup().await;
    let fewer = found(&report, &acks, "partitions");
    let (wanted, is_found) = (fewer.wanted.as_str(), fewer.found.as_deref());
    assert_eq!(
        (wanted, is_found, fewer.remedy, fewer.stops_serving),
        ("3", Some("2"), Remedy::Operator, true)
    );
    assert!(fewer.advice.contains("adding partitions moves senders between owners"), "{}", fewer.advice);
    assert!(fewer.advice.contains("Set log.partitions to 2"), "{}", fewer.advice);
    let more = found(&report, &marks, "partitions");
    assert!(more.commands.is_empty() && more.advice.contains("takes no partitions away"), "{more:?}");
    assert_eq!(report.left().count(), 2, "{report:#?}");
    // No process works with them, whether it knows the number or not.
    for partitions in [None, Some(3)] {
        let options = KafkaLogOptions { partitions, ..own.0.clone() };
        let error = KafkaLog::open(options).await.unwrap_err();
        assert_eq!(error.kind, LogErrorKind::Refused, "{error}");
        let words = error.to_string();
        assert!(words.contains(&format!("{acks} has 2")), "{words}");
        assert!(
            words.contains("another number of partitions") && words.contains("readmark setup"),
            "{words}"
        );
    }
    Cluster::shared().shell(&fewer.commands[0]);
    let report = own.check().await;
    assert_eq!(report.findings.len(), 1, "only marks are left: {report:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_topics_with_another_number_than_configured_are_refused() {
    let own = Own::new();
    own.setup().await;
    let options = KafkaLogOptions { partitions: Some(64), ..own.0.clone() };
    let error = KafkaLog::open(options).await.unwrap_err();
    assert_eq!(error.kind, LogErrorKind::Refused, "{error}");
    assert!(error.to_string().contains("log.partitions is 64"), "{error}");
    KafkaLog::open(KafkaLogOptions { partitions: Some(3), ..own.0.clone() }).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compacted_topic_is_refused_at_the_start() {
    let own = Own::new();
    own.make(Topic::Acks, 3, &[("cleanup.policy", "compact,delete")]).await;
    own.make(Topic::Marks, 3, &[("cleanup.policy", "compact")]).await;
    let report = check_topics(&own.0, &SIZING.plans()).await.unwrap();
    assert!(found(&report, &own.name(Topic::Acks), "cleanup.policy").stops_serving, "{report:#?}");
    let others: Vec<TopicPlan> = SIZING.plans();
    create_topics(&own.0, &others).await.unwrap();
    let error = KafkaLog::open(own.0.clone()).await.unwrap_err();
    assert_eq!(error.kind, LogErrorKind::Refused, "{error}");
    let words = error.to_string();
    for part in [&own.name(Topic::Acks), &own.name(Topic::Marks), "compact,delete", "readmark setup"] {
        assert!(words.contains(part), "{part} in {words}");
    }
    own.setup().await;
    KafkaLog::open(own.0.clone()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn more_copies_than_brokers_are_refused_before_anything_is_made() {
    let own = Own::new();
    let plans = TopicSizing { replication: 3, ..SIZING }.plans();
    for report in [check_topics(&own.0, &plans).await.unwrap(), setup_topics(&own.0, &plans).await.unwrap()] {
        assert_eq!(report.findings.len(), Topic::ALL.len());
        for finding in &report.findings {
            assert_eq!((finding.remedy, finding.matter.as_str()), (Remedy::Operator, "topic"));
            assert!(finding.advice.contains("need 3 brokers and there are 1"), "{}", finding.advice);
        }
    }
    assert_eq!(remedies(&own.check().await).len(), Topic::ALL.len(), "none was made");
}

/// Brokers that make topics for whoever asks, as Kafka's are by default.
#[tokio::test(flavor = "multi_thread")]
async fn no_topic_is_made_by_asking_for_it() {
    let settings = repository().join("target/services/auto-create.properties");
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    std::fs::write(&settings, "auto.create.topics.enable=true\nnum.partitions=7\n").unwrap();
    let kind = Kind { settings: Some(settings), ..Kind::default() };
    let cluster = Cluster::own("auto-create", 19_600, kind);
    let options = cluster.options();
    for _ in 0..2 {
        let error = KafkaLog::open(options.clone()).await.unwrap_err();
        assert!(error.to_string().contains("has no topic"), "{error}");
    }
    setup_topics(&options, &SIZING.plans()).await.unwrap();
    let log = KafkaLog::open(options.clone()).await.unwrap();
    // Topics that go while a process runs do not come back as the brokers like them.
    delete_all(options.clone());
    let record = NewRecord {
        topic: Topic::Acks,
        key: Bytes::from_static(b"7"),
        payload: Bytes::from_static(b"{}"),
        headers: Vec::new(),
    };
    let append = tokio::time::timeout(Duration::from_secs(5), log.append(vec![record])).await;
    assert!(!matches!(append, Ok(Ok(_))), "appended to a topic that is gone: {append:?}");
    // Nor is a process ended by it: a broker that has just come back knows of no topic either.
    let error = log.end_offset(TopicPartition { topic: Topic::Acks, partition: 0 }).await.unwrap_err();
    assert!(error.is_retryable(), "{error}");
    let report = check_topics(&options, &SIZING.plans()).await.unwrap();
    assert_eq!(
        report.left().filter(|finding| finding.matter == "topic").count(),
        Topic::ALL.len(),
        "{report:#?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn findings_can_be_printed() {
    let own = Own::new();
    own.make(Topic::Acks, 3, &[("retention.ms", "1")]).await;
    let report = own.check().await;
    let json = serde_json::to_value(&report).unwrap();
    let acks =
        json["findings"].as_array().unwrap().iter().find(|one| one["matter"] == "retention.ms").unwrap();
    assert_eq!(acks["topic"], own.name(Topic::Acks));
    assert_eq!((&acks["wanted"], &acks["found"]), (&"7776000000".into(), &"1".into()));
    assert_eq!((&acks["remedy"], &acks["stops_serving"]), (&"setup".into(), &false.into()));
    assert_eq!(acks["remedy"], found(&report, &own.name(Topic::Acks), "retention.ms").remedy.as_str());
}
