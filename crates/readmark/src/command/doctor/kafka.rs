//! Kafka: the cluster, the topics, the groups of the roles, and whose clock is right.

use super::{Finding, Outcome};
use crate::command::setup::{REPLICATION, plans};
use crate::config::Config;
use crate::parts::remedy;
use crate::role_name::RoleName;
use futures::future::try_join_all;
use readmark_events::Topic;
use readmark_log::kafka::{KafkaLog, KafkaLogOptions, Remedy, TopicFinding, check_topics, count_brokers};
use readmark_log::{EventLog, LogError, TopicPartition};
use readmark_runtime::clock::{Clock, SystemClock};
use readmark_runtime::lag::{Consumed, read_lag};

/// By how much the clocks of machines may differ without a word.
pub(super) const CLOCKS_APART_MS: u64 = 1_000;

pub(super) async fn check(config: &Config) -> Vec<Finding> {
    let options = match config.log.kafka(None) {
        Ok(options) => options,
        // The check of the configuration says why.
        Err(failure) => return vec![Finding::not_checked("kafka", failure)],
    };
    let brokers = match count_brokers(&options).await {
        Ok(brokers) => brokers,
        Err(error) => {
            let failed = Finding::failed("kafka", &error, remedy::of_log(&error));
            return vec![failed, Finding::not_checked("topics", "Kafka does not answer")];
        }
    };
    let mut findings = vec![of_cluster(&options, brokers)];
    let topics = of_topics(config, &options, brokers).await;
    let is_usable = topics.iter().all(|finding| finding.outcome != Outcome::Failed);
    findings.extend(topics);
    match is_usable {
        true => findings.extend(of_groups(config, options).await),
        false => findings.push(Finding::not_checked("groups", "the topics are not as they must be")),
    }
    findings
}

fn of_cluster(options: &KafkaLogOptions, brokers: usize) -> Finding {
    let words = format!("{brokers} broker(s), found by {}", options.brokers);
    if brokers < usize::from(REPLICATION) {
        let to_do = format!("run {REPLICATION} at least, but for trials");
        return Finding::warning("kafka", format!("{words}: what is lost with one is lost for good"), to_do);
    }
    Finding::ok("kafka", words)
}

async fn of_topics(config: &Config, options: &KafkaLogOptions, brokers: usize) -> Vec<Finding> {
    let plans = plans(config, brokers);
    let report = match check_topics(options, &plans).await {
        Ok(report) => report,
        Err(error) => {
            return vec![Finding::failed(
                "topics",
                error,
                "give the client the rights that docs/kafka.md lists",
            )];
        }
    };
    if report.findings.is_empty() {
        let words =
            format!("all {} are there, with {} partitions", report.topics.len(), config.log.partitions);
        return vec![Finding::ok("topics", words)];
    }
    let (by_setup, by_operator): (Vec<&TopicFinding>, Vec<&TopicFinding>) =
        report.left().partition(|finding| finding.remedy == Remedy::Setup);
    let mut findings = Vec::new();
    if !by_setup.is_empty() {
        let lines: Vec<String> = by_setup.iter().map(|finding| shown(finding)).collect();
        let stops = by_setup.iter().any(|finding| finding.stops_serving);
        findings.push(of_topic(lines.join("\n"), stops, vec!["run `readmark setup`".to_owned()]));
    }
    findings.extend(by_operator.into_iter().map(|finding| {
        let steps = std::iter::once(&finding.advice).chain(&finding.commands).cloned().collect();
        of_topic(shown(finding), finding.stops_serving, steps)
    }));
    findings
}

fn shown(TopicFinding { topic, matter, wanted, found, .. }: &TopicFinding) -> String {
    format!("{topic}: {matter}: wanted {wanted}, found {}", found.as_deref().unwrap_or("none"))
}

fn of_topic(found: String, stops_serving: bool, to_do: Vec<String>) -> Finding {
    let outcome = if stops_serving { Outcome::Failed } else { Outcome::Warning };
    Finding { check: "topics", outcome, found, to_do }
}

async fn of_groups(config: &Config, options: KafkaLogOptions) -> Vec<Finding> {
    let failed = |error: LogError| {
        vec![Finding::failed("groups", error, "give the client the rights that docs/kafka.md lists")]
    };
    let log = match KafkaLog::open(options).await {
        Ok(log) => log,
        Err(error) => return failed(error),
    };
    let consumed: Vec<Consumed> = RoleName::ALL.into_iter().filter_map(RoleName::consumes).collect();
    let lags = match read_lag(&log, &config.rules(), &consumed).await {
        Ok(lags) => lags,
        Err(error) => return failed(error),
    };
    let behind = consumed.iter().map(|(role, _)| {
        let lag: u64 = lags.iter().filter(|one| one.role == *role).map(|one| one.lag()).sum();
        format!("{role} {lag}")
    });
    let words =
        format!("their positions can be read; records behind: {}", behind.collect::<Vec<_>>().join(", "));
    let mut findings = vec![Finding::ok("groups", words)];
    findings.extend(of_clock(&log).await);
    findings
}

/// Records bear the brokers' times. None is cheap to have made for this, so only records that seem to come from the
/// future can be told.
async fn of_clock(log: &KafkaLog) -> Option<Finding> {
    let topic = Topic::ConversationEvents;
    let partitions: Vec<TopicPartition> =
        (0..log.partitions(topic)).map(|partition| TopicPartition { topic, partition }).collect();
    // Read before, so that records that come meanwhile are not taken for those of the future.
    let bounds = log.bounds(&partitions).await.ok()?;
    let soon = SystemClock::default().now().plus_ms(CLOCKS_APART_MS);
    let from_then = try_join_all(partitions.iter().map(|at| log.offset_for_time(*at, soon))).await.ok()?;
    let is_late = bounds.iter().zip(from_then).any(|((_, end), offset)| offset < *end);
    is_late.then(|| {
        let words = "the log has records from the future: this machine's clock is behind the brokers'";
        Finding::warning("clock", words, "let all machines follow the same time servers (NTP)")
    })
}
