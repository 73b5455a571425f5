use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long something took, again and again; shared between tasks.
#[derive(Debug, Clone, Default)]
pub struct Latencies {
    ms: Arc<Mutex<Vec<f64>>>,
}

impl Latencies {
    /// Takes what began then and ends now.
    pub fn since(&self, began: Instant) {
        self.add(began.elapsed());
    }

    /// Takes one.
    pub fn add(&self, took: Duration) {
        self.ms.lock().unwrap_or_else(PoisonError::into_inner).push(took.as_secs_f64() * 1_000.0);
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.ms.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Prints the heading of a table.
    pub fn heading() {
        println!("{:<48}{:>8}{:>9}{:>9}{:>9}", "", "count", "p50 ms", "p99 ms", "max ms");
    }

    /// Prints a row of it.
    pub fn row(&self, name: &str) {
        let mut ms = self.ms.lock().unwrap_or_else(PoisonError::into_inner).clone();
        ms.sort_by(f64::total_cmp);
        let [p50, p99, max] = [0.50, 0.99, 1.0].map(|share| quantile(&ms, share));
        println!("{name:<48}{:>8}{p50:>9.1}{p99:>9.1}{max:>9.1}", ms.len());
    }
}

/// The value at the given share of the sorted values, 0 when there are none.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = (sorted.len() as f64 * share) as usize;
    sorted.get(at.min(sorted.len().saturating_sub(1))).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::quantile;

    #[test]
    fn a_quantile_is_one_of_the_values() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        let of = |share: f64| quantile(&values, share) as u32;
        assert_eq!([of(0.0), of(0.5), of(0.99), of(1.0)], [1, 51, 100, 100]);
        assert_eq!(quantile(&[], 0.5) as u32, 0);
    }
}
