//! How an operator's command reaches log and store: through the process that runs on the data directory, else it
//! opens the parts itself. Which of the two is said on stderr.

use crate::admin;
use crate::cli::Source;
use crate::config::{Config, LogKind};
use crate::exit::Failure;
use crate::parts::{Parts, is_embedded, remedy};
use readmark_log::kafka::KafkaLog;
use std::path::PathBuf;

/// What was reached.
pub(crate) enum Reached {
    /// A running process, by its socket.
    Running(PathBuf),
    /// The parts themselves.
    Parts(Box<Parts>),
}

/// Reaches them.
pub(crate) async fn reach(source: &Source, config: &Config) -> Result<Reached, Failure> {
    let data_dir = &config.data_dir;
    if let Some(socket) = running(source, config).await {
        eprintln!("source: the readmark running on {}", data_dir.display());
        return Ok(Reached::Running(socket));
    }
    if is_embedded(config) {
        if !data_dir.is_dir() {
            return Err(Failure::usage(format!("there is no data directory {}", data_dir.display())));
        }
        eprintln!("source: the files in {}, opened here", data_dir.display());
    } else {
        let (brokers, nodes) = (config.log.brokers.joined(), config.store.contact_points.joined());
        eprintln!("source: Kafka at {brokers}, keyspace {} at {nodes}", config.store.keyspace);
    }
    Ok(Reached::Parts(Box::new(Parts::open(config, None).await?)))
}

/// The log on Kafka, for what needs no store: it may be away. Nothing where the log is embedded, or a running process is
/// meant.
pub(crate) async fn reach_log_alone(source: &Source, config: &Config) -> Result<Option<KafkaLog>, Failure> {
    if config.log.kind == LogKind::Embedded || running(source, config).await.is_some() {
        return Ok(None);
    }
    eprintln!("source: Kafka at {}", config.log.brokers.joined());
    KafkaLog::open(config.log.kafka(None)?).await.map(Some).map_err(|error| remedy::log_failure(&error))
}

/// The socket of the process that runs on the data directory. A directory that is named on the command line is meant,
/// also where servers are configured.
async fn running(source: &Source, config: &Config) -> Option<PathBuf> {
    let may_run = is_embedded(config) || source.data_dir.is_some();
    let socket = config.data_dir.join("admin.sock");
    (may_run && admin::is_served(&socket).await).then_some(socket)
}
