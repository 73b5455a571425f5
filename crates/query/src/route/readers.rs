use super::receipt::age;
use crate::limit::limit;
use crate::state::Query;
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use readmark_domain::counting::{TallyVersion, lists};
use readmark_domain::id::{Uid, count};
use readmark_http::{MessagePath, Params, Problem, Viewer, openapi_schemas};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Which page.
#[derive(Debug, Deserialize)]
pub(super) struct PageParams {
    limit: Option<usize>,
    cursor: Option<String>,
}

/// A page of names.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(super) struct NamesPage {
    /// Ascending.
    uids: Vec<Uid>,
    /// The cursor of the next page, null on the last one.
    next: Option<String>,
    /// N: readers who count.
    #[serde(with = "count")]
    #[schemars(schema_with = "count::schema")]
    read: u32,
    /// M: members who count.
    #[serde(with = "count")]
    #[schemars(schema_with = "count::schema")]
    total: u32,
    version: TallyVersion,
}

openapi_schemas!(NamesPage);

impl PageParams {
    /// The uid after which the page begins.
    fn after(&self) -> Result<Option<Uid>, Problem> {
        let parse = |cursor: &String| {
            cursor
                .parse()
                .map_err(|_| Problem::malformed_field("cursor", "cursor is none that was given out"))
        };
        self.cursor.as_ref().map(parse).transpose()
    }
}

/// The page of `uids` (ascending) after a cursor, and the next cursor.
fn page(uids: &[Uid], after: Option<Uid>, limit: usize) -> (Vec<Uid>, Option<String>) {
    let from = after.map_or(0, |after| uids.partition_point(|uid| *uid <= after));
    let rest = &uids[from..];
    let page = &rest[..limit.min(rest.len())];
    let next = page.last().filter(|_| rest.len() > limit).map(Uid::to_string);
    (page.to_vec(), next)
}

async fn names(
    query: &Query,
    viewer: Viewer,
    target: MessagePath,
    params: PageParams,
    have_read: bool,
) -> Result<(HeaderMap, Json<NamesPage>), Problem> {
    let (limit, after) = (limit(params.limit)?, params.after()?);
    let _turn = query.turn().await?;
    let seen = query.see_one(viewer, &target.conversation_id, target.seq).await?;
    if let Some(refusal) = query.names_refused(viewer, seen.tally.mode, &seen.message) {
        return Err(refusal);
    }
    let (readers, others) = lists(&seen.roster, &seen.message, seen.flags, &seen.readers);
    let (uids, next) = page(if have_read { &readers } else { &others }, after, limit);
    let tally = seen.tally;
    let page = NamesPage { uids, next, read: tally.read, total: tally.total, version: tally.version };
    Ok((age(seen.age_ms), Json(page)))
}

/// Who has read a message.
#[utoipa::path(
    get,
    path = "/v1/conversations/{id}/messages/{seq}/readers",
    tag = "senders",
    params(
        ("id" = String, Path, description = "The conversation"),
        ("seq" = String, Path, description = "The message"),
        ("limit" = Option<u16>, Query, minimum = 1, maximum = 1000, description = "Names in a page, 100 by default"),
        ("cursor" = Option<String>, Query, description = "`next` of the page before")
    ),
    responses(
        (status = 200, body = NamesPage),
        (status = "4XX", response = readmark_http::ProblemBody),
        (status = "5XX", response = readmark_http::ProblemBody)
    ),
    security(("bearer" = []))
)]
pub(super) async fn get_readers(
    viewer: Viewer,
    target: MessagePath,
    Params(params): Params<PageParams>,
    State(query): State<Arc<Query>>,
) -> Result<(HeaderMap, Json<NamesPage>), Problem> {
    names(&query, viewer, target, params, true).await
}

/// Who counts for a message and has not read it.
#[utoipa::path(
    get,
    path = "/v1/conversations/{id}/messages/{seq}/unread-members",
    tag = "senders",
    params(
        ("id" = String, Path, description = "The conversation"),
        ("seq" = String, Path, description = "The message"),
        ("limit" = Option<u16>, Query, minimum = 1, maximum = 1000, description = "Names in a page, 100 by default"),
        ("cursor" = Option<String>, Query, description = "`next` of the page before")
    ),
    responses(
        (status = 200, body = NamesPage),
        (status = "4XX", response = readmark_http::ProblemBody),
        (status = "5XX", response = readmark_http::ProblemBody)
    ),
    security(("bearer" = []))
)]
pub(super) async fn get_unread_members(
    viewer: Viewer,
    target: MessagePath,
    Params(params): Params<PageParams>,
    State(query): State<Arc<Query>>,
) -> Result<(HeaderMap, Json<NamesPage>), Problem> {
    names(&query, viewer, target, params, false).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_ascend_and_end() {
        let uids: Vec<Uid> = (1..=5).map(|n| Uid::new(n).expect("a uid")).collect();
        let (first, next) = page(&uids, None, 2);
        assert_eq!((first, next.as_deref()), (uids[..2].to_vec(), Some("2")));
        let (second, next) = page(&uids, Some(uids[1]), 3);
        assert_eq!((second, next), (uids[2..].to_vec(), None));
        let (gone, next) = page(&uids, Some(uids[4]), 3);
        assert_eq!((gone, next), (vec![], None));
    }
}
