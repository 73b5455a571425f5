//! What the IM backend says.

use super::conversation;
use serde::Deserialize;

step!(
    /// `at` is a time in ms on the scenario's own scale, which begins an hour ago; without it: now. `version` is
    /// the order in an installation that orders by version.
    Join { #[serde(default = "conversation")] c: String, users: String, #[serde(default)] at_seq: u64, #[serde(default)] at: Option<i64>, #[serde(default)] version: Option<u64>, }
);
step!(
    /// As [`Join`].
    Leave { #[serde(default = "conversation")] c: String, users: String, #[serde(default)] at_seq: u64, #[serde(default)] at: Option<i64>, #[serde(default)] version: Option<u64>, }
);
step!(
    /// `msg` is the msg_id of the first; without it one that belongs to the seq.
    Sent {
        #[serde(default = "conversation")]
        c: String,
        from: String,
        seqs: String,
        #[serde(default)]
        at: Option<i64>,
        #[serde(default)]
        msg: Option<u64>,
        #[serde(default)]
        countable: Option<bool>,
        #[serde(default)]
        mentions: String,
    }
);
step!(
    /// Seqs to recall.
    Recall { #[serde(default = "conversation")] c: String, seqs: String, #[serde(default)] at: Option<i64>, }
);
step!(
    /// From and to are part of it.
    Skip { #[serde(default = "conversation")] c: String, from: u64, to: u64, #[serde(default)] at: Option<i64>, }
);
step!(
    /// Closed, or open again.
    Close { #[serde(default = "conversation")] c: String, closed: bool, #[serde(default)] at: Option<i64>, #[serde(default)] version: Option<u64>, }
);
step!(
    /// full, count or off.
    Policy { #[serde(default = "conversation")] c: String, receipts: String, #[serde(default)] at: Option<i64>, #[serde(default)] version: Option<u64>, }
);
step!(
    /// On or off.
    Settings { users: String, receipts: bool, #[serde(default)] at: Option<i64>, }
);
step!(
    /// On behalf of each of the users.
    ReadFor { #[serde(default = "conversation")] c: String, users: String, up_to: u64, #[serde(default)] at: Option<i64>, }
);
step!(
    /// On behalf of each of the users.
    AckFor { #[serde(default = "conversation")] c: String, users: String, seqs: String, from: String, #[serde(default)] at: Option<i64>, }
);
