//! Records that can't be used.

use super::{Conversation, Generator, Given, T0_MS, What, given, seq, uid};
use bytes::Bytes;
use readmark_domain::fact::{ConversationFact, MarkFact, MessageSent, UserSettings};
use readmark_domain::id::{ConversationId, MsgId};
use readmark_domain::time::TimeMs;
use readmark_events::Topic;
use readmark_log::NewRecord;
use std::collections::BTreeSet;

impl Generator<'_> {
    /// Records that can't be used.
    pub(super) fn bad(&mut self, conversation: &Conversation) {
        let id = &conversation.id;
        let fresh: Vec<(u64, u64)> = conversation
            .senders
            .iter()
            .filter(|(n, _)| {
                !conversation.old.contains(n)
                    && !conversation.skipped.contains(n)
                    && **n > conversation.imported_head
            })
            .map(|(n, sender)| (*n, *sender))
            .collect();
        let Some((n, sender)) = (!fresh.is_empty()).then(|| self.rng.pick(&fresh)) else { return };
        let other = sender % self.users + 1;
        let reader = other % self.users + 1;
        let record = |topic, key: &str, payload: Vec<u8>| NewRecord {
            topic,
            key: Bytes::from(key.to_owned()),
            payload: Bytes::from(payload),
            headers: vec![],
        };
        let bad = match self.rng.below(6) {
            0 if reader != other => {
                let fact = self.receipts(id, other, reader, &BTreeSet::from([n]));
                given(&fact, |_| What::Bad("sender-mismatch"))
            }
            1 => {
                let topic = self.rng.pick(&[Topic::ConversationEvents, Topic::Acks, Topic::Marks]);
                Given {
                    record: record(topic, id.as_str(), b"{\"type\":".to_vec()),
                    what: What::Bad("malformed"),
                }
            }
            2 => {
                let fact = MarkFact::UserSettings(UserSettings {
                    uid: uid(other),
                    receipts: false,
                    occurred_at: TimeMs::saturating(T0_MS),
                });
                let mut bad = given(&fact, |_| What::Bad("wrong-key"));
                bad.record.key = Bytes::from(format!("{}", other + 1_000));
                bad
            }
            3 => {
                let fact = self.receipts(id, sender, other, &BTreeSet::from([n]));
                let text =
                    String::from_utf8_lossy(&readmark_events::encode(&fact).unwrap_or_default()).into_owned();
                let own = text
                    .replace(&format!("\"reader_uid\":\"{other}\""), &format!("\"reader_uid\":\"{sender}\""));
                Given {
                    record: record(Topic::Acks, &sender.to_string(), own.into_bytes()),
                    what: What::Bad("bad-fact"),
                }
            }
            4 => {
                let payload = format!(r#"{{"v":1,"type":"pinned","conversation_id":"{id}"}}"#);
                let record = record(Topic::ConversationEvents, id.as_str(), payload.into_bytes());
                Given { record, what: What::Bad("unknown-kind") }
            }
            _ => {
                self.conflict(id, n, sender);
                return;
            }
        };
        self.put(bad);
    }

    /// Another message at a known seq, after it.
    fn conflict(&mut self, id: &ConversationId, n: u64, sender: u64) {
        let Some(at) = self.rest.iter().position(|given| given.says_sent(id, seq(n))) else { return };
        let mut bad = self.message(id, n, sender % self.users + 1, T0_MS);
        if let What::Conversation(ConversationFact::MessageSent(sent)) = &bad.what {
            let other = MessageSent { msg_id: MsgId::new(n + 2_000).unwrap_or_default(), ..sent.clone() };
            bad = given(&ConversationFact::MessageSent(other), |_| What::Bad("seq-conflict"));
        }
        let to = at + 1 + self.rng.index(self.rest.len() - at);
        self.rest.insert(to, bad);
    }
}
