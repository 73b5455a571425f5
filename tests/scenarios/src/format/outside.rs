//! What happens to processes and to Redis.

use super::conversation;
use serde::Deserialize;

/// What becomes of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessIs {
    /// SIGTERM; it must drain.
    Stopped,
    /// SIGKILL.
    Killed,
    /// Started again.
    Started,
    /// SIGKILL and start at once.
    KilledAndStarted,
}

step!(
    /// The process with these roles; `which` counts those that have the same. `within_ms`: of a process of one consuming
    /// role that is killed and started, from the kill until all partitions of that role are handled again.
    Process { roles: String, #[serde(default)] which: usize, is: ProcessIs, #[serde(default)] within_ms: Option<u64>, }
);
step!(
    /// Facts of a topic about this conversation are delivered again, from its beginning to its end.
    Replay { #[serde(default = "conversation")] c: String, topic: String, }
);

step!(
    /// A message that is known, sent then, is written again with another number of chunks. Only on full parts.
    Zombie { #[serde(default = "conversation")] c: String, from: String, seq: u64, at: i64, chunks: u16, }
);

/// What happens to Redis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RedisEvent {
    /// All keys are gone.
    Empty,
    /// Connections are cut, and new ones refused.
    Cut,
    /// Connections are cut, once.
    CutOnce,
    /// Everything is answered with an error.
    Fail,
    /// It is there again and answers, and readmark has noticed.
    Heal,
    /// Waits until readmark has noticed that it is away.
    Noticed,
    /// The scripts that it knew are unknown.
    ForgetScripts,
    /// SIGKILL and start, without what it held.
    Restart,
    /// The next answer is lost after what was asked took effect.
    LoseAnswer,
    /// The replica gets what there is and is cut off then: what follows it lacks.
    CutReplica,
    /// The replica takes over.
    FailOver,
}
