use super::change::{Change, SEQS_MAX};
use super::counted::{CountRange, Counted};
use super::message_count::MessageCount;
use super::row::Row;
use crate::id::Seq;
use crate::register::{Latest, Presence};
use crate::time::TimeMs;
use crate::unread::unread;

/// What is kept hot of one user in one conversation.
///
/// Uncounted seqs and mentions above the floor are kept themselves, at most [`SEQS_MAX`] each. With more, those up
/// to `base` are dropped and numbers counted in the store take their place; what comes above `base` is kept again.
/// Numbers hold for the one range they were counted in. While there are none for the range needed, the row stays as
/// it was last seen: late, never wrong.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Registers {
    /// The newest seq.
    pub head: Seq,
    /// When it was sent.
    pub newest_sent_at: TimeMs,
    /// The conversation is large, and stays so: its heads are told late.
    pub is_large: bool,
    /// The watermark.
    pub read: Seq,
    /// The seq up to which nothing is unread.
    pub floor: Seq,
    /// Present or absent.
    pub presence: Option<Presence>,
    /// Closed or open.
    pub closed: Option<Latest>,
    /// Marked by hand.
    pub marked_unread: Option<Latest>,
    /// Left out of the totals.
    pub muted: Option<Latest>,
    /// Seqs that count for nobody; ascending, all above floor and base.
    pub uncounted: Vec<Seq>,
    /// Seqs that mention the user; ascending, all above floor and base.
    pub mentions: Vec<Seq>,
    /// Seqs in (floor, base] are dropped; zero when none are.
    pub base: Seq,
    /// The numbers of (floor, head] or (floor, base].
    pub counted: Option<Counted>,
    /// What is seen while numbers are missing.
    pub frozen: Option<Option<Row>>,
}

/// What a merge came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merged {
    /// What was seen before.
    pub before: Option<Row>,
    /// What is seen now.
    pub after: Option<Row>,
    /// What must be counted in the store and told, until this is `None`.
    pub to_count: Option<CountRange>,
}

impl Registers {
    /// Merges a change.
    pub fn merge(&mut self, change: &Change) -> Merged {
        let before = self.row();
        self.head = self.head.max(change.head);
        self.newest_sent_at = self.newest_sent_at.max(change.newest_sent_at);
        self.is_large |= change.is_large;
        self.read = self.read.max(change.read);
        self.floor = self.floor.max(change.floor).max(self.read);
        self.presence = self.presence.max(change.presence);
        self.closed = self.closed.max(change.closed);
        self.marked_unread = self.marked_unread.max(change.marked_unread);
        self.muted = self.muted.max(change.muted);
        let below_base = self.merge_seqs(change);
        let counted_more = change.counted.is_some_and(|counted| self.merge_counted(counted));
        if below_base && !self.is_open() {
            // Nobody counts what nobody sees: it is counted when it is seen again.
            self.counted = None;
        }
        self.frozen = if self.lacks_numbers() { Some(before) } else { None };
        let is_asked = self.frozen.is_some() || (self.is_open() && (below_base || counted_more));
        let to_count = self.range_to_count().filter(|_| is_asked);
        Merged { before, after: self.row(), to_count }
    }

    /// Says whether the change named seqs that only numbers hold by now.
    fn merge_seqs(&mut self, change: &Change) -> bool {
        self.base = self.base.max(change.base);
        let floor = self.floor;
        let named = |seqs: &[Seq], base| seqs.iter().any(|seq| floor < *seq && *seq <= base);
        // With numbers alone, a whole change names no seqs: only those that were kept before are dropped here.
        let below_base = named(change.uncounted(), self.base) || named(change.mentions(), self.base);
        self.uncounted.extend(change.uncounted());
        self.mentions.extend(change.mentions());
        for seqs in [&mut self.uncounted, &mut self.mentions] {
            seqs.sort_unstable();
            seqs.dedup();
        }
        self.drop_seqs_below();
        if self.has_too_many() {
            self.base = self.base.max(self.head);
            self.drop_seqs_below();
        }
        if self.has_too_many() {
            // More than can be kept above the head itself: these too are counted once the head passes them.
            let last = |seqs: &Vec<Seq>| seqs.last().copied().unwrap_or_default();
            self.base = last(&self.uncounted).max(last(&self.mentions));
            self.drop_seqs_below();
        }
        if self.base <= self.floor {
            self.base = Seq::ZERO;
        }
        self.counted = self.counted.filter(|counted| {
            self.base > Seq::ZERO
                && counted.range.floor == self.floor
                && (counted.range.head == self.head || counted.range.head == self.base)
        });
        below_base
    }

