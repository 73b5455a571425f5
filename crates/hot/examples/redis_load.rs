//! Measures the hot state on a Redis that is empty and stands for this alone: bytes per user, time per operation on
//! the server and in the client, and a fan-out beside the usual counter (a hash per user, `HINCRBY` per message).
//!
//! ```sh
//! redis-server --port 7777 --save '' --daemonize yes
//! cargo run --release -p readmark-hot --features redis --example redis_load -- redis://127.0.0.1:7777
//! ```
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a program that measures")]

use readmark_domain::hot::{Change, SyncToken, TallyChange};
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::register::{Presence, ReceiptsMode};
use readmark_domain::time::{Order, TimeMs};
use readmark_hot::redis::{RedisHot, RedisOptions};
use readmark_hot::{Begun, HotState, TallyTold, UserChange};
use std::sync::Arc;
use std::time::Instant;

/// Conversations of a user, entries in its stream, users looked at.
const CONVERSATIONS: u64 = 200;
const USERS: u64 = 200;
/// Members of the group, and messages to it.
const MEMBERS: u64 = 500;
const MESSAGES: u64 = 200;
/// What is taken to be now, and the first message.
const NOW_MS: u64 = 1_780_000_000_000;
const HEAD: u64 = 12_345;

struct Load {
    hot: RedisHot,
    admin: redis::aio::MultiplexedConnection,
}

fn uid(n: u64) -> Uid {
    Uid::new(1_000_000_000 + n).unwrap()
}

/// 20 bytes, as ids often are.
fn conversation(n: u64) -> ConversationId {
    ConversationId::new(&format!("conversation-{n:07}")).unwrap()
}

fn change(head: u64) -> Change {
    Change {
        head: Seq::new(head).unwrap(),
        newest_sent_at: TimeMs::new(NOW_MS + head).unwrap(),
        ..Change::default()
    }
}

fn whole(head: u64) -> Change {
    let floor = Seq::new(head - 3).unwrap();
    let presence = Some(Presence::new(Order::new(NOW_MS).unwrap(), true));
    Change { read: floor, floor, presence, ..change(head) }
}

fn told(user: u64, conversation_id: &ConversationId, change: &Arc<Change>) -> UserChange {
    UserChange { uid: uid(user), conversation_id: conversation_id.clone(), change: Arc::clone(change) }
}

impl Load {
    async fn info(&mut self, section: &str, name: &str) -> String {
        let info: String = redis::cmd("INFO").arg(section).query_async(&mut self.admin).await.unwrap();
        let line = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.unwrap_or("").trim().to_owned()
    }

    async fn used_bytes(&mut self) -> u64 {
        self.info("memory", "used_memory").await.parse().unwrap()
    }

    async fn reset(&mut self) {
        redis::cmd("FLUSHALL").exec_async(&mut self.admin).await.unwrap();
    }

    async fn set(&mut self, name: &str, value: &str) {
        redis::cmd("CONFIG").arg("SET").arg(name).arg(value).exec_async(&mut self.admin).await.unwrap();
    }

    async fn rebuild(&self, user: u64) -> SyncToken {
        let Begun::Rebuild(epoch) = self.hot.begin_rebuild(uid(user)).await.unwrap() else {
            panic!("no rebuild")
        };
        let change = Arc::new(whole(HEAD));
        let changes: Vec<_> = (0..CONVERSATIONS).map(|n| told(user, &conversation(n), &change)).collect();
        self.apply(&changes).await;
        match self.hot.complete_rebuild(uid(user), &epoch).await.unwrap() {
            readmark_domain::hot::Completed::Complete(token) => token,
            other @ (readmark_domain::hot::Completed::ToCount(_) | readmark_domain::hot::Completed::Lost) => {
                panic!("{other:?}")
            }
        }
    }

    async fn apply(&self, changes: &[UserChange]) {
        for answer in self.hot.apply(changes).await {
            answer.unwrap();
        }
    }

