//! The aggregator role alone, from a prepared Kafka topic into Cassandra: in one process and in two.
//!
//! `scripts/bench aggregate-full [--groups 20] [--members 500] [--messages 30]`
//!
//! Each member acks each message once, one record per ack, as the gateway makes them; the records of all readers and
//! messages are mixed. The topic is filled while no aggregator runs; the time is that from the start of the processes
//! until their group has no lag. Kafka, Cassandra and this program share the machine.

use crate::Outcome;
use crate::arguments::{argument, say_machine};
use crate::group::{Group, tell};
use crate::process::cpu_seconds;
use crate::profile::Profile;
use futures::future::join_all;
use readmark_domain::fact::{AckFact, Origin, Receipts};
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::seq_ranges::SeqRanges;
use readmark_domain::time::TimeMs;
use readmark_events::{Topic, header_name};
use readmark_log::{EventLog, NewRecord, TopicPartition};
use readmark_test_harness::{Options, Part, Process, Server, metrics, now_ms, wait_until};
use scylla::client::session_builder::SessionBuilder;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Records appended in one call when preparing.
const RECORDS_PER_APPEND: usize = 4_096;
/// Far more than the work takes on a slow machine.
const DONE_WITHIN: Duration = Duration::from_secs(300);
/// The size on disk has not changed for so long: what was in memory is written.
const UNCHANGED_FOR: Duration = Duration::from_secs(2);
/// Entries of the profile that are shown.
const HOTTEST: usize = 3;

struct Size {
    groups: u64,
    members: u64,
    messages: u64,
}

/// What one run has shown.
struct Figures {
    receipts: u64,
    /// From the start of the processes to lag 0.
    seconds: f64,
    /// Receipts a second from when all processes were ready.
    ready_rate: f64,
    statements: f64,
    aggregator_cpu_s: f64,
    kafka_cpu_s: f64,
    cassandra_cpu_s: f64,
    bytes: u64,
    hottest: Vec<String>,
}

pub async fn run() -> Outcome<()> {
    let size = Size {
        groups: argument("--groups", 20),
        members: argument("--members", 500),
        messages: argument("--messages", 30),
    };
    say_machine("aggregator alone, Kafka to Cassandra");
    let (one, two) = (aggregate(&size, 1).await?, aggregate(&size, 2).await?);
    let row = |name: &str, figure: fn(&Figures) -> String| {
        println!("{name:<44}{:>14}{:>14}", figure(&one), figure(&two));
    };
    println!("{:<44}{:>14}{:>14}", "", "one process", "two processes");
    row("receipts", |f| f.receipts.to_string());
    row("seconds from start to lag 0", |f| format!("{:.2}", f.seconds));
    row("receipts/s from start to lag 0", |f| format!("{:.0}", f.receipts as f64 / f.seconds));
    row("receipts/s from ready to lag 0", |f| format!("{:.0}", f.ready_rate));
    row("statements per receipt", |f| format!("{:.4}", f.statements / f.receipts as f64));
    row("aggregator, CPU s per 1,000 receipts", |f| per_1_000(f.aggregator_cpu_s, f));
    row("Kafka, CPU s per 1,000 receipts", |f| per_1_000(f.kafka_cpu_s, f));
    row("Cassandra, CPU s per 1,000 receipts", |f| per_1_000(f.cassandra_cpu_s, f));
    row("bytes per receipt on disk", |f| format!("{:.2}", f.bytes as f64 / f.receipts as f64));
    println!("the process spends its time in:");
    match one.hottest.as_slice() {
        [] => println!("  not known: there is no perf on this machine, or it may not look"),
        hottest => hottest.iter().for_each(|line| println!("  {line}")),
    }
    Ok(())
}

fn per_1_000(cpu_s: f64, figures: &Figures) -> String {
    format!("{:.4}", cpu_s * 1_000.0 / figures.receipts as f64)
}

async fn aggregate(size: &Size, processes: usize) -> Outcome<Figures> {
    let server = Server::start(Options::full().processes(&["gateway,query,catalog"])).await;
    let receipts = prepare(&server, size).await?;
    // No other role works beside those that are measured.
    server.terminate().await;

    let services = server.services();
    let [kafka, cassandra] = [Part::Kafka, Part::Cassandra].map(|part| services.pid(part));
    let aggregators: Vec<Process> = (0..processes).map(|_| server.add("aggregator")).collect();
    let (kafka_before, cassandra_before) = (cpu_seconds(kafka), cpu_seconds(cassandra));
    let began = Instant::now();
    join_all(aggregators.iter().map(Process::restart)).await;
    let (ready, ready_flushed) = (Instant::now(), counter(&server, "readmark_flush_receipts_total").await);
    let pids: Vec<u32> = aggregators.iter().filter_map(Process::pid).collect();
    let profile = pids.first().and_then(|pid| Profile::begin(*pid));
    no_lag(&server).await?;
    let (seconds, ready_s) = (began.elapsed().as_secs_f64(), ready.elapsed().as_secs_f64());

    let hottest = profile.map(|profile| profile.end(HOTTEST)).unwrap_or_default();
    let flushed = counter(&server, "readmark_flush_receipts_total").await;
    assert!(flushed >= receipts as f64, "{flushed} of {receipts} receipts were written");
    let mut figures = Figures {
        receipts,
        seconds,
        ready_rate: (flushed - ready_flushed) / ready_s,
        statements: counter(&server, "readmark_flush_statements_total").await,
        aggregator_cpu_s: pids.iter().map(|pid| cpu_seconds(*pid)).sum(),
        kafka_cpu_s: cpu_seconds(kafka) - kafka_before,
        cassandra_cpu_s: cpu_seconds(cassandra) - cassandra_before,
        bytes: 0,
        hottest,
    };
    join_all(aggregators.iter().map(Process::terminate)).await;
    figures.bytes = bytes_on_disk(&server).await?;
    Ok(figures)
}

