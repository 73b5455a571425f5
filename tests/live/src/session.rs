//! The Rust client, following a user.

use crate::device::Row;
use crate::phone::World;
use readmark_client::{Client, Event, FollowOptions, Token, Unread};
use readmark_test_harness::token;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// A session that is followed until it is dropped.
pub struct Follower {
    /// Whose.
    pub uid: u64,
    unread: Arc<Mutex<Unread>>,
    task: tokio::task::JoinHandle<()>,
}

impl Follower {
    /// Follows a user by the gateway of this number.
    #[must_use]
    pub fn start(world: &Arc<World>, uid: u64, gateway: usize) -> Self {
        let proxy = &world.proxies[gateway % world.proxies.len()];
        let token = Token::fixed(token::user(&world.server.secret(), uid, "client"));
        let client = Client::new(&proxy.url(), token).expect("an address");
        let unread = Arc::<Mutex<Unread>>::default();
        let (world, shown) = (world.clone(), unread.clone());
        let task = tokio::spawn(async move {
            let mut session = client.follow(FollowOptions::default());
            while let Some(event) = session.next().await {
                match event {
                    Event::Refused(..) => world.fault(&format!("client of {uid}"), &format!("{event:?}")),
                    // Of versions, which must never happen; any other end is the network's.
                    Event::Disconnected(ref why) if why.to_string().contains("does not follow") => {
                        world.fault(&format!("client of {uid}"), &why.to_string());
                    }
                    Event::Disconnected(_) | Event::Connected => {}
                    Event::Snapshot | Event::Entry(_) => *shown.lock().unwrap() = session.unread(),
                }
            }
        });
        Self { uid, unread, task }
    }

    /// What it shows.
    #[must_use]
    pub fn shown(&self) -> (BTreeMap<String, Row>, (u64, u64)) {
        let unread = self.unread.lock().unwrap();
        let rows = unread.rows().map(|(id, row)| {
            let shown = Row {
                head: row.head_seq.get(),
                read: row.read_seq.get(),
                floor: row.floor_seq.get(),
                unread: row.unread.get(),
                mentions: row.mentions.get(),
                marked_unread: row.marked_unread,
                muted: row.muted,
            };
            (id.as_str().to_owned(), shown)
        });
        (rows.collect(), (unread.total().get(), unread.mentions().get()))
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.task.abort();
    }
}
