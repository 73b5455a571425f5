//! How an operator's command reaches log and store: through the process that runs on the data directory, else it
//! opens the parts itself. Which of the two is said on stderr.

use crate::admin;
use crate::cli::Source;
use crate::config::Config;
use crate::exit::Failure;
use crate::parts::{Parts, is_embedded};
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
    // A directory that is named on the command line is meant, also where servers are configured.
    if is_embedded(config) || source.data_dir.is_some() {
        let socket = data_dir.join("admin.sock");
        if admin::is_served(&socket).await {
            eprintln!("source: the readmark running on {}", data_dir.display());
            return Ok(Reached::Running(socket));
        }
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
