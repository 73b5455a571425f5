//! What stands against an answer.

use crate::settings::DetailsVisibleTo;
use crate::state::Query;
use readmark_domain::counting::Message;
use readmark_domain::id::ConversationId;
use readmark_domain::register::ReceiptsMode;
use readmark_http::{Kind, Problem, Viewer};
use readmark_store::StoreError;

/// Why a message's tally is not told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    UnknownConversation,
    /// No such message yet, or it is gone for good: skipped, expired.
    UnknownMessage {
        gone: bool,
    },
    NotAMember,
    ReceiptsOff,
}

impl Refusal {
    /// May an event that is in the log already change this? Then it is no final answer yet.
    pub const fn is_in_doubt(self) -> bool {
        match self {
            Self::UnknownMessage { gone } => !gone,
            Self::UnknownConversation | Self::NotAMember | Self::ReceiptsOff => true,
        }
    }

    /// The word in a list of receipts.
    pub const fn word(self) -> &'static str {
        match self {
            Self::UnknownConversation | Self::UnknownMessage { .. } => "not_found",
            Self::NotAMember => "forbidden",
            Self::ReceiptsOff => "receipts_off",
        }
    }

    pub fn problem(self) -> Problem {
        match self {
            Self::UnknownConversation => {
                Problem::new(Kind::UnknownConversation, "nothing is known of this conversation")
            }
            Self::UnknownMessage { gone: true } => Problem::new(
                Kind::UnknownMessage,
                "there is no message at this seq any more, or never will be",
            ),
            Self::UnknownMessage { gone: false } => {
                Problem::new(Kind::UnknownMessage, "there is no message at this seq yet")
            }
            Self::NotAMember => Problem::new(Kind::NotAMember, "the caller is no present member"),
            Self::ReceiptsOff => {
                Problem::new(Kind::ReceiptsOff, "the conversation's policy gives no receipts")
            }
        }
    }
}

impl Query {
    /// May `viewer` see tallies of this conversation? Read from its own row, which is never cached.
    pub(crate) async fn refused(
        &self,
        viewer: Viewer,
        id: &ConversationId,
    ) -> Result<Option<Refusal>, StoreError> {
        let Viewer::User(uid) = viewer else { return Ok(None) };
        let registers = self.ports.store.user_conversation(uid, id).await?;
        if registers.is_some_and(|registers| registers.is_present()) {
            return Ok(None);
        }
        let known = self.ports.store.conversation(id).await?.is_some()
            || !self.ports.store.members(id).await?.is_empty();
        Ok(Some(if known { Refusal::NotAMember } else { Refusal::UnknownConversation }))
    }

    /// May `viewer`, who sees the tally, see the names too?
    pub(crate) fn names_refused(
        &self,
        viewer: Viewer,
        mode: ReceiptsMode,
        message: &Message,
    ) -> Option<Problem> {
        if mode != ReceiptsMode::Full {
            return Some(Problem::new(
                Kind::ReceiptsCountOnly,
                "the conversation's policy gives counts without names",
            ));
        }
        let seen = match (viewer, self.settings.details_visible_to) {
            (Viewer::Service, _) | (_, DetailsVisibleTo::Members) => true,
            (Viewer::User(uid), DetailsVisibleTo::Sender) => uid == message.sender_uid,
        };
        (!seen).then(|| Problem::new(Kind::NamesForSenderOnly, "only the sender of the message sees names"))
    }
}
