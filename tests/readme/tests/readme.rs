//! The `sh` blocks of the README, run in order in one shell, each compared with the `json` or `text` block that
//! follows it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a panic is how a test fails")]

use readmark_test_harness::{Services, binary, command};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Ends the output of a block.
const MARK: &str = "=== end of block ===";
/// How long all blocks may take, in seconds: starting Kafka and Cassandra is the most of it, on a busy machine.
const WITHIN_S: u32 = 300;
/// The place of the set of outside parts that the README starts and stops, among those of all tests.
const SERVICES: u16 = 8;

/// A command block and what it must print.
#[derive(Debug)]
struct Example {
    line: usize,
    commands: String,
    /// Language and content of the block that follows.
    prints: Option<(String, String)>,
}

fn examples(document: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut block: Option<(usize, &str, String)> = None;
    for (number, line) in document.lines().enumerate() {
        match (line.strip_prefix("```"), block.take()) {
            (Some(language), None) => block = Some((number + 1, language.trim(), String::new())),
            (Some(_), Some((at, "sh", commands))) => {
                examples.push(Example { line: at, commands, prints: None })
            }
            (Some(_), Some((_, language @ ("json" | "text"), content))) => {
                if let Some(last) = examples.last_mut().filter(|last| last.prints.is_none()) {
                    last.prints = Some((language.to_owned(), content));
                }
            }
            (Some(_), Some(_)) | (None, None) => {}
            (None, Some((at, language, content))) => block = Some((at, language, content + line + "\n")),
        }
    }
    examples
}

/// Runs all blocks in one shell; gives what each has printed.
fn run(examples: &[Example]) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let services = Services::own(SERVICES);
    // What names the set of parts to `scripts/services` is no configuration of readmark.
    let names = services.variables().map(|(name, _)| name).join(" ");
    let program = format!("#!/bin/sh\nunset {names}\nexec '{}' \"$@\"\n", binary().display());
    let file = folder.path().join("readmark");
    std::fs::write(&file, program).expect("a program can be written");
    std::fs::set_permissions(&file, Permissions::from_mode(0o755)).expect("it can be run");
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap_or_default());
    let mut script = "set -e -o pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || :' EXIT\n".to_owned();
    for example in examples {
        writeln!(script, "{}\necho '{MARK}'", example.commands).unwrap();
    }
    let mut shell = command("timeout")
        .args(["--kill-after=5", &WITHIN_S.to_string(), "bash", "-s"])
        .env("PATH", path)
        .env("TMPDIR", folder.path())
        .envs(services.variables())
        .current_dir(repository())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("bash can be started");
    // A heredoc in the script is read by the shell itself, so the whole script goes in at once.
    shell.stdin.take().unwrap().write_all(script.as_bytes()).expect("bash reads the script");
    let done = shell.wait_with_output().expect("bash ends");
    let (printed, errors) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    let blocks: Vec<String> = printed.split(&format!("{MARK}\n")).map(str::to_owned).collect();
    assert!(
        done.status.success(),
        "the block of line {} failed with {}:\n{}\n{errors}",
        examples.get(blocks.len() - 1).map_or(0, |example| example.line),
        done.status,
        blocks.last().map_or("", String::as_str),
    );
    blocks
}

/// Values that differ from run to run, by the names of their fields.
const VARIES: [&str; 3] = ["version", "tally_version", "token"];

fn steady(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let field = |(name, value): (String, Value)| {
                let value = if VARIES.contains(&name.as_str()) { Value::from("…") } else { steady(value) };
                (name, value)
            };
            Value::Object(fields.into_iter().map(field).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(steady).collect()),
        Value::String(text) => Value::String(steady_text(&text)),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_)) => other,
    }
}

/// Versions (32 digits, hexadecimal) and times (13 digits) become marks.
fn steady_text(text: &str) -> String {
    let mut steady = String::new();
    for word in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let bare = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_version = bare.len() == 32 && bare.bytes().all(|b| b.is_ascii_hexdigit());
        let is_time = bare.len() == 13 && bare.bytes().all(|b| b.is_ascii_digit());
        let mark = if is_version {
            "<version>"
        } else if is_time {
            "<time>"
        } else {
            bare
        };
        steady.push_str(mark);
        steady.push_str(&word[bare.len()..]);
    }
    steady
}

fn documents(text: &str) -> Vec<Value> {
    let documents = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    documents.map(|document| steady(document.unwrap_or_else(|e| panic!("no JSON: {e}\n{text}")))).collect()
}

fn lines(text: &str) -> Vec<String> {
    text.trim().lines().map(|line| steady_text(line.trim_end())).collect()
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn every_command_prints_what_is_shown() {
    let readme = std::fs::read_to_string(repository().join("README.md"));
    let examples = examples(&readme.expect("the README can be read"));
    assert!(examples.len() > 5, "the README has commands to run: {}", examples.len());
    let printed = run(&examples);
    for (example, printed) in examples.iter().zip(printed) {
        match &example.prints {
            None => assert!(
                printed.trim().is_empty(),
                "line {} prints, and nothing is shown:\n{printed}",
                example.line
            ),
            Some((language, shown)) if language == "json" => {
                assert_eq!(documents(&printed), documents(shown), "line {}:\n{printed}", example.line);
            }
            Some((_, shown)) => {
                assert_eq!(lines(&printed), lines(shown), "line {}:\n{printed}", example.line)
            }
        }
    }
}

#[test]
fn blocks_are_found_and_values_that_vary_are_not_compared() {
    let found = examples(
        "text\n```sh\na\nb\n```\nmore\n```json\n{}\n```\n```console\nx\n```\n```sh\nc\n```\n```text\nd\n```\n",
    );
    assert_eq!(found.len(), 2);
    assert_eq!((found[0].line, found[0].commands.as_str()), (2, "a\nb\n"));
    assert_eq!(found[0].prints, Some(("json".to_owned(), "{}\n".to_owned())));
    assert_eq!(found[1].prints, Some(("text".to_owned(), "d\n".to_owned())));
    assert_eq!(documents(r#"{"version":"1","n":2}"#), documents(r#"{ "version":"2", "n":2}"#));
    assert_ne!(documents(r#"{"version":"1","n":2}"#), documents(r#"{"version":"1","n":3}"#));
    assert_eq!(lines("sent  1795979969000\n"), lines("sent  1795979969001"));
    assert_ne!(lines("sent  1"), lines("sent  2"));
}
