//! Reading never panics, whatever lies on a topic, and what is written is read back as it was.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may stop at what is impossible"
)]

use proptest::prelude::*;
use readmark_domain::fact::{
    AckFact, Cleared, ConversationClosed, ConversationFact, ConversationPolicy, FlagSet, HeadImported,
    MAX_RECORD_RANGES, MAX_RECORD_SEQS, MarkFact, MemberJoined, MemberLeft, MessageRecalled, MessageSent,
    Origin, ReadUpTo, Receipts, Recount, SeqSkipped, UserErased, UserSettings, WatermarkImported,
};
use readmark_domain::id::{ConversationId, Endpoint, MsgId, Seq, Uid};
use readmark_domain::register::{Latest, Presence, ReceiptsMode};
use readmark_domain::seq_ranges::{SeqRange, SeqRanges};
use readmark_domain::time::{Order, TimeMs};
use readmark_events::{
    ConversationChanged, ConversationRead, Fact, FlagsChanged, HeadMessage, MAX_RECORD_BYTES, MessageRead,
    ReadChanged, decode, encode,
};

fn conversation() -> impl Strategy<Value = ConversationId> {
    "[a-z\"\\\\é 0-9]{1,30}".prop_map(|text| ConversationId::new(&text).unwrap())
}

fn endpoint() -> impl Strategy<Value = Option<Endpoint>> {
    prop::option::of("[a-z/]{1,64}".prop_map(|text| Endpoint::new(&text).unwrap()))
}

fn seq() -> impl Strategy<Value = Seq> {
    (1..=Seq::MAX).prop_map(|n| Seq::new(n).unwrap())
}

fn seq_or_zero() -> impl Strategy<Value = Seq> {
    (0..=Seq::MAX).prop_map(|n| Seq::new_or_zero(n).unwrap())
}

fn seqs() -> impl Strategy<Value = SeqRanges> {
    prop::collection::vec((seq(), 0..400u64), 1..20).prop_map(|ranges| {
        let range = |(first, more): (Seq, u64)| SeqRange::new(first, first.forward(more)).unwrap();
        SeqRanges::from_ranges(ranges.into_iter().map(range).collect())
    })
}

fn uid() -> impl Strategy<Value = Uid> {
    (Uid::MIN..=Uid::MAX).prop_map(|n| Uid::new(n).unwrap())
}

fn time() -> impl Strategy<Value = TimeMs> {
    (0..=TimeMs::MAX).prop_map(|n| TimeMs::new(n).unwrap())
}

fn order() -> impl Strategy<Value = Order> {
    (0..=Order::MAX).prop_map(|n| Order::new(n).unwrap())
}

fn latest() -> impl Strategy<Value = Latest> {
    (order(), any::<bool>()).prop_map(|(order, value)| Latest { order, value })
}

fn mode() -> impl Strategy<Value = ReceiptsMode> {
    prop::sample::select(vec![ReceiptsMode::Full, ReceiptsMode::Count, ReceiptsMode::Off])
}

fn stamp() -> impl Strategy<Value = (Option<TimeMs>, Option<Order>)> {
    (prop::option::of(time()), prop::option::of(order()))
}

fn conversation_fact() -> impl Strategy<Value = ConversationFact> {
    use ConversationFact as F;
    let message = (conversation(), seq(), any::<u32>(), uid(), time(), any::<[bool; 2]>(), mentions())
        .prop_map(
            |(conversation_id, seq, msg_id, sender_uid, occurred_at, [countable, mention_all], mentions)| {
                let msg_id = MsgId::new(msg_id.into()).unwrap();
                F::MessageSent(MessageSent {
                    conversation_id,
                    seq,
                    msg_id,
                    sender_uid,
                    occurred_at,
                    countable,
                    mentions,
                    mention_all,
                })
            },
        );
    prop_oneof![
        message,
        (conversation(), seq(), time()).prop_map(|(conversation_id, seq, occurred_at)| {
            F::MessageRecalled(MessageRecalled { conversation_id, seq, occurred_at })
        }),
        (conversation(), seq(), 0..65_536u64, time()).prop_map(
            |(conversation_id, from, more, occurred_at)| {
                F::SeqSkipped(SeqSkipped { conversation_id, from, to: from.forward(more), occurred_at })
            }
        ),
        (conversation(), uid(), seq_or_zero(), stamp()).prop_map(
            |(conversation_id, uid, at_seq, (occurred_at, version))| {
                F::MemberJoined(MemberJoined { conversation_id, uid, at_seq, occurred_at, version })
            }
        ),
        (conversation(), uid(), seq_or_zero(), stamp()).prop_map(
            |(conversation_id, uid, at_seq, (occurred_at, version))| {
                F::MemberLeft(MemberLeft { conversation_id, uid, at_seq, occurred_at, version })
            }
        ),
        (conversation(), any::<bool>(), stamp()).prop_map(
            |(conversation_id, closed, (occurred_at, version))| {
                F::ConversationClosed(ConversationClosed { conversation_id, closed, occurred_at, version })
            }
        ),
        (conversation(), mode(), stamp()).prop_map(|(conversation_id, receipts, (occurred_at, version))| {
            F::ConversationPolicy(ConversationPolicy { conversation_id, receipts, occurred_at, version })
        }),
        (conversation(), seq(), time()).prop_map(|(conversation_id, head_seq, occurred_at)| {
            F::HeadImported(HeadImported { conversation_id, head_seq, occurred_at })
        }),
    ]
}

