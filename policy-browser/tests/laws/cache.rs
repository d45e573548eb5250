//! RFC 9111 for a private cache.

use std::time::Duration;

use policy_browser::{CacheMode, Event, Fetch, Page, Profile, Redirect, State, run, step};
use policy_core_tests::law::{Precondition, holds};
use proptest::{collection::vec, option, prelude::*, sample::select};

use crate::{NOW, browser, load, response, url};

const ASSET: &str = "https://shop.example/asset";

/// The cache fields of a response as they were generated.
#[derive(Clone, Debug)]
struct Said {
    status: u16,
    directives: Vec<Directive>,
    /// Seconds before or after the arrival of the response.
    date: Option<i64>,
    expires: Option<Expires>,
    modified: Option<u64>,
    age: Option<u64>,
    has_tag: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Directive {
    NoStore,
    NoCache,
    MustRevalidate,
    Private,
    MaxAge(u64),
    Unknown,
}

#[derive(Clone, Copy, Debug)]
enum Expires {
    In(i64),
    Never,
}

fn cache_fields() -> impl Strategy<Value = Said> {
    use Directive::{MaxAge, MustRevalidate, NoCache, NoStore, Private, Unknown};
    let directive = prop_oneof![
        1 => Just(NoStore),
        1 => Just(NoCache),
        1 => Just(MustRevalidate),
        1 => Just(Private),
        6 => (0..200_u64).prop_map(MaxAge),
        1 => Just(Unknown),
    ];
    let expires = prop_oneof![4 => (-50..200_i64).prop_map(Expires::In), 1 => Just(Expires::Never)];
    (
        prop_oneof![4 => Just(200_u16), 2 => select(vec![203, 206, 301, 302, 404, 410, 418, 500])],
        vec(directive, 0..3),
        option::of(-50..50_i64),
        option::of(expires),
        option::of(0..2000_u64),
        option::of(0..100_u64),
        any::<bool>(),
    )
        .prop_map(|(status, directives, date, expires, modified, age, has_tag)| Said {
            status,
            directives,
            date,
            expires,
            modified,
            age,
            has_tag,
        })
}

/// A date in the form of RFC 9110, 5.6.7, in the year of [`NOW`].
fn date(offset: i64) -> String {
    let seconds = i64::try_from(NOW).expect("a date") + offset;
    // Days relative to 1 January 2026, a Thursday.
    let days = seconds.div_euclid(86_400) - 20_454;
    let day = match days {
        -1 => "Wed, 31 Dec 2025",
        0 => "Thu, 01 Jan 2026",
        _ => panic!("not within a day: {offset}"),
    };
    let time = seconds.rem_euclid(86_400);
    format!("{day} {:02}:{:02}:{:02} GMT", time / 3600, time / 60 % 60, time % 60)
}

/// How the second of two requests is served.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Use {
    Nothing,
    Asked,
    Unasked,
}

impl Said {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let mut fields = Vec::new();
        for directive in &self.directives {
            let text = match directive {
                Directive::NoStore => "no-store".to_owned(),
                Directive::NoCache => "no-cache".to_owned(),
                Directive::MustRevalidate => "Must-Revalidate".to_owned(),
                Directive::Private => "private".to_owned(),
                Directive::MaxAge(seconds) => format!("max-age={seconds}"),
                Directive::Unknown => "x=\"1\"".to_owned(),
            };
            fields.push(("cache-control", text));
        }
        fields.extend(self.date.map(|offset| ("date", date(offset))));
        fields.extend(self.expires.map(|expires| match expires {
            Expires::In(offset) => ("expires", date(offset)),
            Expires::Never => ("expires", "0".to_owned()),
        }));
        let before = |ago: u64| date(-i64::try_from(ago).expect("a date"));
        fields.extend(self.modified.map(|ago| ("last-modified", before(ago))));
        fields.extend(self.age.map(|age| ("age", age.to_string())));
        fields.extend(self.has_tag.then(|| ("etag", "\"1\"".to_owned())));
        fields
    }

    fn has(&self, directive: Directive) -> bool {
        self.directives.contains(&directive)
    }

    fn max_age(&self) -> Option<i64> {
        self.directives.iter().find_map(|directive| match directive {
            Directive::MaxAge(seconds) => i64::try_from(*seconds).ok(),
            _ => None,
        })
    }

    /// RFC 9111, 3: storing; RFC 9110, 15.1: statuses that are cacheable by default.
    fn is_stored(&self) -> bool {
        let is_cacheable =
            matches!(self.status, 200 | 203 | 204 | 300 | 301 | 308 | 404 | 405 | 410 | 414 | 501);
        let is_explicit =
            self.max_age().is_some() || self.expires.is_some() || self.has(Directive::Private);
        !self.has(Directive::NoStore) && self.status != 206 && (is_cacheable || is_explicit)
    }

    /// RFC 9111, 4.2. Counts in tenths of seconds, for the heuristic of a tenth.
    fn is_fresh_after(&self, seconds: i64) -> bool {
        let date = self.date.unwrap_or(0);
        let is_guessed = matches!(self.status, 200 | 203 | 301 | 404 | 410);
        let tenths = if let Some(seconds) = self.max_age() {
            seconds * 10
        } else if let Some(expires) = self.expires {
            match expires {
                Expires::In(offset) => (offset - date) * 10,
                Expires::Never => 0,
            }
        } else if let Some(ago) = self.modified
            && is_guessed
            && !self.has(Directive::MustRevalidate)
        {
            date + i64::try_from(ago).expect("a date")
        } else {
            0
        };
        let age = self.age.map_or(0, |age| i64::try_from(age).expect("an age")).max(-date);
        (age + seconds) * 10 < tenths && !self.has(Directive::NoCache)
    }

    fn expected_use(&self, mode: CacheMode, seconds: i64) -> Use {
        let can_ask = self.has_tag || self.modified.is_some();
        let is_unasked = match mode {
            CacheMode::ForceCache => true,
            CacheMode::Default => self.is_fresh_after(seconds),
            _ => false,
        };
        let is_read = !matches!(mode, CacheMode::NoStore | CacheMode::Reload);
        match self.is_stored() && is_read {
            true if is_unasked => Use::Unasked,
            true if can_ask => Use::Asked,
            _ => Use::Nothing,
        }
    }
}

