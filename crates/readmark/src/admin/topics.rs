//! Topics read and written raw, by whoever owns the data directory.

use super::state::{AdminError, AdminState};
use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use readmark_events::Topic;
use readmark_log::{LogError, NewRecord, Record, TopicPartition};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// Records in one answer.
const RECORDS_AT_MOST: usize = 10_000;

#[derive(Debug, Deserialize)]
pub(crate) struct Slice {
    partition: Option<u32>,
    #[serde(default)]
    from: u64,
    limit: Option<usize>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct RawRecord {
    key: String,
    payload: Option<String>,
    payload_base64: Option<String>,
}

fn bad(words: impl std::fmt::Display) -> AdminError {
    AdminError(StatusCode::UNPROCESSABLE_ENTITY, words.to_string())
}

fn log_failed(error: LogError) -> AdminError {
    AdminError(StatusCode::SERVICE_UNAVAILABLE, error.to_string())
}

fn topic_of(name: &str) -> Result<Topic, AdminError> {
    name.parse().map_err(bad)
}

/// A slice of one partition, or what partitions there are.
pub(crate) async fn read(
    State(state): State<Arc<AdminState>>,
    Path(topic): Path<String>,
    Query(slice): Query<Slice>,
) -> Result<Json<Value>, AdminError> {
    let (topic, log) = (topic_of(&topic)?, &state.ports.log);
    let Some(partition) = slice.partition else {
        let mut partitions = Vec::new();
        for partition in 0..log.partitions(topic) {
            let at = TopicPartition { topic, partition };
            let start = log.start_offset(at).await.map_err(log_failed)?;
            let end = log.end_offset(at).await.map_err(log_failed)?;
            partitions.push(json!({"partition": partition, "start": start, "end": end}));
        }
        return Ok(Json(json!({ "partitions": partitions })));
    };
    let limit = slice.limit.unwrap_or(RECORDS_AT_MOST).min(RECORDS_AT_MOST);
    let records =
        log.read(TopicPartition { topic, partition }, slice.from, limit).await.map_err(log_failed)?;
    Ok(Json(records.iter().map(shown).collect()))
}

fn shown(record: &Record) -> Value {
    let headers: serde_json::Map<String, Value> =
        record.headers.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let mut shown = json!({
        "partition": record.position.partition.partition,
        "offset": record.position.offset,
        "appended_at_ms": record.appended_at.get(),
        "key": record.key.as_ref().map(|key| String::from_utf8_lossy(key)),
        "headers": headers,
    });
    match std::str::from_utf8(&record.payload) {
        Ok(text) => shown["payload"] = json!(text),
        Err(_) => shown["payload_base64"] = json!(STANDARD.encode(&record.payload)),
    }
    shown
}

/// Puts one record, as it is, into the log.
pub(crate) async fn put(
    State(state): State<Arc<AdminState>>,
    Path(topic): Path<String>,
    Json(raw): Json<RawRecord>,
) -> Result<Json<Value>, AdminError> {
    let payload = match (raw.payload, raw.payload_base64) {
        (Some(text), None) => Bytes::from(text),
        (None, Some(encoded)) => Bytes::from(STANDARD.decode(encoded).map_err(bad)?),
        _ => return Err(bad("give payload or payload_base64")),
    };
    let record =
        NewRecord { topic: topic_of(&topic)?, key: Bytes::from(raw.key), payload, headers: Vec::new() };
    let positions = state.ports.log.append(vec![record]).await.map_err(log_failed)?;
    let shown = positions.iter().map(|p| json!({"partition": p.partition.partition, "offset": p.offset}));
    Ok(Json(shown.collect()))
}
