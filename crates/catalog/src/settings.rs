//! Closing and policy of a conversation.

use crate::step::{Outcome, StepError};
use crate::tools::Tools;
use readmark_domain::fact::{ConversationClosed, ConversationPolicy, order_of};
use readmark_domain::id::Seq;
use readmark_domain::register::Latest;
use readmark_events::{ConversationChanged, DecodeError};
use readmark_log::NewRecord;

/// Writes a closing or an opening and tells the register as read back.
pub(crate) async fn apply_closed(
    tools: &Tools,
    fact: &ConversationClosed,
    outcome: &mut Outcome,
) -> Result<(), StepError> {
    let (store, retrier, id) = (&*tools.ports.store, &tools.retrier, &fact.conversation_id);
    let order =
        order_of(tools.rules.order_source, fact.occurred_at, fact.version).map_err(DecodeError::from)?;
    let written = Latest { order, value: fact.closed };
    retrier.run(|| store.set_closed(id, written)).await?;
    let closed = retrier.run(|| store.conversation(id)).await?.and_then(|c| c.closed).unwrap_or(written);
    if closed != written {
        tools.shared.stale_facts_total.with_label_values(&["conversation_closed"]).inc();
    }
    let changed = ConversationChanged::Closed { conversation_id: id.clone(), closed };
    outcome.records.push(NewRecord::of(&changed)?);
    Ok(())
}

/// Adds a policy switch. A recount follows when it changed since when receipts are allowed, or when it was
/// stored already: then this is a repetition after a crash that may have cut the recount off.
pub(crate) async fn apply_policy(
    tools: &Tools,
    fact: &ConversationPolicy,
    outcome: &mut Outcome,
) -> Result<(), StepError> {
    let (store, retrier, id) = (&*tools.ports.store, &tools.retrier, &fact.conversation_id);
    let default = tools.rules.default_receipts;
    let switch = fact.switch(tools.rules.order_source).map_err(DecodeError::from)?;
    let before = retrier.run(|| store.conversation(id)).await?.unwrap_or_default().policy;
    retrier.run(|| store.add_policy(id, switch)).await?;
    let after = retrier.run(|| store.conversation(id)).await?.unwrap_or_default().policy;
    let was_stored = before.iter().any(|known| *known == switch);
    if was_stored || after.since(default) != before.since(default) {
        outcome.ask_recount(Seq::ZERO);
    }
    let receipts = after.in_force(default);
    let changed = ConversationChanged::Policy { conversation_id: id.clone(), receipts };
    outcome.records.push(NewRecord::of(&changed)?);
    Ok(())
}
