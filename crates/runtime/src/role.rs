//! What the consumer loop asks of a role.

use crate::progress::Progress;
use async_trait::async_trait;
use readmark_events::{DecodeError, Topic};
use readmark_hot::HotError;
use readmark_log::{LogError, Record, TopicPartition};
use readmark_store::StoreError;
use std::collections::BTreeSet;

/// Why a role stops: what no repetition heals and no dead letter takes.
#[derive(Debug, thiserror::Error)]
pub enum RoleError {
    /// The store can't be used as it is.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The log can't be used as it is.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The hot state can't be used as it is.
    #[error(transparent)]
    Hot(#[from] HotError),
    /// A record of our own making is too large: a bound of the program is wrong.
    #[error("a record of our own can't be written: {0}")]
    Encode(#[from] DecodeError),
}

/// A consuming role. Its methods are called one at a time. Each may be dropped at any await: what was begun
/// is repeated by whoever owns the partition next.
#[async_trait]
pub trait Role: Send {
    /// Its name, which also names its consumer group.
    fn name(&self) -> &'static str;

    /// What it consumes.
    fn topics(&self) -> &'static [Topic];

    /// Is given partitions, before any of their records.
    async fn take_over(&mut self, _partitions: &[TopicPartition]) -> Result<(), RoleError> {
        Ok(())
    }

    /// Takes records over. They may stay at work after this returns.
    async fn absorb(&mut self, records: Vec<Record>) -> Result<(), RoleError>;

    /// Does what is due by now: windows, parked records, delayed recounts.
    async fn advance(&mut self) -> Result<(), RoleError>;

    /// Finishes what can be finished of these partitions, before they are given back.
    async fn drain(&mut self, partitions: &[TopicPartition]) -> Result<(), RoleError>;

    /// Drops everything held for these partitions.
    fn forget(&mut self, partitions: &[TopicPartition]);

    /// When [`Role::advance`] has something to do next, on the clock of `elapsed_ms`.
    fn next_wake_ms(&self) -> Option<u64>;

    /// Partitions of which it can take no more for now.
    fn full(&self) -> BTreeSet<TopicPartition>;

    /// What it has at work, which says what positions may be stored.
    fn progress(&mut self) -> &mut Progress;
}
