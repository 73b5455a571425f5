use crate::port::ReceiptStore;
use async_trait::async_trait;
use readmark_domain::counting::{Message, MessageFlags};
use readmark_domain::dead_letter::LetterId;
use readmark_domain::id::{ConversationId, MsgId, Seq, Uid};
use readmark_domain::register::{Latest, Switch};
use readmark_domain::time::{Order, TimeMs};
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How long messages live in cases that are not about expiry, in milliseconds.
const FAR_MS: u64 = 86_400_000;

/// The time of a store under test.
#[async_trait]
pub trait SuiteClock: Send + Sync + 'static {
    /// What time the store takes it to be.
    fn now(&self) -> TimeMs;

    /// Lets this much time pass: by turning the clock or by waiting.
    async fn advance_ms(&self, ms: u64);

    /// Is it turned, so that hours cost nothing?
    fn is_manual(&self) -> bool;
}

/// A clock that stands still until it is turned.
#[derive(Debug)]
pub struct ManualClock(AtomicU64);

impl Default for ManualClock {
    fn default() -> Self {
        Self(AtomicU64::new(1_700_000_000_000))
    }
}

#[async_trait]
impl SuiteClock for ManualClock {
    fn now(&self) -> TimeMs {
        TimeMs::saturating(self.0.load(Ordering::SeqCst))
    }

    async fn advance_ms(&self, ms: u64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }

    fn is_manual(&self) -> bool {
        true
    }
}

/// A store under test, with ids that nobody has used on it.
#[derive(Clone)]
pub struct Subject {
    /// The store.
    pub store: Arc<dyn ReceiptStore>,
    /// Its time.
    pub clock: Arc<dyn SuiteClock>,
    tag: u32,
    _keep: Arc<dyn Any + Send + Sync>,
}

impl Subject {
    /// A subject. Subjects on one store need different tags, below 2^24; `keep` lives as long as it does (a
    /// directory, a process).
    pub fn new(
        store: Arc<dyn ReceiptStore>,
        clock: Arc<dyn SuiteClock>,
        tag: u32,
        keep: impl Any + Send + Sync,
    ) -> Self {
        Self { store, clock, tag, _keep: Arc::new(keep) }
    }

    /// A conversation of this subject; ids keep the order and the prefixes of their names (at most 58 bytes).
    pub(super) fn conversation(&self, name: &str) -> ConversationId {
        ConversationId::new(&format!("{:06x}{name}", self.tag)).expect("a name of at most 58 bytes")
    }

    /// The user number `n` of this subject.
    pub(super) fn uid(&self, n: u64) -> Uid {
        Uid::new(u64::from(self.tag) * 10_000_000_000 + n).expect("within 63 bits")
    }

    /// Users `first ..= last`.
    pub(super) fn uids(&self, first: u64, last: u64) -> Vec<Uid> {
        (first..=last).map(|n| self.uid(n)).collect()
    }

    /// A user with nearly the greatest uid there can be.
    pub(super) fn last_uid(&self) -> Uid {
        Uid::new(Uid::MAX - u64::from(self.tag)).expect("within 63 bits")
    }

    /// Partition number `n` (below 16) of this subject's dead letters.
    pub(super) const fn partition(&self, n: u32) -> u32 {
        self.tag * 16 + n
    }

    /// A dead letter of this subject.
    pub(super) const fn letter(&self, n: u32, offset: u64) -> LetterId {
        LetterId { partition: self.partition(n), offset }
    }

    /// When messages expire in cases that are not about expiry.
    pub(super) fn far(&self) -> TimeMs {
        self.clock.now().plus_ms(FAR_MS)
    }

    /// A message with values derived from its seq.
    pub(super) fn message(&self, id: &ConversationId, n: u64) -> Message {
        Message {
            conversation_id: id.clone(),
            seq: seq(n),
            msg_id: MsgId::new(n + 7).expect("small"),
            sender_uid: self.uid(n % 10),
            sent_at: at(1_600_000_000_000 + n % 1_000),
            countable: !n.is_multiple_of(5),
            chunks: 1,
        }
    }
}

pub(super) fn seq(n: u64) -> Seq {
    Seq::new_or_zero(n).expect("a seq")
}

pub(super) fn at(ms: u64) -> TimeMs {
    TimeMs::new(ms).expect("a time")
}

pub(super) fn order(n: u64) -> Order {
    Order::new(n).expect("an order")
}

pub(super) fn latest(n: u64, value: bool) -> Latest {
    Latest { order: order(n), value }
}

pub(super) fn switch<V>(n: u64, occurred_at: u64, value: V) -> Switch<V> {
    Switch { order: order(n), occurred_at: at(occurred_at), value }
}

pub(super) const RECALLED: MessageFlags =
    MessageFlags { recalled: true, skipped: false, not_countable: false };
pub(super) const SKIPPED: MessageFlags =
    MessageFlags { recalled: false, skipped: true, not_countable: false };
pub(super) const NOT_COUNTABLE: MessageFlags =
    MessageFlags { recalled: false, skipped: false, not_countable: true };

/// Every order of some writes: registers must not care.
pub(super) fn permutations<T: Clone>(items: &[T]) -> Vec<Vec<T>> {
    if items.len() <= 1 {
        return vec![items.to_vec()];
    }
    let mut all = Vec::new();
    for at in 0..items.len() {
        let mut rest = items.to_vec();
        let first = rest.remove(at);
        for mut tail in permutations(&rest) {
            tail.insert(0, first.clone());
            all.push(tail);
        }
    }
    all
}

/// Runs `tasks` futures at once, one per number, and waits for all.
pub(super) async fn at_once<F, R>(tasks: u64, make: F)
where
    F: Fn(u64) -> R,
    R: Future<Output = ()> + Send + 'static,
{
    let mut running = tokio::task::JoinSet::new();
    for n in 0..tasks {
        running.spawn(make(n));
    }
    while let Some(done) = running.join_next().await {
        done.expect("a concurrent writer failed");
    }
}
