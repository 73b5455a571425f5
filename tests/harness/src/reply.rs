//! An HTTP answer.

use bytes::Bytes;
use serde_json::Value;

/// An answer, read completely.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// Headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
}

impl Reply {
    /// A header's value.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON; null when it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    /// The last part of a problem's `type`, such as `seq-beyond-head`.
    #[must_use]
    pub fn problem(&self) -> String {
        let kind = self.json()["type"].as_str().unwrap_or_default().to_owned();
        kind.rsplit(['/', ':', '#']).next().unwrap_or_default().to_owned()
    }

    /// Would a backend send the same request again? Overload, a part away, or a message not there yet.
    #[must_use]
    pub fn asks_to_retry(&self) -> bool {
        matches!(self.status, 429 | 503) || self.status == 409 && self.problem() == "seq-beyond-head"
    }

    /// How long the answer asks to wait, in seconds. Overload, and a part that is away, must say it.
    #[must_use]
    pub fn retry_after_s(&self) -> Option<u64> {
        let asked_s = self.header("retry-after").and_then(|s| s.parse().ok());
        assert!(asked_s.is_some() || !matches!(self.status, 429 | 503), "no Retry-After: {self}");
        asked_s
    }

    /// Fails unless the status is `status`.
    #[track_caller]
    #[must_use]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self}");
        self
    }
}

impl std::fmt::Display for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.status, self.text())
    }
}
