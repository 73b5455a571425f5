use super::config;
use super::error::{code_of, log_error};
use super::inspect::Client;
use super::names::{Names, number, record_bytes};
use super::options::{KafkaLogOptions, POLL_BYTES_MAX};
use super::rights;
use super::words::{Listening, Words};
use crate::error::{LogError, LogErrorKind};
use crate::record::{Offset, Record, TopicPartition};
use rdkafka::consumer::Consumer as _;
use rdkafka::error::KafkaError;
use rdkafka::{Offset as KafkaOffset, TopicPartitionList};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Idle clients that are kept for the next read; more reads at the same time make more for themselves.
const IDLE_READERS_MAX: usize = 4;

/// How long one poll waits.
const POLL_STEP: Duration = Duration::from_millis(100);

/// Reads partitions outside any group, each read by a client of its own.
pub(super) struct Readers {
    options: KafkaLogOptions,
    names: Names,
    words: Arc<Words>,
    idle: Mutex<Vec<Client>>,
}

impl Readers {
    pub(super) fn new(options: &KafkaLogOptions, names: &Names) -> Self {
        Self {
            options: options.clone(),
            names: names.clone(),
            words: Arc::new(Words::default()),
            idle: Mutex::default(),
        }
    }

    /// Blocking. Up to `max_records` of the offsets in `from..end`, all of which had been written.
    pub(super) fn read(
        &self,
        partition: TopicPartition,
        from: Offset,
        end: Offset,
        max_records: usize,
    ) -> Result<Vec<Record>, LogError> {
        let reader = match self.idle().pop() {
            Some(reader) => reader,
            None => config::reader(&self.options)
                .create_with_context(Listening(Arc::clone(&self.words)))
                .map_err(|error| log_error("open a reader", &error))?,
        };
        let records = self.read_with(&reader, partition, from, end, max_records);
        // A client that failed may be in any state: it is let go.
        if records.is_ok() && reader.unassign().is_ok() {
            let mut idle = self.idle();
            if idle.len() < IDLE_READERS_MAX {
                idle.push(reader);
            }
        }
        records.map_err(|error| error.at_partition(partition))
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Client>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_with(
        &self,
        reader: &Client,
        partition: TopicPartition,
        from: Offset,
        end: Offset,
        max_records: usize,
    ) -> Result<Vec<Record>, LogError> {
        let mut list = TopicPartitionList::new();
        let name = self.names.of(partition.topic);
        list.add_partition_offset(
            name,
            number(partition.partition),
            KafkaOffset::Offset(super::names::raw(from)),
        )
        .and_then(|()| reader.assign(&list))
        .map_err(|error| log_error("read", &error))?;
        let deadline = Instant::now() + self.options.answer_within;
        let mut records: Vec<Record> = Vec::new();
        let mut bytes = 0;
        while records.len() < max_records && bytes < POLL_BYTES_MAX {
            match reader.poll(POLL_STEP) {
                Some(Ok(message)) => {
                    if let Some(record) = self.names.record(&message) {
                        let offset = record.position.offset;
                        if record.position.partition != partition || offset < from {
                            continue;
                        }
                        bytes += record_bytes(&record);
                        records.push(record);
                        if offset + 1 >= end {
                            break;
                        }
                    }
                }
                Some(Err(KafkaError::PartitionEOF(_))) => break,
                Some(Err(error)) => {
                    let failed = log_error("read", &error);
                    let failed =
                        rights::explained(failed, code_of(&error), || rights::on_topic("Read", name));
                    if !failed.is_retryable() {
                        return Err(failed);
                    }
                    self.words.note(&error.to_string());
                }
                None => {}
            }
            if Instant::now() >= deadline {
                if !records.is_empty() {
                    break;
                }
                let detail = format!("nothing came{}", self.words.suffix());
                return Err(LogError::new("read", LogErrorKind::Unavailable, detail));
            }
        }
        Ok(records)
    }
}
