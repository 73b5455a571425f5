//! The encodings of rows.

use super::codec::{Decoder, Encoder, Fault};
use super::table::Row;
use crate::row::{Conversation, UserConversation};
use readmark_domain::counting::{Member, MessageFlags};
use readmark_domain::id::{Endpoint, MsgId, Uid};
use readmark_domain::register::{
    Latest, Presence, PresenceKey, ReadMark, ReceiptsMode, Switch, SwitchSet, SwitchValue, UserSwitches,
};
use readmark_domain::time::TimeMs;

/// A message without what its key says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MessageRow {
    pub msg_id: MsgId,
    pub sender_uid: Uid,
    pub sent_at: TimeMs,
    pub countable: bool,
    pub chunks: u16,
    pub expires_at: TimeMs,
}

impl Row for MessageRow {
    const BYTES: usize = 32;

    fn encode(&self, out: &mut Encoder) {
        out.number(self.msg_id.get());
        out.number(self.sender_uid.get());
        out.number(self.sent_at.get());
        out.flag(self.countable);
        out.number(u64::from(self.chunks));
        out.number(self.expires_at.get());
    }

    fn decode(input: &mut Decoder<'_>) -> Result<Self, Fault> {
        Ok(Self {
            msg_id: MsgId::new(input.number()?).map_err(|_| "a msg_id is out of range")?,
            sender_uid: input.uid()?,
            sent_at: input.time()?,
            countable: input.flag()?,
            chunks: u16::try_from(input.number()?).map_err(|_| "chunks are out of range")?,
            expires_at: input.time()?,
        })
    }
}

impl Row for MessageFlags {
    const BYTES: usize = 3;

    fn encode(&self, out: &mut Encoder) {
        out.flag(self.recalled);
        out.flag(self.skipped);
        out.flag(self.not_countable);
    }

    fn decode(input: &mut Decoder<'_>) -> Result<Self, Fault> {
        Ok(Self { recalled: input.flag()?, skipped: input.flag()?, not_countable: input.flag()? })
    }
}

impl Row for TimeMs {
    const BYTES: usize = 7;

    fn encode(&self, out: &mut Encoder) {
        out.number(self.get());
    }

    fn decode(input: &mut Decoder<'_>) -> Result<Self, Fault> {
        input.time()
    }
}

impl Row for Conversation {
    const BYTES: usize = 16;

    fn encode(&self, out: &mut Encoder) {
        out.number(self.head.get());
        out.number(self.imported_head.get());
        encode_switches(&self.policy, out, |mode| match mode {
            ReceiptsMode::Full => 0,
            ReceiptsMode::Count => 1,
            ReceiptsMode::Off => 2,
        });
        encode_latest(self.closed, out);
        out.flag(self.large);
    }

    fn decode(input: &mut Decoder<'_>) -> Result<Self, Fault> {
        Ok(Self {
            head: input.seq()?,
            imported_head: input.seq()?,
            policy: decode_switches(input, |mode| match mode {
                0 => Some(ReceiptsMode::Full),
                1 => Some(ReceiptsMode::Count),
                2 => Some(ReceiptsMode::Off),
                _ => None,
            })?,
            closed: decode_latest(input)?,
            large: input.flag()?,
        })
    }
}

/// The uid is in the key.
impl Row for Member {
    const BYTES: usize = 16;

    fn encode(&self, out: &mut Encoder) {
        encode_presence(self.presence, out);
        out.number(self.joined.get());
        out.number(self.claimed.get());
        out.number(self.imported.get());
        self.switches.encode(out);
    }

    fn decode(input: &mut Decoder<'_>) -> Result<Self, Fault> {
        Ok(Self {
            uid: Uid::default(),
            presence: decode_presence(input)?,
            joined: input.seq()?,
            claimed: input.seq()?,
            imported: input.seq()?,
            switches: UserSwitches::decode(input)?,
        })
    }
}

impl Row for UserConversation {
    const BYTES: usize = 48;

    fn encode(&self, out: &mut Encoder) {
        encode_presence(self.presence, out);
        out.number(self.joined.get());
        out.number(self.read.seq.get());
        out.number(self.read.read_at.get());
        out.text(self.read.endpoint.as_ref().map_or("", Endpoint::as_str));
        out.number(self.cleared.get());
        out.number(self.own.get());
        out.number(self.claimed.get());
        out.number(self.receipted.get());
        out.number(self.imported.get());
        encode_latest(self.muted, out);
        encode_latest(self.marked_unread, out);
    }

    fn decode(input: &mut Decoder<'_>) -> Result<Self, Fault> {
        Ok(Self {
            presence: decode_presence(input)?,
            joined: input.seq()?,
            read: ReadMark {
                seq: input.seq()?,
                read_at: input.time()?,
                endpoint: match input.text()? {
                    "" => None,
                    text => Some(Endpoint::new(text).map_err(|_| "an endpoint is no endpoint")?),
                },
            },
            cleared: input.seq()?,
            own: input.seq()?,
            claimed: input.seq()?,
            receipted: input.seq()?,
            imported: input.seq()?,
            muted: decode_latest(input)?,
            marked_unread: decode_latest(input)?,
        })
    }
}

impl Row for UserSwitches {
    const BYTES: usize = 16;

    fn encode(&self, out: &mut Encoder) {
        encode_switches(self, out, u64::from);
    }

    fn decode(input: &mut Decoder<'_>) -> Result<Self, Fault> {
        decode_switches(input, |on| match on {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        })
    }
}

fn encode_presence(presence: Option<Presence>, out: &mut Encoder) {
    out.optional(presence.map(|presence| presence.key().get()));
}

fn decode_presence(input: &mut Decoder<'_>) -> Result<Option<Presence>, Fault> {
    Ok(input.optional()?.map(|key| Presence::from_key(PresenceKey::from_raw(key))))
}

fn encode_latest(latest: Option<Latest>, out: &mut Encoder) {
    out.optional(latest.map(|latest| latest.order.get()));
    if let Some(latest) = latest {
        out.flag(latest.value);
    }
}

fn decode_latest(input: &mut Decoder<'_>) -> Result<Option<Latest>, Fault> {
    let Some(order) = input.optional()? else { return Ok(None) };
    let order = readmark_domain::time::Order::new(order).map_err(|_| "an order is out of range")?;
    Ok(Some(Latest { order, value: input.flag()? }))
}

fn encode_switches<V: SwitchValue>(set: &SwitchSet<V>, out: &mut Encoder, code: impl Fn(V) -> u64) {
    out.number(set.iter().count() as u64);
    for switch in set.iter() {
        out.number(switch.order.get());
        out.number(switch.occurred_at.get());
        out.number(code(switch.value));
    }
}

fn decode_switches<V: SwitchValue>(
    input: &mut Decoder<'_>,
    value: impl Fn(u64) -> Option<V>,
) -> Result<SwitchSet<V>, Fault> {
    let mut set = SwitchSet::default();
    for _ in 0..input.number()? {
        let (order, occurred_at) = (input.order()?, input.time()?);
        let value = value(input.number()?).ok_or("a switch has an unknown value")?;
        set.add(Switch { order, occurred_at, value });
    }
    Ok(set)
}
