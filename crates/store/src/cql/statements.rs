//! Every statement on data. Nothing is ever deleted, no set is ever assigned, and nothing here binds null: a
//! tombstone carries the wall clock and would hide every later write of a register for ever. A test reads this
//! file's texts.
//!
//! A register is written `USING TIMESTAMP ?`, its own value or order key: the replicas keep the greatest. What
//! is written without one is equal at every write (a flag, an element of a set), so that any timestamp does.

use super::error::{At, Key, kind_of_prepare};
use crate::error::StoreError;
use scylla::client::session::Session;
use scylla::statement::prepared::PreparedStatement;

/// Rows of one page: some hundreds of kilobytes of the widest rows but those with sets.
const PAGE_ROWS: i32 = 5_000;
/// Rows of one page of read arrays, which hold some kilobytes each.
const PAGE_ROWS_OF_SETS: i32 = 256;

macro_rules! statements {
    ($($name:ident: $text:literal,)+) => {
        /// The statements, prepared.
        pub(super) struct Statements {
            $(pub $name: PreparedStatement,)+
        }

        /// Their names and texts; `{keyspace}` stands for the keyspace.
        #[cfg(test)]
        pub(super) const TEXTS: &[(&str, &str)] = &[$((stringify!($name), $text),)+];

        impl Statements {
            /// Prepares all of them.
            pub async fn prepare(session: &Session, keyspace: &str) -> Result<Self, StoreError> {
                Ok(Self { $($name: prepare(session, keyspace, stringify!($name), $text).await?,)+ })
            }
        }
    };
}

