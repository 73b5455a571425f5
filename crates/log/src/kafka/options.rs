use std::collections::BTreeMap;
use std::time::Duration;

/// Bytes of a record at most, key, headers and payload together: what a broker takes by default, less the frame.
pub const RECORD_BYTES_MAX: usize = 960 * 1024;

/// Bytes of all appends of one log that are on their way at most; who comes then waits. Below the producer's own
/// bound, so that its queue is never full.
pub const APPENDING_BYTES_MAX: usize = 64 * 1024 * 1024;

/// What a record costs beside its bytes: bounds how many empty ones may be on their way.
pub(super) const RECORD_OVERHEAD_BYTES: usize = 256;

/// Records handed over at once at most.
pub const POLL_RECORDS_MAX: usize = 500;

/// Bytes handed over at once at most, but for a single larger record.
pub const POLL_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Records that wait to be taken at most: some batches, so that fetching and handling overlap.
pub const WAITING_RECORDS_MAX: usize = 4 * POLL_RECORDS_MAX;

/// Bytes that wait to be taken at most, but for one batch more.
pub const WAITING_BYTES_MAX: usize = 2 * POLL_BYTES_MAX;

/// How appends travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Producing {
    /// How long a record waits for others to go with. It is most of an append's latency.
    pub linger: Duration,
    /// When an append that nobody has acknowledged fails; the record may be there even so.
    pub deliver_within: Duration,
}

impl Producing {
    /// For requests that somebody waits for: little linger, and an answer within the time a client waits.
    pub const GATEWAY: Self =
        Self { linger: Duration::from_millis(1), deliver_within: Duration::from_secs(5) };

    /// For the roles behind: they ride through the restart of a broker.
    pub const PIPELINE: Self =
        Self { linger: Duration::from_millis(5), deliver_within: Duration::from_secs(60) };
}

/// How a log on Kafka is opened.
#[derive(Clone)]
pub struct KafkaLogOptions {
    /// Where to find the cluster: `host:port,host:port`.
    pub brokers: String,
    /// Begins the names of topics: `readmark` makes `readmark.acks.v1`.
    pub topic_prefix: String,
    /// How many partitions each topic must have to be worked with; `None`: all the same number.
    pub partitions: Option<u32>,
    /// What this process is called in its groups. With a name its members are static: restarted within
    /// [`Self::session_timeout`], they take their partitions back at once, and closing one does not give them to
    /// others before that time is over. No two processes may have the same one. Without, members are
    /// dynamic.
    pub instance_id: Option<String>,
    /// Further settings of librdkafka, for security most of all; those that this adapter relies on win.
    pub settings: BTreeMap<String, String>,
    /// How appends travel.
    pub producing: Producing,
    /// How long a member may be silent until its partitions go to others. Longer than the restart of a broker,
    /// or every member is lost with it. Brokers allow 6 s to 30 min by default.
    pub session_timeout: Duration,
    /// How long a role may take nothing until its member leaves the group; not below the session timeout. Also
    /// the longest time for which a member that does not answer can hold up a rebalance.
    pub max_poll_interval: Duration,
    /// How long a member may keep what it was asked to give back, until it is taken.
    pub revoke_within: Duration,
    /// How often positions are sent to the group; the last ones always, before a partition is given back.
    pub commit_every: Duration,
    /// How long the cluster may take to answer a question: at the start, a probe, look-ups, reads.
    pub answer_within: Duration,
}

impl KafkaLogOptions {
    /// With the defaults, plain and dynamic.
    #[must_use]
    pub fn new(brokers: impl Into<String>, topic_prefix: impl Into<String>) -> Self {
        Self {
            brokers: brokers.into(),
            topic_prefix: topic_prefix.into(),
            partitions: None,
            instance_id: None,
            settings: BTreeMap::new(),
            producing: Producing::PIPELINE,
            session_timeout: Duration::from_secs(20),
            max_poll_interval: Duration::from_secs(300),
            revoke_within: Duration::from_secs(10),
            commit_every: Duration::from_millis(100),
            answer_within: Duration::from_secs(5),
        }
    }
}

impl std::fmt::Debug for KafkaLogOptions {
    /// Without the settings: passwords are among them.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KafkaLogOptions")
            .field("brokers", &self.brokers)
            .field("topic_prefix", &self.topic_prefix)
            .field("instance_id", &self.instance_id)
            .finish_non_exhaustive()
    }
}
