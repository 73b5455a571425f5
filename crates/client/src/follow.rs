//! A connection that is kept up: follows the user's stream from where it stood, and sends acks and marks.

use crate::backoff::{again_after, reconnect_after};
use crate::client::Client;
use crate::error::ClientError;
use crate::link::{Link, LinkEnd, Message};
use crate::outbox::{MERGE_MS, Outbox, Parcel};
use crate::tallies::Tallies;
use crate::unread::{Snapshot, Unread};
use rand::Rng;
use readmark_domain::hot::{Entry, SyncToken};
use readmark_domain::id::{ConversationId, Seq, Uid};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// Events that wait to be taken; beyond it the connection waits, and the server's stream keeps what comes.
const EVENTS_WAITING_MAX: usize = 1_024;

/// How to follow.
#[derive(Debug, Clone, Default)]
pub struct FollowOptions {
    /// From where; nothing begins with a snapshot. Goes with [`FollowOptions::unread`], the picture at that token.
    pub token: Option<SyncToken>,
    /// The picture at the token.
    pub unread: Unread,
}

/// What happened.
#[derive(Debug)]
pub enum Event {
    /// The stream is followed.
    Connected,
    /// It is not, until it is again; acks and marks wait.
    Disconnected(ClientError),
    /// The picture was replaced: ask again for the tallies that are shown.
    Snapshot,
    /// One entry more, merged already.
    Entry(Entry),
    /// The server refused this for good; or it names a message that did not arrive for some minutes.
    Refused(Parcel, ClientError),
}

/// A user's connection. It ends when dropped.
#[derive(Debug)]
pub struct Session {
    shared: Arc<Shared>,
    events: mpsc::Receiver<Event>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    started: Instant,
    state: Mutex<State>,
    outbox: Mutex<Outbox>,
    posted: Notify,
}

#[derive(Debug, Default)]
struct State {
    token: Option<SyncToken>,
    unread: Unread,
    tallies: Tallies,
}

impl Client {
    /// Follows the user's stream until the session is dropped.
    #[must_use]
    pub fn follow(&self, options: FollowOptions) -> Session {
        let FollowOptions { token, unread } = options;
        let state = State { token, unread, tallies: Tallies::default() };
        let shared = Arc::new(Shared {
            started: Instant::now(),
            state: Mutex::new(state),
            outbox: Mutex::default(),
            posted: Notify::new(),
        });
        let (told, events) = mpsc::channel(EVENTS_WAITING_MAX);
        let follower = Follower {
            client: self.clone(),
            shared: shared.clone(),
            told,
            waiting: BTreeMap::new(),
            refusals: BTreeMap::new(),
            held_until_ms: 0,
            next_id: 0,
        };
        Session { shared, events, task: tokio::spawn(follower.run()) }
    }
}

impl Session {
    /// The next event.
    pub async fn next(&mut self) -> Option<Event> {
        self.events.recv().await
    }

    /// What is unread, as last told.
    #[must_use]
    pub fn unread(&self) -> Unread {
        self.shared.state().unread.clone()
    }

    /// The tallies of the user's own messages, as told in this session.
    #[must_use]
    pub fn tallies(&self) -> Tallies {
        self.shared.state().tallies.clone()
    }

    /// How far the stream has been followed.
    #[must_use]
    pub fn token(&self) -> Option<SyncToken> {
        self.shared.state().token.clone()
    }

    /// The user has read up to here.
    pub fn mark_read(&self, id: ConversationId, up_to_seq: Seq) {
        let now_ms = self.shared.now_ms();
        self.shared.outbox().mark(id, up_to_seq, now_ms);
        self.shared.posted.notify_one();
    }

    /// The user has read this message.
    pub fn ack(&self, id: ConversationId, seq: Seq, sender: Option<Uid>) {
        let now_ms = self.shared.now_ms();
        self.shared.outbox().ack(id, seq, sender, now_ms);
        self.shared.posted.notify_one();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    /// Every method leaves a whole state, so a poisoned lock is taken as it is.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn replace(&self, snapshot: Snapshot, token: SyncToken) {
        let mut state = self.state();
        state.unread.replace(snapshot);
        state.token = Some(token);
    }

