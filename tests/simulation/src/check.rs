//! At rest: is the store, and is what was told, the truth?

use crate::log::Stored;
use crate::oracle::{Conversation, Marks, Truth};
use crate::told::{ToldMarks, now};
use crate::world::World;
use readmark_domain::counting::{Message, MessageFlags, Roster, Tally, lists};
use readmark_domain::fact::AckFact;
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::invariant::{Excuse, NothingLost, TallyLists, VersionRises};
use readmark_domain::read_array::ReadArray;
use readmark_domain::register::ReceiptsMode;
use readmark_domain::unread::unread;
use readmark_events::{Topic, decode};
use readmark_log::Position;
use readmark_store::lookup::count_uncounted;
use readmark_store::{ConversationStore, MemberStore, MessageStore, ReadArrayStore, UserStore};
use std::collections::BTreeMap;

fn seq(n: u64) -> Seq {
    Seq::new_or_zero(n).unwrap_or_default()
}

/// Compares everything with the truth.
pub fn check(world: &World, truth: &Truth, default_receipts: ReceiptsMode) {
    let checker = Checker { world, truth, default_receipts };
    for (id, conversation) in &truth.conversations {
        checker.conversation(id, conversation);
        for uid in &truth.users {
            checker.marks(*uid, id, conversation);
        }
    }
    for uid in &truth.users {
        checker.switches(*uid);
    }
}

struct Checker<'a> {
    world: &'a World,
    truth: &'a Truth,
    default_receipts: ReceiptsMode,
}

/// A message with everything that is stored about it.
struct Found {
    message: Message,
    flags: MessageFlags,
    /// At or below an imported head: an ack that came before it was ignored, and a zombie's flush of the same
    /// ack after it may have been cut off, so that its device may lag.
    imported: bool,
    array: ReadArray,
}

