//! The settings of the clients, each with its reason; `docs/kafka.md` has the long form.

use super::options::{APPENDING_BYTES_MAX, KafkaLogOptions, Producing};
use rdkafka::ClientConfig;
use rdkafka::config::RDKafkaLogLevel;
use std::time::Duration;

fn ms(duration: Duration) -> String {
    duration.as_millis().to_string()
}

/// What all clients have in common. Settings made later win.
pub(super) fn client(options: &KafkaLogOptions) -> ClientConfig {
    let mut config = ClientConfig::new();
    for (name, value) in &options.settings {
        config.set(name, value);
    }
    config
        .set("bootstrap.servers", &options.brokers)
        // The default of 10 s keeps clients away long after a broker is back.
        .set("reconnect.backoff.ms", "50")
        .set("reconnect.backoff.max.ms", "500")
        // A question to a broker that hangs must end before those who wait for it do.
        .set("socket.timeout.ms", "10000")
        // By default whoever produces makes the topic, as the brokers like it.
        .set("allow.auto.create.topics", "false")
        .set("log_level", "6")
        .set_log_level(RDKafkaLogLevel::Info);
    config
}

/// Idempotent: retries neither double nor reorder.
pub(super) fn producer(options: &KafkaLogOptions, producing: Producing) -> ClientConfig {
    let mut config = client(options);
    config
        .set("enable.idempotence", "true")
        .set("acks", "all")
        .set("partitioner", "murmur2_random")
        .set("compression.type", "lz4")
        .set("linger.ms", ms(producing.linger))
        .set("message.timeout.ms", ms(producing.deliver_within))
        // Twice what may be on its way, so that the queue is never full.
        .set("queue.buffering.max.kbytes", (2 * APPENDING_BYTES_MAX / 1024).to_string())
        .set("queue.buffering.max.messages", "1000000");
    config
}

/// For reading: nothing is ever stored unless told.
pub(super) fn consumer(options: &KafkaLogOptions, group: &str) -> ClientConfig {
    let mut config = client(options);
    config
        .set("group.id", group)
        .set("enable.auto.commit", "false")
        // With the default, `drop` throws messages away and stores that they were seen.
        .set("enable.auto.offset.store", "false")
        .set("auto.offset.reset", "earliest")
        .set("check.crcs", "true")
        // The default of 1 s starves a consumer whose queue has a low bound.
        .set("fetch.queue.backoff.ms", "10");
    config
}

/// A member of a group.
pub(super) fn member(options: &KafkaLogOptions, group: &str, instance_id: Option<&str>) -> ClientConfig {
    let mut config = consumer(options, group);
    config
        .set("group.protocol", "classic")
        .set("partition.assignment.strategy", "cooperative-sticky")
        .set("session.timeout.ms", ms(options.session_timeout))
        .set("heartbeat.interval.ms", ms((options.session_timeout / 10).min(Duration::from_secs(3))))
        .set("max.poll.interval.ms", ms(options.max_poll_interval))
        // What waits inside the library is bounded, too: per partition by kbytes.
        .set("queued.min.messages", "10000")
        .set("queued.max.messages.kbytes", "16384");
    if let Some(instance_id) = instance_id {
        config.set("group.instance.id", instance_id);
    }
    config
}

/// For reads outside groups: few records at a time, and the end is an event.
pub(super) fn reader(options: &KafkaLogOptions) -> ClientConfig {
    let mut config = consumer(options, &format!("{}.reader", options.topic_prefix));
    config
        .set("enable.partition.eof", "true")
        .set("queued.min.messages", "1000")
        .set("queued.max.messages.kbytes", "8192")
        .set("fetch.wait.max.ms", "50");
    config
}
