//! Devices that follow their user's stream.

use super::conversation;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

step!(
    /// A device of each of the users follows over a connection, until the scenario is over.
    Connect { users: String, #[serde(default)] endpoint: Option<String>, }
);
step!(
    /// A device of each of the users asks once for what is new, until there is no more.
    Sync { users: String, #[serde(default)] endpoint: Option<String>, }
);
step!(
    /// For each of the users. `is_live`: it follows the stream of a hot state, not an answer of the store's that stands in
    /// for it. `within_ms`: since the step began.
    Shows {
        #[serde(default = "conversation")]
        c: String,
        users: String,
        #[serde(default)]
        endpoint: Option<String>,
        #[serde(default)]
        unread: Option<u64>,
        #[serde(default)]
        mentions: Option<u64>,
        #[serde(default)]
        read: Option<u64>,
        #[serde(default)]
        floor: Option<u64>,
        #[serde(default)]
        head: Option<u64>,
        #[serde(default)]
        marked: Option<bool>,
        #[serde(default)]
        listed: Option<bool>,
        #[serde(default)]
        total: Option<u64>,
        #[serde(default)]
        total_mentions: Option<u64>,
        #[serde(default)]
        is_live: bool,
        #[serde(default)]
        within_ms: Option<u64>,
    }
);
step!(
    /// What each of the users' devices was told that matches everything given, as in `records`; a snapshot has the kind
    /// `snapshot`. The number is waited for.
    Entries {
        users: String,
        #[serde(default)]
        endpoint: Option<String>,
        #[serde(default)]
        since: bool,
        #[serde(default)]
        fields: BTreeMap<String, Value>,
        #[serde(default)]
        below: BTreeMap<String, u64>,
        #[serde(default)]
        above: BTreeMap<String, u64>,
        #[serde(default)]
        exactly: Option<usize>,
        #[serde(default)]
        at_least: Option<usize>,
        #[serde(default)]
        at_most: Option<usize>,
    }
);
