//! The hot state's port: the one in memory behind gates, whose calls fail before or after they took effect.

use crate::mutation::Mutation;
use crate::tap::Tap;
use crate::world::{Ready, World};
use async_trait::async_trait;
use readmark_domain::hot::{Applied, Completed, Epoch, Picture, SyncToken, Synced};
use readmark_domain::id::{ConversationId, Uid};
use readmark_hot::{
    Begun, Held, HotError, HotErrorKind, HotState, TallyTold, Usage, UserChange, Wakeups, Watch,
};
use std::sync::Arc;

/// The hot state as one task sees it.
pub struct SimHot {
    world: Arc<World>,
    tap: Arc<Tap>,
}

impl SimHot {
    /// For one task.
    #[must_use]
    pub const fn new(world: Arc<World>, tap: Arc<Tap>) -> Self {
        Self { world, tap }
    }

    async fn enter(&self, operation: &'static str, detail: impl FnOnce() -> String) -> Result<(), HotError> {
        self.world.gate(Ready::Now).await;
        self.world.note(|| format!("hot {operation} {}", detail()));
        self.fails(operation, "before")
    }

    fn fails(&self, operation: &'static str, when: &str) -> Result<(), HotError> {
        if self.world.state().fails() {
            self.world.note(|| format!("hot {operation} fails {when} it took effect"));
            return Err(HotError::new(operation, "simulation", HotErrorKind::Unavailable, when));
        }
        Ok(())
    }

    /// One change by itself: of a call that is cut off some land.
    async fn apply_one(&self, told: &UserChange) -> Result<Option<Applied>, HotError> {
        self.fails("apply", "before")?;
        let Some(told) = self.tap.told(&self.world.hot, told).await else { return Ok(None) };
        let answer = self.world.hot.apply(std::slice::from_ref(&told)).await.pop().unwrap_or(Ok(None))?;
        self.world
            .note(|| format!("hot {} {}: {:?}, {answer:?}", told.uid, told.conversation_id, told.change));
        self.fails("apply", "after")?;
        Ok(match self.tap.mutation() {
            Some(Mutation::NumbersNotCounted) => answer.map(|applied| Applied { to_count: None, ..applied }),
            _ => answer,
        })
    }
}

/// Waits at the gate, calls the state in memory, and loses the answer now and then.
macro_rules! call {
    ($self:ident, $operation:literal, $detail:expr, $call:expr) => {{
        $self.enter($operation, || format!("{:?}", $detail)).await?;
        let done = $call.await?;
        $self.world.note(|| format!("hot {}: {done:?}", $operation));
        $self.fails($operation, "after")?;
        Ok(done)
    }};
}

#[async_trait]
impl HotState for SimHot {
    async fn apply(&self, changes: &[UserChange]) -> Vec<Result<Option<Applied>, HotError>> {
        self.world.gate(Ready::Now).await;
        let mut answers = Vec::with_capacity(changes.len());
        for told in changes {
            answers.push(self.apply_one(told).await);
        }
        answers
    }

    async fn apply_tallies(&self, tallies: &[TallyTold]) -> Vec<Result<Option<Applied>, HotError>> {
        self.world.gate(Ready::Now).await;
        self.world.note(|| format!("hot apply_tallies {tallies:?}"));
        let mut answers = Vec::with_capacity(tallies.len());
        for told in tallies {
            if let Err(error) = self.fails("apply_tallies", "before") {
                answers.push(Err(error));
                continue;
            }
            let answer = self.world.hot.apply_tallies(std::slice::from_ref(told)).await.pop();
            let after = self.fails("apply_tallies", "after");
            answers.push(after.and_then(|()| answer.unwrap_or(Ok(None))));
        }
        answers
    }

    async fn entries(&self, uid: Uid, since: &SyncToken, limit: usize) -> Result<Held<Synced>, HotError> {
        call!(self, "entries", (uid, since, limit), self.world.hot.entries(uid, since, limit))
    }

    async fn picture(&self, uid: Uid, only: Option<&[ConversationId]>) -> Result<Held<Picture>, HotError> {
        call!(self, "picture", (uid, only), self.world.hot.picture(uid, only))
    }

    async fn touch(&self, uid: Uid) -> Result<Held<()>, HotError> {
        call!(self, "touch", uid, self.world.hot.touch(uid))
    }

    async fn begin_rebuild(&self, uid: Uid) -> Result<Begun, HotError> {
        call!(self, "begin_rebuild", uid, self.world.hot.begin_rebuild(uid))
    }

    async fn complete_rebuild(&self, uid: Uid, epoch: &Epoch) -> Result<Completed, HotError> {
        call!(self, "complete_rebuild", (uid, epoch), self.world.hot.complete_rebuild(uid, epoch))
    }

    async fn forget(&self, uid: Uid) -> Result<(), HotError> {
        call!(self, "forget", uid, self.world.hot.forget(uid))
    }

    async fn forget_all(&self) -> Result<(), HotError> {
        call!(self, "forget_all", (), self.world.hot.forget_all())
    }

    async fn subscribe(&self) -> Result<(Arc<dyn Watch>, Wakeups), HotError> {
        self.world.hot.subscribe().await
    }

    async fn probe(&self) -> Result<(), HotError> {
        Ok(())
    }

    async fn usage(&self) -> Result<Usage, HotError> {
        self.world.hot.usage().await
    }
}
