//! Long work over the socket: the answer is a line of JSON for each progress, and a last one.

use super::state::AdminState;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream;
use readmark_repair::RepairError;
use readmark_runtime::ports::Ports;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::convert::Infallible;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Lines that wait to be sent; progress that finds no room is left out.
const LINES_WAITING: usize = 16;

/// A line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Line {
    /// How far it is.
    Progress(Value),
    /// How it ended.
    Ended(Value),
    /// It could not begin.
    Refused {
        /// Because what was asked makes no sense?
        usage: bool,
        /// Why.
        words: String,
    },
}

impl Line {
    fn ended<E: Serialize>(ended: Result<E, RepairError>) -> Self {
        match ended.map(|ended| serde_json::to_value(ended)) {
            Ok(Ok(ended)) => Self::Ended(ended),
            Ok(Err(error)) => Self::Refused { usage: false, words: error.to_string() },
            Err(error) => {
                Self::Refused { usage: matches!(error, RepairError::Usage(_)), words: error.to_string() }
            }
        }
    }

    fn to_bytes(&self) -> Bytes {
        // Values of our own, with text as keys, can be written.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        Bytes::from(line)
    }
}

/// Tells the other end how far the work is.
pub(crate) struct Teller(mpsc::Sender<Line>);

impl Teller {
    pub fn tell(&self, progress: &impl Serialize) {
        if let Ok(progress) = serde_json::to_value(progress) {
            let _ = self.0.try_send(Line::Progress(progress));
        }
    }
}

/// Runs `work` and answers with its lines. When the other end goes away, or the process is to stop, so is the work.
pub(crate) fn answer<E, W, F>(state: &AdminState, work: W) -> Response
where
    E: Serialize,
    W: FnOnce(Ports, Teller, CancellationToken) -> F,
    F: Future<Output = Result<E, RepairError>> + Send + 'static,
{
    let (sender, receiver) = mpsc::channel(LINES_WAITING);
    let stop = state.stop.child_token();
    let running = work(state.ports.clone(), Teller(sender.clone()), stop.clone());
    tokio::spawn(async move {
        let last = Line::ended(running.await);
        // Nobody may be there to read it.
        let _ = sender.send(last).await;
    });
    let lines = stream::unfold((receiver, stop.drop_guard()), |(mut receiver, guard)| async move {
        let line: Line = receiver.recv().await?;
        Some((Ok::<Bytes, Infallible>(line.to_bytes()), (receiver, guard)))
    });
    Body::from_stream(lines).into_response()
}
