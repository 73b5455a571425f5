//! What the types alone can't check.

use super::keys::Config;
use readmark_http::parse_origin;
use readmark_runtime::telemetry;
use readmark_store::cql::keyspace_fault;
use std::ops::RangeInclusive;

/// Days that receipts are kept: ten years at most.
const EXPIRE_DAYS: RangeInclusive<u64> = 1..=3_650;
/// Partitions of each topic: beyond a thousand a group's rebalances take longer than they gain.
const PARTITIONS: RangeInclusive<u64> = 1..=1_024;
/// Copies of what is kept: more than seven nobody runs.
const REPLICATION: RangeInclusive<u64> = 1..=7;
/// Connections to each shard of a node.
const CONNECTIONS: RangeInclusive<u64> = 1..=64;
/// Requests on their way to the store: what one session can number on a few connections.
const REQUESTS: RangeInclusive<u64> = 1..=32_768;
/// Memory for pages of the store.
const CACHE_MIB: RangeInclusive<u64> = 1..=65_536;
/// What is held at once, requests or reads: far beyond what one process can serve.
const AT_ONCE: RangeInclusive<u64> = 1..=1_000_000;
/// Connections of one user: more devices nobody has.
const PER_USER: RangeInclusive<u64> = 1..=1_000;
/// How long a process may be silent: what brokers allow by default.
const SESSION_MS: RangeInclusive<u64> = 6_000..=1_800_000;
/// Times of a request, in milliseconds: ten minutes at most.
const WAIT_MS: RangeInclusive<u64> = 1..=600_000;

/// A key whose value has ends.
pub(super) struct Range {
    pub key: &'static str,
    value: fn(&Config) -> u64,
    pub ends: RangeInclusive<u64>,
}

const fn range(key: &'static str, ends: RangeInclusive<u64>, value: fn(&Config) -> u64) -> Range {
    Range { key, value, ends }
}

/// All of them. A number that is not given counts as 1, which all of these allow.
pub(super) const RANGES: &[Range] = &[
    range("log.partitions", PARTITIONS, |c| c.log.partitions.into()),
    range("log.replication", REPLICATION, |c| c.log.replication.unwrap_or(1).into()),
    range("log.session_timeout_ms", SESSION_MS, |c| c.log.session_timeout_ms),
    range("store.replication", REPLICATION, |c| c.store.replication.into()),
    range("store.request_timeout_ms", WAIT_MS, |c| c.store.request_timeout_ms),
    range("store.connections_per_shard", CONNECTIONS, |c| c.store.connections_per_shard.into()),
    range("store.requests_in_flight_max", REQUESTS, |c| c.store.requests_in_flight_max.into()),
    range("receipts.expire_days", EXPIRE_DAYS, |c| c.receipts.expire_days.into()),
    range("store.cache_mib", CACHE_MIB, |c| c.store.cache_mib.into()),
    range("http.max_in_flight", AT_ONCE, |c| c.http.max_in_flight as u64),
    range("http.max_connections", AT_ONCE, |c| c.http.max_connections as u64),
    range("http.request_timeout_ms", WAIT_MS, |c| c.http.request_timeout_ms),
    range("http.user_requests_per_s", AT_ONCE, |c| c.http.user_requests_per_s.into()),
    range("http.user_burst", AT_ONCE, |c| c.http.user_burst.into()),
    range("http.drain_ms", WAIT_MS, |c| c.http.drain_ms),
    range("gateway.max_connections", AT_ONCE, |c| c.gateway.max_connections as u64),
    range("gateway.max_connections_per_user", PER_USER, |c| c.gateway.max_connections_per_user as u64),
    range("query.max_reads_in_flight", AT_ONCE, |c| c.query.max_reads_in_flight as u64),
];

/// The mistakes, each with its key's name.
pub(crate) fn check(config: &Config) -> Vec<String> {
    let outside = RANGES.iter().filter(|range| !range.ends.contains(&(range.value)(config)));
    let mut mistakes: Vec<String> = outside
        .map(|Range { key, ends, .. }| format!("{key}: must be from {} to {}", ends.start(), ends.end()))
        .collect();
    let prefix = &config.log.topic_prefix;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if prefix.is_empty() || prefix.len() > 64 || !prefix.chars().all(plain) {
        let words = "must be 1 to 64 letters, digits, dots, dashes or underscores";
        mistakes.push(format!("log.topic_prefix: {words}"));
    }
    // Of dots alone Kafka takes three and more.
    let instance_is_plain =
        |id: &String| !matches!(id.as_str(), "" | "." | "..") && id.len() <= 200 && id.chars().all(plain);
    if config.log.instance_id.as_ref().is_some_and(|id| !instance_is_plain(id)) {
        let words = "must be 1 to 200 letters, digits, dots, dashes or underscores";
        mistakes.push(format!("log.instance_id: {words}"));
    }
    mistakes.extend(keyspace_fault(&config.store.keyspace).map(|words| format!("store.keyspace: {words}")));
    mistakes.extend(config.hot.url_mistake());
    let origins = config.http.allowed_origins.iter().filter_map(|origin| parse_origin(origin).err());
    mistakes.extend(origins.map(|words| format!("http.allowed_origins: {words}")));
    if let Err(error) = telemetry::check(&config.telemetry.filter) {
        mistakes.push(format!("telemetry.filter: {error}"));
    }
    mistakes
}
