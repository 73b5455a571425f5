//! What is left to do of a parked record.

use readmark_domain::fact::Receipts;
use readmark_log::Record;

/// A record of which some messages are not there yet.
#[derive(Debug)]
pub(crate) struct ParkedReceipts {
    /// The record, for the dead letters.
    pub record: Record,
    /// The fact, with only those seqs that are not there yet.
    pub rest: Receipts,
}
