//! The conformance suite on the adapter in the process.

use async_trait::async_trait;
use readmark_domain::time::TimeMs;
use readmark_hot::HotState;
use readmark_hot::conformance::{self, Group, Loss, Subject};
use readmark_hot::memory::MemoryHot;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

struct Memory {
    hot: Arc<MemoryHot>,
    now_ms: Arc<AtomicU64>,
}

#[async_trait]
impl Subject for Memory {
    fn hot(&self) -> Arc<dyn HotState> {
        self.hot.clone()
    }

    async fn lose(&mut self, loss: Loss) {
        match loss {
            Loss::Scripts => {}
            Loss::States | Loss::Restart => self.hot.flush(),
        }
    }

    async fn pass_ms(&self, ms: u64) {
        self.now_ms.fetch_add(ms, Ordering::SeqCst);
    }
}

async fn subject() -> Box<dyn Subject> {
    let now_ms = Arc::new(AtomicU64::new(1_700_000_000_000));
    let clock = Arc::clone(&now_ms);
    let now = Arc::new(move || TimeMs::saturating(clock.load(Ordering::SeqCst)));
    Box::new(Memory { hot: Arc::new(MemoryHot::with_random_epochs(now)), now_ms })
}

async fn run(group: &Group) {
    conformance::run(group, subject).await;
}

readmark_hot::hot_state_conformance!(run);

#[tokio::test(flavor = "multi_thread")]
async fn differential() {
    conformance::run_differential(subject).await;
}

#[tokio::test]
async fn a_state_ends_with_its_time() {
    let subject = subject().await;
    let uid = readmark_domain::id::Uid::new(1).unwrap();
    let hot = subject.hot();
    let readmark_hot::Begun::Rebuild(epoch) = hot.begin_rebuild(uid).await.unwrap() else {
        panic!("no rebuild")
    };
    hot.complete_rebuild(uid, &epoch).await.unwrap();
    subject.pass_ms(readmark_hot::KEPT_MS - 1).await;
    assert!(hot.picture(uid, None).await.unwrap().complete().is_some());
    subject.pass_ms(1).await;
    assert_eq!(hot.picture(uid, None).await.unwrap(), readmark_hot::Held::Missing);
    assert!(matches!(hot.begin_rebuild(uid).await.unwrap(), readmark_hot::Begun::Rebuild(_)));
}
