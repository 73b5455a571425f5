use super::{FactError, order_of};
use crate::id::ConversationId;
use crate::register::{ReceiptsMode, Switch};
use crate::time::{Order, OrderSource, TimeMs};
use serde::{Deserialize, Serialize};

/// What receipts a conversation allows from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ConversationPolicy {
    /// The conversation.
    pub conversation_id: ConversationId,
    /// The new policy.
    pub receipts: ReceiptsMode,
    /// When: messages sent from then on are judged by it. Where the installation uses versions it may be
    /// left out over HTTP, and the gateway's clock is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occurred_at: Option<TimeMs>,
    /// The order where the installation uses versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Order>,
}

impl ConversationPolicy {
    /// As a switch of the conversation.
    ///
    /// # Errors
    /// As [`order_of`]; [`FactError::OccurredAtMissing`] also with a version, since a switch needs its time.
    pub fn switch(&self, source: OrderSource) -> Result<Switch<ReceiptsMode>, FactError> {
        let order = order_of(source, self.occurred_at, self.version)?;
        let occurred_at = self.occurred_at.ok_or(FactError::OccurredAtMissing)?;
        Ok(Switch { order, occurred_at, value: self.receipts })
    }
}
