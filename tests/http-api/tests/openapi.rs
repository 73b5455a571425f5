//! The description of the calls, as it is kept in `schemas/`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use readmark_test_http_api::{Api, Token};
use serde_json::Value;
use std::path::Path;

#[tokio::test(start_paused = true)]
async fn the_description_is_the_one_in_schemas() {
    let answer = Api::default().get(Token::None, "/openapi.json").await;
    let served = answer.json();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/openapi.json");
    if std::env::var_os("READMARK_UPDATE").is_some() {
        std::fs::write(&path, serde_json::to_string_pretty(&served).unwrap() + "\n").unwrap();
    }
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert!(
        served == kept,
        "schemas/openapi.json is old: run this test with READMARK_UPDATE=1 and look at the change"
    );
    assert_eq!(served["openapi"], "3.1.0");
    for (path, method) in [
        ("/v1/events", "post"),
        ("/v1/acks", "post"),
        ("/v1/conversations/{id}/read", "post"),
        ("/v1/conversations/{id}/clear", "post"),
        ("/v1/settings", "put"),
        ("/v1/unread", "get"),
        ("/v1/sync", "get"),
        ("/v1/ws", "get"),
        ("/v1/conversations/{id}/messages/{seq}/receipt", "get"),
        ("/v1/conversations/{id}/messages/{seq}/readers", "get"),
        ("/v1/conversations/{id}/messages/{seq}/unread-members", "get"),
        ("/v1/receipts/query", "post"),
    ] {
        assert!(served["paths"][path][method].is_object(), "{method} {path} is described");
    }
}

/// Every reference leads somewhere, and no schema is empty.
#[tokio::test(start_paused = true)]
async fn the_description_is_whole() {
    let served = Api::default().get(Token::None, "/openapi.json").await.json();
    let mut references = Vec::new();
    collect(&served, &mut references);
    assert!(!references.is_empty());
    for reference in references {
        assert!(served.pointer(&reference).is_some(), "{reference} leads nowhere");
    }
    for (name, schema) in served["components"]["schemas"].as_object().unwrap() {
        let kinds = schema["anyOf"].as_array().map_or(std::slice::from_ref(schema), Vec::as_slice);
        for kind in kinds {
            let has_fields = kind["properties"].as_object().is_some_and(|fields| !fields.is_empty());
            assert!(has_fields, "{name} is empty");
        }
    }
    let events = &served["components"]["schemas"]["Events"]["properties"]["events"]["items"]["oneOf"];
    let types: Vec<&str> = events
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["properties"]["type"]["enum"][0].as_str())
        .collect();
    assert_eq!(types.len(), 10, "{types:?}");
}

fn collect(value: &Value, references: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field.as_str().and_then(|text| text.strip_prefix('#')) {
                    Some(pointer) if name == "$ref" => references.push(pointer.to_owned()),
                    _ => collect(field, references),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, references)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
