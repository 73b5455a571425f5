//! Values with a checksum of our own: the engine does not verify its pages on plain reads, so that a flipped
//! bit on disk would come back as a wrong value.

use crate::error::JobError;
use redb::{ReadOnlyTable, ReadTransaction, ReadableTable, Table, TableDefinition, WriteTransaction};
use std::ops::RangeBounds;

/// Bytes of the checksum before each value.
const CHECKSUM_BYTES: usize = 4;

/// A table of byte strings whose values carry a CRC-32 over key and value.
#[derive(Debug, Clone, Copy)]
pub struct SealedTable {
    name: &'static str,
}

/// A sealed table within a read transaction.
pub type SealedReader = Sealed<ReadOnlyTable<&'static [u8], &'static [u8]>>;

/// A sealed table within a write transaction.
pub type SealedWriter<'txn> = Sealed<Table<'txn, &'static [u8], &'static [u8]>>;

impl SealedTable {
    /// The table of that name.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self { name }
    }

    const fn definition(&self) -> TableDefinition<'static, &'static [u8], &'static [u8]> {
        TableDefinition::new(self.name)
    }

    /// Opens it for reading.
    ///
    /// # Errors
    /// When the engine fails, or nothing has created the table by [`SealedTable::write`] before.
    pub fn read(&self, txn: &ReadTransaction) -> Result<SealedReader, JobError> {
        Ok(Sealed { name: self.name, table: txn.open_table(self.definition())? })
    }

    /// Opens it for writing and creates it when it is missing. Once at a time per transaction.
    ///
    /// # Errors
    /// When the engine fails.
    pub fn write<'txn>(&self, txn: &'txn WriteTransaction) -> Result<SealedWriter<'txn>, JobError> {
        Ok(Sealed { name: self.name, table: txn.open_table(self.definition())? })
    }
}

/// A sealed table that is open.
pub struct Sealed<T> {
    name: &'static str,
    table: T,
}

impl<T> std::fmt::Debug for Sealed<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sealed").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A key and its value.
type Pair = (Vec<u8>, Vec<u8>);

impl<T: ReadableTable<&'static [u8], &'static [u8]>> Sealed<T> {
    /// The table's name, for errors.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The value of a key.
    ///
    /// # Errors
    /// [`JobError::Damaged`] when the checksum does not agree.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, JobError> {
        self.get_with(key, <[u8]>::to_vec)
    }

    /// What `view` makes of the value of a key, without a copy.
    ///
    /// # Errors
    /// As [`Sealed::get`].
    pub fn get_with<R>(&self, key: &[u8], view: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, JobError> {
        let Some(guard) = self.table.get(key)? else { return Ok(None) };
        Ok(Some(view(unseal(self.name, key, guard.value())?)))
    }

    /// Pairs of a range, ascending by key; from either end.
    ///
    /// # Errors
    /// When the engine fails; each pair as [`Sealed::get`].
    pub fn range<'a>(
        &self,
        range: impl RangeBounds<&'a [u8]> + 'a,
    ) -> Result<impl DoubleEndedIterator<Item = Result<Pair, JobError>>, JobError> {
        let name = self.name;
        Ok(self.table.range::<&[u8]>(range)?.map(move |pair| {
            let (key, value) = pair?;
            let bytes = unseal(name, key.value(), value.value())?.to_vec();
            Ok((key.value().to_vec(), bytes))
        }))
    }

    /// Keys of a range, ascending; from either end. Values are not looked at, so a damaged one is no obstacle.
    ///
    /// # Errors
    /// When the engine fails.
    pub fn keys<'a>(
        &self,
        range: impl RangeBounds<&'a [u8]> + 'a,
    ) -> Result<impl DoubleEndedIterator<Item = Result<Vec<u8>, JobError>>, JobError> {
        Ok(self.table.range::<&[u8]>(range)?.map(|pair| Ok(pair?.0.value().to_vec())))
    }
}

impl Sealed<Table<'_, &'static [u8], &'static [u8]>> {
    /// Puts a value in place of the old one.
    ///
    /// # Errors
    /// When the engine fails.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), JobError> {
        let mut place = self.table.insert_reserve(key, CHECKSUM_BYTES + value.len())?;
        let (sum, body) = place.as_mut().split_at_mut(CHECKSUM_BYTES);
        sum.copy_from_slice(&checksum(key, value));
        body.copy_from_slice(value);
        Ok(())
    }

    /// Removes a key; was it there?
    ///
    /// # Errors
    /// When the engine fails.
    pub fn remove(&mut self, key: &[u8]) -> Result<bool, JobError> {
        Ok(self.table.remove(key)?.is_some())
    }
}

fn checksum(key: &[u8], value: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let mut hasher = crc32fast::Hasher::new();
    // The length first: bytes that move between key and value must not go unseen.
    hasher.update(&(key.len() as u64).to_le_bytes());
    hasher.update(key);
    hasher.update(value);
    hasher.finalize().to_le_bytes()
}

fn unseal<'v>(table: &'static str, key: &[u8], sealed: &'v [u8]) -> Result<&'v [u8], JobError> {
    match sealed.split_at_checked(CHECKSUM_BYTES) {
        Some((sum, value)) if sum == checksum(key, value) => Ok(value),
        Some(_) => Err(JobError::damaged(table, key, "the value does not agree with its checksum")),
        None => Err(JobError::damaged(table, key, "the value is shorter than its checksum")),
    }
}
