//! The text format of OpenMetrics 1.0.

use std::{
    fmt::{self, Write},
    sync::atomic::Ordering::Relaxed,
};

use metrics::{Key, Unit};

use super::registry::{Instrument, Kind, Registry};

pub(super) const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The counter of attempts to register a series that is not kept, and its samples.
pub(super) const OWN: [&str; 3] = [
    "policy_metrics_dropped_series",
    "policy_metrics_dropped_series_total",
    "policy_metrics_dropped_series_created",
];

/// Writes all series, each with these labels as well.
pub(super) fn text(registry: &Registry, own: &[(String, String)]) -> Result<String, fmt::Error> {
    let mut out = String::new();
    let mut constant = String::new();
    for (name, value) in own {
        label(&mut constant, name, value);
    }
    for family in registry.state().families.values() {
        let name = &family.name;
        head(&mut out, name, family.kind, family.unit, &family.about)?;
        for (labels, instrument) in &family.series {
            let all = join(&constant, labels);
            match (family.kind, instrument) {
                (Kind::Counter, Instrument::Number(count)) => {
                    writeln!(out, "{name}_total{} {}", braced(&all), count.load(Relaxed))?;
                }
                (_, Instrument::Number(level)) => {
                    let level = f64::from_bits(level.load(Relaxed));
                    writeln!(out, "{name}{} {}", braced(&all), number(level))?;
                }
                (_, Instrument::Histogram(buckets)) => {
                    let mut count = 0;
                    for (bound, within) in buckets.counts() {
                        count += within;
                        let bound = format!("le=\"{}\"", number(bound));
                        let all = join(&all, &bound);
                        writeln!(out, "{name}_bucket{{{all}}} {count}")?;
                    }
                    let all = braced(&all);
                    writeln!(out, "{name}_sum{all} {}", number(buckets.sum()))?;
                    writeln!(out, "{name}_count{all} {count}")?;
                }
            }
        }
    }
    let [name, total, _] = OWN;
    let about = "Attempts to register a series that is not kept.";
    head(&mut out, name, Kind::Counter, None, about)?;
    writeln!(out, "{total}{} {}", braced(&constant), registry.dropped.load(Relaxed))?;
    out.push_str("# EOF\n");
    Ok(out)
}

/// The lines before the series of a family.
fn head(
    out: &mut String,
    name: &str,
    kind: Kind,
    unit: Option<&str>,
    about: &str,
) -> Result<(), fmt::Error> {
    let kind = match kind {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
        Kind::Histogram => "histogram",
    };
    writeln!(out, "# TYPE {name} {kind}")?;
    if let Some(unit) = unit {
        writeln!(out, "# UNIT {name} {unit}")?;
    }
    if !about.is_empty() {
        writeln!(out, "# HELP {name} {}", escaped(about))?;
    }
    Ok(())
}

/// The labels of a series as text, without those that are empty. `None` if two have the same name,
/// or if a name is empty, reserved by the format, or in `taken`.
pub(super) fn labels(key: &Key, taken: &[String]) -> Option<String> {
    let mut all: Vec<_> = key
        .labels()
        .filter(|label| !label.value().is_empty())
        .map(|label| (plain(label.key()), label.value()))
        .collect();
    all.sort();
    let names = || all.iter().map(|(name, _)| name);
    let is_repeated = names().zip(names().skip(1)).any(|(one, next)| one == next);
    let is_refused =
        |name: &String| matches!(&**name, "" | "__name__" | "le") || taken.contains(name);
    if is_repeated || names().any(is_refused) {
        return None;
    }
    let mut text = String::new();
    for (name, value) in all {
        label(&mut text, &name, value);
    }
    Some(text)
}

fn label(out: &mut String, name: &str, value: &str) {
    if !out.is_empty() {
        out.push(',');
    }
    out.push_str(name);
    out.push_str("=\"");
    out.push_str(&escaped(value));
    out.push('"');
}

fn join(one: &str, other: &str) -> String {
    let comma = if one.is_empty() || other.is_empty() { "" } else { "," };
    format!("{one}{comma}{other}")
}

fn braced(labels: &str) -> String {
    if labels.is_empty() { String::new() } else { format!("{{{labels}}}") }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// A number with its decimal point, which the format prefers.
fn number(value: f64) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    format!("{value:?}")
}

/// The name in the characters of the format, with its unit at the end.
pub(super) fn name(name: &str, unit: Option<&str>) -> String {
    let name = plain(name);
    let name = name.strip_suffix("_total").unwrap_or(&name);
    match unit {
        Some(unit) if name != unit && !name.ends_with(&format!("_{unit}")) => {
            format!("{name}_{unit}")
        }
        _ => name.to_owned(),
    }
}

/// The name of a unit in the format; counts have none.
pub(super) fn unit(unit: Unit) -> Option<&'static str> {
    match unit {
        Unit::Count => None,
        unit => Some(unit.as_str()),
    }
}

/// Whether the format takes this name as it is.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && plain(name) == name
}

/// Replaces what the names of the format cannot contain.
pub(super) fn plain(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    for (index, letter) in name.chars().enumerate() {
        match letter {
            '0'..='9' if index == 0 => plain.extend(['_', letter]),
            letter if letter.is_ascii_alphanumeric() => plain.push(letter),
            _ => plain.push('_'),
        }
    }
    plain
}

/// The names of the samples of a family (OpenMetrics 1.0, Metric Family).
pub(super) fn samples(kind: Kind, name: &str) -> Vec<String> {
    let suffixes: &[&str] = match kind {
        Kind::Counter => &["", "_total", "_created"],
        Kind::Gauge => &[""],
        Kind::Histogram => &["", "_bucket", "_sum", "_count", "_created"],
    };
    suffixes.iter().map(|suffix| format!("{name}{suffix}")).collect()
}
