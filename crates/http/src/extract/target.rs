use crate::problem::Problem;
use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use readmark_domain::id::{ConversationId, IdError, Seq};
use serde::de::DeserializeOwned;
use std::error::Error;

/// `{id}` of the path.
#[derive(Debug, Clone)]
pub struct ConversationPath(pub ConversationId);

/// `{id}` and `{seq}` of the path.
#[derive(Debug, Clone)]
pub struct MessagePath {
    /// The conversation.
    pub conversation_id: ConversationId,
    /// The message.
    pub seq: Seq,
}

/// The query string.
#[derive(Debug)]
pub struct Params<T>(pub T);

async fn part<S: Send + Sync>(parts: &mut Parts, state: &S, name: &str) -> Result<String, Problem> {
    let Path(values) =
        Path::<Vec<(String, String)>>::from_request_parts(parts, state).await.map_err(|rejection| {
            Problem::malformed(format!("the path can't be used: {}", rejection.body_text()))
        })?;
    let value = values.into_iter().find(|(key, _)| key == name).map(|(_, value)| value);
    value.ok_or_else(|| Problem::malformed_field(name, format!("the path has no {name}")))
}

impl<S: Send + Sync> FromRequestParts<S> for ConversationPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let id = part(parts, state, "id").await?;
        ConversationId::new(&id)
            .map(Self)
            .map_err(|error| Problem::malformed_field("conversation_id", error.to_string()))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for MessagePath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let ConversationPath(conversation_id) = ConversationPath::from_request_parts(parts, state).await?;
        let seq = part(parts, state, "seq").await?;
        let seq = seq.parse().map_err(|error: IdError| Problem::malformed_field("seq", error.to_string()))?;
        Ok(Self { conversation_id, seq })
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Query(params) = Query::<T>::from_request_parts(parts, state).await.map_err(|rejection| {
            let detail = format!("the query can't be used: {}", rejection.body_text());
            // axum says "PARAMETER: WHAT" of one that can't be read, and "WHAT" of all of them together.
            let cause = rejection.source().map(ToString::to_string).unwrap_or_default();
            match cause.split_once(": ") {
                Some((name, _)) if !name.contains(' ') => Problem::malformed_field(name, detail),
                Some(_) | None => Problem::malformed(detail),
            }
        })?;
        Ok(Self(params))
    }
}
