//! The conformance suite on one server that writes everything down, so that it has its keys again after a restart.

use super::{PREFIX, SHORT_LEASE_MS};
use async_trait::async_trait;
use readmark_hot::HotState;
use readmark_hot::conformance::{self, Group, Loss, Subject};
use readmark_hot::redis::{RedisHot, RedisOptions};
use readmark_test_services::redis::Server;
use std::sync::Arc;
use std::time::Duration;

struct OneServer {
    server: Server,
    hot: Arc<RedisHot>,
}

#[async_trait]
impl Subject for OneServer {
    fn hot(&self) -> Arc<dyn HotState> {
        self.hot.clone()
    }

    async fn lose(&mut self, loss: Loss) {
        match loss {
            Loss::Scripts => self.server.ask(&["SCRIPT", "FLUSH"]).await,
            Loss::States => self.server.ask(&["FLUSHALL"]).await,
            Loss::Restart => {
                let keys: u64 = self.server.ask(&["DBSIZE"]).await;
                self.server.kill();
                self.server.start_again().await;
                assert_eq!(self.server.ask::<u64>(&["DBSIZE"]).await, keys, "the keys are there again");
            }
        }
    }

    async fn pass_ms(&self, _: u64) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }

    async fn shorten_lease(&mut self) {
        let options = RedisOptions {
            rebuild_lease_ms: SHORT_LEASE_MS,
            ..RedisOptions::new(&self.server.url(), PREFIX)
        };
        self.hot = Arc::new(RedisHot::open(&options).await.expect("open"));
    }
}

async fn subject() -> Box<dyn Subject> {
    let server = Server::start().await;
    let hot = Arc::new(super::open(&server.url()).await.expect("open"));
    Box::new(OneServer { server, hot })
}

async fn run(group: &Group) {
    conformance::run(group, subject).await;
}

readmark_hot::hot_state_conformance!(run);

#[tokio::test(flavor = "multi_thread")]
async fn differential() {
    conformance::run_differential(subject).await;
}
