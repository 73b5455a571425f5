//! Wake-ups: one subscription per watched user, on a connection of their own that is made again when it is lost.
//!
//! Whatever may have been missed ends in [`Wakeup::All`](crate::Wakeup::All), never in silence.

use super::connect::{CONNECT_TIMEOUT, RESPONSE_TIMEOUT, Target};
use super::keys::Keys;
use crate::error::HotError;
use crate::inbox::{Inbox, Wakeups};
use crate::port::Watch;
use async_trait::async_trait;
use futures::stream::{self, StreamExt};
use readmark_domain::id::Uid;
use redis::aio::MultiplexedConnection;
use redis::cluster_async::ClusterConnection;
use redis::{AsyncConnectionConfig, ErrorKind, ProtocolVersion, PushInfo, PushKind, RedisResult, Value};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

/// Users added or removed that wait for the connection: more make who adds them wait.
const COMMANDS_MAX: usize = 1_024;
/// Users subscribed to in one request of one server.
const CHANNELS_PER_REQUEST: usize = 256;
/// Requests at once, where each user needs one of its own.
const REQUESTS_AT_ONCE: usize = 64;
/// How often a silent connection is asked whether it is still there.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// Pauses before a lost connection is made again.
const RECONNECT_PAUSE_MIN: Duration = Duration::from_millis(50);
const RECONNECT_PAUSE_MAX: Duration = Duration::from_secs(2);

enum Command {
    Add(Uid, oneshot::Sender<()>),
    Remove(Uid),
}

struct RedisWatch {
    inbox: Arc<Inbox>,
    commands: mpsc::Sender<Command>,
}

#[async_trait]
impl Watch for RedisWatch {
    async fn add(&self, uid: Uid) {
        // Also when it is watched already: the one who added it may still be waiting.
        self.inbox.watch(uid);
        let (done, is_done) = oneshot::channel();
        // The task ends only with this handle, so both succeed.
        let _ = self.commands.send(Command::Add(uid, done)).await;
        let _ = is_done.await;
    }

    async fn remove(&self, uid: Uid) {
        if self.inbox.unwatch(uid) {
            let _ = self.commands.send(Command::Remove(uid)).await;
        }
    }
}

/// Begins a subscription, which ends when the handle is dropped.
pub(super) async fn subscribe(
    target: Target,
    keys: Keys,
    is_cluster: bool,
) -> Result<(Arc<dyn Watch>, Wakeups), HotError> {
    let (inbox, wakeups) = Inbox::new();
    let (commands, received) = mpsc::channel(COMMANDS_MAX);
    let pushes = Arc::new(Pushes { inbox: Arc::clone(&inbox), keys, is_lost: Notify::new() });
    let link = Link::connect(&target, is_cluster, &pushes).await.map_err(|error| target.error(&error))?;
    let task = Task { target, is_cluster, pushes, received };
    tokio::spawn(task.run(link));
    Ok((Arc::new(RedisWatch { inbox, commands }), wakeups))
}

/// Where the client's pushes go.
struct Pushes {
    inbox: Arc<Inbox>,
    keys: Keys,
    /// The connection, or a subscription that is still wanted, is gone.
    is_lost: Notify,
}

impl Pushes {
    fn take(&self, push: &PushInfo) {
        let uid = || match push.data.first() {
            Some(Value::BulkString(channel)) => self.keys.uid_of_wake(channel),
            Some(_) | None => None,
        };
        match push.kind {
            PushKind::Message | PushKind::SMessage => {
                if let Some(uid) = uid() {
                    self.inbox.wake(uid);
                }
            }
            PushKind::Disconnection => self.is_lost.notify_one(),
            // A server says this also of its own accord, when a slot leaves it.
            PushKind::Unsubscribe | PushKind::SUnsubscribe
                if uid().is_some_and(|uid| self.inbox.is_watched(uid)) =>
            {
                self.is_lost.notify_one();
            }
            PushKind::Unsubscribe
            | PushKind::SUnsubscribe
            | PushKind::Subscribe
            | PushKind::SSubscribe
            | PushKind::PMessage
            | PushKind::PSubscribe
            | PushKind::PUnsubscribe
            | PushKind::Invalidate
            | PushKind::Other(_) => {}
            _ => {}
        }
    }
}

/// One life of the connection.
enum Link {
    One(MultiplexedConnection),
    Cluster(ClusterConnection),
}

