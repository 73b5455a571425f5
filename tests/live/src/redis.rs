//! A Redis that forgets everything.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Empties one database of a Redis, given as `redis://HOST:PORT/NUMBER`.
pub async fn flush(url: &str) {
    let place = url.strip_prefix("redis://").and_then(|rest| rest.split_once('/'));
    let (address, database) = place.unwrap_or_else(|| panic!("{url} names no database"));
    let mut stream = TcpStream::connect(address).await.expect("Redis is there");
    let asked = format!("SELECT {database}\r\nFLUSHDB\r\nQUIT\r\n");
    stream.write_all(asked.as_bytes()).await.expect("Redis listens");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("Redis answers");
    assert_eq!(answer, "+OK\r\n+OK\r\n+OK\r\n", "{url} is emptied");
}
