use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who may see the names of readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DetailsVisibleTo {
    /// The message's sender.
    #[default]
    Sender,
    /// Every present member.
    Members,
}

/// Settings of the query role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QuerySettings {
    /// Who may see the names of readers.
    pub details_visible_to: DetailsVisibleTo,
    /// Requests that read the store at once; the others wait for their turn, a second at most.
    pub max_reads_in_flight: usize,
    /// Uids held in the caches of large conversations, rosters and read arrays each (about 40 bytes a member
    /// and 8 a reader).
    pub large_cache_uids: u64,
}

impl Default for QuerySettings {
    fn default() -> Self {
        Self {
            details_visible_to: DetailsVisibleTo::Sender,
            max_reads_in_flight: 256,
            large_cache_uids: 1_000_000,
        }
    }
}
