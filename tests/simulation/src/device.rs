//! Devices: each follows its user's stream now and then, rebuilds a state that is not there, and takes a snapshot
//! when it must. Each entry is checked as it comes.

use crate::told::now;
use crate::world::{Ready, World};
use readmark_domain::counting::{MessageFlags, Roster, Tally, TallyVersion};
use readmark_domain::hot::{Entry, News, Picture, SyncToken, Synced};
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::invariant::{Served, SyncWithoutGaps};
use readmark_hot::{Begun, Held, HotState, UserChange};
use readmark_runtime::ports::Ports;
use readmark_store::{ConversationStore, MemberStore, MessageStore, ReadArrayStore};
use readmark_sync::{SyncError, apply_until_counted, count_missing, fill, whole_change};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A message, and its tally as it is answered: version, N and M.
type AskedTally = ((ConversationId, Seq), (TallyVersion, u32, u32));

/// Calls of one sync, at most: a rebuild that another one began is waited for until its lease ends.
const CALLS: u32 = 400;
/// Between two looks at a rebuild of somebody else.
const LOOK_AGAIN_MS: u64 = 200;

/// What a device shows of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shown {
    /// The newest seq.
    pub head: u64,
    /// The watermark.
    pub read: u64,
    /// Up to which nothing is unread.
    pub floor: u64,
    /// Countable messages above it.
    pub unread: u64,
    /// Those that mention the user.
    pub mentions: u64,
    /// Marked by hand.
    pub marked_unread: bool,
    /// Left out of the totals.
    pub muted: bool,
}

/// A device.
#[derive(Debug, Clone)]
pub struct Device {
    /// Whose.
    pub uid: Uid,
    /// How far it has followed.
    pub token: Option<SyncToken>,
    /// By conversation; what was closed or left shows 0.
    pub rows: BTreeMap<ConversationId, Shown>,
    /// Unread and mentions in all.
    pub totals: (u64, u64),
    /// N/M of its own messages.
    pub tallies: BTreeMap<(ConversationId, Seq), (TallyVersion, u32, u32)>,
    /// Those of them of which an older entry said something else, and none since that was not older: it asks for these.
    pub doubted: BTreeSet<(ConversationId, Seq)>,
}

impl Device {
    /// One that has nothing yet.
    #[must_use]
    pub const fn new(uid: Uid) -> Self {
        Self {
            uid,
            token: None,
            rows: BTreeMap::new(),
            totals: (0, 0),
            tallies: BTreeMap::new(),
            doubted: BTreeSet::new(),
        }
    }

    fn snapshot(&mut self, picture: &Picture) {
        let shown = |row: &readmark_domain::hot::PictureRow| Shown {
            head: row.row.head.get(),
            read: row.row.read.get(),
            floor: row.row.floor.get(),
            unread: row.row.unread.get(),
            mentions: row.row.mentions.get(),
            marked_unread: row.row.marked_unread,
            muted: row.row.muted,
        };
        self.rows = picture.rows.iter().map(|row| (row.conversation_id.clone(), shown(row))).collect();
        self.totals = (picture.total.get(), picture.total_mentions.get());
        self.token = Some(picture.token.clone());
    }

    fn entry(&mut self, entry: &Entry) {
        match &entry.news {
            News::ConversationRead { conversation_id, read_seq, floor_seq, unread, mentions, .. } => {
                let row = self.rows.entry(conversation_id.clone()).or_default();
                (row.read, row.floor) = (read_seq.get(), floor_seq.get());
                (row.unread, row.mentions) = (unread.get(), mentions.get());
            }
            News::UnreadChanged { conversation_id, head_seq, floor_seq, unread, mentions, muted, .. } => {
                let row = self.rows.entry(conversation_id.clone()).or_default();
                (row.head, row.floor) = (head_seq.get(), floor_seq.get());
                (row.unread, row.mentions) = (unread.get(), mentions.get());
                row.muted = *muted;
            }
            News::MessageRead { conversation_id, seq, read, total, tally_version, .. } => {
                let of = (conversation_id.clone(), *seq);
                let tally = (*tally_version, *read, *total);
                match self.tallies.get(&of).filter(|known| known.0 > tally.0) {
                    Some(known) if (known.1, known.2) != (tally.1, tally.2) => {
                        self.doubted.insert(of);
                    }
                    Some(_) => {}
                    None => self.tally(of, tally),
                }
            }
        }
        match &entry.news {
            News::ConversationRead {
                conversation_id, marked_unread, total_unread, total_mentions, ..
            }
            | News::UnreadChanged { conversation_id, marked_unread, total_unread, total_mentions, .. } => {
                self.rows.entry(conversation_id.clone()).or_default().marked_unread = *marked_unread;
                self.totals = (total_unread.get(), total_mentions.get());
            }
            News::MessageRead { .. } => {}
        }
    }

