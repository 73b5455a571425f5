//! What the answers must be, computed from the facts that were sent, by other means than the product's: no
//! merge, no cache, no log; a list of facts and the rules of who counts, worked out for one message and one
//! member at a time.
//!
//! Facts may be given in any order of delivery; what decides is their `occurred_at`, as in the product.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// N and M of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Readers who count.
    pub read: u64,
    /// Members who count.
    pub total: u64,
}

/// What a user sees of one conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unread {
    /// Messages above the floor.
    pub unread: u64,
    /// Those of them that mention the user.
    pub mentions: u64,
    /// The highest seq read.
    pub read_seq: u64,
    /// The seq up to which nothing is unread.
    pub floor_seq: u64,
    /// Marked by hand.
    pub marked_unread: bool,
    /// Left out of the totals.
    pub muted: bool,
}

/// A flag that a user sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flag {
    /// Marked as unread by hand.
    MarkedUnread,
    /// Left out of the totals.
    Muted,
}

/// Values with their times: the one of the greatest time is in force.
type Timed = BTreeSet<(u64, bool)>;

fn in_force(values: &Timed) -> bool {
    values.last().is_some_and(|(_, value)| *value)
}

#[derive(Debug, Clone)]
struct Message {
    sender_uid: u64,
    sent_at: u64,
    countable: bool,
    mentions: BTreeSet<u64>,
    mention_all: bool,
}

#[derive(Debug, Clone, Default)]
struct Member {
    /// (occurred_at, left): the greatest is in force, and at a tie leaving wins.
    presence: Timed,
    joined: u64,
    acked: BTreeSet<u64>,
    read_up_to: u64,
    cleared: u64,
    marked_unread: Timed,
    muted: Timed,
}

impl Member {
    fn is_present(&self) -> bool {
        self.presence.last().is_some_and(|(_, left)| !left)
    }

    fn has_read(&self, seq: u64) -> bool {
        self.read_up_to >= seq || self.acked.contains(&seq)
    }

    fn read_seq(&self) -> u64 {
        self.read_up_to.max(self.acked.last().copied().unwrap_or(0))
    }
}

#[derive(Debug, Clone, Default)]
struct Conversation {
    messages: BTreeMap<u64, Message>,
    recalled: BTreeSet<u64>,
    skipped: BTreeSet<u64>,
    members: BTreeMap<u64, Member>,
    policies: Timed,
    closed: Timed,
    head: u64,
}

/// Everything that was said.
#[derive(Debug, Clone, Default)]
pub struct Oracle {
    conversations: BTreeMap<String, Conversation>,
    /// (occurred_at, on) of each user; at a tie off sorts first and must win.
    switches: BTreeMap<u64, Timed>,
}

/// Since when a switch is on; `None` when it is off. The last off decides, together with the first on after it.
fn on_since(switches: Option<&Timed>) -> Option<u64> {
    let Some(switches) = switches else { return Some(0) };
    let Some(last_off) = switches.iter().filter(|(_, on)| !on).map(|(at, _)| *at).max() else {
        return Some(0);
    };
    switches.iter().filter(|(at, on)| *on && *at > last_off).map(|(at, _)| *at).min()
}

fn number(event: &Value, field: &str) -> u64 {
    let value = &event[field];
    value.as_u64().or_else(|| value.as_str()?.parse().ok()).unwrap_or_else(|| panic!("{field} in {event}"))
}

impl Oracle {
    /// Takes an event of `POST /v1/events`; the same one again changes nothing.
    pub fn event(&mut self, event: &Value) {
        let at = number(event, "occurred_at");
        let kind = event["type"].as_str().expect("an event has a type");
        if kind == "user_settings" {
            let on = event["receipts"].as_bool().expect("receipts is true or false");
            self.switches.entry(number(event, "uid")).or_default().insert((at, on));
            return;
        }
        let id = event["conversation_id"].as_str().expect("an event names its conversation").to_owned();
        let conversation = self.conversations.entry(id).or_default();
        match kind {
            "message_sent" => {
                let seq = number(event, "seq");
                let mentions = event["mentions"].as_array().map(Vec::as_slice).unwrap_or_default();
                let message = Message {
                    sender_uid: number(event, "sender_uid"),
                    sent_at: at,
                    countable: event["countable"].as_bool().unwrap_or(true),
                    mentions: mentions.iter().filter_map(|uid| uid.as_str()?.parse().ok()).collect(),
                    mention_all: event["mention_all"] == true,
                };
                conversation.messages.entry(seq).or_insert(message);
                conversation.head = conversation.head.max(seq);
            }
            "message_recalled" => {
                conversation.recalled.insert(number(event, "seq"));
            }
            "seq_skipped" => {
                let to = number(event, "to");
                conversation.skipped.extend(number(event, "from")..=to);
                conversation.head = conversation.head.max(to);
            }
            "member_joined" => {
                let member = conversation.members.entry(number(event, "uid")).or_default();
                member.presence.insert((at, false));
                member.joined = member.joined.max(number(event, "at_seq"));
            }
            "member_left" => {
                conversation.members.entry(number(event, "uid")).or_default().presence.insert((at, true));
            }
            "conversation_policy" => {
                conversation.policies.insert((at, event["receipts"] != "off"));
            }
            "conversation_closed" => {
                conversation.closed.insert((at, event["closed"] == true));
            }
            "read" => {
                let member = conversation.read(number(event, "uid"), number(event, "up_to_seq"));
                member.marked_unread.insert((at, false));
            }
            "acked" => {
                for message in event["messages"].as_array().expect("acked lists messages") {
                    conversation.ack(number(event, "uid"), number(message, "seq"));
                }
            }
            other => panic!("the oracle knows no event {other}"),
        }
    }

