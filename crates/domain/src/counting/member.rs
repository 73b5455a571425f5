use super::Message;
use crate::id::{Seq, Uid};
use crate::register::{Presence, UserSwitches};

/// A row of a conversation's members. A row stays when its user leaves: absence is a value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Member {
    /// Who.
    pub uid: Uid,
    /// Present or absent; `None` when only other facts about the user are known so far.
    pub presence: Option<Presence>,
    /// The greatest seq after which it joined.
    pub joined: Seq,
    /// A copy of the user's switches.
    pub switches: UserSwitches,
    /// A copy of the highest "read up to" asked.
    pub claimed: Seq,
    /// A copy of the imported watermark: nothing at or below it makes receipts.
    pub imported: Seq,
}

impl Member {
    /// Present?
    #[must_use]
    pub fn is_present(&self) -> bool {
        self.presence.is_some_and(Presence::is_present)
    }

    /// Does a mark that went past `message` before its event came make this member a reader of it? The mark
    /// reached it, no import and no later join stands between, and the receipt would not be dropped. Asked
    /// of a message that is known already it adds nobody: the mark's own expansion has the same bounds.
    #[must_use]
    pub fn has_claimed(&self, message: &Message) -> bool {
        self.imported.max(self.joined) < message.seq
            && message.seq <= self.claimed
            && self.uid != message.sender_uid
            && self.switches.newest_off().is_none_or(|off| off <= message.sent_at)
    }
}

#[cfg(test)]
mod tests {
    use super::{Member, Message};
    use crate::id::{ConversationId, MsgId, Seq, Uid};
    use crate::register::Switch;
    use crate::time::{Order, TimeMs};

    /// Message 5 of user 1, sent at 500.
    fn message() -> Message {
        Message {
            conversation_id: ConversationId::new("c").unwrap(),
            seq: Seq::new(5).unwrap(),
            msg_id: MsgId::new(905).unwrap(),
            sender_uid: Uid::new(1).unwrap(),
            sent_at: TimeMs::new(500).unwrap(),
            countable: true,
            chunks: 1,
        }
    }

    /// R2, R23, R34: who becomes a reader of a message that comes late.
    #[test]
    fn a_late_message_meets_the_marks_that_passed_it() {
        for (name, uid, [claimed, imported, joined], off_at, wanted) in [
            ("R2: marked 8 before 5 came", 2, [8, 0, 0], None, true),
            ("marked exactly 5", 2, [5, 0, 0], None, true),
            ("marked 4", 2, [4, 0, 0], None, false),
            ("the sender itself", 1, [8, 0, 0], None, false),
            ("R34: imported at 5", 2, [8, 5, 0], None, false),
            ("imported at 4", 2, [8, 4, 0], None, true),
            ("R23: joined at 5", 2, [8, 0, 5], None, false),
            ("R23: off after the message", 2, [8, 0, 0], Some(501), false),
            ("off before the message", 2, [8, 0, 0], Some(500), true),
        ] {
            let seq = |n| Seq::new_or_zero(n).unwrap();
            let off = off_at.map(|at| Switch {
                order: Order::new(at).unwrap(),
                occurred_at: TimeMs::new(at).unwrap(),
                value: false,
            });
            let member = Member {
                uid: Uid::new(uid).unwrap(),
                claimed: seq(claimed),
                imported: seq(imported),
                joined: seq(joined),
                switches: off.into_iter().collect(),
                ..Member::default()
            };
            assert_eq!(member.has_claimed(&message()), wanted, "{name}");
        }
    }
}
