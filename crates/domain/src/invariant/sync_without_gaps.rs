use super::{Checked, Invariant};

/// RR-9.
pub(super) const RR_9: Invariant = Invariant {
    id: "RR-9",
    sentence: "a user's sync versions have no gaps; a client too far behind, or of another epoch, gets a snapshot",
};

/// What a client got.
#[derive(Debug, Clone, Copy)]
pub enum Served<'a> {
    /// Entries of these versions.
    Entries(&'a [u64]),
    /// A snapshot.
    Snapshot,
}

/// An answer of sync to a client's token.
#[derive(Debug, Clone, Copy)]
pub struct SyncWithoutGaps<'a> {
    /// Is the token of the epoch of the stream?
    pub same_epoch: bool,
    /// The version in the token.
    pub since: u64,
    /// The oldest version still kept; one above the newest when none is.
    pub oldest_kept: u64,
    /// What it got.
    pub served: Served<'a>,
}

impl SyncWithoutGaps<'_> {
    /// Entries go on right after the token, one by one; who can't be served so gets a snapshot.
    ///
    /// # Errors
    /// A violation of RR-9.
    pub fn check(&self) -> Checked {
        let held = match self.served {
            Served::Snapshot => true,
            Served::Entries(versions) => {
                let follows = self.same_epoch && self.since.saturating_add(1) >= self.oldest_kept;
                follows
                    && versions
                        .iter()
                        .zip(1..)
                        .all(|(version, nth)| version.checked_sub(self.since) == Some(nth))
            }
        };
        RR_9.require(held, || format!("{self:?}"))
    }
}
