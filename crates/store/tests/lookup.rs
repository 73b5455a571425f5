//! The reads that roles share, on the store in memory.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use readmark_domain::counting::{Message, MessageFlags};
use readmark_domain::id::{ConversationId, MsgId, Seq, Uid};
use readmark_domain::seq_ranges::SeqRanges;
use readmark_domain::time::TimeMs;
use readmark_domain::verdict::{Place, Retention};
use readmark_store::lookup::{self, FLAGS_PAGE, SPAN_SEQS};
use readmark_store::memory::MemoryStore;
use readmark_store::{Bucket, ConversationStore, MessageStore};
use std::sync::Arc;

const NOW_MS: u64 = 1_000_000_000_000;
const RETENTION: Retention = Retention::days(90);
const RECALLED: MessageFlags = MessageFlags { recalled: true, skipped: false, not_countable: false };
const SKIPPED: MessageFlags = MessageFlags { recalled: false, skipped: true, not_countable: false };
const NONE: MessageFlags = MessageFlags { recalled: false, skipped: false, not_countable: false };
const MISSING: Place = Place::Missing { beyond_head: false };
const BEYOND: Place = Place::Missing { beyond_head: true };

fn now() -> TimeMs {
    TimeMs::saturating(NOW_MS)
}

fn long_ago() -> TimeMs {
    now().minus_ms(RETENTION.keep_ms)
}

fn store() -> MemoryStore {
    MemoryStore::new(Arc::new(now))
}

fn id() -> ConversationId {
    ConversationId::new("c").unwrap()
}

fn seq(n: u64) -> Seq {
    Seq::new_or_zero(n).unwrap()
}

fn message(n: u64) -> Message {
    Message {
        conversation_id: id(),
        seq: seq(n),
        msg_id: MsgId::new(n).unwrap(),
        sender_uid: Uid::new(7).unwrap(),
        sent_at: now().minus_ms(1_000),
        countable: true,
        chunks: 1,
    }
}

/// Writes messages as the catalog does: buckets, messages, head.
async fn send(store: &MemoryStore, seqs: impl IntoIterator<Item = u64>) {
    for n in seqs {
        let message = message(n);
        let bucket = Bucket { bucket: message.seq.bucket(), newest_sent_at: message.sent_at };
        store.raise_buckets(&id(), &[bucket]).await.unwrap();
        store.write_messages(&[(message, now().plus_ms(1_000))]).await.unwrap();
        store.raise_head(&id(), seq(n)).await.unwrap();
    }
}

async fn places(store: &MemoryStore, seqs: impl IntoIterator<Item = u64>) -> Vec<(u64, Place)> {
    let seqs = SeqRanges::from_seqs(seqs.into_iter().map(seq));
    let places = lookup::places(store, &id(), &seqs, RETENTION, now()).await.unwrap();
    places.into_iter().map(|(seq, place)| (seq.get(), place)).collect()
}

#[tokio::test]
async fn places_of_an_unknown_conversation_are_beyond_its_head() {
    assert_eq!(places(&store(), [1, 500]).await, [(1, BEYOND), (500, BEYOND)]);
    assert_eq!(places(&store(), []).await, []);
}

#[tokio::test]
async fn every_kind_of_place() {
    let store = store();
    send(&store, [1, 2, 3, 6, 7]).await;
    store.add_flags(&id(), &[(seq(2), RECALLED), (seq(3), SKIPPED), (seq(4), SKIPPED)]).await.unwrap();
    let expected = [
        (1, Place::Message(message(1), NONE)),
        (2, Place::Message(message(2), RECALLED)),
        (3, Place::Skipped),
        (4, Place::Skipped),
        (5, MISSING),
        (7, Place::Message(message(7), NONE)),
        (8, BEYOND),
    ];
    assert_eq!(places(&store, [8, 7, 5, 4, 3, 2, 1]).await, expected);
}

#[tokio::test]
async fn what_is_gone_is_expired_and_not_missing() {
    let store = store();
    // Bucket 0 is past the retention by its newest message, bucket 1 is not by a moment.
    let buckets = [(0, long_ago()), (1, long_ago().plus_ms(1))];
    let buckets = buckets.map(|(bucket, newest_sent_at)| Bucket { bucket, newest_sent_at });
    store.raise_buckets(&id(), &buckets).await.unwrap();
    store.raise_head(&id(), seq(100)).await.unwrap();
    // Beyond the head a message has not come yet, although the rest of its bucket is gone.
    assert_eq!(places(&store, [100, 101]).await, [(100, Place::Expired), (101, BEYOND)]);
    store.raise_head(&id(), seq(1_000)).await.unwrap();
    let expected =
        [(1, Place::Expired), (127, Place::Expired), (128, MISSING), (300, MISSING), (1_001, BEYOND)];
    assert_eq!(places(&store, [1, 127, 128, 300, 1_001]).await, expected);
    // A row that the store has not taken away yet.
    let old = Message { sent_at: long_ago(), ..message(300) };
    store.write_messages(&[(old, now().plus_ms(1))]).await.unwrap();
    assert_eq!(places(&store, [300]).await, [(300, Place::Expired)]);
}

#[tokio::test]
async fn what_is_at_or_below_an_imported_head_is_expired() {
    let store = store();
    store.raise_imported_head(&id(), seq(500)).await.unwrap();
    send(&store, [501]).await;
    let expected = [
        (1, Place::Expired),
        (500, Place::Expired),
        (501, Place::Message(message(501), NONE)),
        (502, BEYOND),
    ];
    assert_eq!(places(&store, [1, 500, 501, 502]).await, expected);
}

