use crate::append::record;
use crate::state::Gateway;
use readmark_domain::fact::{FlagSet, MarkFact};
use readmark_domain::id::ConversationId;
use readmark_http::{Problem, User};

impl Gateway {
    /// Sets or takes away a flag of a present member; returns when that is durable.
    pub(crate) async fn set_flag(
        &self,
        user: User,
        conversation_id: ConversationId,
        value: bool,
        fact: impl Fn(FlagSet) -> MarkFact,
    ) -> Result<(), Problem> {
        let accepted_at = self.ports.clock.now();
        let look = || async { Ok(self.standing(user.uid, &conversation_id).await?) };
        self.for_sure(&conversation_id, look).await?;
        let (uid, endpoint) = (user.uid, user.endpoint);
        let occurred_at = self.orders.next(uid, self.ports.clock.now());
        let fact = fact(FlagSet { uid, conversation_id, value, endpoint, occurred_at });
        self.append(vec![record(&fact, accepted_at)?]).await
    }
}
