//! Steps that compare what senders and readers are answered.

use crate::DEADLINE;
use crate::format::{Names, Receipt, Unread};
use crate::world::World;
use readmark_test_harness::{Caller, Reply, wait_until};
use serde_json::{Value, json};

/// The device that asks.
const ENDPOINT: &str = "asking";

fn caller(world: &World, by: Option<&str>) -> Caller {
    by.map_or_else(|| world.server.as_service(), |name| world.server.as_user(world.uid(name), ENDPOINT))
}

/// Compares an answer: fails with the fields of `must_be` that `answer` lacks.
pub fn same(answer: &Value, must_be: &[(&str, Option<Value>)]) -> Result<(), String> {
    let wrong = must_be.iter().filter_map(|(field, value)| Some((field, value.as_ref()?)));
    let wrong: Vec<_> = wrong.filter(|(field, value)| answer[**field] != **value).collect();
    if wrong.is_empty() { Ok(()) } else { Err(format!("{answer}, must have {wrong:?}")) }
}

/// As numbers are in answers.
pub fn text(value: Option<u64>) -> Option<Value> {
    value.map(|value| json!(value.to_string()))
}

fn refused(reply: &Reply, status: u16, problem: Option<&str>) -> Result<(), String> {
    let same_problem = problem.is_none_or(|problem| reply.problem() == problem);
    if reply.status == status && same_problem {
        Ok(())
    } else {
        Err(format!("{reply}, must be {status} {problem:?}"))
    }
}

/// N/M of each of the seqs.
pub async fn receipt(world: &World, step: &Receipt, round: u64) {
    let (caller, id) = (caller(world, step.by.as_deref()), world.conversation(&step.c));
    for seq in world.seqs(&step.seqs, round) {
        let path = format!("/v1/conversations/{id}/messages/{seq}/receipt");
        wait_until(DEADLINE, &path, || async {
            let reply = caller.try_send("GET", &path, &Value::Null).await?;
            if let Some(status) = step.status {
                return refused(&reply, status, step.problem.as_deref());
            }
            let must_be = [
                ("conversation_id", Some(json!(id))),
                ("seq", text(Some(seq))),
                ("read", text(step.read)),
                ("total", text(step.total)),
                ("all_read", step.all_read.map(Value::Bool)),
                ("recalled", step.recalled.map(Value::Bool)),
                ("mode", step.mode.as_ref().map(|mode| json!(mode))),
                ("sender_uid", text(step.sender.as_ref().map(|name| world.uid(name)))),
                ("msg_id", text(step.msg)),
            ];
            if reply.status == 200 { same(&reply.json(), &must_be) } else { Err(reply.to_string()) }
        })
        .await;
    }
}

/// Who is listed under `list` (`readers` or `unread-members`), through all pages.
pub async fn names(world: &World, list: &str, step: &Names) {
    let caller = caller(world, step.by.as_deref());
    let path = format!("/v1/conversations/{}/messages/{}/{list}", world.conversation(&step.c), step.seq);
    let mut must_be = step.users.as_ref().map(|users| world.uids(users, 0)).unwrap_or_default();
    must_be.sort_unstable();
    let must_be: Vec<String> = must_be.iter().map(u64::to_string).collect();
    wait_until(DEADLINE, &path, || async {
        if let Some(status) = step.status {
            let reply = caller.try_send("GET", &path, &Value::Null).await?;
            return refused(&reply, status, step.problem.as_deref());
        }
        let listed = all_pages(&caller, &path, step.limit.unwrap_or(100)).await?;
        if listed == must_be { Ok(()) } else { Err(format!("{listed:?}, must be {must_be:?}")) }
    })
    .await;
}

async fn all_pages(caller: &Caller, path: &str, limit: u64) -> Result<Vec<String>, String> {
    let mut listed = Vec::new();
    let mut cursor = String::new();
    loop {
        let reply = caller.try_send("GET", &format!("{path}?limit={limit}{cursor}"), &Value::Null).await?;
        let page = reply.json();
        let uids = page["uids"].as_array().ok_or_else(|| reply.to_string())?;
        assert!(uids.len() as u64 <= limit, "{} uids on a page of {limit}", uids.len());
        listed.extend(uids.iter().filter_map(Value::as_str).map(str::to_owned));
        match page["next"].as_str() {
            None => return Ok(listed),
            Some(next) => cursor = format!("&cursor={next}"),
        }
    }
}

/// Each reader's picture of a conversation.
pub async fn unread(world: &World, step: &Unread, round: u64) {
    let id = world.conversation(&step.c);
    for uid in world.uids(&step.users, round) {
        let caller = world.server.as_user(uid, ENDPOINT);
        wait_until(DEADLINE, &format!("unread of user {uid} in {id}"), || async {
            let reply = caller.try_send("GET", "/v1/unread?all=true", &Value::Null).await?;
            if reply.status == 200 { picture(&reply.json(), &id, step) } else { Err(reply.to_string()) }
        })
        .await;
    }
}

fn picture(answer: &Value, id: &str, step: &Unread) -> Result<(), String> {
    let conversations = answer["conversations"].as_array().ok_or("no list of conversations")?;
    let found = conversations.iter().find(|c| c["conversation_id"] == json!(id));
    same(answer, &[("total", text(step.total))])?;
    if step.conversations.is_some_and(|count| count != conversations.len()) {
        return Err(format!("{} conversations: {answer}", conversations.len()));
    }
    let Some(found) = found else {
        // A conversation that was left or closed may be missing; then nothing of it is unread.
        let is_nothing = step.listed == Some(false) || step.unread == Some(0) && step.read.is_none();
        return if is_nothing { Ok(()) } else { Err(format!("not listed: {answer}")) };
    };
    if step.listed == Some(false) {
        return Err(format!("listed: {found}"));
    }
    let number = found["unread"].as_str().and_then(|text| text.parse::<u64>().ok());
    if step.unread_at_least.is_some() && number < step.unread_at_least {
        return Err(format!("{found}, must have at least {:?}", step.unread_at_least));
    }
    let must_be = [
        ("unread", text(step.unread)),
        ("mentions", text(step.mentions)),
        ("read_seq", text(step.read)),
        ("floor_seq", text(step.floor)),
        ("head_seq", text(step.head)),
        ("marked_unread", step.marked.map(Value::Bool)),
    ];
    same(found, &must_be)
}
