//! Histograms of fixed size. Counters and gauges are an `AtomicU64` each.

use std::sync::atomic::Ordering::Relaxed;

use metrics::{GaugeFn, HistogramFn, Unit, atomics::AtomicU64};

/// The bounds of durations in seconds (OpenTelemetry semantic conventions 1.44, HTTP metrics).
pub(super) const DURATIONS: &[f64] =
    &[0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];

/// The bounds of sizes in bytes: 1 KiB to 64 MiB.
const SIZES: &[f64] = &[1024.0, 16384.0, 131_072.0, 1_048_576.0, 8_388_608.0, 67_108_864.0];

/// How often values within each bound were observed, and their sum.
#[derive(Debug)]
pub(super) struct Buckets {
    pub(super) bounds: &'static [f64],
    /// One for each bound, and one for all greater values.
    pub(super) counts: Box<[AtomicU64]>,
    /// The bits of a number.
    sum: AtomicU64,
}

impl Buckets {
    pub(super) fn of(unit: Option<Unit>) -> Self {
        let bounds = if unit == Some(Unit::Bytes) { SIZES } else { DURATIONS };
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self { bounds, counts, sum: AtomicU64::new(0) }
    }

    pub(super) fn sum(&self) -> f64 {
        f64::from_bits(self.sum.load(Relaxed))
    }
}

impl HistogramFn for Buckets {
    /// The sum of a histogram must not decrease, and be a number (OpenMetrics 1.0, Histogram).
    fn record(&self, value: f64) {
        if !value.is_finite() || value < 0.0 {
            return;
        }
        let bucket = self.bounds.iter().position(|bound| value <= *bound);
        if let Some(count) = self.counts.get(bucket.unwrap_or(self.bounds.len())) {
            count.fetch_add(1, Relaxed);
        }
        GaugeFn::increment(&self.sum, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_counted_at_the_first_bound_that_it_does_not_exceed() {
        let buckets = Buckets::of(Some(Unit::Seconds));
        for value in [0.0, 0.005, 0.0051, 10.0, 10.1, 1e9, f64::NAN, f64::INFINITY, -1.0] {
            buckets.record(value);
        }
        let counts: Vec<_> = buckets.counts.iter().map(|count| count.load(Relaxed)).collect();
        assert_eq!(counts, [2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2]);
        assert!((buckets.sum() - 1_000_000_020.110_1).abs() < 1e-3);
        assert_eq!(Buckets::of(Some(Unit::Bytes)).bounds, SIZES);
    }
}