    fn has_too_many(&self) -> bool {
        self.uncounted.len() > SEQS_MAX || self.mentions.len() > SEQS_MAX
    }

    fn drop_seqs_below(&mut self) {
        let from = self.floor.max(self.base);
        self.uncounted.retain(|seq| *seq > from);
        self.mentions.retain(|seq| *seq > from);
    }

    /// Takes numbers for the range they are needed for; says whether they must be counted again, since they were
    /// refused or told something new.
    fn merge_counted(&mut self, told: Counted) -> bool {
        if self.base == Seq::ZERO {
            return false;
        }
        match self.counted {
            Some(known) => {
                let merged = known.merge(told);
                let is_same_range = known.range == told.range;
                self.counted = Some(if is_same_range { merged } else { known });
                !is_same_range || merged != known
            }
            None => {
                let (floor, head) = (told.range.floor, told.range.head);
                let covers_dropped = head == self.head || (self.base <= head && head < self.head);
                if floor == self.floor && floor < head && covers_dropped {
                    self.base = self.base.max(head);
                    self.drop_seqs_below();
                    self.counted = Some(told);
                }
                true
            }
        }
    }

    fn is_open(&self) -> bool {
        self.presence.is_some_and(Presence::is_present) && !Latest::value_of(self.closed)
    }

    /// Is the row open, and are there dropped seqs in (floor, head] that nobody has counted?
    fn lacks_numbers(&self) -> bool {
        self.is_open() && self.counted.is_none() && self.needs_numbers()
    }

    fn needs_numbers(&self) -> bool {
        self.base > Seq::ZERO && self.head > self.floor
    }

    /// The range whose numbers are, or would be, of use.
    fn range_to_count(&self) -> Option<CountRange> {
        let needed = self.needs_numbers().then_some(CountRange { floor: self.floor, head: self.head });
        self.counted.map(|counted| counted.range).or(needed)
    }

    /// The range whose numbers are missing, if any: until they are told, the row is late.
    #[must_use]
    pub fn missing(&self) -> Option<CountRange> {
        if self.lacks_numbers() { self.range_to_count() } else { None }
    }

    /// What is seen of it: nothing when the user is absent or the conversation closed.
    #[must_use]
    pub fn row(&self) -> Option<Row> {
        if let Some(frozen) = self.frozen {
            return frozen;
        }
        self.is_open().then(|| {
            let (unread, mentions) = self.counts();
            Row {
                head: self.head,
                read: self.read,
                floor: self.floor,
                unread,
                mentions,
                marked_unread: Latest::value_of(self.marked_unread),
                muted: Latest::value_of(self.muted),
            }
        })
    }

    fn counts(&self) -> (MessageCount, MessageCount) {
        if self.head <= self.floor {
            return (MessageCount::ZERO, MessageCount::ZERO);
        }
        let (uncounted, mentions) =
            self.counted.map_or((0, 0), |c| (c.uncounted, c.mentions.saturating_sub(c.uncounted_mentions)));
        let up_to_head = |seqs: &[Seq]| seqs.partition_point(|seq| *seq <= self.head);
        let seqs = up_to_head(&self.uncounted) as u64;
        let mentioning = &self.mentions[..up_to_head(&self.mentions)];
        let counting =
            mentioning.iter().filter(|seq| self.uncounted.binary_search(seq).is_err()).count() as u64;
        let unread = unread(self.head, self.floor, uncounted.saturating_add(seqs));
        (MessageCount::saturating(unread), MessageCount::saturating(mentions.saturating_add(counting)))
    }
}

#[cfg(test)]
mod tests;
