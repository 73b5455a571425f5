//! What keys say against each other.

use super::keys::Config;
use super::log::LogKind;
use super::store::StoreKind;
use readmark_domain::time::TimeMs;
use readmark_log::embedded::PARTITIONS_MAX;
use readmark_store::cql::expire_days_max;

/// A mistake that several keys make together.
#[derive(Debug)]
pub(super) struct Clash {
    /// All that it depends on, given or not.
    pub keys: Vec<String>,
    /// The mistake, with its key's name.
    pub words: String,
}

impl Clash {
    pub fn of(keys: &[&str], words: impl Into<String>) -> Self {
        Self { keys: keys.iter().map(|key| (*key).to_owned()).collect(), words: words.into() }
    }
}

/// All of them.
pub(super) fn check_together(config: &Config, now: TimeMs) -> Vec<Clash> {
    let mut clashes = config.log.clashes();
    clashes.extend(config.store.clashes());
    clashes.extend(config.hot.clashes());
    if config.log.kind == LogKind::Embedded && config.log.partitions > PARTITIONS_MAX {
        clashes.push(Clash::of(
            &["log.partitions", "log.kind"],
            format!("log.partitions: must be from 1 to {PARTITIONS_MAX} with log.kind = \"embedded\""),
        ));
    }
    let days_max = expire_days_max(now);
    if config.store.kind == StoreKind::Cql && u64::from(config.receipts.expire_days) > days_max {
        clashes.push(Clash::of(
            &["receipts.expire_days", "store.kind"],
            format!(
                "receipts.expire_days: must be from 1 to {days_max} with store.kind = \"cql\": a server may refuse \
                 what expires after 2038-01-19"
            ),
        ));
    }
    clashes
}

/// Two keys of which one says nothing without the other.
pub(super) fn half_a_pair(one: (&str, bool), other: (&str, bool)) -> Option<Clash> {
    let words = || format!("{}: goes together with {}", one.0, other.0);
    (one.1 != other.1).then(|| Clash::of(&[one.0, other.0], words()))
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
            told.len() == 1 && told[0].words.starts_with("receipts.expire_days: must be from 1 to 28"),
            "{told:?}"
        );
        config.receipts.expire_days = 90;
        assert!(check_together(&config, in_2030).is_empty());
    }
}
