//! What a scenario file may say. `README.md` beside the files explains it by example.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

fn conversation() -> String {
    "c".to_owned()
}

/// A scenario file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Its id.
    pub id: String,
    /// What happened elsewhere.
    pub fault: String,
    /// What is right.
    pub right: String,
    /// Parts without which it can't run at all.
    #[serde(default)]
    pub needs: Vec<String>,
    /// What of it must wait for another part, while the rest runs.
    #[serde(default)]
    pub waits: Vec<Waits>,
    /// How its size differs from the fault's, where it does.
    #[serde(default)]
    pub scaled: Option<String>,
    /// Variables of the server's environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// What to do and to expect, in order.
    #[serde(default)]
    pub steps: Vec<Step>,
}

/// A part of a scenario that can't run yet.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waits {
    /// The part it needs.
    pub part: String,
    /// What will be checked then.
    pub what: String,
}

/// One step.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Members join.
    Join(Join),
    /// Members leave.
    Leave(Leave),
    /// Messages.
    Send(Sent),
    /// Messages are recalled.
    Recall(Recall),
    /// Seqs that will never be messages.
    Skip(Skip),
    /// A conversation is closed or opened.
    Close(Close),
    /// A conversation's policy.
    Policy(Policy),
    /// Receipts on or off, as the backend says it.
    Settings(Settings),
    /// "Read up to", on behalf of users.
    ReadFor(ReadFor),
    /// An ack on behalf of users.
    AckFor(AckFor),
    /// Several of the above in one request.
    Batch(Vec<Step>),
    /// A reader's own "read up to".
    Read(Read),
    /// A reader's own ack.
    Ack(Ack),
    /// A reader clears.
    Clear(Clear),
    /// A reader's own switch.
    Switch(Switch),
    /// Any request.
    Call(Call),
    /// Steps side by side.
    Together(Vec<Step>),
    /// Steps again and again.
    Repeat(Repeat),
    /// A record straight into a topic.
    Put(Put),
    /// Random traffic whose end is known.
    Random(Random),
    /// SIGKILL and start.
    Kill,
    /// SIGTERM and start.
    Restart,
    /// As [`Step::Restart`]; in between, the position of every group is taken out of the log.
    ForgetPositions,
    /// Waits until everything sent before has been applied and told.
    Settle,
    /// Remembers where the topics end: later checks with `since` begin there.
    Note,
    /// From here to the end of the scenario.
    Watch(Watch),
    /// N/M.
    Receipt(Receipt),
    /// Names.
    Readers(Names),
    /// Names.
    UnreadMembers(Names),
    /// A reader's picture of a conversation.
    Unread(Unread),
    /// What the sender's device shows, by what `read-changed` told.
    Device(Device),
    /// Records of a topic.
    Records(Records),
    /// A metric.
    Metric(Metric),
    /// A push came within a time.
    ToldWithin(ToldWithin),
}

macro_rules! step {
    ($(#[$doc:meta])* $name:ident { $($(#[$attr:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[allow(missing_docs, reason = "README.md explains each field by example")]
        pub struct $name { $($(#[$attr])* pub $field: $type,)* }
    };
}

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
    /// The steps see `{i}` in `seqs` and users as the number of the round, from 1.
    Repeat { times: u64, steps: Vec<Step>, }
);
step!(
    /// `garbage` repeats the byte 0xff that often instead of a payload.
    Put { topic: String, key: String, #[serde(default)] payload: Option<String>, #[serde(default)] garbage: usize, }
);
step!(
    /// See the harness's load.
    Random { seed: u64, conversations: u64, users: u64, steps: u64, }
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
    /// Must hold at every look: N ≤ M of a message, a message's N at most so much, a user's unread at most (at
    /// least) so much.
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
