//! Records taken over: decoded, checked against the head, merged per user and conversation, applied.

use crate::parcel::{Look, Parcel, look_at, read};
use crate::plan::{Plan, UserDone};
use crate::role::Watermark;
use readmark_domain::id::Seq;
use readmark_events::Topic;
use readmark_log::{Position, Record};
use readmark_runtime::at_once::{self, Call};
use readmark_runtime::dead_letter::{DeadLetter, Reason};
use readmark_runtime::parking::Parked;
use readmark_runtime::role::RoleError;
use readmark_store::StoreError;
use std::collections::BTreeMap;

/// Users handled at once: enough to share the store's group commits, few enough to bound memory.
const USERS_AT_ONCE: usize = 32;
/// Records looked up at once.
const LOOKUPS_AT_ONCE: usize = 32;

impl Watermark {
    /// Takes records over; their offsets are held until they are done with.
    pub(crate) async fn take_in(&mut self, records: Vec<Record>) -> Result<(), RoleError> {
        let mut letters = Vec::new();
        let mut parcels = Vec::new();
        for record in records {
            let position = record.position;
            self.progress.hold(position);
            match read(&record) {
                Ok(Some(fact)) => parcels.push(Parcel { record, fact, raised_to: Seq::ZERO }),
                Ok(None) => self.progress.release(position),
                Err(error) if position.partition.topic == Topic::Marks => {
                    letters.push(DeadLetter { record, reason: error.into() });
                }
                // The aggregator reads the same topic and keeps what can't be decoded.
                Err(_) => self.progress.release(position),
            }
        }
        let now_ms = self.tools.ports.clock.elapsed_ms();
        let waiting = self.handle(parcels).await?;
        for parcel in waiting {
            let (position, bytes) = (parcel.record.position, parcel.record.payload.len());
            self.parked.park(Parked { position, since_ms: now_ms, bytes, item: parcel }, now_ms);
        }
        Ok(self.dead_letters.bury(&letters, &mut self.progress).await?)
    }

    /// Looks again at what is parked; what has waited too long is a dead letter.
    pub(crate) async fn look_at_parked(&mut self) -> Result<(), RoleError> {
        let now_ms = self.tools.ports.clock.elapsed_ms();
        let due = self.parked.take_due(now_ms);
        if due.is_empty() {
            return Ok(());
        }
        let mut since: BTreeMap<Position, (u64, usize)> = BTreeMap::new();
        let mut parcels = Vec::with_capacity(due.len());
        for parked in due {
            since.insert(parked.position, (parked.since_ms, parked.bytes));
            parcels.push(parked.item);
        }
        let mut letters = Vec::new();
        for parcel in self.handle(parcels).await? {
            let position = parcel.record.position;
            let (since_ms, bytes) = since.get(&position).copied().unwrap_or((now_ms, 0));
            let parked = Parked { position, since_ms, bytes, item: parcel };
            if parked.is_overdue(now_ms) {
                let reason = Reason::new("beyond-head", "its messages have not come");
                letters.push(DeadLetter { record: parked.item.record, reason });
            } else {
                self.parked.put_back(parked);
            }
        }
        Ok(self.dead_letters.bury(&letters, &mut self.progress).await?)
    }

    /// Applies what can be applied; gives back what has to wait.
    async fn handle(&mut self, parcels: Vec<Parcel>) -> Result<Vec<Parcel>, RoleError> {
        let looks = self.look(&parcels).await?;
        let mut plan = Plan::default();
        let mut waiting = Vec::new();
        for (mut parcel, look) in parcels.into_iter().zip(looks) {
            match look {
                Look::Drop => self.progress.release(parcel.record.position),
                Look::Apply(raises_to) => plan.add(parcel, raises_to),
                Look::Wait(raises_to) => {
                    if raises_to > parcel.raised_to {
                        plan.raise_only(&parcel, raises_to);
                        parcel.raised_to = raises_to;
                    }
                    waiting.push(parcel);
                }
            }
        }
        self.carry_out(plan).await?;
        Ok(waiting)
    }

    async fn look(&self, parcels: &[Parcel]) -> Result<Vec<Look>, RoleError> {
        let mut looks: Vec<Call<'_, Look, StoreError>> = Vec::new();
        for parcel in parcels {
            looks.push(Box::pin(look_at(&self.tools, &parcel.fact)));
        }
        Ok(at_once::all(LOOKUPS_AT_ONCE, looks).await?)
    }

    async fn carry_out(&mut self, plan: Plan) -> Result<(), RoleError> {
        let tools = &self.tools;
        let mut users: Vec<Call<'_, UserDone, RoleError>> = Vec::new();
        for (uid, user) in plan.users {
            users.push(Box::pin(user.apply(tools, uid)));
        }
        let mut letters = Vec::new();
        for done in at_once::all(USERS_AT_ONCE, users).await? {
            for position in done.positions {
                self.progress.release(position);
            }
            letters.extend(done.letters);
        }
        Ok(self.dead_letters.bury(&letters, &mut self.progress).await?)
    }
}
