//! A trace: what happened in one channel, and what must be answered in the end.

use readmark_test_harness::oracle::Oracle;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The traces' events lie this far in the past at most, so that none is in the future and none expired.
const STARTED_BEFORE_NOW_MS: u64 = 3 * 3_600 * 1_000;

/// One line.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line {
    MemberJoined { at_ms: u64, uid: String, at_seq: String },
    MemberLeft { at_ms: u64, uid: String, at_seq: String },
    MessageSent { at_ms: u64, uid: String, seq: String },
    Read { at_ms: u64, uid: String, up_to_seq: String },
}

/// What must be answered for a message.
#[derive(Debug, Clone, Deserialize)]
pub struct ExpectedMessage {
    /// Its place.
    pub seq: String,
    /// Who sent it.
    pub sender_uid: String,
    /// N.
    pub read: u64,
    /// M.
    pub total: u64,
}

/// What must be answered in the end.
#[derive(Debug, Clone, Deserialize)]
pub struct Expected {
    /// Newest seq.
    pub head_seq: String,
    /// Members present.
    pub members: usize,
    /// Every message.
    pub messages: Vec<ExpectedMessage>,
    /// Unread of every member present.
    pub unread: BTreeMap<String, u64>,
}

/// What a step of a trace is to the player.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Somebody is a member from now on.
    Joined,
    /// Somebody is no member any more.
    Left,
    /// A message.
    Sent,
    /// Somebody has read up to this seq.
    Read {
        /// The last message read.
        up_to_seq: u64,
    },
}

/// One event, ready to be sent.
#[derive(Debug, Clone)]
pub struct Step {
    /// What it is.
    pub kind: Kind,
    /// Whom it is about.
    pub uid: u64,
    /// As `POST /v1/events` takes it.
    pub event: Value,
}

/// A trace as one conversation.
#[derive(Debug, Clone)]
pub struct Trace {
    /// The conversation that it is played as.
    pub conversation_id: String,
    /// Its events in order.
    pub steps: Vec<Step>,
    /// What must be answered in the end.
    pub expected: Expected,
}

/// Names of the traces.
pub const NAMES: [&str; 2] = ["ubuntu-irc-2006-06-01", "ubuntu-irc-2007-06-04"];

impl Trace {
    /// Loads a trace; its events get times that end before now.
    #[must_use]
    pub fn load(name: &str) -> Self {
        let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("data");
        let read = |file: String| {
            std::fs::read_to_string(data.join(&file)).unwrap_or_else(|e| panic!("{file}: {e}"))
        };
        let expected =
            serde_json::from_str(&read(format!("{name}.expected.json"))).expect("expected.json is valid");
        let start_ms = readmark_test_harness::now_ms() - STARTED_BEFORE_NOW_MS;
        let lines = read(format!("{name}.ndjson"));
        let steps = lines.lines().map(|line| step(name, start_ms, line)).collect();
        Self { conversation_id: name.to_owned(), steps, expected }
    }

    /// Both traces.
    #[must_use]
    pub fn both() -> Vec<Self> {
        NAMES.map(Self::load).to_vec()
    }

    /// What the oracle makes of it.
    #[must_use]
    pub fn oracle(&self) -> Oracle {
        let mut oracle = Oracle::default();
        self.steps.iter().for_each(|step| oracle.event(&step.event));
        oracle
    }
}

fn step(conversation_id: &str, start_ms: u64, line: &str) -> Step {
    let line: Line = serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"));
    let number = |text: &str| text.parse::<u64>().unwrap_or_else(|e| panic!("{text}: {e}"));
    let (kind, uid, at_ms, mut event) = match &line {
        Line::MemberJoined { at_ms, uid, at_seq } => {
            (Kind::Joined, uid, at_ms, json!({"type": "member_joined", "uid": uid, "at_seq": at_seq}))
        }
        Line::MemberLeft { at_ms, uid, at_seq } => {
            (Kind::Left, uid, at_ms, json!({"type": "member_left", "uid": uid, "at_seq": at_seq}))
        }
        Line::MessageSent { at_ms, uid, seq } => {
            // A message id of its own, so that it can't be mistaken for the seq.
            let msg_id = (9_000_000 + number(seq)).to_string();
            (
                Kind::Sent,
                uid,
                at_ms,
                json!({"type": "message_sent", "sender_uid": uid, "seq": seq, "msg_id": msg_id}),
            )
        }
        Line::Read { at_ms, uid, up_to_seq } => {
            let event = json!({"type": "read", "uid": uid, "endpoint": "irc", "up_to_seq": up_to_seq});
            (Kind::Read { up_to_seq: number(up_to_seq) }, uid, at_ms, event)
        }
    };
    event["conversation_id"] = json!(conversation_id);
    event["occurred_at"] = json!((start_ms + at_ms).to_string());
    Step { kind, uid: number(uid), event }
}
