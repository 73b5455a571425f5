//! One way to check, write and describe text ids.

use super::IdError;

/// Longest text id in bytes.
pub(super) const MAX_TEXT_ID_BYTES: usize = 64;

pub(super) fn check(text: &str, id: &'static str) -> Result<(), IdError> {
    if text.is_empty() || text.len() > MAX_TEXT_ID_BYTES {
        return Err(IdError::Length { id, max: MAX_TEXT_ID_BYTES });
    }
    if text.chars().any(char::is_control) {
        return Err(IdError::ControlCharacter { id });
    }
    Ok(())
}

/// Defines a text id of 1 to 64 bytes, cheap to clone.
macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $label:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(std::sync::Arc<str>);

        impl $name {
            /// Checks length and characters.
            ///
            /// # Errors
            /// [`crate::id::IdError`] when empty, longer than 64 bytes, or with control characters.
            pub fn new(text: &str) -> Result<Self, crate::id::IdError> {
                crate::id::text::check(text, $label)?;
                Ok(Self(text.into()))
            }

            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = crate::id::IdError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::new(text)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(&self.0)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($name), "({:?})"), &*self.0)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                Self::new(&text).map_err(serde::de::Error::custom)
            }
        }

        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string",
                    "minLength": 1,
                    "maxLength": crate::id::text::MAX_TEXT_ID_BYTES,
                    "description": concat!($label, ": 1 to 64 bytes of UTF-8 without control characters")
                })
            }
        }
    };
}

pub(crate) use text_id;

#[cfg(test)]
mod tests {
    use crate::id::{ConversationId, IdError};

    #[test]
    fn one_to_sixty_four_bytes_of_plain_text() {
        assert!(matches!(ConversationId::new(""), Err(IdError::Length { .. })));
        assert!(ConversationId::new("c").is_ok());
        assert!(ConversationId::new(&"c".repeat(64)).is_ok());
        assert!(matches!(ConversationId::new(&"c".repeat(65)), Err(IdError::Length { .. })));
        assert!(ConversationId::new(&"é".repeat(32)).is_ok(), "64 bytes");
        assert!(ConversationId::new(&"é".repeat(33)).is_err(), "66 bytes, though 33 characters");
        assert!(matches!(ConversationId::new("a\nb"), Err(IdError::ControlCharacter { .. })));
    }
}
