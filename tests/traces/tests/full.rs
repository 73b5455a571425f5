//! The same as `play.rs` on full parts: Kafka, Cassandra and Redis.

use readmark_test_harness::Options;
use readmark_test_traces::{Play, exact, exact_after_replays, exact_while_killed};

#[tokio::test(flavor = "multi_thread")]
async fn at_full_speed() {
    exact(Options::full(), Play::FULL_SPEED).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_every_record_delivered_twice() {
    exact(Options::full(), Play::TWICE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_reads_by_the_readers_themselves() {
    exact(Options::full(), Play::BY_READERS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_every_two_seconds() {
    exact_while_killed(Options::full(), Play::SLOWLY).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_every_two_seconds_with_reads_by_the_readers() {
    exact_while_killed(Options::full(), Play::SLOWLY_BY_READERS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_acks_and_marks_delivered_again() {
    exact_after_replays(Options::full()).await;
}
