//! The oracle must agree with the answers that came with the traces.
#![allow(clippy::expect_used, reason = "tests")]

use readmark_test_harness::oracle::Counts;
use readmark_test_traces::Trace;

#[test]
fn the_oracle_agrees_with_the_expected_answers() {
    for trace in Trace::both() {
        let (oracle, id, expected) = (trace.oracle(), &trace.conversation_id, &trace.expected);
        assert_eq!(oracle.head(id).to_string(), expected.head_seq);
        assert_eq!(oracle.messages(id).count(), expected.messages.len());
        for message in &expected.messages {
            let counts = oracle.counts(id, message.seq.parse().expect("a seq"));
            assert_eq!(counts, Counts { read: message.read, total: message.total }, "{id} {}", message.seq);
        }
        assert_eq!(oracle.present(id).count(), expected.members);
        assert_eq!(expected.unread.len(), expected.members);
        for uid in oracle.present(id) {
            assert_eq!(oracle.unread(id, uid).unread, expected.unread[&uid.to_string()], "{id}: user {uid}");
        }
    }
}
