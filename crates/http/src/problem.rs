//! Errors as `application/problem+json` (RFC 9457).

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use readmark_log::LogError;
use readmark_store::StoreError;
use serde::{Deserialize, Serialize};

/// Most faults named in one answer: enough to repair a client, bounded whatever it sends.
const MAX_ITEMS: usize = 100;

/// Longest text in an answer, in characters: room for every sentence of ours, while what it repeats of a request, which
/// may be as long as a body, is cut.
const MAX_DETAIL_CHARS: usize = 300;

/// Seconds after which a client may come back when nothing better is known.
const RETRY_AFTER_S: u32 = 1;

/// What kind of problem it is. One entry for each pair of status and slug that readmark answers with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// No token, or one that is not to be believed.
    Unauthenticated,
    /// The token's scope does not allow this call.
    Forbidden,
    /// The caller is no present member of the conversation.
    NotAMember,
    /// Names are for the sender only.
    NamesForSenderOnly,
    /// The conversation's policy gives counts without names.
    ReceiptsCountOnly,
    /// The conversation's policy gives no receipts.
    ReceiptsOff,
    /// No such path.
    NoSuchRoute,
    /// Nothing is known of this conversation.
    UnknownConversation,
    /// No such message.
    UnknownMessage,
    /// The path has no such method.
    MethodNotAllowed,
    /// The message is not there yet: try again.
    SeqBeyondHead,
    /// The conversation is closed.
    ConversationClosed,
    /// The body is too large.
    TooLarge,
    /// The request is malformed or says what can't be.
    Malformed,
    /// The user calls too often.
    RateLimited,
    /// Too many requests at once.
    Overloaded,
    /// A part that is needed is away.
    Unavailable,
    /// The catalog has not yet applied what would make the answer sure.
    NotSureYet,
    /// This process is not ready; `items` says what is missing.
    NotReady,
    /// A fault of readmark's own.
    Internal,
}

impl Kind {
    const fn row(self) -> (StatusCode, &'static str, &'static str) {
        use StatusCode as S;
        match self {
            Self::Unauthenticated => (S::UNAUTHORIZED, "unauthenticated", "No valid token"),
            Self::Forbidden => (S::FORBIDDEN, "forbidden", "Not allowed with this token"),
            Self::NotAMember => (S::FORBIDDEN, "not-a-member", "Not a member of the conversation"),
            Self::NamesForSenderOnly => {
                (S::FORBIDDEN, "names-for-sender-only", "Names are for the sender of the message")
            }
            Self::ReceiptsCountOnly => {
                (S::FORBIDDEN, "receipts-count-only", "The conversation shows no names")
            }
            Self::ReceiptsOff => (S::FORBIDDEN, "receipts-off", "The conversation has receipts off"),
            Self::NoSuchRoute => (S::NOT_FOUND, "no-such-route", "No such path"),
            Self::UnknownConversation => (S::NOT_FOUND, "unknown-conversation", "Unknown conversation"),
            Self::UnknownMessage => (S::NOT_FOUND, "unknown-message", "Unknown message"),
            Self::MethodNotAllowed => (S::METHOD_NOT_ALLOWED, "method-not-allowed", "Method not allowed"),
            Self::SeqBeyondHead => (S::CONFLICT, "seq-beyond-head", "The message is not there yet"),
            Self::ConversationClosed => (S::CONFLICT, "conversation-closed", "The conversation is closed"),
            Self::TooLarge => (S::PAYLOAD_TOO_LARGE, "too-large", "The body is too large"),
            Self::Malformed => (S::UNPROCESSABLE_ENTITY, "malformed", "The request is malformed"),
            Self::RateLimited => (S::TOO_MANY_REQUESTS, "rate-limited", "Too many requests of this user"),
            Self::Overloaded => (S::SERVICE_UNAVAILABLE, "overloaded", "Too many requests at once"),
            Self::Unavailable => (S::SERVICE_UNAVAILABLE, "unavailable", "A part is away"),
            Self::NotSureYet => (S::SERVICE_UNAVAILABLE, "not-sure-yet", "Not sure yet"),
            Self::NotReady => (S::SERVICE_UNAVAILABLE, "not-ready", "Not ready"),
            Self::Internal => (S::INTERNAL_SERVER_ERROR, "internal", "Internal error"),
        }
    }

