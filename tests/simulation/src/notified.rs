//! RR-7 for the notifier: at every position it stores, every state that may be read has merged what was said before.

use crate::told::now;
use crate::world::World;
use readmark_domain::hot::PictureRow;
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::register::{Latest, Presence};
use readmark_events::{ConversationChanged, ReadChanged};
use readmark_hot::{Held, HotState};
use readmark_store::{Conversation, ConversationStore, MemberStore, UserStore};

type Told = Result<(), String>;

/// What a user's state says of a conversation.
enum Says {
    /// There is no state to be read, or numbers are being counted for it.
    Nothing,
    /// No row.
    NoRow,
    Row(PictureRow),
}

fn says(world: &World, uid: Uid, id: &ConversationId) -> Says {
    let only = [id.clone()];
    match now(world.hot.picture(uid, Some(&only))) {
        Some(Held::Complete(picture)) => match picture.rows.into_iter().next() {
            Some(row) if row.to_count.is_some() => Says::Nothing,
            Some(row) => Says::Row(row),
            None => Says::NoRow,
        },
        Some(Held::Missing | Held::Incomplete) | None => Says::Nothing,
    }
}

fn require(held: bool, uid: Uid, what: &str) -> Told {
    if held { Ok(()) } else { Err(format!("{uid} was not told {what}")) }
}

fn conversation(world: &World, id: &ConversationId) -> Conversation {
    now(world.truth.conversation(id)).flatten().unwrap_or_default()
}

/// Was this fact, in the record of this number, told?
pub fn conversation_changed(world: &World, no: u64, changed: &ConversationChanged) -> Told {
    let id = changed.conversation_id();
    match changed {
        ConversationChanged::Head { head_seq, messages, .. } => {
            let named = messages.iter().map(|message| message.seq).max().unwrap_or(*head_seq);
            each_row(world, id, no, |uid, row| {
                require(row.row.head >= named, uid, &format!("the head {named} of {id}"))?;
                let own = messages.iter().filter(|message| message.sender_uid == uid);
                let own = own.map(|message| message.seq).max().unwrap_or_default();
                require(row.row.floor >= own, uid, &format!("of its own message {own} of {id}"))
            })
        }
        // Rows have numbers only: at rest they are compared.
        ConversationChanged::Uncounted { .. } | ConversationChanged::Policy { .. } => Ok(()),
        ConversationChanged::Roster { uid, presence, .. } => roster(world, id, *uid, *presence),
        ConversationChanged::Closed { closed, .. } => {
            if !closed.value || conversation(world, id).closed != Some(*closed) {
                return Ok(());
            }
            each_row(world, id, no, |uid, _| require(false, uid, &format!("that {id} is closed")))
        }
    }
}

/// Of every member with a row. Large conversations are looked at by whoever reads; and who has come or gone since the
/// record was written is told that by a record of its own, which may still be to come.
fn each_row(
    world: &World,
    id: &ConversationId,
    no: u64,
    mut check: impl FnMut(Uid, &PictureRow) -> Told,
) -> Told {
    let changed_no = world.state().log.told.who_counts_no.get(id).copied();
    if conversation(world, id).large || changed_no.is_some_and(|changed| changed > no) {
        return Ok(());
    }
    let members = now(world.truth.members(id)).unwrap_or_default();
    for member in members.into_iter().filter(|member| member.presence.is_some_and(Presence::is_present)) {
        if let Says::Row(row) = says(world, member.uid, id) {
            check(member.uid, &row)?;
        }
    }
    Ok(())
}

/// Unless something newer is in the store, which may have been told or not.
fn roster(world: &World, id: &ConversationId, uid: Uid, presence: Presence) -> Told {
    let row = now(world.truth.user_conversation(uid, id)).flatten().unwrap_or_default();
    if row.presence != Some(presence) || conversation(world, id).closed.is_some() {
        return Ok(());
    }
    match says(world, uid, id) {
        Says::Nothing => Ok(()),
        Says::NoRow => require(!presence.is_present(), uid, &format!("that it is in {id}")),
        Says::Row(_) => require(presence.is_present(), uid, &format!("that it has left {id}")),
    }
}

/// Was this fact told? Of tallies a state shows nothing; devices do, at rest.
pub fn read_changed(world: &World, changed: &ReadChanged) -> Told {
    match changed {
        ReadChanged::MessageRead(_) => Ok(()),
        ReadChanged::ConversationRead(told) => {
            let (uid, id) = (told.uid, &told.conversation_id);
            let Says::Row(row) = says(world, uid, id) else { return Ok(()) };
            let at_least =
                |is: Seq, said: Seq, what| require(is >= said, uid, &format!("{what} {said} of {id}"));
            at_least(row.row.read, told.read_seq, "the mark")?;
            at_least(row.row.floor, told.floor_seq, "the floor")
        }
        ReadChanged::FlagsChanged(told) => {
            let (uid, id) = (told.uid, &told.conversation_id);
            let Says::Row(row) = says(world, uid, id) else { return Ok(()) };
            let stored = now(world.truth.user_conversation(uid, id)).flatten().unwrap_or_default();
            let newest = told.muted == stored.muted && told.marked_unread == stored.marked_unread;
            let shown = (row.row.muted, row.row.marked_unread);
            let said = (Latest::value_of(told.muted), Latest::value_of(told.marked_unread));
            require(!newest || shown == said, uid, &format!("the flags of {id}"))
        }
    }
}
