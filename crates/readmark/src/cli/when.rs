use readmark_domain::time::TimeMs;
use std::str::FromStr;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A time on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// This one.
    At(TimeMs),
    /// So many milliseconds before now.
    Ago(u64),
}

impl When {
    /// As a point in time.
    pub const fn at(self, now: TimeMs) -> TimeMs {
        match self {
            Self::At(at) => at,
            Self::Ago(ms) => now.minus_ms(ms),
        }
    }
}

impl FromStr for When {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = match text.strip_prefix('-') {
            Some(ago) => parse_span_ms(ago).map(Self::Ago),
            None => parse_ms(text).or_else(|| parse_date(text)).map(Self::At),
        };
        found.ok_or_else(|| {
            format!(
                "{text:?} is no time: 1780000000000 (milliseconds since 1970), 2026-05-29T12:00:00Z or -2h"
            )
        })
    }
}

fn parse_ms(text: &str) -> Option<TimeMs> {
    text.parse().ok()
}

fn parse_date(text: &str) -> Option<TimeMs> {
    let date = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    let ms = date.unix_timestamp_nanos().div_euclid(1_000_000);
    TimeMs::new(u64::try_from(ms).ok()?).ok()
}

/// A span such as 30s, 15m, 2h, 7d.
fn parse_span_ms(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let ms = match unit {
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    if is_number { number.parse::<u64>().ok()?.checked_mul(ms) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_ways_to_say_a_time() {
        let now = TimeMs::saturating(1_780_000_000_000);
        for (text, ms) in [
            ("1780000000000", 1_780_000_000_000),
            ("0", 0),
            ("2026-05-28T20:26:40Z", 1_780_000_000_000),
            ("2026-05-28T22:26:40.123+02:00", 1_780_000_000_123),
            ("1970-01-01T00:00:00Z", 0),
            ("-2h", 1_780_000_000_000 - 7_200_000),
            ("-0s", 1_780_000_000_000),
            ("-7d", 1_780_000_000_000 - 604_800_000),
            ("-99999999d", 0),
        ] {
            assert_eq!(text.parse::<When>().unwrap().at(now).get(), ms, "{text}");
        }
    }

    #[test]
    fn what_is_no_time() {
        for wrong in [
            "",
            "-",
            "-h",
            "2h",
            "+2h",
            "-2w",
            "--2h",
            "-2.5h",
            "-2 h",
            "now",
            "2026-05-28",
            "1969-01-01T00:00:00Z",
            "-99999999999999999999d",
            "600000000000000",
            "-2ö",
            "2026-02-30T00:00:00Z",
        ] {
            assert!(wrong.parse::<When>().is_err(), "{wrong:?}");
        }
    }
}
