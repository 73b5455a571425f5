//! Redis servers of a test's own, each with its data in a folder of its own.

use redis::Client;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long a server may take to answer; far beyond what is needed.
const DEADLINE: Duration = Duration::from_secs(30);

/// A running server, ended when dropped.
pub struct Server {
    /// Where it listens, on loopback.
    pub port: u16,
    directory: TempDir,
    options: Vec<String>,
    child: Child,
}

/// A port that nobody has. In a cluster a node needs a second one, 10,000 above.
#[must_use]
pub fn free_port() -> u16 {
    loop {
        let port =
            TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("its address").port();
        if port < 55_000 && TcpListener::bind(("127.0.0.1", port + 10_000)).is_ok() {
            return port;
        }
    }
}

fn spawn(port: u16, directory: &Path, options: &[String]) -> Child {
    let log = std::fs::File::create(directory.join("server.log")).expect("a log");
    Command::new("redis-server")
        .args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", ""])
        .arg("--dir")
        .arg(directory)
        .args(options)
        .stdout(log)
        .stderr(Stdio::null())
        .spawn()
        .expect("these tests need redis-server (on Debian: apt-get install redis-server)")
}

/// Everything is written down before it is answered. What a killed process has handed to the system is there: nothing
/// need wait for the disk.
pub const WRITES_DOWN: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "no"];

impl Server {
    /// Starts one that [writes everything down](WRITES_DOWN).
    pub async fn start() -> Self {
        Self::start_with(&WRITES_DOWN).await
    }

    /// Starts one with these arguments; it writes nothing down unless they say so.
    pub async fn start_with(options: &[&str]) -> Self {
        let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
        let directory = tempfile::tempdir().expect("a folder");
        let port = free_port();
        let child = spawn(port, directory.path(), &options);
        let mut server = Self { port, directory, options, child };
        server.wait().await;
        server
    }

    /// For a client.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Host and port.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// A command on a connection of its own.
    ///
    /// # Errors
    /// What the server or the connection says.
    pub async fn command(&self, words: &[&str]) -> redis::RedisResult<redis::Value> {
        let client = Client::open(self.url())?;
        let mut connection = client.get_multiplexed_async_connection().await?;
        redis::cmd(words[0]).arg(&words[1..]).query_async(&mut connection).await
    }

    /// As [`Server::command`], and it must succeed.
    pub async fn ask<T: redis::FromRedisValue>(&self, words: &[&str]) -> T {
        let value = self.command(words).await.unwrap_or_else(|error| panic!("{words:?}: {error}"));
        redis::from_redis_value(value).unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }

    async fn wait(&mut self) {
        let start = Instant::now();
        loop {
            // What it wrote is loaded first; until then it says LOADING.
            match self.command(&["PING"]).await {
                Ok(_) => return,
                Err(error) if matches!(error.code(), Some("NOAUTH")) => return,
                Err(error) => {
                    if let Some(status) = self.child.try_wait().expect("the child") {
                        let log = std::fs::read_to_string(self.directory.path().join("server.log"));
                        panic!("redis-server ended with {status}: {}", log.unwrap_or_default());
                    }
                    assert!(start.elapsed() < DEADLINE, "no answer within {DEADLINE:?}: {error}");
                }
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits until this replica has all that its master has taken up to now. `WAIT` would only see to the writes of its
    /// own connection.
    pub async fn catches_up_with(&self, master: &Self) {
        let (start, taken) = (Instant::now(), master.replication("master_repl_offset").await);
        loop {
            let has = self.replication("slave_repl_offset").await;
            if has >= taken {
                return;
            }
            assert!(start.elapsed() < DEADLINE, "at {has} of {taken} after {DEADLINE:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn replication(&self, field: &str) -> u64 {
        let info: String = self.ask(&["INFO", "replication"]).await;
        let value = info.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        value.and_then(|n| n.trim().parse().ok()).unwrap_or_else(|| panic!("no {field}: {info}"))
    }

    /// `kill -9`, without a start.
    pub fn kill(&mut self) {
        self.child.kill().expect("kill");
        self.child.wait().expect("wait");
    }

    /// Starts again with the data there is.
    pub async fn start_again(&mut self) {
        self.child = spawn(self.port, self.directory.path(), &self.options);
        self.wait().await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
