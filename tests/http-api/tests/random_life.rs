//! Random facts, told late and in any order, while states are lost, rebuilt and read: at rest the hot state says what
//! the store says.
//!
//! `READMARK_SEED=n` plays one seed again.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use readmark_domain::hot::Change;
use readmark_domain::id::Seq;
use readmark_domain::register::Latest;
use readmark_domain::seq_ranges::SeqRanges;
use readmark_domain::time::{Order, TimeMs};
use readmark_hot::{HotState, UserChange};
use readmark_runtime::clock::Clock;
use readmark_store::{Raise, UserConversation};
use readmark_sync::{apply_until_counted, derived_picture, whole_change};
use readmark_test_http_api::{Api, conversation, message, seq, uid};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::task::JoinSet;

const SEEDS: u64 = 100;
const STEPS: u64 = 150;
/// Every call of the store takes so long, so that a rebuild takes several steps.
const SLOW_MS: u64 = 1;
const USERS: [u64; 3] = [7, 8, 9];
const CONVERSATIONS: [&str; 3] = ["c1", "c2", "c3"];
/// Longest time between a write and its being told.
const LATE_MS: u64 = 20;

struct Life {
    api: Arc<Api>,
    random: StdRng,
    heads: BTreeMap<&'static str, u64>,
    order: u64,
    telling: JoinSet<()>,
}

impl Life {
    async fn new(seed: u64) -> Self {
        let api = Api::default();
        for id in CONVERSATIONS {
            api.seed.joins(id, &USERS, 0).await;
        }
        api.store.set_slow_ms(SLOW_MS);
        let random = StdRng::seed_from_u64(seed);
        Self { api: Arc::new(api), random, heads: BTreeMap::new(), order: 10_000, telling: JoinSet::new() }
    }

    /// Tells a user what was written, some time later; `whole` reads it then.
    fn tell(&mut self, who: u64, id: &'static str, change: Option<Change>) {
        let (api, late_ms) = (self.api.clone(), self.random.random_range(0..=LATE_MS));
        self.telling.spawn(async move {
            api.clock.sleep_ms(late_ms).await;
            let store = &*api.seed.0;
            let change = match change {
                Some(change) => change,
                None => whole_change(store, uid(who), &conversation(id)).await.unwrap(),
            };
            let told =
                UserChange { uid: uid(who), conversation_id: conversation(id), change: Arc::new(change) };
            for told in apply_until_counted(&*api.hot.inner(), store, &[told]).await {
                told.unwrap();
            }
        });
    }

    fn tell_all(&mut self, id: &'static str, change: &Change) {
        for who in USERS {
            self.tell(who, id, Some(change.clone()));
        }
    }

    async fn step(&mut self) {
        let id = CONVERSATIONS[self.random.random_range(0..CONVERSATIONS.len())];
        let who = USERS[self.random.random_range(0..USERS.len())];
        let head = self.heads.get(id).copied().unwrap_or_default();
        self.order += 1;
        let latest = Latest { order: Order::new(self.order).unwrap(), value: self.random.random() };
        match self.random.random_range(0..100) {
            0..=24 => self.sends(id, who, head).await,
            25..=44 => self.recalls(id, head).await,
            45..=56 => self.reads(id, who, head).await,
            57..=60 => self.flags(id, who, latest).await,
            61..=63 => self.closes(id, latest).await,
            64..=65 => self.leaves_and_joins(id, who).await,
            66..=71 => self.loses(who).await,
            _ => {
                let api = self.api.clone();
                self.telling.spawn(async move { drop(api.live.picture(uid(who)).await.unwrap()) });
            }
        }
        self.api.clock.sleep_ms(self.random.random_range(0..4)).await;
    }

    /// Up to a hundred at once; some of them mention somebody.
    async fn sends(&mut self, id: &'static str, who: u64, head: u64) {
        let last = head + if self.random.random_bool(0.1) { 100 } else { 1 };
        let mut mentions: BTreeMap<u64, Vec<Seq>> = BTreeMap::new();
        for n in head + 1..=last {
            let mentioned = USERS[self.random.random_range(0..USERS.len())];
            self.api.seed.0.add_mentions(&conversation(id), seq(n), &[uid(mentioned)]).await.unwrap();
            mentions.entry(mentioned).or_default().push(seq(n));
            self.api.seed.sends(id, who, [n]).await;
        }
        self.heads.insert(id, last);
        for member in USERS {
            let newest_sent_at = message(id, last, who).sent_at;
            let floor = if member == who { seq(last) } else { Seq::ZERO };
            let change = Change { head: seq(last), newest_sent_at, floor, ..Change::default() };
            let named = mentions.remove(&member).unwrap_or_default();
            self.tell(member, id, Some(change.with_mentions(&SeqRanges::from_seqs(named))));
        }
    }

