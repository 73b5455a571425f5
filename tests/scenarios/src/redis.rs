//! A scenario's own Redis, to which things happen.

use crate::DEADLINE;
use crate::format::RedisEvent;
use crate::world::World;
use readmark_test_harness::{Process, wait_until};
use readmark_test_services::redis::{Proxy, Server};
use tokio::sync::Mutex;

/// A server behind a proxy, through which readmark goes.
pub struct Redis {
    proxy: Proxy,
    servers: Mutex<Servers>,
}

struct Servers {
    master: Server,
    /// Takes over, where the scenario lets it.
    replica: Option<Server>,
}

impl Redis {
    /// Starts one that writes nothing down, with a replica where that is wanted.
    pub async fn start(is_replicated: bool) -> Self {
        let master = Server::start_with(&["--appendonly", "no"]).await;
        let replica = if is_replicated { Some(replica_of(&master).await) } else { None };
        let proxy = Proxy::start(master.address()).await;
        Self { proxy, servers: Mutex::new(Servers { master, replica }) }
    }

    /// For a client.
    pub fn url(&self) -> String {
        self.proxy.url()
    }

    /// Lets something happen.
    pub async fn does(&self, event: RedisEvent, world: &World) {
        let mut servers = self.servers.lock().await;
        let Servers { master, replica } = &mut *servers;
        match event {
            RedisEvent::Empty => master.ask::<()>(&["FLUSHALL"]).await,
            RedisEvent::Cut => self.proxy.cut(),
            RedisEvent::CutOnce => self.proxy.cut_once(),
            // It may still be asked to stop this.
            RedisEvent::Fail => master.ask::<()>(&["ACL", "SETUSER", "default", "-@all", "+acl"]).await,
            RedisEvent::Heal => {
                master.ask::<()>(&["ACL", "SETUSER", "default", "+@all"]).await;
                self.proxy.heal();
                is_ready(world).await;
            }
            RedisEvent::Noticed => is_missed(world).await,
            RedisEvent::ForgetScripts => master.ask::<()>(&["SCRIPT", "FLUSH"]).await,
            RedisEvent::LoseAnswer => self.proxy.lose_next(),
            RedisEvent::Restart => {
                master.kill();
                master.start_again().await;
                is_ready(world).await;
            }
            RedisEvent::CutReplica => {
                let replica = replica.as_ref().expect("there is a replica");
                replica.catches_up_with(master).await;
                // An address where nobody is.
                replica.ask::<()>(&["REPLICAOF", "127.0.0.1", "1"]).await;
            }
            RedisEvent::FailOver => {
                // What was the master ends here.
                *master = replica.take().expect("there is a replica");
                master.ask::<()>(&["REPLICAOF", "NO", "ONE"]).await;
                self.proxy.lead_to(master.address());
                is_ready(world).await;
            }
        }
    }
}

async fn replica_of(master: &Server) -> Server {
    let replica = Server::start_with(&["--appendonly", "no"]).await;
    replica.ask::<()>(&["REPLICAOF", "127.0.0.1", &master.port.to_string()]).await;
    wait_until(DEADLINE, "a replica to follow", || async {
        let state: String = replica.ask(&["INFO", "replication"]).await;
        if state.contains("master_link_status:up") { Ok(()) } else { Err(state) }
    })
    .await;
    replica
}

async fn is_ready(world: &World) {
    futures::future::join_all(world.server.processes().iter().map(Process::ready)).await;
}

async fn is_missed(world: &World) {
    let processes = world.server.processes();
    wait_until(DEADLINE, "Redis to be missed", || async {
        let missing = processes[0].missing().await;
        if missing.iter().any(|part| part == "hot") { Ok(()) } else { Err(format!("missing: {missing:?}")) }
    })
    .await;
}