    fn outbox(&self) -> MutexGuard<'_, Outbox> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was not answered.
    fn put_back(&self, parcel: Parcel) {
        let due_ms = self.now_ms().saturating_add(MERGE_MS);
        self.outbox().put_back(parcel, due_ms);
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

struct Follower {
    client: Client,
    shared: Arc<Shared>,
    told: mpsc::Sender<Event>,
    /// Sent and not answered yet.
    waiting: BTreeMap<u64, Parcel>,
    /// How often in a row each conversation's parcels were refused for now.
    refusals: BTreeMap<ConversationId, u32>,
    /// The server has asked to be left alone until then.
    held_until_ms: u64,
    next_id: u64,
}

/// Nobody listens any more.
struct Over;

impl Follower {
    async fn run(mut self) {
        let mut failures = 0;
        loop {
            let Err(end) = self.connection(&mut failures).await else { return };
            self.put_back();
            let wait = reconnect_after(&end, failures, rand::rng().random());
            if self.tell(Event::Disconnected(end)).await.is_err() {
                return;
            }
            tokio::time::sleep(wait).await;
            failures += 1;
        }
    }

    /// One connection, until it breaks; `Ok` when nobody listens any more.
    async fn connection(&mut self, failures: &mut u32) -> Result<(), ClientError> {
        let token = self.shared.state().token.clone();
        let mut link = Link::connect(&self.client, token.as_ref()).await?;
        let mut is_connected = false;
        loop {
            let due = self.shared.outbox().due_ms().map(|ms| ms.max(self.held_until_ms));
            let due = due.map(|ms| self.shared.started + std::time::Duration::from_millis(ms));
            let message = tokio::select! {
                message = link.next() => message.map_err(LinkEnd::into_error)?,
                () = self.shared.posted.notified() => continue,
                () = sleep_until(due), if is_connected => {
                    self.send_due(&mut link).await?;
                    continue;
                }
            };
            if !is_connected {
                (is_connected, *failures) = (true, 0);
                if self.tell(Event::Connected).await.is_err() {
                    return Ok(());
                }
            }
            if self.take(message).await?.is_err() {
                return Ok(());
            }
        }
    }

    async fn take(&mut self, message: Message) -> Result<Result<(), Over>, ClientError> {
        match message {
            Message::Ready | Message::Other => {}
            Message::Snapshot(snapshot, token) => {
                self.shared.replace(snapshot, token);
                return Ok(self.tell(Event::Snapshot).await);
            }
            Message::Entries(entries, token) => {
                for entry in entries {
                    if self.merge(&entry, &token)? && self.tell(Event::Entry(entry)).await.is_err() {
                        return Ok(Err(Over));
                    }
                }
            }
            Message::Done(id) => {
                if let Some(parcel) = self.waiting.remove(&id) {
                    self.refusals.remove(parcel.conversation_id());
                }
            }
            Message::Failed(id, error) => {
                let Some(parcel) = self.waiting.remove(&id) else { return Ok(Ok(())) };
                return Ok(self.refused(parcel, error).await);
            }
        }
        Ok(Ok(()))
    }

    async fn refused(&mut self, parcel: Parcel, error: ClientError) -> Result<(), Over> {
        let refusals = self.refusals.entry(parcel.conversation_id().clone()).or_default();
        let Some(wait) = again_after(&error, *refusals, rand::rng().random()) else {
            self.refusals.remove(parcel.conversation_id());
            return self.tell(Event::Refused(parcel, error)).await;
        };
        *refusals += 1;
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let due_ms = self.shared.now_ms().saturating_add(wait_ms);
        if matches!(error, ClientError::Refused { retry_after: Some(_), .. }) {
            self.held_until_ms = self.held_until_ms.max(due_ms);
        }
        self.shared.outbox().put_back(parcel, due_ms);
        Ok(())
    }

    /// Says whether the entry was new.
    fn merge(&self, entry: &Entry, batch: &SyncToken) -> Result<bool, ClientError> {
        let mut state = self.shared.state();
        let Some(at) = state.token.clone() else { return Err(gap(entry)) };
        if at.epoch != batch.epoch || entry.version > at.version.next() {
            // Begin anew, with a snapshot.
            state.token = None;
            return Err(gap(entry));
        }
        if entry.version <= at.version {
            return Ok(false);
        }
        state.token = Some(SyncToken { epoch: at.epoch, version: entry.version });
        if !state.unread.apply(entry) {
            state.tallies.apply(entry);
        }
        Ok(true)
    }

    async fn send_due(&mut self, link: &mut Link) -> Result<(), ClientError> {
        let now_ms = self.shared.now_ms();
        let parcels = self.shared.outbox().take_due(now_ms);
        let numbered: Vec<(u64, Parcel)> = parcels
            .into_iter()
            .map(|parcel| {
                self.next_id += 1;
                (self.next_id, parcel)
            })
            .collect();
        // All are waiting before the first is sent: what breaks off in between is put back.
        self.waiting.extend(numbered.iter().cloned());
        for (id, parcel) in &numbered {
            link.send(*id, parcel).await.map_err(LinkEnd::into_error)?;
        }
        Ok(())
    }

    fn put_back(&mut self) {
        for (_, parcel) in std::mem::take(&mut self.waiting) {
            self.shared.put_back(parcel);
        }
    }

    async fn tell(&self, event: Event) -> Result<(), Over> {
        self.told.send(event).await.map_err(|_| Over)
    }
}

fn gap(entry: &Entry) -> ClientError {
    let detail = format!("entry {} does not follow what was told before", entry.version);
    ClientError::NoAnswer { call: "GET /v1/ws".to_owned(), detail }
}

async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}
