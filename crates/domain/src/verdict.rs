//! What becomes of each seq of an ack: the one rule that aggregator, watermark and gateway share.

use crate::counting::{Message, MessageFlags};
use crate::id::{Seq, Uid};
use crate::seq_ranges::SeqRanges;
use crate::time::TimeMs;

/// What is known of the place `seq` in a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A message, with its flags.
    Message(Message, MessageFlags),
    /// Declared to be no message.
    Skipped,
    /// A message that is gone: past the retention, or from before an import.
    Expired,
    /// Nothing there yet: its event may still come. `beyond_head` tells whether later ones have come.
    Missing {
        /// No later message is known either.
        beyond_head: bool,
    },
}

/// What the store says about a seq, before it is judged.
#[derive(Debug, Clone, Default)]
pub struct PlaceFacts {
    /// The message's row.
    pub message: Option<Message>,
    /// Flags of the seq.
    pub flags: MessageFlags,
    /// Newest sent_at of the seq's bucket.
    pub bucket_newest_sent_at: Option<TimeMs>,
    /// Head of the conversation.
    pub head: Seq,
    /// Head at the time of an import, zero without one.
    pub imported_head: Seq,
}

/// How long messages and their readers are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// In milliseconds.
    pub keep_ms: u64,
}

impl Retention {
    /// From days.
    #[must_use]
    pub const fn days(days: u32) -> Self {
        Self { keep_ms: days as u64 * 86_400_000 }
    }

    /// Is a message sent then expired now?
    #[must_use]
    pub const fn is_expired(self, sent_at: TimeMs, now: TimeMs) -> bool {
        now.since_ms(sent_at) >= self.keep_ms
    }

    /// When a message sent then expires.
    #[must_use]
    pub const fn expires_at(self, sent_at: TimeMs) -> TimeMs {
        sent_at.plus_ms(self.keep_ms)
    }
}

/// Says what is at `seq`.
#[must_use]
pub fn place(seq: Seq, facts: PlaceFacts, retention: Retention, now: TimeMs) -> Place {
    if facts.flags.skipped {
        return Place::Skipped;
    }
    match facts.message {
        Some(message) if retention.is_expired(message.sent_at, now) => Place::Expired,
        Some(message) => Place::Message(message, facts.flags),
        None if seq <= facts.imported_head => Place::Expired,
        // What is beyond the head has not come yet, however old the rest of its bucket is.
        None if seq > facts.head => Place::Missing { beyond_head: true },
        // Beyond the head a fresh message may follow the old ones of the same bucket.
        None if seq <= facts.head
            && facts.bucket_newest_sent_at.is_some_and(|at| retention.is_expired(at, now)) =>
        {
            Place::Expired
        }
        None => Place::Missing { beyond_head: false },
    }
}

/// What becomes of a record of receipts, seq by seq.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verdict {
    /// Messages whose readers gain one.
    pub store: Vec<Message>,
    /// Seqs that are no message any more or never will be, or take no receipts: nothing to do.
    pub ignored: Vec<Seq>,
    /// Seqs that are not there yet.
    pub parked: SeqRanges,
    /// The highest seq that raises the reader's watermark, zero when none does: every seq that is not
    /// parked, also one that takes no receipts, so that it does not matter whether the ack or what made it
    /// void (a recall, a skip, the retention) came first.
    pub raises_to: Seq,
}

/// A record whose key is not the sender of one of its messages: a dead letter, nothing of it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("message {seq} was sent by {actual}, not by {claimed}")]
pub struct SenderMismatch {
    /// Which message.
    pub seq: Seq,
    /// Who the record says sent it.
    pub claimed: Uid,
    /// Who sent it.
    pub actual: Uid,
}

/// Judges a record of receipts. `newest_off` is when the reader last switched receipts off, by what is known
/// here: a receipt of a message sent before it can never count and is dropped. An older copy of the switches
/// only drops less.
///
/// # Errors
/// [`SenderMismatch`] when any of its messages is of another sender.
pub fn judge(
    sender: Uid,
    places: impl IntoIterator<Item = (Seq, Place)>,
    newest_off: Option<TimeMs>,
) -> Result<Verdict, SenderMismatch> {
    let mut verdict = Verdict::default();
    let mut parked = Vec::new();
    for (seq, place) in places {
        match place {
            Place::Message(message, _) if message.sender_uid != sender => {
                return Err(SenderMismatch { seq, claimed: sender, actual: message.sender_uid });
            }
            Place::Message(message, flags) => {
                verdict.raises_to = verdict.raises_to.max(seq);
                if flags.is_void() || newest_off.is_some_and(|off| message.sent_at < off) {
                    verdict.ignored.push(seq);
                } else {
                    verdict.store.push(message);
                }
            }
            Place::Skipped | Place::Expired => {
                verdict.raises_to = verdict.raises_to.max(seq);
                verdict.ignored.push(seq);
            }
            Place::Missing { .. } => parked.push(seq),
        }
    }
    verdict.parked = SeqRanges::from_seqs(parked);
    Ok(verdict)
}