    /// A tally of lower version is ignored. What is not older than the one known, or was asked for, leaves no doubt.
    fn tally(&mut self, of: (ConversationId, Seq), tally: (TallyVersion, u32, u32)) {
        self.doubted.remove(&of);
        let known = self.tallies.entry(of).or_insert(tally);
        *known = (*known).max(tally);
    }

    /// The sum of what it shows.
    #[must_use]
    pub fn sums(&self) -> (u64, u64) {
        let loud = || self.rows.values().filter(|row| !row.muted);
        (loud().map(|row| row.unread).sum(), loud().map(|row| row.mentions).sum())
    }
}

/// One sync of a device.
pub async fn sync(world: Arc<World>, number: usize, ports: Ports, hot: Arc<dyn HotState>) {
    let uid = world.state().devices[number].uid;
    let syncing = Syncing { world, number, uid, ports, hot };
    // What fails is tried again by the next sync.
    let ended = syncing.run().await;
    syncing.world.note(|| format!("device {number} of {uid} ends its sync: {ended:?}"));
}

struct Syncing {
    world: Arc<World>,
    number: usize,
    uid: Uid,
    ports: Ports,
    hot: Arc<dyn HotState>,
}

impl Syncing {
    async fn run(&self) -> Result<(), SyncError> {
        for _ in 0..CALLS {
            let token = self.world.state().devices[self.number].token.clone();
            if let Some(token) = token {
                match self.follow(&token).await? {
                    Held::Complete(Some(true)) => return Ok(()),
                    Held::Complete(Some(false)) => continue,
                    Held::Complete(None) => {}
                    Held::Missing | Held::Incomplete => {
                        self.rebuild().await?;
                        continue;
                    }
                }
            }
            if self.take_snapshot().await? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Reads entries; says whether that were all, or nothing when a snapshot must follow.
    async fn follow(&self, token: &SyncToken) -> Result<Held<Option<bool>>, SyncError> {
        let Held::Complete(picture) = self.hot.picture(self.uid, None).await? else {
            return Ok(Held::Missing);
        };
        self.catch_up(&picture).await?;
        let limit = self.world.state().rng.within(1, 5);
        let limit = usize::try_from(limit).unwrap_or(1);
        Ok(match self.hot.entries(self.uid, token, limit).await? {
            Held::Complete(Synced::Entries { entries, token: after, more }) => {
                self.take_entries(token, &entries, after, more);
                Held::Complete(Some(!more))
            }
            Held::Complete(Synced::TooOld) => Held::Complete(None),
            Held::Missing => Held::Missing,
            Held::Incomplete => Held::Incomplete,
        })
    }

    fn take_entries(&self, since: &SyncToken, entries: &[Entry], after: SyncToken, more: bool) {
        let versions: Vec<u64> = entries.iter().map(|entry| entry.version.get()).collect();
        let (served, n) = (Served::Entries(&versions), since.version.get());
        let checked = SyncWithoutGaps { same_epoch: true, since: n, oldest_kept: n + 1, served }.check();
        let mut found: Vec<String> =
            checked.err().map(|violation| violation.to_string()).into_iter().collect();
        let mut state = self.world.state();
        for entry in entries {
            let given = (self.uid, since.epoch.clone(), entry.version.get());
            let known = state.given.entry(given).or_insert_with(|| entry.clone());
            if known != entry {
                found.push(format!("RR-9: a version given twice: {known:?} and {entry:?}"));
            }
        }
        let device = &mut state.devices[self.number];
        entries.iter().for_each(|entry| device.entry(entry));
        // Two entries may tell one change.
        if !more && device.sums() != device.totals {
            found.push(format!("RR-5: the total is not the sum: {device:?}"));
        }
        device.token = Some(after);
        drop(state);
        found.into_iter().for_each(|found| self.world.violation(found));
    }

    /// Says whether it has one now.
    async fn take_snapshot(&self) -> Result<bool, SyncError> {
        let Held::Complete(picture) = self.hot.picture(self.uid, None).await? else {
            self.rebuild().await?;
            return Ok(false);
        };
        let late: Vec<_> = picture
            .rows
            .iter()
            .filter_map(|row| Some((row.conversation_id.clone(), row.to_count?)))
            .collect();
        if !late.is_empty() {
            count_missing(&*self.hot, &*self.ports.store, self.uid, late).await?;
        }
        self.catch_up(&picture).await?;
        let Held::Complete(picture) = self.hot.picture(self.uid, None).await? else { return Ok(false) };
        let tallies = self.ask_for_tallies();
        let mut state = self.world.state();
        let device = &mut state.devices[self.number];
        device.snapshot(&picture);
        let is_sum = device.sums() == device.totals;
        tallies.into_iter().for_each(|(of, tally)| device.tally(of, tally));
        drop(state);
        if !is_sum {
            self.world.violation(format!("RR-5: the total is not the sum: {picture:?}"));
        }
        Ok(true)
    }

    /// Large conversations are looked at by whoever reads.
    async fn catch_up(&self, picture: &Picture) -> Result<(), SyncError> {
        for row in picture.rows.iter().filter(|row| row.is_large) {
            let (uid, conversation_id) = (self.uid, row.conversation_id.clone());
            let change = Arc::new(whole_change(&*self.ports.store, uid, &conversation_id).await?);
            let told = [UserChange { uid, conversation_id, change }];
            for told in apply_until_counted(&*self.hot, &*self.ports.store, &told).await {
                told?;
            }
        }
        Ok(())
    }

    async fn rebuild(&self) -> Result<(), SyncError> {
        match self.hot.begin_rebuild(self.uid).await? {
            Begun::Rebuild(epoch) => {
                fill(&*self.hot, &*self.ports.store, self.uid, &epoch).await?;
            }
            Begun::Running => {
                self.world.gate(Ready::At(self.world.elapsed_ms() + LOOK_AGAIN_MS)).await;
            }
            Begun::Complete => {}
        }
        Ok(())
    }

    /// After a snapshot a sender asks for the tallies it shows.
    fn ask_for_tallies(&self) -> Vec<AskedTally> {
        let (store, mut found) = (&self.world.truth, Vec::new());
        let sent: Vec<(ConversationId, Seq)> = self.world.sent.keys().cloned().collect();
        for (id, seq) in sent {
            let message = now(store.messages(&id, seq, seq)).and_then(|found| found.into_iter().next());
            let Some(message) = message.filter(|message| message.sender_uid == self.uid) else { continue };
            let members = now(store.members(&id)).unwrap_or_default();
            let policy = now(store.conversation(&id)).flatten().unwrap_or_default().policy;
            let flags = now(store.flags(&id, seq, seq, 1)).unwrap_or_default();
            let flags = flags.first().map_or_else(MessageFlags::default, |(_, flags)| *flags);
            let array = now(store.read_arrays(&id, &[seq])).unwrap_or_default().pop().unwrap_or_default();
            let roster = Roster::new(&members, &policy, self.world.rules.default_receipts);
            let tally = Tally::of(&roster, &message, flags, &array);
            found.push(((id, seq), (tally.version, tally.read, tally.total)));
        }
        found
    }
}
