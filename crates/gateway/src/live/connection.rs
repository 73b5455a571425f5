//! One connection: follows its user's stream, carries out its requests, and is closed by one rule each.

use super::close::Close;
use super::follow::Followed;
use super::frame::{Accepted, ClientFrame, Request, ServerFrame};
use super::hub::Seat;
use super::limits::{
    CLOSE_LIMIT, CONNECTION_LIMIT, HELLO_LIMIT, LARGE_EVERY, MESSAGE_BYTES_MAX, PING_EVERY, REQUESTS_AT_ONCE,
    REREAD_EVERY, RESTART_SPREAD_MS, RETRY_AFTER, SEND_LIMIT, SILENCE_LIMIT,
};
use super::pieces::pieces;
use super::sockets::Sockets;
use super::upgrade::Socket;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, SinkExt, StreamExt};
use rand::Rng;
use readmark_domain::hot::SyncToken;
use readmark_http::{Problem, Session};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::{Error, Message};

/// How a connection ends.
enum End {
    /// By us.
    Close(Close),
    /// The client has said that it leaves.
    Left,
    /// The network, or what is no WebSocket, has ended it.
    Gone,
}

type Answered = (Value, Result<Accepted, Problem>);

pub(super) struct Connection {
    sockets: Arc<Sockets>,
    session: Session,
    socket: Socket,
    requests: FuturesUnordered<BoxFuture<'static, Answered>>,
    /// What the client has: nothing before its hello, then nothing until its first snapshot.
    token: Option<SyncToken>,
    /// The answer to a hello with a token, until the stream could be read for the first time.
    owes_ready: bool,
    has_said_hello: bool,
    has_large: bool,
    expires_at: Instant,
    hello_by: Instant,
    heard_at: Instant,
    ping_at: Instant,
    /// When the stream is read next, also without a wake-up.
    read_at: Instant,
}

enum Event {
    Heard(Option<Result<Message, Error>>),
    Answered(Answered),
    Woken,
    Due,
    Stop,
}

impl Connection {
    pub fn new(sockets: Arc<Sockets>, session: Session, socket: Socket) -> Self {
        let now = Instant::now();
        let left = session.expires_at.get().saturating_sub(sockets.now().get());
        let left = Duration::from_millis(left).min(CONNECTION_LIMIT);
        Self {
            sockets,
            session,
            socket,
            requests: FuturesUnordered::new(),
            token: None,
            owes_ready: false,
            has_said_hello: false,
            has_large: false,
            expires_at: now + left,
            hello_by: now + HELLO_LIMIT,
            heard_at: now,
            ping_at: now + PING_EVERY,
            read_at: now + REREAD_EVERY,
        }
    }

    /// Serves it until it ends.
    pub async fn serve(mut self, seat: &Seat) {
        let end = loop {
            let event = self.next(seat).await;
            if let Err(end) = self.handle(event).await {
                break end;
            }
        };
        match end {
            End::Gone => {}
            End::Left => self.answer_close().await,
            End::Close(close) => self.close(close).await,
        }
    }

    async fn next(&mut self, seat: &Seat) -> Event {
        let due = self.due();
        tokio::select! {
            () = self.sockets.stop.cancelled() => Event::Stop,
            Some(answered) = self.requests.next() => Event::Answered(answered),
            () = seat.woken(), if self.has_said_hello => Event::Woken,
            () = tokio::time::sleep_until(due) => Event::Due,
            heard = self.socket.next(), if self.requests.len() < REQUESTS_AT_ONCE => Event::Heard(heard),
        }
    }

    fn due(&self) -> Instant {
        let greeting = if self.has_said_hello { self.read_at } else { self.hello_by };
        greeting.min(self.expires_at).min(self.ping_at).min(self.heard_at + SILENCE_LIMIT)
    }

    async fn handle(&mut self, event: Event) -> Result<(), End> {
        match event {
            Event::Stop => Err(End::Close(Close::Restart)),
            Event::Answered(answered) => self.answer(answered).await,
            Event::Woken => self.follow().await,
            Event::Due => self.do_what_is_due().await,
            Event::Heard(heard) => self.hear(heard).await,
        }
    }

    async fn do_what_is_due(&mut self) -> Result<(), End> {
        let now = Instant::now();
        if now >= self.expires_at {
            return Err(End::Close(Close::TokenExpired));
        }
        if !self.has_said_hello && now >= self.hello_by {
            return Err(End::Close(Close::NoHello));
        }
        if now >= self.heard_at + SILENCE_LIMIT {
            return Err(End::Close(Close::Silent));
        }
        if now >= self.ping_at {
            self.ping_at = now + PING_EVERY;
            self.send_messages([Message::Ping(Vec::new().into())]).await?;
        }
        if self.has_said_hello && now >= self.read_at {
            self.follow().await?;
        }
        Ok(())
    }

    async fn hear(&mut self, heard: Option<Result<Message, Error>>) -> Result<(), End> {
        let message = match heard {
            Some(Ok(message)) => message,
            // Far too large, no WebSocket any more, or the network.
            Some(Err(_)) | None => return Err(End::Gone),
        };
        self.heard_at = Instant::now();
        match message {
            Message::Text(text) if text.len() > MESSAGE_BYTES_MAX => Err(End::Close(Close::TooLarge)),
            Message::Text(text) => self.obey(Request::parse(text.as_str())).await,
            Message::Binary(_) => {
                let problem = Problem::malformed("messages are JSON text");
                self.answer((Value::Null, Err(problem))).await
            }
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => Ok(()),
            Message::Close(_) => Err(End::Left),
        }
    }

