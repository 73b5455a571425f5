//! Reading the log page by page, and appending to it.

use crate::error::RepairError;
use readmark_events::Topic;
use readmark_log::{NewRecord, Offset, Partition, Record, TopicPartition};
use readmark_runtime::ports::Ports;
use readmark_runtime::retry::Retrier;

/// Records read at once; the log bounds their bytes.
pub(crate) const PAGE_RECORDS: usize = 500;
/// A part that is away for longer ends the command, which may be repeated: somebody waits for it.
const GIVE_UP_AFTER_MS: u64 = 30_000;

/// The ports, as a repair uses them.
#[derive(Clone)]
pub(crate) struct Source {
    pub ports: Ports,
    pub retrier: Retrier,
}

impl Source {
    pub fn new(ports: &Ports) -> Self {
        let retrier = Retrier::new(ports.clock.clone(), "repair").giving_up_after_ms(GIVE_UP_AFTER_MS);
        Self { ports: ports.clone(), retrier }
    }

    /// Offsets of the oldest record and of the next one.
    pub async fn bounds(&self, at: TopicPartition) -> Result<(Offset, Offset), RepairError> {
        let log = &self.ports.log;
        let end = self.retrier.run(|| log.end_offset(at)).await?;
        let start = self.retrier.run(|| log.start_offset(at)).await?;
        Ok((start.min(end), end))
    }

    /// The records of `next .. end` up to a page; none when nothing is left of them.
    pub async fn page(
        &self,
        at: TopicPartition,
        next: Offset,
        end: Offset,
    ) -> Result<Vec<Record>, RepairError> {
        if next >= end {
            return Ok(Vec::new());
        }
        let most = usize::try_from(end - next).unwrap_or(usize::MAX).min(PAGE_RECORDS);
        let mut page = self.retrier.run(|| self.ports.log.read(at, next, most)).await?;
        page.retain(|record| record.position.offset < end);
        Ok(page)
    }

    pub async fn append(&self, records: &[NewRecord]) -> Result<(), RepairError> {
        self.retrier.run(|| self.ports.log.append(records.to_vec())).await?;
        Ok(())
    }

    pub fn partitions(&self, topic: Topic) -> impl Iterator<Item = (Partition, TopicPartition)> + use<> {
        (0..self.ports.log.partitions(topic))
            .map(move |partition| (partition, TopicPartition { topic, partition }))
    }
}
