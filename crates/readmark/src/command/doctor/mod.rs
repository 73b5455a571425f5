//! `readmark doctor`: looks at every outside part and says what to do. It changes nothing, and all checks run, whatever
//! the others find.

mod cql;
mod data_dir;
mod files;
mod finding;
mod kafka;
mod listen;
mod redis;
mod tokens;

use super::runtime;
use crate::cli::{Format, Output};
use crate::config::{Config, HotKind, LogKind, StoreKind, load};
use crate::exit::{Exit, Failure};
use crate::print;
use finding::{Finding, Outcome};
use serde::Serialize;
use std::time::Duration;

/// How long one check may take. The parts' own limits are shorter, and say more.
const CHECK_WITHIN: Duration = Duration::from_secs(30);
/// How long what a check has left behind may hold up the end: calls that have no answer yet.
const END_WITHIN: Duration = Duration::from_secs(1);

/// What was found.
#[derive(Debug, Serialize)]
struct Report {
    outcome: Outcome,
    findings: Vec<Finding>,
}

/// Runs it.
pub(crate) fn run(output: &Output) -> Result<Exit, Failure> {
    let (findings, is_sound) = match load(&output.source, &[]) {
        Ok(config) => {
            let runtime = runtime()?;
            let findings = runtime.block_on(check(&config));
            runtime.shutdown_timeout(END_WITHIN);
            (findings, files::mistakes(&config).is_empty())
        }
        Err(mistakes) => {
            let to_do = "see docs/configuration.md, or `readmark config schema`; nothing else was checked";
            (vec![Finding::failed("configuration", mistakes, to_do)], false)
        }
    };
    let outcome = findings.iter().map(|finding| finding.outcome).max().unwrap_or(Outcome::Ok);
    match output.format {
        Format::Table => {
            print::text(&findings.iter().map(Finding::lines).collect::<String>())?;
        }
        Format::Json => print::json(&Report { outcome, findings })?,
    }
    Ok(match outcome {
        _ if !is_sound => Exit::Usage,
        Outcome::Failed => Exit::Failed,
        Outcome::Ok | Outcome::NotChecked | Outcome::Warning => Exit::Done,
    })
}

async fn check(config: &Config) -> Vec<Finding> {
    let kafka = async {
        match config.log.kind {
            LogKind::Embedded => Vec::new(),
            LogKind::Kafka => bounded("kafka", kafka::check(config)).await,
        }
    };
    let cql = async {
        match config.store.kind {
            StoreKind::Embedded => Vec::new(),
            StoreKind::Cql => bounded("cql", cql::check(config)).await,
        }
    };
    let redis = async {
        match config.hot.kind {
            HotKind::Memory => Vec::new(),
            HotKind::Redis => bounded("redis", redis::check(config)).await,
        }
    };
    let data_dir = bounded("data directory", data_dir::check(config));
    let listen = bounded("listen", listen::check(config));
    let (data_dir, kafka, cql, redis, listen) = futures::join!(data_dir, kafka, cql, redis, listen);
    let mut findings = vec![files::check(config)];
    findings.extend(data_dir);
    findings.extend(tokens::check(config));
    findings.extend(kafka.into_iter().chain(cql).chain(redis).chain(listen));
    findings
}

async fn bounded(check: &'static str, work: impl Future<Output = Vec<Finding>>) -> Vec<Finding> {
    let late = |_| {
        let found = format!("no answer within {} s", CHECK_WITHIN.as_secs());
        vec![Finding::failed(
            check,
            found,
            "look at the part itself: it takes connections and then says nothing",
        )]
    };
    tokio::time::timeout(CHECK_WITHIN, work).await.unwrap_or_else(late)
}
