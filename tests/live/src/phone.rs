//! A device that keeps connected, to one gateway after the other.

use crate::device::{Device, Place};
use crate::proxy::Proxy;
use crate::wire::{Heard, Wire};
use readmark_test_harness::device::Shown;
use readmark_test_harness::oracle::Oracle;
use readmark_test_harness::{Server, token};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

/// Pause before a connection that failed is tried again.
const RECONNECT_PAUSE: Duration = Duration::from_millis(100);
/// A doubt about a tally, or a question that could not be answered, leads to a question after so long.
const ASK_AFTER: Duration = Duration::from_secs(2);
/// Most messages a query may ask for.
const QUERY_MESSAGES: usize = 200;
/// Faults kept; the first ones say enough.
const FAULTS_MAX: usize = 20;
/// Requests that wait for a device to take them.
const COMMANDS_WAITING: usize = 64;

/// What all devices share.
pub struct World {
    /// The server.
    pub server: Server,
    /// Between the devices and each gateway.
    pub proxies: Vec<Proxy>,
    /// What was said.
    pub oracle: Mutex<Oracle>,
    /// Each user's entries by epoch and version: none may be given twice with other content.
    given: Mutex<HashMap<(u64, String, u64), Value>>,
    faults: Mutex<Vec<String>>,
}

impl World {
    /// Of a running server.
    pub async fn of(server: &Server) -> Arc<Self> {
        let takes_calls = |roles: &str| roles.split(',').any(|role| matches!(role, "all" | "gateway"));
        let mut proxies = Vec::new();
        for process in server.processes().iter().filter(|process| takes_calls(process.roles())) {
            proxies.push(Proxy::before(process).await);
        }
        Arc::new(Self {
            server: server.clone(),
            proxies,
            oracle: Mutex::default(),
            given: Mutex::default(),
            faults: Mutex::default(),
        })
    }

    /// What was said, until the guard is dropped.
    pub fn oracle(&self) -> MutexGuard<'_, Oracle> {
        self.oracle.lock().unwrap()
    }

    /// Notes what is wrong with what somebody was sent.
    pub(crate) fn fault(&self, who: &str, what: &str) {
        let mut faults = self.faults.lock().unwrap();
        if faults.len() < FAULTS_MAX {
            faults.push(format!("{who}: {what}"));
        }
    }

    /// Fails when a device was ever sent something wrong.
    pub fn assert_no_faults(&self) {
        let faults = self.faults.lock().unwrap();
        assert!(faults.is_empty(), "devices were sent what is wrong:\n{}", faults.join("\n"));
    }

    fn note_given(&self, uid: u64, frame: &Value) -> Result<(), String> {
        let token = frame["token"].as_str().unwrap_or_default();
        let epoch = token.rsplit_once('.').map_or("", |(epoch, _)| epoch);
        let mut given = self.given.lock().unwrap();
        for entry in frame["entries"].as_array().into_iter().flatten() {
            let mut entry = entry.clone();
            entry.as_object_mut().map(|fields| fields.remove("own"));
            let version = entry["version"].as_str().and_then(|text| text.parse().ok()).unwrap_or_default();
            let known = given.entry((uid, epoch.to_owned(), version)).or_insert_with(|| entry.clone());
            if *known != entry {
                return Err(format!("one version, given twice: {known} and {entry}"));
            }
        }
        Ok(())
    }
}

enum Command {
    Cut,
    Ask(Value, oneshot::Sender<Value>),
}

/// A device, connected until it is dropped.
pub struct Phone {
    /// Whose.
    pub uid: u64,
    /// The endpoint of its token.
    pub endpoint: String,
    device: Arc<Mutex<Device>>,
    commands: mpsc::Sender<Command>,
    task: tokio::task::JoinHandle<()>,
}

impl Phone {
    /// A new device of a user, whose first connection goes to the gateway of this number.
    #[must_use]
    pub fn connect(world: &Arc<World>, uid: u64, endpoint: &str, first_gateway: usize) -> Self {
        let device = Arc::new(Mutex::new(Device::new(endpoint)));
        let (commands, received) = mpsc::channel(COMMANDS_WAITING);
        let line = Line {
            world: world.clone(),
            uid,
            endpoint: endpoint.to_owned(),
            device: device.clone(),
            received,
            next_gateway: first_gateway,
            next_id: 0,
            to_ask: BTreeSet::new(),
            not_now: BTreeSet::new(),
            ask_at: None,
        };
        Self { uid, endpoint: endpoint.to_owned(), device, commands, task: tokio::spawn(line.run()) }
    }

    /// What it shows now.
    pub fn device(&self) -> MutexGuard<'_, Device> {
        self.device.lock().unwrap()
    }

    /// Its socket is gone without a word; it connects again, to the next gateway.
    pub async fn cut(&self) {
        // A device that was sent something wrong has ended, and is told of by [`World::assert_no_faults`].
        let _ = self.commands.send(Command::Cut).await;
    }

    /// Sends an ack or a read over its connection. `None` when the connection ended before the answer.
    pub async fn ask(&self, frame: Value) -> Option<Value> {
        let (answered, answer) = oneshot::channel();
        self.commands.send(Command::Ask(frame, answered)).await.ok()?;
        answer.await.ok()
    }
}

