//! Conditional requests and ranges: RFC 9110 13.2.2, step by step.

use http::{HeaderMap, HeaderValue, Method};
use proptest::prelude::*;

use super::{
    generate::{conditions, plan, request, scenario},
    handlers::{Content, Plan, State},
    site::{Reply, Site},
};
use crate::{
    exchange::Request,
    law::{Precondition, holds},
};

/// The preconditions of a request: each field by its line.
struct Assumed<'a> {
    tag: Option<&'a str>,
    modified: Option<u64>,
    headers: &'a HeaderMap,
}

/// The result of the first four steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PreconditionVerdict {
    Perform,
    NotModified,
    Failed,
}

impl<'a> Assumed<'a> {
    fn field(&self, name: &str) -> Option<&'a str> {
        self.headers.get(name).map(|value| value.to_str().expect("text"))
    }

    /// RFC 9110 13.2.2, steps 1 to 4, for a target that exists or not.
    fn verdict(&self, is_read: bool, exists: bool) -> PreconditionVerdict {
        let date = |name| self.field(name).and_then(seconds);
        // Step 1, or step 2 without If-Match.
        let holds = match self.field("if-match") {
            Some("*") => exists,
            Some(list) => tags(list)
                .iter()
                .any(|tag| self.tag.is_some_and(|now| now == tag && !now.starts_with("W/"))),
            None => match (date("if-unmodified-since"), self.modified) {
                (Some(date), Some(modified)) => modified <= date,
                _ => true,
            },
        };
        if !holds {
            return PreconditionVerdict::Failed;
        }
        let has_it =
            if is_read { PreconditionVerdict::NotModified } else { PreconditionVerdict::Failed };
        // Step 3, or step 4 without If-None-Match.
        match self.field("if-none-match") {
            Some("*") if exists => has_it,
            Some("*") => PreconditionVerdict::Perform,
            Some(list) => {
                let opaque = |tag: &str| tag.trim_start_matches("W/").to_owned();
                let now = self.tag.map(opaque);
                let is_there = tags(list).iter().any(|tag| Some(opaque(tag)) == now);
                if is_there { has_it } else { PreconditionVerdict::Perform }
            }
            None => match (date("if-modified-since"), self.modified) {
                (Some(date), Some(modified)) if is_read && modified <= date => has_it,
                _ => PreconditionVerdict::Perform,
            },
        }
    }

    /// The weak tag, if the client names only that one: no 304 gives its bytes, which may be
    /// encoded, the strong tag.
    fn weak_tag(&self) -> Option<String> {
        let list = self.field("if-none-match").filter(|list| *list != "*")?;
        let tag = self.tag.filter(|tag| !tags(list).iter().any(|listed| listed == tag))?;
        Some(format!("W/{}", tag.trim_start_matches("W/")))
    }

    /// Step 5: whether `Range` applies.
    fn is_range_good(&self) -> bool {
        match self.field("if-range") {
            None => true,
            Some(tag) if tag.ends_with('"') => {
                self.tag.is_some_and(|now| now == tag && !now.starts_with("W/"))
            }
            Some(date) => seconds(date).is_some_and(|date| self.modified == Some(date)),
        }
    }
}

/// The dates that requests use here. An invalid one is ignored.
fn seconds(date: &str) -> Option<u64> {
    Some(match date {
        "Sun, 06 Nov 1994 08:49:37 GMT"
        | "Sunday, 06-Nov-94 08:49:37 GMT"
        | "Sun Nov  6 08:49:37 1994" => 784_111_777,
        "Sun, 06 Nov 1994 08:49:36 GMT" => 784_111_776,
        "Sun, 06 Nov 1994 08:49:38 GMT" => 784_111_778,
        "Thu, 01 Jan 1970 00:00:00 GMT" => 0,
        _ => return None,
    })
}

/// The tags of a well-formed list (RFC 9110 8.8.3): a tag has no quotes and no escapes.
fn tags(list: &str) -> Vec<String> {
    let pieces: Vec<&str> = list.split('"').collect();
    let tag = |(between, tag): (&str, &str)| {
        let weak = if between.ends_with("W/") { "W/" } else { "" };
        format!("{weak}\"{tag}\"")
    };
    pieces.chunks_exact(2).map(|pair| tag((pair[0], pair[1]))).collect()
}

