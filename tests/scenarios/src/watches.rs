//! What must hold at every look, from a step to the end of its scenario.

use crate::format::Watch;
use crate::world::World;
use readmark_test_harness::{Reply, Server};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(2);
/// Between two looks at positions, of which each asks the brokers for every partition.
const PAUSE_OF_POSITIONS: Duration = Duration::from_millis(50);

/// Begins to look again and again until the scenario is over; a look that is not answered counts for nothing.
pub fn watch(world: &Arc<World>, step: &Watch) {
    let (step, id, over) = (step.clone(), world.conversation(&step.c), world.over());
    let server = world.server.clone();
    let user = step.user.as_ref().map(|name| world.uid(name));
    let watch = tokio::spawn(async move {
        let mut positions = BTreeMap::new();
        let pause = if step.positions_of.is_some() { PAUSE_OF_POSITIONS } else { PAUSE };
        while !over.load(Ordering::SeqCst) {
            if let Some(seq) = step.seq {
                look_at_receipt(&server, &id, seq, &step).await;
            }
            if let Some(uid) = user {
                look_at_unread(&server, &id, uid, &step).await;
            }
            if let Some(role) = &step.positions_of {
                look_at_positions(&server, role, &mut positions).await;
            }
            tokio::time::sleep(pause).await;
        }
        let looked = step.positions_of.is_none() || !positions.is_empty();
        assert!(looked, "no position of {:?} was ever seen", step.positions_of);
    });
    world.watch(watch);
}

async fn look(server: &Server, path: &str) -> Option<Reply> {
    let reply = server.as_service().try_send("GET", path, &Value::Null).await.ok()?;
    (reply.status == 200).then_some(reply)
}

async fn look_at_receipt(server: &Server, id: &str, seq: u64, step: &Watch) {
    let path = format!("/v1/conversations/{id}/messages/{seq}/receipt");
    let Some(reply) = look(server, &path).await else { return };
    let answer = reply.json();
    let number = |field: &str| answer[field].as_str().and_then(|text| text.parse::<u64>().ok());
    assert!(number("read").is_some() && number("read") <= number("total"), "N above M: {reply}");
    assert!(!(step.not_all_read && answer["all_read"] == true), "read by all: {reply}");
}

async fn look_at_unread(server: &Server, id: &str, uid: u64, step: &Watch) {
    let Some(reply) = look(server, &format!("/v1/unread?all=true&uid={uid}")).await else { return };
    let answer = reply.json();
    let conversations = answer["conversations"].as_array().map(Vec::as_slice).unwrap_or_default();
    let Some(found) = conversations.iter().find(|c| c["conversation_id"] == json!(id)) else { return };
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

async fn look_at_positions(server: &Server, role: &str, known: &mut BTreeMap<(String, u32), u64>) {
    for (place, position) in server.positions(role).await {
        let before = known.insert(place.clone(), position).unwrap_or(0);
        assert!(position >= before, "{role} has stored {position} of {place:?} after {before}");
    }
}
