//! Which records and entries a step means.

use crate::world::World;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What a payload must say.
pub struct Wanted<'a> {
    fields: BTreeMap<&'a str, Value>,
    below: &'a BTreeMap<String, u64>,
    above: &'a BTreeMap<String, u64>,
}

impl<'a> Wanted<'a> {
    /// As a step says it, with its names filled in.
    pub fn of(
        world: &World,
        fields: &'a BTreeMap<String, Value>,
        below: &'a BTreeMap<String, u64>,
        above: &'a BTreeMap<String, u64>,
    ) -> Self {
        let filled = |value: &Value| match value.as_str() {
            Some(text) => json!(world.fill(text)),
            None => value.clone(),
        };
        let fields = fields.iter().map(|(name, value)| (name.as_str(), filled(value))).collect();
        Self { fields, below, above }
    }

    /// Does this payload say it?
    pub fn matches(&self, payload: &Value) -> bool {
        let number = |field: &String| payload[field].as_str().and_then(|text| text.parse::<u64>().ok());
        self.fields.iter().all(|(field, value)| payload[*field] == *value)
            && self.below.iter().all(|(field, bound)| number(field).is_some_and(|value| value < *bound))
            && self.above.iter().all(|(field, bound)| number(field).is_some_and(|value| value > *bound))
    }
}
