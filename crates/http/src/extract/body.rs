use super::strict::UniqueKeys;
use crate::problem::{Item, Kind, Problem};
use axum::body::Body;
use axum::extract::{FromRequest, Request};
use futures::StreamExt;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// Largest body that is read.
pub const MAX_BODY_BYTES: usize = 1024 * 1024;

/// How much of a body too large is read and dropped before the answer, so that a client that sends first
/// and listens afterwards gets 413 and not a broken connection.
const MAX_DRAINED_BYTES: usize = 8 * 1024 * 1024;

/// A JSON object as the body.
#[derive(Debug)]
pub struct Json<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let bytes = read(request.into_body()).await?;
        let bytes: &[u8] = if bytes.trim_ascii().is_empty() { b"{}" } else { &bytes };
        parse_body(bytes).map(Self)
    }
}

/// Reads a JSON object that came as a body, or as a message of a connection.
///
/// # Errors
/// 422, naming the fault.
pub fn parse_body<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice::<UniqueKeys>(bytes)
        .map_err(|error| Problem::malformed(format!("the body is no JSON to be used: {error}")))?;
    let text = std::str::from_utf8(bytes).map_err(|_| Problem::malformed("the body is no UTF-8"))?;
    object(text).map_err(|fault| {
        let detail = format!("the body can't be used: {}", fault.detail);
        Problem::malformed(detail).with_items(vec![fault])
    })
}

async fn read(body: Body) -> Result<Vec<u8>, Problem> {
    let mut chunks = body.into_data_stream();
    let mut bytes = Vec::new();
    let mut total = 0_usize;
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| Problem::malformed("the body ended before its end"))?;
        total += chunk.len();
        if total > MAX_DRAINED_BYTES {
            break;
        }
        if total <= MAX_BODY_BYTES {
            bytes.extend_from_slice(&chunk);
        } else {
            bytes = Vec::new();
        }
    }
    if total > MAX_BODY_BYTES {
        let detail = format!("the body is larger than {MAX_BODY_BYTES} bytes");
        return Err(Problem::new(Kind::TooLarge, detail));
    }
    Ok(bytes)
}

/// Reads a JSON object; an array in its place, which serde would take for one, is a fault.
fn object<T: DeserializeOwned>(text: &str) -> Result<T, Item> {
    if !text.trim_ascii_start().starts_with('{') {
        return Err(Item { index: None, field: None, detail: "must be a JSON object".to_owned() });
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        let field = (path != ".").then_some(path);
        Item { index: None, field, detail: without_position(&error.into_inner()) }
    })
}

/// The words of an error without serde's " at line 1 column 9", which counts from the wrong start.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(words, _)| words.to_owned())
}

/// Reads one element of a list, naming its fault by its index.
///
/// # Errors
/// The fault.
pub fn parse_item<T: DeserializeOwned>(index: usize, raw: &RawValue) -> Result<T, Item> {
    object(raw.get()).map_err(|fault| Item { index: Some(index), ..fault })
}

/// Reads the elements of the list `field`, each on its own, so that every fault is told at once.
///
/// # Errors
/// 422 when there are none, more than `max`, or any is malformed.
pub fn parse_items<T>(
    field: &str,
    raw: &[Box<RawValue>],
    max: usize,
    mut parse: impl FnMut(usize, &RawValue) -> Result<T, Item>,
) -> Result<Vec<T>, Problem> {
    if raw.is_empty() || raw.len() > max {
        let detail = format!("{field} must have 1 to {max} elements, it has {}", raw.len());
        return Err(Problem::malformed_field(field, detail));
    }
    let mut parsed = Vec::with_capacity(raw.len());
    let mut faults = Vec::new();
    for (index, raw) in raw.iter().enumerate() {
        match parse(index, raw) {
            Ok(item) => parsed.push(item),
            Err(fault) => faults.push(fault),
        }
    }
    if faults.is_empty() {
        return Ok(parsed);
    }
    let detail = format!("{} of {} elements of {field} can't be used", faults.len(), raw.len());
    Err(Problem::malformed(detail).with_items(faults))
}