#[tokio::test]
async fn places_far_apart_and_at_every_second_seq() {
    let store = store();
    let sent: Vec<u64> = (1..=600).filter(|n| n % 3 != 0).chain([100_000, 100_001, Seq::MAX]).collect();
    send(&store, sent.iter().copied()).await;
    let asked: Vec<u64> = (1..=600).step_by(2).chain([100_000, 999_999, Seq::MAX]).collect();
    let answers = places(&store, asked.iter().copied()).await;
    assert_eq!(answers.iter().map(|(n, _)| *n).collect::<Vec<_>>(), asked);
    for (n, place) in answers {
        let expected = if sent.contains(&n) { Place::Message(message(n), NONE) } else { MISSING };
        assert_eq!(place, expected, "seq {n}");
    }
}

#[tokio::test]
async fn places_at_the_ends_of_wide_spans() {
    let store = store();
    let all = 3 * SPAN_SEQS;
    send(&store, 1..=all).await;
    for step in [1, 2, 127, 128, 129, 200, SPAN_SEQS - 1, SPAN_SEQS, SPAN_SEQS + 1] {
        let step = usize::try_from(step).unwrap();
        let asked: Vec<u64> = (1..=all).step_by(step).collect();
        let expected: Vec<_> = asked.iter().map(|n| (*n, Place::Message(message(*n), NONE))).collect();
        assert!(places(&store, asked).await == expected, "every {step}th of {all}");
    }
}

#[tokio::test]
async fn uncounted_seqs_are_taken_out_over_pages() {
    let store = store();
    let count = 2 * FLAGS_PAGE as u64 + 7;
    let flags: Vec<_> = (1..=count).map(|n| (seq(n), if n % 2 == 0 { RECALLED } else { NONE })).collect();
    store.add_flags(&id(), &flags).await.unwrap();
    for step in [1, 3, 4_096] {
        let asked = || (1..=2 * count).step_by(step);
        let left = lookup::without_uncounted(&store, &id(), asked().map(seq).collect()).await.unwrap();
        let expected: Vec<Seq> = asked().filter(|n| n % 2 == 1 || *n > count).map(seq).collect();
        assert!(left == expected, "{} left of every {step}th, not {}", left.len(), expected.len());
    }
    assert_eq!(lookup::without_uncounted(&store, &id(), Vec::new()).await.unwrap(), []);
}

#[tokio::test]
async fn flags_are_read_over_pages() {
    let store = store();
    for count in [FLAGS_PAGE - 1, FLAGS_PAGE, FLAGS_PAGE + 1, 2 * FLAGS_PAGE, 2 * FLAGS_PAGE + 1] {
        let flags: Vec<_> = (1..=count as u64).map(|n| (seq(n * 3), SKIPPED)).collect();
        store.add_flags(&id(), &flags).await.unwrap();
        let last = flags.last().unwrap().0;
        for end in [last, last.next(), Seq::LAST] {
            let read = lookup::all_flags(&store, &id(), seq(1), end).await.unwrap();
            assert!(read == flags, "{} of {count} flags up to {end}", read.len());
        }
        let read = lookup::all_flags(&store, &id(), seq(4), last.previous()).await.unwrap();
        assert!(read == flags[1..count - 1], "{} of {} flags within", read.len(), count - 2);
    }
}

#[tokio::test]
async fn uncounted_are_counted_above_the_floor_up_to_the_head() {
    let store = store();
    let not_countable = MessageFlags { not_countable: true, ..NONE };
    let flags = [(3, SKIPPED), (4, RECALLED), (5, not_countable), (8, SKIPPED), (9, RECALLED)];
    store.add_flags(&id(), &flags.map(|(n, flags)| (seq(n), flags))).await.unwrap();
    for (floor, head, expected) in [(0, 10, 5), (3, 8, 3), (2, 3, 1), (3, 3, 0), (9, 3, 0), (9, 10, 0)] {
        let count = lookup::count_uncounted(&store, &id(), seq(floor), seq(head)).await.unwrap();
        assert_eq!(count, expected, "above {floor} up to {head}");
    }
}

async fn newest(store: &MemoryStore, above: u64, head: u64, limit: u64) -> Vec<u64> {
    let messages = lookup::newest_messages(store, &id(), seq(above), seq(head), limit).await.unwrap();
    messages.iter().map(|message| message.seq.get()).collect()
}

#[tokio::test]
async fn newest_messages_are_those_among_the_newest_seqs() {
    let store = store();
    send(&store, (1..=300).filter(|n| n % 100 != 0)).await;
    assert_eq!(newest(&store, 0, 300, 5).await, [296, 297, 298, 299], "300 takes its place");
    assert_eq!(newest(&store, 297, 299, 100).await, [298, 299]);
    assert_eq!(newest(&store, 0, 299, 1).await, [299]);
    assert_eq!(newest(&store, 126, 129, 100).await, [127, 128, 129], "over the border of two buckets");
    assert_eq!(newest(&store, 0, 300, 1_000).await.len(), 297);
    assert_eq!(newest(&store, 0, 150, 1_000).await.last(), Some(&150), "nothing above the head asked for");
    for (above, head, limit) in [(300, 300, 10), (301, 300, 10), (0, 0, 10), (0, 300, 0), (299, 300, 10)] {
        assert_eq!(
            newest(&store, above, head, limit).await,
            [0_u64; 0],
            "above {above}, head {head}, limit {limit}"
        );
    }
}

#[tokio::test]
async fn newest_messages_of_a_lone_last_seq_need_one_bucket() {
    let store = store();
    send(&store, [1, Seq::MAX]).await;
    assert_eq!(newest(&store, 0, Seq::MAX, 1_000).await, [Seq::MAX]);
    assert_eq!(newest(&store, 0, Seq::MAX, u64::MAX).await, [1, Seq::MAX]);
}
