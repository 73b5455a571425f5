//! `inspect` over the socket.

use super::state::{AdminError, AdminState};
use crate::command::inspect::{conversation, lag, message, user};
use axum::Json;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use readmark_domain::id::{ConversationId, Seq, Uid};
use serde::Deserialize;
use std::sync::Arc;

#[derive(Debug, Deserialize)]
pub(crate) struct OfMessage {
    conversation: ConversationId,
    seq: Seq,
}

#[derive(Debug, Deserialize)]
pub(crate) struct OfConversation {
    conversation: ConversationId,
}

#[derive(Debug, Deserialize)]
pub(crate) struct OfUser {
    uid: Uid,
}

fn failed(error: impl std::fmt::Display) -> AdminError {
    AdminError(StatusCode::SERVICE_UNAVAILABLE, error.to_string())
}

pub(crate) async fn message(
    State(state): State<Arc<AdminState>>,
    Query(of): Query<OfMessage>,
) -> Result<Json<message::MessageView>, AdminError> {
    message::view(&state.ports, &state.rules, &of.conversation, of.seq).await.map(Json).map_err(failed)
}

pub(crate) async fn conversation(
    State(state): State<Arc<AdminState>>,
    Query(of): Query<OfConversation>,
) -> Result<Json<conversation::ConversationView>, AdminError> {
    conversation::view(&state.ports, &state.rules, &of.conversation).await.map(Json).map_err(failed)
}

pub(crate) async fn user(
    State(state): State<Arc<AdminState>>,
    Query(of): Query<OfUser>,
) -> Result<Json<user::UserView>, AdminError> {
    user::view(&state.ports, of.uid).await.map(Json).map_err(failed)
}

pub(crate) async fn lag(State(state): State<Arc<AdminState>>) -> Result<Json<lag::LagView>, AdminError> {
    lag::view(&*state.ports.log, &state.rules).await.map(Json).map_err(failed)
}
