//! What the roles have told so far, as devices and operators would keep it; each record is checked as it is
//! appended: nothing is told that is not in the store.

use crate::world::{State, World};
use futures::FutureExt;
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::invariant::TallyBounds;
use readmark_domain::register::{Latest, Presence};
use readmark_events::{
    ConversationChanged, ConversationRead, DeadLetterHeaders, FlagsChanged, MessageRead, ReadChanged, Source,
    Topic, decode,
};
use readmark_log::{Position, TopicPartition};
use readmark_store::{ConversationStore, MemberStore, MessageStore, ReadArrayStore, UserStore};
use std::collections::BTreeMap;

use crate::log::Stored;

/// A user's registers in a conversation, as told: each merged as a receiver merges it.
#[derive(Debug, Clone, Default)]
pub struct ToldMarks {
    /// Greatest read_seq.
    pub read: Seq,
    /// Greatest floor.
    pub floor: Seq,
    /// The flag of greatest order.
    pub marked_unread: Option<Latest>,
    /// The flag of greatest order.
    pub muted: Option<Latest>,
}

/// Everything told.
#[derive(Debug, Default)]
pub struct Told {
    /// The sender's device: the message_read of greatest version.
    pub devices: BTreeMap<(ConversationId, Seq), MessageRead>,
    /// Number of the newest message_read.
    pub message_read_no: BTreeMap<(ConversationId, Seq), u64>,
    /// The reader's devices.
    pub marks: BTreeMap<(Uid, ConversationId), ToldMarks>,
    /// Number of the newest head that names a message.
    pub message_no: BTreeMap<(ConversationId, Seq), u64>,
    /// Greatest head.
    pub heads: BTreeMap<ConversationId, Seq>,
    /// Number of the newest record that says that a seq is not counted.
    pub uncounted_no: BTreeMap<(ConversationId, Seq), u64>,
    /// Presence of greatest key, and number of the newest record.
    pub roster: BTreeMap<(ConversationId, Uid), (Presence, Seq, u64)>,
    /// The flag of greatest order.
    pub closed: BTreeMap<ConversationId, Latest>,
    /// Number of the newest record of a policy.
    pub policy_no: BTreeMap<ConversationId, u64>,
    /// Number of the next record when who counts last changed.
    pub who_counts_no: BTreeMap<ConversationId, u64>,
    /// Dead letters by where their record lay: reasons.
    pub letters: BTreeMap<Position, Vec<String>>,
    /// How many message_read were told.
    pub message_reads: u64,
}

/// The answer of a store that never waits.
pub fn now<T, E>(answer: impl Future<Output = Result<T, E>>) -> Option<T> {
    answer.now_or_never().and_then(Result::ok)
}

/// Takes a record in that was just appended.
pub fn observe(world: &World, stored: &Stored) {
    let record = &stored.record;
    let key = record.key.as_deref();
    match record.position.partition.topic {
        Topic::ReadChanged => match decode::<ReadChanged>(key, &record.payload) {
            Ok(ReadChanged::MessageRead(told)) => message_read(world, told, stored.no),
            Ok(ReadChanged::ConversationRead(told)) => conversation_read(world, &told),
            Ok(ReadChanged::FlagsChanged(told)) => flags_changed(world, &told),
            Err(error) => world.violation(format!("read-changed can't be read: {error}")),
        },
        Topic::ConversationChanged => match decode::<ConversationChanged>(key, &record.payload) {
            Ok(told) => conversation_changed(world, told, stored.no),
            Err(error) => world.violation(format!("conversation-changed can't be read: {error}")),
        },
        Topic::DeadLetters => dead_letter(world, stored),
        Topic::ConversationEvents | Topic::Acks | Topic::Marks => {}
    }
}

fn message_read(world: &World, told: MessageRead, no: u64) {
    let (id, seq) = (told.conversation_id.clone(), told.seq);
    let arrays = now(world.truth.read_arrays(&id, &[seq])).unwrap_or_default();
    let array = arrays.into_iter().next().unwrap_or_default();
    if let Err(violation) = (TallyBounds { read: told.read, total: told.total }).check() {
        world.violation(violation.to_string());
    }
    let gone = now(world.truth.messages(&id, seq, seq)).is_none_or(|found| found.is_empty());
    if gone {
        return;
    }
    if told.read as usize > array.len() || told.readers_added.iter().any(|reader| !array.contains(*reader)) {
        world.violation(format!("told before it is stored: {told:?}, stored {array:?}"));
    }
    let mut state = world.state();
    let State { log, .. } = &mut *state;
    log.told.message_reads += 1;
    log.told.message_read_no.insert((id.clone(), seq), no);
    let known = log.told.devices.get(&(id.clone(), seq)).cloned();
    let contradicts = known.as_ref().is_some_and(|known| {
        known.tally_version == told.tally_version && (known.read, known.total) != (told.read, told.total)
    });
    if known.as_ref().is_none_or(|known| known.tally_version < told.tally_version) {
        log.told.devices.insert((id, seq), told.clone());
    }
    drop(state);
    if contradicts {
        world.violation(format!("RR-8: one version, two tallies: {known:?} and {told:?}"));
    }
}

