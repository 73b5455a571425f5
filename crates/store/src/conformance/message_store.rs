//! Table `messages`.

use super::subject::{Subject, at, at_once, seq};
use readmark_domain::counting::Message;
use readmark_domain::id::{MsgId, Seq};
use readmark_domain::time::TimeMs;

super::cases!(
    unknown_is_empty,
    ranges_are_closed_and_ascending,
    values_come_back_as_written,
    known_message_is_never_rewritten,
    chunks_are_a_maximum,
    concurrent_writers_of_one_message_agree,
    one_call_may_span_conversations_and_buckets,
    the_last_seq_is_a_seq_like_any_other,
);

async fn unknown_is_empty(s: Subject) {
    let id = s.conversation("c");
    assert_eq!(s.store.messages(&id, Seq::ZERO, Seq::LAST).await.unwrap(), []);
    s.store.write_messages(&[]).await.unwrap();
    s.store.write_messages(&[(s.message(&id, 5), s.far())]).await.unwrap();
    assert_eq!(s.store.messages(&id, seq(6), seq(127)).await.unwrap(), []);
    assert_eq!(s.store.messages(&id, seq(1), seq(4)).await.unwrap(), []);
}

async fn ranges_are_closed_and_ascending(s: Subject) {
    let id = s.conversation("c");
    // 127 | 128 is the border of two buckets; 255 | 256 where a byte of the seq carries over.
    for n in [129, 256, 1, 128, 255, 127] {
        s.store.write_messages(&[(s.message(&id, n), s.far())]).await.unwrap();
    }
    for (first, last, expected) in [
        (1, 300, vec![1, 127, 128, 129, 255, 256]),
        (0, 127, vec![1, 127]),
        (127, 128, vec![127, 128]),
        (128, 128, vec![128]),
        (129, 255, vec![129, 255]),
        (256, 256, vec![256]),
        (2, 126, vec![]),
        (129, 128, vec![]),
    ] {
        let read = s.store.messages(&id, seq(first), seq(last)).await.unwrap();
        let seqs: Vec<u64> = read.iter().map(|message| message.seq.get()).collect();
        assert_eq!(seqs, expected, "messages {first} to {last}");
    }
}

async fn values_come_back_as_written(s: Subject) {
    let id = s.conversation("c");
    let plain = s.message(&id, 1);
    let extreme = Message {
        msg_id: MsgId::new(MsgId::MAX).unwrap(),
        sender_uid: s.last_uid(),
        sent_at: at(TimeMs::MAX),
        countable: false,
        chunks: 1_024,
        ..s.message(&id, 2)
    };
    let least = Message {
        msg_id: MsgId::new(0).unwrap(),
        sent_at: TimeMs::ZERO,
        countable: true,
        ..s.message(&id, 3)
    };
    let all = [plain, extreme, least];
    let written: Vec<_> = all.iter().map(|message| (message.clone(), s.far())).collect();
    s.store.write_messages(&written).await.unwrap();
    assert_eq!(s.store.messages(&id, seq(1), seq(3)).await.unwrap(), all);
}

async fn known_message_is_never_rewritten(s: Subject) {
    let id = s.conversation("c");
    let known = s.message(&id, 41);
    let other = Message {
        msg_id: MsgId::new(9_999).unwrap(),
        sender_uid: s.uid(77),
        sent_at: at(1_650_000_000_000),
        countable: !known.countable,
        ..known.clone()
    };
    s.store.write_messages(&[(known.clone(), s.far())]).await.unwrap();
    s.store.write_messages(&[(other.clone(), s.far().plus_ms(5_000))]).await.unwrap();
    s.store.write_messages(&[(other, s.far()), (s.message(&id, 42), s.far())]).await.unwrap();
    assert_eq!(s.store.messages(&id, seq(41), seq(42)).await.unwrap(), [known, s.message(&id, 42)]);
}

async fn chunks_are_a_maximum(s: Subject) {
    let id = s.conversation("c");
    let with = |chunks| Message { chunks, ..s.message(&id, 1) };
    for (written, expected) in [(2, 2), (4, 4), (1, 4), (4, 4), (300, 300), (255, 300)] {
        s.store.write_messages(&[(with(written), s.far())]).await.unwrap();
        assert_eq!(s.store.messages(&id, seq(1), seq(1)).await.unwrap(), [with(expected)]);
    }
}

async fn concurrent_writers_of_one_message_agree(s: Subject) {
    let id = s.conversation("c");
    at_once(16, |task| {
        let (s, id) = (s.clone(), id.clone());
        async move {
            let chunks = u16::try_from(task * 5 % 16 + 1).unwrap();
            let message = Message { chunks, ..s.message(&id, 1) };
            s.store.write_messages(&[(message, s.far())]).await.unwrap();
        }
    })
    .await;
    let expected = Message { chunks: 16, ..s.message(&id, 1) };
    assert_eq!(s.store.messages(&id, seq(1), seq(1)).await.unwrap(), [expected]);
}

async fn one_call_may_span_conversations_and_buckets(s: Subject) {
    let ids = [s.conversation("a"), s.conversation("b")];
    let mut written = Vec::new();
    for n in [1, 127, 128, 100_000] {
        written.extend(ids.iter().map(|id| (s.message(id, n), s.far())));
    }
    // One of them twice in the call.
    written.push((Message { chunks: 3, ..s.message(&ids[0], 128) }, s.far()));
    s.store.write_messages(&written).await.unwrap();
    for id in &ids {
        let mut expected: Vec<_> = [1, 127, 128, 100_000].map(|n| s.message(id, n)).to_vec();
        if *id == ids[0] {
            expected[2].chunks = 3;
        }
        let read = s.store.messages(id, seq(1), seq(100_000)).await.unwrap();
        assert_eq!(read, expected);
    }
}

async fn the_last_seq_is_a_seq_like_any_other(s: Subject) {
    let id = s.conversation("c");
    let last = s.message(&id, Seq::MAX);
    s.store.write_messages(&[(last.clone(), s.far())]).await.unwrap();
    assert_eq!(s.store.messages(&id, Seq::LAST, Seq::LAST).await.unwrap(), std::slice::from_ref(&last));
    let (first, end) = Seq::bucket_bounds(Seq::LAST.bucket());
    assert_eq!(s.store.messages(&id, first, end).await.unwrap(), [last]);
    assert_eq!(s.store.messages(&id, first, Seq::LAST.previous()).await.unwrap(), []);
}
