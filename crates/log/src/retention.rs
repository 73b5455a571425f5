use readmark_events::Topic;

/// How long records of a topic are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionRule {
    /// The topic.
    pub topic: Topic,
    /// Milliseconds from the append on.
    pub keep_ms: u64,
}

const DAY_MS: u64 = 24 * 60 * 60 * 1000;
/// Who lost its position in what only announces derives everything anew.
const KEEP_CHANGED_MS: u64 = 7 * DAY_MS;

/// The rules: acks as long as receipts, what only announces a week, everything else for ever.
#[must_use]
pub const fn default_retention(keep_acks_ms: u64) -> [RetentionRule; 3] {
    [
        RetentionRule { topic: Topic::Acks, keep_ms: keep_acks_ms },
        RetentionRule { topic: Topic::ConversationChanged, keep_ms: KEEP_CHANGED_MS },
        RetentionRule { topic: Topic::ReadChanged, keep_ms: KEEP_CHANGED_MS },
    ]
}
