//! The commands in `docs/cli.md` print what the page says, beside a running server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a panic is how a test fails")]

use readmark_test_docs::text;
use readmark_test_harness::{DEADLINE, DataDir, Options, Server, binary, command, now_ms, wait_until};
use serde_json::json;
use std::fmt::Write;
use std::path::Path;

/// Digits of a time in milliseconds.
const TIME_DIGITS: usize = 13;
/// Digits of the version of a tally.
const VERSION_DIGITS: usize = 32;
/// Letters that every token begins with: `{"` in base64.
const TOKEN_BEGINS: &str = "eyJ";

/// Puts a name in place of what differs from run to run.
fn masked(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let mut masked = String::new();
    let mut word = String::new();
    let mut is_port = false;
    for c in text.chars().chain(['\n']) {
        if is_part(c) {
            word.push(c);
            continue;
        }
        let digits = word.chars().all(|c| c.is_ascii_digit());
        let shown = match word.len() {
            TIME_DIGITS if digits => "TIME",
            _ if digits && is_port => "PORT",
            VERSION_DIGITS if word.chars().all(|c| c.is_ascii_hexdigit()) => "VERSION",
            _ if word.starts_with(TOKEN_BEGINS) && word.split('.').count() == 3 => "TOKEN",
            _ => &word,
        };
        masked.push_str(shown);
        masked.push(c);
        is_port = word == "127.0.0.1" && c == ':';
        word.clear();
    }
    masked.trim_end().to_owned()
}

/// A small conversation: Ann has sent two messages, Bob has read both.
async fn seed(server: &Server) {
    let now = now_ms();
    let mut events: Vec<_> = [7, 8, 9]
        .map(|uid: u64| {
            json!({"type": "member_joined", "conversation_id": "lunch", "uid": uid.to_string(), "at_seq": "0",
                   "occurred_at": now})
        })
        .into();
    events.extend([1, 2].map(|seq: u64| {
        json!({"type": "message_sent", "conversation_id": "lunch", "seq": seq.to_string(),
               "msg_id": (900 + seq).to_string(), "sender_uid": "7", "occurred_at": now})
    }));
    server.as_service().events(&events).await;
    let read = json!({"up_to_seq": "2"});
    let _ = server
        .as_user(8, "phone")
        .post_until_answered("/v1/conversations/lunch/read", &read)
        .await
        .expect(202);
    let ann = server.as_user(7, "laptop");
    wait_until(DEADLINE, "Bob to be counted", || async {
        let reply = ann.get_until_answered("/v1/conversations/lunch/messages/2/receipt").await;
        if reply.json()["read"] == "1" { Ok(()) } else { Err(reply.to_string()) }
    })
    .await;
    // `receipted` is written after the receipts are in the log.
    wait_until(DEADLINE, "the mark to be done with", || async {
        let lag = readmark_test_harness::metrics::sum(&server.metrics().await, "readmark_consumer_lag", &[]);
        if lag == 0.0 { Ok(()) } else { Err(format!("lag {lag}")) }
    })
    .await;
}

/// Runs a command line and gives what it prints, stderr and stdout together.
fn run(line: &str, folder: &Path) -> String {
    let program = binary();
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let output = command("sh")
        .args(["-c", &format!("{{ {line}\n}} 2>&1")])
        .env("PATH", path)
        .current_dir(folder)
        .output();
    String::from_utf8(output.expect("sh can be started").stdout).expect("text")
}

#[tokio::test]
async fn the_commands_print_what_the_page_says() {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = DataDir::at(folder.path().join("readmark-data"));
    let server = Server::start(Options { data_dir, ..Options::default() }).await;
    seed(&server).await;
    let document = text("docs/cli.md");
    let mut page = String::new();
    let mut commands = 0;
    for (at, part) in document.split("```").enumerate() {
        let Some(block) = part.strip_prefix("console\n").filter(|_| at % 2 == 1) else {
            page.push_str(part);
            page.push_str("```");
            continue;
        };
        page.push_str("console\n");
        for line in block.lines().filter_map(|line| line.strip_prefix("$ ")) {
            commands += 1;
            let printed = run(line, folder.path());
            let trimmed: Vec<&str> = printed.lines().map(str::trim_end).collect();
            let _ = writeln!(page, "$ {line}\n{}", trimmed.join("\n").trim_end());
        }
        page.push_str("```");
    }
    let page = page.trim_end_matches("```");
    assert!(commands > 5, "the page has commands");
    if masked(page) != masked(&document) {
        let kept = std::env::temp_dir().join("readmark-cli.md");
        std::fs::write(&kept, page).unwrap();
        panic!(
            "docs/cli.md is old; what the commands print now is in {}: compare and copy it",
            kept.display()
        );
    }
}
