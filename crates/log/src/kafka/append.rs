use super::config;
use super::error::{code_of, kind_of, log_error};
use super::names::{Names, number};
use super::options::{
    APPENDING_BYTES_MAX, KafkaLogOptions, Producing, RECORD_BYTES_MAX, RECORD_OVERHEAD_BYTES,
};
use super::rights;
use super::words::Words;
use crate::error::{LogError, LogErrorKind};
use crate::record::{NewRecord, Position, TopicPartition};
use rdkafka::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{DeliveryResult, Header, Message, OwnedHeaders};
use rdkafka::producer::{BaseRecord, Producer as _, ProducerContext, ThreadedProducer};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// How often a full queue is tried again before the append fails: with [`FULL_PAUSE`], for about 5 s.
const FULL_ATTEMPTS: u32 = 500;
const FULL_PAUSE: Duration = Duration::from_millis(10);

/// One append on its way.
struct Append {
    left: usize,
    positions: Vec<Option<Position>>,
    error: Option<LogError>,
    done: Option<oneshot::Sender<Result<Vec<Position>, LogError>>>,
    /// Given back when the last record has been reported, also when nobody waits for it any more.
    permit: Option<OwnedSemaphorePermit>,
}

/// One record of it, as the client carries it along.
pub(super) struct Delivery {
    append: Arc<Mutex<Append>>,
    index: usize,
    partition: TopicPartition,
}

impl Delivery {
    fn report(&self, outcome: Result<i64, LogError>) {
        let mut append = lock(&self.append);
        match outcome {
            Ok(offset) => {
                let offset = u64::try_from(offset).unwrap_or_default();
                if let Some(position) = append.positions.get_mut(self.index) {
                    *position = Some(Position { partition: self.partition, offset });
                }
            }
            // One that can't be helped says more than one that will pass.
            Err(error) if append.error.as_ref().is_none_or(LogError::is_retryable) => {
                append.error = Some(error);
            }
            Err(_) => {}
        }
        append.left = append.left.saturating_sub(1);
        if append.left > 0 {
            return;
        }
        append.permit = None;
        let outcome = match append.error.take() {
            Some(error) => Err(error),
            None => Ok(append.positions.iter().flatten().copied().collect()),
        };
        if let Some(done) = append.done.take() {
            // Who asked may have gone.
            let _ = done.send(outcome);
        }
    }
}

fn lock(append: &Mutex<Append>) -> MutexGuard<'_, Append> {
    append.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) struct Deliveries {
    words: Arc<Words>,
}

impl ClientContext for Deliveries {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, line: &str) {
        self.words.log(level, facility, line);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.words.error(&error, reason);
    }
}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = Box<Delivery>;

    fn delivery(&self, result: &DeliveryResult<'_>, delivery: Box<Delivery>) {
        match result {
            Ok(message) => delivery.report(Ok(message.offset())),
            Err((error, message)) => {
                let mut failed = failed(error, delivery.partition, message.topic());
                if failed.is_retryable() {
                    failed.detail.push_str(&self.words.suffix());
                }
                delivery.report(Err(failed));
            }
        }
    }
}

fn failed(error: &KafkaError, partition: TopicPartition, name: &str) -> LogError {
    let failed = log_error("append", error).at_partition(partition);
    rights::explained(failed, code_of(error), || rights::on_topic("Write", name))
}

pub(super) type Client = ThreadedProducer<Deliveries>;

/// The idempotent producer of a log.
pub(super) struct Producer {
    options: KafkaLogOptions,
    producing: Producing,
    pub(super) words: Arc<Words>,
    client: Mutex<Arc<Client>>,
    appending_bytes: Arc<Semaphore>,
}

impl Producer {
    pub(super) fn new(options: &KafkaLogOptions, producing: Producing) -> Result<Self, LogError> {
        let words = Arc::new(Words::default());
        let client = connect(options, producing, &words)?;
        Ok(Self {
            options: options.clone(),
            producing,
            words,
            client: Mutex::new(Arc::new(client)),
            appending_bytes: Arc::new(Semaphore::new(APPENDING_BYTES_MAX)),
        })
    }

