//! `readmark dead-letters` and `readmark replay`: through the running process, on the files of one that has ended, and
//! on Kafka and Cassandra; with consent, without, and at a terminal.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use readmark_test_harness::{DEADLINE, Operated, Options, Server, now_ms, wait_until};
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Stdio};

/// No letter is there.
const NOWHERE: &str = "0:999999";

/// The dead letters that match, as listed.
async fn letters(server: &Server, filters: &[&str]) -> Vec<Value> {
    let arguments = [&["dead-letters", "list", "--format", "json"], filters].concat();
    let listed = server.operate(&arguments).await.expect(0).json();
    listed["dead_letters"].as_array().unwrap().clone()
}

fn name(letter: &Value) -> &str {
    letter["letter"].as_str().unwrap()
}

/// Four records that are no facts, and the letters that become of them.
async fn with_four_letters(server: &Server) -> Vec<Value> {
    for _ in 0..4 {
        server.put_record("acks", "7", b"\xff no fact").await;
    }
    wait_until(DEADLINE, "a letter for each record", || async {
        let found = letters(server, &["--state", "open", "--reason", "malformed"]).await;
        if found.len() == 4 { Ok(found) } else { Err(format!("{found:#?}")) }
    })
    .await
}

/// Runs a command at a terminal, where somebody types a line.
fn at_a_terminal(server: &Server, arguments: &[&str], typed: &str) -> Operated {
    let operator = server.operator(arguments);
    let words = std::iter::once(operator.get_program()).chain(operator.get_args());
    let line: Vec<String> = words.map(|word| format!("'{}'", word.to_str().unwrap())).collect();
    let mut terminal = Command::new("script");
    terminal.args(["--quiet", "--return", "--command", &line.join(" "), "/dev/null"]);
    terminal.envs(operator.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut running = terminal.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    running.stdin.take().unwrap().write_all(format!("{typed}\n").as_bytes()).unwrap();
    Operated::of(&running.wait_with_output().unwrap())
}

async fn dead_letters(server: &Server) {
    let found = with_four_letters(server).await;
    let shown = server.operate(&["dead-letters", "show", name(&found[0])]).await.expect(0);
    assert!(shown.stdout.contains("malformed") && shown.stdout.contains("acks"), "{shown:?}");
    let part = server.operate(&["dead-letters", "show", name(&found[0]), NOWHERE]).await.expect(3);
    assert!(part.stderr.contains(NOWHERE), "{part:?}");
    let _ = server.operate(&["dead-letters", "list", "--reason", "applause"]).await.expect(2);
    assert!(letters(server, &["--reason", "wrong-key"]).await.is_empty());

    for verb in ["redrive", "drop"] {
        let refused = server.operate(&["dead-letters", verb]).await.expect(2);
        assert!(refused.stderr.contains("--yes"), "{refused:?}");
        let counted =
            server.operate(&["dead-letters", verb, "--dry-run", "--format", "json"]).await.expect(0);
        let counted = counted.json();
        assert_eq!(json!([counted["matched"], counted["done"]]), json!(["4", "0"]), "{counted:#}");
    }
    assert_eq!(letters(server, &["--state", "open"]).await.len(), 4, "nothing was done yet");

    let part = server.operate(&["dead-letters", "drop", "--yes", name(&found[0]), NOWHERE]).await.expect(3);
    assert!(part.stderr.contains(NOWHERE), "{part:?}");
    let _ = server.operate(&["dead-letters", "drop", "--yes", NOWHERE]).await.expect(1);

    let no = at_a_terminal(server, &["dead-letters", "drop"], "n").expect(1);
    assert!(
        no.stdout.contains("Drop 3 dead letter(s)? [y/N]") && no.stdout.contains("nothing was done"),
        "{no:?}"
    );
    assert_eq!(letters(server, &["--state", "open"]).await.len(), 3);
    let yes = at_a_terminal(server, &["dead-letters", "drop", name(&found[1])], "y").expect(0);
    assert!(yes.stdout.contains("Drop 1 dead letter(s)? [y/N]"), "{yes:?}");
    let rest = server.operate(&["dead-letters", "drop", "--yes", "--format", "json"]).await.expect(0).json();
    assert_eq!((&rest["done"], &rest["complete"]), (&json!("2"), &json!(true)), "{rest:#}");
    assert_eq!(letters(server, &["--state", "dropped"]).await.len(), 4);
}

/// A message of a group of two that is read.
async fn one_receipt(server: &Server) {
    let now = now_ms().to_string();
    let join = |uid: &str| json!({"type": "member_joined", "conversation_id": "c", "uid": uid, "at_seq": "0", "occurred_at": now});
    let sent = json!({"type": "message_sent", "conversation_id": "c", "seq": "1", "msg_id": "901", "sender_uid": "7", "occurred_at": now});
    let acked = json!({"type": "acked", "uid": "8", "endpoint": "phone", "conversation_id": "c",
                       "messages": [{"seq": "1", "sender_uid": "7"}], "occurred_at": now});
    server.as_service().events(&[join("7"), join("8"), sent, acked]).await;
    wait_until(DEADLINE, "the receipt to be told", || async {
        let told = server.topic("read-changed").await;
        let is_told = told.iter().any(|record| record.json()["kind"] == "message_read");
        if is_told { Ok(()) } else { Err(format!("{} records", told.len())) }
    })
    .await;
}

async fn replays(server: &Server) {
    one_receipt(server).await;
    let acks = async || server.topic("acks").await.len();
    let before = acks().await;
    let of_c = ["replay", "--topic", "acks", "--from-time=-1h", "--conversation", "c", "--format", "json"];
    let counted = server.operate(&[&of_c[..], &["--dry-run"]].concat()).await.expect(0).json();
    let matched: usize = counted["matched"].as_str().unwrap().parse().unwrap();
    assert!(matched >= 1 && counted["sent"] == "0" && counted["complete"] == true, "{counted:#}");
    assert_eq!(acks().await, before, "a dry run sends nothing");

    let refused = server.operate(&of_c).await.expect(2);
    assert!(refused.stderr.contains("--yes"), "{refused:?}");
    let no = at_a_terminal(server, &["replay", "--topic", "acks", "--from-time=-1h"], "").expect(1);
    assert!(no.stdout.contains("record(s) of acks again? [y/N]"), "{no:?}");
    assert_eq!(acks().await, before);

    let sent = server.operate(&[&of_c[..], &["--yes"]].concat()).await.expect(0).json();
    assert_eq!(sent["sent"], matched.to_string(), "{sent:#}");
    assert_eq!(acks().await, before + matched);
    let again = server.operate(&[&of_c[..], &["--yes"]].concat()).await.expect(0).json();
    assert_eq!(
        (&again["sent"], &again["repeats"]),
        (&sent["sent"], &sent["sent"]),
        "a repeat is not repeated"
    );

    for wrong in [
        &["--topic", "applause", "--from-time=-1h"][..],
        &["--topic", "dead-letters", "--from-time=-1h"],
        &["--topic", "acks"],
        &["--topic", "acks", "--from-offset", "0:0,0:1"],
        &["--topic", "acks", "--from-offset", "77:0"],
        &["--topic", "acks", "--from-time=-1h", "--rate", "0"],
    ] {
        let arguments = [&["replay", "--yes"], wrong].concat();
        let _ = server.operate(&arguments).await.expect(2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_running_server_and_of_its_files() {
    let server = Server::fresh().await;
    replays(&server).await;
    dead_letters(&server).await;
    server.terminate().await;
    assert_eq!(letters(&server, &["--state", "dropped"]).await.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn on_kafka_and_cassandra() {
    let server = Server::start(Options::full()).await;
    replays(&server).await;
    dead_letters(&server).await;
    server.terminate().await;
}
