//! What keys say against each other; looked at when each alone is right.

use super::keys::Config;
use super::log::LogKind;
use super::store::StoreKind;
use readmark_domain::time::TimeMs;
use readmark_log::embedded::PARTITIONS_MAX;
use readmark_store::cql::expire_days_max;

/// The mistakes, each with its key's name.
pub(super) fn check_together(config: &Config, now: TimeMs) -> Vec<String> {
    let mut mistakes = config.log.mistakes();
    mistakes.extend(config.store.mistakes());
    mistakes.extend(config.hot.mistakes());
    if config.log.kind == LogKind::Embedded && config.log.partitions > PARTITIONS_MAX {
        mistakes
            .push(format!("log.partitions: must be from 1 to {PARTITIONS_MAX} with log.kind = \"embedded\""));
    }
    let days_max = expire_days_max(now);
    if config.store.kind == StoreKind::Cql && u64::from(config.receipts.expire_days) > days_max {
        mistakes.push(format!(
            "receipts.expire_days: must be from 1 to {days_max} with store.kind = \"cql\": a server may refuse what \
             expires after 2038-01-19"
        ));
    }
    mistakes
}

/// Two keys of which one says nothing without the other.
pub(super) fn half_a_pair(one: (&str, bool), other: (&str, bool)) -> Option<String> {
    (one.1 != other.1).then(|| format!("{}: goes together with {}", one.0, other.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_cql_server_would_refuse_to_keep_is_a_mistake() {
        let mut config = Config::default();
        config.receipts.expire_days = 3_650;
        let in_2030 = TimeMs::saturating(1_900_000_000_000);
        assert!(check_together(&config, in_2030).is_empty(), "embedded keeps it");
        config.store.kind = StoreKind::Cql;
        let told = check_together(&config, in_2030);
        assert!(
            told.len() == 1 && told[0].starts_with("receipts.expire_days: must be from 1 to 28"),
            "{told:?}"
        );
        config.receipts.expire_days = 90;
        assert!(check_together(&config, in_2030).is_empty());
    }
}
