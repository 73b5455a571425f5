//! Devices of a server's users: the Rust client, all on one pool of connections.

use readmark_client::{Client, Event, FollowOptions, Session, Token};
use readmark_domain::hot::Entry;
use readmark_test_harness::{Server, token};

/// Clients of one server.
#[derive(Clone)]
pub struct Clients {
    server: Server,
    nobody: Client,
}

impl Clients {
    /// Of this server.
    ///
    /// # Panics
    /// When it is down.
    #[must_use]
    pub fn new(server: &Server) -> Self {
        let address = server.listen().expect("the server is up");
        let nobody = Client::new(&format!("http://{address}"), Token::fixed("")).expect("an address");
        Self { server: server.clone(), nobody }
    }

    /// One user's, on one device.
    #[must_use]
    pub fn of(&self, uid: u64, endpoint: &str) -> Client {
        self.nobody.with_token(Token::fixed(token::user(&self.server.secret(), uid, endpoint)))
    }

    /// Connects a user's device and waits for the picture of what is unread.
    ///
    /// # Panics
    /// When the connection ends.
    pub async fn connect(&self, uid: u64, endpoint: &str) -> Device {
        let mut session = self.of(uid, endpoint).follow(FollowOptions::default());
        loop {
            match session.next().await {
                Some(Event::Snapshot) => return Device(session),
                Some(Event::Connected) => {}
                end => panic!("user {uid}: {end:?}"),
            }
        }
    }
}

/// A device that is followed.
pub struct Device(Session);

impl Device {
    /// The next entry.
    ///
    /// # Panics
    /// When the connection ends: it is made again by itself, and what was missed meanwhile would be measured as slow.
    pub async fn next(&mut self) -> Entry {
        loop {
            match self.0.next().await {
                Some(Event::Entry(entry)) => return entry,
                Some(Event::Connected | Event::Snapshot) => {}
                end => panic!("a connection ends: {end:?}"),
            }
        }
    }
}
