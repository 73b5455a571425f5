//! Repair over the socket.

use super::lines::answer;
use super::state::{AdminError, AdminState};
use crate::command::dead_letters::{
    ActRequest, Finished as Acted, LettersView, ListRequest, act_on, list_on,
};
use crate::command::replay::{Finished as Replayed, replay_on};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use readmark_repair::replay::Replay;
use std::sync::Arc;

pub(crate) async fn replay(State(state): State<Arc<AdminState>>, Json(what): Json<Replay>) -> Response {
    answer::<Replayed, _, _>(&state, |ports, teller, stop| async move {
        replay_on(&ports, &what, &mut |report| teller.tell(report), &stop).await
    })
}

pub(crate) async fn act(State(state): State<Arc<AdminState>>, Json(what): Json<ActRequest>) -> Response {
    answer::<Acted, _, _>(&state, |ports, teller, stop| async move {
        act_on(&ports, &what, &mut |acted| teller.tell(acted), &stop).await
    })
}

pub(crate) async fn list(
    State(state): State<Arc<AdminState>>,
    Json(what): Json<ListRequest>,
) -> Result<Json<LettersView>, AdminError> {
    let listed = list_on(&state.ports, &what).await;
    listed.map(Json).map_err(|error| AdminError(StatusCode::SERVICE_UNAVAILABLE, error.to_string()))
}
