//! Records taken over: decoded, checked against the head, merged per user and conversation, applied.

use crate::change::{Change, Expansion};
use crate::role::{Tools, Watermark};
use crate::settings::apply_switches;
use futures::future::BoxFuture;
use readmark_domain::fact::{AckFact, MarkFact, Origin, Receipts};
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::register::{Latest, Switch};
use readmark_domain::verdict::judge;
use readmark_events::{DecodeError, Topic, decode, header_name};
use readmark_log::{Position, Record};
use readmark_runtime::at_once;
use readmark_runtime::dead_letter::{DeadLetter, Reason};
use readmark_runtime::parking::Parked;
use readmark_runtime::role::RoleError;
use readmark_store::lookup::places;
use readmark_store::{Raise, StoreError, StoreErrorKind};
use std::collections::BTreeMap;

/// Users handled at once: enough to share the store's group commits, few enough to bound memory.
const USERS_AT_ONCE: usize = 32;
/// Records looked up at once.
const LOOKUPS_AT_ONCE: usize = 32;

/// A record of this role with what it says.
#[derive(Debug)]
pub(crate) struct Parcel {
    record: Record,
    fact: Fact,
    /// How far it has raised the watermark while the rest of it waits.
    raised_to: Seq,
}

#[derive(Debug)]
enum Fact {
    Receipts(Receipts),
    Mark(MarkFact),
}

/// What a look at the store says about a record.
enum Look {
    /// It can be applied as it is; receipts raise to this seq (zero: to nothing).
    Apply(Seq),
    /// Receipts raise to this seq, but some of their messages are not there yet; or the head is below a mark.
    Wait(Seq),
    /// The aggregator puts the same record among the dead letters, by the same rule.
    Drop,
}

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
        self.bury(letters).await
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
        self.bury(letters).await
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
        let mut looks: Vec<BoxFuture<'_, Result<Look, StoreError>>> = Vec::new();
        for parcel in parcels {
            looks.push(Box::pin(look_at(&self.tools, &parcel.fact)));
        }
        Ok(at_once::all(LOOKUPS_AT_ONCE, looks).await?)
    }

    async fn carry_out(&mut self, plan: Plan) -> Result<(), RoleError> {
        let tools = &self.tools;
        let mut users: Vec<BoxFuture<'_, Result<UserDone, RoleError>>> = Vec::new();
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
        self.bury(letters).await
    }

    async fn bury(&mut self, letters: Vec<DeadLetter>) -> Result<(), RoleError> {
        self.dead_letters.send(&letters).await?;
        for letter in letters {
            self.progress.release(letter.record.position);
        }
        Ok(())
    }
}

/// What the record says to this role; recounts and expansions say nothing.
fn read(record: &Record) -> Result<Option<Fact>, DecodeError> {
    let key = record.key.as_deref();
    if record.position.partition.topic == Topic::Marks {
        return decode(key, &record.payload).map(|fact| Some(Fact::Mark(fact)));
    }
    Ok(match decode(key, &record.payload)? {
        AckFact::Receipts(receipts) if receipts.origin == Origin::Client => Some(Fact::Receipts(receipts)),
        AckFact::Receipts(_) | AckFact::Recount(_) => None,
    })
}

async fn look_at(tools: &Tools, fact: &Fact) -> Result<Look, StoreError> {
    let store = &*tools.ports.store;
    match fact {
        Fact::Receipts(receipts) => {
            let (id, now) = (&receipts.conversation_id, tools.ports.clock.now());
            let found =
                tools.retrier.run(|| places(store, id, &receipts.seqs, tools.rules.retention, now)).await?;
            Ok(match judge(receipts.sender_uid, found, None) {
                Ok(verdict) if verdict.parked.is_empty() => Look::Apply(verdict.raises_to),
                Ok(verdict) => Look::Wait(verdict.raises_to),
                Err(_) => Look::Drop,
            })
        }
        Fact::Mark(mark) => match needs_head(mark) {
            None => Ok(Look::Apply(Seq::ZERO)),
            Some((id, up_to)) => {
                let head = tools.retrier.run(|| store.conversation(id)).await?.unwrap_or_default().head;
                Ok(if up_to <= head { Look::Apply(Seq::ZERO) } else { Look::Wait(Seq::ZERO) })
            }
        },
    }
}

/// Which head a mark must not be beyond. An import may come before the head it was taken at.
fn needs_head(mark: &MarkFact) -> Option<(&ConversationId, Seq)> {
    match mark {
        MarkFact::ReadUpTo(fact) => Some((&fact.conversation_id, fact.up_to_seq)),
        MarkFact::Cleared(fact) => Some((&fact.conversation_id, fact.up_to_seq)),
        MarkFact::WatermarkImported(fact) => Some((&fact.conversation_id, fact.read_seq)),
        MarkFact::MarkedUnread(_)
        | MarkFact::Muted(_)
        | MarkFact::UserSettings(_)
        | MarkFact::UserErased(_) => None,
    }
}

/// Facts of a batch, by user.
#[derive(Default)]
struct Plan {
    users: BTreeMap<Uid, UserPlan>,
}