    async fn obey(&mut self, request: Request) -> Result<(), End> {
        let Request { id, frame } = request;
        let frame = match frame.and_then(|frame| self.allow(frame)) {
            Ok(frame) => frame,
            Err(problem) => return self.answer((id, Err(problem))).await,
        };
        let (sockets, user) = (self.sockets.clone(), self.session.user.clone());
        match frame {
            ClientFrame::Hello(hello) => self.greet(hello.token()).await,
            ClientFrame::Ping => self.send(&ServerFrame::Pong).await,
            _ if !self.has_said_hello => {
                self.answer((id, Err(Problem::malformed("the first message is a hello")))).await
            }
            ClientFrame::Ack(acks) => {
                let work =
                    async move { (id, sockets.gateway.accept_acks(user, &acks).await.map(Accepted::Acks)) };
                self.requests.push(work.boxed());
                Ok(())
            }
            ClientFrame::Read(read) => {
                let work = async move {
                    let accepted = sockets.gateway.accept_read(user, &read.conversation_id, read.up_to_seq);
                    (id, accepted.await.map(Accepted::Read))
                };
                self.requests.push(work.boxed());
                Ok(())
            }
        }
    }

    /// Requests take from what the user may ask for. The first hello does not, since the call that opened the
    /// connection has: a device must not be kept waiting for its greeting by what the user's others do. Nor does a
    /// ping, which costs no more than a message that can't be read.
    fn allow(&self, frame: ClientFrame) -> Result<ClientFrame, Problem> {
        let is_free = match frame {
            ClientFrame::Hello(_) => !self.has_said_hello,
            ClientFrame::Ping => true,
            ClientFrame::Ack(_) | ClientFrame::Read(_) => false,
        };
        if !is_free {
            self.session.allowance.take()?;
        }
        Ok(frame)
    }

    /// The first hello says where to go on; any further one is a client that wants to begin anew.
    async fn greet(&mut self, token: Option<SyncToken>) -> Result<(), End> {
        self.has_said_hello = true;
        self.owes_ready = token.is_some();
        self.token = token;
        self.follow().await
    }

    async fn answer(&mut self, (id, result): Answered) -> Result<(), End> {
        let frame = match result {
            Ok(accepted) => ServerFrame::Ok { id, accepted },
            Err(problem) => ServerFrame::Error { id, failed: problem.into() },
        };
        self.send(&frame).await
    }

    /// Sends what has come since the client's token, and first that the token was a good one.
    async fn follow(&mut self) -> Result<(), End> {
        match self.read().await {
            Some(Followed::Snapshot(snapshot)) => self.send_snapshot(snapshot).await,
            Some(Followed::Batches(batches)) => self.send_batches(batches).await,
            None => Ok(()),
        }
    }

    /// Reads the stream, or says nothing while that can't be done: it is tried again soon.
    async fn read(&mut self) -> Option<Followed> {
        match self.sockets.read(&self.session.user, self.token.as_ref()).await {
            Ok(read) => {
                self.has_large = read.has_large;
                let pause = if read.has_more {
                    Duration::ZERO
                } else if self.has_large {
                    LARGE_EVERY
                } else {
                    REREAD_EVERY
                };
                self.read_at = Instant::now() + pause;
                Some(read.followed)
            }
            Err(error) => {
                tracing::debug!(uid = %self.session.user.uid, ?error, "stream not read");
                self.read_at = Instant::now() + RETRY_AFTER;
                None
            }
        }
    }

    async fn send_snapshot(&mut self, snapshot: Box<super::follow::Whole>) -> Result<(), End> {
        let super::follow::Whole { snapshot, token } = *snapshot;
        self.owes_ready = false;
        self.token = Some(token.clone());
        self.send(&ServerFrame::Snapshot { snapshot, token }).await
    }

    async fn send_batches(&mut self, batches: Vec<super::follow::Batch>) -> Result<(), End> {
        if let Some(token) = self.token.clone().filter(|_| self.owes_ready) {
            self.owes_ready = false;
            self.send(&ServerFrame::Ready { token }).await?;
        }
        for super::follow::Batch { entries, token } in batches {
            self.token = Some(token.clone());
            self.send(&ServerFrame::Entries { entries, token }).await?;
        }
        Ok(())
    }

    async fn send(&mut self, frame: &ServerFrame) -> Result<(), End> {
        match serde_json::to_string(frame) {
            Ok(text) => self.send_messages(pieces(text)).await,
            Err(error) => {
                tracing::error!(%error, "a message can't be written");
                Err(End::Close(Close::Restart))
            }
        }
    }

    /// Sends these within the time for one.
    async fn send_messages(&mut self, messages: impl IntoIterator<Item = Message>) -> Result<(), End> {
        let sending = async {
            for message in messages {
                self.socket.send(message).await?;
            }
            Ok::<(), Error>(())
        };
        match tokio::time::timeout(SEND_LIMIT, sending).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(End::Gone),
            Err(_) => {
                self.sockets.metrics.slow_clients_closed_total.inc();
                Err(End::Close(Close::TooSlow))
            }
        }
    }

    async fn close(mut self, close: Close) {
        if close == Close::Restart {
            self.finish_requests().await;
        }
        close.tell(&mut self.socket).await;
    }

    /// The library has the answer to a close ready, and sends it when it is asked for more.
    async fn answer_close(mut self) {
        let _ = tokio::time::timeout(CLOSE_LIMIT, self.socket.next()).await;
    }

    async fn finish_requests(&mut self) {
        let spread = rand::rng().random_range(0..RESTART_SPREAD_MS);
        tokio::time::sleep(Duration::from_millis(spread)).await;
        while let Some(answered) = self.requests.next().await {
            if self.answer(answered).await.is_err() {
                return;
            }
        }
    }
}
