use readmark_domain::counting::TallyVersion;
use readmark_domain::hot::{Entry, News};
use readmark_domain::id::{ConversationId, Seq, count};
use readmark_domain::register::ReceiptsMode;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Messages whose tallies are kept; those first told of are forgotten first.
pub const TALLIES_MAX: usize = 10_000;

/// N of M of one message.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Receipt {
    /// The conversation.
    pub conversation_id: ConversationId,
    /// The message.
    pub seq: Seq,
    /// The conversation's policy.
    pub mode: ReceiptsMode,
    /// N.
    #[serde(with = "count")]
    pub read: u32,
    /// M.
    #[serde(with = "count")]
    pub total: u32,
    /// The greater is the newer.
    pub version: TallyVersion,
}

/// Who has read the user's own messages, in numbers. A tally that is not newer than the one known is dropped,
/// whether it came in an entry or an answer.
#[derive(Debug, Clone, Default)]
pub struct Tallies {
    known: BTreeMap<(ConversationId, Seq), Receipt>,
    order: VecDeque<(ConversationId, Seq)>,
    doubted: BTreeSet<(ConversationId, Seq)>,
}

impl Tallies {
    /// The tally of a message, if one was told.
    #[must_use]
    pub fn get(&self, id: &ConversationId, seq: Seq) -> Option<&Receipt> {
        self.known.get(&(id.clone(), seq))
    }

    /// All that are known.
    pub fn iter(&self) -> impl Iterator<Item = &Receipt> {
        self.known.values()
    }

    /// Messages of which an entry told other numbers, in an older version than the one known, and none since that was
    /// not older. A server that lost its state does not know what it told: it may tell an older tally and then hold
    /// back a newer one of the same numbers, as no news. Ask for these by HTTP when they stay here for some
    /// seconds; a [`Self::merge`] of the answer ends the doubt.
    pub fn doubted(&self) -> impl Iterator<Item = &(ConversationId, Seq)> {
        self.doubted.iter()
    }

    /// Takes a tally over, of an answer; says whether it was newer.
    pub fn merge(&mut self, told: Receipt) -> bool {
        let key = (told.conversation_id.clone(), told.seq);
        self.doubted.remove(&key);
        match self.known.get(&key) {
            Some(known) if known.version >= told.version => return false,
            Some(_) => {}
            None => self.order.push_back(key.clone()),
        }
        self.known.insert(key, told);
        if self.order.len() > TALLIES_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
            self.doubted.remove(&oldest);
        }
        true
    }

    /// Takes an entry over; the tally when it was a newer one.
    pub fn apply(&mut self, entry: &Entry) -> Option<Receipt> {
        let News::MessageRead { conversation_id, seq, mode, read, total, tally_version, .. } = &entry.news
        else {
            return None;
        };
        let told = Receipt {
            conversation_id: conversation_id.clone(),
            seq: *seq,
            mode: *mode,
            read: *read,
            total: *total,
            version: *tally_version,
        };
        let key = (told.conversation_id.clone(), told.seq);
        match self.known.get(&key).filter(|known| known.version > told.version) {
            Some(known) => {
                if (known.read, known.total) != (told.read, told.total) {
                    self.doubted.insert(key);
                }
                None
            }
            None => self.merge(told.clone()).then_some(told),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(seq: u64, stamp: u64, read: u32) -> String {
        format!(r#""conversation_id":"c","seq":"{seq}","mode":"full","read":"{read}","total":"9"#)
            + &format!(r#"","VERSION":"{stamp:024x}{read:08x}"}}"#)
    }

    fn receipt(seq: u64, read: u32) -> Receipt {
        let json = format!("{{{}", fields(seq, 1, read).replace("VERSION", "version"));
        serde_json::from_str(&json).expect("a receipt")
    }

    fn entry(stamp: u64, read: u32) -> Entry {
        let fields = fields(1, stamp, read).replace("VERSION", "tally_version");
        serde_json::from_str(&format!(r#"{{"version":"1","kind":"message_read",{fields}"#)).expect("an entry")
    }

    #[test]
    fn an_older_entry_of_other_numbers_leaves_a_doubt_until_one_is_not_older() {
        let mut tallies = Tallies::default();
        tallies.apply(&entry(5, 0));
        tallies.apply(&entry(4, 0));
        assert_eq!(tallies.doubted().count(), 0, "the same numbers say nothing");
        assert_eq!(tallies.apply(&entry(3, 1)), None);
        assert_eq!(tallies.doubted().count(), 1);
        tallies.apply(&entry(5, 0));
        assert_eq!(tallies.doubted().count(), 0, "it has caught up");
        tallies.apply(&entry(4, 1));
        assert!(!tallies.merge(receipt(1, 1)), "an answer is older still, and yet an answer");
        assert_eq!(tallies.doubted().count(), 0);
    }

    #[test]
    fn only_newer_ones_win_and_the_oldest_are_forgotten() {
        let mut tallies = Tallies::default();
        assert!(tallies.merge(receipt(1, 2)));
        assert!(!tallies.merge(receipt(1, 2)));
        assert!(!tallies.merge(receipt(1, 1)));
        assert!(tallies.merge(receipt(1, 3)));
        for seq in 2..=TALLIES_MAX as u64 + 1 {
            assert!(tallies.merge(receipt(seq, 1)));
        }
        let known = |seq: u64| tallies.get(&"c".parse().expect("an id"), Seq::new(seq).expect("a seq"));
        assert!(known(1).is_none() && known(2).is_some());
        assert_eq!(tallies.iter().count(), TALLIES_MAX);
    }
}
