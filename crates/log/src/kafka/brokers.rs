use super::metadata::Asker;
use super::options::KafkaLogOptions;
use crate::error::LogError;

/// How many brokers the cluster has now.
///
/// # Errors
/// [`crate::LogErrorKind::Unavailable`] when none answers, with what the client says about it.
pub async fn count_brokers(options: &KafkaLogOptions) -> Result<usize, LogError> {
    Asker::new(options)?.brokers(options).await
}
