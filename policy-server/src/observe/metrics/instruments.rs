//! Histograms of fixed size. Counters and gauges are an `AtomicU64` each.

use std::sync::{Arc, atomic::Ordering::Relaxed};

use metrics::{GaugeFn, Histogram, HistogramFn, Unit, atomics::AtomicU64};

/// The bounds of a histogram, and the integer unit in which requests are measured.
#[derive(Debug)]
pub(super) struct Scale {
    bounds: &'static [f64],
    /// How many parts a unit has.
    parts: f64,
    /// The first bound, in parts.
    first: u64,
}

/// Durations in seconds, measured in nanoseconds (OpenTelemetry semantic conventions 1.44, HTTP metrics).
static DURATIONS: Scale = Scale {
    bounds: &[0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0],
    parts: 1e9,
    first: 5_000_000,
};

/// Sizes in bytes: 1 KiB to 64 MiB.
static SIZES: Scale = Scale {
    bounds: &[1024.0, 16384.0, 131_072.0, 1_048_576.0, 8_388_608.0, 67_108_864.0],
    parts: 1.0,
    first: 1024,
};

impl Scale {
    fn for_unit(unit: Option<Unit>) -> &'static Self {
        if unit == Some(Unit::Bytes) { &SIZES } else { &DURATIONS }
    }
}

/// How often values within each bound were observed, and their sum.
#[derive(Debug)]
pub(super) struct Buckets {
    scale: &'static Scale,
    /// The first bound, in parts.
    first: u64,
    /// One for each bound, and one for all greater values.
    counts: Box<[AtomicU64]>,
    /// The bits of an `f64`.
    sum: AtomicU64,
    /// The number and the sum, in parts, of values of requests within the first bound, which most
    /// are. Adding integers takes a third of the instructions.
    small: AtomicU64,
    small_sum: AtomicU64,
}

impl Buckets {
    pub(super) fn for_unit(unit: Option<Unit>) -> Self {
        let scale = Scale::for_unit(unit);
        let counts = (0..=scale.bounds.len()).map(|_| AtomicU64::new(0)).collect();
        let [sum, small, small_sum] = [const { AtomicU64::new(0) }; 3];
        Self { scale, first: scale.first, counts, sum, small, small_sum }
    }

    /// How many values are within each bound and above the one before; the last bound is infinite.
    pub(super) fn counts(&self) -> impl Iterator<Item = (f64, u64)> {
        let bounds = self.scale.bounds.iter().copied().chain([f64::INFINITY]);
        let small = [self.small.load(Relaxed)].into_iter().chain(std::iter::repeat(0));
        let counts = self.counts.iter().zip(small);
        bounds.zip(counts.map(|(count, small)| count.load(Relaxed) + small))
    }

    pub(super) fn sum(&self) -> f64 {
        let small = self.small_sum.load(Relaxed) as f64 / self.scale.parts;
        f64::from_bits(self.sum.load(Relaxed)) + small
    }
}

impl HistogramFn for Buckets {
    /// The sum of a histogram must not decrease, and be a number (OpenMetrics 1.0, Histogram).
    fn record(&self, value: f64) {
        if !value.is_finite() || value < 0.0 {
            return;
        }
        let bounds = self.scale.bounds;
        let bucket = bounds.iter().position(|bound| value <= *bound);
        if let Some(count) = self.counts.get(bucket.unwrap_or(bounds.len())) {
            count.fetch_add(1, Relaxed);
        }
        GaugeFn::increment(&self.sum, value);
    }
}

/// A histogram that takes integers: one of this crate, or one of the facade.
pub(super) enum Parts {
    Own(Arc<Buckets>),
    Facade(Histogram, &'static Scale),
}

impl Parts {
    pub(super) fn from_facade(histogram: Histogram, unit: Unit) -> Self {
        Self::Facade(histogram, Scale::for_unit(Some(unit)))
    }

    #[inline(always)]
    pub(super) fn record(&self, parts: u64) {
        match self {
            Self::Own(buckets) if parts <= buckets.first => {
                buckets.small.fetch_add(1, Relaxed);
                buckets.small_sum.fetch_add(parts, Relaxed);
            }
            _ => self.record_number(parts),
        }
    }

    #[cold]
    fn record_number(&self, parts: u64) {
        match self {
            Self::Own(buckets) => buckets.record(parts as f64 / buckets.scale.parts),
            Self::Facade(histogram, scale) => histogram.record(parts as f64 / scale.parts),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_counted_at_the_first_bound_that_it_does_not_exceed() {
        let buckets = Buckets::for_unit(Some(Unit::Seconds));
        for value in [0.0, 0.005, 0.0051, 10.0, 10.1, 1e9, f64::NAN, f64::INFINITY, -1.0] {
            buckets.record(value);
        }
        let counts: Vec<_> = buckets.counts().map(|(_, count)| count).collect();
        assert_eq!(counts, [2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2]);
        assert!((buckets.sum() - 1_000_000_020.110_1).abs() < 1e-3);
    }

    #[test]
    fn whole_numbers_are_counted_as_their_value_is() {
        for (unit, scale) in [(Unit::Seconds, &DURATIONS), (Unit::Bytes, &SIZES)] {
            let first = scale.bounds[0] * scale.parts;
            assert!((first - scale.first as f64).abs() < f64::EPSILON, "{unit:?}");
            let (of_parts, of_values) =
                (Arc::new(Buckets::for_unit(Some(unit))), Buckets::for_unit(Some(unit)));
            let parts = Parts::Own(Arc::clone(&of_parts));
            let near = |bound: &f64| [-1.0, 0.0, 1.0].map(|by| (bound * scale.parts + by) as u64);
            for value in scale.bounds.iter().flat_map(near).chain([0, 1, 1 << 40]) {
                parts.record(value);
                of_values.record(value as f64 / scale.parts);
            }
            assert!(of_parts.counts().eq(of_values.counts()), "{of_parts:?} {of_values:?}");
            assert!((of_parts.sum() / of_values.sum() - 1.0).abs() < 1e-9, "{unit:?}");
            assert_eq!(of_parts.small.load(Relaxed), 4, "those within the first bound");
        }
    }
}
