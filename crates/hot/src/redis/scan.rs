//! Walks over the users there are, by the names of keys: a walk sees everybody who is there from its beginning to its
//! end.

use super::connect::Server;
use super::keys::Keys;
use super::topology;
use readmark_domain::id::Uid;
use redis::cluster_routing::{MultipleNodeRoutingInfo, RoutingInfo, SingleNodeRoutingInfo};
use redis::{Cmd, ErrorKind, RedisResult, Value};
use std::collections::BTreeMap;

/// Names that a server looks at in one step: well below a millisecond, in which it does nothing else.
const SCAN_COUNT: usize = 1_000;

/// What every master says of itself (sections memory and replication), by address; an error when one is away.
pub(super) async fn masters(server: &Server) -> RedisResult<BTreeMap<String, String>> {
    let mut command = redis::cmd("INFO");
    command.arg("memory").arg("replication");
    match server {
        Server::One(_) => {
            let info: String = redis::from_redis_value(server.command(&command).await?)?;
            Ok(BTreeMap::from([(String::new(), info)]))
        }
        Server::Cluster(cluster) => {
            let all = RoutingInfo::MultiNode((MultipleNodeRoutingInfo::AllMasters, None));
            let answers = cluster.clone().route_command(command, all).await?.extract_error()?;
            let masters: BTreeMap<String, String> = redis::from_redis_value(answers)?;
            // The client leaves out those it has no connection to.
            let wanted = topology::ask(cluster).await?.count();
            if masters.len() < wanted {
                let away = format!("{} of {wanted} masters answer", masters.len());
                return Err((ErrorKind::ClusterConnectionNotFound, "some nodes are away", away).into());
            }
            Ok(masters)
        }
    }
}

/// A walk over one node, begun or not.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cursor(u64);

/// One step: the users found, and where to go on, unless this was the last one. A user may be found twice.
pub(super) async fn step(
    server: &Server,
    node: &str,
    keys: &Keys,
    Cursor(at): Cursor,
) -> RedisResult<(Vec<Uid>, Option<Cursor>)> {
    let mut command = redis::cmd("SCAN");
    command.arg(at).arg("MATCH").arg(keys.user_pattern()).arg("COUNT").arg(SCAN_COUNT);
    let (next, names): (u64, Vec<Vec<u8>>) = redis::from_redis_value(on_node(server, node, command).await?)?;
    let uids = names.iter().filter_map(|name| keys.uid_of_user(name)).collect();
    Ok((uids, (next != 0).then_some(Cursor(next))))
}

async fn on_node(server: &Server, node: &str, command: Cmd) -> RedisResult<Value> {
    let (Server::Cluster(cluster), Some((host, port))) = (server, node.rsplit_once(':')) else {
        return server.command(&command).await;
    };
    let route =
        SingleNodeRoutingInfo::ByAddress { host: host.to_owned(), port: port.parse().unwrap_or_default() };
    cluster.clone().route_command(command, RoutingInfo::SingleNode(route)).await?.extract_error()
}
