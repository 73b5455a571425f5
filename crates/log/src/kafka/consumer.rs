use super::handover::Handover;
use super::instance::Lease;
use super::member::Member;
use super::names::Names;
use super::options::KafkaLogOptions;
use crate::error::{LogError, LogErrorKind};
use crate::port::{Consumer, PolledEvent};
use crate::record::{Offset, TopicPartition};
use async_trait::async_trait;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// How long a member may take to leave: its last commit and the client's own farewell.
const CLOSE_WITHIN: Duration = Duration::from_secs(30);

/// The role's end of a member.
pub(super) struct KafkaConsumer {
    handover: Arc<Handover>,
    group: String,
    ended: oneshot::Receiver<()>,
}

impl KafkaConsumer {
    pub(super) fn join(
        options: &KafkaLogOptions,
        names: &Names,
        group: &str,
        partitions: BTreeSet<TopicPartition>,
        lease: Option<Lease>,
    ) -> Result<Self, LogError> {
        let handover = Arc::new(Handover::new());
        let member = Member::join(options, names, group, partitions, lease, &handover)?;
        let (ending, ended) = oneshot::channel();
        std::thread::Builder::new()
            .name("kafka-member".to_owned())
            .spawn(move || {
                member.run();
                // Nobody may be waiting.
                let _ = ending.send(());
            })
            .map_err(|error| LogError::new("join", LogErrorKind::Unavailable, error))?;
        Ok(Self { handover, group: group.to_owned(), ended })
    }
}

#[async_trait]
impl Consumer for KafkaConsumer {
    async fn next(&mut self, wait_ms: u64) -> Result<PolledEvent, LogError> {
        let idle_at = Instant::now() + Duration::from_millis(wait_ms);
        loop {
            if let Some(event) = self.handover.take() {
                return event;
            }
            tokio::select! {
                () = self.handover.changed() => {}
                () = tokio::time::sleep_until(idle_at) => return Ok(PolledEvent::Idle),
            }
        }
    }

    async fn commit(&mut self, positions: &[(TopicPartition, Offset)]) -> Result<(), LogError> {
        self.handover.store(positions)
    }

    async fn release(&mut self, partitions: &[TopicPartition]) -> Result<(), LogError> {
        self.handover.release(partitions);
        Ok(())
    }

    async fn pause(&mut self, partitions: &[TopicPartition]) -> Result<(), LogError> {
        self.handover.pause(partitions);
        Ok(())
    }

    async fn resume(&mut self, partitions: &[TopicPartition]) -> Result<(), LogError> {
        self.handover.resume(partitions);
        Ok(())
    }

    async fn close(mut self: Box<Self>) -> Result<(), LogError> {
        self.handover.close();
        match tokio::time::timeout(CLOSE_WITHIN, &mut self.ended).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => {
                let detail = format!("group {} has not answered within {CLOSE_WITHIN:?}", self.group);
                Err(LogError::new("leave", LogErrorKind::Unavailable, detail))
            }
        }
    }
}

impl Drop for KafkaConsumer {
    fn drop(&mut self) {
        // The thread ends by itself. What was not stored stays so.
        self.handover.close();
    }
}
