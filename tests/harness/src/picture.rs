//! What a device shows, by what it was told alone.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Instant;

/// Seqs that only rise between two snapshots.
const RISING: [&str; 3] = ["read_seq", "floor_seq", "head_seq"];

/// A snapshot or an entry, as it was told.
#[derive(Debug, Clone)]
pub struct Told {
    /// The entry, or the snapshot with `"kind": "snapshot"`.
    pub value: Value,
    /// When.
    pub at: Instant,
}

/// The picture of one device.
#[derive(Debug, Default)]
pub struct Picture {
    token: Option<String>,
    rows: BTreeMap<String, BTreeMap<String, Value>>,
    totals: BTreeMap<&'static str, Value>,
    told: Vec<Told>,
    /// By epoch and version: every entry ever told, for one version never says two things.
    said: BTreeMap<(String, u64), Value>,
    is_connected: bool,
    last_end: String,
    broken: Option<String>,
}

impl Picture {
    /// The last sync token.
    #[must_use]
    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// What it was told, in order.
    #[must_use]
    pub fn told(&self) -> &[Told] {
        &self.told
    }

    /// What it shows of a conversation, if anything.
    #[must_use]
    pub fn row(&self, conversation_id: &str) -> Option<Value> {
        self.rows.get(conversation_id).map(|row| json!(row))
    }

    /// What it shows over all conversations: `total` and `mentions`.
    #[must_use]
    pub fn totals(&self) -> Value {
        json!(self.totals)
    }

    /// What it was told that must never be, if it was.
    #[must_use]
    pub fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    /// Is its stream followed now?
    #[must_use]
    pub const fn is_connected(&self) -> bool {
        self.is_connected
    }

    /// How its last connection ended.
    #[must_use]
    pub fn last_end(&self) -> &str {
        &self.last_end
    }

    pub(crate) fn disconnected(&mut self, end: String) {
        self.is_connected = false;
        self.last_end = end;
    }

    /// Takes a frame of the connection, or an answer of `GET /v1/sync`, which has the same fields.
    pub(crate) fn take(&mut self, told: &Value) {
        let taken = match told["token"].as_str() {
            Some(token) if told["snapshot"].is_object() => self.replace(&told["snapshot"], token),
            Some(token) if told["entries"].is_array() => self.entries(told, token),
            Some(token) if told["type"] == "ready" => self.goes_on_from(token),
            // Answers to what it never asked, or what is for newer devices.
            Some(_) | None => Ok(()),
        };
        if let Err(broken) = taken {
            self.broken.get_or_insert(broken);
        }
    }

    fn goes_on_from(&mut self, token: &str) -> Result<(), String> {
        self.is_connected = true;
        match &self.token {
            Some(known) if known == token => Ok(()),
            known => Err(format!("it goes on from {token}, but stood at {known:?}")),
        }
    }

    fn replace(&mut self, snapshot: &Value, token: &str) -> Result<(), String> {
        self.is_connected = true;
        self.rows.clear();
        for row in snapshot["conversations"].as_array().ok_or_else(|| format!("no rows: {snapshot}"))? {
            let id = row["conversation_id"].as_str().ok_or_else(|| format!("no id: {row}"))?;
            let fields = row.as_object().into_iter().flatten();
            self.rows
                .insert(id.to_owned(), fields.map(|(name, value)| (name.clone(), value.clone())).collect());
        }
        self.totals = BTreeMap::from([
            ("total", snapshot["total"].clone()),
            ("mentions", snapshot["mentions"].clone()),
        ]);
        self.token = Some(token.to_owned());
        let mut value = snapshot.clone();
        value["kind"] = json!("snapshot");
        self.told.push(Told { value, at: Instant::now() });
        Ok(())
    }

