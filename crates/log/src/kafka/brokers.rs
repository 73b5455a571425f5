use super::append::Producer;
use super::metadata;
use super::options::KafkaLogOptions;
use crate::error::LogError;
use rdkafka::producer::Producer as _;

/// How many brokers the cluster has now.
///
/// # Errors
/// [`crate::LogErrorKind::Unavailable`] when none answers, with what the client says about it.
pub async fn count_brokers(options: &KafkaLogOptions) -> Result<usize, LogError> {
    // Of all clients only a producer hears at once why a connection fails: it has a thread that listens.
    let producer = Producer::new(options, options.producing)?;
    let options = options.clone();
    metadata::ask_blocking(move || {
        let found = metadata::all(producer.client().client(), &producer.words, &options)?;
        Ok(found.brokers().len())
    })
    .await
}
