//! The text of a region: patterns, and exceptions from them.

use std::{error, fmt, str::FromStr};

use policy_core::{
    Rule,
    origin::{HostPattern, OriginPattern},
};

use super::{
    OriginRegion,
    hosts::{Hosts, Names},
    labels::Labels,
    ports::{DEFAULT_PORT, PortSet},
};

const NONE: &str = "no origin";
const EXCEPT: &str = " except ";

/// The patterns that a policy would list, then exceptions for origins that they match but the
/// region lacks: `https://*.a.test except https://x.a.test`, or with exceptions from exceptions
/// `https://*.a.test except (https://*.b.a.test except https://x.b.a.test)`.
///
/// For default ports, no such text of the region has fewer patterns. For other ports, a host has
/// `:*` if most are in the region, or else a pattern for each.
impl fmt::Display for OriginRegion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str(NONE);
        }
        let mut levels = Vec::new();
        let mut rest = self.clone();
        // Terminates: if the patterns of a level are exact for a name, those of all later levels
        // are exact for the names directly below.
        while !rest.is_empty() {
            let cover = Cover::new(&rest);
            rest = cover.beyond;
            levels.push(cover.patterns.join(", "));
        }
        let nested = levels.len().saturating_sub(2);
        for (level, patterns) in levels.iter().enumerate() {
            match level {
                0 => f.write_str(patterns)?,
                _ if level <= nested => write!(f, "{EXCEPT}({patterns}")?,
                _ => write!(f, "{EXCEPT}{patterns}")?,
            }
        }
        f.write_str(&")".repeat(nested))
    }
}

/// Parses the format of [`Display`](fmt::Display): patterns, `*` and `null` with commas between
/// them, and exceptions.
impl FromStr for OriginRegion {
    type Err = ParseOriginRegionError;

    fn from_str(text: &str) -> Result<Self, ParseOriginRegionError> {
        if text == NONE {
            return Ok(Self::empty());
        }
        let nested = text.matches(EXCEPT).count().saturating_sub(1);
        let unclosed = text.trim_end_matches(')');
        if text.len() - unclosed.len() != nested {
            return Err(ParseOriginRegionError::Parentheses);
        }
        let levels = unclosed.split(EXCEPT).enumerate().map(|(level, patterns)| {
            let is_nested = (1..=nested).contains(&level);
            let patterns = if is_nested {
                patterns.strip_prefix('(').ok_or(ParseOriginRegionError::Parentheses)?
            } else {
                patterns
            };
            patterns.split(", ").map(entry).collect::<Result<Self, _>>()
        });
        let levels = levels.collect::<Result<Vec<_>, _>>()?;
        let exceptions = |rest: Self, level: &Self| level.difference(&rest);
        Ok(levels.iter().rev().fold(Self::empty(), exceptions))
    }
}

fn entry(text: &str) -> Result<OriginRegion, ParseOriginRegionError> {
    match text {
        "*" => Ok(OriginRegion::all()),
        "null" => Ok(OriginRegion::null()),
        _ => match OriginPattern::parse(text) {
            Ok(pattern) => Ok(OriginRegion::from(&pattern)),
            Err(rule) => Err(ParseOriginRegionError::Pattern { text: text.to_owned(), rule }),
        },
    }
}

/// Why a text is not a region.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseOriginRegionError {
    /// An entry is not a pattern.
    Pattern {
        /// The entry.
        text: String,
        /// The rule that it breaks.
        rule: Rule,
    },
    /// Exceptions from exceptions are not in parentheses, or other text is.
    Parentheses,
}

impl fmt::Display for ParseOriginRegionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pattern { text, rule } => write!(f, "`{text}`: {}", rule.message()),
            Self::Parentheses => f.write_str(
                "only exceptions that have exceptions are in parentheses: \
                 `https://*.a.test except (https://*.b.a.test except https://x.b.a.test)`",
            ),
        }
    }
}

impl error::Error for ParseOriginRegionError {}

/// Patterns that match all of a region, and little else.
struct Cover {
    patterns: Vec<String>,
    /// The origins that they match beyond the region.
    beyond: OriginRegion,
}

impl Cover {
    fn new(region: &OriginRegion) -> Self {
        if region.is_cofinite {
            return Self { patterns: vec!["*".to_owned()], beyond: region.complement() };
        }
        let mut entries = Entries::default();
        let mut schemes: Vec<_> = region.schemes.iter().collect();
        // Secure schemes come first.
        schemes.sort_by_key(|(scheme, _)| (***scheme != *"https", ***scheme != *"http"));
        for (scheme, hosts) in schemes {
            entries.add_hosts(scheme, hosts);
        }
        if region.null {
            entries.patterns.push("null".to_owned());
            entries.regions.push(OriginRegion::null());
        }
        let beyond = match entries.has_more {
            true => OriginRegion::from_iter(entries.regions).difference(region),
            false => OriginRegion::empty(),
        };
        Self { patterns: entries.patterns, beyond }
    }
}

#[derive(Default)]
struct Entries {
    patterns: Vec<String>,
    regions: Vec<OriginRegion>,
    /// Whether a pattern may match origins outside of the region.
    has_more: bool,
}

impl Entries {
    fn add_hosts(&mut self, scheme: &str, hosts: &Hosts) {
        self.add_names(scheme, &hosts.names, None, [&PortSet::empty(); 2]);
        for (address, ports) in &hosts.addresses {
            self.add(scheme, (HostPattern::One, address), ports, &PortSet::empty());
        }
    }

