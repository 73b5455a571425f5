use std::time::Duration;

/// The first pause.
const FIRST_MS: u64 = 200;
/// The longest.
const LONGEST_MS: u64 = 30_000;

/// How long to wait before the next try after `failures` in a row: twice as long each time, of which a random part
/// between half and all, so that clients cut off together do not come back together. `draw` is from 0 to 1.
#[must_use]
pub(crate) fn pause(failures: u32, draw: f64) -> Duration {
    let full_ms = FIRST_MS.saturating_mul(1 << failures.min(20)).min(LONGEST_MS);
    let ms = full_ms as f64 * (0.5 + draw.clamp(0.0, 1.0) / 2.0);
    Duration::from_millis(ms as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_bound() {
        let ms = |failures, draw| pause(failures, draw).as_millis();
        assert_eq!((ms(0, 0.0), ms(0, 1.0)), (100, 200));
        assert_eq!((ms(3, 0.0), ms(3, 1.0)), (800, 1_600));
        assert_eq!((ms(60, 0.0), ms(60, 1.0)), (15_000, 30_000));
    }
}
