use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use readmark_runtime::ports::{Ports, Rules};
use tokio_util::sync::CancellationToken;

/// What the socket's calls use.
pub(crate) struct AdminState {
    pub ports: Ports,
    pub rules: Rules,
    /// Cancelled when the process is to stop: long work ends then.
    pub stop: CancellationToken,
}

/// An answer that is no success: the words, and whose fault it is.
pub(crate) struct AdminError(pub StatusCode, pub String);

impl IntoResponse for AdminError {
    fn into_response(self) -> Response {
        (self.0, self.1).into_response()
    }
}
