//! One way to read, write and describe numeric ids: decimal strings out, strings or numbers in.

use super::IdError;

/// Parses a decimal number without sign, blanks or leading zeros.
pub(crate) fn parse(text: &str, id: &'static str, min: u64, max: u64) -> Result<u64, IdError> {
    let digits_only = !text.is_empty() && text.len() <= 19 && text.bytes().all(|b| b.is_ascii_digit());
    let canonical = text == "0" || !text.starts_with('0');
    match text.parse::<u64>() {
        Ok(n) if digits_only && canonical && (min..=max).contains(&n) => Ok(n),
        _ => Err(IdError::Number { id, min, max }),
    }
}

/// The pattern of the texts [`parse`] takes, for JSON Schemas; the upper bound is `maximum`'s to say.
pub(crate) const fn pattern(min: u64) -> &'static str {
    if min == 0 { "^(0|[1-9][0-9]{0,18})$" } else { "^[1-9][0-9]{0,18}$" }
}

/// A serde visitor that takes a decimal string or a number.
pub(crate) struct NumericVisitor {
    pub id: &'static str,
    pub min: u64,
    pub max: u64,
}

impl serde::de::Visitor<'_> for NumericVisitor {
    type Value = u64;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", IdError::Number { id: self.id, min: self.min, max: self.max })
    }

    fn visit_u64<E: serde::de::Error>(self, n: u64) -> Result<u64, E> {
        if (self.min..=self.max).contains(&n) { Ok(n) } else { Err(E::custom(self.error())) }
    }

    fn visit_i64<E: serde::de::Error>(self, n: i64) -> Result<u64, E> {
        u64::try_from(n).map_err(|_| E::custom(self.error())).and_then(|n| self.visit_u64(n))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<u64, E> {
        parse(text, self.id, self.min, self.max).map_err(E::custom)
    }
}

impl NumericVisitor {
    fn error(&self) -> IdError {
        IdError::Number { id: self.id, min: self.min, max: self.max }
    }
}

/// Defines a numeric id with its range; `$min..=$max` is what may be read from outside.
macro_rules! numeric_id {
    ($(#[$doc:meta])* $name:ident, $label:literal, $min:expr, $max:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(u64);

        impl $name {
            /// Smallest value that may be read from outside.
            pub const MIN: u64 = $min;
            /// Greatest value.
            pub const MAX: u64 = $max;

            /// Checks the range.
            ///
            /// # Errors
            /// [`crate::id::IdError::Number`] outside `MIN..=MAX`.
            pub const fn new(n: u64) -> Result<Self, crate::id::IdError> {
                if n >= Self::MIN && n <= Self::MAX {
                    Ok(Self(n))
                } else {
                    Err(crate::id::IdError::Number { id: $label, min: Self::MIN, max: Self::MAX })
                }
            }

            /// The number.
            #[must_use]
            pub const fn get(self) -> u64 {
                self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = crate::id::IdError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                crate::id::numeric::parse(text, $label, Self::MIN, Self::MAX).map(Self)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&self.0, f)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let visitor = crate::id::numeric::NumericVisitor { id: $label, min: Self::MIN, max: Self::MAX };
                deserializer.deserialize_any(visitor).map(Self)
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
                    "type": ["string", "integer"],
                    "pattern": crate::id::numeric::pattern(Self::MIN),
                    "minimum": Self::MIN,
                    "maximum": Self::MAX,
                    "description": concat!($label, ": written as a decimal string, read as string or number")
                })
            }
        }
    };
}

pub(crate) use numeric_id;

#[cfg(test)]
mod tests {
    use crate::id::{Seq, Uid};
    use crate::time::{Order, TimeMs};

    #[test]
    fn texts_and_numbers_are_read_alike_within_the_range() {
        for (json, wanted) in [
            (r#""1""#, Some(1)),
            ("1", Some(1)),
            (r#""1000000000000000""#, Some(Seq::MAX)),
            ("1000000000000000", Some(Seq::MAX)),
            (r#""0""#, None),
            ("0", None),
            (r#""1000000000000001""#, None),
            ("1000000000000001", None),
            ("-1", None),
            (r#""-1""#, None),
            (r#""+1""#, None),
            (r#""01""#, None),
            (r#"" 1""#, None),
            (r#""""#, None),
            ("1.0", None),
            ("1e3", None),
            ("18446744073709551616", None),
            (r#""99999999999999999999""#, None),
            ("null", None),
            ("true", None),
            ("[1]", None),
        ] {
            assert_eq!(serde_json::from_str::<Seq>(json).ok().map(Seq::get), wanted, "{json}");
        }
    }

    #[test]
    fn every_range_has_its_own_bounds() {
        assert_eq!("9223372036854775807".parse::<Uid>().unwrap().get(), i64::MAX as u64);
        assert!("9223372036854775808".parse::<Uid>().is_err());
        assert_eq!("0".parse::<Uid>().unwrap().get(), 0);
        assert!(Order::new(500_000_000_000_000).is_ok());
        assert!(Order::new(500_000_000_000_001).is_err());
        assert!(TimeMs::new(500_000_000_000_001).is_err());
    }

    #[test]
    fn written_as_a_decimal_string() {
        assert_eq!(serde_json::to_string(&Uid::new(7).unwrap()).unwrap(), r#""7""#);
    }
}
