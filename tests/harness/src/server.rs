//! A running readmark: one process, or several that share log and store.

use crate::caller::Caller;
use crate::full::Installation;
use crate::http::{Call, Http};
use crate::metrics::Sample;
use crate::options::{Options, Parts};
use crate::output::Output;
use crate::process::{Address, Process, Program, ReservedPort, Start};
use crate::reply::Reply;
use crate::token;
use crate::uptime::Uptime;
use futures::future::join_all;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

struct Shared {
    options: Options,
    processes: Mutex<Vec<Process>>,
    /// On full parts; taken when it is removed.
    installation: Option<Installation>,
    output: Output,
    http: Http,
    /// Calls go round the processes that take them.
    turn: AtomicUsize,
    unanswered: AtomicUsize,
    longest_wait_ms: AtomicU64,
    answered: watch::Sender<u64>,
    uptime: Uptime,
}

/// A server that tests may share between tasks. The last owner kills it.
#[derive(Clone)]
pub struct Server {
    shared: Arc<Shared>,
}

impl Server {
    /// Starts one on a fresh directory and waits until it is ready.
    pub async fn fresh() -> Self {
        Self::start(Options::default()).await
    }

    /// Starts one and waits until it is ready.
    pub async fn start(options: Options) -> Self {
        let server = Self::stopped(options);
        server.restart().await;
        server
    }

    /// One that is not started yet.
    #[must_use]
    pub fn stopped(options: Options) -> Self {
        let installation = match &options.parts {
            Parts::Embedded => None,
            Parts::Full(services) => Some(Installation::new(services.clone(), options.data_dir.path())),
        };
        let processes = options.processes.clone();
        let shared = Shared {
            options,
            processes: Mutex::default(),
            installation,
            output: Output::default(),
            http: Http::default(),
            turn: AtomicUsize::new(0),
            unanswered: AtomicUsize::new(0),
            longest_wait_ms: AtomicU64::new(0),
            answered: watch::Sender::default(),
            uptime: Uptime::default(),
        };
        let server = Self { shared: Arc::new(shared) };
        if processes.is_empty() {
            server.add("all");
        }
        for roles in processes {
            server.add(roles);
        }
        server
    }

    /// Adds a process with these roles, not started yet. Calls go to those that have the gateway, so the query must
    /// be there too.
    pub fn add(&self, roles: &'static str) -> Process {
        let (shared, options) = (&self.shared, &self.shared.options);
        let mut processes = shared.processes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut program =
            Program { launcher: options.launcher.clone(), arguments: Vec::new(), env: options.env.clone() };
        let address = match &shared.installation {
            None => {
                assert!(processes.is_empty() && roles == "all", "embedded parts serve one process");
                let data_dir = options.inner_data_dir.as_deref().unwrap_or_else(|| options.data_dir.path());
                program.arguments = ["up", "--listen", "127.0.0.1:0", "--data-dir"].map(Into::into).to_vec();
                program.arguments.push(data_dir.into());
                Address::In(self.data_dir().join("listen"))
            }
            Some(installation) => {
                let port = ReservedPort::any();
                program.arguments = Installation::serve(roles, &port);
                program.env.splice(0..0, installation.env());
                Address::At(port)
            }
        };
        let process = Process::new(roles, processes.len(), program, address, shared.output.clone());
        processes.push(process.clone());
        process
    }

