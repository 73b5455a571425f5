//! The tables of the file, and how their rows are read and merged.

use super::codec::{Decoder, Encoder, Fault};
use readmark_embedded::redb::{ReadTransaction, WriteTransaction};
use readmark_embedded::{JobError, SealedReader, SealedTable, SealedWriter};

/// `(conversation)` → its registers.
pub(super) const CONVERSATIONS: Table = Table::new("conversations");
/// `(conversation, seq)` → a message and when it expires.
pub(super) const MESSAGES: Table = Table::new("messages");
/// `(conversation, bucket)` → newest sent_at.
pub(super) const BUCKETS: Table = Table::new("buckets");
/// `(conversation, seq)` → flags.
pub(super) const UNCOUNTED: Table = Table::new("uncounted");
/// `(uid, conversation, seq)` → nothing.
pub(super) const MENTIONS: Table = Table::new("mentions");
/// `(conversation, seq)` → nothing: everybody is mentioned.
pub(super) const MENTIONS_OF_ALL: Table = Table::new("mentions_of_all");
/// `(conversation, seq, chunk)` → when it expires, and the readers.
pub(super) const READ_ARRAYS: Table = Table::new("read_arrays");
/// `(conversation, uid)` → a member.
pub(super) const MEMBERS: Table = Table::new("members");
/// `(uid, conversation)` → a user's registers.
pub(super) const USER_CONVERSATIONS: Table = Table::new("user_conversations");
/// `(uid)` → a user's switches.
pub(super) const USER_SETTINGS: Table = Table::new("user_settings");
/// `(partition, offset)` → what was done about a dead letter.
pub(super) const DEAD_LETTER_STATE: Table = Table::new("dead_letter_state");
/// `(time, conversation, bucket)` → nothing: by then something of that bucket has expired.
pub(super) const EXPIRIES: Table = Table::new("expiries");

/// All of them, made when the store is opened: a table that was never written can't be read.
const ALL: [Table; 12] = [
    CONVERSATIONS,
    MESSAGES,
    BUCKETS,
    UNCOUNTED,
    MENTIONS,
    MENTIONS_OF_ALL,
    READ_ARRAYS,
    MEMBERS,
    USER_CONVERSATIONS,
    USER_SETTINGS,
    DEAD_LETTER_STATE,
    EXPIRIES,
];

/// Fails when a table is missing.
pub(super) fn check_all(txn: &ReadTransaction) -> Result<(), JobError> {
    for table in ALL {
        table.read(txn)?;
    }
    Ok(())
}

/// Makes every table that is missing.
pub(super) fn create_all(txn: &WriteTransaction) -> Result<(), JobError> {
    for table in ALL {
        table.write(txn)?;
    }
    Ok(())
}

/// A table with its name.
#[derive(Clone, Copy)]
pub(super) struct Table {
    name: &'static str,
    sealed: SealedTable,
}

impl Table {
    const fn new(name: &'static str) -> Self {
        Self { name, sealed: SealedTable::new(name) }
    }

    pub fn read(self, txn: &ReadTransaction) -> Result<SealedReader, JobError> {
        self.sealed.read(txn)
    }

    pub fn write<'txn>(self, txn: &'txn WriteTransaction) -> Result<SealedWriter<'txn>, JobError> {
        self.sealed.write(txn)
    }

    /// That a key or value of this table can't be decoded.
    pub fn damaged(self, key: &[u8], fault: Fault) -> JobError {
        JobError::damaged(self.name, key, fault)
    }

    /// Decodes the value of a key.
    pub fn decode<R: Row>(self, key: &[u8], value: &[u8]) -> Result<R, JobError> {
        R::from_value(value).map_err(|fault| self.damaged(key, fault))
    }

    /// What `part` finds in a key.
    pub fn part<T>(self, key: &[u8], part: impl FnOnce(&[u8]) -> Option<T>) -> Result<T, JobError> {
        part(key).ok_or_else(|| self.damaged(key, "the key can't be decoded"))
    }

    /// The row of a key in this table, open for reading.
    pub fn get<R: Row>(self, reader: &SealedReader, key: &[u8]) -> Result<Option<R>, JobError> {
        let row = reader.get_with(key, R::from_value)?;
        row.transpose().map_err(|fault| self.damaged(key, fault))
    }

    /// The row of a key in this table, open for writing.
    pub fn get_in<R: Row>(self, writer: &SealedWriter<'_>, key: &[u8]) -> Result<Option<R>, JobError> {
        let row = writer.get_with(key, R::from_value)?;
        row.transpose().map_err(|fault| self.damaged(key, fault))
    }

    /// Merges something into the row of a key, a default one when there is none; what is unchanged is not
    /// written.
    pub fn merge<R: Row + Default + Clone + PartialEq>(
        self,
        writer: &mut SealedWriter<'_>,
        key: &[u8],
        change: impl FnOnce(&mut R),
    ) -> Result<(), JobError> {
        let known: Option<R> = self.get_in(writer, key)?;
        let mut row = known.clone().unwrap_or_default();
        change(&mut row);
        if known.as_ref() == Some(&row) { Ok(()) } else { writer.put(key, &row.to_value()) }
    }
}

/// A row that has an encoding.
pub(super) trait Row: Sized {
    /// About how many bytes it takes.
    const BYTES: usize;

    fn encode(&self, out: &mut Encoder);

    /// # Errors
    /// In words.
    fn decode(input: &mut Decoder<'_>) -> Result<Self, Fault>;

    fn to_value(&self) -> Vec<u8> {
        let mut out = Encoder::with_capacity(Self::BYTES);
        self.encode(&mut out);
        out.finish()
    }

    fn from_value(value: &[u8]) -> Result<Self, Fault> {
        let mut input = Decoder::new(value)?;
        let row = Self::decode(&mut input)?;
        input.finish()?;
        Ok(row)
    }
}
