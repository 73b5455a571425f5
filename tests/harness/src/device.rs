//! The sender's device: told by `read-changed`, it keeps the greatest version of each message.

use crate::server::Server;
use serde_json::Value;
use std::collections::BTreeMap;

/// What a device shows for a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// Its version.
    pub version: String,
    /// N.
    pub read: u64,
    /// M.
    pub total: u64,
}

/// All senders' devices together: (conversation, seq) → what is shown.
#[derive(Debug, Default)]
pub struct Devices {
    shown: BTreeMap<(String, u64), Shown>,
}

fn number(told: &Value, field: &str) -> u64 {
    told[field].as_str().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{field} in {told}"))
}

/// Devices that follow what is told.
#[derive(Debug, Default)]
pub struct Following {
    devices: Devices,
    /// (partition, offset) of what comes next.
    next: Vec<(u32, u64)>,
}

impl Following {
    /// Takes what was told since the last time, from the beginning at first.
    pub async fn catch_up(&mut self, server: &Server) -> &Devices {
        if self.next.is_empty() {
            self.next =
                server.topic_ends("read-changed").await.iter().map(|p| (p.partition, p.start)).collect();
        }
        for record in server.topic_from("read-changed", &self.next).await {
            self.devices.told(&record.json());
            if let Some((_, next)) =
                self.next.iter_mut().find(|(partition, _)| *partition == record.partition)
            {
                *next = record.offset + 1;
            }
        }
        &self.devices
    }
}

impl Devices {
    /// What devices show that were told all that a server has told, also when it has ended.
    pub async fn of(server: &Server) -> Self {
        let mut devices = Self::default();
        server.topic("read-changed").await.iter().for_each(|record| devices.told(&record.json()));
        devices
    }

    /// Takes the payload of a record of `read-changed`; others than message_read are passed over.
    ///
    /// Fails when a version comes again with other counts, or with N above M: both must never be told.
    pub fn told(&mut self, told: &Value) {
        if told["kind"] != "message_read" {
            return;
        }
        let place = (
            told["conversation_id"].as_str().expect("told of a conversation").to_owned(),
            number(told, "seq"),
        );
        let version = told["tally_version"].as_str().expect("told with a version").to_owned();
        let new = Shown { version, read: number(told, "read"), total: number(told, "total") };
        assert!(new.read <= new.total, "told N above M: {told}");
        match self.shown.get(&place) {
            Some(known) if known.version == new.version => {
                assert_eq!(*known, new, "one version of {place:?} told with different counts");
            }
            Some(known) if known.version > new.version => {}
            Some(_) | None => {
                self.shown.insert(place, new);
            }
        }
    }

    /// What is shown for a message, if its sender was ever told of it.
    #[must_use]
    pub fn shown(&self, conversation_id: &str, seq: u64) -> Option<&Shown> {
        self.shown.get(&(conversation_id.to_owned(), seq))
    }
}
