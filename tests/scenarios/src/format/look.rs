//! What must be seen.

use super::conversation;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

step!(
    /// Must hold at every look: N ≤ M of a message, a message's N at most so much, a user's unread at most (at
    /// least) so much; what a role has stored of its topics never falls.
    Watch {
        #[serde(default = "conversation")]
        c: String,
        #[serde(default)]
        seq: Option<u64>,
        #[serde(default)]
        user: Option<String>,
        #[serde(default)]
        unread_at_most: Option<u64>,
        #[serde(default)]
        unread_at_least: Option<u64>,
        #[serde(default)]
        not_all_read: bool,
        #[serde(default)]
        positions_of: Option<String>,
    }
);
step!(
    /// For each of the seqs; asked by the backend unless `by` says who. `status` is that of an error.
    Receipt {
        #[serde(default = "conversation")]
        c: String,
        seqs: String,
        #[serde(default)]
        by: Option<String>,
        #[serde(default)]
        read: Option<u64>,
        #[serde(default)]
        total: Option<u64>,
        #[serde(default)]
        all_read: Option<bool>,
        #[serde(default)]
        recalled: Option<bool>,
        #[serde(default)]
        mode: Option<String>,
        #[serde(default)]
        sender: Option<String>,
        #[serde(default)]
        msg: Option<u64>,
        #[serde(default)]
        status: Option<u16>,
        #[serde(default)]
        problem: Option<String>,
    }
);
step!(
    /// Who is listed, read through all pages of `limit`.
    Names {
        #[serde(default = "conversation")]
        c: String,
        seq: u64,
        #[serde(default)]
        by: Option<String>,
        #[serde(default)]
        users: Option<String>,
        #[serde(default)]
        limit: Option<u64>,
        #[serde(default)]
        status: Option<u16>,
        #[serde(default)]
        problem: Option<String>,
    }
);
step!(
    /// Each of the users, by its own token. `listed` tells whether the conversation is in its list.
    Unread {
        #[serde(default = "conversation")]
        c: String,
        users: String,
        #[serde(default)]
        unread: Option<u64>,
        #[serde(default)]
        unread_at_least: Option<u64>,
        #[serde(default)]
        mentions: Option<u64>,
        #[serde(default)]
        marked: Option<bool>,
        #[serde(default)]
        read: Option<u64>,
        #[serde(default)]
        floor: Option<u64>,
        #[serde(default)]
        head: Option<u64>,
        #[serde(default)]
        total: Option<u64>,
        #[serde(default)]
        listed: Option<bool>,
        #[serde(default)]
        conversations: Option<usize>,
    }
);
step!(
    /// For each of the seqs.
    Device {
        #[serde(default = "conversation")]
        c: String,
        seqs: String,
        read: u64,
        total: u64,
    }
);
step!(
    /// Records of a topic that match everything given; `fields` by the payload (`{name}` a uid), `headers` by
    /// the headers. The number is waited for, except that `at_most` is looked at once.
    /// `once`: no two of them say the same.
    Records {
        topic: String,
        #[serde(default)]
        since: bool,
        #[serde(default)]
        fields: BTreeMap<String, Value>,
        #[serde(default)]
        below: BTreeMap<String, u64>,
        #[serde(default)]
        above: BTreeMap<String, u64>,
        #[serde(default)]
        headers: BTreeMap<String, String>,
        #[serde(default)]
        exactly: Option<usize>,
        #[serde(default)]
        at_least: Option<usize>,
        #[serde(default)]
        at_most: Option<usize>,
        #[serde(default)]
        distinct: Option<String>,
        #[serde(default)]
        once: bool,
    }
);
step!(
    /// The sum over the samples that carry these labels.
    Metric {
        name: String,
        #[serde(default)]
        labels: BTreeMap<String, String>,
        #[serde(default)]
        at_least: Option<f64>,
        #[serde(default)]
        exactly: Option<f64>,
    }
);
step!(
    /// Somebody acks a message; its sender is told of N in less than `ms` after the ack was sent.
    ToldWithin { #[serde(default = "conversation")] c: String, user: String, seq: u64, ms: u64, }
);
