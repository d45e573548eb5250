//! Conditional requests (RFC 9110 13).

use http::{
    HeaderMap, Method,
    header::{
        ETAG, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_UNMODIFIED_SINCE, LAST_MODIFIED,
    },
};
use policy_core::conditional::{Conditions, PreconditionVerdict, Validators};
use policy_core_tests::law::{Precondition, holds};
use proptest::{collection::vec, option, prelude::*, sample::select};

use crate::http::append;

/// The values from which a list of tags was generated.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Member {
    Star,
    Tag(Tag),
    Empty,
    Junk(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tag {
    pub(crate) weak: bool,
    pub(crate) name: &'static str,
}

impl Tag {
    pub(crate) fn text(self) -> String {
        format!("{}\"{}\"", if self.weak { "W/" } else { "" }, self.name)
    }
}

pub(crate) fn tag() -> impl Strategy<Value = Tag> + Clone {
    (any::<bool>(), select(vec!["", "a", "b,c", "W/", "*", "é\\"]))
        .prop_map(|(weak, name)| Tag { weak, name })
}

/// A text, and its seconds if it is a valid date.
pub(crate) type Date = (&'static str, Option<u64>);

const DATES: [Date; 9] = [
    ("Sun, 06 Nov 1994 08:49:36 GMT", Some(1)),
    ("Sun, 06 Nov 1994 08:49:37 GMT", Some(2)),
    ("Sunday, 06-Nov-94 08:49:37 GMT", Some(2)),
    ("Sun Nov  6 08:49:37 1994", Some(2)),
    ("Sun, 06 Nov 1994 08:49:38 GMT", Some(3)),
    ("Mon, 06 Nov 1994 08:49:37 GMT", None),
    ("Sun, 06 Nov 1994 08:49:37 +0000", None),
    ("0", None),
    ("", None),
];

pub(crate) fn date() -> impl Strategy<Value = Date> + Clone {
    select(DATES.to_vec())
}

#[derive(Clone, Debug)]
struct Case {
    method: &'static str,
    /// Lines; empty if the field is absent.
    if_match: Vec<Vec<Member>>,
    if_none_match: Vec<Vec<Member>>,
    if_modified_since: Vec<Date>,
    if_unmodified_since: Vec<Date>,
    /// The validators of the target, if it exists.
    current: Option<(Option<Tag>, Option<Date>)>,
}

fn cases() -> impl Strategy<Value = Case> {
    let member = prop_oneof![
        1 => Just(Member::Star),
        8 => tag().prop_map(Member::Tag),
        1 => Just(Member::Empty),
        1 => select(vec!["a", "\"a", "w/\"a\"", "\"a\"\"a\"", "\"a b\"", "W/ \"a\""])
            .prop_map(Member::Junk),
    ];
    let lines = |absent| {
        prop_oneof![
            absent => Just(vec![]),
            1 => Just(vec![vec![Member::Star]]),
            3 => vec(vec(member.clone(), 1..4), 1..3),
        ]
    };
    let dates =
        |absent| prop_oneof![absent => Just(vec![]), 3 => vec(date(), 1), 1 => vec(date(), 2)];
    let methods =
        vec!["GET", "GET", "GET", "HEAD", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "PURGE"];
    let current = option::weighted(0.9, (option::of(tag()), option::of(date())));
    (select(methods), lines(12), lines(4), dates(1), dates(8), current).prop_map(
        |(method, if_match, if_none_match, if_modified_since, if_unmodified_since, current)| Case {
            method,
            if_match,
            if_none_match,
            if_modified_since,
            if_unmodified_since,
            current,
        },
    )
}

fn line_of(members: &[Member]) -> String {
    let texts = members.iter().map(|member| match member {
        Member::Star => "*".to_owned(),
        Member::Tag(tag) => tag.text(),
        Member::Empty => String::new(),
        Member::Junk(text) => (*text).to_owned(),
    });
    texts.collect::<Vec<_>>().join(" ,\t")
}

/// Whether a list matches the target; `None` for a malformed list.
fn matches(lines: &[Vec<Member>], case: &Case, strong: bool) -> Option<bool> {
    if lines == [[Member::Star]] {
        return Some(case.current.is_some());
    }
    let mut any = false;
    for member in lines.iter().flatten() {
        match member {
            Member::Star | Member::Junk(_) => return None,
            Member::Empty => (),
            Member::Tag(listed) => {
                any |= case.current.and_then(|(etag, _)| etag).is_some_and(|etag| {
                    etag.name == listed.name && !(strong && (etag.weak || listed.weak))
                });
            }
        }
    }
    Some(any)
}

/// RFC 9110 13.1.3, 13.1.4: a date that is valid, and the only one.
fn single_date(dates: &[Date]) -> Option<u64> {
    match dates {
        [(_, date)] => *date,
        _ => None,
    }
}

/// RFC 9110 13.2.2, step by step.
fn oracle(case: &Case) -> PreconditionVerdict {
    if case.method == "OPTIONS" {
        return PreconditionVerdict::Proceed;
    }
    let reads = matches!(case.method, "GET" | "HEAD");
    let modified = case.current.and_then(|(_, modified)| modified).and_then(|(_, date)| date);
    // Step 1.
    if !case.if_match.is_empty() {
        if matches(&case.if_match, case, true) != Some(true) {
            return PreconditionVerdict::Failed;
        }
    // Step 2.
    } else if let (Some(date), Some(modified)) = (single_date(&case.if_unmodified_since), modified)
        && modified > date
    {
        return PreconditionVerdict::Failed;
    }
    // Step 3.
    if !case.if_none_match.is_empty() {
        return match (matches(&case.if_none_match, case, false), reads) {
            (Some(false), _) => PreconditionVerdict::Proceed,
            (Some(true), true) => PreconditionVerdict::NotModified,
            (Some(true), false) => PreconditionVerdict::Failed,
            // The standard leaves this open: safe requests get everything, others are refused.
            (None, true) => PreconditionVerdict::Proceed,
            (None, false) => PreconditionVerdict::Failed,
        };
    }
    // Step 4.
    match (single_date(&case.if_modified_since), modified) {
        (Some(date), Some(modified)) if reads && modified <= date => {
            PreconditionVerdict::NotModified
        }
        _ => PreconditionVerdict::Proceed,
    }
}

/// Every request is decided as RFC 9110 13.2.2 says, for any conditions.
#[test]
fn conditions_follow_the_standard() {
    for (want, usual) in [
        (PreconditionVerdict::Proceed, 64),
        (PreconditionVerdict::NotModified, 6),
        (PreconditionVerdict::Failed, 25),
    ] {
        holds(&format!("{want:?}"), usual, cases(), |case| {
            let mut headers = HeaderMap::new();
            for (name, lines) in
                [(&IF_MATCH, &case.if_match), (&IF_NONE_MATCH, &case.if_none_match)]
            {
                for members in lines {
                    append(&mut headers, name, &line_of(members));
                }
            }
            for (name, dates) in [
                (&IF_MODIFIED_SINCE, &case.if_modified_since),
                (&IF_UNMODIFIED_SINCE, &case.if_unmodified_since),
            ] {
                for (text, _) in dates {
                    append(&mut headers, name, text);
                }
            }
            let current = case.current.map(|(etag, modified)| {
                let mut response = HeaderMap::new();
                if let Some(etag) = etag {
                    append(&mut response, &ETAG, &etag.text());
                }
                if let Some((text, _)) = modified {
                    append(&mut response, &LAST_MODIFIED, text);
                }
                Validators::read(&response)
            });
            let method = Method::from_bytes(case.method.as_bytes()).expect("a method");
            let conditions = Conditions::read(&method, &headers);
            let has_none = headers.is_empty() || case.method == "OPTIONS";
            prop_assert_eq!(conditions.is_none(), has_none);
            let verdict = conditions.map_or(PreconditionVerdict::Proceed, |conditions| {
                conditions.evaluate(current.as_ref())
            });
            prop_assert_eq!(verdict, oracle(&case));
            Ok(Precondition::met_if(verdict == want))
        });
    }
}
