use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error as _};
use serde::{Serialize, Serializer};
use std::borrow::Cow;

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
            let port = address.rsplit_once(':').filter(|(host, _)| !host.is_empty()).map(|(_, port)| port);
            if port.is_none_or(|port| port.parse::<u16>().is_err()) {
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

impl JsonSchema for Addresses {
    fn schema_name() -> Cow<'static, str> {
        "Addresses".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let address = "[^,]+:[0-9]{1,5}";
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
        for wrong in ["\"\"", "\"a\"", "\"a:x\"", "\":1\"", "\"a:1,\"", "[]", "7"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
