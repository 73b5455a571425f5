//! `schemas/frames.v1.json` and `schemas/asyncapi.json` are those of the program.
//!
//! `READMARK_UPDATE=1 cargo test -p readmark-gateway --test schemas` rewrites them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a panic is how a test fails")]

mod asyncapi;
mod frames;

use serde_json::Value;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas")
}

fn kept(file: &str) -> Value {
    let text = std::fs::read(folder().join(file)).unwrap_or_else(|error| panic!("schemas/{file}: {error}"));
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("schemas/{file}: {error}"))
}

/// Compared as values: the order of keys means nothing.
fn is_as_kept(file: &str, made: &Value) {
    if std::env::var_os("READMARK_UPDATE").is_some_and(|value| value == "1") {
        std::fs::write(folder().join(file), format!("{made:#}\n")).expect("the repository is writable");
    }
    assert!(
        kept(file) == *made,
        "schemas/{file} is old: READMARK_UPDATE=1 cargo test -p readmark-gateway --test schemas"
    );
}

#[test]
fn the_frames_are_those_of_the_types() {
    is_as_kept(frames::FILE, &frames::schema());
}

#[test]
fn the_description_is_that_of_the_topics_and_frames() {
    is_as_kept("asyncapi.json", &asyncapi::document());
}

/// Every reference leads somewhere, also those into other files.
#[test]
fn the_description_is_whole() {
    let document = asyncapi::document();
    let mut references = Vec::new();
    collect(&document, &mut references);
    assert!(references.len() > 20, "{references:?}");
    for reference in references {
        let (file, place) = reference.split_once('#').expect("a reference has a fragment");
        let target = if file.is_empty() { document.clone() } else { kept(file.trim_start_matches("./")) };
        assert!(target.pointer(place).is_some(), "{reference} leads nowhere");
    }
}

fn collect(value: &Value, references: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value.as_str().filter(|_| name == "$ref") {
                    Some(reference) => references.push(reference.to_owned()),
                    None => collect(value, references),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, references)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
