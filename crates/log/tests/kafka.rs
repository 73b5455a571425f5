//! The conformance suite on a real Kafka: `scripts/services up kafka` starts one when none runs.
#![allow(clippy::expect_used, clippy::panic, reason = "a panic is how a test fails")]

mod cluster;

use async_trait::async_trait;
use cluster::{Cluster, delete_all};
use readmark_log::EventLog;
use readmark_log::conformance::{self, Cases, Subject};
use readmark_log::kafka::{KafkaLog, KafkaLogOptions};
use std::sync::Arc;
use std::time::Duration;

struct Kafka {
    options: KafkaLogOptions,
    log: KafkaLog,
}

impl Kafka {
    /// Topics of its own, and members of that kind.
    async fn subject(instance_id: Option<&str>) -> Box<dyn Subject> {
        let mut options = Cluster::shared().options();
        options.instance_id = instance_id.map(str::to_owned);
        // A static member that has gone for good is missed only after this.
        options.session_timeout = Duration::from_secs(3);
        cluster::create_all(&options, 4).await;
        let log = KafkaLog::open(options.clone()).await.expect("open");
        Box::new(Self { options, log })
    }
}

#[async_trait]
impl Subject for Kafka {
    fn log(&self) -> Arc<dyn EventLog> {
        Arc::new(self.log.clone())
    }

    async fn reopen(&mut self) {
        self.log = KafkaLog::open(self.options.clone()).await.expect("open");
    }
}

impl Drop for Kafka {
    fn drop(&mut self) {
        delete_all(self.options.clone());
    }
}

async fn run(group: &Cases) {
    conformance::run(group, || Kafka::subject(None)).await;
}

async fn run_static(group: &Cases) {
    conformance::run(group, || Kafka::subject(Some("conformance"))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn appending() {
    run(&conformance::APPENDING).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reading() {
    run(&conformance::READING).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn groups() {
    run(&conformance::GROUPS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rebalance() {
    run(&conformance::REBALANCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_of_static_members() {
    run_static(&conformance::GROUPS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rebalance_of_static_members() {
    run_static(&conformance::REBALANCE).await;
}
