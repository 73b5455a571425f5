use super::scan::Seen;
use readmark_domain::dead_letter::{LetterId, LetterState};
use readmark_domain::time::TimeMs;
use readmark_events::Topic;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Which dead letters are meant: those that match everything given.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Selection {
    /// These alone; empty: any.
    pub ids: BTreeSet<LetterId>,
    /// With one of these reasons; empty: any.
    pub reasons: BTreeSet<String>,
    /// That come from this topic.
    pub source_topic: Option<Topic>,
    /// That failed at this time or later.
    pub since: Option<TimeMs>,
    /// In one of these states; empty: what [`super::list()`] and [`super::act()`] say.
    pub states: BTreeSet<LetterState>,
}

impl Selection {
    /// Does it match, whatever its state?
    pub(super) fn matches(&self, seen: &Seen) -> bool {
        let headers = seen.letter.headers.as_ref();
        (self.ids.is_empty() || self.ids.contains(&seen.letter.id()))
            && (self.reasons.is_empty() || headers.is_some_and(|h| self.reasons.contains(&h.reason)))
            && self.source_topic.is_none_or(|topic| headers.is_some_and(|h| h.source.topic == topic))
            && self.since.is_none_or(|since| seen.letter.failed_at() >= since)
    }
}
