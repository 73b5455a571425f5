//! What servers are like, for those who check an installation.

use super::connect::{Server, Target};
use super::options::RedisOptions;
use super::scan::masters;
use crate::error::HotError;

/// What is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundRedis {
    /// Is it a cluster?
    pub is_cluster: bool,
    /// The one server, or every master of the cluster.
    pub masters: Vec<FoundMaster>,
}

/// A server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundMaster {
    /// Where it is.
    pub address: String,
    /// It follows another one, and can't be written to.
    pub is_replica: bool,
    /// What it does when it is full: its `maxmemory-policy`.
    pub policy: String,
}

/// Looks at the servers; changes nothing.
///
/// # Errors
/// Refused when they let us not in or are too old, unavailable when they do not answer.
pub async fn look(options: &RedisOptions) -> Result<FoundRedis, HotError> {
    let target = Target::new(options)?;
    let server = Server::connect(&target).await?;
    let infos = masters(&server).await.map_err(|error| target.error(&error))?;
    let masters = infos.into_iter().map(|(node, info)| FoundMaster {
        address: if node.is_empty() { target.shown().to_owned() } else { node },
        is_replica: field(&info, "role") != Some("master"),
        policy: field(&info, "maxmemory_policy").unwrap_or("unknown").to_owned(),
    });
    Ok(FoundRedis { is_cluster: server.is_cluster(), masters: masters.collect() })
}

fn field<'i>(info: &'i str, name: &str) -> Option<&'i str> {
    info.lines().find_map(|line| line.trim_end().strip_prefix(name)?.strip_prefix(':'))
}