    /// A user has read everything up to a seq.
    pub fn read(&mut self, conversation_id: &str, uid: u64, up_to_seq: u64) {
        self.conversations.entry(conversation_id.to_owned()).or_default().read(uid, up_to_seq);
    }

    /// A user has read one message.
    pub fn ack(&mut self, conversation_id: &str, uid: u64, seq: u64) {
        self.conversations.entry(conversation_id.to_owned()).or_default().ack(uid, seq);
    }

    /// A user has cleared everything up to a seq.
    pub fn cleared(&mut self, conversation_id: &str, uid: u64, up_to_seq: u64) {
        let conversation = self.conversations.entry(conversation_id.to_owned()).or_default();
        let member = conversation.members.entry(uid).or_default();
        member.cleared = member.cleared.max(up_to_seq);
    }

    /// A user has set or taken away a flag. A "read up to" and a clear of the user's own take the mark away, which must
    /// be said here too.
    pub fn flagged(&mut self, conversation_id: &str, uid: u64, flag: Flag, at: u64, value: bool) {
        let conversation = self.conversations.entry(conversation_id.to_owned()).or_default();
        let member = conversation.members.entry(uid).or_default();
        let values = match flag {
            Flag::MarkedUnread => &mut member.marked_unread,
            Flag::Muted => &mut member.muted,
        };
        values.insert((at, value));
    }

    /// Conversations.
    pub fn conversations(&self) -> impl Iterator<Item = &str> {
        self.conversations.keys().map(String::as_str)
    }

    /// Newest seq.
    #[must_use]
    pub fn head(&self, conversation_id: &str) -> u64 {
        self.conversations[conversation_id].head
    }

    /// Seqs that are messages.
    pub fn messages(&self, conversation_id: &str) -> impl Iterator<Item = u64> {
        self.conversations[conversation_id].messages.keys().copied()
    }

    /// Members present.
    pub fn present(&self, conversation_id: &str) -> impl Iterator<Item = u64> {
        let members = self.conversations[conversation_id].members.iter();
        members.filter(|(_, member)| member.is_present()).map(|(uid, _)| *uid)
    }

    /// Does a user see the conversation: present, and it is not closed?
    #[must_use]
    pub fn sees(&self, conversation_id: &str, uid: u64) -> bool {
        let conversation = &self.conversations[conversation_id];
        !in_force(&conversation.closed) && conversation.members.get(&uid).is_some_and(Member::is_present)
    }

    /// Does the conversation's policy forbid receipts now?
    #[must_use]
    pub fn is_off(&self, conversation_id: &str) -> bool {
        self.conversations[conversation_id].policies.last().is_some_and(|(_, on)| !on)
    }

    /// Whose message it is.
    #[must_use]
    pub fn sender(&self, conversation_id: &str, seq: u64) -> u64 {
        self.conversations[conversation_id].messages[&seq].sender_uid
    }

    /// Is a message recalled?
    #[must_use]
    pub fn is_recalled(&self, conversation_id: &str, seq: u64) -> bool {
        self.conversations[conversation_id].recalled.contains(&seq)
    }

    /// N/M of a message.
    #[must_use]
    pub fn counts(&self, conversation_id: &str, seq: u64) -> Counts {
        let conversation = &self.conversations[conversation_id];
        let mut counts = Counts { read: 0, total: 0 };
        if conversation.recalled.contains(&seq) {
            return counts;
        }
        let message = &conversation.messages[&seq];
        let allowed = |since: Option<u64>| since.is_some_and(|since| since <= message.sent_at);
        if !allowed(on_since(Some(&conversation.policies))) {
            return counts;
        }
        for (uid, member) in &conversation.members {
            let counts_for_it = *uid != message.sender_uid
                && member.is_present()
                && member.joined < seq
                && allowed(on_since(self.switches.get(uid)));
            if counts_for_it {
                counts.total += 1;
                counts.read += u64::from(member.has_read(seq));
            }
        }
        counts
    }

