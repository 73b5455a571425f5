//! Cells: what a register looks like in CQL, and back.
//!
//! A register whose order key says everything (a seq, a time, twice an order and one more) is that number, and
//! the number is its write timestamp. Only `read` holds more than its key: its cell is bytes that compare as
//! the mark itself does, so that at equal seqs the replicas keep the mark that [`ReadMark::merge`] keeps.

use crate::row::UserConversation;
use readmark_domain::id::{Endpoint, Seq, Uid};
use readmark_domain::register::{
    Latest, Presence, PresenceKey, ReadMark, ReceiptsMode, Switch, SwitchSet, SwitchValue, UserSwitches,
};
use readmark_domain::time::{Order, TimeMs};
use scylla::cluster::metadata::ColumnType;
use scylla::serialize::SerializationError;
use scylla::serialize::value::SerializeValue;
use scylla::serialize::writers::{CellWriter, WrittenCellProof};

/// Why a cell can't be understood.
pub(super) type Fault = &'static str;

/// A switch in a set: order, occurred_at, value.
pub(super) type SwitchCell = (i64, i64, i8);

/// The value of a register and its order key.
pub(super) enum Cell {
    Number(i64),
    Bytes(Vec<u8>),
}

impl SerializeValue for Cell {
    fn serialize<'b>(
        &self,
        typ: &ColumnType<'_>,
        writer: CellWriter<'b>,
    ) -> Result<WrittenCellProof<'b>, SerializationError> {
        match self {
            Self::Number(n) => n.serialize(typ, writer),
            Self::Bytes(bytes) => bytes.serialize(typ, writer),
        }
    }
}

