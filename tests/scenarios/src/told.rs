//! Steps that look at topics and metrics.

use crate::DEADLINE;
use crate::format::{Device, Metric, Put, Records, ToldWithin};
use crate::matching::Wanted;
use crate::world::World;
use readmark_test_harness::device::Devices;
use readmark_test_harness::{TopicRecord, now_ms, wait_until};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What the sender's device shows for each of the seqs.
pub async fn device(world: &World, step: &Device, round: u64) {
    let id = world.conversation(&step.c);
    wait_until(DEADLINE, &format!("devices to show {}/{}", step.read, step.total), || async {
        let mut devices = Devices::default();
        world.records("read-changed").await.iter().for_each(|record| devices.told(&record.json()));
        for seq in world.seqs(&step.seqs, round) {
            match devices.shown(&id, seq) {
                Some(shown) if (shown.read, shown.total) == (step.read, step.total) => {}
                shown => return Err(format!("{id}/{seq} shows {shown:?}")),
            }
        }
        Ok(())
    })
    .await;
}

/// Counts the records of a topic that match.
pub async fn records(world: &World, step: &Records) {
    let is_upper_bound_only = step.exactly.is_none() && step.at_least.is_none();
    let wanted = Wanted::of(world, &step.fields, &step.below, &step.above);
    let look = || async {
        let all = match step.since {
            true => world.records_since_note(&step.topic).await,
            false => world.records(&step.topic).await,
        };
        let is_wanted = |record: &&Arc<TopicRecord>| {
            let named = |(name, value): (&String, &String)| record.header(name) == world.fill(value);
            wanted.matches(&record.json()) && step.headers.iter().all(named)
        };
        let found: Vec<_> = all.iter().filter(is_wanted).collect();
        if step.once {
            differ(&found)?;
        }
        let count = count(step, &found);
        let right = step.exactly.is_none_or(|exactly| count == exactly)
            && step.at_least.is_none_or(|least| count >= least)
            && step.at_most.is_none_or(|most| count <= most);
        let shown: Vec<_> = found.iter().take(5).map(|r| (&r.key, &r.payload, &r.headers)).collect();
        if right { Ok(()) } else { Err(format!("{count} records of {}, such as {shown:?}", all.len())) }
    };
    let what = format!("{step:?}");
    if is_upper_bound_only {
        look().await.unwrap_or_else(|seen| panic!("{what}: {seen}"));
    } else {
        wait_until(DEADLINE, &what, look).await;
    }
}

/// Fails when two of them say the same.
fn differ(found: &[&Arc<TopicRecord>]) -> Result<(), String> {
    let mut said = BTreeSet::new();
    let twice = found.iter().find(|record| !said.insert(&record.payload));
    twice.map_or(Ok(()), |record| Err(format!("said twice: {}", record.payload)))
}

fn count(step: &Records, found: &[&Arc<TopicRecord>]) -> usize {
    match &step.distinct {
        None => found.len(),
        Some(field) => {
            found.iter().map(|record| record.json()[field].to_string()).collect::<BTreeSet<_>>().len()
        }
    }
}

/// The value of a metric.
pub async fn metric(world: &World, step: &Metric) {
    let labels: Vec<_> = step.labels.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    wait_until(DEADLINE, &step.name, || async {
        let value = world.metric(&step.name, &labels).await;
        let right = step.at_least.is_none_or(|least| value >= least)
            && step.exactly.is_none_or(|exactly| (value - exactly).abs() < f64::EPSILON);
        if right { Ok(()) } else { Err(format!("{value}, must be {step:?}")) }
    })
    .await;
}

/// Puts a record straight into a topic.
pub async fn put(world: &World, step: &Put) {
    let payload = match &step.payload {
        Some(text) => world.fill(text).into_bytes(),
        None => vec![0xff; step.garbage],
    };
    world.server.put_record(&step.topic, &world.fill(&step.key), &payload).await;
}

/// An ack, and how long its announcement takes by the log's own times.
pub async fn told_within(world: &World, step: &ToldWithin) {
    let (uid, id, sent_at) = (world.uid(&step.user), world.conversation(&step.c), now_ms());
    let body = json!({"conversation_id": id, "messages": [{"seq": step.seq.to_string()}]});
    let _ = world.server.as_user(uid, "phone").post_until_answered("/v1/acks", &body).await.expect(202);
    let told_at = wait_until(DEADLINE, "the sender to be told", || async {
        let told = world.records("read-changed").await.into_iter().find(|record| {
            let told = record.json();
            told["kind"] == "message_read"
                && told["conversation_id"] == json!(id)
                && told["seq"] == json!(step.seq.to_string())
                && told["read"] != "0"
        });
        told.map(|record| record.appended_at_ms).ok_or("not told".to_owned())
    })
    .await;
    let took_ms = told_at.saturating_sub(sent_at);
    assert!(took_ms < step.ms, "told after {took_ms} ms, must be less than {}", step.ms);
}