    fn entries(&mut self, told: &Value, token: &str) -> Result<(), String> {
        let (epoch, up_to) = parts(token)?;
        for entry in told["entries"].as_array().into_iter().flatten() {
            let at = self.token.as_deref().ok_or_else(|| format!("an entry before a snapshot: {told}"))?;
            let (known_epoch, last) = parts(at)?;
            let version = number(&entry["version"]).ok_or_else(|| format!("no version: {entry}"))?;
            if known_epoch != epoch || version > last + 1 {
                return Err(format!("after {at} comes {entry} of {token}"));
            }
            self.says_one_thing(epoch, version, entry)?;
            if version == last + 1 {
                self.merge(entry)?;
                self.token = Some(format!("{epoch}.{version}"));
                self.told.push(Told { value: entry.clone(), at: Instant::now() });
            }
        }
        match &self.token {
            Some(at) if parts(at)? == (epoch, up_to) => Ok(()),
            at => Err(format!("up to {token}, but the entries end at {at:?}")),
        }
    }

    fn says_one_thing(&mut self, epoch: &str, version: u64, entry: &Value) -> Result<(), String> {
        let before = self.said.entry((epoch.to_owned(), version)).or_insert_with(|| entry.clone());
        if before == entry { Ok(()) } else { Err(format!("{entry} has the version of {before}")) }
    }

    fn merge(&mut self, entry: &Value) -> Result<(), String> {
        if entry["kind"] == "message_read" {
            return Ok(());
        }
        let id = entry["conversation_id"].as_str().ok_or_else(|| format!("no id: {entry}"))?;
        let row = self.rows.entry(id.to_owned()).or_insert_with(nothing_read);
        for (name, value) in entry.as_object().into_iter().flatten() {
            match name.as_str() {
                "version" | "kind" | "endpoint" | "own" => {}
                "total_unread" => drop(self.totals.insert("total", value.clone())),
                "total_mentions" => drop(self.totals.insert("mentions", value.clone())),
                _ => {
                    let before = row.insert(name.clone(), value.clone());
                    let before = before.as_ref().and_then(number);
                    if RISING.contains(&name.as_str()) && before > number(value) {
                        return Err(format!("{name} falls from {before:?}: {entry}"));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Of a conversation that was not told before; an entry names what is not so.
fn nothing_read() -> BTreeMap<String, Value> {
    RISING.iter().map(|name| ((*name).to_owned(), json!("0"))).collect()
}

fn number(value: &Value) -> Option<u64> {
    value.as_str().and_then(|text| text.parse().ok())
}

/// Epoch and version of a token.
fn parts(token: &str) -> Result<(&str, u64), String> {
    let parts = token.rsplit_once('.').and_then(|(epoch, version)| Some((epoch, version.parse().ok()?)));
    parts.ok_or_else(|| format!("{token:?} is no token"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(version: u64, seq: u64) -> Value {
        json!({"version": version.to_string(), "kind": "conversation_read", "conversation_id": "c",
            "read_seq": seq.to_string(), "unread": "1", "total_unread": "1", "total_mentions": "0"})
    }

    fn shown() -> Picture {
        let mut picture = Picture::default();
        let row = json!({"conversation_id": "c", "unread": "3", "read_seq": "2"});
        picture.take(
            &json!({"snapshot": {"total": "3", "mentions": "0", "conversations": [row]}, "token": "e.4"}),
        );
        picture.take(&json!({"entries": [read(5, 4)], "token": "e.5"}));
        assert_eq!((picture.broken(), picture.token()), (None, Some("e.5")));
        picture
    }

    #[test]
    fn entries_go_on_where_the_snapshot_ended() {
        let picture = shown();
        assert_eq!(picture.row("c").expect("a row")["read_seq"], "4");
        assert_eq!(picture.totals(), json!({"total": "1", "mentions": "0"}));
        assert_eq!(picture.told().len(), 2);
    }

    #[test]
    fn what_must_never_be_told_is_seen() {
        for (wrong, token) in
            [(read(7, 5), "e.7"), (read(6, 3), "e.6"), (read(5, 5), "e.5"), (read(6, 5), "f.6")]
        {
            let mut picture = shown();
            picture.take(&json!({"entries": [wrong], "token": token}));
            assert!(picture.broken().is_some(), "{token}");
        }
    }
}
