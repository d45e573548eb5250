//! Sizes, times and rates, spelled as in attributes.

use std::time::Duration;

pub(super) fn bytes_in_words(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let whole = units.iter().find(|(power, _)| bytes != 0 && bytes.trailing_zeros() >= *power);
    match whole {
        Some((power, unit)) => format!("{} {unit}", bytes >> power),
        None => format!("{bytes} B"),
    }
}

/// Milliseconds, as manifests have them.
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

pub(crate) fn millis_in_words(millis: u64) -> String {
    match millis {
        0 => "0ms".to_owned(),
        millis if millis.is_multiple_of(60_000) => format!("{}m", millis / 60_000),
        millis if millis.is_multiple_of(1000) => format!("{}s", millis / 1000),
        millis => format!("{millis}ms"),
    }
}

pub(crate) fn seconds_in_words(seconds: i64) -> String {
    match seconds {
        seconds if seconds > 0 && seconds % 3600 == 0 => format!("{}h", seconds / 3600),
        seconds if seconds > 0 && seconds % 60 == 0 => format!("{}m", seconds / 60),
        seconds => format!("{seconds}s"),
    }
}

pub(super) fn rate_in_words(count: u32, per_ms: u64) -> String {
    let unit = match per_ms {
        1000 => "s",
        60_000 => "min",
        3_600_000 => "h",
        86_400_000 => "d",
        millis => return format!("{count} in {}", millis_in_words(millis)),
    };
    format!("{count}/{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_times_and_rates_are_spelled_as_in_attributes() {
        let sizes = [1, 1000, 1024, 1536, 1 << 20, 3 << 30];
        let sizes = sizes.map(bytes_in_words);
        assert_eq!(sizes, ["1 B", "1000 B", "1 KiB", "1536 B", "1 MiB", "3 GiB"]);
        let times = [1, 1500, 2000, 60_000, 90_000].map(millis_in_words);
        assert_eq!(times, ["1ms", "1500ms", "2s", "1m", "90s"]);
        let rates = [1000, 60_000, 3_600_000, 86_400_000, 1500].map(|per| rate_in_words(5, per));
        assert_eq!(rates, ["5/s", "5/min", "5/h", "5/d", "5 in 1500ms"]);
        assert_eq!([59, 600, 7200].map(seconds_in_words), ["59s", "10m", "2h"]);
    }
}
