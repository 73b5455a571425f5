use super::config;
use super::error::log_error;
use super::options::KafkaLogOptions;
use super::words::{Listening, Words};
use crate::error::{LogError, LogErrorKind};
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use std::sync::Arc;

/// How many brokers the cluster has now.
///
/// # Errors
/// [`LogErrorKind::Unavailable`] when none answers, with what the client says about it.
pub async fn count_brokers(options: &KafkaLogOptions) -> Result<usize, LogError> {
    let options = options.clone();
    let asked = tokio::task::spawn_blocking(move || {
        let words = Arc::new(Words::default());
        let client: BaseConsumer<Listening> = config::reader(&options)
            .create_with_context(Listening(Arc::clone(&words)))
            .map_err(|error| log_error("open a client", &error))?;
        let metadata = client.fetch_metadata(None, options.answer_within).map_err(|error| {
            let detail = format!("{}: {error}{}", options.brokers, words.suffix());
            LogError::new("count the brokers", LogErrorKind::Unavailable, detail)
        })?;
        Ok(metadata.brokers().len())
    });
    match asked.await {
        Ok(answer) => answer,
        Err(join) => Err(LogError::new("count the brokers", LogErrorKind::Unavailable, join)),
    }
}