    /// What a present member sees of a conversation.
    #[must_use]
    pub fn unread(&self, conversation_id: &str, uid: u64) -> Unread {
        let conversation = &self.conversations[conversation_id];
        let member = &conversation.members[&uid];
        let own =
            conversation.messages.iter().filter(|(_, m)| m.sender_uid == uid).map(|(seq, _)| *seq).max();
        let read_seq = member.read_seq();
        let floor_seq = read_seq.max(member.joined).max(member.cleared).max(own.unwrap_or(0));
        let counts = |seq: &u64| {
            let countable = conversation.messages.get(seq).is_none_or(|message| message.countable);
            countable && !conversation.recalled.contains(seq) && !conversation.skipped.contains(seq)
        };
        let unread = (floor_seq + 1..=conversation.head).filter(counts).count() as u64;
        let mention = |(seq, message): &(&u64, &Message)| {
            counts(seq) && (message.mention_all || message.mentions.contains(&uid))
        };
        let mentions = conversation.messages.range(floor_seq + 1..).filter(mention).count() as u64;
        let (marked_unread, muted) = (in_force(&member.marked_unread), in_force(&member.muted));
        Unread { unread, mentions, read_seq, floor_seq, marked_unread, muted }
    }

    /// Messages that a user sent, by conversation and seq.
    pub fn sent_by(&self, uid: u64) -> impl Iterator<Item = (&str, u64)> {
        self.conversations.iter().flat_map(move |(id, conversation)| {
            let own = conversation.messages.iter().filter(move |(_, message)| message.sender_uid == uid);
            own.map(|(seq, _)| (id.as_str(), *seq))
        })
    }
}

impl Conversation {
    fn read(&mut self, uid: u64, up_to_seq: u64) -> &mut Member {
        let member = self.members.entry(uid).or_default();
        member.read_up_to = member.read_up_to.max(up_to_seq);
        member
    }

    fn ack(&mut self, uid: u64, seq: u64) {
        self.members.entry(uid).or_default().acked.insert(seq);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn oracle(events: &[Value]) -> Oracle {
        let mut oracle = Oracle::default();
        events.iter().for_each(|event| oracle.event(event));
        oracle
    }

    #[test]
    fn who_counts() {
        let join = |uid: u64, at: u64, at_seq: u64| json!({"type":"member_joined","conversation_id":"c","uid":uid,"at_seq":at_seq,"occurred_at":at});
        let sent = |seq: u64, at: u64| json!({"type":"message_sent","conversation_id":"c","seq":seq,"msg_id":seq,"sender_uid":1,"occurred_at":at});
        let mut facts =
            vec![join(1, 1, 0), join(2, 1, 0), join(3, 1, 0), join(4, 9, 1), sent(1, 2), sent(2, 10)];
        facts.push(json!({"type":"read","conversation_id":"c","uid":2,"up_to_seq":2,"occurred_at":11}));
        facts.push(json!({"type":"user_settings","uid":3,"receipts":false,"occurred_at":5}));
        facts.push(json!({"type":"user_settings","uid":3,"receipts":true,"occurred_at":7}));
        let told = oracle(&facts);
        assert_eq!(told.counts("c", 1), Counts { read: 1, total: 1 }, "4 joined after, 3 was off until 7");
        assert_eq!(told.counts("c", 2), Counts { read: 1, total: 3 });
        let unread = |unread, floor_seq| Unread { unread, floor_seq, ..Unread::default() };
        assert_eq!(told.unread("c", 3), unread(2, 0));
        assert_eq!(told.unread("c", 4), unread(1, 1));
        assert_eq!(told.unread("c", 1), unread(0, 2));
        facts.push(json!({"type":"member_left","conversation_id":"c","uid":2,"at_seq":2,"occurred_at":1}));
        facts.reverse();
        assert_eq!(oracle(&facts).counts("c", 2), Counts { read: 0, total: 2 }, "at a tie leaving wins");
    }

    #[test]
    fn flags_and_mentions() {
        let fact = |kind: &str, at: u64, fields: Value| {
            let mut event = fields;
            event["type"] = json!(kind);
            event["conversation_id"] = json!("c");
            event["occurred_at"] = json!(at);
            event
        };
        let sent = |seq: u64, fields: Value| {
            let mut fields = fields;
            fields["seq"] = json!(seq);
            fields["sender_uid"] = json!(1);
            fact("message_sent", 10 + seq, fields)
        };
        let mut told = oracle(&[
            fact("member_joined", 1, json!({"uid": 2, "at_seq": 0})),
            sent(1, json!({"mentions": ["2"]})),
            sent(2, json!({"mention_all": true})),
            sent(3, json!({"mentions": ["2"], "countable": false})),
            sent(4, json!({"mentions": ["3"]})),
        ]);
        assert_eq!(told.unread("c", 2), Unread { unread: 3, mentions: 2, ..Unread::default() });
        told.flagged("c", 2, Flag::MarkedUnread, 20, true);
        told.flagged("c", 2, Flag::Muted, 21, true);
        told.event(&fact("read", 19, json!({"uid": 2, "up_to_seq": 1})));
        let seen = told.unread("c", 2);
        assert_eq!((seen.mentions, seen.marked_unread, seen.muted), (1, true, true), "marked after the read");
        told.event(&fact("read", 22, json!({"uid": 2, "up_to_seq": 1})));
        assert!(!told.unread("c", 2).marked_unread);
        told.event(&fact("conversation_closed", 5, json!({"closed": true})));
        assert!(!told.sees("c", 2) && !told.is_off("c"));
        told.event(&fact("conversation_policy", 5, json!({"receipts": "off"})));
        assert!(told.is_off("c"));
    }
}