fn mentions() -> impl Strategy<Value = Vec<Uid>> {
    prop::collection::vec(uid(), 0..=200)
}

fn ack_fact() -> impl Strategy<Value = AckFact> {
    let origin = prop::sample::select(vec![Origin::Client, Origin::Expansion]);
    prop_oneof![
        (uid(), uid(), conversation(), seqs(), endpoint(), origin, time())
            .prop_filter("nobody acks its own message", |fact| fact.0 != fact.1)
            .prop_map(|(sender_uid, reader_uid, conversation_id, seqs, endpoint, origin, occurred_at)| {
                AckFact::Receipts(Receipts {
                    sender_uid,
                    reader_uid,
                    conversation_id,
                    seqs,
                    endpoint,
                    origin,
                    occurred_at,
                })
            }),
        (uid(), conversation(), seqs(), time()).prop_map(
            |(sender_uid, conversation_id, seqs, occurred_at)| {
                AckFact::Recount(Recount { sender_uid, conversation_id, seqs, occurred_at })
            }
        ),
    ]
}

fn mark_fact() -> impl Strategy<Value = MarkFact> {
    use MarkFact as F;
    let flag = || {
        (uid(), conversation(), any::<bool>(), endpoint(), time()).prop_map(
            |(uid, conversation_id, value, endpoint, occurred_at)| FlagSet {
                uid,
                conversation_id,
                value,
                endpoint,
                occurred_at,
            },
        )
    };
    prop_oneof![
        (uid(), conversation(), seq(), endpoint(), time()).prop_map(
            |(uid, conversation_id, up_to_seq, endpoint, occurred_at)| {
                F::ReadUpTo(ReadUpTo { uid, conversation_id, up_to_seq, endpoint, occurred_at })
            }
        ),
        (uid(), conversation(), seq(), endpoint(), time()).prop_map(
            |(uid, conversation_id, up_to_seq, endpoint, occurred_at)| {
                F::Cleared(Cleared { uid, conversation_id, up_to_seq, endpoint, occurred_at })
            }
        ),
        flag().prop_map(F::MarkedUnread),
        flag().prop_map(F::Muted),
        (uid(), any::<bool>(), time()).prop_map(|(uid, receipts, occurred_at)| {
            F::UserSettings(UserSettings { uid, receipts, occurred_at })
        }),
        (uid(), time()).prop_map(|(uid, occurred_at)| F::UserErased(UserErased { uid, occurred_at })),
        (uid(), conversation(), seq(), time()).prop_map(|(uid, conversation_id, read_seq, occurred_at)| {
            F::WatermarkImported(WatermarkImported { uid, conversation_id, read_seq, occurred_at })
        }),
    ]
}

fn conversation_changed() -> impl Strategy<Value = ConversationChanged> {
    use ConversationChanged as C;
    let message = (seq(), uid(), time(), any::<[bool; 2]>(), prop::collection::vec(uid(), 0..9)).prop_map(
        |(seq, sender_uid, sent_at, [countable, mention_all], mentions)| HeadMessage {
            seq,
            sender_uid,
            sent_at,
            countable,
            mentions,
            mention_all,
        },
    );
    prop_oneof![
        (conversation(), seq_or_zero(), prop::collection::vec(message, 0..9)).prop_map(
            |(conversation_id, head_seq, messages)| C::Head { conversation_id, head_seq, messages }
        ),
        (conversation(), seqs(), seq_or_zero()).prop_map(|(conversation_id, seqs, head_seq)| C::Uncounted {
            conversation_id,
            seqs,
            head_seq
        }),
        (conversation(), uid(), order(), any::<bool>(), seq_or_zero()).prop_map(
            |(conversation_id, uid, order, present, joined_seq)| {
                C::Roster { conversation_id, uid, presence: Presence::new(order, present), joined_seq }
            }
        ),
        (conversation(), latest())
            .prop_map(|(conversation_id, closed)| C::Closed { conversation_id, closed }),
        (conversation(), mode())
            .prop_map(|(conversation_id, receipts)| C::Policy { conversation_id, receipts }),
    ]
}

