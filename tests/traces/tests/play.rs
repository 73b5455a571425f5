//! Both traces at once, played in every way, to a server each, on embedded parts.

use readmark_test_harness::Options;
use readmark_test_traces::{Play, exact, exact_after_replays, exact_while_killed};

#[tokio::test(flavor = "multi_thread")]
async fn at_full_speed() {
    exact(Options::default(), Play::FULL_SPEED).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_several_requests_in_flight() {
    exact(Options::default(), Play { batch: 40, in_flight: 8, ..Play::FULL_SPEED }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_every_record_delivered_twice() {
    exact(Options::default(), Play::TWICE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_reads_by_the_readers_themselves() {
    exact(Options::default(), Play::BY_READERS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_reads_by_the_readers_twice() {
    exact(Options::default(), Play { twice: true, ..Play::BY_READERS }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_every_two_seconds() {
    exact_while_killed(Options::default(), Play::SLOWLY).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_every_two_seconds_with_reads_by_the_readers() {
    exact_while_killed(Options::default(), Play::SLOWLY_BY_READERS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_acks_and_marks_delivered_again() {
    exact_after_replays(Options::default()).await;
}
