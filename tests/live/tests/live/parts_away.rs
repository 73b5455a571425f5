//! Redis, Kafka and Cassandra away, one after the other, while devices are connected: what goes on, what is refused and
//! how, and that everything is right afterwards, without any process being started again.

use readmark_test_harness::{
    DEADLINE, Options, Part, Reply, Server, Services, Signal, signal, token, wait_for_answers, wait_until,
};
use readmark_test_live::life::shows;
use readmark_test_live::{Heard, Phone, Wire, World, joined, message};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Place of this test's parts among those of all tests.
const SERVICES: u16 = 5;
const PROCESSES: [&str; 3] = ["gateway,query", "gateway,query", "catalog,aggregator,watermark,notifier"];
/// A part that is away is noticed, and one that is back is used again, within this time.
const NOTICED_WITHIN: Duration = Duration::from_secs(60);
/// Questions asked of each kind while a part is away.
const ASKED: usize = 8;
/// The group: a sender, readers, and one who never reads and so knows what is unread.
const SENDER: u64 = 7;
const READER: u64 = 8;
const IDLE: u64 = 9;
const ID: &str = "c";

/// What is looked at while a part is away.
struct Stage {
    server: Server,
    services: Arc<Services>,
    world: Arc<World>,
    phones: Vec<Phone>,
    /// A bare connection: the same one from the first part's end to the last one's return.
    wire: Wire,
    head: u64,
}

impl Stage {
    async fn set() -> Self {
        let services = tokio::task::spawn_blocking(|| Arc::new(Services::own(SERVICES))).await.unwrap();
        let server = Server::start(Options::full_on(&services).processes(&PROCESSES)).await;
        let world = World::of(&server).await;
        joined(&server, ID, &[SENDER, READER, IDLE]).await;
        for uid in [SENDER, READER, IDLE] {
            let join = json!({"type": "member_joined", "conversation_id": ID, "uid": uid.to_string(), "at_seq": "0", "occurred_at": "1"});
            world.oracle().event(&join);
        }
        let phones = [SENDER, READER, IDLE].into_iter().enumerate();
        let phones = phones.map(|(n, uid)| Phone::connect(&world, uid, "phone", n)).collect();
        let token = token::user(&server.secret(), IDLE, "bare");
        let mut wire = Wire::open(server.listen().unwrap(), &token).await.ok().unwrap();
        wire.hello(None).await;
        let mut stage = Self { server, services, world, phones, wire, head: 0 };
        stage.says(&[]).await;
        stage.is_right().await;
        stage
    }

    async fn part(&self, call: impl FnOnce(&Services) + Send + 'static) {
        let services = Arc::clone(&self.services);
        tokio::task::spawn_blocking(move || call(&services)).await.expect("no panic");
    }

    /// The part is gone, and the first process says that it misses it.
    async fn goes_away(&self, part: Part, named: &str) {
        self.part(move |services| services.kill(part)).await;
        let process = &self.server.processes()[0];
        wait_until(NOTICED_WITHIN, &format!("{named} to be missed"), || async {
            let missing = process.missing().await;
            if missing.iter().any(|part| part == named) {
                Ok(())
            } else {
                Err(format!("missing: {missing:?}"))
            }
        })
        .await;
    }

    /// It is back: every process is ready again, and every device right.
    async fn comes_back(&mut self, part: Part) {
        self.part(move |services| services.start(part)).await;
        let began = Instant::now();
        for process in self.server.processes() {
            process.ready().await;
        }
        let ready = began.elapsed();
        self.says(&[READER]).await;
        self.is_right().await;
        println!(
            "{part:?} is back: all are ready after {ready:.1?}, all devices right after {:.1?}",
            began.elapsed()
        );
    }

    /// A message, and these users read it; everything is sent again until it is accepted.
    async fn says(&mut self, readers: &[u64]) {
        self.head += 1;
        let sent = message(ID, SENDER, self.head);
        self.server.as_service().events(std::slice::from_ref(&sent)).await;
        self.world.oracle().event(&sent);
        for uid in readers {
            let path = format!("/v1/conversations/{ID}/read");
            let body = json!({"up_to_seq": self.head.to_string()});
            let _ = self.server.as_user(*uid, "phone").post_until_answered(&path, &body).await.expect(202);
            self.world.oracle().read(ID, *uid, self.head);
        }
    }

