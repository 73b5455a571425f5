//! Were records lost? The topics of this role keep 7 days. Who was away for longer finds that records between its
//! position and the oldest one are gone: what they said is in the store, and in nobody's state.

use readmark_log::{EventLog, Group, LogError, Offset, Position, Record, TopicPartition};
use readmark_runtime::retry::Retrier;
use std::collections::BTreeMap;

/// The offsets that must come next.
#[derive(Debug, Default)]
pub(crate) struct Continuity {
    next: BTreeMap<TopicPartition, Offset>,
}

impl Continuity {
    /// Notes where the group has stored that it is; what is gone above that, as the position of the oldest record.
    pub async fn take_over(
        &mut self,
        log: &dyn EventLog,
        retrier: &Retrier,
        group: &Group,
        partition: TopicPartition,
    ) -> Result<Option<Position>, LogError> {
        let stored = retrier.run(|| log.committed(group, partition)).await?.unwrap_or(0);
        let gone = self.gone_below_start(log, retrier, partition, stored).await?;
        // What is gone is noted once.
        self.next.insert(partition, gone.map_or(stored, |start| start.offset));
        Ok(gone)
    }

    /// Notes records that were handed over; where some are missing before them, looks whether they are gone.
    pub async fn take_in(
        &mut self,
        log: &dyn EventLog,
        retrier: &Retrier,
        records: &[Record],
    ) -> Result<Option<Position>, LogError> {
        let mut gone = None;
        for Record { position: Position { partition, offset }, .. } in records {
            let expected = self.next.get(partition).copied().unwrap_or(*offset);
            self.next.insert(*partition, expected.max(offset + 1));
            if *offset > expected {
                gone = gone.or(self.gone_below_start(log, retrier, *partition, expected).await?);
            }
        }
        Ok(gone)
    }

    async fn gone_below_start(
        &self,
        log: &dyn EventLog,
        retrier: &Retrier,
        partition: TopicPartition,
        next: Offset,
    ) -> Result<Option<Position>, LogError> {
        let start = retrier.run(|| log.start_offset(partition)).await?;
        Ok((start > next).then_some(Position { partition, offset: start }))
    }

    /// The partition went to somebody else.
    pub fn forget(&mut self, partition: TopicPartition) {
        self.next.remove(&partition);
    }
}
