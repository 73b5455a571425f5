use super::{Message, MessageFlags, Roster};
use crate::id::Uid;
use crate::read_array::ReadArray;
use crate::register::ReceiptsMode;
use std::fmt;

/// Orders the tallies of one message: first by stamp, which every change of roster or switches raises,
/// then by `read`, which at an equal stamp only rises (RR-8).
///
/// As text it is 32 hexadecimal digits, 24 of the stamp and 8 of `read`, and compares as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TallyVersion {
    stamp: u128,
    read: u32,
}

/// Stamps have 96 bits: 10^15 times 7 × 10^13 changes.
const MAX_STAMP: u128 = (1 << 96) - 1;

impl fmt::Display for TallyVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:024x}{:08x}", self.stamp, self.read)
    }
}

impl std::str::FromStr for TallyVersion {
    type Err = TallyVersionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.len() == 32 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let (stamp, read) = text.split_at_checked(24).filter(|_| digits).ok_or(TallyVersionError)?;
        let stamp = u128::from_str_radix(stamp, 16).map_err(|_| TallyVersionError)?;
        let read = u32::from_str_radix(read, 16).map_err(|_| TallyVersionError)?;
        Ok(Self { stamp, read })
    }
}

/// A text that is no version of a tally.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a tally version must be 32 lower-case hexadecimal digits")]
pub struct TallyVersionError;

impl serde::Serialize for TallyVersion {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for TallyVersion {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl schemars::JsonSchema for TallyVersion {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TallyVersion".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": "^[0-9a-f]{32}$",
            "description": "Greater as text is newer; a version not greater than the last one known is to be ignored."
        })
    }
}

/// N/M of a message: readers who count, out of members who count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    /// N.
    pub read: u32,
    /// M; N ≤ M (RR-4).
    pub total: u32,
    /// Which of two tallies of the message is the newer.
    pub version: TallyVersion,
    /// The policy in force.
    pub mode: ReceiptsMode,
}

impl Tally {
    /// Counts. A recalled message answers 0/0; so does one at a skipped seq, which takes no receipts and so
    /// could never be read by all.
    #[must_use]
    pub fn of(roster: &Roster, message: &Message, flags: MessageFlags, readers: &ReadArray) -> Self {
        let (read, total) = if flags.is_void() { (0, 0) } else { count(roster, message, readers) };
        debug_assert!(read <= total, "RR-4: {read} of {total}");
        let stamp = (roster.stamp() + u128::from(flags.is_void())).min(MAX_STAMP);
        Self { read, total, version: TallyVersion { stamp, read }, mode: roster.mode() }
    }

    /// Everybody who counts has read it, and somebody counts: an empty M was read by nobody (RR-10).
    #[must_use]
    pub const fn all_read(&self) -> bool {
        self.total > 0 && self.read == self.total
    }
}

/// Both lists ascend by uid, so one walk counts N and M.
fn count(roster: &Roster, message: &Message, readers: &ReadArray) -> (u32, u32) {
    let (mut read, mut total) = (0, 0);
    let mut rest = readers.readers();
    for eligible in roster.eligible() {
        while rest.first().is_some_and(|reader| *reader < eligible.uid) {
            rest = &rest[1..];
        }
        if eligible.counts_for(message) {
            total += 1;
            read += u32::from(rest.first() == Some(&eligible.uid));
        }
    }
    (read, total)
}

/// The two lists of a message: who has read it and who has not, each ascending. Disjoint, and together
/// exactly those who count.
#[must_use]
pub fn lists(
    roster: &Roster,
    message: &Message,
    flags: MessageFlags,
    readers: &ReadArray,
) -> (Vec<Uid>, Vec<Uid>) {
    if flags.is_void() {
        return (Vec::new(), Vec::new());
    }
    roster.counting(message).partition(|uid| readers.contains(*uid))
}

#[cfg(test)]
mod tests;