    /// Some of them faster than their messages.
    async fn recalls(&mut self, id: &'static str, head: u64) {
        let first = self.random.random_range(1..=head + 10);
        let last = first + if self.random.random_bool(0.1) { 70 } else { 0 };
        for n in first..=last {
            self.api.seed.recalls(id, n).await;
        }
        let change = Change::default().with_uncounted(&SeqRanges::from_seqs((first..=last).map(seq)));
        self.tell_all(id, &change);
    }

    async fn registers(&self, id: &str, who: u64) -> UserConversation {
        self.api.seed.0.user_conversation(uid(who), &conversation(id)).await.unwrap().unwrap_or_default()
    }

    async fn reads(&mut self, id: &'static str, who: u64, head: u64) {
        let to = seq(self.random.random_range(0..=head));
        let raise = match self.random.random_bool(0.7) {
            true => Raise::Read { seq: to, read_at: TimeMs::ZERO, endpoint: None },
            false => Raise::Cleared(to),
        };
        self.api.seed.0.raise(uid(who), &conversation(id), &[raise]).await.unwrap();
        let registers = self.registers(id, who).await;
        let (read, floor) = (registers.read.seq, registers.floor());
        let change = Change { read, floor, ..Change::default() };
        self.tell(who, id, Some(change));
    }

    async fn flags(&mut self, id: &'static str, who: u64, latest: Latest) {
        let is_mute = self.random.random();
        let raise = if is_mute { Raise::Muted(latest) } else { Raise::MarkedUnread(latest) };
        self.api.seed.0.raise(uid(who), &conversation(id), &[raise]).await.unwrap();
        let of = |is_set: bool| is_set.then_some(latest);
        let change = Change { muted: of(is_mute), marked_unread: of(!is_mute), ..Change::default() };
        self.tell(who, id, Some(change));
    }

    async fn closes(&mut self, id: &'static str, latest: Latest) {
        self.api.seed.0.set_closed(&conversation(id), latest).await.unwrap();
        self.tell_all(id, &Change { closed: Some(latest), ..Change::default() });
    }

    /// Who leaves is told so, who joins is told the whole conversation.
    async fn leaves_and_joins(&mut self, id: &'static str, who: u64) {
        let is_present = self.registers(id, who).await.is_present();
        let at = self.heads.get(id).copied().unwrap_or_default();
        self.api.seed.changes(id, who, (!is_present).then_some(at), self.order).await;
        let change = Change { presence: self.registers(id, who).await.presence, ..Change::default() };
        self.tell(who, id, is_present.then_some(change));
    }

    async fn loses(&mut self, who: u64) {
        match self.random.random_bool(0.5) {
            true => self.api.hot.inner().forget(uid(who)).await.unwrap(),
            false => self.api.hot.inner().flush(),
        }
    }
}

async fn live(random_seed: u64) {
    let mut life = Life::new(random_seed).await;
    for _ in 0..STEPS {
        life.step().await;
    }
    while let Some(told) = life.telling.join_next().await {
        told.unwrap();
    }
    for who in USERS {
        let truth = derived_picture(&*life.api.seed.0, uid(who)).await.unwrap();
        let seen = life.api.live.picture(uid(who)).await.unwrap();
        let at = format!("user {who}, READMARK_SEED={random_seed}");
        assert_eq!(seen.rows, truth.rows, "{at}");
        assert_eq!((seen.total, seen.total_mentions), (truth.total, truth.total_mentions), "{at}");
    }
}

#[test]
fn the_hot_state_says_what_the_store_says() {
    let seeds = match std::env::var("READMARK_SEED") {
        Ok(seed) => vec![seed.parse().unwrap()],
        Err(_) => {
            let first = rand::random_range(0..1_000_000_u64);
            (first..first + SEEDS).collect()
        }
    };
    println!("seeds {seeds:?}");
    for random_seed in seeds {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(live(random_seed));
    }
}
