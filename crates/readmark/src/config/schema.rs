//! The configuration as a JSON Schema, for editors and for those who check files before they are used.

use super::check::RANGES;
use super::keys::Config;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// The schema of a TOML file, read as JSON.
pub(crate) fn schema() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    let mut schema = settings.into_generator().into_root_schema_for::<Config>().to_value();
    schema["title"] = json!("Configuration of readmark");
    tidy(&mut schema);
    for range in RANGES {
        let pointer = format!("/properties/{}", range.key.replace('.', "/properties/"));
        if let Some(key) = schema.pointer_mut(&pointer) {
            key["minimum"] = json!(range.ends.start());
            key["maximum"] = json!(range.ends.end());
        }
    }
    schema
}

/// A key without a value is left out, so there is no `null`; and the defaults of a section are those of its keys.
fn tidy(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    fields.remove("format");
    fields.retain(|name, value| name != "default" || !(value.is_null() || value.is_object()));
    if let Some(Value::String(words)) = fields.get_mut("description") {
        *words = words.replace('\n', " ");
    }
    without_null(fields);
    for (keyword, value) in fields {
        match (keyword.as_str(), value) {
            // Names of keys, which may be words of schemas as well.
            ("properties", Value::Object(keys)) => keys.values_mut().for_each(tidy),
            ("anyOf" | "oneOf", Value::Array(choices)) => choices.iter_mut().for_each(tidy),
            ("items", items) => tidy(items),
            _ => {}
        }
    }
}

fn without_null(fields: &mut Map<String, Value>) {
    if let Some(Value::Array(values)) = fields.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        types.retain(|one| one != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            fields.insert("type".to_owned(), only);
        }
    }
    let Some(Value::Array(mut choices)) = fields.remove("anyOf") else { return };
    choices.retain(|choice| choice.get("type") != Some(&json!("null")));
    match choices.as_mut_slice() {
        [Value::Object(only)] => {
            // What is said of the key says more than what is said of its type.
            let of_type = std::mem::take(only);
            for (name, value) in of_type {
                fields.entry(name).or_insert(value);
            }
        }
        _ => {
            fields.insert("anyOf".to_owned(), Value::Array(choices));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(schema: &Value, path: &str, found: &mut Vec<(String, Value)>) {
        let properties = schema["properties"].as_object().expect("a section has keys");
        for (name, key) in properties {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            match key["type"] == "object" {
                true => keys(key, &path, found),
                false => found.push((path, key.clone())),
            }
        }
    }

    #[test]
    fn every_key_is_described_and_no_other_is_allowed() {
        let schema = schema();
        let mut found = Vec::new();
        keys(&schema, "", &mut found);
        assert!(found.len() > 40, "{found:?}");
        for (key, schema) in &found {
            assert!(schema["description"].is_string(), "{key} has no description");
        }
        assert!(!schema.to_string().contains("null"), "{schema:#}");
        assert_eq!(schema["additionalProperties"], json!(false));
        for range in RANGES {
            let (_, key) = found.iter().find(|(key, _)| key == range.key).expect("a range is of a key");
            assert_eq!(key["minimum"], json!(range.ends.start()), "{}", range.key);
        }
    }
}
