use crate::failure::problem;
use crate::limit::limit;
use crate::snapshot::Snapshot;
use crate::state::Query;
use crate::whose::whose;
use axum::Json;
use axum::extract::State;
use readmark_domain::hot::{Entry, SyncToken};
use readmark_http::{Device, Params, Problem, Viewer, openapi_schemas};
use readmark_sync::News;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Whose stream, from where, and how much of it.
#[derive(Debug, Deserialize)]
pub(super) struct SyncParams {
    since: Option<String>,
    limit: Option<usize>,
    uid: Option<String>,
}

/// What follows a token.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub(super) enum SyncAnswer {
    /// What is new.
    Entries {
        /// Ascending by version, without gaps; from right after the token asked with.
        entries: Vec<Entry>,
        /// After the last of them: ask with it next.
        token: SyncToken,
        /// There are more: ask again at once.
        more: bool,
    },
    /// The token is too old, of another epoch, or there was none.
    Snapshot {
        /// As `/v1/unread?all=true`: takes the place of all that the device knows.
        snapshot: Snapshot,
        /// From before the snapshot: ask with it next.
        token: SyncToken,
    },
}

openapi_schemas!(SyncAnswer);

impl SyncParams {
    fn since(&self) -> Result<Option<SyncToken>, Problem> {
        let parse = |text: &String| {
            text.parse().map_err(|error| Problem::malformed_field("since", format!("since: {error}")))
        };
        self.since.as_ref().map(parse).transpose()
    }
}

/// What has happened since a token.
#[utoipa::path(
    get,
    path = "/v1/sync",
    tag = "readers",
    params(
        ("since" = Option<String>, Query, description = "A token, unchanged; without one a snapshot is answered"),
        ("limit" = Option<usize>, Query, description = "Entries at most: 1 to 1,000, 100 unless said"),
        ("uid" = Option<String>, Query, description = "Whose; with scope service")
    ),
    responses(
        (status = 200, body = SyncAnswer),
        (status = "4XX", response = readmark_http::ProblemBody),
        (status = "5XX", response = readmark_http::ProblemBody)
    ),
    security(("bearer" = []))
)]
pub(super) async fn get_sync(
    viewer: Viewer,
    Device(device): Device,
    Params(params): Params<SyncParams>,
    State(query): State<Arc<Query>>,
) -> Result<Json<SyncAnswer>, Problem> {
    let uid = whose(viewer, params.uid.as_deref())?;
    let (since, limit) = (params.since()?, limit(params.limit)?);
    let followed = query.live.follow(uid, since.as_ref(), limit).await.map_err(problem)?;
    Ok(Json(match followed.news {
        News::Entries { entries, token, more } => {
            let entries = entries.into_iter().map(|entry| entry.delivered_to(device.as_ref())).collect();
            SyncAnswer::Entries { entries, token, more }
        }
        News::Snapshot(picture) => {
            let token = picture.token.clone();
            SyncAnswer::Snapshot { snapshot: Snapshot::from(*picture), token }
        }
    }))
}
