//! The Prometheus text format, as far as the tests need it.

/// A sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The metric.
    pub name: String,
    /// Its labels.
    pub labels: Vec<(String, String)>,
    /// Its value.
    pub value: f64,
}

/// Reads the text format; comments and lines that are no samples are passed over.
#[must_use]
pub fn parse(text: &str) -> Vec<Sample> {
    text.lines().filter(|line| !line.starts_with('#')).filter_map(sample).collect()
}

fn sample(line: &str) -> Option<Sample> {
    let (left, value) = line.rsplit_once(' ')?;
    let (name, labels) = match left.split_once('{') {
        Some((name, labels)) => (name, labels.strip_suffix('}')?),
        None => (left, ""),
    };
    let labels = labels.split(',').filter(|label| !label.is_empty()).map(|label| {
        let (name, value) = label.split_once('=')?;
        Some((name.to_owned(), value.trim_matches('"').to_owned()))
    });
    Some(Sample { name: name.to_owned(), labels: labels.collect::<Option<_>>()?, value: value.parse().ok()? })
}

/// The sum over all samples of a metric that carry these labels; 0 when there is none.
#[must_use]
pub fn sum(samples: &[Sample], name: &str, labels: &[(&str, &str)]) -> f64 {
    let carries = |sample: &&Sample| {
        labels.iter().all(|(name, value)| sample.labels.iter().any(|(n, v)| n == name && v == value))
    };
    samples.iter().filter(|sample| sample.name == name).filter(carries).map(|sample| sample.value).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_by_labels() {
        let samples =
            parse("# HELP x y\nx_total{role=\"a\",partition=\"0\"} 2\nx_total{role=\"b\"} 3\ny 1.5\n");
        assert_eq!(samples.len(), 3);
        assert!((sum(&samples, "x_total", &[]) - 5.0).abs() < f64::EPSILON);
        assert!((sum(&samples, "x_total", &[("role", "a")]) - 2.0).abs() < f64::EPSILON);
        assert!((sum(&samples, "y", &[]) - 1.5).abs() < f64::EPSILON);
    }
}