    pub(super) fn client(&self) -> Arc<Client> {
        Arc::clone(&self.client.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A producer with a fatal error (it can't keep its promises any more) never sends again: another takes over. Gives
    /// that error; it is told of an append to `name`.
    fn replace_failed(&self, failed: &Arc<Client>, name: &str) -> Result<Option<LogError>, LogError> {
        let Some((code, reason)) = failed.client().fatal_error() else { return Ok(None) };
        let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&client, failed) {
            tracing::warn!(reason, "the kafka producer failed for good, a new one takes over");
            *client = Arc::new(connect(&self.options, self.producing, &self.words)?);
        }
        let error = LogError::new("append", kind_of(code), reason);
        let needs = || format!("{} (or IdempotentWrite on the cluster)", rights::on_topic("Write", name));
        Ok(Some(rights::explained(error, Some(code), needs)))
    }

    /// The client in use, or another one where that has failed for good since its last append.
    fn working_client(&self, name: &str) -> Result<Arc<Client>, LogError> {
        let client = self.client();
        let failed = self.replace_failed(&client, name)?;
        Ok(if failed.is_none() { client } else { self.client() })
    }

    /// Sends all, or none when one is too large; resolves when all are acknowledged.
    pub(super) async fn append(
        &self,
        names: &Names,
        placed: Vec<(TopicPartition, NewRecord)>,
    ) -> Result<Vec<Position>, LogError> {
        let Some((first, _)) = placed.first() else { return Ok(Vec::new()) };
        let first = *first;
        let mut bytes = 0;
        for (partition, record) in &placed {
            let size = size(record);
            if size > RECORD_BYTES_MAX {
                let detail = format!("a record of {size} bytes; at most {RECORD_BYTES_MAX}");
                return Err(LogError::new("append", LogErrorKind::Refused, detail).at_partition(*partition));
            }
            bytes += size + RECORD_OVERHEAD_BYTES;
        }
        let permits = u32::try_from(bytes.min(APPENDING_BYTES_MAX)).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.appending_bytes)
            .acquire_many_owned(permits)
            .await
            .map_err(|closed| LogError::new("append", LogErrorKind::Unavailable, closed))?;
        let (done, outcome) = oneshot::channel();
        let append = Arc::new(Mutex::new(Append {
            left: placed.len(),
            positions: vec![None; placed.len()],
            error: None,
            done: Some(done),
            permit: Some(permit),
        }));
        // One client for all of them: their order is its promise.
        let client = self.working_client(names.of(first.topic))?;
        let mut placed = placed.into_iter().enumerate();
        while let Some((index, (partition, record))) = placed.next() {
            let delivery = Box::new(Delivery { append: Arc::clone(&append), index, partition });
            let Err((error, delivery)) = send(&client, names, &record, delivery).await else { continue };
            // What follows must not overtake it.
            let error = failed(&error, partition, names.of(partition.topic));
            for (index, (partition, _)) in placed.by_ref() {
                let unsent = Delivery { append: Arc::clone(&append), index, partition };
                unsent.report(Err(LogError { at: error.at.clone(), detail: error.detail.clone(), ..error }));
            }
            delivery.report(Err(error));
        }
        let outcome = outcome.await.map_err(|_| {
            let detail = "the producer has gone before it was acknowledged";
            LogError::new("append", LogErrorKind::Unavailable, detail)
        })?;
        match outcome {
            Ok(positions) => Ok(positions),
            Err(error) => {
                let fatal = self.replace_failed(&client, names.of(first.topic))?;
                Err(fatal.map_or(error, |fatal| fatal.at_partition(first)))
            }
        }
    }
}

fn connect(options: &KafkaLogOptions, producing: Producing, words: &Arc<Words>) -> Result<Client, LogError> {
    config::producer(options, producing)
        .create_with_context(Deliveries { words: Arc::clone(words) })
        .map_err(|error| log_error("open a producer", &error))
}

fn size(record: &NewRecord) -> usize {
    let headers: usize = record.headers.iter().map(|(name, value)| name.len() + value.len() + 16).sum();
    record.key.len() + record.payload.len() + headers
}

fn headers_of(record: &NewRecord) -> Option<OwnedHeaders> {
    (!record.headers.is_empty()).then(|| {
        record
            .headers
            .iter()
            .fold(OwnedHeaders::new_with_capacity(record.headers.len()), |headers, (name, value)| {
                headers.insert(Header { key: name, value: Some(value) })
            })
    })
}

/// Puts a record into the client's queue; waits, within bounds, while that is full.
async fn send(
    client: &Client,
    names: &Names,
    record: &NewRecord,
    mut delivery: Box<Delivery>,
) -> Result<(), (KafkaError, Box<Delivery>)> {
    let mut attempt = 0;
    loop {
        let partition = number(delivery.partition.partition);
        let message = BaseRecord {
            topic: names.of(record.topic),
            partition: Some(partition),
            payload: Some(record.payload.as_ref()),
            key: Some(record.key.as_ref()),
            timestamp: None,
            headers: headers_of(record),
            delivery_opaque: delivery,
        };
        let (error, unsent) = match client.send::<[u8], [u8]>(message) {
            Ok(()) => return Ok(()),
            Err((error, unsent)) => (error, unsent.delivery_opaque),
        };
        let is_full = error.rdkafka_error_code() == Some(RDKafkaErrorCode::QueueFull);
        if !is_full || attempt >= FULL_ATTEMPTS {
            return Err((error, unsent));
        }
        attempt += 1;
        delivery = unsent;
        tokio::time::sleep(FULL_PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use readmark_events::Topic;

    /// Only the client's own bound is lower here than what the adapter lets through.
    #[tokio::test]
    async fn a_full_queue_is_waited_for_within_a_bound() {
        let options = KafkaLogOptions::new("127.0.0.1:1", "full");
        let words = Arc::new(Words::default());
        let client: Client = config::producer(&options, Producing::PIPELINE)
            .set("queue.buffering.max.messages", "2")
            .create_with_context(Deliveries { words: Arc::clone(&words) })
            .unwrap();
        let producer = Producer::new(&options, Producing::PIPELINE).unwrap();
        *producer.client.lock().unwrap() = Arc::new(client);
        let record =
            NewRecord { topic: Topic::Acks, key: Bytes::new(), payload: Bytes::new(), headers: Vec::new() };
        let partition = TopicPartition { topic: Topic::Acks, partition: 0 };
        let names = Names::new("full");
        let first = producer.append(&names, vec![(partition, record.clone()); 2]);
        let second = producer.append(&names, vec![(partition, record); 3]);
        // Nobody ever takes the first two.
        let error = tokio::select! {
            biased;
            done = first => panic!("{done:?}"),
            done = second => done.unwrap_err(),
        };
        assert_eq!(error.kind, LogErrorKind::Unavailable, "{error}");
        assert!(error.to_string().contains("QueueFull"), "{error}");
        assert_eq!(
            producer.appending_bytes.available_permits(),
            APPENDING_BYTES_MAX - 2 * RECORD_OVERHEAD_BYTES
        );
    }
}