    /// Bytes of a user: after a rebuild, with 100 entries, with 1,000, and with as many tallies.
    async fn memory(&mut self, name: &str) {
        self.reset().await;
        let empty = self.used_bytes().await;
        for user in 0..USERS {
            self.rebuild(user).await;
        }
        let rows = self.used_bytes().await;
        self.entries(1, 100).await;
        let some = self.used_bytes().await;
        self.entries(101, 1_000).await;
        let all = self.used_bytes().await;
        self.tallies(1_000).await;
        let tallies = self.used_bytes().await;
        let each = |bytes: u64| (bytes - empty) / USERS;
        println!(
            "bytes a user, {name}: {} with {CONVERSATIONS} conversations; {} with 100 entries too; {} with 1,000; {} with 1,000 tallies of own messages besides",
            each(rows),
            each(some),
            each(all),
            each(tallies),
        );
    }

    async fn entries(&self, first: u64, last: u64) {
        for n in first..=last {
            let change = Arc::new(change(HEAD + n));
            let id = conversation(n % CONVERSATIONS);
            let changes: Vec<_> = (0..USERS).map(|user| told(user, &id, &change)).collect();
            self.apply(&changes).await;
        }
    }

    async fn tallies(&self, count: u64) {
        for n in 1..=count {
            let told: Vec<_> = (0..USERS).map(|user| self.tally(user, n, 1)).collect();
            for answer in self.hot.apply_tallies(&told).await {
                answer.unwrap();
            }
        }
    }

    fn tally(&self, user: u64, n: u64, read: u32) -> TallyTold {
        let change = TallyChange {
            conversation_id: conversation(n % CONVERSATIONS),
            seq: Seq::new(HEAD + n).unwrap(),
            mode: ReceiptsMode::Full,
            read,
            total: 800,
            readers_added: Vec::new(),
            version: format!("{:032x}", (u128::from(NOW_MS) << 40) + u128::from(read)).parse().unwrap(),
        };
        TallyTold { uid: uid(user), change }
    }

    /// Runs `act`, which makes `count` operations; prints the server's time of a call and the client's of one.
    async fn time(&mut self, name: &str, count: u64, mut act: impl AsyncFnMut(&RedisHot)) {
        redis::cmd("CONFIG").arg("RESETSTAT").exec_async(&mut self.admin).await.unwrap();
        let start = Instant::now();
        act(&self.hot).await;
        let took = start.elapsed();
        let stats = self.info("commandstats", "cmdstat_evalsha").await;
        let server =
            stats.split(',').find_map(|part| part.strip_prefix("usec_per_call=")).unwrap_or("?").to_owned();
        println!(
            "{name}: {server} µs on the server, {:.1} µs seen by the client",
            took.as_secs_f64() * 1e6 / count as f64
        );
    }

    async fn times(&mut self) {
        self.reset().await;
        for user in 0..USERS {
            self.rebuild(user).await;
        }
        let token = self.rebuild(USERS).await;
        let id = conversation(7);
        let single = |head: u64| [told(USERS, &conversation(7), &Arc::new(change(head)))];
        self.time("a message, alone, an entry each", 2_000, async |hot| {
            for n in 1..=2_000 {
                hot.apply(&single(HEAD + n)).await.remove(0).unwrap();
            }
        })
        .await;
        let messages: Vec<_> =
            (2_001..=20_000).map(|n| told(n % USERS, &id, &Arc::new(change(HEAD + n)))).collect();
        self.time("a message, many at once, an entry each", messages.len() as u64, async |hot| {
            hot.apply(&messages).await;
        })
        .await;
        self.time("the same again, nothing new", messages.len() as u64, async |hot| {
            hot.apply(&messages).await;
        })
        .await;
        let strangers: Vec<_> =
            (0..20_000).map(|n| told(1_000_000 + n, &id, &Arc::new(change(HEAD)))).collect();
        self.time("a message to who has no state", strangers.len() as u64, async |hot| {
            hot.apply(&strangers).await;
        })
        .await;
        let tallies: Vec<_> =
            (0..20_000_u64).map(|n| self.tally(n % USERS, n / 100, u32::try_from(n).unwrap())).collect();
        self.time("a tally, an entry each", tallies.len() as u64, async |hot| {
            hot.apply_tallies(&tallies).await;
        })
        .await;
        self.time("the picture of 200 conversations", 1_000, async |hot| {
            for _ in 0..1_000 {
                hot.picture(uid(USERS), None).await.unwrap();
            }
        })
        .await;
        let version = readmark_domain::hot::Version::new(1_900).unwrap();
        let since = SyncToken { version, ..token };
        self.time("100 entries", 1_000, async |hot| {
            for _ in 0..1_000 {
                hot.entries(uid(USERS), &since, 100).await.unwrap();
            }
        })
        .await;
        let start = Instant::now();
        for user in 0..100 {
            self.hot.forget(uid(user)).await.unwrap();
            self.rebuild(user).await;
        }
        println!(
            "a rebuild of 200 conversations, without reading the store: {:.1} ms",
            start.elapsed().as_secs_f64() * 10.0
        );
    }

