//! Requests of one identity.

use crate::http::Call;
use crate::reply::Reply;
use crate::server::Server;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// How long a backend keeps sending what was not answered: longer than a part may take to start again on a busy machine,
/// and to be found again.
const KEEPS_SENDING: Duration = Duration::from_secs(300);
/// Pause before a request without an answer is sent again.
const RECONNECT_PAUSE: Duration = Duration::from_millis(50);

/// Calls under one token.
#[derive(Clone)]
pub struct Caller {
    server: Server,
    token: Option<String>,
}

impl Caller {
    pub(crate) const fn new(server: Server, token: Option<String>) -> Self {
        Self { server, token }
    }

    /// One request with any body; an answer must come.
    pub async fn send(&self, method: &'static str, path: &str, body: impl Into<Vec<u8>>) -> Reply {
        let call = self.call(method, path, body.into());
        self.server.send(&call).await.unwrap_or_else(|e| panic!("{method} {path}: {e}"))
    }

    /// One request that may stay without an answer.
    pub async fn try_send(&self, method: &'static str, path: &str, body: &Value) -> Result<Reply, String> {
        self.server.send(&self.call(method, path, body.to_string().into_bytes())).await
    }

    /// GET; an answer must come.
    pub async fn get(&self, path: &str) -> Reply {
        self.send("GET", path, Vec::new()).await
    }

    /// POST; an answer must come.
    pub async fn post(&self, path: &str, body: &Value) -> Reply {
        self.send("POST", path, body.to_string()).await
    }

    /// As a backend does it: sends again what was not answered, or answered with 429, 503 or "beyond head",
    /// for as long as the answer asks to wait.
    pub async fn post_until_answered(&self, path: &str, body: &Value) -> Reply {
        self.until_answered("POST", path, body).await
    }

    /// As [`Self::post_until_answered`], with GET.
    pub async fn get_until_answered(&self, path: &str) -> Reply {
        self.until_answered("GET", path, &Value::Null).await
    }

    async fn until_answered(&self, method: &'static str, path: &str, body: &Value) -> Reply {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let call = self.call(method, path, body);
        let started = Instant::now();
        loop {
            let (pause, seen) = match self.server.send(&call).await {
                Ok(reply) if reply.asks_to_retry() => {
                    let asked_s = reply.retry_after_s();
                    (asked_s.map_or(RECONNECT_PAUSE, Duration::from_secs), reply.to_string())
                }
                Ok(reply) => {
                    self.server.has_answered(started.elapsed());
                    return reply;
                }
                Err(error) => (RECONNECT_PAUSE, error),
            };
            let waited = started.elapsed();
            assert!(
                waited < KEEPS_SENDING,
                "{method} {path}: not answered within {waited:?}; last seen: {seen}"
            );
            tokio::time::sleep(pause).await;
        }
    }

    /// Sends events until they are accepted.
    pub async fn events(&self, events: &[Value]) {
        let reply = self.post_until_answered("/v1/events", &json!({"events": events})).await.expect(202);
        assert_eq!(reply.json()["accepted"], events.len(), "{reply}");
    }

    fn call(&self, method: &'static str, path: &str, body: Vec<u8>) -> Call {
        let mut headers = Vec::new();
        if let Some(token) = &self.token {
            headers.push(("authorization".to_owned(), format!("Bearer {token}")));
        }
        if !body.is_empty() {
            headers.push(("content-type".to_owned(), "application/json".to_owned()));
        }
        Call { method, path: path.to_owned(), headers, body: body.into() }
    }
}