impl Link {
    async fn connect(target: &Target, is_cluster: bool, pushes: &Arc<Pushes>) -> RedisResult<Self> {
        let receiver = Arc::clone(pushes);
        let sender = move |push: PushInfo| -> Result<(), redis::aio::SendError> {
            receiver.take(&push);
            Ok(())
        };
        if is_cluster {
            let client = target.cluster(ProtocolVersion::RESP3).push_sender(sender).build()?;
            return Ok(Self::Cluster(client.get_async_connection().await?));
        }
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_TIMEOUT))
            .set_response_timeout(Some(RESPONSE_TIMEOUT))
            .set_push_sender(sender);
        let client = target.client(ProtocolVersion::RESP3).map_err(|error| {
            redis::RedisError::from((ErrorKind::InvalidClientConfig, "subscribe", error.to_string()))
        })?;
        Ok(Self::One(client.get_multiplexed_async_connection_with_config(&config).await?))
    }

    async fn add(&self, keys: &Keys, uids: &[Uid]) -> RedisResult<()> {
        let channels: Vec<String> = uids.iter().map(|uid| keys.wake(*uid)).collect();
        match self {
            Self::One(connection) => {
                let mut connection = connection.clone();
                for channels in channels.chunks(CHANNELS_PER_REQUEST) {
                    connection.subscribe(channels).await?;
                }
                Ok(())
            }
            Self::Cluster(cluster) => {
                let requests = channels.into_iter().map(|channel| {
                    let mut cluster = cluster.clone();
                    async move { cluster.ssubscribe(channel).await }
                });
                let mut requests = stream::iter(requests).buffer_unordered(REQUESTS_AT_ONCE);
                while let Some(outcome) = requests.next().await {
                    outcome?;
                }
                Ok(())
            }
        }
    }

    async fn remove(&self, keys: &Keys, uid: Uid) -> RedisResult<()> {
        match self {
            Self::One(connection) => connection.clone().unsubscribe(keys.wake(uid)).await,
            Self::Cluster(cluster) => cluster.clone().sunsubscribe(keys.wake(uid)).await,
        }
    }

    /// Is it there, and a master? A replica tells wake-ups too, but only while its own link lasts.
    async fn heartbeat(&self) -> RedisResult<()> {
        match self {
            Self::One(connection) => {
                let mut info = redis::cmd("INFO");
                let info: String = info.arg("replication").query_async(&mut connection.clone()).await?;
                if info.contains("role:master") {
                    return Ok(());
                }
                Err((ErrorKind::Io, "the server has become a replica").into())
            }
            Self::Cluster(cluster) => redis::cmd("PING").query_async(&mut cluster.clone()).await,
        }
    }
}

struct Task {
    target: Target,
    is_cluster: bool,
    pushes: Arc<Pushes>,
    received: mpsc::Receiver<Command>,
}

/// Why a connection is no longer served.
enum End {
    /// It is lost.
    Lost,
    /// Nobody holds the handle any more.
    Closed,
}

impl Task {
    async fn run(mut self, mut link: Link) {
        loop {
            if matches!(self.serve(&link).await, End::Closed) {
                return;
            }
            // What is appended until everybody is subscribed again wakes nobody: so all are woken afterwards.
            let mut pause = RECONNECT_PAUSE_MIN;
            link = loop {
                if self.answer_commands() {
                    return;
                }
                sleep(pause).await;
                pause = (pause * 2).min(RECONNECT_PAUSE_MAX);
                // What is lost from here on is lost of the new connection.
                let _ = timeout(Duration::ZERO, self.pushes.is_lost.notified()).await;
                if let Ok(link) = self.connect().await {
                    break link;
                }
            };
            self.pushes.inbox.wake_all();
        }
    }

    async fn connect(&self) -> RedisResult<Link> {
        let link = Link::connect(&self.target, self.is_cluster, &self.pushes).await?;
        link.add(&self.pushes.keys, &self.pushes.inbox.watched()).await?;
        Ok(link)
    }

    /// While there is no connection, whoever adds a user does not wait for it. Says whether the handle is gone.
    fn answer_commands(&mut self) -> bool {
        loop {
            match self.received.try_recv() {
                Ok(Command::Add(_, done)) => {
                    let _ = done.send(());
                }
                Ok(Command::Remove(_)) => {}
                Err(mpsc::error::TryRecvError::Empty) => return false,
                Err(mpsc::error::TryRecvError::Disconnected) => return true,
            }
        }
    }

    async fn serve(&mut self, link: &Link) -> End {
        let mut heartbeat = interval(HEARTBEAT);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut commands = Vec::new();
        loop {
            tokio::select! {
                received = self.received.recv_many(&mut commands, COMMANDS_MAX) => {
                    if received == 0 {
                        return End::Closed;
                    }
                    if self.obey(link, std::mem::take(&mut commands)).await.is_err() {
                        return End::Lost;
                    }
                }
                () = self.pushes.is_lost.notified() => return End::Lost,
                _ = heartbeat.tick() => {
                    if link.heartbeat().await.is_err() {
                        return End::Lost;
                    }
                }
            }
        }
    }

    /// Subscribes and unsubscribes; whoever waits for that is told in any case.
    async fn obey(&self, link: &Link, commands: Vec<Command>) -> RedisResult<()> {
        let (mut added, mut waiting) = (Vec::new(), Vec::new());
        let (inbox, keys) = (&self.pushes.inbox, &self.pushes.keys);
        let mut outcome = Ok(());
        for command in commands {
            match command {
                Command::Add(uid, done) => {
                    waiting.push(done);
                    added.push(uid);
                }
                // Added again since: then it stays.
                Command::Remove(uid) if outcome.is_ok() && !inbox.is_watched(uid) => {
                    added.retain(|other| *other != uid);
                    outcome = link.remove(keys, uid).await;
                }
                Command::Remove(_) => {}
            }
        }
        if outcome.is_ok() {
            outcome = link.add(keys, &added).await;
        }
        for done in waiting {
            let _ = done.send(());
        }
        outcome
    }
}
