//! What is shown at rest is what follows from the facts.

use super::Life;
use crate::device::{Device, Row};
use readmark_test_harness::oracle::Oracle;
use readmark_test_harness::{metrics, wait_while_moving};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Differences shown.
const SHOWN: usize = 8;

/// Waits until nothing is left to be done and every device shows what follows from the facts; says how long that took.
pub async fn at_rest(life: &Life) -> Duration {
    let began = Instant::now();
    wait_while_moving("all records to be handled", || is_handled(life)).await;
    wait_while_moving("the devices to show what follows from the facts", || async {
        life.world.assert_no_faults();
        is_handled(life).await?;
        let oracle = life.world.oracle();
        let mut wrong: Vec<String> = life
            .phones
            .iter()
            .flat_map(|phone| {
                let of = |wrong| format!("{} of {}: {wrong}", phone.endpoint, phone.uid);
                wrong(&oracle, phone.uid, &phone.device()).into_iter().map(of).collect::<Vec<_>>()
            })
            .collect();
        for client in &life.clients {
            let (rows, totals) = client.shown();
            let of_client = shows(&oracle, client.uid, &rows, totals).into_iter();
            wrong.extend(of_client.map(|wrong| format!("client of {}: {wrong}", client.uid)));
        }
        let shown = wrong.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("\n");
        if wrong.is_empty() { Ok(()) } else { Err(format!("{} differences:\n{shown}", wrong.len())) }
    })
    .await;
    began.elapsed()
}

async fn is_handled(life: &Life) -> Result<(), String> {
    let lag = metrics::sum(&life.world.server.metrics().await, "readmark_consumer_lag", &[]);
    if lag > 0.0 { Err(format!("{lag} records are not handled")) } else { Ok(()) }
}

fn wrong(oracle: &Oracle, uid: u64, device: &Device) -> Vec<String> {
    let mut wrong = shows(oracle, uid, &device.rows, device.totals);
    for (id, seq) in oracle.sent_by(uid) {
        // Without receipts, or without being there, nobody sees them; of a recall the IM tells its devices itself.
        let is_shown = oracle.present(id).any(|present| present == uid) && !oracle.is_off(id);
        if !is_shown || oracle.is_recalled(id, seq) {
            continue;
        }
        let counts = oracle.counts(id, seq);
        match device.tallies.get(&(id.to_owned(), seq)) {
            Some(shown) if (shown.read, shown.total) == (counts.read, counts.total) => {}
            None if counts.read == 0 => {}
            shown => wrong.push(format!("{id}/{seq} shows {shown:?}, must be {counts:?}")),
        }
    }
    wrong
}

/// How a picture of a user's unread differs from what follows from the facts.
#[must_use]
pub fn shows(oracle: &Oracle, uid: u64, rows: &BTreeMap<String, Row>, totals: (u64, u64)) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut sums = (0, 0);
    for id in oracle.conversations() {
        let shown = rows.get(id);
        if !oracle.sees(id, uid) {
            let shows_nothing = |row: &Row| row.unread == 0 && row.mentions == 0 && !row.marked_unread;
            if !shown.is_none_or(shows_nothing) {
                wrong.push(format!("{id}, which it does not see, shows {shown:?}"));
            }
            continue;
        }
        let unread = oracle.unread(id, uid);
        let must_be = Row {
            head: oracle.head(id),
            read: unread.read_seq,
            floor: unread.floor_seq,
            unread: unread.unread,
            mentions: unread.mentions,
            marked_unread: unread.marked_unread,
            muted: unread.muted,
        };
        if !must_be.muted {
            sums = (sums.0 + must_be.unread, sums.1 + must_be.mentions);
        }
        if shown != Some(&must_be) {
            wrong.push(format!("{id} shows {shown:?}, must be {must_be:?}"));
        }
    }
    if totals != sums {
        wrong.push(format!("the totals are {totals:?}, must be {sums:?}"));
    }
    wrong
}