impl Checker<'_> {
    fn require(&self, held: bool, what: impl FnOnce() -> String) {
        if !held {
            self.world.violation(what());
        }
    }

    fn conversation(&self, id: &ConversationId, wanted: &Conversation) {
        let store = &self.world.truth;
        let row = now(store.conversation(id)).flatten().unwrap_or_default();
        self.require(row.head.get() == wanted.head, || {
            format!("head of {id}: {}, not {}", row.head, wanted.head)
        });
        self.require(row.imported_head.get() == wanted.imported_head, || format!("imported head of {id}"));
        let closed = row.closed.map(|closed| (closed.order.get(), closed.value));
        self.require(closed == wanted.closed, || {
            format!("closed of {id}: {closed:?}, not {:?}", wanted.closed)
        });
        let members = now(store.members(id)).unwrap_or_default();
        for (uid, said) in &wanted.presence {
            let member = members.iter().find(|member| member.uid == *uid).cloned().unwrap_or_default();
            let key = said.last().map(|(order, left)| 2 * order + u64::from(*left));
            let joined = wanted.joined.get(uid).copied().unwrap_or(0);
            let held = member.presence.map(|p| p.key().get()) == key && member.joined.get() == joined;
            self.require(held, || {
                format!("presence of {uid} in {id}: {member:?}, not {key:?} after {joined}")
            });
            let told = self.world.state().log.told.roster.get(&(id.clone(), *uid)).copied();
            let told = told.map(|(presence, joined, _)| (presence.key().get(), joined.get()));
            self.require(told == key.map(|key| (key, joined)), || {
                format!("told presence of {uid} in {id}: {told:?}")
            });
        }
        let roster = Roster::new(&members, &row.policy, self.default_receipts);
        let flags = now(store.flags(id, seq(1), Seq::LAST, usize::MAX)).unwrap_or_default();
        let flags: BTreeMap<u64, MessageFlags> =
            flags.into_iter().map(|(at, flags)| (at.get(), flags)).collect();
        for (n, sent) in &wanted.messages {
            let found = now(store.messages(id, seq(*n), seq(*n))).and_then(|found| found.into_iter().next());
            self.require(found.is_some() != sent.expired, || {
                format!("message {n} of {id}: {found:?}, {sent:?}")
            });
            let Some(message) = found else { continue };
            self.require(message.sender_uid == sent.sender, || format!("sender of {n} of {id}: {message:?}"));
            let array = now(store.read_arrays(id, &[seq(*n)])).and_then(|a| a.into_iter().next());
            let flags = flags.get(n).copied().unwrap_or_default();
            self.require(flags.is_void() == wanted.void.contains(n), || {
                format!("flags of {n} of {id}: {flags:?}")
            });
            let imported = *n <= wanted.imported_head;
            self.message(&roster, Found { message, flags, imported, array: array.unwrap_or_default() });
        }
    }

    fn message(&self, roster: &Roster, found: Found) {
        let Found { message, flags, imported, array } = found;
        let (id, n) = (&message.conversation_id, message.seq.get());
        let tally = Tally::of(roster, &message, flags, &array);
        let named = |uid: &Uid| (id.clone(), n, *uid);
        for reader in array.readers() {
            self.require(self.truth.may.contains(&named(reader)), || {
                format!("invented: {reader} of {n} of {id}")
            });
        }
        let counting: Vec<Uid> =
            self.truth.users.iter().copied().filter(|uid| self.truth.counts(id, n, *uid)).collect();
        let read = counting.iter().filter(|uid| array.contains(**uid)).count();
        let naive = if flags.is_void() { (0, 0) } else { (read, counting.len()) };
        let counted = (tally.read as usize, tally.total as usize);
        self.require(counted == naive, || format!("tally of {n} of {id}: {counted:?}, not {naive:?}"));
        let (readers, non_readers) = lists(roster, &message, flags, &array);
        let checked = TallyLists { tally: &tally, readers: &readers, non_readers: &non_readers }.check();
        self.require(checked.is_ok(), || format!("{checked:?}"));

        let device = self.world.state().log.told.devices.get(&(id.clone(), message.seq)).cloned();
        let shown = device.as_ref().map(|told| (told.read, told.total));
        if let Some(told) = &device {
            let before =
                Tally { read: told.read, total: told.total, version: told.tally_version, mode: tally.mode };
            let checked = VersionRises { before: &before, after: &tally }.check();
            self.require(checked.is_ok(), || format!("{n} of {id}: {checked:?}"));
        }
        let right = flags.is_void() || imported || shown == Some((tally.read, tally.total));
        for reader in &self.truth.users {
            let lost = NothingLost {
                seq: message.seq,
                reader: *reader,
                stored: array.contains(*reader) || !self.truth.must.contains(&named(reader)),
                dead: false,
                excuse: flags.is_void().then_some(Excuse::Void),
                to_be_told: false,
                told: false,
            };
            if let Err(violation) = lost.check() {
                self.world.violation(format!("{violation} of {id}"));
            }
        }
        let to_be_told = device.is_some() || tally.read > 0;
        self.require(right || !to_be_told, || {
            format!("RR-2: the device shows {device:?} for {n} of {id}, the truth is {tally:?}")
        });
    }

    fn marks(&self, uid: Uid, id: &ConversationId, conversation: &Conversation) {
        let row = now(self.world.truth.user_conversation(uid, id)).flatten().unwrap_or_default();
        let wanted = self.truth.marks.get(&(uid, id.clone())).cloned().unwrap_or_default();
        let told = self.world.state().log.told.marks.get(&(uid, id.clone())).cloned();
        let joined = conversation.joined.get(&uid).copied().unwrap_or(0);
        let Marks { read_at_least, read_at_most, claimed, cleared, imported, own, .. } = wanted;
        let read = row.read.seq.get();
        let what = |name: &str, is: u64, wanted: u64| format!("{name} of {uid} in {id}: {is}, not {wanted}");
        self.require((read_at_least..=read_at_most.max(read_at_least)).contains(&read), || {
            what("read", read, read_at_least)
        });
        for (name, is, wanted) in [
            ("claimed", row.claimed.get(), claimed),
            ("cleared", row.cleared.get(), cleared),
            ("imported", row.imported.get(), imported),
            ("own", row.own.get(), own),
            ("joined", row.joined.get(), joined),
        ] {
            self.require(is == wanted, || what(name, is, wanted));
        }
        let receipted = row.receipted.get();
        let expanded = receipted.max(joined) >= claimed && receipted <= claimed.max(imported);
        self.require(expanded, || what("receipted", receipted, claimed));
        let flags = [row.marked_unread, row.muted].map(|flag| flag.map(|f| (f.order.get(), f.value)));
        let said = [wanted.marked_unread, wanted.muted];
        self.require(flags == said, || format!("flags of {uid} in {id}: {flags:?}, not {said:?}"));
        let ToldMarks { read: told_read, marked_unread, muted, .. } = told.unwrap_or_default();
        let told_all = told_read == row.read.seq || (wanted.vague && told_read < row.read.seq);
        self.require(told_all, || what("told read", told_read.get(), read));
        let told = (marked_unread, muted);
        self.require(told == (row.marked_unread, row.muted), || {
            format!("told flags of {uid} in {id}: {told:?}")
        });

        let floor = read.max(joined).max(cleared).max(own);
        let naive = (floor + 1..=conversation.head).filter(|n| !conversation.uncounted.contains(n)).count();
        let head = seq(conversation.head);
        let uncounted = now(count_uncounted(&*self.world.truth, id, row.floor(), head)).unwrap_or_default();
        let derived = unread(head, row.floor(), uncounted);
        self.require(derived == naive as u64, || what("unread", derived, naive as u64));
    }

    fn switches(&self, uid: Uid) {
        let stored = now(self.world.truth.user_switches(uid)).unwrap_or_default();
        let said = self.truth.switches.get(&uid).map(Vec::as_slice).unwrap_or_default();
        let all = said.iter().all(|said| {
            stored.iter().any(|s| (s.order.get().cast_signed(), s.occurred_at.get(), s.value) == *said)
        });
        self.require(all && (!said.is_empty() || stored.is_empty()), || {
            format!("switches of {uid}: {stored:?}")
        });
    }
}

