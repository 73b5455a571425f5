//! The frames of `/v1/ws` as one JSON Schema: a definition for each direction, one for each frame.

use readmark_gateway::live::{client_frame_schema, server_frame_schema};
use serde_json::{Map, Value, json};

pub const FILE: &str = "frames.v1.json";

/// Names of the frames of one direction, as their `type` has them.
pub fn types(direction: &Value) -> Vec<String> {
    let kinds = direction["oneOf"].as_array().expect("frames are enums with a tag");
    let kind = |kind: &Value| kind["properties"]["type"]["const"].as_str().expect("a tag").to_owned();
    kinds.iter().map(kind).collect()
}

/// What clients send; each may bear an id.
pub fn client() -> Value {
    let mut schema = client_frame_schema();
    for kind in schema["oneOf"].as_array_mut().expect("frames are enums with a tag") {
        kind["properties"]["id"] = json!({
            "description": "What the answer to an ack or a mark bears, too.",
            "type": ["string", "number", "null"],
            "maxLength": 128,
        });
    }
    schema
}

/// Under `$defs`: `client` and `server`, every frame of them as `client.hello` or `server.ready`, and what they name.
pub fn schema() -> Value {
    let mut definitions = Map::new();
    for (direction, mut schema) in [("client", client()), ("server", server_frame_schema())] {
        let own = schema["$defs"].as_object().cloned().unwrap_or_default();
        for (name, value) in own {
            let known = definitions.insert(name.clone(), value.clone());
            assert!(known.is_none_or(|known| known == value), "{name} is two things");
        }
        let types = types(&schema);
        for (kind, name) in schema["oneOf"].as_array().expect("an enum").iter().zip(&types) {
            definitions.insert(format!("{direction}.{name}"), kind.clone());
        }
        let kinds: Vec<Value> =
            types.iter().map(|name| json!({"$ref": format!("#/$defs/{direction}.{name}")})).collect();
        let description = schema["description"].take();
        definitions.insert(direction.to_owned(), json!({"description": description, "oneOf": kinds}));
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Frames of GET /v1/ws, version 1",
        "description": "JSON text, at most 64 KiB each; a snapshot is as long as its conversations make it, in several \
                        WebSocket frames of at most 64 KiB.",
        "oneOf": [{"$ref": "#/$defs/client"}, {"$ref": "#/$defs/server"}],
        "$defs": definitions,
    })
}
