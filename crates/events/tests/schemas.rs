//! The JSON Schemas in `schemas/` are those of the types: one file per topic.
//!
//! `READMARK_UPDATE=1 cargo test -p readmark-events --test schemas` rewrites them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may stop at what is impossible"
)]

use readmark_domain::fact::{AckFact, ConversationFact, MarkFact};
use readmark_events::{ConversationChanged, Fact, RECORD_VERSION, ReadChanged, Topic, header_name};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas")
}

fn file_name(topic: Topic) -> String {
    format!("{topic}.v{RECORD_VERSION}.json")
}

/// Compared as values: the order of keys means nothing.
fn read(path: &Path) -> Option<Value> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// The schema of what lies on a topic.
fn schema_of(topic: Topic) -> Value {
    match topic {
        Topic::ConversationEvents => of_facts::<ConversationFact>(),
        Topic::Acks => of_facts::<AckFact>(),
        Topic::Marks => of_facts::<MarkFact>(),
        Topic::ConversationChanged => of_facts::<ConversationChanged>(),
        Topic::ReadChanged => of_facts::<ReadChanged>(),
        Topic::DeadLetters => of_dead_letters(),
    }
}

fn of_facts<F: Fact + schemars::JsonSchema>() -> Value {
    let mut schema = schemars::schema_for!(F).to_value();
    schema["title"] = json!(format!("Record of the topic {}, version {RECORD_VERSION}", F::TOPIC));
    for kind in schema["oneOf"].as_array_mut().expect("facts are enums with a tag") {
        kind["properties"]["v"] = json!({
            "description": "Version of the record; absent means 1.",
            "type": "integer",
            "const": RECORD_VERSION,
        });
    }
    schema
}

/// A dead letter has the original's bytes; what is described is its headers.
fn of_dead_letters() -> Value {
    let text = |what: &str| json!({"type": "string", "description": what});
    let number = |what: &str| json!({"type": "string", "pattern": "^[0-9]+$", "description": what});
    let topics: Vec<&str> = Topic::ALL.iter().map(|topic| topic.as_str()).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Headers of the topic dead-letters, version 1",
        "description": "Key and payload are those of the original record.",
        "type": "object",
        "properties": {
            header_name::REASON: text("Why it is a dead letter, as a word."),
            header_name::DETAIL: text("Why, in words for people."),
            header_name::ROLE: text("Which role could not handle it."),
            header_name::SOURCE_TOPIC: {"type": "string", "enum": topics, "description": "Where it lay first."},
            header_name::SOURCE_PARTITION: number("Where it lay first."),
            header_name::SOURCE_OFFSET: number("Where it lay first."),
            header_name::ATTEMPTS: number("How often it was tried."),
            header_name::FIRST_FAILED_AT_MS: number("When it failed first, in milliseconds since 1970."),
            header_name::CUT_FROM_BYTES: number("Of a letter that holds the beginning of its record only: how large key, payload and headers were."),
        },
        "required": [
            header_name::REASON,
            header_name::ROLE,
            header_name::SOURCE_TOPIC,
            header_name::SOURCE_PARTITION,
            header_name::SOURCE_OFFSET,
            header_name::ATTEMPTS,
            header_name::FIRST_FAILED_AT_MS,
        ],
    })
}

#[test]
fn the_files_are_those_of_the_types() {
    let update = std::env::var_os("READMARK_UPDATE").is_some_and(|value| value == "1");
    let mut stale = Vec::new();
    for topic in Topic::ALL {
        let path = folder().join(file_name(topic));
        let schema = schema_of(topic);
        if update {
            std::fs::create_dir_all(folder()).expect("the repository is writable");
            std::fs::write(&path, format!("{schema:#}\n")).expect("the repository is writable");
        } else if read(&path) != Some(schema) {
            stale.push(file_name(topic));
        }
    }
    assert!(
        stale.is_empty(),
        "stale or missing in schemas/: {stale:?}; READMARK_UPDATE=1 cargo test -p readmark-events --test schemas"
    );
}

/// The kinds named by each topic are all kinds there are, under its tag.
#[test]
fn every_kind_is_in_the_schema() {
    fn check<F: Fact + schemars::JsonSchema>() {
        let schema = of_facts::<F>();
        let kinds = schema["oneOf"].as_array().expect("facts are enums with a tag").iter();
        let described: BTreeSet<&str> =
            kinds.map(|kind| kind["properties"][F::TAG]["const"].as_str().expect("has a tag")).collect();
        assert_eq!(described, F::KINDS.iter().copied().collect(), "{}", F::TOPIC);
    }
    check::<ConversationFact>();
    check::<AckFact>();
    check::<MarkFact>();
    check::<ConversationChanged>();
    check::<ReadChanged>();
}
