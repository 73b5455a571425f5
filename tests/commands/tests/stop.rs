//! SIGTERM and SIGINT while `readmark serve` still waits for its parts: nothing was begun, so it ends at once, with 0.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use readmark_test_harness::{DEADLINE, binary, wait_until};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tokio::net::{TcpListener, TcpStream};

/// A process that is killed at the end, however the test ends.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Serving {
    fn start(folder: &Path, env: &[(&str, &str)]) -> Self {
        let mut command = Command::new(binary());
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("READMARK_"))
        {
            command.env_remove(name);
        }
        let command =
            command.args(["serve", "--roles", "all", "--listen", "127.0.0.1:0"]).current_dir(folder);
        let command = command.envs(env.iter().copied()).stdin(Stdio::null()).stdout(Stdio::null());
        Self(command.spawn().unwrap())
    }

    async fn ends_when_asked(mut self, signal: &str) {
        let asked = Command::new("kill").args([signal, &self.0.id().to_string()]).status();
        assert!(asked.unwrap().success());
        let status = wait_until(DEADLINE, "readmark to end", || {
            let ended = self.0.try_wait().unwrap();
            async move { ended.ok_or("still running".to_owned()) }
        });
        assert_eq!(status.await.code(), Some(0), "after {signal}");
    }
}

/// A part that takes connections and never says a word.
struct Silent(TcpListener);

impl Silent {
    async fn new() -> (Self, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        (Self(listener), address)
    }

    /// Somebody waits for an answer from here on.
    async fn asked(&self) -> TcpStream {
        tokio::time::timeout(DEADLINE, self.0.accept()).await.unwrap().unwrap().0
    }
}

/// Twice in the same data directory: the first has let go of it.
async fn stops_while_it_waits(silent: &Silent, env: &[(&str, &str)]) {
    let folder = tempfile::tempdir().unwrap();
    for signal in ["-TERM", "-INT"] {
        let serving = Serving::start(folder.path(), env);
        let _connection = silent.asked().await;
        serving.ends_when_asked(signal).await;
        // What the process had opened beside is closed by now.
        while tokio::time::timeout(std::time::Duration::from_millis(50), silent.0.accept()).await.is_ok() {}
    }
}

#[tokio::test]
async fn for_kafka() {
    let (silent, address) = Silent::new().await;
    let env = [("READMARK_LOG__KIND", "kafka"), ("READMARK_LOG__BROKERS", address.as_str())];
    stops_while_it_waits(&silent, &env).await;
}

#[tokio::test]
async fn for_the_cql_server() {
    let (silent, address) = Silent::new().await;
    let env = [("READMARK_STORE__KIND", "cql"), ("READMARK_STORE__CONTACT_POINTS", address.as_str())];
    stops_while_it_waits(&silent, &env).await;
}

#[tokio::test]
async fn for_redis() {
    let (silent, address) = Silent::new().await;
    let url = format!("redis://{address}");
    stops_while_it_waits(&silent, &[("READMARK_HOT__KIND", "redis"), ("READMARK_HOT__URL", &url)]).await;
}
