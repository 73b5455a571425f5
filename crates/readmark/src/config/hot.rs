//! Section `hot`.

use super::secret::Secret;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct HotSection {
    /// Where they are.
    pub kind: HotKind,
    /// `redis://` or `rediss://` addresses, which may hold a password; several, with commas, for a cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<Secret>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum HotKind {
    /// In this process, which then must have all roles.
    Memory,
    /// In Redis.
    Redis,
}

impl Default for HotSection {
    fn default() -> Self {
        Self { kind: HotKind::Memory, url: None }
    }
}

impl HotSection {
    /// What is wrong with the addresses, and what keys say against each other.
    pub(super) fn mistakes(&self) -> Vec<String> {
        let is_redis = |url: &str| url.starts_with("redis://") || url.starts_with("rediss://");
        match (&self.kind, &self.url) {
            (HotKind::Redis, None) => vec!["hot.url: hot.kind = \"redis\" needs it".to_owned()],
            (_, Some(url)) if !url.reveal().split(',').all(is_redis) => {
                vec!["hot.url: must be redis:// or rediss:// addresses, with commas between".to_owned()]
            }
            (HotKind::Memory | HotKind::Redis, _) => Vec::new(),
        }
    }
}
