//! A request that is sent in two parts, so that it is known to be under way in between.

use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A request whose body the server is waiting for.
pub struct HalfSent {
    stream: TcpStream,
    body: String,
}

/// Sends the head of a POST and returns when the server has asked for its body.
pub async fn begin_post(to: SocketAddr, path: &str, token: &str, body: &str) -> HalfSent {
    let mut stream = TcpStream::connect(to).await.expect("the server accepts");
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {to}\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nexpect: 100-continue\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.expect("the head can be sent");
    let mut answer = [0; 25];
    stream.read_exact(&mut answer).await.expect("the server asks for the body");
    assert_eq!(&answer, b"HTTP/1.1 100 Continue\r\n\r\n", "{}", String::from_utf8_lossy(&answer));
    HalfSent { stream, body: body.to_owned() }
}

impl HalfSent {
    /// Sends the body and returns the answer, as text.
    pub async fn finish(mut self) -> String {
        self.stream.write_all(self.body.as_bytes()).await.expect("the body can be sent");
        let mut answer = Vec::new();
        self.stream.read_to_end(&mut answer).await.expect("the answer can be read");
        String::from_utf8_lossy(&answer).into_owned()
    }
}