fn read_changed() -> impl Strategy<Value = ReadChanged> {
    let version = "[0-9a-f]{32}".prop_map(|text| text.parse().unwrap());
    prop_oneof![
        (uid(), conversation(), seq(), mode(), any::<[u32; 2]>(), mentions(), version).prop_map(
            |(uid, conversation_id, seq, mode, counts, readers_added, tally_version)| {
                let (read, total) = (counts[0].min(counts[1]), counts[0].max(counts[1]));
                ReadChanged::MessageRead(MessageRead {
                    uid,
                    conversation_id,
                    seq,
                    mode,
                    read,
                    total,
                    readers_added,
                    tally_version,
                })
            }
        ),
        (uid(), conversation(), seq_or_zero(), seq_or_zero(), endpoint(), prop::option::of(latest()))
            .prop_map(|(uid, conversation_id, read_seq, floor_seq, endpoint, marked_unread)| {
                ReadChanged::ConversationRead(ConversationRead {
                    uid,
                    conversation_id,
                    read_seq,
                    floor_seq,
                    endpoint,
                    marked_unread,
                })
            }),
        (uid(), conversation(), prop::option::of(latest()), prop::option::of(latest()), endpoint()).prop_map(
            |(uid, conversation_id, marked_unread, muted, endpoint)| {
                ReadChanged::FlagsChanged(FlagsChanged {
                    uid,
                    conversation_id,
                    marked_unread,
                    muted,
                    endpoint,
                })
            }
        ),
    ]
}

fn comes_back<F: Fact + PartialEq + std::fmt::Debug>(fact: &F) -> Result<(), TestCaseError> {
    let payload = encode(fact).map_err(|error| TestCaseError::fail(error.to_string()))?;
    let read: F = decode(Some(fact.key().as_bytes()), &payload)
        .map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert_eq!(&read, fact);
    prop_assert_eq!(encode(&read).unwrap(), payload);
    Ok(())
}

/// Reads as a record of every topic. That it comes back at all is what is asked.
fn read_as_anything(key: Option<&[u8]>, payload: &[u8]) {
    let reasons = [
        decode::<ConversationFact>(key, payload).err(),
        decode::<AckFact>(key, payload).err(),
        decode::<MarkFact>(key, payload).err(),
        decode::<ConversationChanged>(key, payload).err(),
        decode::<ReadChanged>(key, payload).err(),
    ];
    for error in reasons.into_iter().flatten() {
        assert!(!error.reason().is_empty() && error.to_string().len() < 10_000, "{error:?}");
    }
}

/// Any JSON, with the words of the records in it.
fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let word = prop::sample::select(vec![
        "type",
        "kind",
        "v",
        "seq",
        "seqs",
        "uid",
        "conversation_id",
        "receipts",
        "message_sent",
        "read_up_to",
        "message_read",
        "head",
        "messages",
        "occurred_at",
        "1",
        "0",
        "-1",
        "c1",
        "1000000000000000",
    ]);
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        word.clone().prop_map(Into::into),
        ".{0,9}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 64, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Into::into),
            prop::collection::btree_map(word.clone().prop_map(str::to_owned), inner, 0..8)
                .prop_map(|fields| serde_json::Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn conversation_facts_come_back(fact in conversation_fact()) {
        comes_back(&fact)?;
    }

    #[test]
    fn ack_facts_come_back(fact in ack_fact()) {
        comes_back(&fact)?;
    }

    #[test]
    fn mark_facts_come_back(fact in mark_fact()) {
        comes_back(&fact)?;
    }

    #[test]
    fn conversation_changes_come_back(fact in conversation_changed()) {
        comes_back(&fact)?;
    }

    #[test]
    fn read_changes_come_back(fact in read_changed()) {
        comes_back(&fact)?;
    }

    #[test]
    fn any_bytes(key in prop::option::of(prop::collection::vec(any::<u8>(), 0..80)),
                 payload in prop::collection::vec(any::<u8>(), 0..400)) {
        read_as_anything(key.as_deref(), &payload);
    }

    #[test]
    fn any_json_value(value in any_json()) {
        read_as_anything(Some(b"c1"), value.to_string().as_bytes());
    }

    /// A real record with a few bytes changed, cut off somewhere.
    #[test]
    fn a_damaged_record(fact in ack_fact(), damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
                        length in any::<prop::sample::Index>()) {
        let mut payload = encode(&fact).unwrap();
        for (at, byte) in damage {
            let at = at.index(payload.len());
            payload[at] = byte;
        }
        payload.truncate(length.index(payload.len() + 1));
        read_as_anything(Some(fact.key().as_bytes()), &payload);
    }
}

/// Whoever splits by both bounds can write any set of seqs, however scattered.
#[test]
fn the_most_scattered_piece_fits_a_record() {
    let scattered = (0..MAX_RECORD_SEQS + 1).map(|n| Seq::LAST.back(2 * n));
    let pieces = SeqRanges::from_seqs(scattered).split(MAX_RECORD_SEQS, MAX_RECORD_RANGES);
    assert_eq!(pieces.iter().map(SeqRanges::count).collect::<Vec<_>>(), [5_000, 5_000, 1]);
    for seqs in pieces {
        let fact = AckFact::Receipts(Receipts {
            sender_uid: Uid::new(Uid::MAX).unwrap(),
            reader_uid: Uid::new(Uid::MAX - 1).unwrap(),
            conversation_id: ConversationId::new(&"\"".repeat(64)).unwrap(),
            seqs,
            endpoint: Endpoint::new(&"\"".repeat(64)).ok(),
            origin: Origin::Expansion,
            occurred_at: TimeMs::saturating(u64::MAX),
        });
        assert!(encode(&fact).unwrap().len() <= MAX_RECORD_BYTES);
    }
}