/// Dead letters are exactly those that must be. `of` says which given record lies where; records that the
/// roles produced are not in it.
pub fn check_letters(world: &World, truth: &Truth, of: &BTreeMap<Position, usize>, excused: &[Position]) {
    let letters = world.state().log.told.letters.clone();
    for (position, number) in of {
        let found = letters.get(position);
        match truth.dead.get(number) {
            Some(_) if excused.contains(position) => {}
            Some(reason) => {
                if !found.is_some_and(|reasons| reasons.iter().any(|found| found == reason)) {
                    world.violation(format!("{position:?} must be a dead letter ({reason}), is {found:?}"));
                }
            }
            None if truth.may_be_dead.contains(number) || excused.contains(position) => {}
            None => {
                if let Some(reasons) = found {
                    world.violation(format!("{position:?} is a dead letter and should not be: {reasons:?}"));
                }
            }
        }
    }
    for (position, reasons) in &letters {
        if !of.contains_key(position)
            && !excused.contains(position)
            && !names_expired(world, truth, *position)
        {
            world.violation(format!("{position:?} of a role is a dead letter: {reasons:?}"));
        }
    }
}

/// Is it an ack that names a message that is gone by now?
fn names_expired(world: &World, truth: &Truth, position: Position) -> bool {
    let slice = world.state().log.slice(position.partition, position.offset, position.offset + 1);
    let Some(Stored { record, .. }) = slice.first() else { return false };
    if position.partition.topic != Topic::Acks {
        return false;
    }
    let (id, seqs) = match decode::<AckFact>(record.key.as_deref(), &record.payload) {
        Ok(AckFact::Receipts(fact)) => (fact.conversation_id, fact.seqs),
        Ok(AckFact::Recount(fact)) => (fact.conversation_id, fact.seqs),
        Err(_) => return false,
    };
    let sent = truth.conversations.get(&id).map(|c| c.messages.clone()).unwrap_or_default();
    seqs.iter().any(|seq| sent.get(&seq.get()).is_some_and(|sent| sent.expired))
}
