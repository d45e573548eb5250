//! The time that a request takes.

/// Started with a request. Subtracting two `Instant`s takes more instructions than reading them, so
/// where the system has `clock_gettime`, the time is kept as an integer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stopwatch {
    begun: u64,
}

impl Stopwatch {
    #[inline(always)]
    pub(super) fn start() -> Self {
        Self { begun: monotonic() }
    }

    /// The nanoseconds since its start.
    #[inline(always)]
    pub(super) fn nanoseconds(self) -> u64 {
        monotonic().saturating_sub(self.begun)
    }
}

/// The monotonic clock, in nanoseconds.
#[cfg(unix)]
#[inline(always)]
fn monotonic() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.cast_unsigned().wrapping_mul(1_000_000_000).wrapping_add(now.tv_nsec.cast_unsigned())
}

/// The monotonic clock, in nanoseconds.
#[cfg(not(unix))]
fn monotonic() -> u64 {
    use std::{sync::LazyLock, time::Instant};

    static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(FIRST.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn it_takes_the_time_that_passes() {
        let outer = Instant::now();
        let stopwatch = Stopwatch::start();
        let inner = Instant::now();
        std::thread::sleep(Duration::from_millis(2));
        let least = inner.elapsed().as_nanos();
        let taken = u128::from(stopwatch.nanoseconds());
        let most = outer.elapsed().as_nanos();
        assert!((least..=most).contains(&taken), "{least} {taken} {most}");
    }
}
