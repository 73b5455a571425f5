//! What the types alone can't check.

use super::keys::Config;

/// Partitions of a topic.
const PARTITIONS: std::ops::RangeInclusive<u32> = 1..=1_024;
/// Days that receipts are kept: ten years at most.
const EXPIRE_DAYS: std::ops::RangeInclusive<u32> = 1..=3_650;
/// Memory for pages of the store.
const CACHE_MIB: std::ops::RangeInclusive<u32> = 1..=65_536;

/// The mistakes, each with its key's name.
pub(crate) fn check(config: &Config) -> Vec<String> {
    let mut mistakes = Vec::new();
    let mut must = |holds: bool, key: &str, words: String| {
        if !holds {
            mistakes.push(format!("{key}: {words}"));
        }
    };
    let range = |r: &std::ops::RangeInclusive<u32>| format!("must be from {} to {}", r.start(), r.end());
    must(PARTITIONS.contains(&config.log.partitions), "log.partitions", range(&PARTITIONS));
    must(EXPIRE_DAYS.contains(&config.receipts.expire_days), "receipts.expire_days", range(&EXPIRE_DAYS));
    must(CACHE_MIB.contains(&config.store.cache_mib), "store.cache_mib", range(&CACHE_MIB));
    let prefix = &config.log.topic_prefix;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    must(
        !prefix.is_empty() && prefix.len() <= 64 && prefix.chars().all(plain),
        "log.topic_prefix",
        "must be 1 to 64 letters, digits, dots, dashes or underscores".to_owned(),
    );
    must(config.http.max_in_flight > 0, "http.max_in_flight", "must be at least 1".to_owned());
    must(config.http.max_connections > 0, "http.max_connections", "must be at least 1".to_owned());
    must(config.http.request_timeout_ms > 0, "http.request_timeout_ms", "must be at least 1".to_owned());
    must(config.query.max_reads_in_flight > 0, "query.max_reads_in_flight", "must be at least 1".to_owned());
    mistakes
}
