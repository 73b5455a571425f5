use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error as _};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::net::Ipv6Addr;

/// `host:port` of some servers: a text with commas, or a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Addresses(Vec<String>);

#[derive(serde::Deserialize)]
#[serde(untagged)]
enum Written {
    Text(String),
    List(Vec<String>),
}

impl Addresses {
    /// One that is built in.
    pub fn one(address: &str) -> Self {
        Self(vec![address.to_owned()])
    }

    /// Of one text with commas.
    fn parse(text: &str) -> Result<Self, String> {
        Self::of(text.split(',').map(|one| one.trim().to_owned()).collect())
    }

    fn of(list: Vec<String>) -> Result<Self, String> {
        for address in &list {
            if !is_host_and_port(address) {
                return Err(format!("{address:?} is no host:port"));
            }
        }
        if list.is_empty() { Err("no address".to_owned()) } else { Ok(Self(list)) }
    }

    /// One by one.
    pub fn list(&self) -> Vec<String> {
        self.0.clone()
    }

    /// With commas between.
    pub fn joined(&self) -> String {
        self.0.join(",")
    }
}

fn is_host_and_port(address: &str) -> bool {
    let Some((host, port)) = address.rsplit_once(':') else { return false };
    let is_host = match host.strip_prefix('[') {
        Some(inner) => inner.strip_suffix(']').is_some_and(|ip| ip.parse::<Ipv6Addr>().is_ok()),
        // Names of containers may have an underscore.
        None => !host.is_empty() && host.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_')),
    };
    is_host && port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0)
}

impl JsonSchema for Addresses {
    fn schema_name() -> Cow<'static, str> {
        "Addresses".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let address = r"[^,\s/]+:[0-9]{1,5}";
        json_schema!({
            "anyOf": [
                {"type": "string", "pattern": format!("^{address}(, *{address})*$")},
                {"type": "array", "items": {"type": "string", "pattern": format!("^{address}$")}, "minItems": 1},
            ]
        })
    }
}

impl Serialize for Addresses {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.joined())
    }
}

impl<'de> Deserialize<'de> for Addresses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Written::deserialize(deserializer).map_err(|_| D::Error::custom("host:port,… is wanted"))? {
            Written::Text(text) => Self::parse(&text),
            Written::List(list) => Self::of(list),
        }
        .map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_or_a_list() {
        let of = |json: &str| serde_json::from_str::<Addresses>(json);
        let two = Addresses(vec!["a:1".to_owned(), "[::1]:2".to_owned()]);
        assert_eq!(of("\"a:1, [::1]:2\"").unwrap(), two);
        assert_eq!(of("[\"a:1\", \"[::1]:2\"]").unwrap(), two);
        for wrong in [
            "\"\"",
            "\"a\"",
            "\"a:x\"",
            "\":1\"",
            "\"a:1,\"",
            "\"a:0\"",
            "\"a:+1\"",
            "\"http://a:1\"",
            "\"a b:1\"",
            "\"::1:2\"",
            "\"[x]:1\"",
            "[]",
            "7",
        ] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
