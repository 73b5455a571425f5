//! What goes over a connection, as JSON text: each message has a `type`.

use crate::route::{Acks, AcksAccepted, ReadAccepted};
use readmark_domain::hot::{Entry, SyncToken};
use readmark_domain::id::{ConversationId, Seq};
use readmark_http::{Item, Kind, Problem, ProblemBody, parse_body};
use readmark_query::Snapshot;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Longest id of a request, as it is written: room for a UUID and a prefix.
const MAX_ID_BYTES: usize = 128;
/// How much of a type that is none is shown: enough to know it again, whatever was sent.
const MAX_TYPE_CHARS: usize = 64;

/// From the client. It may bear an `id`, a number or a string of at most 128 bytes, which its answer repeats.
#[derive(Debug, schemars::JsonSchema)]
#[schemars(tag = "type", rename_all = "snake_case")]
pub(super) enum ClientFrame {
    /// The first one, within 10 s.
    Hello(Hello),
    /// As `POST /v1/acks`.
    Ack(Acks),
    /// As `POST /v1/conversations/{id}/read`.
    Read(Read),
    /// Answered by a pong.
    Ping,
}

/// A client's message with its id, which its answer bears.
pub(super) struct Request {
    pub id: Value,
    pub frame: Result<ClientFrame, Problem>,
}

#[derive(Debug, Deserialize)]
struct Envelope {
    r#type: String,
    #[serde(default)]
    id: Value,
}

/// From where to follow.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(super) struct Hello {
    /// The last token that the client got; without one, or with one that is none, a snapshot comes.
    #[serde(default)]
    token: Option<String>,
}

impl Hello {
    /// The token, if it is one.
    pub fn token(&self) -> Option<SyncToken> {
        self.token.as_deref()?.parse().ok()
    }
}

/// A mark.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(crate) struct Read {
    /// The conversation.
    pub conversation_id: ConversationId,
    /// The last message read.
    pub up_to_seq: Seq,
}

impl Request {
    /// Reads a message; one that can't be read is answered, as far as its id can be.
    pub fn parse(text: &str) -> Self {
        let envelope: Envelope = match parse_body(text.as_bytes()) {
            Ok(envelope) => envelope,
            Err(problem) => return Self { id: Value::Null, frame: Err(problem) },
        };
        let is_id = match &envelope.id {
            Value::Null | Value::Number(_) => true,
            Value::String(id) => id.len() <= MAX_ID_BYTES,
            Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
        };
        if !is_id {
            let words = format!("id must be a number or a string of at most {MAX_ID_BYTES} bytes");
            return Self { id: Value::Null, frame: Err(Problem::malformed(words)) };
        }
        Self { id: envelope.id, frame: frame(&envelope.r#type, text.as_bytes()) }
    }
}

fn frame(kind: &str, text: &[u8]) -> Result<ClientFrame, Problem> {
    match kind {
        "hello" => parse_body(text).map(ClientFrame::Hello),
        "ack" => parse_body(text).map(ClientFrame::Ack),
        "read" => parse_body(text).map(ClientFrame::Read),
        "ping" => Ok(ClientFrame::Ping),
        other => {
            let shown: String = other.chars().take(MAX_TYPE_CHARS).collect();
            Err(Problem::malformed(format!("no message has the type {shown:?}")))
        }
    }
}

/// To the client.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ServerFrame {
    /// What follows the token of the hello comes next; the token is that one.
    Ready {
        /// How far the client is.
        token: SyncToken,
    },
    /// Replaces all that the client knows of its unread; the tallies it shows it asks for again.
    Snapshot {
        /// As `GET /v1/unread?all=true`.
        snapshot: Snapshot,
        /// How far the client is with it.
        token: SyncToken,
    },
    /// What came after the client's token, without gaps.
    Entries {
        /// Ascending.
        entries: Vec<Entry>,
        /// How far the client is with them.
        token: SyncToken,
    },
    /// A request was carried out.
    Ok {
        /// The request's own.
        #[schemars(schema_with = "id_schema")]
        id: Value,
        /// What a call by HTTP answers.
        #[serde(flatten)]
        accepted: Accepted,
    },
    /// A request failed; sent again as it was it does no harm.
    Error {
        /// The request's own, null when it could not be read.
        #[schemars(schema_with = "id_schema")]
        id: Value,
        /// As a call by HTTP answers.
        #[serde(flatten)]
        failed: Failed,
    },
    /// To a ping.
    Pong,
}

fn id_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": ["string", "number", "null"], "maxLength": MAX_ID_BYTES})
}

