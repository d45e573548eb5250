//! A strict parser of OpenMetrics 1.0, written from its grammar and not from the code that writes it.

use std::collections::{BTreeMap, BTreeSet};

pub(crate) type Labels = BTreeMap<String, String>;

/// A text that follows every rule of the format that is checked here.
#[derive(Debug, Default)]
pub(crate) struct Exposition {
    /// Type and unit of each family.
    pub(crate) families: BTreeMap<String, (String, String)>,
    pub(crate) samples: BTreeMap<(String, Labels), f64>,
}

impl Exposition {
    /// Panics with the line that breaks a rule.
    pub(crate) fn parse(text: &str) -> Self {
        let body = text.strip_suffix("# EOF\n").expect("the last line is `# EOF`");
        assert!(body.is_empty() || body.ends_with('\n'), "each line ends with a line feed");
        let (mut all, mut current) = (Self::default(), None::<Family>);
        for line in body.lines() {
            assert!(!line.is_empty() && !line.ends_with('\r'), "`{line}`");
            if let Some(meta) = line.strip_prefix("# ") {
                let (keyword, rest) = meta.split_once(' ').expect(line);
                let (name, value) = rest.split_once(' ').expect(line);
                if current.as_ref().is_none_or(|family| family.name != name) {
                    assert_eq!(keyword, "TYPE", "a family begins with its type: `{line}`");
                    all.close(current.replace(Family::new(name, value)));
                    continue;
                }
                current.as_mut().expect("a family").describe(keyword, value, line);
            } else {
                let family = current.as_mut().expect("samples follow their family");
                let (name, labels, value) = sample(line);
                family.check_sample(&name, &labels, value, line);
                let earlier = all.samples.insert((name, labels), value);
                assert_eq!(earlier, None, "twice: `{line}`");
            }
        }
        all.close(current);
        all
    }

    fn close(&mut self, family: Option<Family>) {
        let Some(family) = family else { return };
        family.check_histograms();
        let Family { name, kind, unit, .. } = family;
        for other in self.families.keys() {
            let is_prefix = |one: &str, two: &str| {
                one.strip_prefix(two).is_some_and(|rest| {
                    ["", "_total", "_created", "_bucket", "_sum", "_count"].contains(&rest)
                })
            };
            assert!(!is_prefix(&name, other) && !is_prefix(other, &name), "{name} and {other}");
        }
        self.families.insert(name, (kind, unit));
    }

    /// The sum of all samples with this name whose labels have these values.
    pub(crate) fn sum(&self, name: &str, wanted: &[(&str, &str)]) -> f64 {
        let has = |labels: &Labels| {
            wanted.iter().all(|(name, value)| labels.get(*name).map_or("", |own| own) == *value)
        };
        let samples = self.samples.iter().filter(|((own, labels), _)| own == name && has(labels));
        samples.map(|(_, value)| value).sum()
    }

    pub(crate) fn values(&self, label: &str) -> BTreeSet<&str> {
        self.samples.keys().filter_map(|(_, labels)| labels.get(label)).map(|it| &**it).collect()
    }
}

/// Bounds with their counts; sum and count.
type Histogram = (Vec<(f64, f64)>, Option<f64>, Option<f64>);

struct Family {
    name: String,
    kind: String,
    unit: String,
    help: Option<String>,
    /// The histograms, by their labels without `le`.
    histograms: BTreeMap<Labels, Histogram>,
    has_samples: bool,
}

impl Family {
    fn new(name: &str, kind: &str) -> Self {
        assert!(is_name(name, true), "{name}");
        assert!(["counter", "gauge", "histogram"].contains(&kind), "{kind}");
        Self {
            name: name.to_owned(),
            kind: kind.to_owned(),
            unit: String::new(),
            help: None,
            histograms: BTreeMap::new(),
            has_samples: false,
        }
    }

    fn describe(&mut self, keyword: &str, value: &str, line: &str) {
        assert!(!self.has_samples, "behind samples: `{line}`");
        match keyword {
            "UNIT" => {
                assert!(self.unit.is_empty(), "`{line}`");
                assert!(self.name.ends_with(&format!("_{value}")), "`{line}`");
                value.clone_into(&mut self.unit);
            }
            "HELP" => {
                unescaped(value);
                assert_eq!(self.help.replace(value.to_owned()), None, "`{line}`");
            }
            _ => panic!("`{line}`"),
        }
    }

    fn check_sample(&mut self, name: &str, labels: &Labels, value: f64, line: &str) {
        self.has_samples = true;
        let suffix =
            name.strip_prefix(&*self.name).unwrap_or_else(|| panic!("of no family: `{line}`"));
        match (&*self.kind, suffix) {
            ("counter", "_total") => assert!(value >= 0.0, "`{line}`"),
            ("gauge", "") => (),
            ("histogram", "_bucket" | "_sum" | "_count") => {
                assert!(value >= 0.0, "`{line}`");
                let mut labels = labels.clone();
                let bound = labels.remove("le");
                let (bounds, sum, count) = self.histograms.entry(labels).or_default();
                match (suffix, bound) {
                    ("_bucket", Some(bound)) => bounds.push((number(&bound), value)),
                    ("_sum", None) => assert_eq!(sum.replace(value), None),
                    ("_count", None) => assert_eq!(count.replace(value), None),
                    _ => panic!("`{line}`"),
                }
            }
            _ => panic!("no sample of a {}: `{line}`", self.kind),
        }
    }

