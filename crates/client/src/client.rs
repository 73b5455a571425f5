use crate::error::ClientError;
use crate::tallies::Receipt;
use crate::token::Token;
use crate::unread::Snapshot;
use readmark_domain::id::{ConversationId, Seq, Uid};
use reqwest::{Method, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::time::Duration;

/// Longest wait for an answer: beyond what the server takes for any.
const ANSWER_LIMIT: Duration = Duration::from_secs(20);

/// A client with one identity; cheap to clone.
#[derive(Debug, Clone)]
pub struct Client {
    base: String,
    pub(crate) token: Token,
    http: reqwest::Client,
}

/// A message to ack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acked {
    /// Which.
    pub seq: Seq,
    /// Its sender, where it is known.
    pub sender_uid: Option<Uid>,
}

/// What became of acks.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct AcksAccepted {
    /// How many were taken.
    pub accepted: usize,
    /// The others.
    pub ignored: Vec<Ignored>,
}

/// A message that takes no ack of this user.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Ignored {
    /// Which.
    pub seq: Seq,
    /// Why, as in `own_message`.
    pub reason: String,
}

#[derive(Deserialize)]
struct Answered {
    detail: String,
    r#type: String,
}

impl Client {
    /// For a server at this address, as in `https://readmark.example`.
    ///
    /// # Errors
    /// [`ClientError::Address`].
    pub fn new(address: &str, token: Token) -> Result<Self, ClientError> {
        let wrong = |detail: String| ClientError::Address { address: address.to_owned(), detail };
        let url: reqwest::Url = address.parse().map_err(|error| wrong(format!("{error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong("another scheme".to_owned()));
        }
        let http = reqwest::Client::builder().timeout(ANSWER_LIMIT).build();
        let http = http.map_err(|error| wrong(error.to_string()))?;
        Ok(Self { base: address.trim_end_matches('/').to_owned(), token, http })
    }

    /// The same with another identity: a program that acts for many users has one pool of connections for all of them.
    #[must_use]
    pub fn with_token(&self, token: Token) -> Self {
        Self { token, ..self.clone() }
    }

    /// Where connections go.
    pub(crate) fn websocket_address(&self) -> String {
        format!("{}/v1/ws", self.base.replacen("http", "ws", 1))
    }

    /// Hands in events, 1 to 1,000 (scope service).
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn events(&self, events: &[Value]) -> Result<(), ClientError> {
        let body = json!({ "events": events });
        self.call::<Value>(Method::POST, "/v1/events", Some(&body)).await.map(drop)
    }

    /// Acks messages of one conversation, 1 to 1,000.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn acks(&self, id: &ConversationId, messages: &[Acked]) -> Result<AcksAccepted, ClientError> {
        let messages: Vec<Value> = messages
            .iter()
            .map(|one| match one.sender_uid {
                Some(uid) => json!({"seq": one.seq, "sender_uid": uid}),
                None => json!({"seq": one.seq}),
            })
            .collect();
        self.call(Method::POST, "/v1/acks", Some(&json!({"conversation_id": id, "messages": messages}))).await
    }

    /// Reads a conversation up to a message.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn read(&self, id: &ConversationId, up_to_seq: Seq) -> Result<(), ClientError> {
        self.of_conversation(id, "read", json!({ "up_to_seq": up_to_seq })).await
    }

    /// Clears a conversation up to a message, or up to the newest one.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn clear(&self, id: &ConversationId, up_to_seq: Option<Seq>) -> Result<(), ClientError> {
        let body = up_to_seq.map_or_else(|| json!({}), |seq| json!({ "up_to_seq": seq }));
        self.of_conversation(id, "clear", body).await
    }

    /// Marks a conversation as unread by hand, or takes that away.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn mark_unread(&self, id: &ConversationId, marked: bool) -> Result<(), ClientError> {
        self.of_conversation(id, "unread-mark", json!({ "marked": marked })).await
    }

    /// Mutes a conversation, or takes that away.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn mute(&self, id: &ConversationId, muted: bool) -> Result<(), ClientError> {
        self.of_conversation(id, "mute", json!({ "muted": muted })).await
    }

    /// Switches the user's receipts on or off.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn set_receipts(&self, receipts: bool) -> Result<(), ClientError> {
        let body = json!({ "receipts": receipts });
        self.call::<Value>(Method::PUT, "/v1/settings", Some(&body)).await.map(drop)
    }

    /// What is unread, in every conversation.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn unread(&self) -> Result<Snapshot, ClientError> {
        self.call(Method::GET, "/v1/unread?all=true", None).await
    }

    /// N of M of one message.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn receipt(&self, id: &ConversationId, seq: Seq) -> Result<Receipt, ClientError> {
        let path = format!("/v1/conversations/{}/messages/{seq}/receipt", encoded(id));
        self.call(Method::GET, &path, None).await
    }

    async fn of_conversation(&self, id: &ConversationId, call: &str, body: Value) -> Result<(), ClientError> {
        let path = format!("/v1/conversations/{}/{call}", encoded(id));
        self.call::<Value>(Method::POST, &path, Some(&body)).await.map(drop)
    }

    async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<T, ClientError> {
        let call = || format!("{method} {path}");
        let no_answer = |error: reqwest::Error| ClientError::NoAnswer {
            call: call(),
            detail: error.without_url().to_string(),
        };
        let token = self.token.get().await;
        let token = token.map_err(|detail| ClientError::Token { call: call(), detail })?;
        let mut request =
            self.http.request(method.clone(), format!("{}{path}", self.base)).bearer_auth(token);
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await.map_err(no_answer)?;
        let status = response.status();
        let retry_after = retry_after(&response);
        let bytes = response.bytes().await.map_err(no_answer)?;
        if status.is_success() {
            return serde_json::from_slice(&bytes)
                .map_err(|error| ClientError::NoAnswer { call: call(), detail: error.to_string() });
        }
        Err(refused(call(), status, retry_after, &bytes))
    }
}

fn retry_after(response: &reqwest::Response) -> Option<Duration> {
    let seconds = response.headers().get(reqwest::header::RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

fn refused(call: String, status: StatusCode, retry_after: Option<Duration>, body: &[u8]) -> ClientError {
    let (problem, detail) = match serde_json::from_slice::<Answered>(body) {
        Ok(Answered { detail, r#type }) => (r#type.rsplit(':').next().unwrap_or_default().to_owned(), detail),
        // Something between us and readmark has answered.
        Err(_) => (String::new(), String::from_utf8_lossy(body).chars().take(200).collect()),
    };
    ClientError::Refused { call, status: status.as_u16(), problem, detail, retry_after }
}

/// An id in a path.
fn encoded(id: &ConversationId) -> String {
    use std::fmt::Write;
    let mut encoded = String::new();
    for byte in id.as_str().bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            encoded.push(char::from(byte));
        } else {
            // Writing to a String never fails.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}
