//! A proxy before the CQL server that loses answers, after the server has done what was asked, or gives others.

use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

const HEADER_BYTES: usize = 9;
const OPCODE_ERROR: u8 = 0x00;
const OPCODE_SUPPORTED: u8 = 0x06;
const OPCODE_QUERY: u8 = 0x07;
const OPCODE_RESULT: u8 = 0x08;
const OPCODE_PREPARE: u8 = 0x09;
const OPCODE_EXECUTE: u8 = 0x0a;
const OPCODE_BATCH: u8 = 0x0d;
const RESULT_VOID: i32 = 1;
const RESULT_PREPARED: i32 = 4;
const LOCAL_QUORUM: u16 = 6;

/// What becomes of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Of a write: it timed out, though it took effect.
    WriteTimeout,
    /// It never comes.
    Silence,
    /// The connection is cut.
    Hangup,
    /// It can't be understood.
    Garbage,
    Overloaded,
    Unavailable,
    Bootstrapping,
    ServerError,
    ReadTimeout,
    ReadFailure,
    WriteFailure,
    Invalid,
    Unauthorized,
    SyntaxError,
}

impl Fault {
    /// Only answers to writes that succeeded are lost this way, each of which took effect.
    fn is_of_writes(self) -> bool {
        self == Self::WriteTimeout
    }
}

struct Plan {
    fault: Fault,
    /// The requests that it is for; all without them.
    of: Option<BTreeSet<String>>,
    left: u32,
}

#[derive(Default)]
struct Shared {
    plan: Mutex<Option<Plan>>,
    lost: AtomicU32,
    /// Statements by their ids.
    texts: Mutex<HashMap<Vec<u8>, String>>,
    written: Mutex<Vec<BTreeSet<String>>>,
    lost_texts: Mutex<BTreeSet<String>>,
}

/// A running proxy.
pub struct Proxy {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

impl Proxy {
    pub async fn start(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        let of_connections = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&server).await.unwrap();
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                let asked = Arc::default();
                tokio::spawn(requests(from_client, to_server, Arc::clone(&asked)));
                tokio::spawn(answers(from_server, to_client, asked, Arc::clone(&of_connections)));
            }
        });
        Self { address, shared }
    }

    /// The next `count` answers get that fault.
    pub fn lose(&self, fault: Fault, count: u32) {
        *lock(&self.shared.plan) = Some(Plan { fault, of: None, left: count });
    }

    /// The next `count` answers to requests of just these statements get that fault. Requests of one call are on
    /// their way together, and which is answered first is anybody's guess.
    pub fn lose_of(&self, statements: &BTreeSet<String>, fault: Fault, count: u32) {
        *lock(&self.shared.plan) = Some(Plan { fault, of: Some(statements.clone()), left: count });
    }

    /// All answers come as they are.
    pub fn heal(&self) {
        *lock(&self.shared.plan) = None;
    }

    /// How many answers were lost so far.
    pub fn lost(&self) -> u32 {
        self.shared.lost.load(Ordering::SeqCst)
    }

    /// The statements of each request to write that the server has done since this was asked last.
    pub fn take_written(&self) -> Vec<BTreeSet<String>> {
        std::mem::take(&mut *lock(&self.shared.written))
    }

    /// The statements that were prepared and write.
    pub fn prepared_writes(&self) -> BTreeSet<String> {
        let texts = lock(&self.shared.texts);
        texts.values().filter(|text| !text.starts_with("SELECT")).cloned().collect()
    }

    /// Statements whose answer was lost.
    pub fn lost_statements(&self) -> BTreeSet<String> {
        lock(&self.shared.lost_texts).clone()
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap()
}

/// Requests on their way, by stream.
type Asked = Arc<Mutex<HashMap<[u8; 2], Vec<u8>>>>;

async fn frame(from: &mut OwnedReadHalf) -> Option<Vec<u8>> {
    let mut frame = vec![0; HEADER_BYTES];
    from.read_exact(&mut frame).await.ok()?;
    let length = u32::from_be_bytes(frame[5..9].try_into().unwrap());
    frame.resize(HEADER_BYTES + usize::try_from(length).unwrap(), 0);
    from.read_exact(&mut frame[HEADER_BYTES..]).await.ok()?;
    Some(frame)
}

async fn requests(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, asked: Asked) {
    while let Some(frame) = frame(&mut from).await {
        lock(&asked).insert([frame[2], frame[3]], frame.clone());
        if to.write_all(&frame).await.is_err() {
            break;
        }
    }
}

async fn answers(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, asked: Asked, shared: Arc<Shared>) {
    while let Some(mut frame) = frame(&mut from).await {
        let request = lock(&asked).remove(&[frame[2], frame[3]]);
        if frame[4] == OPCODE_SUPPORTED {
            hide_compression(&mut frame);
        }
        if let Some(request) = request {
            shared.learn(&request, &frame);
            match shared.fault_of(&request, &frame) {
                Some(Fault::Silence) => continue,
                Some(Fault::Hangup) => break,
                Some(fault) => frame = changed(&frame, &request, fault),
                None => {}
            }
        }
        if to.write_all(&frame).await.is_err() {
            break;
        }
    }
}

