//! What one device shows, kept from what it is sent, each piece of which is checked as it comes:
//! versions without gaps, nothing that only rises ever falls, totals are sums, N is at most M.

use readmark_test_harness::device::Shown;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A message: conversation and seq.
pub type Place = (String, u64);

/// What is shown of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Row {
    /// The newest seq.
    pub head: u64,
    /// The watermark.
    pub read: u64,
    /// Up to which nothing is unread.
    pub floor: u64,
    /// Messages above it.
    pub unread: u64,
    /// Those of them that mention the user.
    pub mentions: u64,
    /// Marked by hand.
    pub marked_unread: bool,
    /// Left out of the totals.
    pub muted: bool,
}

/// A device.
#[derive(Debug, Clone, Default)]
pub struct Device {
    endpoint: String,
    /// How far it has followed.
    pub token: Option<String>,
    version: u64,
    /// What is shown; of what was left or closed, nothing unread.
    pub rows: BTreeMap<String, Row>,
    /// Unread and mentions in all.
    pub totals: (u64, u64),
    /// N/M of the user's own messages.
    pub tallies: BTreeMap<Place, Shown>,
    /// Messages of which an older tally said something else, and none since that was not older.
    pub doubted: BTreeSet<Place>,
    /// Head, read and floor of each conversation, as high as they were ever shown.
    highest: BTreeMap<String, [u64; 3]>,
    /// The total is not the sum, after one entry: the next one must say the rest.
    sum_is_due: bool,
    /// Snapshots so far.
    pub snapshots: u64,
    /// Entries so far.
    pub entries: u64,
}

fn number(of: &Value, field: &str) -> Result<u64, String> {
    let number = of[field].as_str().and_then(|text| text.parse().ok());
    number.ok_or_else(|| format!("{field} is no number in {of}"))
}

fn flag(of: &Value, field: &str) -> Result<bool, String> {
    of[field].as_bool().ok_or_else(|| format!("{field} is no flag in {of}"))
}

fn text(of: &Value, field: &str) -> Result<String, String> {
    of[field].as_str().map(str::to_owned).ok_or_else(|| format!("{field} is no text in {of}"))
}

/// Epoch and version of a token. Clients don't look into one; the design says what is in it.
fn parts(token: &str) -> Result<(&str, u64), String> {
    let parts = token.rsplit_once('.').and_then(|(epoch, version)| Some((epoch, version.parse().ok()?)));
    parts.ok_or_else(|| format!("{token:?} is no token"))
}

impl Device {
    /// One that has nothing yet, with the endpoint of its token.
    #[must_use]
    pub fn new(endpoint: &str) -> Self {
        Self { endpoint: endpoint.to_owned(), ..Self::default() }
    }

