//! What is shown at rest is what follows from the facts.

use super::Life;
use crate::device::{Device, Place, Row};
use crate::phone::Phone;
use readmark_test_harness::oracle::Oracle;
use readmark_test_harness::{metrics, wait_while_moving};
use serde_json::json;
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
        let wrong = all_wrong(life);
        if wrong.is_empty() {
            return Ok(());
        }
        let shown = wrong.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("\n");
        let answered = wrong_answer(life).await;
        Err(format!("{} differences:\n{shown}{answered}", wrong.len()))
    })
    .await;
    began.elapsed()
}

/// What devices and clients show wrong.
fn all_wrong(life: &Life) -> Vec<String> {
    let oracle = life.world.oracle();
    let mut all: Vec<String> = life
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
        all.extend(of_client.map(|wrong| format!("client of {}: {wrong}", client.uid)));
    }
    all
}

/// What the server answers about the first message whose tally a device shows wrong.
async fn wrong_answer(life: &Life) -> String {
    let wrong = |phone: &Phone| {
        let (place, _) = wrong_tallies(&life.world.oracle(), phone.uid, &phone.device()).next()?;
        Some((place, life.world.server.as_user(phone.uid, &phone.endpoint)))
    };
    let Some(((id, seq), sender)) = life.phones.iter().find_map(wrong) else { return String::new() };
    let body = json!({"messages": [{"conversation_id": id, "seq": seq.to_string()}]});
    match sender.try_send("POST", "/v1/receipts/query", &body).await {
        Ok(answer) => format!("\nits sender is answered {answer}"),
        Err(error) => format!("\nits sender is not answered: {error}"),
    }
}

async fn is_handled(life: &Life) -> Result<(), String> {
    let lag = metrics::sum(&life.world.server.metrics().await, "readmark_consumer_lag", &[]);
    if lag > 0.0 { Err(format!("{lag} records are not handled")) } else { Ok(()) }
}

fn wrong(oracle: &Oracle, uid: u64, device: &Device) -> Vec<String> {
    let mut wrong = shows(oracle, uid, &device.rows, device.totals);
    wrong.extend(wrong_tallies(oracle, uid, device).map(|(_, what)| what));
    wrong
}

/// Messages of which another tally is shown than follows from the facts, and what.
fn wrong_tallies(oracle: &Oracle, uid: u64, device: &Device) -> impl Iterator<Item = (Place, String)> {
    // Without receipts, or without being there, nobody sees them; of a recall the IM tells its devices itself.
    let is_shown = move |id: &str| oracle.present(id).any(|present| present == uid) && !oracle.is_off(id);
    let shown = oracle.sent_by(uid).filter(move |(id, seq)| is_shown(id) && !oracle.is_recalled(id, *seq));
    shown.filter_map(move |(id, seq)| {
        let place = (id.to_owned(), seq);
        let counts = oracle.counts(id, seq);
        match device.tallies.get(&place) {
            Some(shown) if (shown.read, shown.total) == (counts.read, counts.total) => None,
            None if counts.read == 0 => None,
            shown => {
                let what = format!("{id}/{seq} shows {shown:?}, must be {counts:?}");
                Some((place, what))
            }
        }
    })
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
