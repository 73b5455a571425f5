//! L3: the answer of a script that took effect is lost.

use super::PREFIX;
use super::{head, open, rebuilt, told, uid};
use async_trait::async_trait;
use readmark_hot::HotState;
use readmark_hot::conformance::{DIFFERENTIAL_OPERATIONS, DIFFERENTIAL_SEEDS, Loss, Subject, differential};
use readmark_hot::redis::RedisHot;
use readmark_test_services::redis::Proxy;
use readmark_test_services::redis::Server;
use std::sync::Arc;
use std::time::Duration;

struct BehindAProxy {
    server: Server,
    proxy: Proxy,
    hot: Arc<RedisHot>,
}

impl BehindAProxy {
    async fn start() -> Self {
        let server = Server::start().await;
        let proxy = Proxy::start(server.address()).await;
        let hot = Arc::new(open(&proxy.url()).await.expect("open"));
        Self { server, proxy, hot }
    }
}

#[async_trait]
impl Subject for BehindAProxy {
    fn hot(&self) -> Arc<dyn HotState> {
        self.hot.clone()
    }

    async fn lose(&mut self, loss: Loss) {
        match loss {
            Loss::Scripts => self.server.ask(&["SCRIPT", "FLUSH"]).await,
            Loss::States => self.server.ask(&["FLUSHALL"]).await,
            Loss::Restart => {
                self.server.kill();
                self.server.start_again().await;
            }
        }
    }

    async fn pass_ms(&self, _: u64) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }

    fn lose_next_answer(&self) -> bool {
        self.proxy.lose_next();
        true
    }
}

/// Same state, same version: the adapter repeats by itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_is_asked_for_again() {
    let s = BehindAProxy::start().await;
    let token = rebuilt(&*s.hot, uid(1), 1).await;
    for n in 2..30 {
        let before = s.proxy.lost();
        s.proxy.lose_next();
        let applied = s.hot.apply(&[told(uid(1), head(n))]).await.remove(0).expect("apply").expect("a state");
        assert_eq!(s.proxy.lost() - before, 1, "the answer was lost");
        assert_eq!((applied.version.get(), applied.appended), (n - 1, 0), "it had taken effect");
    }
    let held = s.hot.entries(uid(1), &token, 100).await.expect("entries");
    let Some(readmark_domain::hot::Synced::Entries { entries, more: false, .. }) = held.complete() else {
        panic!("none")
    };
    assert_eq!(entries.len(), 28);
    let keys: Vec<String> = s.server.ask(&["KEYS", "*"]).await;
    assert!(keys.iter().all(|key| key.starts_with(&format!("{PREFIX}:{{1}}:"))), "{keys:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn differential_with_lost_answers() {
    for seed in DIFFERENTIAL_SEEDS.take(6) {
        differential(Box::new(BehindAProxy::start().await), seed + 1_000, DIFFERENTIAL_OPERATIONS).await;
    }
}
