//! What readers, backends and the test itself do.

use super::{Step, conversation};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

step!(
    /// Each of the users, side by side. `expect` without a status stands for 202 (200 with `wait`), sent again
    /// until it is answered.
    Read {
        #[serde(default = "conversation")]
        c: String,
        users: String,
        up_to: u64,
        #[serde(default)]
        endpoint: Option<String>,
        #[serde(default)]
        wait: bool,
        #[serde(default)]
        expect: Expect,
    }
);
step!(
    /// Each of the users, side by side. `from` claims a sender.
    Ack {
        #[serde(default = "conversation")]
        c: String,
        users: String,
        seqs: String,
        #[serde(default)]
        from: Option<String>,
        #[serde(default)]
        endpoint: Option<String>,
        #[serde(default)]
        expect: Expect,
    }
);
step!(
    /// Without `up_to`: what the gateway knows.
    Clear { #[serde(default = "conversation")] c: String, users: String, #[serde(default)] up_to: Option<u64>, #[serde(default)] expect: Expect, }
);
step!(
    /// `PUT /v1/settings`.
    Switch { users: String, receipts: bool, }
);
step!(
    /// Any request of one user (or of the backend). `{name}` in path and body stands for the user's uid.
    Call {
        #[serde(default)]
        user: Option<String>,
        method: String,
        path: String,
        #[serde(default)]
        body: Option<String>,
        expect: Expect,
    }
);
step!(
    #[derive(Default)]
    /// What an answer must be; what is left out may be anything.
    Expect {
        #[serde(default)]
        status: Vec<u16>,
        #[serde(default)]
        problem: Option<String>,
        #[serde(default)]
        read_seq: Option<u64>,
        #[serde(default)]
        unread: Option<u64>,
        #[serde(default)]
        ignored: Option<BTreeMap<String, String>>,
        #[serde(default)]
        body: Option<Value>,
    }
);
step!(
    /// `garbage` repeats the byte 0xff that often instead of a payload.
    Put { topic: String, key: String, #[serde(default)] payload: Option<String>, #[serde(default)] garbage: usize, }
);
step!(
    /// The steps see `{i}` in `seqs` and users as the number of the round, from 1.
    Repeat { times: u64, steps: Vec<Step>, }
);
step!(
    /// See the harness's load.
    Random { seed: u64, conversations: u64, users: u64, steps: u64, }
);
step!(
    /// Every answer is this total, or 503.
    AskOften { user: String, times: u64, total: u64, }
);
