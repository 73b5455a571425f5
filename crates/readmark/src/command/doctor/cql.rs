//! The CQL server: the cluster, the keyspace, and whose clock is right.

use super::kafka::CLOCKS_APART_MS;
use super::{Finding, Outcome};
use crate::config::Config;
use crate::parts::remedy;
use readmark_runtime::clock::{Clock, SystemClock};
use readmark_store::ReceiptStore;
use readmark_store::cql::{CqlConfig, CqlStore, Dialect, FoundKeyspace, Schema};
use std::collections::BTreeMap;
use std::sync::Arc;

/// From so many copies on, a node may be away without stopping anybody.
const COPIES: u16 = 3;

pub(super) async fn check(config: &Config) -> Vec<Finding> {
    let cql = match config.store.cql() {
        Ok(cql) => cql,
        // The check of the configuration says why.
        Err(failure) => return vec![Finding::not_checked("cql", failure)],
    };
    let schema = match Schema::connect(cql.clone()).await {
        Ok(schema) => schema,
        Err(error) => {
            return vec![
                Finding::failed("cql", &error, remedy::of_store(&error)),
                Finding::not_checked("keyspace", "the CQL server does not answer"),
            ];
        }
    };
    let mut findings = vec![of_cluster(&cql, &schema)];
    findings.extend(of_keyspace(&cql, &schema).await);
    findings.extend(of_clock(&schema).await);
    findings
}

fn of_cluster(cql: &CqlConfig, schema: &Schema) -> Finding {
    let kind = match schema.dialect() {
        Dialect::Cassandra => "Cassandra",
        Dialect::ScyllaDb => "ScyllaDB",
    };
    let nodes = schema.nodes();
    let centres: Vec<String> =
        nodes.iter().map(|(name, count)| format!("{count} node(s) in {name}")).collect();
    let words = format!("{kind}, {}, found by {}", centres.join(", "), cql.contact_points.join(","));
    match &cql.local_datacenter {
        Some(local) if !nodes.contains_key(local) => {
            let to_do = "set store.local_datacenter to one of those";
            Finding::failed("cql", format!("{words}: there is no data centre {local}"), to_do)
        }
        None if nodes.len() > 1 => {
            let to_do = "set store.local_datacenter to the nearest";
            Finding::warning("cql", format!("{words}: requests go to any of them"), to_do)
        }
        Some(_) | None => Finding::ok("cql", words),
    }
}

async fn of_keyspace(cql: &CqlConfig, schema: &Schema) -> Vec<Finding> {
    let name = &cql.keyspace;
    let failed = |words: String, to_do: &str| vec![Finding::failed("keyspace", words, to_do)];
    let FoundKeyspace { replication, version, needed } = match schema.look().await {
        Ok(found) => found,
        Err(error) => return failed(error.to_string(), "look at the server's log"),
    };
    let Some(replication) = replication else {
        return failed(format!("there is no keyspace {name}"), "run `readmark setup`, or set store.keyspace");
    };
    let mut findings = match version {
        None => failed(format!("keyspace {name} has no tables of readmark"), "run `readmark setup`"),
        Some(version) if version < needed => failed(
            format!("keyspace {name} is of version {version}, and this program needs {needed}"),
            "run `readmark setup`",
        ),
        Some(version) if version > needed => failed(
            format!("keyspace {name} is of version {version}, and this program knows none after {needed}"),
            "use a newer readmark, or another keyspace",
        ),
        Some(version) => vec![of_use(cql, version).await],
    };
    findings.extend(of_replication(cql, &replication, &schema.nodes()));
    findings
}

/// Opening prepares every statement, and a read needs the right to read.
async fn of_use(cql: &CqlConfig, version: i32) -> Finding {
    let clock = SystemClock::default();
    let used = async { CqlStore::open(cql, Arc::new(move || clock.now())).await?.probe().await };
    match used.await {
        Ok(()) => {
            Finding::ok("keyspace", format!("{} is of version {version} and can be read", cql.keyspace))
        }
        Err(error) => {
            Finding::failed("keyspace", error, "give store.user the rights SELECT and MODIFY on the keyspace")
        }
    }
}

fn of_replication(
    cql: &CqlConfig,
    replication: &BTreeMap<String, u16>,
    nodes: &BTreeMap<String, usize>,
) -> Option<Finding> {
    let (name, wanted) = (&cql.keyspace, cql.replication_factor);
    let copies = replication.values().copied().min().unwrap_or(0);
    let fewest = nodes.values().copied().min().unwrap_or(0);
    let finding = |outcome, found: String, to_do: String| {
        Some(Finding { check: "keyspace", outcome, found, to_do: vec![to_do] })
    };
    if usize::from(copies / 2 + 1) > fewest {
        let words =
            format!("keyspace {name} keeps {copies} copies, and there are {fewest} node(s): no quorum");
        return finding(Outcome::Failed, words, format!("add nodes, or lower the replication of {name}"));
    }
    if replication.values().any(|copies| *copies != wanted) {
        let shown: Vec<String> =
            replication.iter().map(|(place, copies)| format!("{place}: {copies}")).collect();
        let words = format!("keyspace {name} keeps {}, and store.replication is {wanted}", shown.join(", "));
        let to_do = format!(
            "set store.replication to what is there; or ALTER KEYSPACE {name} WITH replication = {{'class': \
             'NetworkTopologyStrategy', 'replication_factor': {wanted}}}, then repair it on every node"
        );
        return finding(Outcome::Warning, words, to_do);
    }
    (copies < COPIES).then_some(()).and_then(|()| {
        let words = format!(
            "keyspace {name} keeps {copies} copies: a node that is away stops it, or what it had is lost"
        );
        finding(Outcome::Warning, words, format!("keep {COPIES}, but for trials"))
    })
}

async fn of_clock(schema: &Schema) -> Vec<Finding> {
    let clock = SystemClock::default();
    let before = clock.now();
    let Ok(theirs) = schema.server_time().await else { return Vec::new() };
    let after = clock.now();
    // What the answer took may be either way's.
    let apart_ms = before.since_ms(theirs).max(theirs.since_ms(after));
    if apart_ms <= CLOCKS_APART_MS {
        return vec![Finding::ok("clock", "the same as the CQL server's, to a second")];
    }
    let words = format!("{apart_ms} ms apart from the CQL server's");
    vec![Finding::warning("clock", words, "let all machines follow the same time servers (NTP)")]
}
