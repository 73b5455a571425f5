use readmark_aggregator::Aggregator;
use readmark_catalog::Catalog;
use readmark_notifier::Notifier;
use readmark_runtime::lag::Consumed;
use readmark_watermark::Watermark;
use std::collections::BTreeSet;
use std::str::FromStr;

/// What a process may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum RoleName {
    Catalog,
    Gateway,
    Aggregator,
    Watermark,
    Notifier,
    Query,
    Janitor,
}

impl RoleName {
    /// Every role there is.
    pub const ALL: [Self; 7] = [
        Self::Catalog,
        Self::Gateway,
        Self::Aggregator,
        Self::Watermark,
        Self::Notifier,
        Self::Query,
        Self::Janitor,
    ];

    /// As it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Catalog => "catalog",
            Self::Gateway => "gateway",
            Self::Aggregator => "aggregator",
            Self::Watermark => "watermark",
            Self::Notifier => "notifier",
            Self::Query => "query",
            Self::Janitor => "janitor",
        }
    }

    /// What it consumes from the log as fast as it can, with the name of its group; nothing when it only answers
    /// calls. Nothing for the janitor either: dead letters hold its position until they are due, which is no lag.
    pub const fn consumes(self) -> Option<Consumed> {
        match self {
            Self::Catalog => Some((Catalog::NAME, Catalog::TOPICS)),
            Self::Aggregator => Some((Aggregator::NAME, Aggregator::TOPICS)),
            Self::Watermark => Some((Watermark::NAME, Watermark::TOPICS)),
            Self::Notifier => Some((Notifier::NAME, Notifier::TOPICS)),
            Self::Gateway | Self::Query | Self::Janitor => None,
        }
    }
}

/// The roles of one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RoleSet(BTreeSet<RoleName>);

impl RoleSet {
    /// Every role there is.
    pub fn all() -> Self {
        Self(RoleName::ALL.into_iter().collect())
    }

    /// What they consume: see [`RoleName::consumes`].
    pub fn consumed(&self) -> Vec<Consumed> {
        self.0.iter().copied().filter_map(RoleName::consumes).collect()
    }

    /// Is it among them?
    pub fn has(&self, role: RoleName) -> bool {
        self.0.contains(&role)
    }

    /// Does one of them use the hot state?
    pub fn needs_hot(&self) -> bool {
        [RoleName::Gateway, RoleName::Notifier, RoleName::Query].into_iter().any(|role| self.has(role))
    }

    /// Are all there?
    pub fn is_all(&self) -> bool {
        self.0.len() == RoleName::ALL.len()
    }
}

impl FromStr for RoleSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::all());
        }
        let named = text.split(',').map(|word| {
            let word = word.trim();
            RoleName::ALL.into_iter().find(|role| role.as_str() == word).ok_or_else(|| {
                let known: Vec<&str> = RoleName::ALL.into_iter().map(RoleName::as_str).collect();
                format!("there is no role {word:?}; there are all, {}", known.join(", "))
            })
        });
        named.collect::<Result<_, _>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_named_with_commas() {
        let two: RoleSet = "gateway, query".parse().unwrap();
        assert!(two.has(RoleName::Gateway) && two.has(RoleName::Query) && !two.has(RoleName::Catalog));
        assert!("all".parse::<RoleSet>().unwrap().is_all());
        for wrong in ["", "gateway,", "Gateway", "all,query", "broker"] {
            assert!(wrong.parse::<RoleSet>().is_err(), "{wrong}");
        }
    }
}