    /// The HTTP status.
    #[must_use]
    pub const fn status(self) -> StatusCode {
        self.row().0
    }

    /// The word that names it; ends the problem's `type`.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        self.row().1
    }
}

/// One fault of several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Item {
    /// Its place in the list that was sent, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
    /// The field, or the name of what is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// What is wrong.
    pub detail: String,
}

impl Item {
    fn shown(self) -> Self {
        Self { index: self.index, field: self.field.map(shown), detail: shown(self.detail) }
    }
}

/// The text as far as it is told.
fn shown(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(MAX_DETAIL_CHARS) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// The body of an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ProblemBody {
    /// `urn:readmark:problem:` and the problem's word.
    pub r#type: String,
    /// The same for every problem of this type.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What is wrong this time.
    pub detail: String,
    /// The faults one by one, at most 100.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<Item>,
}

/// An error as it is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What kind.
    pub kind: Kind,
    /// In words, for people.
    pub detail: String,
    /// The faults one by one.
    pub items: Vec<Item>,
    /// Seconds until a repeat makes sense; sent with 429 and 503.
    pub retry_after_s: u32,
}

impl Problem {
    /// A problem.
    pub fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), items: Vec::new(), retry_after_s: RETRY_AFTER_S }
    }

    /// A malformed request.
    pub fn malformed(detail: impl Into<String>) -> Self {
        Self::new(Kind::Malformed, detail)
    }

    /// A malformed request, in this one field, parameter or part of the path.
    pub fn malformed_field(field: &str, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        let item = Item { index: None, field: Some(field.to_owned()), detail: detail.clone() };
        Self::malformed(detail).with_items(vec![item])
    }

    /// With the faults one by one; the first 100 are told.
    #[must_use]
    pub fn with_items(mut self, mut items: Vec<Item>) -> Self {
        items.truncate(MAX_ITEMS);
        self.items = items;
        self
    }

    /// With a time to come back.
    #[must_use]
    pub const fn retry_after_s(mut self, seconds: u32) -> Self {
        self.retry_after_s = seconds;
        self
    }

    /// As it is sent.
    #[must_use]
    pub fn into_body(self) -> ProblemBody {
        let (status, slug, title) = self.kind.row();
        ProblemBody {
            r#type: format!("urn:readmark:problem:{slug}"),
            title: title.to_owned(),
            status: status.as_u16(),
            detail: shown(self.detail),
            items: self.items.into_iter().map(Item::shown).collect(),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (status, retry_after_s) = (self.kind.status(), self.retry_after_s);
        let mut response = (status, axum::Json(self.into_body())).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if status == StatusCode::TOO_MANY_REQUESTS || status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(retry_after_s));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// A store that is away is 503; anything else is a fault of ours, whose details stay in the log.
impl From<&StoreError> for Problem {
    fn from(error: &StoreError) -> Self {
        if error.is_retryable() {
            tracing::warn!(%error, "request failed: the store is away");
            Self::new(Kind::Unavailable, "the store does not answer")
        } else {
            tracing::error!(%error, "request failed: the store refused");
            Self::new(Kind::Internal, "the store refused; the log of this process says why")
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        Self::from(&error)
    }
}

impl From<LogError> for Problem {
    fn from(error: LogError) -> Self {
        if error.is_retryable() {
            tracing::warn!(%error, "request failed: the log is away");
            Self::new(Kind::Unavailable, "the event log does not answer")
        } else {
            tracing::error!(%error, "request failed: the event log refused");
            Self::new(Kind::Internal, "the event log refused; the log of this process says why")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut() {
        let item =
            |text: &str| Item { index: Some(1), field: Some(text.to_owned()), detail: text.to_owned() };
        let body = |text: &str| Problem::malformed(text).with_items(vec![item(text)]).into_body();
        let whole = "€".repeat(MAX_DETAIL_CHARS);
        assert_eq!((body(&whole).detail, body(&whole).items), (whole.clone(), vec![item(&whole)]));
        let (long, cut) = (format!("{whole}x and more"), format!("{whole}…"));
        assert_eq!((body(&long).detail, body(&long).items), (cut.clone(), vec![item(&cut)]));
    }
}