async fn counter(server: &Server, name: &str) -> f64 {
    metrics::sum(&server.metrics().await, name, &[])
}

fn sender(size: &Size, seq: u64) -> u64 {
    seq % size.members + 1
}

/// Makes members and messages by way of the catalog, and every ack; gives the number of receipts.
async fn prepare(server: &Server, size: &Size) -> Outcome<u64> {
    let groups: Vec<Group> =
        (0..size.groups).map(|n| Group { id: format!("group-{n}"), members: size.members }).collect();
    tell(server, groups.iter().flat_map(Group::joins).collect()).await;
    let sends =
        |group: &Group| (1..=size.messages).map(|seq| group.send(seq, sender(size, seq))).collect::<Vec<_>>();
    tell(server, groups.iter().flat_map(sends).collect()).await;
    for group in &groups {
        group.wait_for(server, size.messages).await;
    }
    let log = server.log().await;
    let (mut receipts, mut page) = (0, Vec::with_capacity(RECORDS_PER_APPEND));
    for reader in 1..=size.members {
        for seq in (1..=size.messages).filter(|seq| sender(size, *seq) != reader) {
            for group in &groups {
                page.push(receipt(&group.id, seq, sender(size, seq), reader)?);
                receipts += 1;
                if page.len() == RECORDS_PER_APPEND {
                    log.append(std::mem::take(&mut page)).await?;
                }
            }
        }
    }
    log.append(page).await?;
    Ok(receipts)
}

/// As the gateway makes it of a call that names one message.
fn receipt(conversation_id: &str, seq: u64, sender: u64, reader: u64) -> Outcome<NewRecord> {
    let now = TimeMs::new(now_ms())?;
    let fact = AckFact::Receipts(Receipts {
        sender_uid: Uid::new(sender)?,
        reader_uid: Uid::new(reader)?,
        conversation_id: ConversationId::new(conversation_id)?,
        seqs: SeqRanges::from_seqs([Seq::new(seq)?]),
        endpoint: Some("phone".parse()?),
        origin: Origin::Client,
        occurred_at: now,
    });
    Ok(NewRecord::of(&fact)?.with_header(header_name::ACCEPTED_AT_MS, now))
}

/// Waits until the aggregators have stored the end of every partition.
async fn no_lag(server: &Server) -> Outcome<()> {
    let log = server.log().await;
    let group = readmark_log::Group(format!("{}.aggregator", server.name()));
    let partitions: Vec<TopicPartition> = (0..log.partitions(Topic::Acks))
        .map(|partition| TopicPartition { topic: Topic::Acks, partition })
        .collect();
    let ends: Vec<u64> = log.bounds(&partitions).await?.into_iter().map(|(_, end)| end).collect();
    wait_until(DONE_WITHIN, "the aggregators to have no lag", || async {
        let stored = log.committed_all(&group, &partitions).await.map_err(|e| e.to_string())?;
        let done = stored.iter().zip(&ends).all(|(stored, end)| stored.unwrap_or(0) >= *end);
        if done { Ok(()) } else { Err(format!("{stored:?} of {ends:?}")) }
    })
    .await;
    Ok(())
}

/// Bytes of all files of the table of read arrays, when what was in memory is written and in one file.
async fn bytes_on_disk(server: &Server) -> Outcome<u64> {
    let contact = server.services().address(Part::Cassandra);
    let session = SessionBuilder::new().known_node(contact).fetch_schema_metadata(false).build().await?;
    // As `nodetool flush` and `nodetool compact`, which need JMX.
    let settings = "memtable_flush_period_in_ms = 100 AND \
                    compaction = {'class': 'SizeTieredCompactionStrategy', 'min_threshold': 2}";
    let flush = format!("ALTER TABLE {}.read_arrays WITH {settings}", server.name());
    session.query_unpaged(flush, ()).await?;
    let keyspace = server.services().dir().join("cassandra/data/data").join(server.name());
    let (mut last, mut since) = ((0, 0), Instant::now());
    wait_until(DONE_WITHIN, "the read arrays to be in one file", || {
        let now = table(&keyspace).map_or((0, 0), |table| files(&table));
        if now != last {
            (last, since) = (now, Instant::now());
        }
        let is_done = now.0 == 1 && since.elapsed() >= UNCHANGED_FOR;
        let seen = format!("{} tables of {} bytes in {}", now.0, now.1, keyspace.display());
        async move { if is_done { Ok(()) } else { Err(seen) } }
    })
    .await;
    Ok(last.1)
}

fn table(keyspace: &Path) -> Option<PathBuf> {
    let tables = std::fs::read_dir(keyspace).ok()?;
    let is_it =
        |path: &PathBuf| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("read_arrays-"));
    tables.filter_map(Result::ok).map(|entry| entry.path()).find(is_it)
}

/// How many sorted tables lie in a directory, and the bytes of all its files.
fn files(directory: &Path) -> (usize, u64) {
    let entries = std::fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    let (mut tables, mut bytes) = (0, 0);
    for entry in entries {
        tables += usize::from(entry.file_name().to_string_lossy().ends_with("-Data.db"));
        bytes += entry.metadata().map_or(0, |file| if file.is_file() { file.len() } else { 0 });
    }
    (tables, bytes)
}
