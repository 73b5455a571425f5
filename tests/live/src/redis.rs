//! A Redis that loses what it has.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// One database of a Redis.
pub struct Database {
    address: String,
    number: u32,
}

impl Database {
    /// Of a Redis, given as `redis://HOST:PORT`.
    #[must_use]
    pub fn of(redis: &str, number: u32) -> Self {
        let address = redis.strip_prefix("redis://").unwrap_or_else(|| panic!("{redis} is no address"));
        Self { address: address.to_owned(), number }
    }

    /// Its address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://{}/{}", self.address, self.number)
    }

    /// All of it is gone.
    pub async fn loses_all(&self) {
        assert_eq!(self.tell("FLUSHDB").await, "+OK\r\n");
    }

    /// Some keys are gone, of whomever, as by eviction.
    pub async fn loses_keys(&self, count: usize) {
        let script = "local n = 0; for _ = 1, ARGV[1] do local key = redis.call('RANDOMKEY'); \
                      if key then n = n + redis.call('DEL', key) end end; return n";
        let gone = self.tell(&format!("EVAL \"{script}\" 0 {count}")).await;
        assert!(gone.starts_with(':') && gone != ":0\r\n", "keys are gone: {gone}");
    }

    /// All connections are cut, and no script is known any more: of every database.
    pub async fn cuts_and_forgets_scripts(&self) {
        assert_eq!(self.tell("SCRIPT FLUSH SYNC").await, "+OK\r\n");
        for kind in ["normal", "pubsub"] {
            let cut = self.tell(&format!("CLIENT KILL TYPE {kind}")).await;
            assert!(cut.starts_with(':') && cut != ":0\r\n", "{kind} connections are cut: {cut}");
        }
    }

    async fn tell(&self, command: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).await.expect("Redis is there");
        let asked = format!("SELECT {}\r\n{command}\r\nQUIT\r\n", self.number);
        stream.write_all(asked.as_bytes()).await.expect("Redis listens");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("Redis answers");
        let answer = answer.strip_prefix("+OK\r\n").and_then(|rest| rest.strip_suffix("+OK\r\n"));
        answer.unwrap_or_else(|| panic!("{command} is not answered")).to_owned()
    }
}