impl Drop for Phone {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What keeps a device connected.
struct Line {
    world: Arc<World>,
    uid: u64,
    endpoint: String,
    device: Arc<Mutex<Device>>,
    received: mpsc::Receiver<Command>,
    next_gateway: usize,
    next_id: u64,
    /// Messages whose tallies are to be asked for.
    to_ask: BTreeSet<Place>,
    /// Those that may not be seen now: asked for again when something of their conversation is told.
    not_now: BTreeSet<Place>,
    ask_at: Option<Instant>,
}

impl Line {
    async fn run(mut self) {
        let who = format!("{} of {}", self.endpoint, self.uid);
        loop {
            let gateway = self.next_gateway % self.world.proxies.len();
            self.next_gateway += 1;
            let token = token::user(&self.world.server.secret(), self.uid, &self.endpoint);
            let to = self.world.proxies[gateway].address;
            match Wire::open(to, &token).await {
                Ok(wire) => {
                    if let Err(wrong) = self.follow(wire).await {
                        return self.world.fault(&who, &wrong);
                    }
                }
                Err(_) => tokio::time::sleep(RECONNECT_PAUSE).await,
            }
        }
    }

    /// One connection; an error is a fault of the server.
    async fn follow(&mut self, mut wire: Wire) -> Result<(), String> {
        let token = self.device().token.clone();
        wire.hello(token.as_deref()).await;
        let mut waiting: BTreeMap<u64, oneshot::Sender<Value>> = BTreeMap::new();
        loop {
            let ask_at = self.ask_at;
            tokio::select! {
                heard = wire.next() => match heard {
                    Heard::Frame(frame) if matches!(frame["type"].as_str(), Some("ok" | "error")) => {
                        let answered = frame["id"].as_u64().and_then(|id| waiting.remove(&id));
                        let answered = answered.ok_or_else(|| format!("nobody asked for {frame}"))?;
                        let _ = answered.send(frame);
                    }
                    Heard::Frame(frame) => self.take(&frame)?,
                    Heard::Ping => {}
                    Heard::Closed(1012 | 1013) | Heard::Cut(_) => return Ok(()),
                    Heard::Closed(code) => return Err(format!("closed with {code}")),
                },
                command = self.received.recv() => match command {
                    None | Some(Command::Cut) => return Ok(()),
                    Some(Command::Ask(mut frame, answered)) => {
                        self.next_id += 1;
                        frame["id"] = json!(self.next_id);
                        waiting.insert(self.next_id, answered);
                        wire.say(&frame).await;
                    }
                },
                () = sleep_until(ask_at) => self.ask_for_tallies().await?,
            }
        }
    }

    fn device(&self) -> MutexGuard<'_, Device> {
        self.device.lock().unwrap()
    }

    fn take(&mut self, frame: &Value) -> Result<(), String> {
        self.world.note_given(self.uid, frame)?;
        let (is_snapshot, doubts) = {
            let mut device = self.device();
            let is_snapshot = device.take(frame)?;
            (is_snapshot, !device.doubted.is_empty())
        };
        if is_snapshot {
            // Pushes may have been lost: all that is shown is asked for.
            let oracle = self.world.oracle();
            self.to_ask = oracle.sent_by(self.uid).map(|(id, seq)| (id.to_owned(), seq)).collect();
            drop(oracle);
            self.not_now.clear();
            self.ask_at = Some(Instant::now());
        }
        for entry in frame["entries"].as_array().into_iter().flatten() {
            let id = entry["conversation_id"].as_str().unwrap_or_default();
            if entry["kind"] != "message_read" && self.not_now.iter().any(|(of, _)| of == id) {
                let (now, not_now) =
                    std::mem::take(&mut self.not_now).into_iter().partition(|(of, _)| of == id);
                self.not_now = not_now;
                self.to_ask.append(&mut { now });
                self.ask_at.get_or_insert(Instant::now());
            }
        }
        if doubts {
            self.ask_at.get_or_insert(Instant::now() + ASK_AFTER);
        }
        Ok(())
    }

    async fn ask_for_tallies(&mut self) -> Result<(), String> {
        self.ask_at = None;
        let doubted = self.device().doubted.clone();
        self.to_ask.extend(doubted);
        let asked: Vec<Place> = std::mem::take(&mut self.to_ask).into_iter().collect();
        for page in asked.chunks(QUERY_MESSAGES) {
            let messages =
                page.iter().map(|(id, seq)| json!({"conversation_id": id, "seq": seq.to_string()}));
            let body = json!({"messages": messages.collect::<Vec<_>>()});
            let caller = self.world.server.as_user(self.uid, &self.endpoint);
            let answer = caller.try_send("POST", "/v1/receipts/query", &body).await;
            match answer {
                Ok(answer) if answer.status == 200 => {
                    let answer = answer.json();
                    let receipts = answer["receipts"].as_array().ok_or("no receipts")?;
                    for (place, receipt) in page.iter().zip(receipts) {
                        self.take_receipt(place, receipt)?;
                    }
                }
                Ok(answer) if answer.asks_to_retry() => self.ask_again(page),
                Ok(answer) => return Err(format!("asked for tallies: {answer}")),
                Err(_) => self.ask_again(page),
            }
        }
        Ok(())
    }

    fn ask_again(&mut self, page: &[Place]) {
        self.to_ask.extend(page.iter().cloned());
        self.ask_at = Some(Instant::now() + ASK_AFTER);
    }

    fn take_receipt(&mut self, place: &Place, receipt: &Value) -> Result<(), String> {
        match receipt["error"].as_str() {
            None => {
                let number = |field: &str| receipt[field].as_str()?.parse().ok();
                let told = number("read").zip(number("total")).zip(receipt["version"].as_str());
                let ((read, total), version) = told.ok_or_else(|| format!("a receipt is {receipt}"))?;
                self.device().merge(place.clone(), Shown { version: version.to_owned(), read, total })
            }
            Some("forbidden" | "receipts_off") => {
                self.device().forget(place);
                self.not_now.insert(place.clone());
                Ok(())
            }
            // It was sent a moment ago: what becomes of it will be told.
            Some("not_found") => Ok(()),
            Some(_) => Err(format!("a receipt is {receipt}")),
        }
    }
}

async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}