    /// Adds patterns for the name and the names below it, unless earlier ones already match them.
    fn add_names(
        &mut self,
        scheme: &str,
        node: &Names,
        name: Option<&str>,
        [here, below]: [&PortSet; 2],
    ) {
        let mut covered = below.clone();
        let mut labels = Labels::default();
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            self.add(scheme, (HostPattern::One, name), &node.here, here);
            covered = self.add(scheme, (HostPattern::Below, name), &node.below, below);
            // The region may leave out labels with this prefix and suffix without listing them.
            self.has_more |= node.labels != Labels::default();
            for (prefix, suffix, ports) in node.labels.iter() {
                let known = labels.all_ports(prefix, suffix, usize::MAX).union(&covered);
                let hosts = HostPattern::Label { prefix, suffix };
                let known = self.add(scheme, (hosts, name), ports, &known);
                labels.insert(prefix, suffix, known);
            }
        }
        for ((label, _), (name, child)) in node.children.iter().zip(node.children_of(name)) {
            let room = label.len().saturating_sub(1);
            let here = labels.all_ports(label, label, room).union(&covered);
            self.add_names(scheme, child, Some(&name), [&here, &covered]);
        }
    }

    /// Adds a pattern for every port, or one for all if they are most, and returns all ports that
    /// are covered now.
    fn add(
        &mut self,
        scheme: &str,
        (hosts, host): (HostPattern<'_>, &str),
        ports: &PortSet,
        covered: &PortSet,
    ) -> PortSet {
        let front = match hosts {
            HostPattern::One => String::new(),
            HostPattern::Below => "*.".to_owned(),
            HostPattern::Label { prefix, suffix } => format!("{prefix}*{suffix}."),
        };
        self.has_more |= !covered.difference(ports).is_empty();
        let mut add = |port: &str, ports: PortSet| {
            self.patterns.push(format!("{scheme}://{front}{host}{port}"));
            self.regions.push(OriginRegion::from_parts(scheme, host, hosts, ports));
        };
        if ports.has_most() {
            if *covered != PortSet::all() {
                add(":*", PortSet::all());
            }
            self.has_more |= *ports != PortSet::all();
            return PortSet::all();
        }
        for port in ports.difference(covered).iter() {
            if port == DEFAULT_PORT {
                add("", PortSet::one(port));
            } else {
                add(&format!(":{port}"), PortSet::one(port));
            }
        }
        covered.union(ports)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> String {
        text.parse::<OriginRegion>().unwrap().to_string()
    }

    #[test]
    fn one_region_has_one_text() {
        for (text, want) in [
            (
                "https://b.test, http://x.test, https://a.test",
                "https://a.test, https://b.test, http://x.test",
            ),
            ("https://b.a.test, https://*.a.test", "https://*.a.test"),
            ("https://a.test:*, https://a.test:81, https://a.test", "https://a.test:*"),
            ("https://a.test:*, https://*.a.test", "https://a.test:*, https://*.a.test"),
            ("https://*.a.test:* except https://b.test", "https://*.a.test:*"),
            ("https://a.test except https://*.test", "no origin"),
            ("no origin", "no origin"),
            ("*, null, https://a.test", "*"),
            ("* except null", "* except null"),
            ("null, https://[::1]:*", "https://[::1]:*, null"),
            ("https://*.a.test.", "https://*.a.test."),
            ("https://x-1-b.a.test, https://x-*-b.a.test", "https://x-*-b.a.test"),
            ("https://x-*-b.a.test, https://*-b.a.test", "https://*-b.a.test"),
            (
                "https://*-b.a.test except (https://x-*-b.a.test except https://x-y*-b.a.test)",
                "https://*-b.a.test except (https://x-*-b.a.test except https://x-y*-b.a.test)",
            ),
            (
                "https://*.a.test except (https://*-b.a.test except https://x-b.a.test)",
                "https://*.a.test except (https://*-b.a.test except https://x-b.a.test)",
            ),
            // A pattern with a part of a label does not match names below that label.
            ("https://*-b.a.test except https://*.x-b.a.test", "https://*-b.a.test"),
            (
                "https://*.a.test except (https://*.b.a.test except https://x.b.a.test)",
                "https://*.a.test except (https://*.b.a.test except https://x.b.a.test)",
            ),
            (
                "* except (https://*.a.test except (https://*.b.a.test except https://b.b.a.test:*))",
                "* except (https://*.a.test except (https://*.b.a.test except https://b.b.a.test))",
            ),
        ] {
            assert_eq!(canonical(text), want, "{text}");
            assert_eq!(canonical(want), want);
        }
    }

    #[test]
    fn a_malformed_region_is_refused_with_its_entry() {
        let parse = |text: &str| text.parse::<OriginRegion>().unwrap_err();
        for (text, entry, rule) in [
            ("", "", Rule::OriginScheme),
            ("https://a.test,https://b.test", "https://a.test,https://b.test", Rule::OriginHost),
            ("https://a.test, https://b.test/", "https://b.test/", Rule::OriginPath),
            ("https://a.test except *.b.test", "*.b.test", Rule::OriginScheme),
            ("* except ", "", Rule::OriginScheme),
        ] {
            let want = ParseOriginRegionError::Pattern { text: entry.to_owned(), rule };
            assert_eq!(parse(text), want, "{text}");
        }
        for text in [
            "* except https://*.a.test except https://b.a.test",
            "* except https://*.a.test except https://b.a.test)",
            "* except (https://*.a.test except https://b.a.test",
            "* except (https://a.test)",
            "(*)",
        ] {
            assert_eq!(parse(text), ParseOriginRegionError::Parentheses, "{text}");
        }
        assert_eq!(
            parse("https://a.test/").to_string(),
            format!("`https://a.test/`: {}", Rule::OriginPath.message())
        );
    }
}
