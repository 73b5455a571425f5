//! Where a user stands in a conversation, and what stands against its call.

use crate::state::Gateway;
use moka::future::Cache;
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_http::{Item, Kind, Problem};
use readmark_store::{Conversation, StoreError, UserConversation};
use std::time::Duration;

/// Standings remembered at most, some 300 bytes each.
const REMEMBERED_MAX: u64 = 50_000;

/// How long a standing is remembered: the restart of a store, and some more. Whoever left meanwhile is still taken for
/// a member for so long; its receipts don't count.
const REMEMBERED: Duration = Duration::from_secs(600);

/// A present member of an open conversation.
///
/// Both rows are read for every call: somebody who has left, or a conversation that was closed, is refused as soon
/// as it shows anywhere. Only while the store is away what it said last stands in, so that acks go on.
#[derive(Debug, Clone)]
pub(crate) struct Standing {
    pub registers: UserConversation,
    pub conversation: Conversation,
}

/// What the store said last of members who called.
pub(crate) struct LastStandings(Cache<(Uid, ConversationId), Standing>);

impl Default for LastStandings {
    fn default() -> Self {
        Self(Cache::builder().max_capacity(REMEMBERED_MAX).time_to_live(REMEMBERED).build())
    }
}

/// Why a call can't be accepted now. Any of these may be outdated by an event that is in the log already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    UnknownConversation,
    NotAMember,
    Closed,
    /// Seqs of messages that are not there, each with its place in the request.
    NotThere(Vec<(Option<usize>, Seq)>),
}

impl Refusal {
    fn problem(self) -> Problem {
        match self {
            Self::UnknownConversation => {
                Problem::new(Kind::UnknownConversation, "nothing is known of this conversation")
            }
            Self::NotAMember => Problem::new(Kind::NotAMember, "the caller is no present member"),
            Self::Closed => Problem::new(Kind::ConversationClosed, "the conversation is closed"),
            Self::NotThere(seqs) => {
                let item = |(index, seq): (Option<usize>, Seq)| Item {
                    index,
                    field: Some("seq".to_owned()),
                    detail: format!("message {seq} is not there yet"),
                };
                let detail =
                    "the message is beyond the head, or has not arrived though later ones have: try again";
                Problem::new(Kind::SeqBeyondHead, detail).with_items(seqs.into_iter().map(item).collect())
            }
        }
    }
}

impl Gateway {
    /// Where `uid` stands; while the store is away, where it stood last.
    pub(crate) async fn standing(
        &self,
        uid: Uid,
        id: &ConversationId,
    ) -> Result<Result<Standing, Refusal>, StoreError> {
        let (LastStandings(last), key) = (&self.last_standings, (uid, id.clone()));
        let read = self.read_standing(uid, id).await;
        match &read {
            Ok(Ok(standing)) => last.insert(key, standing.clone()).await,
            Ok(Err(_)) => last.invalidate(&key).await,
            Err(error) if error.is_retryable() => {
                if let Some(standing) = last.get(&key).await {
                    return Ok(Ok(standing));
                }
            }
            Err(_) => {}
        }
        read
    }

    async fn read_standing(
        &self,
        uid: Uid,
        id: &ConversationId,
    ) -> Result<Result<Standing, Refusal>, StoreError> {
        let store = &*self.ports.store;
        let (registers, conversation) =
            futures::try_join!(store.user_conversation(uid, id), store.conversation(id))?;
        match (registers, conversation) {
            (Some(registers), conversation) if registers.is_present() => {
                let conversation = conversation.unwrap_or_default();
                let closed = conversation.is_closed();
                Ok(if closed { Err(Refusal::Closed) } else { Ok(Standing { registers, conversation }) })
            }
            (_, Some(_)) => Ok(Err(Refusal::NotAMember)),
            (_, None) if store.members(id).await?.is_empty() => Ok(Err(Refusal::UnknownConversation)),
            (_, None) => Ok(Err(Refusal::NotAMember)),
        }
    }

    /// What `look` says, where a refusal is said only when it is sure.
    pub(crate) async fn for_sure<T, F>(&self, id: &ConversationId, look: impl Fn() -> F) -> Result<T, Problem>
    where
        F: Future<Output = Result<Result<T, Refusal>, Problem>>,
    {
        match look().await? {
            Ok(accepted) => Ok(accepted),
            Err(_) => self.sure.look_again([id], look).await?.map_err(Refusal::problem),
        }
    }
}
