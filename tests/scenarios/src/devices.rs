//! Steps about devices that follow their user's stream: connected, or asking now and then.

use crate::DEADLINE;
use crate::answers::{same, text};
use crate::format::{Connect, Entries, Shows, Sync};
use crate::matching::Wanted;
use crate::world::World;
use readmark_test_harness::{LiveDevice, Told, wait_until};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The device of a user, unless a step says another.
const ENDPOINT: &str = "tablet";

/// Devices by user and endpoint.
#[derive(Default)]
pub struct DevicesByUser {
    known: Mutex<BTreeMap<(u64, String), Known>>,
}

struct Known {
    device: Arc<LiveDevice>,
    /// What it had been told at the last note.
    noted: usize,
}

impl DevicesByUser {
    fn of(&self, world: &World, uid: u64, endpoint: Option<&str>) -> Arc<LiveDevice> {
        let endpoint = endpoint.unwrap_or(ENDPOINT);
        let mut known = self.known.lock().unwrap();
        let new = || Known { device: Arc::new(LiveDevice::new(&world.server, uid, endpoint)), noted: 0 };
        Arc::clone(&known.entry((uid, endpoint.to_owned())).or_insert_with(new).device)
    }

    /// Remembers what each was told.
    pub fn note(&self) {
        for known in self.known.lock().unwrap().values_mut() {
            known.noted = known.device.picture().told().len();
        }
    }

    /// Fails when one was told what must never be.
    pub fn check(&self) {
        for known in self.known.lock().unwrap().values() {
            drop(known.device.picture());
        }
    }

    /// Does the scenario have any?
    pub fn is_empty(&self) -> bool {
        self.known.lock().unwrap().is_empty()
    }

    fn noted(&self, uid: u64, endpoint: Option<&str>) -> usize {
        let place = (uid, endpoint.unwrap_or(ENDPOINT).to_owned());
        self.known.lock().unwrap().get(&place).map_or(0, |known| known.noted)
    }
}

/// Connects a device of each user and waits until it follows.
pub async fn connect(world: &World, step: &Connect, round: u64) {
    let connecting = world.uids(&step.users, round).into_iter().map(|uid| async move {
        world.devices.of(world, uid, step.endpoint.as_deref()).connect().await;
    });
    futures::future::join_all(connecting).await;
}

/// Each user's device asks for what is new.
pub async fn sync(world: &World, step: &Sync, round: u64) {
    for uid in world.uids(&step.users, round) {
        let device = world.devices.of(world, uid, step.endpoint.as_deref());
        wait_until(DEADLINE, &format!("a device of user {uid} to have synced"), || device.sync()).await;
    }
}

/// What each user's device shows.
pub async fn shows(world: &World, step: &Shows, round: u64) {
    let (id, began) = (world.conversation(&step.c), Instant::now());
    for uid in world.uids(&step.users, round) {
        let device = world.devices.of(world, uid, step.endpoint.as_deref());
        wait_until(DEADLINE, &format!("a device of user {uid} to show {step:?}"), || async {
            let picture = device.picture();
            same(&picture.totals(), &[("total", text(step.total)), ("mentions", text(step.total_mentions))])?;
            let is_live = picture.token().is_some_and(|token| !token.starts_with("store."));
            if step.is_live && !is_live {
                return Err(format!("it stands at {:?}", picture.token()));
            }
            let row = picture.row(&id);
            if step.listed == Some(false) && row.is_none() {
                return Ok(());
            }
            let row = row.ok_or_else(|| format!("nothing of {id}"))?;
            let must_be = [
                ("unread", text(step.unread)),
                ("mentions", text(step.mentions)),
                ("read_seq", text(step.read)),
                ("floor_seq", text(step.floor)),
                ("head_seq", text(step.head)),
                ("marked_unread", step.marked.map(Value::Bool)),
            ];
            same(&row, &must_be)
        })
        .await;
    }
    let within = step.within_ms.map(Duration::from_millis);
    assert!(within.is_none_or(|within| began.elapsed() < within), "shown after {:?}", began.elapsed());
}

/// Counts what each user's device was told.
pub async fn entries(world: &World, step: &Entries, round: u64) {
    let wanted = Wanted::of(world, &step.fields, &step.below, &step.above);
    for uid in world.uids(&step.users, round) {
        let endpoint = step.endpoint.as_deref();
        let device = world.devices.of(world, uid, endpoint);
        let since = if step.since { world.devices.noted(uid, endpoint) } else { 0 };
        wait_until(DEADLINE, &format!("a device of user {uid} to be told {step:?}"), || async {
            let picture = device.picture();
            let found: Vec<&Told> =
                picture.told()[since..].iter().filter(|told| wanted.matches(&told.value)).collect();
            let count = found.len();
            let right = step.exactly.is_none_or(|exactly| count == exactly)
                && step.at_least.is_none_or(|least| count >= least)
                && step.at_most.is_none_or(|most| count <= most);
            let shown: Vec<_> = picture.told()[since..].iter().map(|told| told.value.to_string()).collect();
            if right { Ok(()) } else { Err(format!("{count} of {}", shown.join(", "))) }
        })
        .await;
    }
}
