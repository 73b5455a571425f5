//! The statements that make the tables.

use super::lock;
use crate::cql::config::Dialect;

/// How long what has expired may still be hidden under by a late repair, where nothing but expiry makes
/// tombstones: hints live as long.
const GRACE_OF_EXPIRED_S: u32 = 86_400;

pub(super) fn keyspace(keyspace: &str, replication_factor: u16) -> String {
    format!("CREATE KEYSPACE IF NOT EXISTS {keyspace} WITH replication = {}", replication(replication_factor))
}

/// ScyllaDB's tablets know no other strategy, and it suits one data centre as well.
fn replication(factor: u16) -> String {
    format!("{{'class': 'NetworkTopologyStrategy', 'replication_factor': {factor}}}")
}

pub(super) fn versions(keyspace: &str) -> String {
    format!(
        "CREATE TABLE IF NOT EXISTS {keyspace}.schema_versions (component text, version int, applied_at bigint, \
         PRIMARY KEY (component, version)) WITH CLUSTERING ORDER BY (version DESC)"
    )
}

pub(super) fn lock_table(keyspace: &str) -> String {
    format!("{keyspace}{}.lock", lock::SUFFIX)
}

pub(super) fn lock(keyspace: &str, replication_factor: u16, dialect: Dialect) -> [String; 2] {
    let without_tablets = match dialect {
        Dialect::Cassandra => "",
        Dialect::ScyllaDb => " AND tablets = {'enabled': false}",
    };
    [
        format!(
            "CREATE KEYSPACE IF NOT EXISTS {keyspace}{} WITH replication = {}{without_tablets}",
            lock::SUFFIX,
            replication(replication_factor)
        ),
        format!("CREATE TABLE IF NOT EXISTS {} (name text PRIMARY KEY, holder text)", lock_table(keyspace)),
    ]
}

/// LZ4 over 64 KiB: uids repeat from message to message, and the default of 16 KiB (4 KiB on ScyllaDB) sees
/// too few of them.
const fn compression_of_sets(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Cassandra => "compression = {'class': 'LZ4Compressor', 'chunk_length_in_kb': 64}",
        Dialect::ScyllaDb => {
            "compression = {'sstable_compression': 'LZ4Compressor', 'chunk_length_in_kb': 64}"
        }
    }
}

/// When what has expired may go. ScyllaDB's default for tablets waits for a repair, which nobody may run.
fn expiry(dialect: Dialect) -> String {
    let grace = format!("gc_grace_seconds = {GRACE_OF_EXPIRED_S}");
    match dialect {
        Dialect::Cassandra => grace,
        Dialect::ScyllaDb => format!("{grace} AND tombstone_gc = {{'mode': 'timeout'}}"),
    }
}

pub(super) fn version_1(keyspace: &str, dialect: Dialect) -> Vec<String> {
    let sets = compression_of_sets(dialect);
    let expiry = expiry(dialect);
    let kind = format!(
        "CREATE TYPE IF NOT EXISTS {keyspace}.message (msg_id bigint, sender_uid bigint, sent_at bigint, countable boolean)"
    );
    let tables = [
        "conversations (conversation_id text PRIMARY KEY, head bigint, imported_head bigint, closed bigint, \
         is_large boolean, policy set<frozen<tuple<bigint, bigint, tinyint>>>)"
            .to_owned(),
        "buckets (conversation_id text, bucket bigint, newest_sent_at bigint, \
         PRIMARY KEY (conversation_id, bucket))"
            .to_owned(),
        format!(
            "messages (conversation_id text, bucket bigint, seq bigint, message frozen<message>, chunks int, \
             PRIMARY KEY ((conversation_id, bucket), seq)) WITH {expiry}"
        ),
        "uncounted_blocks (conversation_id text, block bigint, PRIMARY KEY (conversation_id, block))"
            .to_owned(),
        "uncounted (conversation_id text, block bigint, seq bigint, recalled boolean, skipped boolean, \
         not_countable boolean, PRIMARY KEY ((conversation_id, block), seq))"
            .to_owned(),
        "mentions (uid bigint, conversation_id text, seq bigint, PRIMARY KEY ((uid, conversation_id), seq))"
            .to_owned(),
        "mentions_of_all (conversation_id text, seq bigint, PRIMARY KEY (conversation_id, seq))".to_owned(),
        format!(
            "read_arrays (conversation_id text, bucket bigint, seq bigint, chunk int, read_array set<bigint>, \
             PRIMARY KEY ((conversation_id, bucket), seq, chunk)) WITH {sets} AND {expiry}"
        ),
        format!(
            "members (conversation_id text, uid bigint, presence bigint, joined bigint, claimed bigint, \
             imported bigint, switches set<frozen<tuple<bigint, bigint, tinyint>>>, \
             PRIMARY KEY (conversation_id, uid)) WITH {sets}"
        ),
        "user_conversations (uid bigint, conversation_id text, presence bigint, joined bigint, read blob, \
         cleared bigint, own bigint, claimed bigint, receipted bigint, imported bigint, muted bigint, \
         marked_unread bigint, PRIMARY KEY (uid, conversation_id))"
            .to_owned(),
        "user_settings (uid bigint PRIMARY KEY, switches set<frozen<tuple<bigint, bigint, tinyint>>>)"
            .to_owned(),
    ];
    let tables = tables.into_iter().map(|table| format!("CREATE TABLE IF NOT EXISTS {keyspace}.{table}"));
    std::iter::once(kind).chain(tables).collect()
}

/// What was done about dead letters.
pub(super) fn version_2(keyspace: &str, _: Dialect) -> Vec<String> {
    vec![format!(
        "CREATE TABLE IF NOT EXISTS {keyspace}.dead_letter_state (topic_partition bigint, block bigint, \
         topic_offset bigint, resolution bigint, PRIMARY KEY ((topic_partition, block), topic_offset))"
    )]
}
