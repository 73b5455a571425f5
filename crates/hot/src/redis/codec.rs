//! What scripts are given and what they keep, as the values of the domain. The layouts are those of `lua/`.

use super::pack::{Packed, Packer};
use readmark_domain::counting::TallyVersion;
use readmark_domain::hot::{
    Cause, Change, CountRange, Counted, Entry, MessageCount, News, Registers, Row, TallyChange, Version,
};
use readmark_domain::id::{ConversationId, Endpoint, Seq, Uid};
use readmark_domain::register::{Latest, Presence, PresenceKey, ReceiptsMode};
use readmark_domain::time::{Order, TimeMs};

/// Kinds of entries.
const CONVERSATION_READ: u64 = 1;
const UNREAD_CHANGED: u64 = 2;
const MESSAGE_READ: u64 = 3;

/// What the low part of a total stays below.
const TOTAL_PART: u64 = 1_000_000_000_000_000;

/// A register with an order, as a number of which the greatest wins and whose parity is the value; zero when it was
/// never written.
const fn flag(register: Option<Latest>) -> u64 {
    match register {
        Some(latest) => 2 * latest.order.get() + latest.value as u64 + 1,
        None => 0,
    }
}

fn presence(register: Option<Presence>) -> u64 {
    register.map_or(0, |presence| presence.key().get() + 1)
}

fn read_flag(stored: u64) -> Option<Option<Latest>> {
    let Some(key) = stored.checked_sub(1) else { return Some(None) };
    let order = Order::new(key / 2).ok()?;
    Some(Some(Latest { order, value: !key.is_multiple_of(2) }))
}

fn read_presence(stored: u64) -> Option<Presence> {
    stored.checked_sub(1).map(|key| Presence::from_key(PresenceKey::from_raw(key)))
}

/// A change, as `lua/apply.lua` takes it.
pub(super) fn pack_change(change: &Change) -> Vec<u8> {
    let mut packer = Packer::default();
    packer
        .array(15)
        .number(change.head.get())
        .number(change.newest_sent_at.get())
        .number(change.read.get())
        .number(change.floor.get())
        .number(presence(change.presence))
        .number(flag(change.closed))
        .number(flag(change.marked_unread))
        .number(flag(change.muted))
        .number(u64::from(change.is_large))
        .numbers(change.uncounted().iter().map(|seq| seq.get()))
        .numbers(change.mentions().iter().map(|seq| seq.get()))
        .number(change.base.get())
        .numbers(change.counted.map_or_else(Vec::new, counted).into_iter())
        .flag(false)
        .flag(matches!(change.cause, Cause::Read(_)));
    packer.finish()
}

fn counted(counted: Counted) -> Vec<u64> {
    let CountRange { floor, head } = counted.range;
    vec![floor.get(), head.get(), counted.uncounted, counted.mentions, counted.uncounted_mentions]
}

/// The endpoint of a cause, empty when there is none.
pub(super) fn endpoint_of(cause: &Cause) -> &str {
    match cause {
        Cause::Read(Some(endpoint)) => endpoint.as_str(),
        Cause::Read(None) | Cause::Other => "",
    }
}

/// A message among a sender's: no conversation has a control character.
pub(super) fn pack_message(change: &TallyChange) -> Vec<u8> {
    format!("{}\n{}", change.conversation_id, change.seq).into_bytes()
}

/// What `lua/tally.lua` keeps of a tally: its version, then what devices see of it.
pub(super) fn pack_tally(change: &TallyChange) -> Vec<u8> {
    let mut bytes = version_bytes(change.version).to_vec();
    bytes.extend_from_slice(&change.read.to_be_bytes());
    bytes.extend_from_slice(&change.total.to_be_bytes());
    bytes.push(mode_code(change.mode));
    bytes
}

/// The entry that tells it.
pub(super) fn pack_message_read(change: &TallyChange) -> Vec<u8> {
    let mut packer = Packer::default();
    packer
        .array(7 + change.readers_added.len())
        .number(MESSAGE_READ)
        .bytes(change.conversation_id.as_str().as_bytes())
        .number(change.seq.get())
        .number(u64::from(mode_code(change.mode)))
        .number(u64::from(change.read))
        .number(u64::from(change.total))
        .bytes(&version_bytes(change.version));
    for reader in &change.readers_added {
        packer.number(reader.get());
    }
    packer.finish()
}

/// 32 hexadecimal digits as 16 bytes, which compare alike.
fn version_bytes(version: TallyVersion) -> [u8; 16] {
    u128::from_str_radix(&version.to_string(), 16).unwrap_or_default().to_be_bytes()
}

fn read_version(bytes: &[u8]) -> Option<TallyVersion> {
    format!("{:032x}", u128::from_be_bytes(bytes.try_into().ok()?)).parse().ok()
}

const fn mode_code(mode: ReceiptsMode) -> u8 {
    match mode {
        ReceiptsMode::Full => 0,
        ReceiptsMode::Count => 1,
        ReceiptsMode::Off => 2,
    }
}

fn read_mode(code: u64) -> Option<ReceiptsMode> {
    [ReceiptsMode::Full, ReceiptsMode::Count, ReceiptsMode::Off].into_iter().nth(usize::try_from(code).ok()?)
}

