//! What a batch asks, by user and conversation: everything is a merge, so many facts become one write.

use crate::change::Change;
use crate::expansion::Expansion;
use crate::parcel::{Fact, Parcel};
use crate::settings::apply_switches;
use crate::tools::Tools;
use readmark_domain::fact::MarkFact;
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::register::{Latest, Switch};
use readmark_log::{Position, Record};
use readmark_runtime::dead_letter::{DeadLetter, Reason};
use readmark_runtime::role::RoleError;
use readmark_store::{Raise, StoreError, StoreErrorKind};
use std::collections::BTreeMap;

/// Facts of a batch, by user.
#[derive(Default)]
pub(crate) struct Plan {
    pub users: BTreeMap<Uid, UserPlan>,
}

/// Facts about one user.
#[derive(Default)]
pub(crate) struct UserPlan {
    changes: BTreeMap<ConversationId, Change>,
    switches: Vec<Switch<bool>>,
    switch_positions: Vec<Position>,
    records: Vec<Record>,
}

pub(crate) struct UserDone {
    pub positions: Vec<Position>,
    pub letters: Vec<DeadLetter>,
}

impl Plan {
    fn change(&mut self, uid: Uid, id: &ConversationId) -> &mut Change {
        self.users.entry(uid).or_default().changes.entry(id.clone()).or_default()
    }

    /// What of a waiting record can be applied already.
    pub fn raise_only(&mut self, parcel: &Parcel, raises_to: Seq) {
        if let Fact::Receipts(receipts) = &parcel.fact {
            self.change(receipts.reader_uid, &receipts.conversation_id).raise_read(
                raises_to,
                receipts.endpoint.clone(),
                receipts.occurred_at,
            );
        }
    }

    pub fn add(&mut self, parcel: Parcel, raises_to: Seq) {
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
        let accepted_at = record.accepted_at();
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
    pub async fn apply(self, tools: &Tools, uid: Uid) -> Result<UserDone, RoleError> {
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
