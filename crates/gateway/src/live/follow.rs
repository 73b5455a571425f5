//! What a connection is to be sent, cut into messages.

use super::limits::{ENTRIES_AT_ONCE, ENTRIES_BYTES_MAX};
use super::sockets::Sockets;
use readmark_domain::hot::{Entry, SyncToken};
use readmark_http::{Problem, User};
use readmark_query::{Snapshot, problem};
use readmark_sync::News;

/// What was read for a connection.
pub(super) struct Read {
    pub followed: Followed,
    /// Is there more to be read at once?
    pub has_more: bool,
    /// Is the user in large conversations, of which nobody is woken?
    pub has_large: bool,
}

/// What the client is sent.
pub(super) enum Followed {
    /// This takes the place of all that it has.
    Snapshot(Box<Whole>),
    /// These come after what it has.
    Batches(Vec<Batch>),
}

/// A snapshot with its token.
pub(super) struct Whole {
    pub snapshot: Snapshot,
    pub token: SyncToken,
}

/// Entries that fit one message, and the token after them.
pub(super) struct Batch {
    pub entries: Vec<Entry>,
    pub token: SyncToken,
}

impl Sockets {
    /// Reads what comes after the token; a snapshot without one.
    pub(super) async fn read(&self, user: &User, token: Option<&SyncToken>) -> Result<Read, Problem> {
        let followed = self.live.follow(user.uid, token, ENTRIES_AT_ONCE).await.map_err(problem)?;
        let has_large = followed.has_large;
        Ok(match followed.news {
            News::Entries { entries, token, more } => {
                let entries = entries.into_iter().map(|entry| entry.delivered_to(user.endpoint.as_ref()));
                let followed = Followed::Batches(batches(entries, &token));
                Read { followed, has_more: more, has_large }
            }
            News::Snapshot(picture) => {
                let token = picture.token.clone();
                let whole = Whole { snapshot: Snapshot::from(*picture), token };
                Read { followed: Followed::Snapshot(Box::new(whole)), has_more: false, has_large }
            }
        })
    }
}

/// Cuts entries into messages of bounded size. `token` is of their epoch.
fn batches(entries: impl Iterator<Item = Entry>, token: &SyncToken) -> Vec<Batch> {
    let mut batches: Vec<Batch> = Vec::new();
    let mut bytes = 0;
    for entry in entries {
        let size = serde_json::to_string(&entry).map_or(0, |text| text.len() + 1);
        let token = SyncToken { epoch: token.epoch.clone(), version: entry.version };
        match batches.last_mut().filter(|_| bytes + size <= ENTRIES_BYTES_MAX) {
            Some(batch) => {
                batch.entries.push(entry);
                batch.token = token;
                bytes += size;
            }
            None => {
                batches.push(Batch { entries: vec![entry], token });
                bytes = size;
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entry(version: u64, readers: usize) -> Entry {
        let readers: Vec<String> = (0..readers).map(|n| (9_000_000_000 + n).to_string()).collect();
        let entry = json!({"version": version.to_string(), "kind": "message_read", "conversation_id": "c", "seq": "1",
                           "mode": "full", "read": "1", "total": "2", "readers_added": readers,
                           "tally_version": format!("{:032x}", 7)});
        serde_json::from_value(entry).expect("an entry")
    }

    #[test]
    fn messages_are_small_and_tokens_say_what_they_hold() {
        let token: SyncToken = "a.300".parse().expect("a token");
        assert!(batches(std::iter::empty(), &token).is_empty());
        let batches = batches((1..=300).map(|version| entry(version, 100)), &token);
        assert!(batches.len() > 1);
        let mut next = 1;
        for batch in &batches {
            let text = serde_json::to_string(&batch.entries).expect("JSON");
            assert!(text.len() <= ENTRIES_BYTES_MAX + 2, "{}", text.len());
            for entry in &batch.entries {
                assert_eq!(entry.version.get(), next);
                next += 1;
            }
            assert_eq!(batch.token.version.get(), next - 1);
        }
        assert_eq!(next, 301);
    }
}
