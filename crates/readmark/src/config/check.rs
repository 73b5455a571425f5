//! What the types alone can't check.

use super::keys::Config;
use super::log::LogKind;
use readmark_http::parse_origin;
use readmark_log::embedded::PARTITIONS_MAX;
use readmark_runtime::telemetry;
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
/// Times of a request, in milliseconds: ten minutes at most.
const WAIT_MS: RangeInclusive<u64> = 1..=600_000;

/// The mistakes, each with its key's name.
pub(crate) fn check(config: &Config) -> Vec<String> {
    let http = &config.http;
    let ranges = [
        ("log.partitions", u64::from(config.log.partitions), PARTITIONS),
        ("log.replication", u64::from(config.log.replication.unwrap_or(1)), REPLICATION),
        ("store.replication", u64::from(config.store.replication), REPLICATION),
        ("store.request_timeout_ms", config.store.request_timeout_ms, WAIT_MS),
        ("store.connections_per_shard", u64::from(config.store.connections_per_shard), CONNECTIONS),
        ("store.requests_in_flight_max", u64::from(config.store.requests_in_flight_max), REQUESTS),
        ("receipts.expire_days", u64::from(config.receipts.expire_days), EXPIRE_DAYS),
        ("store.cache_mib", u64::from(config.store.cache_mib), CACHE_MIB),
        ("http.max_in_flight", http.max_in_flight as u64, AT_ONCE),
        ("http.max_connections", http.max_connections as u64, AT_ONCE),
        ("http.request_timeout_ms", http.request_timeout_ms, WAIT_MS),
        ("http.user_requests_per_s", u64::from(http.user_requests_per_s), AT_ONCE),
        ("http.user_burst", u64::from(http.user_burst), AT_ONCE),
        ("http.drain_ms", http.drain_ms, WAIT_MS),
        ("query.max_reads_in_flight", config.query.max_reads_in_flight as u64, AT_ONCE),
    ];
    let outside = ranges.into_iter().filter(|(_, value, range)| !range.contains(value));
    let mut mistakes: Vec<String> = outside
        .map(|(key, _, range)| format!("{key}: must be from {} to {}", range.start(), range.end()))
        .collect();
    let prefix = &config.log.topic_prefix;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if prefix.is_empty() || prefix.len() > 64 || !prefix.chars().all(plain) {
        let words = "must be 1 to 64 letters, digits, dots, dashes or underscores";
        mistakes.push(format!("log.topic_prefix: {words}"));
    }
    let instance_is_plain = |id: &String| !id.is_empty() && id.len() <= 200 && id.chars().all(plain);
    if config.log.instance_id.as_ref().is_some_and(|id| !instance_is_plain(id)) {
        let words = "must be 1 to 200 letters, digits, dots, dashes or underscores";
        mistakes.push(format!("log.instance_id: {words}"));
    }
    let origins = http.allowed_origins.iter().filter_map(|origin| parse_origin(origin).err());
    mistakes.extend(origins.map(|words| format!("http.allowed_origins: {words}")));
    if let Err(error) = telemetry::check(&config.telemetry.filter) {
        mistakes.push(format!("telemetry.filter: {error}"));
    }
    mistakes
}

/// What keys say against each other; looked at when each alone is right.
pub(crate) fn check_together(config: &Config) -> Vec<String> {
    let mut mistakes = config.log.mistakes();
    mistakes.extend(config.store.mistakes());
    mistakes.extend(config.hot.mistakes());
    if config.log.kind == LogKind::Embedded && config.log.partitions > PARTITIONS_MAX {
        mistakes
            .push(format!("log.partitions: must be from 1 to {PARTITIONS_MAX} with log.kind = \"embedded\""));
    }
    mistakes
}
