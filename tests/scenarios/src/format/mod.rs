//! What a scenario file may say. `README.md` beside the files explains it by example.

use crate::names;
use crate::parts::Parts;
use serde::Deserialize;
use std::collections::BTreeMap;

macro_rules! step {
    ($(#[$doc:meta])* $name:ident { $($(#[$attr:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[allow(missing_docs, reason = "README.md explains each field by example")]
        pub struct $name { $($(#[$attr])* pub $field: $type,)* }
    };
}

mod call;
mod device;
mod fact;
mod look;
mod outside;

pub use call::*;
pub use device::*;
pub use fact::*;
pub use look::*;
pub use outside::*;

/// Members who join in one step of a scenario that keeps a server busy.
const LARGE: usize = 1_000;

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
    /// The sets of parts it runs on; all, where nothing is said.
    #[serde(default = "Parts::all")]
    pub parts: Vec<Parts>,
    /// Tests elsewhere that show exactly this: a package and a test of it.
    #[serde(default)]
    pub shown_by: Vec<String>,
    /// What of it must wait for another part, while the rest runs.
    #[serde(default)]
    pub waits: Vec<Waits>,
    /// How its size differs from the fault's, where it does.
    #[serde(default)]
    pub scaled: Option<String>,
    /// The roles of each process, on full parts; one process has all, where nothing is said.
    #[serde(default)]
    pub processes: Vec<String>,
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
    /// A user's unread, asked for again and again.
    AskOften(AskOften),
    /// Steps side by side.
    Together(Vec<Step>),
    /// Steps again and again.
    Repeat(Repeat),
    /// Steps that only full parts take.
    Full(Vec<Step>),
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
    /// One process ends or starts.
    Process(Process),
    /// A topic is delivered again by the operator's command.
    Replay(Replay),
    /// A process that was thought dead writes a message once more.
    Zombie(Zombie),
    /// Something happens to Redis; the scenario has one of its own.
    Redis(RedisEvent),
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
    /// Devices connect.
    Connect(Connect),
    /// Devices ask for what is new.
    Sync(Sync),
    /// What devices show, by what they were told on their user's stream.
    Shows(Shows),
    /// What devices were told.
    Entries(Entries),
    /// Records of a topic.
    Records(Records),
    /// A metric.
    Metric(Metric),
    /// A push came within a time.
    ToldWithin(ToldWithin),
}

impl Step {
    /// The steps within this one that run on these parts.
    #[must_use]
    #[allow(clippy::wildcard_enum_match_arm, reason = "all others have none")]
    pub fn inner(&self, parts: Parts) -> &[Self] {
        match self {
            Self::Batch(steps) | Self::Together(steps) => steps,
            Self::Full(steps) if parts == Parts::Full => steps,
            Self::Repeat(repeat) => &repeat.steps,
            _ => &[],
        }
    }

    /// Does it need a server that no other scenario uses at once? It ends it, or counts what all do.
    #[must_use]
    pub const fn changes_the_server(&self) -> bool {
        matches!(self, Self::Kill | Self::Restart | Self::Metric(_))
    }

    /// Does it keep a server so busy that others beside it would only wait?
    #[must_use]
    pub fn is_large(&self) -> bool {
        matches!(self, Self::Join(join) if names::Names::of("", 0).uids(&join.users).len() > LARGE)
    }

    /// Does it need a server that no other scenario uses at all? What it does, others would notice later.
    #[must_use]
    pub fn changes_the_parts(&self) -> bool {
        let counts_exactly = matches!(self, Self::Metric(metric) if metric.exactly.is_some());
        let changes =
            matches!(self, Self::ForgetPositions | Self::Process(_) | Self::Redis(_) | Self::Random(_));
        counts_exactly || changes
    }

    /// Does it bound a time, so that nothing may run beside its scenario?
    #[must_use]
    #[allow(clippy::wildcard_enum_match_arm, reason = "all others bound none")]
    pub const fn is_timed(&self) -> bool {
        match self {
            Self::ToldWithin(_) => true,
            Self::Process(process) => process.within_ms.is_some(),
            Self::Shows(shows) => shows.within_ms.is_some(),
            _ => false,
        }
    }
}
