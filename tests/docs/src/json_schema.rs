//! Checks values against JSON Schemas, as far as the schema of the configuration needs it. A keyword that is not known
//! here is a fault, so that none is passed over in silence.

use serde_json::{Map, Value};

/// Keywords that say nothing about which values are right; `pattern` is looked at by the program alone.
const ANNOTATIONS: [&str; 6] = ["$schema", "title", "description", "default", "writeOnly", "pattern"];

/// What is wrong with a value, each with its place.
#[must_use]
pub fn faults(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, value, "", &mut found);
    found
}

fn check(schema: &Value, value: &Value, place: &str, found: &mut Vec<String>) {
    let schema = schema.as_object().unwrap_or_else(|| panic!("{place}: no schema: {schema}"));
    for (keyword, wanted) in schema {
        if !is_met(schema, keyword, wanted, value, place, found) {
            found.push(format!("{place}: {value} does not meet {keyword} {wanted}"));
        }
    }
}

fn is_met(
    schema: &Map<String, Value>,
    keyword: &str,
    wanted: &Value,
    value: &Value,
    place: &str,
    found: &mut Vec<String>,
) -> bool {
    match (keyword, wanted) {
        ("type", Value::String(name)) => name == type_of(value),
        ("const", _) => wanted == value,
        ("enum", Value::Array(allowed)) => allowed.contains(value),
        ("minimum", _) => value.as_i64() >= wanted.as_i64(),
        ("maximum", _) => value.as_i64() <= wanted.as_i64(),
        ("oneOf", Value::Array(choices)) => {
            choices.iter().filter(|one| faults(one, value).is_empty()).count() == 1
        }
        ("anyOf", Value::Array(choices)) => choices.iter().any(|one| faults(one, value).is_empty()),
        ("minItems", _) => value.as_array().is_none_or(|list| Some(list.len() as u64) >= wanted.as_u64()),
        ("items", _) => {
            for (at, one) in value.as_array().into_iter().flatten().enumerate() {
                check(wanted, one, &format!("{place}[{at}]"), found);
            }
            true
        }
        ("properties", Value::Object(properties)) => {
            for (name, one) in value.as_object().into_iter().flatten() {
                match properties.get(name) {
                    Some(of_property) => check(of_property, one, &format!("{place}.{name}"), found),
                    None if schema.get("additionalProperties") == Some(&Value::Bool(false)) => {
                        found.push(format!("{place}: there is no {name}"));
                    }
                    None => {}
                }
            }
            true
        }
        // Looked at together with `properties`.
        ("additionalProperties", Value::Bool(false)) => true,
        _ => ANNOTATIONS.contains(&keyword),
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
