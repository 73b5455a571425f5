//! Where a user stands in a conversation, and what stands against its call.

use crate::state::Gateway;
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_http::{Item, Kind, Problem};
use readmark_store::{Conversation, StoreError, UserConversation};

/// A present member of an open conversation.
///
/// Both rows are read for every call and never cached: somebody who has left, or a conversation that was
/// closed, is refused as soon as it shows anywhere.
pub(crate) struct Standing {
    pub registers: UserConversation,
    pub conversation: Conversation,
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
    /// Where `uid` stands.
    pub(crate) async fn standing(
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