statements! {
    read_conversation: "SELECT head, imported_head, policy, closed, is_large FROM {keyspace}.conversations WHERE conversation_id = ?",
    raise_head: "UPDATE {keyspace}.conversations USING TIMESTAMP ? SET head = ? WHERE conversation_id = ?",
    raise_imported_head: "UPDATE {keyspace}.conversations USING TIMESTAMP ? SET imported_head = ? WHERE conversation_id = ?",
    raise_closed: "UPDATE {keyspace}.conversations USING TIMESTAMP ? SET closed = ? WHERE conversation_id = ?",
    add_policy: "UPDATE {keyspace}.conversations SET policy = policy + ? WHERE conversation_id = ?",
    set_large: "UPDATE {keyspace}.conversations SET is_large = true WHERE conversation_id = ?",

    raise_bucket: "UPDATE {keyspace}.buckets USING TIMESTAMP ? SET newest_sent_at = ? WHERE conversation_id = ? AND bucket = ?",
    read_buckets: "SELECT bucket, newest_sent_at FROM {keyspace}.buckets WHERE conversation_id = ? AND bucket >= ? AND bucket <= ? LIMIT ?",
    read_newest_buckets: "SELECT bucket, newest_sent_at FROM {keyspace}.buckets WHERE conversation_id = ? ORDER BY bucket DESC LIMIT ?",

    read_messages: "SELECT seq, message, chunks FROM {keyspace}.messages WHERE conversation_id = ? AND bucket = ? AND seq >= ? AND seq <= ?",
    write_message: "UPDATE {keyspace}.messages USING TTL ? AND TIMESTAMP ? SET message = ? WHERE conversation_id = ? AND bucket = ? AND seq = ?",
    raise_chunks: "UPDATE {keyspace}.messages USING TTL ? AND TIMESTAMP ? SET chunks = ? WHERE conversation_id = ? AND bucket = ? AND seq = ?",

    add_uncounted_block: "INSERT INTO {keyspace}.uncounted_blocks (conversation_id, block) VALUES (?, ?)",
    read_uncounted_blocks: "SELECT block FROM {keyspace}.uncounted_blocks WHERE conversation_id = ? AND block >= ? AND block <= ?",
    set_recalled: "UPDATE {keyspace}.uncounted SET recalled = true WHERE conversation_id = ? AND block = ? AND seq = ?",
    set_skipped: "UPDATE {keyspace}.uncounted SET skipped = true WHERE conversation_id = ? AND block = ? AND seq = ?",
    set_not_countable: "UPDATE {keyspace}.uncounted SET not_countable = true WHERE conversation_id = ? AND block = ? AND seq = ?",
    read_uncounted: "SELECT seq, recalled, skipped, not_countable FROM {keyspace}.uncounted WHERE conversation_id = ? AND block = ? AND seq >= ? AND seq <= ? LIMIT ?",

    add_mention: "INSERT INTO {keyspace}.mentions (uid, conversation_id, seq) VALUES (?, ?, ?)",
    read_mentions: "SELECT seq FROM {keyspace}.mentions WHERE uid = ? AND conversation_id = ? AND seq >= ? AND seq <= ? LIMIT ?",
    add_mention_of_all: "INSERT INTO {keyspace}.mentions_of_all (conversation_id, seq) VALUES (?, ?)",
    read_mentions_of_all: "SELECT seq FROM {keyspace}.mentions_of_all WHERE conversation_id = ? AND seq >= ? AND seq <= ? LIMIT ?",

    add_readers: "UPDATE {keyspace}.read_arrays USING TTL ? SET read_array = read_array + ? WHERE conversation_id = ? AND bucket = ? AND seq = ? AND chunk = ?",
    read_read_arrays: "SELECT seq, read_array FROM {keyspace}.read_arrays WHERE conversation_id = ? AND bucket = ? AND seq IN ?",

    read_members: "SELECT uid, presence, joined, claimed, imported, switches FROM {keyspace}.members WHERE conversation_id = ?",
    read_members_of: "SELECT uid, presence, joined, claimed, imported, switches FROM {keyspace}.members WHERE conversation_id = ? AND uid IN ?",
    raise_member_presence: "UPDATE {keyspace}.members USING TIMESTAMP ? SET presence = ? WHERE conversation_id = ? AND uid = ?",
    raise_member_joined: "UPDATE {keyspace}.members USING TIMESTAMP ? SET joined = ? WHERE conversation_id = ? AND uid = ?",
    raise_member_claimed: "UPDATE {keyspace}.members USING TIMESTAMP ? SET claimed = ? WHERE conversation_id = ? AND uid = ?",
    raise_member_imported: "UPDATE {keyspace}.members USING TIMESTAMP ? SET imported = ? WHERE conversation_id = ? AND uid = ?",
    add_member_switches: "UPDATE {keyspace}.members SET switches = switches + ? WHERE conversation_id = ? AND uid = ?",

    read_user_conversation: "SELECT conversation_id, presence, joined, read, cleared, own, claimed, receipted, imported, muted, marked_unread FROM {keyspace}.user_conversations WHERE uid = ? AND conversation_id = ?",
    read_user_conversations: "SELECT conversation_id, presence, joined, read, cleared, own, claimed, receipted, imported, muted, marked_unread FROM {keyspace}.user_conversations WHERE uid = ? AND conversation_id > ? LIMIT ?",
    raise_presence: "UPDATE {keyspace}.user_conversations USING TIMESTAMP ? SET presence = ? WHERE uid = ? AND conversation_id = ?",
    raise_joined: "UPDATE {keyspace}.user_conversations USING TIMESTAMP ? SET joined = ? WHERE uid = ? AND conversation_id = ?",
    raise_read: "UPDATE {keyspace}.user_conversations USING TIMESTAMP ? SET read = ? WHERE uid = ? AND conversation_id = ?",
    raise_cleared: "UPDATE {keyspace}.user_conversations USING TIMESTAMP ? SET cleared = ? WHERE uid = ? AND conversation_id = ?",
    raise_own: "UPDATE {keyspace}.user_conversations USING TIMESTAMP ? SET own = ? WHERE uid = ? AND conversation_id = ?",
    raise_claimed: "UPDATE {keyspace}.user_conversations USING TIMESTAMP ? SET claimed = ? WHERE uid = ? AND conversation_id = ?",
    raise_receipted: "UPDATE {keyspace}.user_conversations USING TIMESTAMP ? SET receipted = ? WHERE uid = ? AND conversation_id = ?",
    raise_imported: "UPDATE {keyspace}.user_conversations USING TIMESTAMP ? SET imported = ? WHERE uid = ? AND conversation_id = ?",
    raise_muted: "UPDATE {keyspace}.user_conversations USING TIMESTAMP ? SET muted = ? WHERE uid = ? AND conversation_id = ?",
    raise_marked_unread: "UPDATE {keyspace}.user_conversations USING TIMESTAMP ? SET marked_unread = ? WHERE uid = ? AND conversation_id = ?",

    read_user_settings: "SELECT switches FROM {keyspace}.user_settings WHERE uid = ?",
    add_user_switch: "UPDATE {keyspace}.user_settings SET switches = switches + ? WHERE uid = ?",

    raise_resolution: "UPDATE {keyspace}.dead_letter_state USING TIMESTAMP ? SET resolution = ? WHERE topic_partition = ? AND block = ? AND topic_offset = ?",
    read_resolutions: "SELECT topic_offset, resolution FROM {keyspace}.dead_letter_state WHERE topic_partition = ? AND block = ? AND topic_offset >= ? AND topic_offset <= ? LIMIT ?",

    probe: "SELECT version FROM {keyspace}.schema_versions WHERE component = ? LIMIT 1",
}

