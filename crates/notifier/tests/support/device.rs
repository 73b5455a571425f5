use super::facts::uid;
use super::world::World;
use readmark_domain::hot::{Entry, News, SyncToken};
use readmark_domain::invariant::{Served, SyncWithoutGaps};
use readmark_sync::News as Followed;
use std::collections::BTreeMap;

/// What a device shows of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shown {
    pub unread: u64,
    pub mentions: u64,
    pub head: u64,
    pub floor: u64,
    pub read: u64,
    pub marked_unread: bool,
    pub muted: bool,
}

/// A device that follows its user's stream.
#[derive(Debug)]
pub struct Device {
    user: u64,
    token: Option<SyncToken>,
    pub rows: BTreeMap<String, Shown>,
    pub total: u64,
    pub mentions: u64,
    /// N, M and names of each message told.
    pub tallies: BTreeMap<(String, u64), (u32, u32)>,
    pub snapshots: u32,
}

impl Device {
    /// One that has synced.
    pub async fn connect(world: &World, user: u64) -> Self {
        let mut device = Self {
            user,
            token: None,
            rows: BTreeMap::new(),
            total: 0,
            mentions: 0,
            tallies: BTreeMap::new(),
            snapshots: 0,
        };
        device.sync(world).await;
        device
    }

    /// Reads what is new; gives the entries.
    pub async fn sync(&mut self, world: &World) -> Vec<Entry> {
        match world.live.follow(uid(self.user), self.token.as_ref(), 1_000).await.unwrap().news {
            Followed::Snapshot(picture) => {
                self.snapshots += 1;
                self.token = Some(picture.token.clone());
                (self.total, self.mentions) = (picture.total.get(), picture.total_mentions.get());
                let shown = |row: readmark_domain::hot::Row| Shown {
                    unread: row.unread.get(),
                    mentions: row.mentions.get(),
                    head: row.head.get(),
                    floor: row.floor.get(),
                    read: row.read.get(),
                    marked_unread: row.marked_unread,
                    muted: row.muted,
                };
                let rows = picture.rows.into_iter();
                self.rows = rows.map(|row| (row.conversation_id.to_string(), shown(row.row))).collect();
                Vec::new()
            }
            Followed::Entries { entries, token, more } => {
                assert!(!more, "1,000 are enough for a test");
                let since = self.token.as_ref().map(|token| token.version.get()).unwrap_or_default();
                let versions: Vec<u64> = entries.iter().map(|entry| entry.version.get()).collect();
                let served = Served::Entries(&versions);
                SyncWithoutGaps { same_epoch: true, since, oldest_kept: since + 1, served }.check().unwrap();
                entries.iter().for_each(|entry| self.take(entry));
                self.token = Some(token);
                entries
            }
        }
    }

    fn take(&mut self, entry: &Entry) {
        match &entry.news {
            News::ConversationRead {
                conversation_id,
                read_seq,
                floor_seq,
                unread,
                mentions,
                marked_unread,
                total_unread,
                total_mentions,
                ..
            } => {
                let row = self.rows.entry(conversation_id.to_string()).or_default();
                (row.read, row.floor) = (read_seq.get(), floor_seq.get());
                (row.unread, row.mentions) = (unread.get(), mentions.get());
                row.marked_unread = *marked_unread;
                (self.total, self.mentions) = (total_unread.get(), total_mentions.get());
            }
            News::UnreadChanged {
                conversation_id,
                head_seq,
                floor_seq,
                unread,
                mentions,
                marked_unread,
                muted,
                total_unread,
                total_mentions,
            } => {
                let row = self.rows.entry(conversation_id.to_string()).or_default();
                (row.head, row.floor) = (head_seq.get(), floor_seq.get());
                (row.unread, row.mentions) = (unread.get(), mentions.get());
                (row.marked_unread, row.muted) = (*marked_unread, *muted);
                (self.total, self.mentions) = (total_unread.get(), total_mentions.get());
            }
            News::MessageRead { conversation_id, seq, read, total, .. } => {
                self.tallies.insert((conversation_id.to_string(), seq.get()), (*read, *total));
            }
        }
    }

    /// Of one conversation.
    pub fn shows(&self, name: &str) -> Shown {
        self.rows.get(name).copied().unwrap_or_default()
    }

    pub fn unread(&self, name: &str) -> u64 {
        self.shows(name).unread
    }

    /// Is what it shows what the store says, conversation by conversation, and the total the sum?
    pub async fn is_right(&self, world: &World) {
        let truth = world.truth(self.user).await;
        for row in &truth.rows {
            let shown = self.shows(row.conversation_id.as_str());
            let said =
                (row.row.unread.get(), row.row.mentions.get(), row.row.floor.get(), row.row.read.get());
            let shows = (shown.unread, shown.mentions, shown.floor, shown.read);
            assert_eq!(shows, said, "{} of {}: {shown:?}", row.conversation_id, self.user);
        }
        assert_eq!((self.total, self.mentions), (truth.total.get(), truth.total_mentions.get()));
        let loud = self.rows.values().filter(|row| !row.muted);
        assert_eq!(loud.map(|row| row.unread).sum::<u64>(), self.total, "the total is the sum");
    }
}
