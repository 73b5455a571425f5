//! Data directories that can't be used, or only in part: a clear message, the right exit code, nothing lost.
#![allow(clippy::expect_used, clippy::panic, reason = "tests")]

use readmark_test_harness::{DEADLINE, DataDir, Options, Server, Start, now_ms, wait_until};
use readmark_test_kills::namespace::Namespace;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Room for the program's files and some messages.
const SMALL_DISK: &str = "12m";
/// Room enough afterwards.
const LARGER_DISK: &str = "256m";
/// Far more messages than the small disk can take.
const MOST_BATCHES: u64 = 2_000;
const BATCH: u64 = 200;

/// The program must end with 1 or 2 and say `words`.
async fn must_refuse(server: &Server, words: &[&str]) {
    let Start::Ended(status) = server.try_start().await else {
        panic!("readmark started on a directory that it must refuse")
    };
    let text = server.output().text();
    assert!(matches!(status.code(), Some(1 | 2)), "ended with {status}\n{text}");
    assert!(words.iter().any(|word| text.contains(word)), "none of {words:?} is said:\n{text}");
    assert!(!text.contains("panicked"), "{text}");
}

fn message(seq: u64) -> Value {
    json!({"type": "message_sent", "conversation_id": "c", "seq": seq.to_string(), "msg_id": seq.to_string(), "sender_uid": "7", "occurred_at": now_ms().to_string()})
}

