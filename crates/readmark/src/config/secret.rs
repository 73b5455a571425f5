use super::together::Clash;
use crate::exit::Failure;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::path::Path;

/// A value that is never printed.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

/// What is printed in its place.
const HIDDEN: &str = "(hidden)";

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(HIDDEN)
    }
}

impl JsonSchema for Secret {
    fn schema_name() -> Cow<'static, str> {
        "Secret".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "writeOnly": true})
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(HIDDEN)
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Serde's own words would tell what was found.
        String::deserialize(deserializer).map(Self).map_err(|_| D::Error::custom("a text is wanted"))
    }
}

impl Secret {
    /// The value itself, for the one who needs it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The value given, or what its file holds, without the line's end.
    pub fn of(key: &str, given: Option<&Self>, file: Option<&Path>) -> Result<Option<String>, Failure> {
        match (given, file) {
            (Some(secret), _) => Ok(Some(secret.0.clone())),
            (None, Some(file)) => {
                let text = std::fs::read_to_string(file)
                    .map_err(|error| Failure::usage(format!("{key}: {}: {error}", file.display())))?;
                Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
            }
            (None, None) => Ok(None),
        }
    }
}

/// A secret that is given in both ways.
pub(super) fn given_twice(key: &str, given: Option<&Secret>, file: Option<&Path>) -> Option<Clash> {
    (given.is_some() && file.is_some())
        .then(|| Clash::of(&[key, &format!("{key}_file")], format!("{key}: given, and {key}_file too")))
}