/// What RFC 9110 14.1 and 14.2 say about a `Range` for this length; `None` where it may be ignored.
enum Wanted {
    /// The first and last byte of each part.
    Parts(Vec<(u64, u64)>),
    /// No part exists.
    Unsatisfiable,
}

fn expected_range(range: &str, length: u64) -> Option<Wanted> {
    let (unit, set) = range.split_once('=')?;
    if !unit.eq_ignore_ascii_case("bytes") {
        return None;
    }
    let mut parts = Vec::new();
    for spec in set.split(',').map(str::trim) {
        let (first, last) = spec.split_once('-')?;
        // An overflowing number is beyond the end.
        let number = |text: &str| text.parse().unwrap_or(u64::MAX);
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(first) || !digits(last) {
            return None;
        }
        match (first, last) {
            ("", "") => return None,
            ("", last) if number(last) > 0 && length > 0 => {
                parts.push((length.saturating_sub(number(last)), length - 1));
            }
            // A suffix of an empty representation.
            ("", last) if number(last) > 0 => return None,
            ("", _) => (),
            (first, last) => {
                let last = if last.is_empty() { u64::MAX } else { number(last) };
                if number(first) > last {
                    return None;
                }
                if number(first) < length {
                    parts.push((number(first), last.min(length - 1)));
                }
            }
        }
    }
    Some(if parts.is_empty() { Wanted::Unsatisfiable } else { Wanted::Parts(parts) })
}

/// Excludes malformed lists of tags, for which the standard defines nothing.
fn is_readable((name, value): &(&str, &str)) -> bool {
    !matches!(*name, "if-match" | "if-none-match") || value.matches('"').count() % 2 == 0
}

fn conditional(mut request: Request, conditions: Vec<(&'static str, &'static str)>) -> Request {
    for (name, value) in conditions.into_iter().filter(is_readable) {
        request.headers.insert(name, HeaderValue::from_static(value));
    }
    request
}

/// The validators that a handler declares.
const VALIDATORS: [&[(&str, &str)]; 4] = [
    &[("etag", "\"1\""), ("accept-ranges", "bytes")],
    &[("etag", "W/\"1\""), ("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT")],
    &[("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT"), ("accept-ranges", "bytes")],
    &[
        ("etag", "\"a,b\""),
        ("last-modified", "Thu, 01 Jan 1970 00:00:00 GMT"),
        ("accept-ranges", "bytes"),
    ],
];

/// The response to a safe request, derived from the one without conditions, which apply if that is
/// 200 (RFC 9110 13.2.1, 15.4.5). A 304 has the fields that the standard requires, and a part is
/// the right part.
#[test]
fn conditional_reads_follow_the_standard() {
    let methods = &[Method::GET, Method::GET, Method::HEAD];
    let cases = (scenario(), plan(), request(methods), conditions(), 0..VALIDATORS.len() + 1);
    holds("conditions", 12, cases, |(scenario, mut plan, request, conditions, validators)| {
        let site = Site::new(&scenario, &request.path);
        // Mostly a 200 with validators.
        if validators < VALIDATORS.len() {
            plan.status = 200;
            plan.content = match plan.content {
                Content::Whole(len) | Content::Stream(len) => Content::Whole(len),
                _ => Content::Json,
            };
            plan.fields.retain(|(name, _)| !matches!(*name, "etag" | "last-modified"));
            plan.fields.extend(VALIDATORS[validators]);
        }
        let plain = site.with_cookie(request);
        let whole = site.ask(&plain, &plan);
        let conditional = conditional(plain, conditions);
        let reply = site.ask(&conditional, &plan);
        let stated = |name| whole.headers.get(name).map(|value| value.to_str().expect("text"));
        let assumed = Assumed {
            tag: stated("etag"),
            modified: stated("last-modified").and_then(seconds),
            headers: &conditional.headers,
        };
        if whole.status != 200 {
            // For other 2xx responses the standard leaves this open.
            if !(200..300).contains(&whole.status) {
                prop_assert_eq!(reply, whole);
            }
            return Ok(Precondition::Unmet);
        }
        match assumed.verdict(true, true) {
            PreconditionVerdict::Failed => prop_assert_eq!(reply.status, 412),
            PreconditionVerdict::NotModified => {
                prop_assert_eq!(reply.status, 304);
                prop_assert!(reply.body.is_empty());
                let mut due = whole.headers.clone();
                if let Some(weak) = assumed.weak_tag() {
                    due.insert("etag", weak.parse().expect("a tag"));
                }
                for name in ["etag", "vary", "cache-control", "content-location", "expires"] {
                    let values = |fields: &HeaderMap| {
                        fields.get_all(name).iter().cloned().collect::<Vec<_>>()
                    };
                    prop_assert_eq!(values(&reply.headers), values(&due), "{}", name);
                }
            }
            PreconditionVerdict::Perform => {
                let range = conditional.headers.get("range").map(|range| range.to_str());
                let range = range.and_then(Result::ok).filter(|_| {
                    conditional.method == Method::GET
                        && assumed.is_range_good()
                        && stated("accept-ranges") == Some("bytes")
                });
                let length = whole.length.filter(|_| range.is_some());
                match (range, length) {
                    (Some(range), Some(length)) => judge(range, length, &whole, &reply)?,
                    _ => prop_assert_eq!(&reply, &whole),
                }
            }
        }
        Ok(Precondition::met_if(reply.status != whole.status))
    });
}