/// What a request came to.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub(crate) enum Accepted {
    /// Of an ack.
    Acks(AcksAccepted),
    /// Of a mark.
    Read(ReadAccepted),
}

/// Why a request failed.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct Failed {
    /// As of a call by HTTP: 409 and 503 may be sent again, 429 too.
    status: u16,
    /// The problem's word, as in `seq-beyond-head`.
    problem: String,
    /// In words.
    detail: String,
    /// The faults one by one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    items: Vec<Item>,
    /// Seconds until a repeat makes sense, with 429 and 503.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_s: Option<u32>,
}

impl From<Problem> for Failed {
    fn from(problem: Problem) -> Self {
        let (kind, retry_after_s) = (problem.kind, problem.retry_after_s);
        let ProblemBody { status, detail, items, .. } = problem.into_body();
        let comes_again = matches!(kind, Kind::RateLimited) || status == 503;
        Self {
            status,
            problem: kind.slug().to_owned(),
            detail,
            items,
            retry_after_s: comes_again.then_some(retry_after_s),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_with_their_ids() {
        let of = |text: &str| Request::parse(text);
        let token = |text: &str| match of(text).frame {
            Ok(ClientFrame::Hello(hello)) => hello.token(),
            Ok(_) | Err(_) => panic!("{text} is no hello"),
        };
        assert_eq!(token(r#"{"type":"hello","token":null}"#), None);
        assert_eq!(token(r#"{"type":"hello"}"#), None);
        assert_eq!(token(r#"{"type":"hello","token":"of old"}"#), None);
        assert!(token(r#"{"type":"hello","token":"a.7"}"#).is_some());
        assert!(matches!(of(r#"{"type":"ping"}"#).frame, Ok(ClientFrame::Ping)));
        let read = of(r#"{"type":"read","id":"r1","conversation_id":"c1","up_to_seq":"3"}"#);
        assert!(matches!(&read.frame, Ok(ClientFrame::Read(read)) if read.up_to_seq.get() == 3));
        assert_eq!(read.id, "r1");
        let ack = of(r#"{"type":"ack","id":7,"conversation_id":"c1","messages":[{"seq":"3"}]}"#);
        assert!(matches!(ack.frame, Ok(ClientFrame::Ack(_))));
        assert_eq!(ack.id, 7);
    }

    #[test]
    fn what_can_not_be_read_is_answered() {
        let long = format!(r#"{{"type":"ping","id":"{}"}}"#, "x".repeat(129));
        for (text, id) in [
            ("", Value::Null),
            ("[]", Value::Null),
            ("{}", Value::Null),
            (r#"{"type":"ping","id":[1]}"#, Value::Null),
            (&long, Value::Null),
            (r#"{"type":"sing","id":"a"}"#, "a".into()),
            (r#"{"type":"read","id":"a","conversation_id":"c1"}"#, "a".into()),
            (r#"{"type":"read","id":"a","conversation_id":"c1","up_to_seq":"0"}"#, "a".into()),
        ] {
            let request = Request::parse(text);
            assert!(request.frame.is_err(), "{text}");
            assert_eq!(request.id, id, "{text}");
        }
    }

    #[test]
    fn answers_are_flat() {
        let failed = Problem::new(Kind::SeqBeyondHead, "not there").into();
        let frame = ServerFrame::Error { id: "a".into(), failed };
        let expected = serde_json::json!({"type": "error", "id": "a", "status": 409, "problem": "seq-beyond-head",
                                          "detail": "not there"});
        assert_eq!(serde_json::to_value(frame).expect("JSON"), expected);
        assert_eq!(
            serde_json::to_value(ServerFrame::Pong).expect("JSON"),
            serde_json::json!({"type": "pong"})
        );
    }
}
