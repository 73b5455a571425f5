//! Writes receipts to a CQL server as an aggregator's flushes do, and says what it took. How many bytes they take
//! is the server's to say, after `nodetool flush` and `nodetool compact` of the keyspace it names.
//!
//! ```text
//! eval "$(scripts/services env)"
//! cargo run -p readmark-store --features cql --example cql_load -- [messages] [members] [readers per flush]
//! ```

use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::read_array::chunks_for;
use readmark_domain::time::TimeMs;
use readmark_store::cql::{CqlConfig, CqlStore, Schema};
use readmark_store::{ReadArrayAdd, ReadArrayStore};
use std::error::Error;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Messages of one flush: a sender's newest ones.
const MESSAGES_PER_FLUSH: u64 = 20;
const DAYS_90_MS: u64 = 90 * 86_400_000;

fn now() -> TimeMs {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    TimeMs::saturating(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let mut next = |default: u64| arguments.next().transpose().map(|n| n.unwrap_or(default));
    let (messages, members, per_flush) = (next(2_000)?, next(500)?, next(50)?.max(1));
    let points = std::env::var("READMARK_STORE__CONTACT_POINTS")?;
    let config = CqlConfig {
        contact_points: points.split(',').map(str::to_owned).collect(),
        keyspace: format!("readmark_load_{}", now().get() / 1_000),
        replication_factor: 1,
        ..CqlConfig::default()
    };
    Schema::connect(config.clone()).await?.migrate(now()).await?;
    let store = CqlStore::open(&config, Arc::new(now)).await?;
    let id = ConversationId::new("load")?;
    let began = Instant::now();
    let before = store.requests_total();
    for first in (1..=messages).step_by(usize::try_from(MESSAGES_PER_FLUSH)?) {
        let seqs = first..(first + MESSAGES_PER_FLUSH).min(messages + 1);
        for reader in (1..=members).step_by(usize::try_from(per_flush)?) {
            let readers = reader..(reader + per_flush).min(members + 1);
            let readers: Vec<Uid> =
                readers.map(|n| Uid::new(1_000_000 + n * 7_919)).collect::<Result<_, _>>()?;
            let adds = seqs.clone().map(|n| {
                Ok(ReadArrayAdd {
                    conversation_id: id.clone(),
                    seq: Seq::new(n)?,
                    chunks: chunks_for(members),
                    message_expires_at: now().plus_ms(DAYS_90_MS),
                    readers: readers.clone(),
                })
            });
            store.add_readers(&adds.collect::<Result<Vec<_>, Box<dyn Error>>>()?).await?;
        }
    }
    let (receipts, seconds) = (messages * members, began.elapsed().as_secs_f64());
    let requests = store.requests_total() - before;
    println!(
        "keyspace {}: {receipts} receipts in {requests} requests, {:.5} each, {seconds:.1} s",
        config.keyspace,
        f64::from(u32::try_from(requests)?) / f64::from(u32::try_from(receipts)?)
    );
    Ok(())
}
