//! Serde for counts of members and readers, which are written as ids are.

use super::numeric::{NumericVisitor, pattern};

/// Writes a decimal string.
///
/// # Errors
/// What the serializer says.
pub fn serialize<S: serde::Serializer>(count: &u32, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(count)
}

/// Reads a decimal string or a number.
///
/// # Errors
/// Out of range or no number.
pub fn deserialize<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let n =
        deserializer.deserialize_any(NumericVisitor { id: "a count", min: 0, max: u64::from(u32::MAX) })?;
    u32::try_from(n).map_err(serde::de::Error::custom)
}

/// Its JSON Schema.
pub fn schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": ["string", "integer"],
        "pattern": pattern(0),
        "minimum": 0,
        "maximum": u32::MAX,
        "description": "a count: written as a decimal string, read as string or number"
    })
}
