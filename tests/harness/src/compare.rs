//! Compares every answer with the oracle's.

use crate::device::{Devices, Following};
use crate::oracle::{Oracle, Unread};
use crate::server::Server;
use crate::wait::wait_while_moving;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tokio::sync::Mutex;

/// Most messages a query may ask for.
const QUERY_MESSAGES: usize = 200;
/// Differences shown when answers are wrong.
const SHOWN: usize = 10;

/// Waits until every N/M and every unread count of every conversation is answered as the oracle says.
pub async fn wait_for_answers(server: &Server, oracle: &Oracle) {
    wait_while_moving("the answers to be the oracle's", || async {
        let mut wrong = Vec::new();
        for id in oracle.conversations() {
            wrong.extend(wrong_counts(server, oracle, id).await?);
        }
        wrong.extend(wrong_unread(server, oracle).await?);
        let shown = wrong.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("; ");
        if wrong.is_empty() { Ok(()) } else { Err(format!("{} differences, first: {shown}", wrong.len())) }
    })
    .await;
}

async fn wrong_counts(server: &Server, oracle: &Oracle, id: &str) -> Result<Vec<String>, String> {
    let seqs: Vec<u64> = oracle.messages(id).collect();
    let mut wrong = Vec::new();
    for page in seqs.chunks(QUERY_MESSAGES) {
        let asked: Vec<Value> =
            page.iter().map(|seq| json!({"conversation_id": id, "seq": seq.to_string()})).collect();
        let body = json!({"messages": asked});
        let reply = server.as_service().try_send("POST", "/v1/receipts/query", &body).await?;
        let answer = reply.json();
        let receipts = answer["receipts"].as_array().ok_or_else(|| reply.to_string())?;
        if oracle.is_off(id) {
            let shown = receipts.iter().filter(|receipt| receipt["error"] != "receipts_off");
            wrong.extend(shown.map(|receipt| format!("{id} is off and answers {receipt}")));
            continue;
        }
        for (seq, receipt) in page.iter().zip(receipts) {
            let counts = oracle.counts(id, *seq);
            let must_be = (json!(counts.read.to_string()), json!(counts.total.to_string()));
            if (&receipt["read"], &receipt["total"]) != (&must_be.0, &must_be.1) {
                wrong.push(format!("{id}/{seq} answers {receipt}, must be {counts:?}"));
            }
        }
    }
    Ok(wrong)
}

async fn wrong_unread(server: &Server, oracle: &Oracle) -> Result<Vec<String>, String> {
    let uids: BTreeSet<u64> = oracle.conversations().flat_map(|id| oracle.present(id)).collect();
    let mut wrong = Vec::new();
    for uid in uids {
        let path = format!("/v1/unread?all=true&uid={uid}");
        let answer = server.as_service().try_send("GET", &path, &Value::Null).await?.json();
        let conversations = answer["conversations"].as_array().cloned().unwrap_or_default();
        let (mut total, mut mentions) = (0, 0);
        for id in oracle.conversations().filter(|id| oracle.sees(id, uid)) {
            let unread = oracle.unread(id, uid);
            if !unread.muted {
                total += unread.unread;
                mentions += unread.mentions;
            }
            let found = conversations.iter().find(|c| c["conversation_id"] == id).unwrap_or(&Value::Null);
            if !is_right(found, &unread) {
                wrong.push(format!("user {uid} in {id} is answered {found}, must be {unread:?}"));
            }
        }
        for (field, must_be) in [("total", total), ("mentions", mentions)] {
            if answer[field] != json!(must_be.to_string()) {
                wrong.push(format!("user {uid} has the {field} {}, must be {must_be}", answer[field]));
            }
        }
    }
    Ok(wrong)
}

fn is_right(found: &Value, unread: &Unread) -> bool {
    let numbers = [
        ("unread", unread.unread),
        ("mentions", unread.mentions),
        ("read_seq", unread.read_seq),
        ("floor_seq", unread.floor_seq),
    ];
    let flags = [("marked_unread", unread.marked_unread), ("muted", unread.muted)];
    numbers.iter().all(|(field, value)| found[field] == json!(value.to_string()))
        && flags.iter().all(|(field, value)| found[field] == *value)
}

/// Waits until the senders' devices show what the oracle says, without any further ack: every message that
/// somebody has read must have been told, and what was told must be right. Only for conversations of up to
/// 1,000 messages, of which every change is told. Of a recall the IM tells its devices itself.
pub async fn wait_for_devices(server: &Server, oracle: &Oracle) {
    let following = Mutex::new(Following::default());
    wait_while_moving("the devices to show what the oracle says", || async {
        let mut following = following.lock().await;
        let wrong = wrong_devices(following.catch_up(server).await, oracle);
        let shown = wrong.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("; ");
        if wrong.is_empty() {
            Ok(())
        } else {
            Err(format!("{} devices are wrong, first: {shown}", wrong.len()))
        }
    })
    .await;
}

fn wrong_devices(devices: &Devices, oracle: &Oracle) -> Vec<String> {
    let mut wrong = Vec::new();
    for id in oracle.conversations() {
        for seq in oracle.messages(id).filter(|seq| !oracle.is_recalled(id, *seq)) {
            let counts = oracle.counts(id, seq);
            match devices.shown(id, seq) {
                Some(shown) if (shown.read, shown.total) == (counts.read, counts.total) => {}
                None if counts.read == 0 => {}
                shown => wrong.push(format!("{id}/{seq} shows {shown:?}, must be {counts:?}")),
            }
        }
    }
    wrong
}
