//! A client of readmark for backends, bots and load generators: the calls by HTTP, and a connection that follows a
//! user's stream and keeps its picture.
//!
//! What a client must merge is pure and in three files: [`Unread`] (what is unread; an older entry never wins),
//! [`Tallies`] (who has read one's own messages), [`Outbox`] (acks and marks that wait to be sent).
//!
//! ```no_run
//! # async fn example() -> Result<(), readmark_client::ClientError> {
//! use readmark_client::{Client, Event, FollowOptions, Token};
//!
//! let client = Client::new("http://127.0.0.1:8080", Token::fixed("…"))?;
//! let mut session = client.follow(FollowOptions::default());
//! session.mark_read("lunch".parse().unwrap(), "12".parse().unwrap());
//! while let Some(event) = session.next().await {
//!     match event {
//!         Event::Snapshot | Event::Entry(_) => println!("{} unread", session.unread().total()),
//!         Event::Connected | Event::Disconnected(_) | Event::Refused(..) => {}
//!     }
//! }
//! # Ok(())
//! # }
//! ```

mod backoff;
mod client;
mod error;
mod follow;
mod link;
mod outbox;
mod tallies;
mod token;
mod unread;

pub use client::{Acked, AcksAccepted, Client, Ignored};
pub use error::ClientError;
pub use follow::{Event, FollowOptions, Session};
pub use outbox::{ACKED_AT_ONCE, MERGE_MS, Outbox, Parcel, WAITING_ACKS_MAX};
pub use tallies::{Receipt, TALLIES_MAX, Tallies};
pub use token::Token;
pub use unread::{Snapshot, SnapshotRow, Unread, UnreadRow};
