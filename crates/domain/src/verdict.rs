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
        None if facts.bucket_newest_sent_at.is_some_and(|at| retention.is_expired(at, now)) => Place::Expired,
        None => Place::Missing { beyond_head: seq > facts.head },
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