    /// Every device and every answer is as the facts are.
    async fn is_right(&self) {
        wait_until(NOTICED_WITHIN, "the devices to be right", || async {
            self.world.assert_no_faults();
            let oracle = self.world.oracle();
            let wrong: Vec<String> = self
                .phones
                .iter()
                .flat_map(|phone| {
                    let device = phone.device();
                    shows(&oracle, phone.uid, &device.rows, device.totals)
                })
                .collect();
            if !wrong.is_empty() {
                return Err(wrong.join("\n"));
            }
            let sender = self.phones[0].device();
            for seq in 1..=self.head {
                let counts = oracle.counts(ID, seq);
                let shown = sender.tallies.get(&(ID.to_owned(), seq)).map_or(0, |shown| shown.read);
                if shown != counts.read {
                    return Err(format!("the sender is shown {shown} readers of {seq}, must be {counts:?}"));
                }
            }
            Ok(())
        })
        .await;
        let oracle = self.world.oracle().clone();
        wait_for_answers(&self.server, &oracle).await;
    }

    /// The bare connection still is there, and answers.
    async fn socket_stays(&mut self) {
        self.wire.say(&json!({"type": "ping"})).await;
        loop {
            match self.wire.hear().await {
                Heard::Frame(frame) if frame["type"] == "pong" => return,
                Heard::Frame(_) | Heard::Ping => {}
                end @ (Heard::Closed(_) | Heard::Cut(_)) => panic!("the socket did not stay: {end:?}"),
            }
        }
    }

    /// What is unread of who never reads: the truth or "not now", never less.
    async fn unread_is_right_or_refused(&self, must_answer: bool) {
        let (mut answered, unread) = (0, self.head.to_string());
        let (began, mut longest) = (Instant::now(), Duration::ZERO);
        for n in 0..ASKED {
            let path = if n % 2 == 0 { "/v1/unread" } else { "/v1/sync" };
            let asked = Instant::now();
            let reply = self.server.as_user(IDLE, "phone").get(path).await;
            longest = longest.max(asked.elapsed());
            if is_refused_for_now(&reply) {
                continue;
            }
            let answer = reply.expect(200).json();
            let answer = if n % 2 == 0 { &answer } else { &answer["snapshot"] };
            assert_eq!(answer["total"], unread.as_str(), "{path}: {answer}");
            answered += 1;
        }
        assert!(answered == ASKED || !must_answer, "{answered} of {ASKED} are answered");
        let took = began.elapsed() / ASKED as u32;
        println!("unread: {answered} of {ASKED} are answered, after {took:.1?} each, {longest:.1?} at most");
    }
}

/// Sent again it may succeed, and the answer says when.
fn is_refused_for_now(reply: &Reply) -> bool {
    reply.status == 503 && reply.retry_after_s().is_some_and(|after_s| after_s >= 1)
}

async fn without_redis(stage: &mut Stage) {
    stage.goes_away(Part::Redis, "hot").await;
    stage.socket_stays().await;
    stage.unread_is_right_or_refused(true).await;
    // Acks go on, by HTTP and over connections, and senders can ask.
    let began = Instant::now();
    stage.says(&[READER]).await;
    let ack = json!({"type": "ack", "id": "a", "conversation_id": ID, "messages": [{"seq": "1"}]});
    let token = token::user(&stage.server.secret(), READER, "bare");
    let mut wire = Wire::open(stage.server.listen().unwrap(), &token).await.ok().unwrap();
    wire.hello(None).await;
    assert_eq!(wire.ask(&ack).await["type"], "ok");
    println!("without Redis a message and its acks are accepted after {:.1?}", began.elapsed());
    wait_until(DEADLINE, "the receipt, asked for", || async {
        let path = format!("/v1/conversations/{ID}/messages/{}/receipt", stage.head);
        let answer = stage.server.as_user(SENDER, "phone").try_send("GET", &path, &Value::Null).await?.json();
        if answer["read"] == "1" { Ok(()) } else { Err(answer.to_string()) }
    })
    .await;
    // Who says hello meanwhile is shown what the store knows.
    let token = token::user(&stage.server.secret(), IDLE, "new");
    let mut wire = Wire::open(stage.server.listen().unwrap(), &token).await.ok().unwrap();
    wire.hello(None).await;
    let shown = wire.frame_of("snapshot").await;
    assert_eq!(shown["snapshot"]["total"], stage.head.to_string().as_str(), "{shown}");
    stage.comes_back(Part::Redis).await;
    stage.socket_stays().await;
    // And is told the rest on the same connection.
    let head = stage.head.to_string();
    loop {
        let frame = wire.frame().await;
        let entries = frame["entries"].as_array().into_iter().flatten();
        let rows = frame["snapshot"]["conversations"].as_array().into_iter().flatten();
        if entries.chain(rows).any(|row| row["head_seq"] == head.as_str() && row["unread"] == head.as_str()) {
            return;
        }
    }
}

