//! What the measurements share.

#![allow(clippy::panic, reason = "a measurement that can't go on should say so and end")]

/// The value at the given share of the sorted values, 0 when there are none.
#[must_use]
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = (sorted.len() as f64 * share) as usize;
    sorted.get(at.min(sorted.len().saturating_sub(1))).copied().unwrap_or(0.0)
}

/// A number given on the command line as `--name value`, else the default.
///
/// # Panics
/// When the value is no number.
#[must_use]
pub fn argument(name: &str, default: u64) -> u64 {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    match (arguments.next(), arguments.next()) {
        (Some(_), Some(value)) => match value.parse() {
            Ok(number) => number,
            Err(_) => panic!("{name} {value}: not a number"),
        },
        _ => default,
    }
}
