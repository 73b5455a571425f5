//! What a keyspace and its server are like, for those who check an installation.

use super::{Key, Schema, VERSION, first_cell};
use crate::cql::config::Dialect;
use crate::cql::error::At;
use crate::error::StoreError;
use readmark_domain::time::TimeMs;
use scylla::value::CqlTimestamp;
use std::collections::BTreeMap;

/// What is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundKeyspace {
    /// How often each data centre, or the whole cluster, keeps a row; nothing where there is no keyspace.
    pub replication: Option<BTreeMap<String, u16>>,
    /// The version of its tables; nothing where there are none.
    pub version: Option<i32>,
    /// The version that this program needs.
    pub needed: i32,
}

impl Schema {
    /// The kind of server.
    #[must_use]
    pub const fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// How many nodes each data centre has.
    #[must_use]
    pub fn nodes(&self) -> BTreeMap<String, usize> {
        let mut nodes = BTreeMap::new();
        for node in self.session.get_cluster_state().get_nodes_info() {
            *nodes.entry(node.datacenter.clone().unwrap_or_default()).or_default() += 1;
        }
        nodes
    }

    /// Looks at the keyspace; changes nothing.
    ///
    /// # Errors
    /// As reads do.
    pub async fn look(&self) -> Result<FoundKeyspace, StoreError> {
        let keyspace = &self.config.keyspace;
        let at = At::new("look up the keyspace", "system_schema.keyspaces", Key::Keyspace(keyspace));
        let text = "SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = ?";
        let replication: Option<BTreeMap<String, String>> =
            first_cell(&self.session, at, text.to_owned(), (keyspace,)).await?;
        // The strategy has a name; everything else is a number of copies.
        let replication = replication.map(|options| {
            options.into_iter().filter_map(|(name, value)| Some((name, value.parse().ok()?))).collect()
        });
        Ok(FoundKeyspace { replication, version: self.version().await?, needed: VERSION })
    }

    /// The time by the clock of a node.
    ///
    /// # Errors
    /// As reads do.
    pub async fn server_time(&self) -> Result<TimeMs, StoreError> {
        let at = At::new("ask for the time", "system.local", Key::Keyspace(&self.config.keyspace));
        let text = "SELECT toTimestamp(now()) FROM system.local";
        let time: Option<CqlTimestamp> = first_cell(&self.session, at, text.to_owned(), ()).await?;
        let ms = time.and_then(|time| u64::try_from(time.0).ok());
        ms.map(TimeMs::saturating).ok_or_else(|| at.corrupt("the node tells no time"))
    }
}