async fn without_kafka(stage: &mut Stage) {
    stage.goes_away(Part::Kafka, "log").await;
    stage.socket_stays().await;
    // What would have to be durable is refused, in time, and says when to come back.
    let (reader, service) = (stage.server.as_user(READER, "phone"), stage.server.as_service());
    let read = format!("/v1/conversations/{ID}/read");
    let (acks, marks) =
        (json!({"conversation_id": ID, "messages": [{"seq": "1"}]}), json!({"up_to_seq": "1"}));
    let events = json!({"events": [message(ID, SENDER, stage.head + 1)]});
    let (acked, marked, told) = tokio::join!(
        reader.post("/v1/acks", &acks),
        reader.post(&read, &marks),
        service.post("/v1/events", &events)
    );
    for reply in [acked, marked, told] {
        assert!(is_refused_for_now(&reply), "{reply}");
    }
    let frame = json!({"type": "read", "id": "r", "conversation_id": ID, "up_to_seq": "1"});
    let refused = stage.wire.ask(&frame).await;
    assert_eq!((&refused["type"], &refused["status"]), (&json!("error"), &json!(503)), "{refused}");
    assert!(refused["retry_after_s"].as_u64().is_some_and(|after_s| after_s >= 1), "{refused}");
    // What is known is answered; a refusal can't be made sure of.
    stage.unread_is_right_or_refused(true).await;
    let receipt = format!("/v1/conversations/{ID}/messages/1/receipt");
    let answer = stage.server.as_user(SENDER, "phone").get(&receipt).await.expect(200);
    assert_eq!(answer.json()["total"], "2", "{answer}");
    let unknown =
        stage.server.as_user(SENDER, "phone").get("/v1/conversations/nowhere/messages/1/receipt").await;
    assert!(is_refused_for_now(&unknown), "not sure that it is unknown: {unknown}");
    stage.socket_stays().await;
    stage.comes_back(Part::Kafka).await;
    stage.socket_stays().await;
}

/// A device that says hello while neither the hot state nor the store answers is greeted when one of them does.
async fn goes_on_once_it_can(stage: &Stage, token: &str) {
    let bearer = token::user(&stage.server.secret(), IDLE, "patient");
    let mut wire = Wire::open(stage.server.listen().unwrap(), &bearer).await.ok().unwrap();
    // Stopped, not killed: Redis keeps what it has, and the token stays good.
    stage.part(|services| signal(services.pid(Part::Redis), Signal::STOP)).await;
    wire.hello(Some(token)).await;
    wire.say(&json!({"type": "ping"})).await;
    let first = wire.frame().await;
    stage.part(|services| signal(services.pid(Part::Redis), Signal::CONT)).await;
    assert_eq!(first, json!({"type": "pong"}), "nothing can be said yet");
    assert_eq!(wire.frame().await, json!({"type": "ready", "token": token}));
}

async fn without_cassandra(stage: &mut Stage) {
    stage.goes_away(Part::Cassandra, "store").await;
    stage.socket_stays().await;
    let sender = stage.server.as_user(SENDER, "phone");
    for path in ["receipt", "readers", "unread-members"] {
        let reply = sender.get(&format!("/v1/conversations/{ID}/messages/1/{path}")).await;
        assert!(is_refused_for_now(&reply), "{path}: {reply}");
    }
    let several = json!({"messages": [{"conversation_id": ID, "seq": "1"}]});
    let reply = sender.post("/v1/receipts/query", &several).await;
    assert!(is_refused_for_now(&reply), "{reply}");
    // Devices are told from the hot state, which knows all that was told.
    stage.unread_is_right_or_refused(true).await;
    let token = token::user(&stage.server.secret(), IDLE, "new");
    let mut wire = Wire::open(stage.server.listen().unwrap(), &token).await.ok().unwrap();
    wire.hello(None).await;
    let snapshot = wire.frame().await;
    assert_eq!(snapshot["snapshot"]["total"], stage.head.to_string().as_str());
    goes_on_once_it_can(stage, snapshot["token"].as_str().unwrap()).await;
    // Whether somebody may read is in the store: an ack is accepted, or refused for now, and never for good.
    let acks = json!({"conversation_id": ID, "messages": [{"seq": "1"}]});
    for uid in [READER, 99] {
        let reply = stage.server.as_user(uid, "phone").post("/v1/acks", &acks).await;
        assert!(reply.status == 202 && uid == READER || is_refused_for_now(&reply), "{reply}");
    }
    // What the IM says goes into the log, and waits there for the store.
    let sent = message(ID, SENDER, stage.head + 1);
    stage.server.as_service().events(std::slice::from_ref(&sent)).await;
    stage.world.oracle().event(&sent);
    stage.head += 1;
    stage.socket_stays().await;
    stage.comes_back(Part::Cassandra).await;
    stage.socket_stays().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_part_may_go_away_and_come_back() {
    let mut stage = Stage::set().await;
    without_redis(&mut stage).await;
    without_kafka(&mut stage).await;
    without_cassandra(&mut stage).await;
}
