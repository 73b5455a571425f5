use crate::problem::Problem;
use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use readmark_domain::id::{ConversationId, Seq};
use serde::de::DeserializeOwned;

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
    value.ok_or_else(|| Problem::malformed(format!("the path has no {name}")))
}

impl<S: Send + Sync> FromRequestParts<S> for ConversationPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let id = part(parts, state, "id").await?;
        ConversationId::new(&id).map(Self).map_err(|error| Problem::malformed(error.to_string()))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for MessagePath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let ConversationPath(conversation_id) = ConversationPath::from_request_parts(parts, state).await?;
        let seq = part(parts, state, "seq").await?;
        let seq = seq
            .parse()
            .map_err(|error: readmark_domain::id::IdError| Problem::malformed(error.to_string()))?;
        Ok(Self { conversation_id, seq })
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Query(params) = Query::<T>::from_request_parts(parts, state).await.map_err(|rejection| {
            Problem::malformed(format!("the query can't be used: {}", rejection.body_text()))
        })?;
        Ok(Self(params))
    }
}