/// What is compressed can't be looked into.
fn hide_compression(supported: &mut [u8]) {
    for at in 0..supported.len().saturating_sub(3) {
        if &supported[at..at + 3] == b"lz4" {
            supported[at..at + 3].copy_from_slice(b"---");
        }
    }
}

fn is_done_write(request: &[u8], answer: &[u8]) -> bool {
    matches!(request[4], OPCODE_EXECUTE | OPCODE_BATCH)
        && answer[4] == OPCODE_RESULT
        && int_at(answer, HEADER_BYTES) == RESULT_VOID
}

impl Shared {
    fn learn(&self, request: &[u8], answer: &[u8]) {
        if is_done_write(request, answer) {
            let statements = self.statements_of(request);
            lock(&self.written).push(statements);
        }
        let is_prepared = request[4] == OPCODE_PREPARE
            && answer[4] == OPCODE_RESULT
            && int_at(answer, HEADER_BYTES) == RESULT_PREPARED;
        if is_prepared {
            let length = usize::try_from(int_at(request, HEADER_BYTES)).unwrap();
            let text = &request[HEADER_BYTES + 4..HEADER_BYTES + 4 + length];
            let id = short_bytes(answer, HEADER_BYTES + 4);
            lock(&self.texts).insert(id.to_vec(), String::from_utf8(text.to_vec()).unwrap());
        }
    }

    fn statements_of(&self, request: &[u8]) -> BTreeSet<String> {
        let is_in = |id: &[u8]| request.windows(id.len()).any(|part| part == id);
        lock(&self.texts).iter().filter(|(id, _)| is_in(id)).map(|(_, text)| text.clone()).collect()
    }

    /// The fault that this answer gets; it counts.
    fn fault_of(&self, request: &[u8], answer: &[u8]) -> Option<Fault> {
        let mut plan = lock(&self.plan);
        let current = plan.as_mut()?;
        let is_met = if current.fault.is_of_writes() {
            is_done_write(request, answer)
        } else {
            matches!(request[4], OPCODE_EXECUTE | OPCODE_BATCH) || is_of_tables(request)
        };
        if !is_met || current.left == 0 {
            return None;
        }
        let statements = self.statements_of(request);
        if current.of.as_ref().is_some_and(|of| *of != statements) {
            return None;
        }
        current.left -= 1;
        self.lost.fetch_add(1, Ordering::SeqCst);
        lock(&self.lost_texts).extend(statements);
        Some(current.fault)
    }
}

/// Is it a question for our own tables, and none by which the driver learns of the cluster?
fn is_of_tables(request: &[u8]) -> bool {
    request[4] == OPCODE_QUERY && !String::from_utf8_lossy(request).contains("system")
}

fn int_at(frame: &[u8], at: usize) -> i32 {
    frame.get(at..at + 4).map_or(0, |bytes| i32::from_be_bytes(bytes.try_into().unwrap()))
}

fn short_bytes(frame: &[u8], at: usize) -> &[u8] {
    let length = usize::from(u16::from_be_bytes(frame[at..at + 2].try_into().unwrap()));
    &frame[at + 2..at + 2 + length]
}

/// An error in place of the answer: its code, a message and what belongs to that code.
fn changed(answer: &[u8], request: &[u8], fault: Fault) -> Vec<u8> {
    let write_type = if request[4] == OPCODE_BATCH { "UNLOGGED_BATCH" } else { "SIMPLE" };
    let text = |text: &str| {
        let mut bytes = u16::try_from(text.len()).unwrap().to_be_bytes().to_vec();
        bytes.extend_from_slice(text.as_bytes());
        bytes
    };
    let counts = |counts: &[i32]| {
        let mut bytes = LOCAL_QUORUM.to_be_bytes().to_vec();
        counts.iter().for_each(|count| bytes.extend_from_slice(&count.to_be_bytes()));
        bytes
    };
    let (code, rest): (i32, Vec<u8>) = match fault {
        Fault::WriteTimeout => (0x1100, [counts(&[0, 1]), text(write_type)].concat()),
        Fault::WriteFailure => (0x1500, [counts(&[0, 1, 1]), text(write_type)].concat()),
        Fault::ReadTimeout => (0x1200, [counts(&[0, 1]), vec![0]].concat()),
        Fault::ReadFailure => (0x1300, [counts(&[0, 1, 1]), vec![0]].concat()),
        Fault::Unavailable => (0x1000, counts(&[1, 0])),
        Fault::Overloaded => (0x1001, Vec::new()),
        Fault::Bootstrapping => (0x1002, Vec::new()),
        Fault::ServerError => (0x0000, Vec::new()),
        Fault::Invalid => (0x2200, Vec::new()),
        Fault::Unauthorized => (0x2100, Vec::new()),
        Fault::SyntaxError => (0x2000, Vec::new()),
        Fault::Silence | Fault::Hangup | Fault::Garbage => (0, Vec::new()),
    };
    let mut body = [code.to_be_bytes().to_vec(), text("said by the proxy"), rest].concat();
    let mut opcode = OPCODE_ERROR;
    if fault == Fault::Garbage {
        (opcode, body) = (OPCODE_RESULT, vec![0xff; 7]);
    }
    let mut frame = vec![answer[0], 0, answer[2], answer[3], opcode];
    frame.extend_from_slice(&u32::try_from(body.len()).unwrap().to_be_bytes());
    frame.extend_from_slice(&body);
    frame
}
