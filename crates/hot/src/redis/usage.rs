//! How much there is: bytes as the servers say, users by walking, some steps at each call.

use super::connect::Server;
use super::keys::Keys;
use super::scan::{Cursor, masters, step};
use crate::error::{HotError, HotErrorKind};
use crate::port::Usage;
use redis::RedisResult;
use std::collections::BTreeMap;
use tokio::sync::Mutex;

/// Steps of one call on each node: a million users are counted in 25 calls or so, and a call stays short.
const STEPS_MAX: usize = 200;

/// A walk over one node.
#[derive(Debug, Default)]
struct Walk {
    cursor: Cursor,
    counted: u64,
    /// What the last whole walk counted.
    last: Option<u64>,
}

/// The walks over all nodes.
#[derive(Debug, Default)]
pub(super) struct Walks(Mutex<BTreeMap<String, Walk>>);

impl Walks {
    /// Goes on counting.
    pub async fn usage(&self, server: &Server, keys: &Keys) -> RedisResult<Usage> {
        let mut walks = self.0.lock().await;
        let mut usage = Usage::default();
        let masters = masters(server).await?;
        walks.retain(|node, _| masters.contains_key(node));
        for (node, info) in masters {
            usage.memory_bytes += field(&info, "used_memory").unwrap_or(0);
            let walk = walks.entry(node.clone()).or_default();
            for _ in 0..STEPS_MAX {
                let (found, next) = step(server, &node, keys, walk.cursor).await?;
                walk.counted += found.len() as u64;
                walk.cursor = next.unwrap_or_default();
                if next.is_none() {
                    walk.last = Some(std::mem::take(&mut walk.counted));
                    break;
                }
            }
            usage.users += walk.last.unwrap_or(walk.counted);
        }
        Ok(usage)
    }
}

/// Does every master say that it is one?
pub(super) fn check_masters(masters: &BTreeMap<String, String>) -> Result<(), HotError> {
    for (node, info) in masters {
        if !info.contains("role:master") {
            let detail = "the server is a replica, which can't be written to";
            return Err(HotError::new("probe", node, HotErrorKind::Unavailable, detail));
        }
    }
    Ok(())
}

fn field(info: &str, name: &str) -> Option<u64> {
    info.lines().find_map(|line| line.trim_end().strip_prefix(name)?.strip_prefix(':')?.parse().ok())
}
