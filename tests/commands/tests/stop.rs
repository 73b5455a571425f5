//! SIGTERM and SIGINT while `readmark serve` still waits for its parts: nothing was begun, so it ends at once, with 0.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use readmark_test_harness::{DEADLINE, OwnProcess, Signal, binary, command};
use std::path::Path;
use std::process::Stdio;
use tokio::net::{TcpListener, TcpStream};

fn serve(folder: &Path, env: &[(&str, &str)]) -> OwnProcess {
    let mut command = command(binary());
    command.args(["serve", "--roles", "all", "--listen", "127.0.0.1:0"]).current_dir(folder);
    OwnProcess::start(command.envs(env.iter().copied()).stdin(Stdio::null()).stdout(Stdio::null()))
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
    for signal in [Signal::TERM, Signal::INT] {
        let mut serving = serve(folder.path(), env);
        let _connection = silent.asked().await;
        let status = serving.ends_when_asked(signal).await;
        assert_eq!(status.code(), Some(0), "after {signal:?}");
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