async fn prepare(
    session: &Session,
    keyspace: &str,
    name: &'static str,
    text: &str,
) -> Result<PreparedStatement, StoreError> {
    let at = At::new("prepare a statement", name, Key::Keyspace(keyspace));
    let text = text.replace("{keyspace}", keyspace);
    let mut statement =
        session.prepare(text).await.map_err(|error| at.error(kind_of_prepare(&error), error))?;
    statement.set_is_idempotent(true);
    let is_of_sets = name == "read_read_arrays";
    statement.set_page_size(if is_of_sets { PAGE_ROWS_OF_SETS } else { PAGE_ROWS });
    Ok(statement)
}

#[cfg(test)]
mod tests {
    use super::TEXTS;

    fn of_kind(prefix: &str) -> Vec<&'static (&'static str, &'static str)> {
        TEXTS.iter().filter(|(_, text)| text.starts_with(prefix)).collect()
    }

    #[test]
    fn no_statement_leaves_a_tombstone() {
        for (name, text) in TEXTS {
            let upper = text.to_uppercase();
            for word in ["DELETE", "NULL", "TRUNCATE", "BATCH", " IF ", "{}", "[]", " - ?"] {
                assert!(!upper.contains(word), "{name} has {word}: {text}");
            }
            assert!(text.contains("{keyspace}."), "{name} does not name the keyspace: {text}");
        }
        assert_eq!(
            of_kind("SELECT").len() + of_kind("UPDATE").len() + of_kind("INSERT").len(),
            TEXTS.len(),
            "statements of other kinds"
        );
    }

    #[test]
    fn sets_are_only_added_to() {
        for column in ["read_array", "policy", "switches"] {
            let writes: Vec<_> =
                of_kind("UPDATE").into_iter().filter(|(_, text)| text.contains(column)).collect();
            assert!(!writes.is_empty(), "nothing writes {column}");
            for (name, text) in writes {
                let is_assigned = text.contains(&format!("SET {column} = "));
                let is_added = text.contains(&format!("SET {column} = {column} + ?"));
                assert!(!is_assigned || is_added, "{name} assigns {column}: {text}");
            }
        }
    }

    /// Every bound register has its order key as timestamp, and one cell to a statement.
    #[test]
    fn registers_carry_their_timestamp() {
        for (name, text) in of_kind("UPDATE") {
            let is_register = text.contains(" = ? WHERE");
            assert_eq!(is_register, text.contains("TIMESTAMP ?"), "{name}: {text}");
            assert_eq!(text.matches(" SET ").count(), 1, "{name}: {text}");
            let (_, set) = text.split_once(" SET ").unwrap();
            assert!(!set.split_once(" WHERE ").unwrap().0.contains(','), "{name} writes two cells: {text}");
        }
        for (name, text) in of_kind("INSERT") {
            let (_, columns) = text.split_once('(').unwrap();
            let (columns, values) = columns.split_once(") VALUES ").unwrap();
            assert_eq!(columns.split(',').count(), values.matches('?').count(), "{name}: {text}");
            assert!(
                columns.split(", ").all(|c| ["uid", "conversation_id", "seq", "block"].contains(&c)),
                "{name} writes more than a key: {text}"
            );
        }
    }

    #[test]
    fn only_messages_and_readers_expire() {
        let expiring: Vec<_> =
            TEXTS.iter().filter(|(_, text)| text.contains("TTL")).map(|(name, _)| *name).collect();
        assert_eq!(expiring, ["write_message", "raise_chunks", "add_readers"]);
    }
}