/// An entry kept in a stream; `None` when it is none.
pub(super) fn read_entry(version: Version, bytes: &[u8]) -> Option<Entry> {
    let packed = Packed::read(bytes)?;
    let fields = Fields(packed.array()?);
    let news = match fields.number(0)? {
        CONVERSATION_READ => News::ConversationRead {
            conversation_id: fields.conversation(1)?,
            read_seq: fields.seq(2)?,
            floor_seq: fields.seq(3)?,
            endpoint: fields.endpoint(4)?,
            own: false,
            unread: fields.count(5)?,
            mentions: fields.count(6)?,
            marked_unread: fields.flag(7)?,
            total_unread: total(fields.number(8)?, fields.number(9)?),
            total_mentions: total(fields.number(10)?, fields.number(11)?),
        },
        UNREAD_CHANGED => News::UnreadChanged {
            conversation_id: fields.conversation(1)?,
            head_seq: fields.seq(2)?,
            floor_seq: fields.seq(3)?,
            unread: fields.count(4)?,
            mentions: fields.count(5)?,
            marked_unread: fields.flag(6)?,
            muted: fields.flag(7)?,
            total_unread: total(fields.number(8)?, fields.number(9)?),
            total_mentions: total(fields.number(10)?, fields.number(11)?),
        },
        MESSAGE_READ => News::MessageRead {
            conversation_id: fields.conversation(1)?,
            seq: fields.seq(2)?,
            mode: read_mode(fields.number(3)?)?,
            read: fields.number(4)?.try_into().ok()?,
            total: fields.number(5)?.try_into().ok()?,
            tally_version: read_version(fields.0.get(6)?.bytes()?)?,
            readers_added: fields.0[7..]
                .iter()
                .map(|uid| Uid::new(uid.number()?).ok())
                .collect::<Option<_>>()?,
        },
        _ => return None,
    };
    Some(Entry { version, news })
}

/// A total of its two parts.
pub(super) const fn total(low: u64, high: u64) -> MessageCount {
    MessageCount::saturating(high.saturating_mul(TOTAL_PART).saturating_add(low))
}

/// The registers of a conversation, as `lua/registers.lua` keeps them; `None` when they are none.
pub(super) fn read_registers(bytes: &[u8]) -> Option<Registers> {
    let packed = Packed::read(bytes)?;
    let fields = Fields(packed.array()?);
    let has_numbers = fields.0.len() > 11;
    Some(Registers {
        head: fields.seq(0)?,
        newest_sent_at: TimeMs::new(fields.number(1)?).ok()?,
        read: fields.seq(2)?,
        floor: fields.seq(3)?,
        presence: read_presence(fields.number(4)?),
        closed: read_flag(fields.number(5)?)?,
        marked_unread: read_flag(fields.number(6)?)?,
        muted: read_flag(fields.number(7)?)?,
        is_large: fields.number(8)? > 0,
        uncounted: fields.seqs(9)?,
        mentions: fields.seqs(10)?,
        base: if has_numbers { fields.seq(11)? } else { Seq::ZERO },
        counted: if has_numbers { fields.counted(12)? } else { None },
        frozen: if has_numbers { fields.frozen(13)? } else { None },
    })
}

/// The fields of a packed array.
struct Fields<'p>(&'p [Packed]);

impl Fields<'_> {
    fn number(&self, at: usize) -> Option<u64> {
        self.0.get(at)?.number()
    }

    fn flag(&self, at: usize) -> Option<bool> {
        self.0.get(at)?.flag()
    }

    fn seq(&self, at: usize) -> Option<Seq> {
        Seq::new_or_zero(self.number(at)?).ok()
    }

    fn seqs(&self, at: usize) -> Option<Vec<Seq>> {
        self.0.get(at)?.array()?.iter().map(|seq| Seq::new(seq.number()?).ok()).collect()
    }

    fn count(&self, at: usize) -> Option<MessageCount> {
        MessageCount::new(self.number(at)?).ok()
    }

    fn conversation(&self, at: usize) -> Option<ConversationId> {
        ConversationId::new(self.0.get(at)?.text()?).ok()
    }

    fn endpoint(&self, at: usize) -> Option<Option<Endpoint>> {
        let text = self.0.get(at)?.text()?;
        if text.is_empty() { Some(None) } else { Endpoint::new(text).ok().map(Some) }
    }

    fn counted(&self, at: usize) -> Option<Option<Counted>> {
        let fields = Self(self.0.get(at)?.array()?);
        if fields.0.is_empty() {
            return Some(None);
        }
        Some(Some(Counted {
            range: CountRange { floor: fields.seq(0)?, head: fields.seq(1)? },
            uncounted: fields.number(2)?,
            mentions: fields.number(3)?,
            uncounted_mentions: fields.number(4)?,
        }))
    }

    fn frozen(&self, at: usize) -> Option<Option<Option<Row>>> {
        let packed = self.0.get(at)?;
        if packed.flag() == Some(false) {
            return Some(None);
        }
        let fields = Fields(packed.array()?);
        if fields.0.is_empty() {
            return Some(Some(None));
        }
        Some(Some(Some(Row {
            head: fields.seq(0)?,
            read: fields.seq(1)?,
            floor: fields.seq(2)?,
            unread: fields.count(3)?,
            mentions: fields.count(4)?,
            marked_unread: fields.flag(5)?,
            muted: fields.flag(6)?,
        })))
    }
}