    fn check_histograms(&self) {
        for (labels, (bounds, sum, count)) in &self.histograms {
            let (bounds, counts): (Vec<f64>, Vec<f64>) = bounds.iter().copied().unzip();
            assert!(bounds.windows(2).all(|pair| pair[0] < pair[1]), "{labels:?}: {bounds:?}");
            assert!(counts.is_sorted(), "{labels:?}: {counts:?}");
            assert_eq!(bounds.last(), Some(&f64::INFINITY), "{labels:?}");
            assert_eq!(counts.last().copied(), *count, "{labels:?}");
            assert!(sum.is_some(), "{labels:?}");
        }
    }
}

/// Name, labels and value of a line.
fn sample(line: &str) -> (String, Labels, f64) {
    let end = line.find(['{', ' ']).expect(line);
    let (name, mut rest) = line.split_at(end);
    assert!(is_name(name, true), "`{line}`");
    let mut labels = Labels::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        loop {
            let (label, behind) = rest.split_once("=\"").expect(line);
            assert!(is_name(label, false), "`{line}`");
            let end = closing_quote(behind).expect(line);
            let earlier = labels.insert(label.to_owned(), unescaped(&behind[..end]));
            assert_eq!(earlier, None, "`{line}`");
            rest = &behind[end + 1..];
            if let Some(behind) = rest.strip_prefix('}') {
                rest = behind;
                break;
            }
            rest = rest.strip_prefix(',').expect(line);
        }
    }
    (name.to_owned(), labels, number(rest.strip_prefix(' ').expect(line)))
}

fn closing_quote(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.bytes().position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    })
}

fn unescaped(text: &str) -> String {
    let (mut plain, mut letters) = (String::new(), text.chars());
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('n') => plain.push('\n'),
                Some(letter @ ('\\' | '"')) => plain.push(letter),
                other => panic!("an escape of {other:?} in `{text}`"),
            },
            '"' => panic!("a quote in `{text}`"),
            letter => plain.push(letter),
        }
    }
    plain
}

fn is_name(name: &str, may_have_colons: bool) -> bool {
    let is_letter = |letter: char| {
        letter.is_ascii_alphabetic() || letter == '_' || (may_have_colons && letter == ':')
    };
    name.starts_with(is_letter)
        && name.chars().all(|letter| is_letter(letter) || letter.is_ascii_digit())
}

fn number(text: &str) -> f64 {
    match text {
        "+Inf" => f64::INFINITY,
        _ => {
            assert!(
                text.bytes().all(|byte| byte.is_ascii_digit() || b".e-".contains(&byte)),
                "{text}"
            );
            text.parse().expect(text)
        }
    }
}

#[test]
fn the_parser_refuses_what_the_format_forbids() {
    let counter = "# TYPE a counter\n";
    let buckets = "a_bucket{le=\"1.0\"} 1\na_bucket{le=\"+Inf\"} 2\n";
    let ends = "a_sum 1.5\na_count 2\n";
    let histogram = format!("# TYPE a histogram\n{buckets}{ends}");
    let parsed = Exposition::parse(&format!("{histogram}# EOF\n"));
    assert_eq!(parsed.sum("a_bucket", &[("le", "1.0")]), 1.0);
    for text in [
        "".to_owned(),
        "# EOF".to_owned(),
        format!("{counter}a 1\n# EOF\n"),
        format!("{counter}a_total 1\n# EOF\n# EOF\n"),
        format!("{counter}a_total -1\n# EOF\n"),
        format!("{counter}a_total 1\na_total 1\n# EOF\n"),
        format!("{counter}a_total{{b=\"c\",b=\"d\"}} 1\n# EOF\n"),
        format!("{counter}a_total{{b=\"\\c\"}} 1\n# EOF\n"),
        format!("{counter}a_total{{b.c=\"d\"}} 1\n# EOF\n"),
        format!("{counter}# UNIT a seconds\na_total 1\n# EOF\n"),
        format!("{counter}a_total 1\n# HELP a late\n# EOF\n"),
        format!("{counter}b_total 1\n# EOF\n"),
        format!("{counter}a_total 1\n# TYPE a_total gauge\na_total 1\n# EOF\n"),
        format!("# TYPE a histogram\n{buckets}a_sum 1\na_count 3\n# EOF\n"),
        format!("# TYPE a histogram\na_bucket{{le=\"1.0\"}} 2\n{ends}# EOF\n"),
        "# HELP a of nothing\n# EOF\n".to_owned(),
    ] {
        let refused = std::panic::catch_unwind(|| Exposition::parse(&text));
        assert!(refused.is_err(), "{text}");
    }
}