    /// Its processes, in the order in which they were added.
    #[must_use]
    pub fn processes(&self) -> Vec<Process> {
        self.shared.processes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Starts it (again) and waits until it is ready.
    pub async fn restart(&self) {
        self.set_up().await;
        join_all(self.processes().iter().map(Process::restart)).await;
        self.shared.uptime.begin();
    }

    /// Starts it and waits until it is ready or a process has ended.
    pub async fn try_start(&self) -> Start {
        self.set_up().await;
        let starts = join_all(self.processes().iter().map(Process::try_start)).await;
        starts.into_iter().find(|start| matches!(start, Start::Ended(_))).unwrap_or(Start::Ready)
    }

    async fn set_up(&self) {
        if let Some(installation) = &self.shared.installation {
            installation.set_up(&self.shared.options.env).await;
        }
    }

    /// Ends it with SIGKILL, as a crash would.
    pub fn kill(&self) {
        self.shared.uptime.end();
        self.processes().iter().for_each(Process::kill);
    }

    /// Asks it to end with SIGTERM, without waiting.
    pub fn send_sigterm(&self) {
        self.processes().iter().for_each(Process::send_sigterm);
    }

    /// Waits until it has ended by itself; says how its first process did.
    pub async fn ended(&self) -> std::process::ExitStatus {
        let ends = join_all(self.processes().iter().map(Process::ended)).await;
        ends[0]
    }

    /// Ends it with SIGTERM and waits; every process must have drained and say so with exit code 0.
    pub async fn terminate(&self) {
        self.send_sigterm();
        join_all(self.processes().iter().map(Process::drained)).await;
    }

    /// The data directory, as the test sees it.
    #[must_use]
    pub fn data_dir(&self) -> &Path {
        self.shared.options.data_dir.path()
    }

    /// Where its first process listens now; `None` while it is down.
    #[must_use]
    pub fn listen(&self) -> Option<SocketAddr> {
        self.processes()[0].listen()
    }

    /// What it has printed.
    #[must_use]
    pub fn output(&self) -> &Output {
        &self.shared.output
    }

    /// What `/metrics` of its running processes say now.
    pub async fn metrics(&self) -> Vec<Sample> {
        let mut samples = Vec::new();
        for process in self.processes().iter().filter(|process| process.listen().is_some()) {
            samples.extend(process.metrics().await);
        }
        samples
    }

    /// The secret that its tokens are signed with.
    #[must_use]
    pub fn secret(&self) -> Vec<u8> {
        std::fs::read(self.data_dir().join("secret")).unwrap_or_default()
    }

    /// Calls with the IM backend's token.
    #[must_use]
    pub fn as_service(&self) -> Caller {
        self.with_token(token::service(&self.secret()))
    }

    /// Calls with a user's token.
    #[must_use]
    pub fn as_user(&self, uid: u64, endpoint: &str) -> Caller {
        self.with_token(token::user(&self.secret(), uid, endpoint))
    }

    /// Calls with this token.
    #[must_use]
    pub fn with_token(&self, token: String) -> Caller {
        Caller::new(self.clone(), Some(token))
    }

    /// Calls without a token.
    #[must_use]
    pub fn anonymous(&self) -> Caller {
        Caller::new(self.clone(), None)
    }

    /// Requests so far that stayed without an answer.
    #[must_use]
    pub fn unanswered(&self) -> usize {
        self.shared.unanswered.load(Ordering::SeqCst)
    }

    /// The longest that a caller, who sends again what was refused for now, has waited for an answer.
    #[must_use]
    pub fn longest_wait(&self) -> Duration {
        Duration::from_millis(self.shared.longest_wait_ms.load(Ordering::SeqCst))
    }

    /// How many callers, who send again what was refused for now, have got their answers.
    pub(crate) fn answered(&self) -> watch::Receiver<u64> {
        self.shared.answered.subscribe()
    }

    pub(crate) fn has_answered(&self, after: Duration) {
        let ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
        self.shared.longest_wait_ms.fetch_max(ms, Ordering::SeqCst);
        self.shared.answered.send_modify(|answered| *answered += 1);
    }

    /// How long it was up between its starts and its kills.
    #[must_use]
    pub fn uptime(&self) -> &Uptime {
        &self.shared.uptime
    }

    /// One request, one answer, of any process that takes calls and lives; `Err` says why there is none.
    pub(crate) async fn send(&self, call: &Call) -> Result<Reply, String> {
        let living: Vec<SocketAddr> = self.processes().iter().filter_map(Process::takes_calls_at).collect();
        let turn = self.shared.turn.fetch_add(1, Ordering::Relaxed);
        let reply = match living.get(turn % living.len().max(1)) {
            Some(listen) => self.shared.http.send(*listen, call).await,
            None => Err("readmark is down".to_owned()),
        };
        if reply.is_err() {
            self.shared.unanswered.fetch_add(1, Ordering::SeqCst);
        }
        reply
    }

    /// Its configuration, as variables.
    pub(crate) fn configuration(&self) -> Vec<(String, String)> {
        let mut env = match self.installation() {
            Some(installation) => installation.env(),
            None => vec![("READMARK_DATA_DIR".to_owned(), self.data_dir().display().to_string())],
        };
        env.extend(self.shared.options.env.iter().cloned());
        env
    }

    pub(crate) fn installation(&self) -> Option<&Installation> {
        self.shared.installation.as_ref()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let processes = std::mem::take(self.processes.get_mut().unwrap_or_else(PoisonError::into_inner));
        for process in processes {
            process.kill_if_running();
        }
        if std::thread::panicking() {
            eprintln!("--- what readmark printed last\n{}\n---", self.output.tail());
        }
        if let Some(installation) = self.installation.take() {
            installation.remove();
        }
    }
}
