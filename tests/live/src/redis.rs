//! A Redis that loses what it has.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A Redis of a test's own.
pub struct Redis {
    address: String,
}

impl Redis {
    /// At an address given as `redis://HOST:PORT`.
    #[must_use]
    pub fn at(url: &str) -> Self {
        let address = url.strip_prefix("redis://").unwrap_or_else(|| panic!("{url} is no address"));
        Self { address: address.to_owned() }
    }

    /// All of it is gone.
    pub async fn loses_all(&self) {
        assert_eq!(self.tell("FLUSHALL").await, "+OK\r\n");
    }

    /// Some keys are gone, of whomever, as by eviction.
    pub async fn loses_keys(&self, count: usize) {
        let script = "local n = 0; for _ = 1, ARGV[1] do local key = redis.call('RANDOMKEY'); \
                      if key then n = n + redis.call('DEL', key) end end; return n";
        let gone = self.tell(&format!("EVAL \"{script}\" 0 {count}")).await;
        assert!(gone.starts_with(':') && gone != ":0\r\n", "keys are gone: {gone}");
    }

    /// All connections are cut, and no script is known any more.
    pub async fn cuts_and_forgets_scripts(&self) {
        assert_eq!(self.tell("SCRIPT FLUSH SYNC").await, "+OK\r\n");
        for kind in ["normal", "pubsub"] {
            let cut = self.tell(&format!("CLIENT KILL TYPE {kind}")).await;
            assert!(cut.starts_with(':') && cut != ":0\r\n", "{kind} connections are cut: {cut}");
        }
    }

    async fn tell(&self, command: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).await.expect("Redis is there");
        let asked = format!("{command}\r\nQUIT\r\n");
        stream.write_all(asked.as_bytes()).await.expect("Redis listens");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("Redis answers");
        answer.strip_suffix("+OK\r\n").unwrap_or_else(|| panic!("{command} is not answered")).to_owned()
    }
}
