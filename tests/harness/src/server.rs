//! A running `readmark up`: started, killed, stopped and started again on the same directory.

use crate::caller::Caller;
use crate::http::{Call, Http};
use crate::output::Output;
use crate::reply::Reply;
use crate::{DEADLINE, binary, token, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};

/// Where a server keeps its data.
#[derive(Clone)]
pub struct DataDir {
    path: PathBuf,
    _owned: Option<Arc<tempfile::TempDir>>,
}

impl Default for DataDir {
    fn default() -> Self {
        let dir = tempfile::Builder::new().prefix("readmark-test-").tempdir().expect("a temporary directory");
        Self { path: dir.path().join("data"), _owned: Some(Arc::new(dir)) }
    }
}

impl DataDir {
    /// A directory that the test takes care of itself.
    #[must_use]
    pub fn at(path: PathBuf) -> Self {
        Self { path, _owned: None }
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// How to start.
#[derive(Clone, Default)]
pub struct Options {
    /// Where the data is.
    pub data_dir: DataDir,
    /// Variables of the environment, in addition.
    pub env: Vec<(String, String)>,
    /// A command that runs the program, such as one that sets a limit first.
    pub launcher: Vec<String>,
    /// The data directory as the program names it, where a launcher puts it elsewhere than the test sees it.
    pub inner_data_dir: Option<PathBuf>,
}

impl Options {
    /// With a variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// How a start ended.
#[derive(Debug)]
pub enum Start {
    /// It answers.
    Ready,
    /// It ended before it was ready.
    Ended(ExitStatus),
}

#[derive(Default)]
struct Running {
    child: Option<Child>,
    listen: Option<SocketAddr>,
    starts: u32,
}

struct Shared {
    options: Options,
    running: Mutex<Running>,
    output: Output,
    http: Http,
    secret: Mutex<Vec<u8>>,
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
        let shared = Shared {
            options,
            running: Mutex::default(),
            output: Output::default(),
            http: Http::default(),
            secret: Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Starts it (again) and waits until it is ready.
    pub async fn restart(&self) {
        if let Start::Ended(status) = self.try_start().await {
            panic!("readmark ended with {status} instead of getting ready");
        }
    }

    /// Starts it and waits until it is ready or has ended.
    pub async fn try_start(&self) -> Start {
        let listen_file = self.data_dir().join("listen");
        // A killed server leaves the file behind, with an address that may be another server's by now.
        let _ = std::fs::remove_file(&listen_file);
        self.spawn();
        let started = wait_until(DEADLINE, "readmark to be ready", || self.is_ready(&listen_file)).await;
        if matches!(started, Start::Ready) {
            *self.shared.secret.lock().unwrap() =
                std::fs::read(self.data_dir().join("secret")).unwrap_or_default();
        }
        started
    }

    fn spawn(&self) {
        let options = &self.shared.options;
        let mut words = options.launcher.clone();
        words.push(binary().display().to_string());
        let mut command = Command::new(&words[0]);
        let data_dir = options.inner_data_dir.as_deref().unwrap_or_else(|| options.data_dir.path());
        // What is set for the tests themselves is no configuration of the server.
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("READMARK_"))
        {
            command.env_remove(name);
        }
        command
            .args(&words[1..])
            .args(["up", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(data_dir)
            .envs(options.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|e| panic!("{words:?} can't be started: {e}"));
        self.shared.output.collect("out", child.stdout.take().expect("stdout is piped"));
        self.shared.output.collect("err", child.stderr.take().expect("stderr is piped"));
        let mut running = self.running();
        assert!(running.child.is_none(), "readmark is running already");
        running.starts += 1;
        self.shared.output.push(format!("test| start {} as process {}", running.starts, child.id()));
        running.child = Some(child);
    }

    async fn is_ready(&self, listen_file: &Path) -> Result<Start, String> {
        if let Some(status) = self.poll_exit() {
            return Ok(Start::Ended(status));
        }
        let text =
            std::fs::read_to_string(listen_file).map_err(|e| format!("{}: {e}", listen_file.display()))?;
        let listen: SocketAddr =
            text.trim().parse().map_err(|e| format!("listen file holds {text:?}: {e}"))?;
        let call =
            Call { method: "GET", path: "/readyz".into(), headers: Vec::new(), body: Vec::new().into() };
        let reply = self.shared.http.send(listen, &call).await?;
        if reply.status != 200 {
            return Err(format!("/readyz: {reply}"));
        }
        self.running().listen = Some(listen);
        Ok(Start::Ready)
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
        let mut running = self.running();
        let mut child = running.child.take().expect("readmark is running");
        running.listen = None;
        child.kill().expect("own child can be killed");
        child.wait().expect("own child can be waited for");
    }

    /// Asks it to end with SIGTERM, without waiting.
    pub fn send_sigterm(&self) {
        let running = self.running();
        let child = running.child.as_ref().expect("readmark is running");
        let pid = Pid::from_raw(i32::try_from(child.id()).expect("a pid")).expect("a pid is positive");
        kill_process(pid, Signal::TERM).expect("own child can be signalled");
    }

    /// Waits until it has ended by itself.
    pub async fn ended(&self) -> ExitStatus {
        wait_until(DEADLINE, "readmark to end", || async {
            self.poll_exit().ok_or("still running".to_owned())
        })
        .await
    }

    /// Ends it with SIGTERM and waits; it must have drained and say so with exit code 0.
    pub async fn terminate(&self) {
        self.send_sigterm();
        let status = self.ended().await;
        assert_eq!(status.code(), Some(0), "SIGTERM drains and exits with 0");
    }

    /// The data directory, as the test sees it.
    #[must_use]
    pub fn data_dir(&self) -> &Path {
        self.shared.options.data_dir.path()
    }

    /// Where it listens now; `None` while it is down.
    #[must_use]
    pub fn listen(&self) -> Option<SocketAddr> {
        self.running().listen
    }

    /// What it has printed.
    #[must_use]
    pub fn output(&self) -> &Output {
        &self.shared.output
    }

    /// The secret that its tokens are signed with.
    #[must_use]
    pub fn secret(&self) -> Vec<u8> {
        self.shared.secret.lock().unwrap().clone()
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

    /// One request, one answer; `Err` says why there is none.
    pub(crate) async fn send(&self, call: &Call) -> Result<Reply, String> {
        let listen = self.listen().ok_or("readmark is down")?;
        self.shared.http.send(listen, call).await
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.shared.running.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let running = self.running.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(child) = running.child.as_mut() {
            let _ = child.kill();
            let _ = child.wait();
        }
        if std::thread::panicking() {
            eprintln!("--- what readmark printed last\n{}\n---", self.output.tail());
        }
    }
}
