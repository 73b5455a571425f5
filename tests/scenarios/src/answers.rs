//! Steps that compare what senders and readers are answered.

use crate::format::{Names, Receipt, Unread, Watch};
use crate::world::World;
use readmark_test_harness::{Caller, DEADLINE, Reply, wait_until};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The device that asks.
const ENDPOINT: &str = "asking";

fn caller(world: &World, by: Option<&str>) -> Caller {
    by.map_or_else(|| world.server.as_service(), |name| world.server.as_user(world.uid(name), ENDPOINT))
}

/// Fails with the fields of `must_be` that `answer` lacks.
fn same(answer: &Value, must_be: &[(&str, Option<Value>)]) -> Result<(), String> {
    let wrong = must_be.iter().filter_map(|(field, value)| Some((field, value.as_ref()?)));
    let wrong: Vec<_> = wrong.filter(|(field, value)| answer[**field] != **value).collect();
    if wrong.is_empty() { Ok(()) } else { Err(format!("{answer}, must have {wrong:?}")) }
}

fn text(value: Option<u64>) -> Option<Value> {
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
    let caller = caller(world, step.by.as_deref());
    for seq in world.seqs(&step.seqs, round) {
        let path = format!("/v1/conversations/{}/messages/{seq}/receipt", step.c);
        wait_until(DEADLINE, &path, || async {
            let reply = caller.try_send("GET", &path, &Value::Null).await?;
            if let Some(status) = step.status {
                return refused(&reply, status, step.problem.as_deref());
            }
            let must_be = [
                ("conversation_id", Some(json!(step.c))),
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
    let path = format!("/v1/conversations/{}/messages/{}/{list}", step.c, step.seq);
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
    for uid in world.uids(&step.users, round) {
        let caller = world.server.as_user(uid, ENDPOINT);
        wait_until(DEADLINE, &format!("unread of user {uid} in {}", step.c), || async {
            let reply = caller.try_send("GET", "/v1/unread?all=true", &Value::Null).await?;
            if reply.status == 200 { picture(&reply.json(), step) } else { Err(reply.to_string()) }
        })
        .await;
    }
}

fn picture(answer: &Value, step: &Unread) -> Result<(), String> {
    let conversations = answer["conversations"].as_array().ok_or("no list of conversations")?;
    let found = conversations.iter().find(|c| c["conversation_id"] == json!(step.c));
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
    ];
    same(found, &must_be)
}

/// Begins to look again and again until the scenario is over; a look that is not answered counts for nothing.
pub fn watch(world: &Arc<World>, step: &Watch) {
    let (world_inside, step) = (Arc::clone(world), step.clone());
    let over = world.over();
    let server = world.server.clone();
    let user = step.user.as_ref().map(|name| world.uid(name));
    drop(world_inside);
    let watch = tokio::spawn(async move {
        while !over.load(Ordering::SeqCst) {
            if let Some(seq) = step.seq {
                let path = format!("/v1/conversations/{}/messages/{seq}/receipt", step.c);
                if let Ok(reply) = server.as_service().try_send("GET", &path, &Value::Null).await {
                    look_at_receipt(&step, &reply);
                }
            }
            if let Some(uid) = user {
                let path = format!("/v1/unread?all=true&uid={uid}");
                if let Ok(reply) = server.as_service().try_send("GET", &path, &Value::Null).await {
                    look_at_unread(&step, &reply);
                }
            }
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    });
    world.watch(watch);
}

fn look_at_receipt(step: &Watch, reply: &Reply) {
    if reply.status != 200 {
        return;
    }
    let answer = reply.json();
    let number = |field: &str| answer[field].as_str().and_then(|text| text.parse::<u64>().ok());
    assert!(number("read").is_some() && number("read") <= number("total"), "N above M: {reply}");
    assert!(!(step.not_all_read && answer["all_read"] == true), "read by all: {reply}");
}

fn look_at_unread(step: &Watch, reply: &Reply) {
    if reply.status != 200 {
        return;
    }
    let answer = reply.json();
    let conversations = answer["conversations"].as_array().map(Vec::as_slice).unwrap_or_default();
    let Some(found) = conversations.iter().find(|c| c["conversation_id"] == json!(step.c)) else { return };
    let unread = found["unread"].as_str().and_then(|text| text.parse::<u64>().ok());
    let unread = unread.unwrap_or_else(|| panic!("unread is no count: {found}"));
    assert!(
        step.unread_at_most.is_none_or(|most| unread <= most),
        "{found}, at most {:?}",
        step.unread_at_most
    );
    assert!(
        step.unread_at_least.is_none_or(|least| unread >= least),
        "{found}, at least {:?}",
        step.unread_at_least
    );
}
