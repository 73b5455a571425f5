//! Compares answers and devices with what is expected.

use crate::trace::{Expected, ExpectedMessage, Trace};
use readmark_test_harness::device::{Devices, Following};
use readmark_test_harness::{Server, wait_while_moving};
use serde_json::{Value, json};
use tokio::sync::Mutex;

/// Most messages a query may ask for.
const QUERY_MESSAGES: usize = 200;
/// Differences shown when answers are wrong.
const SHOWN: usize = 10;
/// Newest messages of a conversation of whose every change the sender is told.
const TOLD_MESSAGES: u64 = 1_000;
/// Readers asked for their unread at once.
const READERS_AT_ONCE: usize = 8;

/// Waits until every N/M and every unread of the trace is answered as expected. Page by page, so that the
/// questions do not keep the server from its work; in the end everything is asked once more, and must be right.
pub async fn check_answers(server: &Server, trace: &Trace) {
    let id = &trace.conversation_id;
    let pages: Vec<_> = trace.expected.messages.chunks(QUERY_MESSAGES).collect();
    for (number, page) in pages.iter().enumerate() {
        wait_while_moving(&format!("page {number} of the receipts of {id}"), || async {
            none_wrong(wrong_counts(server, id, page).await?)
        })
        .await;
    }
    wait_while_moving(&format!("the unread in {id}"), || async {
        none_wrong(wrong_unread(server, trace).await?)
    })
    .await;
    for page in pages {
        let wrong = wrong_counts(server, id, page).await.expect("the server answers");
        none_wrong(wrong).unwrap_or_else(|seen| panic!("right before, now wrong: {seen}"));
    }
}

fn none_wrong(wrong: Vec<String>) -> Result<(), String> {
    if wrong.is_empty() { Ok(()) } else { Err(summary(&wrong)) }
}

fn summary(wrong: &[String]) -> String {
    let shown = wrong.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>();
    format!("{} differences, first: {}", wrong.len(), shown.join("; "))
}

async fn wrong_counts(server: &Server, id: &str, page: &[ExpectedMessage]) -> Result<Vec<String>, String> {
    let asked: Vec<Value> = page.iter().map(|m| json!({"conversation_id": id, "seq": m.seq})).collect();
    let reply =
        server.as_service().try_send("POST", "/v1/receipts/query", &json!({"messages": asked})).await?;
    let answer = reply.json();
    let receipts = answer["receipts"].as_array().ok_or_else(|| reply.to_string())?;
    let mut wrong = Vec::new();
    for (message, receipt) in page.iter().zip(receipts) {
        let all_read = message.total > 0 && message.read == message.total;
        let expected = json!({
            "conversation_id": id, "seq": message.seq, "sender_uid": message.sender_uid,
            "read": message.read.to_string(), "total": message.total.to_string(), "all_read": all_read,
        });
        if let Some(field) = first_difference(&expected, receipt) {
            wrong.push(format!("message {}: {field}", message.seq));
        }
    }
    if receipts.len() != page.len() {
        wrong.push(format!("{} answers to {} questions", receipts.len(), page.len()));
    }
    Ok(wrong)
}

fn first_difference(expected: &Value, answer: &Value) -> Option<String> {
    let fields = expected.as_object()?.iter();
    let mut differing = fields.filter(|(name, value)| answer[name.as_str()] != **value);
    differing.next().map(|(name, value)| format!("{name} is {}, must be {value}", answer[name.as_str()]))
}

async fn wrong_unread(server: &Server, trace: &Trace) -> Result<Vec<String>, String> {
    use futures::{StreamExt, TryStreamExt};
    let answers = futures::stream::iter(trace.expected.unread.iter().map(|(uid, unread)| async move {
        let path = format!("/v1/unread?all=true&uid={uid}");
        let reply = server.as_service().try_send("GET", &path, &Value::Null).await?;
        Ok::<_, String>(differing_unread(trace, uid, *unread, &reply.json()))
    }));
    let wrong: Vec<_> = answers.buffered(READERS_AT_ONCE).try_collect().await?;
    Ok(wrong.into_iter().flatten().collect())
}

fn differing_unread(trace: &Trace, uid: &str, unread: u64, answer: &Value) -> Option<String> {
    let empty = Vec::new();
    let conversations = answer["conversations"].as_array().unwrap_or(&empty);
    let number = |value: &Value| value.as_str().and_then(|text| text.parse::<u64>().ok());
    let sum: Option<u64> = conversations.iter().map(|c| number(&c["unread"])).sum();
    if number(&answer["total"]) != sum {
        return Some(format!("user {uid}: the total {} is not the sum {sum:?}", answer["total"]));
    }
    let found = conversations.iter().find(|c| c["conversation_id"] == trace.conversation_id.as_str());
    match found {
        None => Some(format!("user {uid}: the conversation is missing in {answer}")),
        Some(found) if found["head_seq"] != trace.expected.head_seq.as_str() => {
            Some(format!("user {uid}: head is {}, must be {}", found["head_seq"], trace.expected.head_seq))
        }
        Some(found) if number(&found["unread"]) != Some(unread) => {
            Some(format!("user {uid}: {} unread, must be {unread}", found["unread"]))
        }
        Some(_) => None,
    }
}

/// Compares what the senders' devices show in the end with what is expected.
///
/// A device must be right for the newest 1,000 messages; of an older one it is told only when somebody's
/// receipt completes it or arrived while it was new, so it may miss that a member left since.
pub fn check_devices(devices: &Devices, trace: &Trace) -> Result<(), String> {
    let Expected { head_seq, messages, .. } = &trace.expected;
    let head: u64 = head_seq.parse().expect("a seq");
    let mut wrong = Vec::new();
    let mut told = 0;
    for message in messages {
        let seq: u64 = message.seq.parse().expect("a seq");
        let shown = devices.shown(&trace.conversation_id, seq);
        told += usize::from(shown.is_some());
        let must_be_right = seq + TOLD_MESSAGES > head;
        match shown {
            Some(shown) if (shown.read, shown.total) == (message.read, message.total) => {}
            Some(shown) if must_be_right => wrong.push(format!("{shown:?} for {message:?}")),
            None if must_be_right && message.read > 0 => wrong.push(format!("never told of {message:?}")),
            Some(_) | None => {}
        }
    }
    if told == 0 {
        return Err("no device was told anything".to_owned());
    }
    none_wrong(wrong)
}

/// Waits until the senders' devices show what is expected, by what is told while the server runs.
pub async fn wait_for_devices(server: &Server, trace: &Trace) {
    let following = Mutex::new(Following::default());
    wait_while_moving(&format!("the devices of {}", trace.conversation_id), || async {
        check_devices(following.lock().await.catch_up(server).await, trace)
    })
    .await;
}
