//! `docs/http.md` lists every call and every event of the OpenAPI document, and no other.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a panic is how a test fails")]

use readmark_test_docs::{in_backticks, text};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Fields that the page describes once for all events.
const SAID_ONCE: [&str; 2] = ["type", "version"];

fn description() -> Value {
    serde_json::from_str(&text("schemas/openapi.json")).expect("schemas/openapi.json is JSON")
}

/// The rows of the table below a heading, each cut into its cells.
fn rows(heading: &str) -> Vec<Vec<String>> {
    let page = text("docs/http.md");
    let section = page.split("\n## ").find(|section| section.starts_with(heading)).expect("the section");
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| row.trim_matches('|').split('|').map(str::to_owned).collect()).collect()
}

#[test]
fn every_call_is_listed() {
    let listed: BTreeSet<String> = rows("The calls")
        .iter()
        .flat_map(|cells| in_backticks(&cells[0]).into_iter().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let description = description();
    let paths = description["paths"].as_object().unwrap();
    let described: BTreeSet<String> = paths
        .iter()
        .flat_map(|(path, calls)| {
            calls.as_object().unwrap().keys().map(move |method| format!("{} {path}", method.to_uppercase()))
        })
        .collect();
    assert_eq!(listed, described);
}

#[test]
fn every_event_is_listed_with_its_fields() {
    let listed: BTreeMap<String, Vec<String>> =
        rows("The events").into_iter().map(|cells| (in_backticks(&cells[0])[0].to_owned(), cells)).collect();
    let description = description();
    let events = &description["components"]["schemas"]["Events"]["properties"]["events"]["items"]["oneOf"];
    let events = events.as_array().expect("every event");
    assert_eq!(listed.len(), events.len(), "{:?}", listed.keys());
    for event in events {
        let properties = event["properties"].as_object().unwrap();
        let name = properties["type"]["enum"][0].as_str().unwrap();
        let cells = listed.get(name).unwrap_or_else(|| panic!("{name} is not listed"));
        let needed = in_backticks(&cells[1]);
        let optional = in_backticks(&cells[2]);
        for field in properties.keys().map(String::as_str).filter(|field| !SAID_ONCE.contains(field)) {
            let is_listed = needed.contains(&field) || optional.contains(&field);
            assert!(is_listed, "{name}: {field} is not listed");
        }
        for field in event["required"].as_array().unwrap().iter().filter_map(Value::as_str) {
            assert!(SAID_ONCE.contains(&field) || needed.contains(&field), "{name}: {field} is needed");
        }
    }
}
