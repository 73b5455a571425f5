//! Repair over the socket.

use super::lines::answer;
use super::state::{AdminError, AdminState};
use crate::command::dead_letters::{LettersView, ListRequest, list_on};
use crate::command::repair::Repair;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use std::sync::Arc;

/// Any work of repair; its progress is told line by line.
pub(crate) async fn carry_out<R>(State(state): State<Arc<AdminState>>, Json(what): Json<R>) -> Response
where
    R: Repair + Send + Sync + 'static,
    R::Step: Serialize,
    R::Finished: Serialize + Send,
{
    answer::<R::Finished, _, _>(&state, |ports, teller, stop| async move {
        what.on(&ports, &mut |step| teller.tell(step), &stop).await
    })
}

pub(crate) async fn list(
    State(state): State<Arc<AdminState>>,
    Json(what): Json<ListRequest>,
) -> Result<Json<LettersView>, AdminError> {
    let listed = list_on(&state.ports, &what).await;
    listed.map(Json).map_err(|error| AdminError(StatusCode::SERVICE_UNAVAILABLE, error.to_string()))
}
