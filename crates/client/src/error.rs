use std::time::Duration;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address is none.
    #[error("{address:?} is no http:// or https:// address: {detail}")]
    Address {
        /// As given.
        address: String,
        /// What is wrong.
        detail: String,
    },
    /// Whoever gives tokens failed.
    #[error("{call}: no token: {detail}")]
    Token {
        /// Which call.
        call: String,
        /// In words.
        detail: String,
    },
    /// No answer came, or none that can be read. The call may have been carried out; a repeat is harmless.
    #[error("{call}: no answer: {detail}")]
    NoAnswer {
        /// Which call.
        call: String,
        /// In words.
        detail: String,
    },
    /// The server closed the connection, and says why. What was on its way may have been carried out.
    #[error("{call}: closed with {code} {reason}")]
    Closed {
        /// Which call.
        call: String,
        /// As of WebSockets; `docs/clients.md` says what each means for a client.
        code: u16,
        /// In words.
        reason: String,
    },
    /// The server refused.
    #[error("{call}: {status} {problem}: {detail}")]
    Refused {
        /// Which call.
        call: String,
        /// The HTTP status.
        status: u16,
        /// The problem's word, as in `seq-beyond-head`.
        problem: String,
        /// In words.
        detail: String,
        /// When to come back, where the server says.
        retry_after: Option<Duration>,
    },
}

impl ClientError {
    /// May the same call succeed when made again?
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Address { .. } => false,
            Self::Token { .. } | Self::NoAnswer { .. } | Self::Closed { .. } => true,
            Self::Refused { status, problem, .. } => {
                matches!(status, 429 | 503) || problem == "seq-beyond-head"
            }
        }
    }
}
