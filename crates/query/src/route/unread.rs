use crate::state::Query;
use crate::unread::{ConversationUnread, READS_AT_ONCE, unread};
use axum::Json;
use axum::extract::State;
use futures::FutureExt;
use readmark_domain::id::{ConversationId, Seq, Uid, seq_or_zero};
use readmark_domain::time::TimeMs;
use readmark_http::{Decimal, Kind, Params, Problem, Viewer, openapi_schemas};
use readmark_runtime::at_once;
use readmark_store::{ReceiptStore, StoreError};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::sync::Arc;

/// Conversations told of unless all are asked for.
const MAX_LISTED: usize = 1_000;

/// The epoch of pictures computed from the store: no sync stream has it, so following this token begins with
/// a snapshot, which misses nothing.
const TOKEN: &str = "store.0";

/// Whose unread, and how much of it.
#[derive(Debug, Deserialize)]
pub(super) struct UnreadParams {
    #[serde(default)]
    all: bool,
    uid: Option<String>,
}

/// What a user has unread.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(super) struct UnreadAnswer {
    /// Over every conversation that is not muted, listed or not.
    total: Decimal,
    /// The same of mentions.
    mentions: Decimal,
    /// Newest head first.
    conversations: Vec<Entry>,
    /// From before this state: following it misses nothing.
    token: &'static str,
}

#[derive(Debug, Serialize, schemars::JsonSchema)]
struct Entry {
    conversation_id: ConversationId,
    unread: Decimal,
    mentions: Decimal,
    #[serde(with = "seq_or_zero")]
    #[schemars(schema_with = "seq_or_zero::schema")]
    head_seq: Seq,
    #[serde(with = "seq_or_zero")]
    #[schemars(schema_with = "seq_or_zero::schema")]
    read_seq: Seq,
    #[serde(with = "seq_or_zero")]
    #[schemars(schema_with = "seq_or_zero::schema")]
    floor_seq: Seq,
    marked_unread: bool,
    muted: bool,
}

openapi_schemas!(UnreadAnswer);

impl From<ConversationUnread> for Entry {
    fn from(one: ConversationUnread) -> Self {
        Self {
            conversation_id: one.conversation_id,
            unread: Decimal(one.unread),
            mentions: Decimal(one.mentions),
            head_seq: one.head,
            read_seq: one.read,
            floor_seq: one.floor,
            marked_unread: one.marked_unread,
            muted: one.muted,
        }
    }
}

impl UnreadParams {
    fn uid(&self, viewer: Viewer) -> Result<Uid, Problem> {
        let named =
            self.uid.as_deref().map(|text| text.parse().map_err(|_| Problem::malformed("uid is no uid")));
        match (viewer, named.transpose()?) {
            (Viewer::Service, Some(uid)) => Ok(uid),
            (Viewer::Service, None) => {
                Err(Problem::malformed("with scope service, uid says whose unread is asked for"))
            }
            (Viewer::User(uid), None) => Ok(uid),
            (Viewer::User(uid), Some(named)) if named == uid => Ok(uid),
            (Viewer::User(_), Some(_)) => {
                Err(Problem::new(Kind::Forbidden, "a user sees its own unread only"))
            }
        }
    }
}

/// Newest head first, by the time of the newest message: seqs of different conversations don't compare.
async fn newest_first(
    store: &dyn ReceiptStore,
    listed: Vec<ConversationUnread>,
) -> Result<Vec<ConversationUnread>, StoreError> {
    let timed = listed.into_iter().map(|one| {
        async move {
            let newest = store.newest_buckets(&one.conversation_id, 1).await?;
            let sent_at = newest.first().map_or(TimeMs::ZERO, |bucket| bucket.newest_sent_at);
            Ok::<_, StoreError>((sent_at, one))
        }
        .boxed()
    });
    let mut timed = at_once::all(READS_AT_ONCE, timed.collect()).await?;
    timed.sort_by_cached_key(|(sent_at, one)| (Reverse(*sent_at), one.conversation_id.clone()));
    Ok(timed.into_iter().map(|(_, one)| one).collect())
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
        (status = 200, body = UnreadAnswer),
        (status = "4XX", response = readmark_http::ProblemBody),
        (status = "5XX", response = readmark_http::ProblemBody)
    ),
    security(("bearer" = []))
)]
pub(super) async fn get_unread(
    viewer: Viewer,
    Params(params): Params<UnreadParams>,
    State(query): State<Arc<Query>>,
) -> Result<Json<UnreadAnswer>, Problem> {
    let uid = params.uid(viewer)?;
    let _turn = query.turn().await?;
    let store = &*query.ports.store;
    let picture = unread(store, uid).await?;
    let mut listed = picture.conversations;
    listed.retain(|one| params.all || one.unread > 0 || one.marked_unread);
    let mut listed = newest_first(store, listed).await?;
    if !params.all {
        listed.truncate(MAX_LISTED);
    }
    Ok(Json(UnreadAnswer {
        total: Decimal(picture.total),
        mentions: Decimal(picture.mentions),
        conversations: listed.into_iter().map(Entry::from).collect(),
        token: TOKEN,
    }))
}
