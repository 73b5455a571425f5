use crate::failure::problem;
use crate::snapshot::Snapshot;
use crate::state::Query;
use crate::whose::whose;
use axum::Json;
use axum::extract::State;
use readmark_domain::hot::{MessageCount, PictureRow};
use readmark_http::{Params, Problem, Viewer, openapi_schemas};
use serde::Deserialize;
use std::sync::Arc;

/// Conversations told of unless all are asked for.
const MAX_LISTED: usize = 1_000;

/// Whose unread, and how much of it.
#[derive(Debug, Deserialize)]
pub(super) struct UnreadParams {
    #[serde(default)]
    all: bool,
    uid: Option<String>,
}

openapi_schemas!(Snapshot);

fn is_of_interest(row: &PictureRow) -> bool {
    row.row.unread > MessageCount::ZERO || row.row.marked_unread
}

/// What a user has unread.
#[utoipa::path(
    get,
    path = "/v1/unread",
    tag = "readers",
    params(
        ("all" = Option<bool>, Query, description = "Every conversation, not only those with anything unread or marked"),
        ("uid" = Option<String>, Query, description = "Whose; with scope service")
    ),
    responses(
        (status = 200, body = Snapshot),
        (status = "4XX", response = readmark_http::ProblemBody),
        (status = "5XX", response = readmark_http::ProblemBody)
    ),
    security(("bearer" = []))
)]
pub(super) async fn get_unread(
    viewer: Viewer,
    Params(params): Params<UnreadParams>,
    State(query): State<Arc<Query>>,
) -> Result<Json<Snapshot>, Problem> {
    let uid = whose(viewer, params.uid.as_deref())?;
    let picture = query.live.picture(uid).await.map_err(problem)?;
    Ok(Json(match params.all {
        true => Snapshot::from(picture),
        false => Snapshot::listing(picture, MAX_LISTED, is_of_interest),
    }))
}
