//! The conformance suite on the embedded log.
#![allow(clippy::expect_used, reason = "a panic is how a test fails")]

use async_trait::async_trait;
use readmark_log::EventLog;
use readmark_log::conformance::{self, Cases, Subject};
use readmark_log::embedded::{EmbeddedLog, EmbeddedLogOptions};
use std::sync::Arc;
use tempfile::TempDir;

struct Embedded {
    directory: TempDir,
    log: Option<EmbeddedLog>,
}

impl Embedded {
    async fn subject() -> Box<dyn Subject> {
        let mut subject = Self { directory: TempDir::new().expect("a directory"), log: None };
        subject.open().await;
        Box::new(subject)
    }

    async fn open(&mut self) {
        let path = self.directory.path().join("log.redb");
        self.log = Some(EmbeddedLog::open(path, EmbeddedLogOptions::default()).await.expect("open"));
    }
}

#[async_trait]
impl Subject for Embedded {
    fn log(&self) -> Arc<dyn EventLog> {
        Arc::new(self.log.clone().expect("it is open"))
    }

    async fn reopen(&mut self) {
        if let Some(log) = self.log.take() {
            log.close().await.expect("close");
        }
        self.open().await;
    }
}

async fn run(group: &Cases) {
    conformance::run(group, Embedded::subject).await;
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

#[tokio::test]
async fn appending_on_one_thread() {
    run(&conformance::APPENDING).await;
}

#[tokio::test]
async fn rebalance_on_one_thread() {
    run(&conformance::REBALANCE).await;
}