    /// One message to many, by the port and by the usual counter.
    async fn fan_out(&mut self) {
        self.reset().await;
        let id = conversation(7);
        let members = Arc::new(whole(HEAD));
        for user in 0..MEMBERS {
            let Begun::Rebuild(epoch) = self.hot.begin_rebuild(uid(user)).await.unwrap() else {
                panic!("no rebuild")
            };
            self.apply(&[told(user, &id, &members)]).await;
            self.hot.complete_rebuild(uid(user), &epoch).await.unwrap();
        }
        let start = Instant::now();
        for n in 1..=MESSAGES {
            let change = Arc::new(change(HEAD + n));
            let changes: Vec<_> = (0..MEMBERS).map(|user| told(user, &id, &change)).collect();
            self.apply(&changes).await;
        }
        let ours = MESSAGES as f64 / start.elapsed().as_secs_f64();
        let start = Instant::now();
        for _ in 0..MESSAGES {
            let mut pipeline = redis::pipe();
            for user in 0..MEMBERS {
                pipeline.cmd("HINCRBY").arg(format!("unread:{}", uid(user))).arg(id.as_str()).arg(1).ignore();
            }
            pipeline.exec_async(&mut self.admin).await.unwrap();
        }
        let plain = MESSAGES as f64 / start.elapsed().as_secs_f64();
        println!(
            "a group of {MEMBERS}: {ours:.0} messages/s, an entry for each member; {plain:.0} messages/s with HINCRBY alone"
        );
    }

    /// Bytes of the usual counter.
    async fn counter_memory(&mut self) {
        self.reset().await;
        let empty = self.used_bytes().await;
        for user in 0..USERS {
            let mut pipeline = redis::pipe();
            for n in 0..CONVERSATIONS {
                let key = format!("unread:{}", uid(user));
                pipeline.cmd("HINCRBY").arg(key).arg(conversation(n).as_str()).arg(3).ignore();
            }
            pipeline.exec_async(&mut self.admin).await.unwrap();
        }
        println!("bytes a user, a counter alone: {}", (self.used_bytes().await - empty) / USERS);
    }
}

#[tokio::main]
async fn main() {
    let url = std::env::args().nth(1).expect("the address of an empty Redis");
    let hot = RedisHot::open(&RedisOptions::new(&url, "load")).await.unwrap();
    let admin = redis::Client::open(url.as_str()).unwrap().get_multiplexed_async_connection().await.unwrap();
    let mut load = Load { hot, admin };
    for (name, entries, value) in [("Redis as it is", "128", "64"), ("longer listpacks", "512", "128")] {
        load.set("hash-max-listpack-entries", entries).await;
        load.set("hash-max-listpack-value", value).await;
        load.memory(name).await;
        load.counter_memory().await;
        load.times().await;
        load.fan_out().await;
    }
    load.reset().await;
}