fn wait(state: State, seconds: u64) -> State {
    step(state, Event::Elapse(Duration::from_secs(seconds))).0
}

/// The second of two requests is served by the cache, by the server with conditions, or by the
/// server without.
#[test]
fn the_cache_follows_rfc_9111() {
    use CacheMode::{Default, ForceCache, NoCache, NoStore, Reload};
    let mode =
        prop_oneof![4 => Just(Default), 1 => select(vec![ForceCache, NoCache, NoStore, Reload])];
    holds("RFC 9111", 58, (cache_fields(), mode, 0..200_u64), |(stored, mode, seconds)| {
        let page = Page::at(url("https://shop.example/"));
        let fetch = || Fetch::get(ASSET).redirect(Redirect::Manual);
        let first = response(stored.status, &stored.fields());
        let (state, _) = load(browser(Profile::STANDARD), Some(&page), fetch(), &first);
        let then = fetch().cache(mode);
        let (_, sent) = load(wait(state, seconds), Some(&page), then, &response(200, &[]));
        let used = match &sent {
            None => Use::Unasked,
            Some(sent) => {
                let conditions = ["if-none-match", "if-modified-since"]
                    .map(|name| sent.headers.contains_key(name));
                prop_assert!(
                    conditions == [false; 2]
                        || conditions == [stored.has_tag, stored.modified.is_some()]
                );
                if conditions == [false; 2] { Use::Nothing } else { Use::Asked }
            }
        };
        let seconds = i64::try_from(seconds).expect("a time");
        prop_assert_eq!(used, stored.expected_use(mode, seconds));
        Ok(Precondition::met_if(used != Use::Nothing))
    });
}

/// A stored response is used for another request if both agree in the fields that its `Vary` names.
#[test]
fn vary_is_the_key() {
    const NAMES: [&str; 3] = ["x-a", "x-b", "X-C"];
    let value = || option::of(select(vec!["1", "2"]));
    let requests = [[value(), value(), value()], [value(), value(), value()]];
    let named = any::<[bool; 3]>();
    holds("Vary", 62, (requests, named), |([one, other], named)| {
        let page = Page::at(url("https://shop.example/"));
        let fetch = |values: &[Option<&str>; 3]| {
            NAMES.iter().zip(values).fold(Fetch::get(ASSET), |fetch, (name, value)| match value {
                Some(value) => fetch.header(*name, *value),
                None => fetch,
            })
        };
        let vary: Vec<_> =
            NAMES.iter().zip(named).filter(|(_, named)| *named).map(|(name, _)| *name).collect();
        let fields = [("cache-control", "max-age=60".to_owned()), ("vary", vary.join(" ,"))];
        let varied = response(200, &fields);
        let (state, _) = load(browser(Profile::STANDARD), Some(&page), fetch(&one), &varied);
        let (state, sent) = load(state, Some(&page), fetch(&other), &varied);
        let is_same = (0..3).all(|place| !named[place] || one[place] == other[place]);
        prop_assert_eq!(sent.is_none(), is_same);
        // Both responses are stored now.
        for values in [&one, &other] {
            let (_, sent) = load(state.clone(), Some(&page), fetch(values), &varied);
            prop_assert!(sent.is_none());
        }
        Ok(Precondition::met_if(!is_same))
    });
}

/// Whatever a server sends, a load ends, and stored content comes back unchanged.
#[test]
fn cached_content_equals_the_response() {
    let loads = vec((0..4_u8, cache_fields(), any::<u8>(), 0..100_u64), 1..8);
    let profile =
        select(vec![Profile::STANDARD, Profile::CHROMIUM, Profile::FIREFOX, Profile::WEBKIT]);
    holds("content", 16, (loads, profile), |(loads, profile)| {
        let page = Page::at(url("https://shop.example/"));
        let mut state = browser(profile);
        let mut last = [const { None }; 4];
        let mut was_cached = false;
        for (place, stored, content, seconds) in &loads {
            let fetch = Fetch::get(format!("{ASSET}/{place}"));
            let fetch = fetch.redirect(Redirect::Error);
            let mut response = response(stored.status, &stored.fields());
            response.body = vec![*content];
            let last = &mut last[usize::from(*place)];
            let (next, outcome) = run(wait(state, *seconds), Some(&page), fetch, |request| {
                let mut names = request.headers.keys();
                let is_conditional = names.any(|name| name.as_str().starts_with("if-"));
                assert!(!is_conditional || last.is_some(), "{request:?}");
                *last = Some(*content);
                response.clone()
            });
            state = next;
            if let Some(response) = outcome.response()
                && response.is_cached
            {
                was_cached = true;
                prop_assert_eq!(response.body.first().copied(), *last);
            }
        }
        Ok(Precondition::met_if(was_cached))
    });
}
