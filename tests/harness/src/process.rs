//! A process of readmark: started, killed, frozen, stopped and started again.

use crate::binary;
use crate::http::{Call, Http};
use crate::output::Output;
use crate::reply::Reply;
use crate::{DEADLINE, metrics, own_process, wait_until};
use rustix::process::Signal;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::net::TcpSocket;

/// How long a start may take: on full parts partitions may have to be waited for until a session is over. Several of them
/// at once share a busy machine with starting parts.
const READY_WITHIN: Duration = Duration::from_secs(180);

/// How a start ended.
#[derive(Debug)]
pub enum Start {
    /// It answers.
    Ready,
    /// It ended before it was ready.
    Ended(ExitStatus),
}

/// What is run.
#[derive(Clone)]
pub struct Program {
    /// A command that runs the program, such as one that sets a limit first.
    pub launcher: Vec<String>,
    /// What the program is told.
    pub arguments: Vec<OsString>,
    /// Variables of the environment.
    pub env: Vec<(String, String)>,
}

impl Program {
    /// As a command, with nothing of the tests' own environment.
    pub fn command(&self) -> Command {
        let mut words = self.launcher.iter().map(OsString::from).collect::<Vec<_>>();
        words.push(binary().into_os_string());
        words.extend(self.arguments.iter().cloned());
        let mut command = own_process::command(&words[0]);
        command.args(&words[1..]).envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// How it is known where a process listens.
pub enum Address {
    /// It writes that into a file.
    In(PathBuf),
    /// It was told a port, which is kept for it.
    At(ReservedPort),
}

/// A port that no other process is given, also while nobody listens on it.
pub struct ReservedPort {
    /// Where it is.
    pub address: SocketAddr,
    /// Bound, and never listening: another socket may be bound there only when it asks for it by number.
    _socket: TcpSocket,
}

impl ReservedPort {
    /// Any one on loopback.
    pub fn any() -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_reuseaddr(true).expect("a socket can be shared");
        socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("there is a free port");
        Self { address: socket.local_addr().expect("it is bound"), _socket: socket }
    }
}

#[derive(Default)]
struct Running {
    child: Option<Child>,
    listen: Option<SocketAddr>,
    is_frozen: bool,
    starts: u32,
}

struct Shared {
    name: String,
    roles: &'static str,
    program: Program,
    address: Address,
    running: Mutex<Running>,
    output: Output,
    http: Http,
}

/// A process that tests may share between tasks.
#[derive(Clone)]
pub struct Process {
    shared: Arc<Shared>,
}

impl Process {
    /// One that is not started yet; what it prints is collected under its name: its roles and a number.
    pub fn new(
        roles: &'static str,
        number: usize,
        program: Program,
        address: Address,
        output: Output,
    ) -> Self {
        let name = format!("{roles} {number}");
        let (running, http) = (Mutex::default(), Http::default());
        Self { shared: Arc::new(Shared { name, roles, program, address, running, output, http }) }
    }

    /// Its roles, and a number.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Its roles, as it was told.
    #[must_use]
    pub fn roles(&self) -> &'static str {
        self.shared.roles
    }

    /// Starts it (again) and waits until it is ready.
    pub async fn restart(&self) {
        self.expect_ready(self.try_start().await);
    }

    /// Starts it and waits until it is ready or has ended.
    pub async fn try_start(&self) -> Start {
        if let Address::In(file) = &self.shared.address {
            // A killed process leaves the file behind, with an address that may be another's by now.
            let _ = std::fs::remove_file(file);
        }
        self.spawn();
        self.ready_or_ended().await
    }

    /// Waits until it is ready, again after a failure, which must not have ended it.
    pub async fn ready(&self) {
        self.expect_ready(self.ready_or_ended().await);
    }

    async fn ready_or_ended(&self) -> Start {
        wait_until(READY_WITHIN, &format!("{} to be ready", self.name()), || async {
            match self.poll_exit() {
                Some(status) => Ok(Start::Ended(status)),
                None => self.check_ready().await.map(|()| Start::Ready),
            }
        })
        .await
    }

    fn expect_ready(&self, start: Start) {
        if let Start::Ended(status) = start {
            panic!("{} ended with {status} instead of getting ready", self.name());
        }
    }

