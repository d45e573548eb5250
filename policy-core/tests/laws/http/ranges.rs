//! Ranges (RFC 9110 14 and 13.1.5).

use http::{
    HeaderMap, Method,
    header::{ETAG, IF_RANGE, LAST_MODIFIED, RANGE},
};
use policy_core::conditional::{Conditions, Range, Validators};
use policy_core_tests::law::{Precondition, holds};
use proptest::{collection::vec, option, prelude::*, sample::select};

use crate::http::{
    append,
    conditions::{Date, Tag, date, tag},
};

/// The values from which a set of ranges was generated.
#[derive(Clone, Copy, Debug)]
enum Spec {
    From(u128),
    Between(u128, u128),
    Last(u128),
    Empty,
    Junk(&'static str),
}

impl Spec {
    fn text(self) -> String {
        match self {
            Self::From(first) => format!("{first}-"),
            Self::Between(first, last) => format!("{first}-{last:03}"),
            Self::Last(count) => format!("-{count}"),
            Self::Empty => String::new(),
            Self::Junk(text) => text.to_owned(),
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum IfRange {
    Tag(Tag),
    Date(Date),
    Junk(&'static str),
}

#[derive(Clone, Debug)]
struct Case {
    method: Method,
    unit: &'static str,
    sets: Vec<Vec<Spec>>,
    if_range: Vec<IfRange>,
    etag: Option<Tag>,
    modified: Option<Date>,
    length: u64,
}

fn cases() -> impl Strategy<Value = Case> {
    let number = prop_oneof![
        9 => 0..30_u128,
        1 => select(vec![u128::from(u64::MAX), 1 << 64, u128::MAX]),
    ];
    let spec = prop_oneof![
        4 => number.clone().prop_map(Spec::From),
        9 => (number.clone(), 0..8_u128).prop_map(|(first, more)| {
            Spec::Between(first, first.saturating_add(more))
        }),
        1 => (number.clone(), number.clone()).prop_map(|(first, last)| Spec::Between(first, last)),
        4 => number.prop_map(Spec::Last),
        1 => Just(Spec::Empty),
        1 => select(vec!["-", "1", "a-b", "1 -2", "--1", "+1-2"]).prop_map(Spec::Junk),
    ];
    let set = prop_oneof![
        6 => vec(spec.clone(), 1),
        6 => vec(spec.clone(), 2..4),
        1 => vec(spec, 14..20),
    ];
    let if_range = prop_oneof![
        3 => tag().prop_map(IfRange::Tag),
        3 => date().prop_map(IfRange::Date),
        1 => select(vec!["*", "a", "\"a\", \"a\""]).prop_map(IfRange::Junk),
    ];
    let if_ranges = prop_oneof![2 => vec(if_range.clone(), 0), 1 => vec(if_range, 1..3)];
    let method = select(vec![Method::GET, Method::GET, Method::GET, Method::HEAD, Method::PUT]);
    let unit = select(vec!["bytes", "bytes", "bytes", "bytes", "Bytes", "lines"]);
    let sets = prop_oneof![6 => vec(set.clone(), 1), 1 => vec(set, 2)];
    (method, unit, sets, if_ranges, option::of(tag()), option::of(date()), 0..25_u64).prop_map(
        |(method, unit, sets, if_range, etag, modified, length)| Case {
            method,
            unit,
            sets,
            if_range,
            etag,
            modified,
            length,
        },
    )
}

/// RFC 9110 13.1.5.
fn condition_holds(case: &Case) -> bool {
    match case.if_range.as_slice() {
        [] => true,
        [IfRange::Tag(tag)] => {
            case.etag.is_some_and(|etag| etag.name == tag.name && !etag.weak && !tag.weak)
        }
        [IfRange::Date((_, Some(date)))] => {
            case.modified.is_some_and(|(_, modified)| modified == Some(*date))
        }
        _ => false,
    }
}

/// RFC 9110 14.1.2 and 14.2, byte by byte.
fn oracle(case: &Case) -> Range {
    let [set] = case.sets.as_slice() else { return Range::Whole };
    let is_asked = case.method == Method::GET && case.unit.eq_ignore_ascii_case("bytes");
    if !is_asked || !condition_holds(case) {
        return Range::Whole;
    }
    let set: Vec<Spec> = set.iter().copied().filter(|spec| !matches!(spec, Spec::Empty)).collect();
    // Beyond the length of any file.
    let number = |number: u128| number.min(u128::from(u64::MAX));
    let is_invalid = |spec: &Spec| match *spec {
        Spec::Junk(_) => true,
        Spec::Between(first, last) => number(first) > number(last),
        _ => false,
    };
    if set.is_empty() || set.len() > 16 || set.iter().any(is_invalid) {
        return Range::Whole;
    }
    let length = u128::from(case.length);
    let is_wanted = |byte: u128| {
        set.iter().any(|spec| match *spec {
            Spec::From(first) => byte >= first,
            Spec::Between(first, last) => byte >= first && byte <= last,
            Spec::Last(count) => byte + count.min(length) >= length,
            Spec::Empty | Spec::Junk(_) => false,
        })
    };
    // A suffix of empty content is satisfiable: it is the whole content.
    let is_suffix = |spec: &Spec| matches!(spec, Spec::Last(1..));
    if length == 0 && set.iter().any(is_suffix) {
        return Range::Whole;
    }
    let wanted: Vec<u64> = (0..case.length).filter(|byte| is_wanted(u128::from(*byte))).collect();
    let (Some(first), Some(last)) = (wanted.first(), wanted.last()) else {
        return Range::NotSatisfiable;
    };
    let has_gap = wanted.len() as u64 != last - first + 1;
    if has_gap { Range::Whole } else { Range::Part { first: *first, last: *last } }
}

/// A part is sent exactly if one is requested and exists.
#[test]
fn ranges_follow_the_standard() {
    for (want, usual) in [("Part", 12), ("NotSatisfiable", 7), ("Whole", 76)] {
        holds(want, usual, cases(), |case| {
            let mut headers = HeaderMap::new();
            for set in &case.sets {
                let texts: Vec<_> = set.iter().map(|spec| spec.text()).collect();
                append(&mut headers, &RANGE, &format!("{}={}", case.unit, texts.join(" ,\t")));
            }
            for validator in &case.if_range {
                let text = match validator {
                    IfRange::Tag(tag) => tag.text(),
                    IfRange::Date((text, _)) | IfRange::Junk(text) => (*text).to_owned(),
                };
                append(&mut headers, &IF_RANGE, &text);
            }
            let mut response = HeaderMap::new();
            if let Some(etag) = case.etag {
                append(&mut response, &ETAG, &etag.text());
            }
            if let Some((text, _)) = case.modified {
                append(&mut response, &LAST_MODIFIED, text);
            }
            let conditions = Conditions::read(&case.method, &headers).expect("a range");
            let range = conditions.range(&Validators::read(&response), case.length);
            prop_assert_eq!(range, oracle(&case));
            let content_range = range.content_range(case.length);
            prop_assert_eq!(content_range.is_none(), range == Range::Whole);
            Ok(Precondition::met_if(format!("{range:?}").starts_with(want)))
        });
    }
}