/// Ids, seqs, times and orders are at most 2^63 − 1 by their types.
pub(super) fn int(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

pub(super) fn number(n: i64) -> Result<u64, Fault> {
    u64::try_from(n).map_err(|_| "a number is negative")
}

pub(super) fn seq(cell: Option<i64>) -> Result<Seq, Fault> {
    Seq::new_or_zero(number(cell.unwrap_or(0))?).map_err(|_| "a seq is out of range")
}

pub(super) fn uid(cell: i64) -> Result<Uid, Fault> {
    Uid::new(number(cell)?).map_err(|_| "a uid is out of range")
}

pub(super) fn time(cell: i64) -> Result<TimeMs, Fault> {
    TimeMs::new(number(cell)?).map_err(|_| "a time is out of range")
}

fn order(n: u64) -> Result<Order, Fault> {
    Order::new(n).map_err(|_| "an order is out of range")
}

/// The key of a flag: at equal orders `true` is the greater.
pub(super) fn latest_key(latest: Latest) -> i64 {
    int(2 * latest.order.get() + u64::from(latest.value))
}

pub(super) fn latest(cell: Option<i64>) -> Result<Option<Latest>, Fault> {
    let Some(key) = cell else { return Ok(None) };
    let key = number(key)?;
    Ok(Some(Latest { order: order(key / 2)?, value: !key.is_multiple_of(2) }))
}

pub(super) fn presence(cell: Option<i64>) -> Result<Option<Presence>, Fault> {
    let Some(key) = cell else { return Ok(None) };
    let key = number(key)?;
    order(key / 2)?;
    Ok(Some(Presence::from_key(PresenceKey::from_raw(key))))
}

/// Bytes of the seq and of the time of a mark.
const NUMBER_BYTES: usize = 8;

/// Seq, time, endpoint, most significant byte first. No endpoint is no byte, which is less than any endpoint.
pub(super) fn read_mark_bytes(mark: &ReadMark) -> Vec<u8> {
    let mut bytes =
        Vec::with_capacity(2 * NUMBER_BYTES + mark.endpoint.as_ref().map_or(0, |e| e.as_str().len()));
    bytes.extend_from_slice(&mark.seq.get().to_be_bytes());
    bytes.extend_from_slice(&mark.read_at.get().to_be_bytes());
    bytes.extend_from_slice(mark.endpoint.as_ref().map_or("", |endpoint| endpoint.as_str()).as_bytes());
    bytes
}

pub(super) fn read_mark(cell: Option<&[u8]>) -> Result<ReadMark, Fault> {
    const SHORT: Fault = "a watermark is too short";
    let Some(bytes) = cell else { return Ok(ReadMark::default()) };
    let (seq, rest) = bytes.split_first_chunk::<NUMBER_BYTES>().ok_or(SHORT)?;
    let (read_at, endpoint) = rest.split_first_chunk::<NUMBER_BYTES>().ok_or(SHORT)?;
    let endpoint = match endpoint {
        [] => None,
        text => {
            let text = std::str::from_utf8(text).map_err(|_| "an endpoint is no text")?;
            Some(Endpoint::new(text).map_err(|_| "an endpoint is out of range")?)
        }
    };
    Ok(ReadMark {
        seq: Seq::new_or_zero(u64::from_be_bytes(*seq)).map_err(|_| "a watermark is out of range")?,
        read_at: TimeMs::new(u64::from_be_bytes(*read_at)).map_err(|_| "a time is out of range")?,
        endpoint,
    })
}

/// A value of a switch as a number in a set.
pub(super) trait SwitchCode: SwitchValue {
    fn code(self) -> i8;
    fn from_code(code: i8) -> Option<Self>;
}

impl SwitchCode for bool {
    fn code(self) -> i8 {
        i8::from(self)
    }

    fn from_code(code: i8) -> Option<Self> {
        match code {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl SwitchCode for ReceiptsMode {
    fn code(self) -> i8 {
        match self {
            Self::Full => 0,
            Self::Count => 1,
            Self::Off => 2,
        }
    }

    fn from_code(code: i8) -> Option<Self> {
        match code {
            0 => Some(Self::Full),
            1 => Some(Self::Count),
            2 => Some(Self::Off),
            _ => None,
        }
    }
}

pub(super) fn switch_cell<V: SwitchCode>(switch: &Switch<V>) -> SwitchCell {
    (int(switch.order.get()), int(switch.occurred_at.get()), switch.value.code())
}

pub(super) fn switch_cells(switches: &UserSwitches) -> Vec<SwitchCell> {
    switches.iter().map(switch_cell).collect()
}

pub(super) fn switches<V: SwitchCode>(cell: Option<Vec<SwitchCell>>) -> Result<SwitchSet<V>, Fault> {
    let mut set = SwitchSet::default();
    for (switched, occurred_at, code) in cell.unwrap_or_default() {
        let value = V::from_code(code).ok_or("a switch has an unknown value")?;
        set.add(Switch { order: order(number(switched)?)?, occurred_at: time(occurred_at)?, value });
    }
    Ok(set)
}

/// A row of `user_conversations`, in the order of its columns in the statements.
pub(super) type UserConversationCells = (
    String,
    Option<i64>,
    Option<i64>,
    Option<Vec<u8>>,
    Option<i64>,
    Option<i64>,
    Option<i64>,
    Option<i64>,
    Option<i64>,
    Option<i64>,
    Option<i64>,
);

pub(super) fn user_conversation(cells: &UserConversationCells) -> Result<UserConversation, Fault> {
    let (_, present, joined, read, cleared, own, claimed, receipted, imported, muted, marked_unread) = cells;
    Ok(UserConversation {
        presence: presence(*present)?,
        joined: seq(*joined)?,
        read: read_mark(read.as_deref())?,
        cleared: seq(*cleared)?,
        own: seq(*own)?,
        claimed: seq(*claimed)?,
        receipted: seq(*receipted)?,
        imported: seq(*imported)?,
        muted: latest(*muted)?,
        marked_unread: latest(*marked_unread)?,
    })
}

#[cfg(test)]
mod tests {
    use super::{latest, latest_key, read_mark, read_mark_bytes};
    use readmark_domain::id::{Endpoint, Seq};
    use readmark_domain::register::{Latest, ReadMark};
    use readmark_domain::time::{Order, TimeMs};

    /// Marks in every order that matters: lengths, prefixes, scripts, no endpoint.
    fn marks() -> Vec<ReadMark> {
        let endpoints =
            [None, Some(" "), Some("a"), Some("ab"), Some("abc"), Some("b"), Some("é"), Some("🦀")];
        let mut marks = Vec::new();
        for seq in [0, 1, 255, 256, Seq::MAX] {
            for read_at in [0, 1, 255, 256, TimeMs::MAX] {
                marks.extend(endpoints.iter().map(|endpoint| ReadMark {
                    seq: Seq::new_or_zero(seq).unwrap(),
                    read_at: TimeMs::new(read_at).unwrap(),
                    endpoint: endpoint.map(|text| Endpoint::new(text).unwrap()),
                }));
            }
        }
        marks
    }

    /// At equal timestamps a replica keeps the bytewise larger value: it must be what merging keeps.
    #[test]
    fn bytes_of_marks_compare_as_marks_do() {
        for a in marks() {
            let bytes = read_mark_bytes(&a);
            assert_eq!(read_mark(Some(&bytes)), Ok(a.clone()));
            for b in marks() {
                let greater = if bytes > read_mark_bytes(&b) { a.clone() } else { b.clone() };
                assert_eq!(a.clone().merge(b.clone()), greater, "{a:?} and {b:?}");
            }
        }
        assert!(read_mark(Some(&[0; 15])).is_err());
    }

    #[test]
    fn keys_of_flags_compare_as_flags_do() {
        let mut flags = Vec::new();
        for order in [0, 1, 2, 255, 256, Order::MAX] {
            for value in [false, true] {
                flags.push(Latest { order: Order::new(order).unwrap(), value });
            }
        }
        assert!(flags.is_sorted_by_key(|flag| latest_key(*flag)));
        for flag in flags {
            assert_eq!(latest(Some(latest_key(flag))), Ok(Some(flag)));
        }
        assert!(latest(Some(-1)).is_err());
    }
}