async fn expect_head(server: &Server, at_least: u64) {
    let join = json!({"type": "member_joined", "conversation_id": "c", "uid": "8", "at_seq": "0", "occurred_at": now_ms().to_string()});
    server.as_service().events(&[join]).await;
    wait_until(DEADLINE, "what was accepted to be there", || async {
        let reply = server.as_service().try_send("GET", "/v1/unread?uid=8", &Value::Null).await?;
        let conversation = &reply.json()["conversations"][0];
        let number = |field: &str| conversation[field].as_str().and_then(|text| text.parse::<u64>().ok());
        let right = number("head_seq") >= Some(at_least) && number("unread") == number("head_seq");
        if right { Ok(()) } else { Err(format!("{reply}, must have at least {at_least}")) }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_newer_version() {
    let server = Server::fresh().await;
    server.terminate().await;
    let format = server.data_dir().join("FORMAT");
    let text = std::fs::read_to_string(&format).expect("the directory says its format");
    let newer = text.replace(|c: char| c.is_ascii_digit(), "9");
    assert_ne!(text, newer, "the format has a number: {text}");
    std::fs::write(&format, newer).expect("the format can be changed");
    must_refuse(&server, &["newer"]).await;
    std::fs::write(&format, text).expect("the format can be changed back");
    server.restart().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_use_by_another_process() {
    let first = Server::fresh().await;
    first.as_service().events(&[message(1)]).await;
    let listen_before = first.listen();
    // The second must not touch what belongs to the first, such as the file that says where it listens.
    let second =
        Server::stopped(Options { data_dir: DataDir::at(first.data_dir().to_owned()), ..Options::default() });
    let listen_file = first.data_dir().join("listen");
    let kept = std::fs::read(&listen_file).expect("the first says where it listens");
    must_refuse(&second, &["in use"]).await;
    std::fs::write(&listen_file, kept).expect("the test puts back what its own start took away");
    assert_eq!(first.listen(), listen_before);
    expect_head(&first, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn that_is_something_else() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(dir.path().join("holiday.jpg"), "not ours").expect("a file can be written");
    let server =
        Server::stopped(Options { data_dir: DataDir::at(dir.path().to_owned()), ..Options::default() });
    must_refuse(&server, &["no data directory"]).await;
    assert_eq!(
        std::fs::read_to_string(dir.path().join("holiday.jpg")).expect("it is still there"),
        "not ours"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn that_is_a_file() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("file");
    std::fs::write(&file, "text").expect("a file can be written");
    let server = Server::stopped(Options { data_dir: DataDir::at(file), ..Options::default() });
    must_refuse(&server, &["data directory"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn that_is_read_only() {
    let server = Server::fresh().await;
    server.as_service().events(&[message(1)]).await;
    server.terminate().await;
    let path = server.data_dir().display().to_string();
    let script = format!("mount --bind {path} {path}\nmount -o remount,bind,ro {path}");
    let options = Options { data_dir: DataDir::at(server.data_dir().to_owned()), ..Options::default() };
    let refused = match Namespace::new(&script) {
        Some(namespace) => {
            let refused = Server::stopped(Options { launcher: namespace.launcher(), ..options });
            must_refuse(&refused, &["read-only", "can't be written", "Read-only"]).await;
            refused
        }
        // Without a namespace: where nobody may write, not even root.
        None => {
            Server::stopped(Options { data_dir: DataDir::at(PathBuf::from("/proc/readmark")), ..options })
        }
    };
    if refused.data_dir() == Path::new("/proc/readmark") {
        must_refuse(&refused, &["data directory"]).await;
    }
    server.restart().await;
    expect_head(&server, 1).await;
}

/// A disk that fills up: what can't be made durable is not accepted, and what was accepted is there again
/// when there is room.
#[tokio::test(flavor = "multi_thread")]
async fn on_a_full_disk() {
    let mount_point = tempfile::tempdir().expect("a temporary directory");
    let path = mount_point.path();
    let script = format!("mount -t tmpfs -o size={SMALL_DISK} tmpfs {}", path.display());
    let Some(namespace) = Namespace::new(&script) else { return with_a_limit_of_file_size().await };
    let server = Server::stopped(Options {
        data_dir: DataDir::at(namespace.outside(&path.join("data"))),
        inner_data_dir: Some(path.join("data")),
        launcher: namespace.launcher(),
        ..Options::default()
    });
    server.restart().await;
    let accepted = fill(&server).await;
    println!("{accepted} messages accepted before the disk was full");
    namespace.run(&format!("mount -o remount,size={LARGER_DISK} {}", path.display()));
    if server.listen().is_some()
        && server.as_service().try_send("GET", "/healthz", &Value::Null).await.is_ok()
    {
        // It need not be restarted: once there is room it goes on.
        server.as_service().events(&[message(accepted + 1)]).await;
        server.kill();
    } else {
        let _ = server.ended().await;
    }
    server.restart().await;
    expect_head(&server, accepted).await;
    server.terminate().await;
}

/// The same where no namespace is permitted: the kernel refuses files beyond a size.
async fn with_a_limit_of_file_size() {
    let data_dir = DataDir::default();
    // In blocks of 512 bytes; the signal is ignored, so that writes fail as on a full disk.
    let limit = ["sh", "-c", "trap '' XFSZ; ulimit -f 12000; exec \"$@\"", "sh"].map(str::to_owned).to_vec();
    let limited =
        Server::stopped(Options { data_dir: data_dir.clone(), launcher: limit, ..Options::default() });
    limited.restart().await;
    let accepted = fill(&limited).await;
    if limited.listen().is_some()
        && limited.as_service().try_send("GET", "/healthz", &Value::Null).await.is_ok()
    {
        limited.kill();
    }
    let server = Server::start(Options { data_dir, ..Options::default() }).await;
    expect_head(&server, accepted).await;
}

/// Sends messages until none is accepted any more; returns the highest that was.
async fn fill(server: &Server) -> u64 {
    let mut accepted = 0;
    for batch in 0..MOST_BATCHES {
        let first = batch * BATCH + 1;
        let events: Vec<Value> = (first..first + BATCH).map(message).collect();
        match server.as_service().try_send("POST", "/v1/events", &json!({"events": events})).await {
            Ok(reply) if reply.status == 202 => accepted = first + BATCH - 1,
            Ok(reply) => {
                assert_eq!(reply.status, 503, "a full disk is a part that is away: {reply}");
                assert!(reply.header("retry-after").is_some(), "503 says when to try again");
                return accepted;
            }
            Err(error) => {
                println!("no answer: {error}");
                return accepted;
            }
        }
    }
    panic!("{accepted} messages fit a disk of {SMALL_DISK}");
}

/// A crash may leave more behind the end of a file than was ever committed: either that is cut off and all is
/// there, or the file is refused by name; and without it all is there.
#[tokio::test(flavor = "multi_thread")]
async fn with_more_behind_the_end_of_a_file() {
    let server = Server::fresh().await;
    let mut head = 0;
    for (file, more) in [("log.redb", 1), ("store.redb", 1), ("log.redb", 4_096), ("store.redb", 10_000)] {
        let events: Vec<Value> = (head + 1..=head + 50).map(message).collect();
        server.as_service().events(&events).await;
        head += 50;
        server.kill();
        let path = server.data_dir().join(file);
        let mut bytes = std::fs::read(&path).expect("the file can be read");
        let committed = bytes.len();
        bytes.resize(committed + more, 0xa5);
        std::fs::write(&path, &bytes).expect("the file can be written");
        if let Start::Ended(status) = server.try_start().await {
            let text = server.output().text();
            assert_eq!(status.code(), Some(1), "{text}");
            assert!(text.contains(file) && !text.contains("panicked"), "{text}");
            std::fs::write(&path, &bytes[..committed]).expect("the file can be written");
            server.restart().await;
        }
        expect_head(&server, head).await;
    }
}

/// A file that lost its end has lost data: that is said, not covered up.
#[tokio::test(flavor = "multi_thread")]
async fn with_a_file_cut_off() {
    let server = Server::fresh().await;
    let events: Vec<Value> = (1..=200).map(message).collect();
    server.as_service().events(&events).await;
    server.terminate().await;
    let log = server.data_dir().join("log.redb");
    let whole = std::fs::read(&log).expect("the log can be read");
    std::fs::write(&log, &whole[..whole.len() / 3]).expect("the log can be written");
    must_refuse(&server, &["log.redb", "damaged", "corrupt"]).await;
    std::fs::write(&log, whole).expect("the log can be written");
    server.restart().await;
    expect_head(&server, 200).await;
}

/// One file without the other would answer "0 unread" for what is lost.
#[tokio::test(flavor = "multi_thread")]
async fn that_has_lost_a_file() {
    let server = Server::fresh().await;
    server.as_service().events(&[message(1)]).await;
    expect_head(&server, 1).await;
    server.terminate().await;
    for file in ["log.redb", "store.redb"] {
        let path = server.data_dir().join(file);
        let aside = server.data_dir().join("aside");
        std::fs::rename(&path, &aside).expect("the file can be moved");
        must_refuse(&server, &["lost", file]).await;
        std::fs::rename(&aside, &path).expect("the file can be moved back");
    }
    server.restart().await;
    expect_head(&server, 1).await;
}