fn conversation_read(world: &World, told: &ConversationRead) {
    let row =
        now(world.truth.user_conversation(told.uid, &told.conversation_id)).flatten().unwrap_or_default();
    if told.read_seq > row.read.seq || told.floor_seq > row.floor() || told.floor_seq < told.read_seq {
        world.violation(format!("told before it is stored: {told:?}, stored {row:?}"));
    }
    let mut state = world.state();
    let marks = state.log.told.marks.entry((told.uid, told.conversation_id.clone())).or_default();
    marks.read = marks.read.max(told.read_seq);
    marks.floor = marks.floor.max(told.floor_seq);
    marks.marked_unread = marks.marked_unread.max(told.marked_unread);
}

fn flags_changed(world: &World, told: &FlagsChanged) {
    let mut state = world.state();
    let marks = state.log.told.marks.entry((told.uid, told.conversation_id.clone())).or_default();
    marks.marked_unread = marks.marked_unread.max(told.marked_unread);
    marks.muted = marks.muted.max(told.muted);
}

fn conversation_changed(world: &World, told: ConversationChanged, no: u64) {
    let id = told.conversation_id().clone();
    let stored = now(world.truth.conversation(&id)).flatten().unwrap_or_default();
    match told {
        ConversationChanged::Head { head_seq, messages, .. } => {
            if head_seq > stored.head {
                world.violation(format!("head {head_seq} of {id} told before it is stored"));
            }
            let mut state = world.state();
            let told = &mut state.log.told;
            let head = told.heads.entry(id.clone()).or_default();
            *head = (*head).max(head_seq);
            for message in messages {
                told.message_no.insert((id.clone(), message.seq), no);
            }
        }
        ConversationChanged::Uncounted { seqs, head_seq, .. } => {
            let known =
                now(world.truth.flags(&id, Seq::ZERO.next(), Seq::LAST, usize::MAX)).unwrap_or_default();
            let flagged = |seq: Seq| known.iter().any(|(at, flags)| *at == seq && flags.is_uncounted());
            if head_seq > stored.head || seqs.iter().any(|seq| !flagged(seq)) {
                world.violation(format!("uncounted {seqs:?} of {id} told before it is stored"));
            }
            let mut state = world.state();
            let told = &mut state.log.told;
            let head = told.heads.entry(id.clone()).or_default();
            *head = (*head).max(head_seq);
            for seq in seqs.iter() {
                told.uncounted_no.insert((id.clone(), seq), no);
            }
        }
        ConversationChanged::Roster { uid, presence, joined_seq, .. } => {
            let row =
                now(world.truth.members_of(&id, &[uid])).and_then(|rows| rows.into_iter().next().flatten());
            let row = row.unwrap_or_default();
            if row.presence < Some(presence) || row.joined < joined_seq {
                world.violation(format!("presence of {uid} in {id} told before it is stored"));
            }
            let mut state = world.state();
            let known = state.log.told.roster.entry((id, uid)).or_insert((presence, joined_seq, no));
            *known = (known.0.max(presence), known.1.max(joined_seq), no);
        }
        ConversationChanged::Closed { closed, .. } => {
            if stored.closed < Some(closed) {
                world.violation(format!("closed of {id} told before it is stored"));
            }
            let mut state = world.state();
            let known = state.log.told.closed.entry(id).or_insert(closed);
            *known = (*known).max(closed);
        }
        ConversationChanged::Policy { .. } => {
            world.state().log.told.policy_no.insert(id, no);
        }
    }
}

fn dead_letter(world: &World, stored: &Stored) {
    let Some(headers) = DeadLetterHeaders::from_headers(&stored.record.headers) else {
        world.violation("a dead letter without its headers".to_owned());
        return;
    };
    let Source { topic, partition, offset } = headers.source;
    let position = Position { partition: TopicPartition { topic, partition }, offset };
    world.note(|| format!("dead letter {} {}: {}", headers.role, headers.reason, headers.detail));
    world.state().log.told.letters.entry(position).or_default().push(headers.reason);
}
