//! A proxy before the CQL server that loses answers to writes, after the server has done them.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

const HEADER_BYTES: usize = 9;
const OPCODE_ERROR: u8 = 0x00;
const OPCODE_RESULT: u8 = 0x08;
const OPCODE_EXECUTE: u8 = 0x0a;
const OPCODE_BATCH: u8 = 0x0d;
/// A result without rows is this short, compressed or not; one with rows has its columns' metadata.
const VOID_BYTES_MAX: usize = 12;

/// What happens to an answer to a write.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// It becomes a write timeout.
    Timeout,
    /// It never comes.
    Silence,
}

#[derive(Default)]
struct Losses {
    timeouts: AtomicU32,
    silences: AtomicU32,
    lost: AtomicU32,
}

/// A running proxy.
pub struct Proxy {
    pub address: SocketAddr,
    losses: Arc<Losses>,
}

impl Proxy {
    pub async fn start(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let losses = Arc::new(Losses::default());
        let of_connections = Arc::clone(&losses);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&server).await.unwrap();
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                let opcodes = Arc::default();
                tokio::spawn(requests(from_client, to_server, Arc::clone(&opcodes)));
                tokio::spawn(answers(from_server, to_client, opcodes, Arc::clone(&of_connections)));
            }
        });
        Self { address, losses }
    }

    /// Loses the next `count` answers to writes.
    pub fn lose(&self, loss: Loss, count: u32) {
        match loss {
            Loss::Timeout => self.losses.timeouts.store(count, Ordering::SeqCst),
            Loss::Silence => self.losses.silences.store(count, Ordering::SeqCst),
        }
    }

    /// How many were lost so far.
    pub fn lost(&self) -> u32 {
        self.losses.lost.load(Ordering::SeqCst)
    }
}

/// Opcodes of the requests on their way, by stream.
type Opcodes = Arc<Mutex<HashMap<[u8; 2], u8>>>;

async fn frame(from: &mut OwnedReadHalf) -> Option<Vec<u8>> {
    let mut frame = vec![0; HEADER_BYTES];
    from.read_exact(&mut frame).await.ok()?;
    let length = u32::from_be_bytes(frame[5..9].try_into().unwrap());
    frame.resize(HEADER_BYTES + usize::try_from(length).unwrap(), 0);
    from.read_exact(&mut frame[HEADER_BYTES..]).await.ok()?;
    Some(frame)
}

async fn requests(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, opcodes: Opcodes) {
    while let Some(frame) = frame(&mut from).await {
        opcodes.lock().unwrap().insert([frame[2], frame[3]], frame[4]);
        if to.write_all(&frame).await.is_err() {
            break;
        }
    }
}

async fn answers(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, opcodes: Opcodes, losses: Arc<Losses>) {
    while let Some(mut frame) = frame(&mut from).await {
        let opcode = opcodes.lock().unwrap().remove(&[frame[2], frame[3]]);
        let write_type = match opcode {
            Some(OPCODE_EXECUTE) => Some("SIMPLE"),
            Some(OPCODE_BATCH) => Some("UNLOGGED_BATCH"),
            Some(_) | None => None,
        };
        let is_void = frame[4] == OPCODE_RESULT && frame.len() - HEADER_BYTES <= VOID_BYTES_MAX;
        if let Some(write_type) = write_type.filter(|_| is_void) {
            if take(&losses.silences) {
                losses.lost.fetch_add(1, Ordering::SeqCst);
                continue;
            }
            if take(&losses.timeouts) {
                losses.lost.fetch_add(1, Ordering::SeqCst);
                frame = write_timeout(&frame, write_type);
            }
        }
        if to.write_all(&frame).await.is_err() {
            break;
        }
    }
}

fn take(left: &AtomicU32) -> bool {
    left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
}

/// ERROR 0x1100: message, consistency LOCAL_QUORUM, 0 received of 1, kind of write.
fn write_timeout(answer: &[u8], write_type: &str) -> Vec<u8> {
    let mut body = 0x1100_i32.to_be_bytes().to_vec();
    let text = |body: &mut Vec<u8>, text: &str| {
        body.extend_from_slice(&u16::try_from(text.len()).unwrap().to_be_bytes());
        body.extend_from_slice(text.as_bytes());
    };
    text(&mut body, "lost by the proxy");
    body.extend_from_slice(&6_u16.to_be_bytes());
    body.extend_from_slice(&0_i32.to_be_bytes());
    body.extend_from_slice(&1_i32.to_be_bytes());
    text(&mut body, write_type);
    let mut frame = vec![answer[0], 0, answer[2], answer[3], OPCODE_ERROR];
    frame.extend_from_slice(&u32::try_from(body.len()).unwrap().to_be_bytes());
    frame.extend_from_slice(&body);
    frame
}
