//! Who is a member: read from the store, remembered for a second.
//!
//! A list of members may be older than a message, but never older than a change of the roster that this owner has
//! been told of: that makes it read the list again. Whoever joined without this owner having been told yet is told
//! the whole conversation then, the message included, since facts are in the store before they are told.

use lru::LruCache;
use readmark_domain::id::{ConversationId, Uid};
use readmark_domain::window::Tier;
use readmark_runtime::at_once::{self, Call};
use readmark_runtime::ports::Ports;
use readmark_runtime::retry::Retrier;
use readmark_store::StoreError;
use std::sync::Arc;

/// Conversations remembered, for their size at least.
const REMEMBERED: usize = 100_000;
/// Members remembered over all conversations, 8 bytes each.
const MEMBERS_AT_MOST: usize = 2_000_000;
/// How long a list of members is good for telling.
const GOOD_FOR_MS: u64 = 1_000;
/// Conversations read at once.
const READS_AT_ONCE: usize = 16;

/// Who is to be told of a conversation.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    /// More than 5,000 members once: unread is read late there.
    pub is_large: bool,
    /// Members that are present; none where they were not asked for.
    pub members: Arc<[Uid]>,
    /// Every member is in `members`.
    pub has_members: bool,
}

#[derive(Debug)]
struct Known {
    tier: Tier,
    /// `None` when it must be read again.
    group: Option<(Group, u64)>,
}

/// Of a large conversation, are its members wanted?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OfLarge {
    Members,
    Nobody,
}

/// What one owner knows.
pub(crate) struct Groups {
    ports: Ports,
    retrier: Retrier,
    known: LruCache<ConversationId, Known>,
    members: usize,
}

impl Groups {
    pub fn new(ports: Ports, retrier: Retrier) -> Self {
        Self { ports, retrier, known: LruCache::unbounded(), members: 0 }
    }

    /// The size of a group, of any age, once [`Groups::meet`] has made sure of it.
    pub fn tier(&mut self, id: &ConversationId) -> Tier {
        self.known.get(id).map_or(Tier::Small, |known| known.tier)
    }

    /// Makes sure that the sizes of these conversations are known.
    pub async fn meet(&mut self, ids: impl Iterator<Item = &ConversationId>) -> Result<(), StoreError> {
        let unknown: Vec<_> = ids.filter(|id| !self.known.contains(*id)).cloned().collect();
        self.read(unknown.into_iter().map(|id| (id, OfLarge::Nobody)).collect()).await.map(drop)
    }

    /// The roster has changed: it is read again before anybody is told.
    pub fn doubt(&mut self, id: &ConversationId) {
        if let Some(known) = self.known.get_mut(id)
            && let Some((group, _)) = known.group.take()
        {
            self.members -= group.members.len();
        }
    }

    /// Forgets everything: another owner may go on with these conversations.
    pub fn clear(&mut self) {
        self.known.clear();
        self.members = 0;
    }

    /// Whom to tell, in the order asked.
    pub async fn look_up(
        &mut self,
        wanted: Vec<(ConversationId, OfLarge)>,
    ) -> Result<Vec<Group>, StoreError> {
        let now_ms = self.ports.clock.elapsed_ms();
        let mut found: Vec<Option<Group>> = Vec::with_capacity(wanted.len());
        let mut asked = Vec::new();
        for (id, of_large) in wanted {
            let known = self.known.get(&id).and_then(|known| known.group.as_ref());
            let is_good = |(group, read_at_ms): &&(Group, u64)| {
                now_ms.saturating_sub(*read_at_ms) < GOOD_FOR_MS
                    && (group.has_members || of_large == OfLarge::Nobody)
            };
            let good = known.filter(is_good).map(|(group, _)| group.clone());
            if good.is_none() {
                asked.push((id, of_large));
            }
            found.push(good);
        }
        let mut read = self.read(asked).await?.into_iter();
        Ok(found.into_iter().filter_map(|known| known.or_else(|| read.next())).collect())
    }

    async fn read(&mut self, asked: Vec<(ConversationId, OfLarge)>) -> Result<Vec<Group>, StoreError> {
        let read_at_ms = self.ports.clock.elapsed_ms();
        let (ports, retrier) = (&self.ports, &self.retrier);
        let mut reads: Vec<Call<'_, Group, StoreError>> = Vec::new();
        for (id, of_large) in &asked {
            reads.push(Box::pin(read_group(ports, retrier, id, *of_large)));
        }
        let groups = at_once::all(READS_AT_ONCE, reads).await?;
        for ((id, _), group) in asked.into_iter().zip(&groups) {
            self.remember(id, group.clone(), read_at_ms);
        }
        Ok(groups)
    }

    fn remember(&mut self, id: ConversationId, mut group: Group, read_at_ms: u64) {
        let tier = if group.is_large { Tier::Large } else { Tier::of(group.members.len() as u64) };
        if group.is_large {
            // They are wanted once, and may be millions.
            (group.members, group.has_members) = (Arc::default(), false);
        }
        self.members += group.members.len();
        let old = self.known.put(id, Known { tier, group: Some((group, read_at_ms)) });
        self.members -= old.map_or(0, |old| old.members());
        while self.members > MEMBERS_AT_MOST || self.known.len() > REMEMBERED {
            let Some((_, old)) = self.known.pop_lru() else { break };
            self.members -= old.members();
        }
    }
}

impl Known {
    fn members(&self) -> usize {
        self.group.as_ref().map_or(0, |(group, _)| group.members.len())
    }
}

async fn read_group(
    ports: &Ports,
    retrier: &Retrier,
    id: &ConversationId,
    of_large: OfLarge,
) -> Result<Group, StoreError> {
    let store = &*ports.store;
    let is_large = retrier.run(|| store.conversation(id)).await?.is_some_and(|row| row.large);
    if is_large && of_large == OfLarge::Nobody {
        return Ok(Group { is_large, members: Arc::default(), has_members: false });
    }
    let members = retrier.run(|| store.members(id)).await?;
    let present = members.iter().filter(|member| member.is_present()).map(|member| member.uid);
    Ok(Group { is_large, members: present.collect(), has_members: true })
}
