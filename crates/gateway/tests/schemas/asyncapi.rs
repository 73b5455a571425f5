//! The AsyncAPI document: the topics and the connections of devices, with the schemas beside it.

use crate::frames;
use readmark_events::{Topic, header_name};
use readmark_gateway::live::{close_codes, server_frame_schema};
use serde_json::{Map, Value, json};

/// What a record's key is, and what the topic is for.
const fn about(topic: Topic) -> (&'static str, &'static str) {
    match topic {
        Topic::ConversationEvents => (
            "conversation_id",
            "What the IM backend says of messages, members and policies. Consumed by the catalog.",
        ),
        Topic::Acks => (
            "uid of the sender, in decimal",
            "Receipts and recounts. Written by the gateway, the watermark role and the catalog; consumed by the \
             aggregator and the watermark role.",
        ),
        Topic::Marks => (
            "uid of the reader, in decimal",
            "What users say of themselves: read up to, cleared, flags, settings. Consumed by the watermark role.",
        ),
        Topic::ConversationChanged => (
            "conversation_id",
            "What the catalog has applied: heads, recalls, rosters. Consumed by the notifier.",
        ),
        Topic::ReadChanged => (
            "uid of whom it concerns, in decimal",
            "What is to be told: tallies to senders, registers to all devices of readers. Public: a backend with its \
             own connections to its clients delivers from here. At least once; what is not newer than the last one \
             known is to be left out.",
        ),
        Topic::DeadLetters => (
            "as of the original record",
            "Records that could not be handled: the original bytes, and headers that say why. Consumed by the janitor.",
        ),
    }
}

/// Backends read this one and may write the others that facts come by; the rest is between the roles.
const fn action(topic: Topic) -> &'static str {
    match topic {
        Topic::ReadChanged | Topic::ConversationChanged | Topic::DeadLetters => "send",
        Topic::ConversationEvents | Topic::Acks | Topic::Marks => "receive",
    }
}

fn channel(topic: Topic) -> Value {
    let (_, purpose) = about(topic);
    json!({
        "address": topic.full_name("{prefix}"),
        "title": topic.as_str(),
        "description": purpose,
        "parameters": {"prefix": {"description": "log.topic_prefix of the configuration.", "default": "readmark"}},
        "servers": [{"$ref": "#/servers/kafka"}],
        "messages": {"record": {"$ref": format!("#/components/messages/{topic}")}},
    })
}

fn record(topic: Topic) -> Value {
    let (key, _) = about(topic);
    let schema = json!({"$ref": format!("./{topic}.v1.json#")});
    let mut message = json!({
        "name": topic.as_str(),
        "contentType": "application/json",
        "bindings": {"kafka": {"key": {"type": "string", "description": key}, "bindingVersion": "0.5.0"}},
    });
    match topic {
        Topic::DeadLetters => {
            message["headers"] = schema;
            message["payload"] = json!({"description": "The bytes of the original record."});
            message["contentType"] = json!("application/octet-stream");
        }
        Topic::ConversationEvents
        | Topic::Acks
        | Topic::Marks
        | Topic::ConversationChanged
        | Topic::ReadChanged => {
            message["headers"] = headers();
            message["payload"] = schema;
        }
    }
    message
}

/// Of every record; none needs to be there.
fn headers() -> Value {
    let text = |what: &str| json!({"type": "string", "description": what});
    json!({"type": "object", "properties": {
        header_name::ACCEPTED_AT_MS: text("When the gateway accepted what led to this, in milliseconds since 1970."),
        header_name::ORIGIN: text("Who delivered it again: replay, redrive or janitor."),
        header_name::TIER: text("Of a message_read: the size of the group, small, medium or large."),
    }})
}

/// Frames of one direction, as messages: a name for each, and where its schema is.
fn messages(direction: &str, types: &[String]) -> Map<String, Value> {
    let message = |name: &String| {
        let payload = json!({"$ref": format!("./{}#/$defs/{direction}.{name}", frames::FILE)});
        (
            format!("{direction}.{name}"),
            json!({"name": name, "contentType": "application/json", "payload": payload}),
        )
    };
    types.iter().map(message).collect()
}

fn live(names: &[&String]) -> Value {
    let codes: String = close_codes().map(|(code, words)| format!(" {code} {words}.")).collect();
    let all: Map<String, Value> = names
        .iter()
        .map(|name| ((*name).clone(), json!({"$ref": format!("#/components/messages/{name}")})))
        .collect();
    json!({
        "address": "/v1/ws",
        "title": "devices",
        "description": format!(
            "A device follows its user's changes, and hands in acks and marks. The token goes in the header \
             Authorization, or as subprotocol: readmark.v1, bearer.<token>. Closed with:{codes}"
        ),
        "servers": [{"$ref": "#/servers/gateway"}],
        "messages": all,
        "bindings": {"ws": {"method": "GET", "bindingVersion": "0.1.0"}},
    })
}

fn operations(client: &[String], server: &[String]) -> Map<String, Value> {
    let mut operations = Map::new();
    for topic in Topic::ALL {
        operations.insert(
            format!("{}-{topic}", action(topic)),
            json!({
                "action": action(topic),
                "channel": {"$ref": format!("#/channels/{topic}")},
                "messages": [{"$ref": format!("#/channels/{topic}/messages/record")}],
            }),
        );
    }
    for (direction, action, names) in [("client", "receive", client), ("server", "send", server)] {
        let named =
            |name: &String| json!({"$ref": format!("#/channels/devices/messages/{direction}.{name}")});
        operations.insert(
            format!("{action}-frames"),
            json!({
                "action": action,
                "channel": {"$ref": "#/channels/devices"},
                "messages": names.iter().map(named).collect::<Vec<_>>(),
            }),
        );
    }
    operations
}

pub fn document() -> Value {
    let (client, server) = (frames::types(&frames::client()), frames::types(&server_frame_schema()));
    let mut all = messages("client", &client);
    all.extend(messages("server", &server));
    let devices = live(&all.keys().collect::<Vec<_>>());
    all.extend(Topic::ALL.map(|topic| (topic.to_string(), record(topic))));
    let mut channels: Map<String, Value> =
        Topic::ALL.into_iter().map(|topic| (topic.to_string(), channel(topic))).collect();
    channels.insert("devices".to_owned(), devices);
    json!({
        "asyncapi": "3.0.0",
        "info": {
            "title": "readmark",
            "version": "1",
            "description": "The topics of readmark, and the frames between a gateway and the devices of users.",
            "license": {"name": env!("CARGO_PKG_LICENSE")},
        },
        "defaultContentType": "application/json",
        "servers": {
            "kafka": {
                "host": "127.0.0.1:9092",
                "protocol": "kafka",
                "description": "log.brokers of the configuration. Producers use the partitioner murmur2_random.",
            },
            "gateway": {
                "host": "127.0.0.1:8080",
                "protocol": "ws",
                "description": "Where the gateway listens.",
                "security": [{"$ref": "#/components/securitySchemes/bearer"}],
            },
        },
        "channels": channels,
        "operations": operations(&client, &server),
        "components": {
            "messages": all,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
        },
    })
}