    /// Takes a message of the server; says whether it was a snapshot.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn take(&mut self, frame: &Value) -> Result<bool, String> {
        match frame["type"].as_str() {
            Some("ready") => match self.token.as_deref() == frame["token"].as_str() {
                true => Ok(false),
                false => Err(format!("ready with another token than {:?}: {frame}", self.token)),
            },
            Some("snapshot") => self.take_snapshot(frame).map(|()| true),
            Some("entries") => self.take_entries(frame).map(|()| false),
            _ => Err(format!("what is {frame}?")),
        }
    }

    fn take_snapshot(&mut self, frame: &Value) -> Result<(), String> {
        let (snapshot, token) = (&frame["snapshot"], text(frame, "token")?);
        let mut rows = BTreeMap::new();
        for one in snapshot["conversations"].as_array().ok_or("a snapshot without conversations")? {
            let row = Row {
                head: number(one, "head_seq")?,
                read: number(one, "read_seq")?,
                floor: number(one, "floor_seq")?,
                unread: number(one, "unread")?,
                mentions: number(one, "mentions")?,
                marked_unread: flag(one, "marked_unread")?,
                muted: flag(one, "muted")?,
            };
            let id = text(one, "conversation_id")?;
            self.rises(&id, [Some(row.head), Some(row.read), Some(row.floor)])?;
            rows.insert(id, row);
        }
        self.rows = rows;
        self.totals = (number(snapshot, "total")?, number(snapshot, "mentions")?);
        self.version = parts(&token)?.1;
        self.token = Some(token);
        self.snapshots += 1;
        self.sum_is_due = false;
        if self.sums() != self.totals {
            return Err(format!("the total is not the sum {:?}: {frame}", self.sums()));
        }
        Ok(())
    }

    fn take_entries(&mut self, frame: &Value) -> Result<(), String> {
        let token = text(frame, "token")?;
        let known = self.token.clone().ok_or_else(|| format!("entries before a snapshot: {frame}"))?;
        if parts(&known)?.0 != parts(&token)?.0 {
            return Err(format!("entries of another epoch than {known}: {frame}"));
        }
        for entry in frame["entries"].as_array().ok_or("entries without entries")? {
            let version = number(entry, "version")?;
            if version != self.version + 1 {
                return Err(format!("version {version} after {}: {frame}", self.version));
            }
            self.version = version;
            self.entries += 1;
            self.take_entry(entry)?;
        }
        if self.version != parts(&token)?.1 {
            return Err(format!("the token is not that of the last entry: {frame}"));
        }
        self.token = Some(token);
        Ok(())
    }

    fn take_entry(&mut self, entry: &Value) -> Result<(), String> {
        let id = text(entry, "conversation_id")?;
        let mut row = self.rows.get(&id).copied().unwrap_or_default();
        match entry["kind"].as_str() {
            Some("message_read") => return self.take_tally(id, entry),
            Some("conversation_read") => {
                row.read = number(entry, "read_seq")?;
                let is_own = entry["endpoint"] == self.endpoint.as_str();
                if flag(entry, "own")? != is_own {
                    return Err(format!("own is wrong for {}: {entry}", self.endpoint));
                }
            }
            Some("unread_changed") => {
                row.head = number(entry, "head_seq")?;
                row.muted = flag(entry, "muted")?;
            }
            _ => return Err(format!("an entry of no known kind: {entry}")),
        }
        row.floor = number(entry, "floor_seq")?;
        row.unread = number(entry, "unread")?;
        row.mentions = number(entry, "mentions")?;
        row.marked_unread = flag(entry, "marked_unread")?;
        let named = |field: &str, value: u64| (!entry[field].is_null()).then_some(value);
        let named = [named("head_seq", row.head), named("read_seq", row.read), Some(row.floor)];
        self.rises(&id, named).map_err(|wrong| format!("{wrong} by {entry}"))?;
        self.rows.insert(id, row);
        self.totals = (number(entry, "total_unread")?, number(entry, "total_mentions")?);
        let is_sum = self.sums() == self.totals;
        if !is_sum && self.sum_is_due {
            return Err(format!("the total is not the sum {:?} for two entries: {entry}", self.sums()));
        }
        self.sum_is_due = !is_sum;
        Ok(())
    }

    fn take_tally(&mut self, id: String, entry: &Value) -> Result<(), String> {
        let place = (id, number(entry, "seq")?);
        let version = text(entry, "tally_version")?;
        let told = Shown { version, read: number(entry, "read")?, total: number(entry, "total")? };
        let names = entry["readers_added"].as_array().map_or(0, Vec::len) as u64;
        if names > told.read || names > 0 && entry["mode"] != "full" {
            return Err(format!("names that must not be: {entry}"));
        }
        match self.tallies.get(&place).filter(|known| known.version > told.version) {
            Some(known) if (known.read, known.total) != (told.read, told.total) => {
                self.doubted.insert(place);
                Ok(())
            }
            Some(_) => Ok(()),
            None => self.merge(place, told),
        }
    }

    /// Takes a tally over, of an answer.
    ///
    /// # Errors
    /// When it can't be.
    pub fn merge(&mut self, place: Place, told: Shown) -> Result<(), String> {
        if told.read > told.total {
            return Err(format!("N above M of {place:?}: {told:?}"));
        }
        self.doubted.remove(&place);
        match self.tallies.get(&place) {
            Some(known) if known.version > told.version => {}
            Some(known) if known.version == told.version && *known != told => {
                return Err(format!("one version of {place:?} is {known:?} and {told:?}"));
            }
            Some(_) | None => {
                self.tallies.insert(place, told);
            }
        }
        Ok(())
    }

    /// Shows no tally of this message any more, because it may not be seen now.
    pub fn forget(&mut self, place: &Place) {
        self.doubted.remove(place);
        self.tallies.remove(place);
    }

    fn rises(&mut self, id: &str, now: [Option<u64>; 3]) -> Result<(), String> {
        let highest = self.highest.entry(id.to_owned()).or_default();
        for ((name, now), before) in ["head", "read", "floor"].into_iter().zip(now).zip(highest) {
            let Some(now) = now else { continue };
            if now < *before {
                return Err(format!("{name} of {id} falls from {before} to {now}"));
            }
            *before = now;
        }
        Ok(())
    }

    /// The sum of what it shows, of unread and mentions.
    #[must_use]
    pub fn sums(&self) -> (u64, u64) {
        let loud = || self.rows.values().filter(|row| !row.muted);
        (loud().map(|row| row.unread).sum(), loud().map(|row| row.mentions).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(fields: &[(&str, Value)]) -> Value {
        let mut row = json!({"conversation_id": "c", "head_seq": "9", "read_seq": "4", "floor_seq": "4", "unread": "5",
                             "mentions": "0", "marked_unread": false, "muted": false});
        fields.iter().for_each(|(field, value)| row[*field] = value.clone());
        row
    }

    fn snapshot(row: &Value, total: &str) -> Value {
        let snapshot = json!({"total": total, "mentions": "0", "conversations": [row]});
        json!({"type": "snapshot", "token": "a.7", "snapshot": snapshot})
    }

    fn entry(version: u64, fields: &[(&str, Value)]) -> Value {
        let mut entry = row(&[("version", json!(version.to_string())), ("kind", json!("unread_changed"))]);
        (entry["total_unread"], entry["total_mentions"]) = (json!("5"), json!("0"));
        fields.iter().for_each(|(field, value)| entry[*field] = value.clone());
        json!({"type": "entries", "entries": [entry], "token": format!("a.{version}")})
    }

    fn device() -> Device {
        let mut device = Device::new("phone");
        assert_eq!(device.take(&snapshot(&row(&[]), "5")), Ok(true));
        device
    }

    /// A device that finds nothing wrong would make every test that uses it worthless.
    #[test]
    fn what_is_wrong_is_found() {
        assert_eq!(device().take(&entry(8, &[])), Ok(false));
        assert_eq!(device().take(&json!({"type": "ready", "token": "a.7"})), Ok(false));
        let wrong = [
            entry(7, &[]),
            entry(9, &[]),
            entry(8, &[("head_seq", json!("8"))]),
            entry(8, &[("floor_seq", json!("3"))]),
            entry(8, &[("unread", json!(5))]),
            entry(
                8,
                &[("kind", json!("conversation_read")), ("read_seq", json!("3")), ("own", json!(false))],
            ),
            entry(8, &[("kind", json!("conversation_read")), ("own", json!(true))]),
            entry(8, &[("kind", json!("else"))]),
            snapshot(&row(&[]), "6"),
            snapshot(&row(&[("read_seq", json!("3"))]), "5"),
            json!({"type": "ready", "token": "a.6"}),
            json!({"type": "entries", "entries": [], "token": "b.7"}),
            json!({"type": "entries", "entries": [], "token": "a.8"}),
        ];
        for frame in wrong {
            assert!(device().take(&frame).is_err(), "{frame}");
        }
        let mut late = device();
        assert_eq!(
            late.take(&entry(8, &[("unread", json!("4"))])),
            Ok(false),
            "the next one may say the rest"
        );
        assert!(late.take(&entry(9, &[("unread", json!("4"))])).is_err());
    }

    #[test]
    fn tallies_are_compared() {
        let told = |version: u64, of: &str, read: &str, names: usize| {
            let fields = json!({"version": version.to_string(), "kind": "message_read", "conversation_id": "c", "seq": "1",
                                "mode": "full", "read": read, "total": "3", "readers_added": vec!["8"; names], "tally_version": of});
            json!({"type": "entries", "entries": [fields], "token": format!("a.{version}")})
        };
        let mut device = device();
        assert_eq!(device.take(&told(8, "2", "2", 2)), Ok(false));
        assert_eq!(device.take(&told(9, "1", "1", 0)), Ok(false));
        assert_eq!((device.tallies.len(), device.doubted.len()), (1, 1), "an older one of other numbers");
        assert_eq!(device.take(&told(10, "2", "2", 0)), Ok(false));
        assert!(device.doubted.is_empty());
        let wrong = [told(11, "2", "3", 0), told(11, "3", "4", 0), told(11, "3", "1", 2)];
        for frame in wrong {
            assert!(device.clone().take(&frame).is_err(), "{frame}");
        }
    }
}
