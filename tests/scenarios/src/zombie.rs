//! A process that was thought dead writes once more, by the store's own adapter: a write no call can provoke.

use crate::events::msg_id;
use crate::format::Zombie;
use crate::world::World;
use readmark_domain::counting::Message;
use readmark_domain::id::{ConversationId, MsgId, Seq, Uid};
use readmark_domain::time::TimeMs;
use readmark_store::MessageStore;
use readmark_store::cql::{CqlConfig, CqlStore};
use readmark_test_harness::Part;
use std::sync::Arc;

/// Long after any scenario is over.
const EXPIRES_AFTER_MS: u64 = 86_400_000;

/// Writes a message that is known already, with another number of chunks for its readers.
pub async fn write(world: &World, step: &Zombie) {
    let config = CqlConfig {
        contact_points: vec![world.server.services().address(Part::Cassandra).to_owned()],
        keyspace: world.server.name().to_owned(),
        ..CqlConfig::default()
    };
    let store = CqlStore::open(&config, Arc::new(now)).await.expect("the store answers");
    let sent_at = world.occurred_at(Some(step.at)).parse().expect("a time");
    let message = Message {
        conversation_id: ConversationId::new(&world.conversation(&step.c)).expect("an id"),
        seq: Seq::new(step.seq).expect("a seq"),
        msg_id: MsgId::new(msg_id(step.seq)).expect("an id"),
        sender_uid: Uid::new(world.uid(&step.from)).expect("a uid"),
        sent_at: TimeMs::new(sent_at).expect("a time"),
        countable: true,
        chunks: step.chunks,
    };
    store.write_messages(&[(message, now().plus_ms(EXPIRES_AFTER_MS))]).await.expect("the store takes it");
    let (id, seq) = (world.conversation(&step.c), step.seq.to_string());
    let shown = world.server.operate(&["inspect", "message", &id, &seq, "--format", "json"]).await.expect(0);
    let chunks = &shown.json()["message"]["chunks"];
    assert!(chunks.as_u64() >= Some(step.chunks.into()), "the message has {chunks} chunks");
}

fn now() -> TimeMs {
    TimeMs::saturating(readmark_test_harness::now_ms())
}
