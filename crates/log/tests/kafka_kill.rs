//! `kill -9` of the only broker in the middle of appends: nothing is lost, nothing doubled, nothing out of order.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a panic is how a test fails")]

mod cluster;

use cluster::traffic::Traffic;
use cluster::{Cluster, Kind, create_all};
use readmark_log::kafka::KafkaLog;
use std::sync::Arc;
use std::time::Instant;

const KILLS: usize = 2;
/// The first port of the cluster of this test.
const PORT: u16 = 19_500;

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_is_killed_loses_doubles_and_reorders_nothing() {
    let cluster = Arc::new(Cluster::own("kill", PORT, Kind::default()));
    let options = cluster.options();
    create_all(&options, 4).await;
    let traffic = Traffic::start(KafkaLog::open(options).await.unwrap()).await;
    for kill in 0..KILLS {
        traffic.goes_on("records before the kill", 200).await;
        let (cluster, killed) = (Arc::clone(&cluster), Instant::now());
        tokio::task::spawn_blocking(move || {
            cluster.kill(1);
            cluster.start();
        })
        .await
        .unwrap();
        traffic.goes_on("records after the restart", 50).await;
        println!("kill {kill}: everything goes on after {:?}", killed.elapsed());
    }
    traffic.ends_exactly().await;
}