    fn spawn(&self) {
        let mut command = self.shared.program.command();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|e| panic!("{command:?} can't be started: {e}"));
        let name = self.name();
        let output = &self.shared.output;
        output.collect(format!("{name} out"), child.stdout.take().expect("stdout is piped"));
        output.collect(format!("{name} err"), child.stderr.take().expect("stderr is piped"));
        let mut running = self.running();
        assert!(running.child.is_none(), "{name} is running already");
        running.starts += 1;
        output.push(format!("test| start {} of {name} as process {}", running.starts, child.id()));
        running.child = Some(child);
    }

    async fn check_ready(&self) -> Result<(), String> {
        let listen = match &self.shared.address {
            Address::In(file) => read_address(file)?,
            Address::At(port) => port.address,
        };
        let reply = self.get(listen, "/readyz").await?;
        if reply.status != 200 {
            return Err(format!("/readyz: {reply}"));
        }
        self.running().listen = Some(listen);
        Ok(())
    }

    async fn get(&self, listen: SocketAddr, path: &str) -> Result<Reply, String> {
        let call = Call { method: "GET", path: path.into(), headers: Vec::new(), body: Vec::new().into() };
        self.shared.http.send(listen, &call).await
    }

    fn poll_exit(&self) -> Option<ExitStatus> {
        let mut running = self.running();
        let status = running.child.as_mut()?.try_wait().expect("the child can be asked")?;
        running.child = None;
        running.listen = None;
        Some(status)
    }

    /// Ends it with SIGKILL, as a crash would.
    pub fn kill(&self) {
        assert!(self.kill_if_running(), "{} is running", self.name());
    }

    /// The same where it may have ended; says whether it was running.
    pub fn kill_if_running(&self) -> bool {
        let mut running = self.running();
        let Some(mut child) = running.child.take() else { return false };
        running.listen = None;
        running.is_frozen = false;
        child.kill().expect("own child can be killed");
        child.wait().expect("own child can be waited for");
        true
    }

    /// Freezes it with SIGSTOP: it lives and does nothing, until [`Self::thaw`].
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
        self.running().is_frozen = true;
    }

    /// Lets it go on with SIGCONT.
    pub fn thaw(&self) {
        self.signal(Signal::CONT);
        self.running().is_frozen = false;
    }

    /// Asks it to end with SIGTERM, without waiting.
    pub fn send_sigterm(&self) {
        self.signal(Signal::TERM);
    }

    fn signal(&self, signal: Signal) {
        let running = self.running();
        let child = running.child.as_ref().unwrap_or_else(|| panic!("{} is running", self.name()));
        own_process::signal(child.id(), signal);
    }

    /// Waits until it has ended by itself.
    pub async fn ended(&self) -> ExitStatus {
        wait_until(DEADLINE, &format!("{} to end", self.name()), || async {
            self.poll_exit().ok_or("still running".to_owned())
        })
        .await
    }

    /// Ends it with SIGTERM and waits; it must have drained and say so with exit code 0.
    pub async fn terminate(&self) {
        self.send_sigterm();
        self.drained().await;
    }

    /// Waits until it has ended, as a process does that has drained.
    pub async fn drained(&self) {
        let status = self.ended().await;
        assert_eq!(status.code(), Some(0), "{} drains on SIGTERM and exits with 0", self.name());
    }

    /// Where it listens now; `None` while it is down.
    #[must_use]
    pub fn listen(&self) -> Option<SocketAddr> {
        self.running().listen
    }

    /// Its process id; `None` while it is down.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.running().child.as_ref().map(Child::id)
    }

    /// Where it takes calls now; `None` when it does not, or is down or frozen.
    pub(crate) fn takes_calls_at(&self) -> Option<SocketAddr> {
        let running = self.running();
        running.listen.filter(|_| self.takes_calls() && !running.is_frozen)
    }

    fn takes_calls(&self) -> bool {
        self.roles().split(',').any(|role| matches!(role, "all" | "gateway"))
    }

    /// Is there a process?
    pub(crate) fn is_running(&self) -> bool {
        self.poll_exit();
        self.running().child.is_some()
    }

    /// What `/readyz` says is missing: nothing when it is ready.
    pub async fn missing(&self) -> Vec<String> {
        let listen = self.listen().unwrap_or_else(|| panic!("{} is running", self.name()));
        let reply = self.get(listen, "/readyz").await;
        let reply = reply.unwrap_or_else(|e| panic!("/readyz of {}: {e}", self.name()));
        let items = reply.json()["items"].as_array().cloned().unwrap_or_default();
        items.iter().filter_map(|item| item["field"].as_str().map(str::to_owned)).collect()
    }

    /// What its `/metrics` says now.
    pub async fn metrics(&self) -> Vec<metrics::Sample> {
        let listen = self.listen().unwrap_or_else(|| panic!("{} is running", self.name()));
        let reply = self.get(listen, "/metrics").await;
        let reply = reply.unwrap_or_else(|e| panic!("/metrics of {}: {e}", self.name()));
        metrics::parse(&reply.expect(200).text())
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.shared.running.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn read_address(file: &Path) -> Result<SocketAddr, String> {
    let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    text.trim().parse().map_err(|e| format!("{} holds {text:?}: {e}", file.display()))
}

impl Drop for Shared {
    fn drop(&mut self) {
        let running = self.running.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(child) = running.child.as_mut() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