fn judge(range: &str, length: u64, whole: &Reply, reply: &Reply) -> Result<(), TestCaseError> {
    let stated = reply.headers.get("content-range").map(|value| value.to_str().expect("text"));
    match expected_range(range, length) {
        None => prop_assert_eq!(reply, whole),
        Some(Wanted::Unsatisfiable) => {
            prop_assert_eq!(reply.status, 416);
            prop_assert_eq!(stated, Some(&*format!("bytes */{length}")));
        }
        // Responses with several parts are optional (RFC 9110 14.2).
        Some(Wanted::Parts(parts)) if reply.status == 200 => {
            prop_assert!(parts.len() > 1);
            prop_assert_eq!(reply, whole);
        }
        Some(Wanted::Parts(mut parts)) => {
            prop_assert_eq!(reply.status, 206);
            parts.sort_unstable();
            let (first, last) = (parts[0].0, parts.iter().map(|part| part.1).max());
            let last = last.expect("a part");
            let is_gapless = parts.windows(2).all(|pair| pair[1].0 <= pair[0].1 + 1);
            prop_assert!(is_gapless, "{:?}", parts);
            prop_assert_eq!(stated, Some(&*format!("bytes {first}-{last}/{length}")));
            prop_assert_eq!(&reply.body[..], &whole.body[first as usize..=last as usize]);
        }
    }
    Ok(())
}

/// The response to an unsafe request, given the state of the target: it is done or fails.
#[test]
fn conditional_writes_change_only_the_expected_state() {
    const STATES: [Option<State>; 5] = [
        None,
        Some(State { tag: "\"1\"", modified: 784_111_777 }),
        Some(State { tag: "W/\"1\"", modified: 784_111_777 }),
        Some(State { tag: "\"a,b\"", modified: 784_111_776 }),
        Some(State { tag: "\"2\"", modified: 0 }),
    ];
    let methods = &[Method::PUT, Method::DELETE];
    let cases = (scenario(), request(methods), conditions(), 0..STATES.len());
    holds("changes", 19, cases, |(scenario, mut request, conditions, state)| {
        request.path = "/in/state".to_owned();
        request.headers.clear();
        let site = Site::new(&scenario, &request.path);
        let request = conditional(request, conditions);
        let plan = Plan { state: STATES[state], ..Plan::default() };
        let assumed = Assumed {
            tag: plan.state.map(|state| state.tag),
            modified: plan.state.map(|state| state.modified),
            headers: &request.headers,
        };
        let verdict = assumed.verdict(false, plan.state.is_some());
        let due = if verdict == PreconditionVerdict::Perform { 202 } else { 412 };
        prop_assert_eq!(site.ask(&request, &plan).status, due);
        Ok(Precondition::met_if(verdict == PreconditionVerdict::Failed))
    });
}