/// Facts about one user.
#[derive(Default)]
struct UserPlan {
    changes: BTreeMap<ConversationId, Change>,
    switches: Vec<Switch<bool>>,
    switch_positions: Vec<Position>,
    records: Vec<Record>,
}

struct UserDone {
    positions: Vec<Position>,
    letters: Vec<DeadLetter>,
}

impl Plan {
    fn change(&mut self, uid: Uid, id: &ConversationId) -> &mut Change {
        self.users.entry(uid).or_default().changes.entry(id.clone()).or_default()
    }

    /// What of a waiting record can be applied already.
    fn raise_only(&mut self, parcel: &Parcel, raises_to: Seq) {
        if let Fact::Receipts(receipts) = &parcel.fact {
            self.change(receipts.reader_uid, &receipts.conversation_id).raise_read(
                raises_to,
                receipts.endpoint.clone(),
                receipts.occurred_at,
            );
        }
    }

    fn add(&mut self, parcel: Parcel, raises_to: Seq) {
        let Parcel { record, fact, .. } = parcel;
        let position = record.position;
        match fact {
            Fact::Receipts(receipts) => {
                let uid = receipts.reader_uid;
                let change = self.change(uid, &receipts.conversation_id);
                if raises_to > Seq::ZERO {
                    change.raise_read(raises_to, receipts.endpoint, receipts.occurred_at);
                }
                change.positions.push(position);
                self.users.entry(uid).or_default().records.push(record);
            }
            Fact::Mark(mark) => self.add_mark(record, mark),
        }
    }

    fn add_mark(&mut self, record: Record, mark: MarkFact) {
        let (position, uid) = (record.position, mark.uid());
        let accepted_at = record.header(header_name::ACCEPTED_AT_MS).map(str::to_owned);
        match mark {
            MarkFact::ReadUpTo(fact) => {
                let change = self.change(uid, &fact.conversation_id);
                let (up_to, endpoint, occurred_at) = (fact.up_to_seq, fact.endpoint, fact.occurred_at);
                change.read_up_to(Expansion { up_to, endpoint, occurred_at, accepted_at });
                change.positions.push(position);
            }
            MarkFact::Cleared(fact) => {
                let change = self.change(uid, &fact.conversation_id);
                change.clear(fact.up_to_seq, fact.occurred_at);
                change.positions.push(position);
            }
            MarkFact::MarkedUnread(fact) => {
                let latest = Latest { order: fact.occurred_at.as_order(), value: fact.value };
                let change = self.change(uid, &fact.conversation_id);
                change.flag(Raise::MarkedUnread(latest), fact.endpoint);
                change.positions.push(position);
            }
            MarkFact::Muted(fact) => {
                let latest = Latest { order: fact.occurred_at.as_order(), value: fact.value };
                let change = self.change(uid, &fact.conversation_id);
                change.flag(Raise::Muted(latest), fact.endpoint);
                change.positions.push(position);
            }
            MarkFact::WatermarkImported(fact) => {
                let change = self.change(uid, &fact.conversation_id);
                change.import(fact.read_seq, fact.occurred_at);
                change.positions.push(position);
            }
            MarkFact::UserSettings(fact) => {
                let user = self.users.entry(uid).or_default();
                user.switches.push(fact.switch());
                user.switch_positions.push(position);
            }
            MarkFact::UserErased(fact) => {
                let user = self.users.entry(uid).or_default();
                let (order, occurred_at) = (fact.occurred_at.as_order(), fact.occurred_at);
                user.switches.push(Switch { order, occurred_at, value: false });
                user.switch_positions.push(position);
            }
        }
        self.users.entry(uid).or_default().records.push(record);
    }
}

impl UserPlan {
    /// Applies everything of one user; what the store refuses for ever is a dead letter.
    async fn apply(self, tools: &Tools, uid: Uid) -> Result<UserDone, RoleError> {
        let mut done = UserDone { positions: Vec::new(), letters: Vec::new() };
        let records = self.records;
        let mut refuse =
            |positions: &[Position], error: &StoreError| {
                let refused = records.iter().filter(|record| positions.contains(&record.position));
                done.letters.extend(refused.map(|record| DeadLetter {
                    record: record.clone(),
                    reason: Reason::new("refused", error),
                }));
            };
        let mut finished = Vec::new();
        for (id, change) in self.changes {
            let positions = change.positions.clone();
            if change.raises.is_empty() {
                finished.extend(positions);
                continue;
            }
            match change.apply(tools, uid, &id).await {
                Ok(positions) => finished.extend(positions),
                Err(RoleError::Store(error)) if error.kind == StoreErrorKind::Refused => {
                    refuse(&positions, &error);
                }
                Err(error) => return Err(error),
            }
        }
        if !self.switches.is_empty() {
            match apply_switches(tools, uid, &self.switches).await {
                Ok(()) => finished.extend(self.switch_positions),
                Err(RoleError::Store(error)) if error.kind == StoreErrorKind::Refused => {
                    refuse(&self.switch_positions, &error);
                }
                Err(error) => return Err(error),
            }
        }
        done.positions = finished;
        Ok(done)
    }
}
