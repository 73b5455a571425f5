use super::change::Change;
use super::counted::CountRange;
use super::entry::{Entry, News, news};
use super::message_count::MessageCount;
use super::registers::Registers;
use super::row::Row;
use super::tally::{Tallies, TallyChange};
use super::token::{Epoch, SyncToken, Version, changed};
use crate::id::ConversationId;
use crate::time::TimeMs;
use std::collections::{BTreeMap, VecDeque};

/// Entries that are kept at least; adapters may keep some more. A device further behind gets a snapshot.
pub const STREAM_ENTRIES: usize = 1_000;

/// One user's hot state.
#[derive(Debug, Clone)]
pub struct User {
    epoch: Epoch,
    is_complete: bool,
    version: Version,
    total: MessageCount,
    total_mentions: MessageCount,
    conversations: BTreeMap<ConversationId, Registers>,
    tallies: Tallies,
    stream: VecDeque<Entry>,
}

/// What an operation that merges came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Applied {
    /// The newest version afterwards.
    pub version: Version,
    /// Entries appended: at most 2, none when nothing changed.
    pub appended: u8,
    /// What must be counted in the store and told with [`Change::of_counted`], until this is `None`.
    pub to_count: Option<CountRange>,
}

/// Can a rebuild end?
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Completed {
    /// It has ended: the state is whole, its token is this.
    Complete(SyncToken),
    /// Numbers are missing, which must be counted and told first.
    ToCount(Vec<(ConversationId, CountRange)>),
    /// This rebuild is over: another one took its place, or what it made is gone.
    Lost,
}

/// What follows a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Synced {
    /// These entries, and whether there are more after them.
    Entries {
        /// Ascending, without gaps; from right after the token.
        entries: Vec<Entry>,
        /// After the last of them; the token asked with when there are none.
        token: SyncToken,
        /// Go on asking?
        more: bool,
    },
    /// The token is of another epoch, or of before the oldest entry kept: a snapshot must follow.
    TooOld,
}

/// One conversation of a picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PictureRow {
    /// Which.
    pub conversation_id: ConversationId,
    /// What is seen of it.
    pub row: Row,
    /// When its newest message was sent.
    pub newest_sent_at: TimeMs,
    /// The conversation is large: its head is told late, so whoever reads the row first compares it.
    pub is_large: bool,
    /// The row is late until this is counted and told.
    pub to_count: Option<CountRange>,
}

/// What a user has unread, all at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Following it from here misses nothing.
    pub token: SyncToken,
    /// Over all conversations that are not muted.
    pub total: MessageCount,
    /// The same of mentions.
    pub total_mentions: MessageCount,
    /// Every row, or those asked for, ascending by conversation.
    pub rows: Vec<PictureRow>,
}

impl User {
    /// A state that is being rebuilt: it merges, but can't be read yet.
    #[must_use]
    pub fn new(epoch: Epoch) -> Self {
        Self {
            epoch,
            is_complete: false,
            version: Version::ZERO,
            total: MessageCount::ZERO,
            total_mentions: MessageCount::ZERO,
            conversations: BTreeMap::new(),
            tallies: Tallies::default(),
            stream: VecDeque::new(),
        }
    }

    /// Which life of the state this is.
    #[must_use]
    pub const fn epoch(&self) -> &Epoch {
        &self.epoch
    }

    /// May it be read?
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Merges a change of one conversation.
    pub fn apply(&mut self, id: &ConversationId, change: &Change) -> Applied {
        let merged = match self.conversations.get_mut(id) {
            Some(registers) => registers.merge(change),
            None => self.conversations.entry(id.clone()).or_default().merge(change),
        };
        let parts = |row: Option<Row>| row.as_ref().map(Row::in_totals).unwrap_or_default();
        let (before, after) = (parts(merged.before), parts(merged.after));
        self.total = changed(self.total, before.0, after.0);
        self.total_mentions = changed(self.total_mentions, before.1, after.1);
        let totals = (self.total, self.total_mentions);
        let appended = self.append(news(id, merged.before, merged.after, &change.cause, totals));
        Applied { version: self.version, appended, to_count: merged.to_count }
    }

    /// Merges the tally of one of the user's own messages.
    pub fn apply_tally(&mut self, change: &TallyChange) -> Applied {
        let news = self.tallies.merge(change);
        let appended = self.append(news.into_iter().collect());
        Applied { version: self.version, appended, to_count: None }
    }

    /// Nothing is told while a rebuild runs: a snapshot follows it.
    fn append(&mut self, news: Vec<News>) -> u8 {
        let mut appended = 0;
        for news in news.into_iter().filter(|_| self.is_complete) {
            self.version = self.version.next();
            self.stream.push_back(Entry { version: self.version, news });
            appended += 1;
        }
        while self.stream.len() > STREAM_ENTRIES {
            self.stream.pop_front();
        }
        appended
    }

    /// Ends the rebuild of this epoch. Ending it again says the same.
    pub fn complete(&mut self, epoch: &Epoch) -> Completed {
        if self.epoch != *epoch {
            return Completed::Lost;
        }
        let to_count: Vec<_> = self
            .conversations
            .iter()
            .filter_map(|(id, registers)| registers.missing().map(|range| (id.clone(), range)))
            .collect();
        if !self.is_complete && !to_count.is_empty() {
            return Completed::ToCount(to_count);
        }
        self.is_complete = true;
        Completed::Complete(self.token())
    }

    /// How many conversations, entries and tallies there are, for metrics.
    #[must_use]
    pub fn parts(&self) -> usize {
        self.conversations.len() + self.stream.len() + self.tallies.len()
    }

    /// After the newest entry.
    #[must_use]
    pub fn token(&self) -> SyncToken {
        SyncToken { epoch: self.epoch.clone(), version: self.version }
    }

    /// At most `limit` entries after a token.
    #[must_use]
    pub fn entries(&self, since: &SyncToken, limit: usize) -> Synced {
        let oldest = self.stream.front().map_or(self.version.next(), |entry| entry.version);
        if since.epoch != self.epoch || since.version > self.version || since.version.next() < oldest {
            return Synced::TooOld;
        }
        let entries: Vec<Entry> =
            self.stream.iter().filter(|entry| entry.version > since.version).take(limit).cloned().collect();
        let version = entries.last().map_or(since.version, |entry| entry.version);
        let token = SyncToken { epoch: self.epoch.clone(), version };
        Synced::Entries { entries, token, more: version < self.version }
    }

    /// The picture, of all conversations or of those named.
    #[must_use]
    pub fn picture(&self, only: Option<&[ConversationId]>) -> Picture {
        let row = |(id, registers): (&ConversationId, &Registers)| {
            registers.row().map(|row| PictureRow {
                conversation_id: id.clone(),
                row,
                newest_sent_at: registers.newest_sent_at,
                is_large: registers.is_large,
                to_count: registers.missing(),
            })
        };
        let rows = match only {
            None => self.conversations.iter().filter_map(row).collect(),
            Some(ids) => {
                let ids: std::collections::BTreeSet<_> = ids.iter().collect();
                ids.into_iter()
                    .filter_map(|id| self.conversations.get_key_value(id))
                    .filter_map(row)
                    .collect()
            }
        };
        Picture { token: self.token(), total: self.total, total_mentions: self.total_mentions, rows }
    }
}

#[cfg(test)]
mod tests;
