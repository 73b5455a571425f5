//! At rest: does every device show what the store says?

use crate::device::{Device, Shown};
use crate::oracle::Truth;
use crate::told::now;
use crate::world::World;
use readmark_domain::counting::{MessageFlags, Roster, Tally};
use readmark_domain::hot::{Entry, News, PictureRow, SyncToken, Synced};
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::register::ReceiptsMode;
use readmark_hot::{Held, HotState};
use readmark_store::{ConversationStore, MemberStore, MessageStore, ReadArrayStore};
use readmark_sync::derived_numbers;
use std::collections::BTreeMap;

/// Compares every device with the store.
pub fn check(world: &World, truth: &Truth) {
    let devices = world.state().devices.clone();
    for (number, device) in devices.iter().enumerate() {
        let found = picture(world, device).into_iter().chain(tallies(world, truth, device));
        for found in found {
            world.violation(format!("device {number} of {}: {found}", device.uid));
        }
    }
}

fn shown(row: &PictureRow) -> Shown {
    Shown {
        head: row.row.head.get(),
        read: row.row.read.get(),
        floor: row.row.floor.get(),
        unread: row.row.unread.get(),
        mentions: row.row.mentions.get(),
        marked_unread: row.row.marked_unread,
        muted: row.row.muted,
    }
}

fn picture(world: &World, device: &Device) -> Vec<String> {
    let Some(picture) = now(derived_numbers(&*world.truth, device.uid)) else {
        return vec!["the store has no picture".to_owned()];
    };
    let mut found = Vec::new();
    for row in &picture.rows {
        let (id, said) = (&row.conversation_id, shown(row));
        let shows = device.rows.get(id).copied();
        if shows != Some(said) {
            found.push(format!("shows {shows:?} of {id}, the store says {said:?}"));
        }
    }
    let gone = |id: &ConversationId| picture.rows.iter().all(|row| row.conversation_id != *id);
    for (id, shows) in device.rows.iter().filter(|(id, _)| gone(id)) {
        if (shows.unread, shows.mentions, shows.marked_unread) != (0, 0, false) {
            found.push(format!("shows {shows:?} of {id}, which is closed or left"));
        }
    }
    let totals = (picture.total.get(), picture.total_mentions.get());
    if device.totals != totals || device.sums() != totals {
        found.push(format!("totals {:?}, the store says {totals:?}", device.totals));
    }
    found
}

/// RR-2: the sender's device shows N/M of each message as it is.
fn tallies(world: &World, truth: &Truth, device: &Device) -> Vec<String> {
    let (store, mut found) = (&world.truth, Vec::new());
    for (id, conversation) in &truth.conversations {
        let members = now(store.members(id)).unwrap_or_default();
        let policy = now(store.conversation(id)).flatten().unwrap_or_default().policy;
        let roster = Roster::new(&members, &policy, world.rules.default_receipts);
        let own = conversation.messages.iter().filter(|(n, sent)| {
            let is_told = !sent.expired && !conversation.void.contains(n) && **n > conversation.imported_head;
            sent.sender == device.uid && is_told
        });
        for (n, _) in own {
            let seq = Seq::new_or_zero(*n).unwrap_or_default();
            let message = now(store.messages(id, seq, seq)).unwrap_or_default().pop();
            let array = now(store.read_arrays(id, &[seq])).unwrap_or_default().pop();
            let (Some(message), Some(array)) = (message, array) else { continue };
            let tally = Tally::of(&roster, &message, MessageFlags::default(), &array);
            let shows = device.tallies.get(&(id.clone(), seq)).map(|(_, read, total)| (*read, *total));
            let said = (tally.read, tally.total);
            // A client asks for what it doubts: a state that was lost may hold back what it takes for told.
            let is_asked_again = device.doubted.contains(&(id.clone(), seq));
            if shows != Some(said) && (shows.is_some() || tally.read > 0) && !is_asked_again {
                found.push(format!("RR-2: shows {shows:?} of message {n} of {id}, the truth is {said:?}"));
            }
        }
    }
    found
}

/// How far each user's stream goes, of those that have a whole state, and what its device shows.
pub type Streams = BTreeMap<Uid, (SyncToken, Device)>;

/// As they are now.
#[must_use]
pub fn streams(world: &World) -> Streams {
    let devices = world.state().devices.clone();
    let token = |uid: Uid| match now(world.hot.picture(uid, None)) {
        Some(Held::Complete(picture)) => Some(picture.token),
        Some(Held::Missing | Held::Incomplete) | None => None,
    };
    devices.into_iter().filter_map(|device| Some((device.uid, (token(device.uid)?, device)))).collect()
}

/// RR-6: what is delivered again appends nothing, but tallies that were not told in this life of the state: those of
/// before it, which its devices have asked for, and 0 of M, which nobody had to be told. At or below an imported head
/// an ack that was ignored may be stored now.
pub fn check_streams(world: &World, truth: &Truth, before: &Streams) {
    for (uid, (token, device)) in before {
        let entries = match now(world.hot.entries(*uid, token, usize::MAX)) {
            Some(Held::Complete(Synced::Entries { entries, .. })) => entries,
            other => {
                world.violation(format!("RR-6: the stream of {uid} after {token}: {other:?}"));
                continue;
            }
        };
        for entry in entries {
            let is_known = match &entry.news {
                News::MessageRead { conversation_id, seq, mode, read, total, .. } => {
                    let shown = device.tallies.get(&(conversation_id.clone(), *seq));
                    let is_shown = shown.map_or(*read == 0, |(_, n, m)| (n, m) == (read, total));
                    let imported = truth.conversations.get(conversation_id).map_or(0, |c| c.imported_head);
                    let was_told = was_told(world, *uid, token, conversation_id, *seq);
                    // A policy that goes from full to count is told with the next tally, which may be this one.
                    let may_be_mode = *mode != ReceiptsMode::Full;
                    seq.get() <= imported || (is_shown && (!was_told || may_be_mode))
                }
                News::ConversationRead { .. } | News::UnreadChanged { .. } => false,
            };
            if !is_known {
                world.violation(format!("RR-6: appended to the stream of {uid}: {entry:?}"));
            }
        }
    }
}

/// Was a tally of this message among the entries up to this token that a device has read?
fn was_told(world: &World, uid: Uid, token: &SyncToken, id: &ConversationId, of: Seq) -> bool {
    let (from, to) = ((uid, token.epoch.clone(), 0), (uid, token.epoch.clone(), token.version.get()));
    let told = |entry: &Entry| match &entry.news {
        News::MessageRead { conversation_id, seq, .. } => conversation_id == id && *seq == of,
        News::ConversationRead { .. } | News::UnreadChanged { .. } => false,
    };
    world.state().given.range(from..=to).any(|(_, entry)| told(entry))
}