#[cfg(test)]
mod tests {
    use super::{Place, PlaceFacts, Retention, SenderMismatch, Verdict, judge, place};
    use crate::counting::{Message, MessageFlags};
    use crate::id::{ConversationId, MsgId, Seq, Uid};
    use crate::time::TimeMs;

    const DAY_MS: u64 = 86_400_000;

    fn seq(n: u64) -> Seq {
        Seq::new_or_zero(n).unwrap()
    }

    fn uid(n: u64) -> Uid {
        Uid::new(n).unwrap()
    }

    fn message(at: u64, sender: u64, sent_at_ms: u64) -> Message {
        Message {
            conversation_id: ConversationId::new("c").unwrap(),
            seq: seq(at),
            msg_id: MsgId::new(900 + at).unwrap(),
            sender_uid: uid(sender),
            sent_at: TimeMs::new(sent_at_ms).unwrap(),
            countable: true,
            chunks: 1,
        }
    }

    fn there(at: u64, sender: u64, sent_at_ms: u64) -> (Seq, Place) {
        (seq(at), Place::Message(message(at, sender, sent_at_ms), MessageFlags::default()))
    }

    #[test]
    fn what_is_at_a_seq() {
        let now = TimeMs::new(100 * DAY_MS).unwrap();
        let (fresh, old) = (99 * DAY_MS, 10 * DAY_MS);
        let skipped = MessageFlags { skipped: true, ..MessageFlags::default() };
        let facts = |head, imported| PlaceFacts {
            head: seq(head),
            imported_head: seq(imported),
            ..PlaceFacts::default()
        };
        let bucket = |sent_at_ms, head| PlaceFacts {
            bucket_newest_sent_at: TimeMs::new(sent_at_ms).ok(),
            ..facts(head, 0)
        };
        let row = |sent_at_ms| PlaceFacts { message: Some(message(5, 7, sent_at_ms)), ..facts(9, 0) };
        for (name, facts, wanted) in [
            ("a message", row(fresh), there(5, 7, fresh).1),
            ("a message past the retention", row(old), Place::Expired),
            ("exactly 90 days", row(10 * DAY_MS), Place::Expired),
            ("skipped", PlaceFacts { flags: skipped, ..facts(9, 0) }, Place::Skipped),
            ("a message at a skipped seq", PlaceFacts { flags: skipped, ..row(fresh) }, Place::Skipped),
            ("gone with its bucket", bucket(old, 9), Place::Expired),
            (
                "beyond the head, in a bucket of old ones",
                bucket(old, 4),
                Place::Missing { beyond_head: true },
            ),
            ("late, in a live bucket", bucket(fresh, 9), Place::Missing { beyond_head: false }),
            ("late, in an unknown bucket", facts(9, 0), Place::Missing { beyond_head: false }),
            ("beyond the head", facts(4, 0), Place::Missing { beyond_head: true }),
            ("from before the import", facts(9, 5), Place::Expired),
            ("after the import", facts(9, 4), Place::Missing { beyond_head: false }),
        ] {
            assert_eq!(place(seq(5), facts, Retention::days(90), now), wanted, "{name}");
        }
    }

    #[test]
    fn what_becomes_of_a_record() {
        let recalled = MessageFlags { recalled: true, ..MessageFlags::default() };
        let verdict = judge(
            uid(7),
            [
                there(1, 7, 100),
                there(2, 7, 99),
                (seq(3), Place::Message(message(3, 7, 100), recalled)),
                (seq(4), Place::Skipped),
                (seq(5), Place::Expired),
                (seq(6), Place::Missing { beyond_head: false }),
                (seq(7), Place::Missing { beyond_head: true }),
            ],
            TimeMs::new(100).ok(),
        );
        let Verdict { store, ignored, parked, raises_to } = verdict.unwrap();
        assert_eq!(store, [message(1, 7, 100)], "2 was sent before receipts were switched off");
        assert_eq!(ignored, [seq(2), seq(3), seq(4), seq(5)]);
        assert_eq!(parked.iter().collect::<Vec<_>>(), [seq(6), seq(7)]);
        assert_eq!(raises_to, seq(5), "everything but what is not there yet");
    }

    /// S1: the order of the seqs in a record means nothing.
    #[test]
    fn raises_to_the_highest_seq() {
        let verdict = judge(uid(7), [there(9, 7, 1), there(3, 7, 1)], None).unwrap();
        assert_eq!((verdict.raises_to, verdict.store.len()), (seq(9), 2));
    }

    /// R9: one message of another sender spoils the record.
    #[test]
    fn a_record_under_the_wrong_sender_stores_nothing() {
        let mixed = [there(1, 7, 1), there(2, 8, 1)];
        let wanted = SenderMismatch { seq: seq(2), claimed: uid(7), actual: uid(8) };
        assert_eq!(judge(uid(7), mixed, None), Err(wanted));
    }
}
