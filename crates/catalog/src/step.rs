//! What one conversation's share of a batch leads to.

use readmark_domain::id::{ConversationId, Seq};
use readmark_events::DecodeError;
use readmark_log::{LogError, NewRecord, Position};
use readmark_runtime::dead_letter::DeadLetter;
use readmark_runtime::role::RoleError;
use readmark_store::{StoreError, StoreErrorKind};

/// What is to be produced once everything is written.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub conversation_id: ConversationId,
    /// Records whose offsets are held until all of this is done.
    pub positions: Vec<Position>,
    /// conversation-changed, and acks of late messages.
    pub records: Vec<NewRecord>,
    /// Tell senders again, of messages above this seq.
    pub recount_above: Option<Seq>,
    pub dead_letters: Vec<DeadLetter>,
}

impl Outcome {
    pub fn new(conversation_id: ConversationId) -> Self {
        Self {
            conversation_id,
            positions: Vec::new(),
            records: Vec::new(),
            recount_above: None,
            dead_letters: Vec::new(),
        }
    }

    /// Asks for a recount; two of them become one of the lower seq.
    pub fn ask_recount(&mut self, above: Seq) {
        self.recount_above = Some(self.recount_above.map_or(above, |known| known.min(above)));
    }
}

/// Why a step can't go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StepError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Encode(#[from] DecodeError),
}

impl StepError {
    /// Did the store refuse what this record says, for ever? Then the record is a dead letter.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Store(error) => match error.kind {
                StoreErrorKind::Refused => true,
                StoreErrorKind::Unavailable | StoreErrorKind::Corrupt => false,
            },
            Self::Log(_) | Self::Encode(_) => false,
        }
    }

    pub fn into_role_error(self) -> RoleError {
        match self {
            Self::Store(error) => error.into(),
            Self::Log(error) => error.into(),
            Self::Encode(error) => error.into(),
        }
    }
}
