//! The outside parts of a process: the log and the store, embedded in a data directory or on servers.

mod embedded;
mod hot;
pub(crate) mod remedy;
mod secret;

use crate::config::{Config, LogKind, StoreKind};
use crate::exit::Failure;
use embedded::{EmbeddedStorePart, check_complete, keep_house, open_log, open_store};
use readmark_domain::time::TimeMs;
use readmark_embedded::DataDir;
use readmark_hot::HotState;
use readmark_log::EventLog;
use readmark_log::embedded::EmbeddedLog;
use readmark_log::kafka::{KafkaLog, Producing};
use readmark_runtime::clock::{Clock, SystemClock};
use readmark_runtime::ports::Ports;
use readmark_store::ReceiptStore;
use readmark_store::cql::CqlStore;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

pub(crate) use secret::own_secret;

/// The time, as adapters ask for it.
type Now = Arc<dyn Fn() -> TimeMs + Send + Sync>;

/// Log and store.
pub(crate) struct Parts {
    /// Held while a part lies in it.
    pub data_dir: Option<DataDir>,
    log: LogPart,
    store: StorePart,
    clock: SystemClock,
}

enum LogPart {
    Embedded(EmbeddedLog),
    Kafka(KafkaLog),
}

enum StorePart {
    Embedded(EmbeddedStorePart),
    Cql(Arc<CqlStore>),
}

impl Parts {
    /// Opens them; embedded ones are made where nothing is. `instance_id` is what this process is called in its
    /// groups where the configuration does not say; a command that joins none has none.
    pub async fn open(config: &Config, instance_id: Option<String>) -> Result<Self, Failure> {
        let clock = SystemClock::default();
        let now: Now = Arc::new(move || clock.now());
        let data_dir = match is_embedded(config) {
            true => Some(DataDir::open(&config.data_dir).map_err(Failure::failed)?),
            false => None,
        };
        let had_store = data_dir.as_ref().is_some_and(|dir| dir.store_file().exists());
        let log = match (config.log.kind, &data_dir) {
            (LogKind::Embedded, Some(dir)) => LogPart::Embedded(open_log(dir, config, now.clone()).await?),
            _ => {
                let instance_id = config.log.instance_id.clone().or(instance_id);
                let options = config.log.kafka(instance_id)?;
                LogPart::Kafka(KafkaLog::open(options).await.map_err(|error| remedy::log_failure(&error))?)
            }
        };
        let store = match (config.store.kind, &data_dir) {
            (StoreKind::Embedded, Some(dir)) => {
                if let LogPart::Embedded(log) = &log {
                    check_complete(dir, log, had_store).await?;
                }
                StorePart::Embedded(open_store(dir, config, now).await?)
            }
            _ => {
                let opened = CqlStore::open(&config.store.cql()?, now).await;
                let store = opened.map_err(|error| remedy::store_failure(config, &error))?;
                StorePart::Cql(Arc::new(store))
            }
        };
        Ok(Self { data_dir, log, store, clock })
    }

    /// As the roles see them.
    pub fn ports(&self) -> Ports {
        let log: Arc<dyn EventLog> = match &self.log {
            LogPart::Embedded(log) => Arc::new(log.clone()),
            LogPart::Kafka(log) => Arc::new(log.clone()),
        };
        let store: Arc<dyn ReceiptStore> = match &self.store {
            StorePart::Embedded(part) => Arc::new(part.store.clone()),
            StorePart::Cql(store) => store.clone(),
        };
        Ports { log, store, clock: Arc::new(self.clock) }
    }

    /// As the gateway sees them: somebody waits for every append.
    pub fn gateway_ports(&self) -> Result<Ports, Failure> {
        let ports = self.ports();
        match &self.log {
            LogPart::Embedded(_) => Ok(ports),
            LogPart::Kafka(log) => {
                let log = log.with_producing(Producing::GATEWAY).map_err(Failure::failed)?;
                Ok(Ports { log: Arc::new(log), ..ports })
            }
        }
    }

    /// The hot state, opened anew: in the process, or on its servers.
    pub async fn hot(&self, config: &Config) -> Result<Arc<dyn HotState>, Failure> {
        let clock = self.clock;
        hot::open_hot(config, Arc::new(move || clock.now())).await
    }

    /// Closes what is embedded; what was acknowledged is durable in any case.
    pub async fn close(self) -> Result<(), Failure> {
        let log = match self.log {
            LogPart::Embedded(log) => log.close().await.map_err(Failure::failed),
            LogPart::Kafka(_) => Ok(()),
        };
        let store = match self.store {
            StorePart::Embedded(part) => part.engine.close().await.map_err(Failure::failed),
            StorePart::Cql(_) => Ok(()),
        };
        log.and(store)
    }

    /// Takes away by the hour what is no longer kept, until `stop`; servers do it themselves.
    pub fn keep_house(
        &self,
        config: &Config,
        stop: CancellationToken,
    ) -> impl Future<Output = ()> + Send + use<> {
        let log = match &self.log {
            LogPart::Embedded(log) => Some(log.clone()),
            LogPart::Kafka(_) => None,
        };
        let store = match &self.store {
            StorePart::Embedded(part) => Some(part.store.clone()),
            StorePart::Cql(_) => None,
        };
        keep_house(log, store, config.rules().retention.keep_ms, self.clock, stop)
    }
}

/// Does a part lie in the data directory?
pub(crate) fn is_embedded(config: &Config) -> bool {
    config.log.kind == LogKind::Embedded || config.store.kind == StoreKind::Embedded
}
