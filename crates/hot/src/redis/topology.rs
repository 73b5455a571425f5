//! Which slots of a cluster lie together on a node, so that their calls can travel together.

use redis::cluster_async::ClusterConnection;
use redis::cluster_routing::{RoutingInfo, SingleNodeRoutingInfo};
use redis::{RedisResult, Value};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Groups of slots whose node is not known begin here, one for each slot.
const UNKNOWN: u32 = 1 << 20;

/// Ranges of slots, each with the number of its node.
#[derive(Debug, Default)]
pub(super) struct Nodes(Vec<(u16, u16, u32)>);

impl Nodes {
    /// Slots of equal group lie on one node.
    pub fn group(&self, slot: u16) -> u32 {
        let range = self.0.iter().find(|(first, last, _)| (*first..=*last).contains(&slot));
        range.map_or(UNKNOWN + u32::from(slot), |(_, _, node)| *node)
    }

    /// How many nodes serve slots.
    pub fn count(&self) -> usize {
        self.0.iter().map(|(_, _, node)| node).collect::<BTreeSet<_>>().len()
    }

    /// What `CLUSTER SLOTS` answers: for each range first, last, and the master's address and port.
    fn read(value: &Value) -> Option<Self> {
        let Value::Array(ranges) = value else { return None };
        let mut masters = Vec::new();
        let mut all = Vec::with_capacity(ranges.len());
        for range in ranges {
            let Value::Array(range) = range else { return None };
            let [Value::Int(first), Value::Int(last), Value::Array(master), ..] = range.as_slice() else {
                return None;
            };
            let master = &master[..master.len().min(2)];
            let number = masters.iter().position(|known| *known == master).unwrap_or_else(|| {
                masters.push(master);
                masters.len() - 1
            });
            all.push((u16::try_from(*first).ok()?, u16::try_from(*last).ok()?, u32::try_from(number).ok()?));
        }
        Some(Self(all))
    }
}

/// What is known of a cluster. It may be wrong at any time: a call that went to the wrong node is sent again.
#[derive(Debug, Default)]
pub(super) struct Topology {
    nodes: Mutex<Arc<Nodes>>,
    is_known: AtomicBool,
}

impl Topology {
    /// What is known, asked for when it is stale. When that fails each slot is a group of its own.
    pub async fn nodes(&self, cluster: &ClusterConnection) -> Arc<Nodes> {
        if !self.is_known.swap(true, Ordering::AcqRel) {
            let nodes = Arc::new(ask(cluster).await.unwrap_or_default());
            *self.nodes.lock().unwrap_or_else(PoisonError::into_inner) = nodes;
        }
        Arc::clone(&self.nodes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Calls went to the wrong node, or found none.
    pub fn is_stale(&self) {
        self.is_known.store(false, Ordering::Release);
    }
}

/// Asks any node.
pub(super) async fn ask(cluster: &ClusterConnection) -> RedisResult<Nodes> {
    let mut command = redis::cmd("CLUSTER");
    command.arg("SLOTS");
    let anywhere = RoutingInfo::SingleNode(SingleNodeRoutingInfo::Random);
    let slots = cluster.clone().route_command(command, anywhere).await?;
    Ok(Nodes::read(&slots).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::{Nodes, UNKNOWN};
    use redis::Value;

    #[test]
    fn slots_of_one_master_are_one_group() {
        let range = |first, last, port| {
            let node =
                vec![Value::BulkString(b"h".to_vec()), Value::Int(port), Value::BulkString(b"id".to_vec())];
            Value::Array(vec![Value::Int(first), Value::Int(last), Value::Array(node)])
        };
        let nodes =
            Nodes::read(&Value::Array(vec![range(0, 9, 1), range(10, 19, 2), range(30, 39, 1)])).unwrap();
        assert_eq!(nodes.group(0), nodes.group(35));
        assert_ne!(nodes.group(0), nodes.group(10));
        assert_eq!(nodes.count(), 2);
        assert_eq!(nodes.group(20), UNKNOWN + 20);
        assert!(Nodes::read(&Value::Array(vec![Value::Nil])).is_none());
    }
}
