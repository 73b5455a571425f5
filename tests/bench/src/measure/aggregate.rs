//! The aggregator alone, from a prepared log: receipts a second, statements per receipt.
//!
//! `scripts/bench aggregate [--groups 20] [--members 500] [--messages 20]`
//!
//! Each member acks each message once, one record per ack, as devices send them; the records of all
//! readers and messages are mixed. The log and the store are the embedded ones, on a temporary directory.

use crate::Outcome;
use crate::arguments::{argument, say_machine};
use readmark_aggregator::{Aggregator, AggregatorMetrics};
use readmark_domain::counting::Message;
use readmark_domain::fact::{AckFact, Origin, Receipts};
use readmark_domain::id::{ConversationId, MsgId, Seq, Uid};
use readmark_domain::register::Presence;
use readmark_domain::seq_ranges::SeqRanges;
use readmark_domain::time::TimeMs;
use readmark_embedded::{Engine, EngineOptions};
use readmark_events::Topic;
use readmark_log::embedded::{EmbeddedLog, EmbeddedLogOptions};
use readmark_log::{NewRecord, TopicPartition};
use readmark_runtime::clock::{Clock, SystemClock};
use readmark_runtime::consume::consume;
use readmark_runtime::metrics::SharedMetrics;
use readmark_runtime::ports::{Ports, Rules};
use readmark_store::embedded::EmbeddedStore;
use readmark_store::{Bucket, ConversationStore, MemberChange, MemberStore, MessageStore};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Records appended in one call when preparing.
const RECORDS_PER_APPEND: usize = 4_096;
/// Pause between two looks at what is done, small beside what is measured.
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// Far more than any number of receipts that fits a disk's cache takes.
const DONE_WITHIN: Duration = Duration::from_secs(300);

struct Size {
    groups: u64,
    members: u64,
    messages: u64,
}

pub async fn run() -> Outcome<()> {
    let size = Size {
        groups: argument("--groups", 20),
        members: argument("--members", 500),
        messages: argument("--messages", 20),
    };
    say_machine("aggregator alone, embedded log and store");
    let directory = tempfile::tempdir()?;
    let clock = SystemClock::default();
    let now = move || clock.now();
    let log_options = EmbeddedLogOptions { now: Arc::new(now), ..EmbeddedLogOptions::default() };
    let log = EmbeddedLog::open(directory.path().join("log.redb"), log_options).await?;
    let engine = Engine::open(directory.path().join("store.redb"), &EngineOptions::default())?;
    let store = EmbeddedStore::open(engine.clone(), Arc::new(now)).await?;
    let ports = Ports { log: Arc::new(log.clone()), store: Arc::new(store.clone()), clock: Arc::new(clock) };
    let rules = Rules::default();
    let receipts = prepare(&size, &ports, &store).await?;

    let registry = prometheus::Registry::new();
    let metrics = AggregatorMetrics::register(&registry)?;
    let shared = SharedMetrics::register(&registry)?;
    let mut role = Aggregator::new(ports.clone(), rules.clone(), shared, metrics.clone());
    let stop = CancellationToken::new();
    let started = Instant::now();
    let (watch_ports, watch_rules, watch_stop) = (ports.clone(), rules.clone(), stop.clone());
    let watcher = tokio::spawn(async move {
        let done = at_the_end(&watch_ports, &watch_rules).await.map_err(|error| error.to_string());
        watch_stop.cancel();
        done
    });
    consume(&mut role, &ports, &rules, &stop).await?;
    watcher.await??;
    let seconds = started.elapsed().as_secs_f64();

    let written = metrics.flush_receipts_total.get();
    assert_eq!(written, receipts, "every receipt must be written exactly once");
    engine.close().await?;
    println!("receipts              {receipts}");
    println!("seconds               {seconds:.2}");
    println!("receipts/s            {:.0}", receipts as f64 / seconds);
    println!("statements/receipt    {:.4}", metrics.flush_statements_total.get() as f64 / receipts as f64);
    println!("message_read records  {}", metrics.message_read_total.get());
    log.close().await?;
    Ok(())
}

fn uid(n: u64) -> Outcome<Uid> {
    Ok(Uid::new(n)?)
}

/// Writes members and messages to the store and every ack to the log; gives the number of receipts.
async fn prepare(size: &Size, ports: &Ports, store: &EmbeddedStore) -> Outcome<u64> {
    let now = ports.clock.now();
    for group in 0..size.groups {
        let id = ConversationId::new(&format!("group-{group}"))?;
        let presence = Presence::new(now.as_order(), true);
        let changes = (1..=size.members)
            .map(|member| Ok(MemberChange { uid: uid(member)?, presence, joined: Some(Seq::ZERO) }))
            .collect::<Outcome<Vec<_>>>()?;
        store.change_members(&id, &changes).await?;
        let expires_at = now.plus_ms(90 * 86_400_000);
        let mut messages: Vec<(Message, TimeMs)> = Vec::new();
        for n in 1..=size.messages {
            let message = Message {
                conversation_id: id.clone(),
                seq: Seq::new(n)?,
                msg_id: MsgId::new(group * size.messages + n)?,
                sender_uid: uid(n % size.members + 1)?,
                sent_at: now,
                countable: true,
                chunks: 1,
            };
            messages.push((message, expires_at));
        }
        store.raise_buckets(&id, &[Bucket { bucket: 0, newest_sent_at: now }]).await?;
        store.write_messages(&messages).await?;
        store.raise_head(&id, Seq::new(size.messages)?).await?;
    }
    append_acks(size, ports, now).await
}

async fn append_acks(size: &Size, ports: &Ports, now: TimeMs) -> Outcome<u64> {
    let mut receipts = 0;
    let mut page = Vec::with_capacity(RECORDS_PER_APPEND);
    for reader in 1..=size.members {
        for n in 1..=size.messages {
            for group in 0..size.groups {
                let (sender_uid, reader_uid) = (uid(n % size.members + 1)?, uid(reader)?);
                if sender_uid == reader_uid {
                    continue;
                }
                page.push(NewRecord::of(&AckFact::Receipts(Receipts {
                    sender_uid,
                    reader_uid,
                    conversation_id: ConversationId::new(&format!("group-{group}"))?,
                    seqs: SeqRanges::from_seqs([Seq::new(n)?]),
                    endpoint: None,
                    origin: Origin::Client,
                    occurred_at: now,
                }))?);
                receipts += 1;
                if page.len() == RECORDS_PER_APPEND {
                    ports.log.append(std::mem::take(&mut page)).await?;
                }
            }
        }
    }
    ports.log.append(page).await?;
    Ok(receipts)
}

/// Waits until the aggregator has stored the end of every partition.
async fn at_the_end(ports: &Ports, rules: &Rules) -> Outcome<()> {
    let (group, started) = (rules.group(Aggregator::NAME), Instant::now());
    for partition in 0..ports.log.partitions(Topic::Acks) {
        let at = TopicPartition { topic: Topic::Acks, partition };
        let end = ports.log.end_offset(at).await?;
        loop {
            let stored = ports.log.committed(&group, at).await?.unwrap_or(0);
            if stored >= end {
                break;
            }
            if started.elapsed() > DONE_WITHIN {
                return Err(format!("{at:?}: {stored} of {end} after {DONE_WITHIN:?}").into());
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
    Ok(())
}
