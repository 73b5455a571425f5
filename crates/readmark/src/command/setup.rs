//! `readmark setup`: makes topics and tables, or says how they differ from what is configured.

use super::runtime;
use crate::cli::{Format, Setup};
use crate::config::{Config, LogKind, StoreKind, load};
use crate::exit::{Exit, Failure};
use crate::parts::remedy;
use crate::print;
use readmark_log::kafka::{
    Remedy, TopicPlan, TopicReport, TopicSizing, check_topics, count_brokers, setup_topics,
};
use readmark_runtime::clock::{Clock, SystemClock};
use readmark_store::cql::Schema;
use serde::Serialize;

/// Copies of a topic where nothing is configured: one broker may then be lost without losing a fact.
pub(super) const REPLICATION: u16 = 3;

/// What was found and done.
#[derive(Debug, Serialize)]
struct Report {
    dry_run: bool,
    /// Nothing for the embedded log.
    topics: Option<TopicReport>,
    /// Nothing for the embedded store.
    tables: Option<Tables>,
}

/// The keyspace.
#[derive(Debug, Serialize)]
struct Tables {
    keyspace: String,
    /// The version found; nothing where there were no tables.
    from: Option<i32>,
    /// The version now.
    to: Option<i32>,
    /// What a run without `--dry-run` would say to the server.
    pending: Vec<String>,
}

/// Runs it.
pub(crate) fn run(setup: &Setup) -> Result<Exit, Failure> {
    let config = load(&setup.output.source, &[])?;
    let report = runtime()?.block_on(set_up(&config, setup.dry_run))?;
    match setup.output.format {
        Format::Table => print::text(&table(&report))?,
        Format::Json => print::json(&report)?,
    }
    Ok(outcome(&report))
}

async fn set_up(config: &Config, dry_run: bool) -> Result<Report, Failure> {
    let topics = match config.log.kind {
        LogKind::Embedded => None,
        LogKind::Kafka => Some(topics(config, dry_run).await?),
    };
    let tables = match config.store.kind {
        StoreKind::Embedded => None,
        StoreKind::Cql => Some(tables(config, dry_run).await?),
    };
    Ok(Report { dry_run, topics, tables })
}

async fn topics(config: &Config, dry_run: bool) -> Result<TopicReport, Failure> {
    let options = config.log.kafka(None)?;
    let brokers = count_brokers(&options).await.map_err(|error| remedy::log_failure(&error))?;
    let replication = replication(config, brokers);
    if config.log.replication.is_none() && replication < REPLICATION {
        eprintln!(
            "the cluster has {brokers} broker(s), so topics get {replication} copies: for trials, not for production"
        );
    }
    let plans = plans(config, brokers);
    let report =
        if dry_run { check_topics(&options, &plans).await } else { setup_topics(&options, &plans).await };
    report.map_err(|error| remedy::log_failure(&error))
}

/// What the topics are to be like.
pub(super) fn plans(config: &Config, brokers: usize) -> Vec<TopicPlan> {
    let sizing = TopicSizing {
        partitions: config.log.partitions,
        replication: u32::from(replication(config, brokers)),
        keep_acks_ms: config.rules().retention.keep_ms,
    };
    sizing.plans()
}

fn replication(config: &Config, brokers: usize) -> u16 {
    let possible = u16::try_from(brokers).unwrap_or(u16::MAX).clamp(1, REPLICATION);
    config.log.replication.unwrap_or(possible)
}

async fn tables(config: &Config, dry_run: bool) -> Result<Tables, Failure> {
    let cql = config.store.cql()?;
    let keyspace = cql.keyspace.clone();
    let schema = Schema::connect(cql).await.map_err(|error| remedy::store_failure(config, &error))?;
    if dry_run {
        let from = schema.version().await.map_err(Failure::failed)?;
        let pending = schema.pending().await.map_err(Failure::failed)?;
        return Ok(Tables { keyspace, from, to: from, pending });
    }
    let migrated = schema.migrate(SystemClock::default().now()).await.map_err(Failure::failed)?;
    Ok(Tables { keyspace, from: migrated.from, to: Some(migrated.to), pending: Vec::new() })
}

/// What is left to an operator makes it done in part, and what nothing can serve with, failed.
fn outcome(report: &Report) -> Exit {
    let for_operators = |report: &TopicReport| {
        report
            .left()
            .filter(|finding| finding.remedy == Remedy::Operator)
            .map(|finding| finding.stops_serving)
            .max()
    };
    match report.topics.as_ref().and_then(for_operators) {
        Some(true) => Exit::Failed,
        Some(false) => Exit::InPart,
        None => Exit::Done,
    }
}

fn table(report: &Report) -> String {
    let topics = match &report.topics {
        Some(topics) => topics_table(topics, report.dry_run),
        None => "topics: embedded, made at the first start\n".to_owned(),
    };
    let tables = match &report.tables {
        Some(tables) => tables_table(tables, report.dry_run),
        None => "tables: embedded, made at the first start\n".to_owned(),
    };
    topics + &tables
}

fn topics_table(report: &TopicReport, dry_run: bool) -> String {
    if report.findings.is_empty() {
        return format!("topics: all {} are as they should be\n", report.topics.len());
    }
    let mut table = String::new();
    for finding in &report.findings {
        let outcome = match finding.remedy {
            Remedy::Done => "done",
            Remedy::Setup if dry_run => "would be done",
            Remedy::Setup => "not done",
            Remedy::Operator => "left to you",
        };
        let found = finding.found.as_deref().unwrap_or("none");
        table += &format!(
            "{}: {}: wanted {}, found {found}: {outcome}\n",
            finding.topic, finding.matter, finding.wanted
        );
        if finding.remedy == Remedy::Operator {
            table += &format!("  {}\n", finding.advice);
            table.extend(finding.commands.iter().map(|command| format!("  $ {command}\n")));
        }
    }
    table
}

fn tables_table(tables: &Tables, dry_run: bool) -> String {
    let version = |version: Option<i32>| version.map_or("nothing".to_owned(), |n| format!("version {n}"));
    let Tables { keyspace, from, to, pending } = tables;
    if dry_run {
        let statements: String = pending.iter().map(|statement| format!("  {statement};\n")).collect();
        return format!(
            "keyspace {keyspace}: {}, {} statement(s) would be made\n{statements}",
            version(*from),
            pending.len()
        );
    }
    if from == to {
        return format!("keyspace {keyspace}: is at {}\n", version(*to));
    }
    format!("keyspace {keyspace}: from {} to {}\n", version(*from), version(*to))
}
