//! The directives of `Cache-Control` in a response (RFC 9111 5.2.2, RFC 5861, RFC 8246).

use std::fmt;

use http::{HeaderMap, HeaderValue, header::CACHE_CONTROL};

use super::spec::{Audience, CacheSpec, LONGEST_AGE};
use crate::grammar::outside_quotes;

/// The directives that this crate knows. A field that changes is written again from these, without
/// any directive that a cache understands and this crate does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Directives {
    no_store: bool,
    no_cache: bool,
    private: bool,
    public: bool,
    must_revalidate: bool,
    proxy_revalidate: bool,
    no_transform: bool,
    immutable: bool,
    max_age: Option<u32>,
    s_maxage: Option<u32>,
    stale_while_revalidate: Option<u32>,
    stale_if_error: Option<u32>,
}

/// A constant, since `from_static` checks every byte.
pub(super) const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

impl Directives {
    /// The directives that a policy declares; `None` if it declares only `vary`.
    pub(super) fn new(spec: &CacheSpec<'_>) -> Option<Self> {
        // INVARIANT: the spec of a policy has ages from 0 to the longest one.
        let age = |seconds: Option<i64>| Some(u32::try_from(seconds?).unwrap_or(0));
        let declared = Self {
            no_store: spec.no_store,
            no_cache: spec.no_cache,
            private: spec.audience == Audience::Private,
            public: spec.audience == Audience::Public,
            must_revalidate: spec.must_revalidate,
            immutable: spec.immutable,
            max_age: age(spec.max_age),
            s_maxage: age(spec.s_maxage),
            stale_while_revalidate: age(spec.stale_while_revalidate),
            stale_if_error: age(spec.stale_if_error),
            ..Self::default()
        };
        (declared != Self::default()).then_some(declared)
    }

    /// The directives of a handler, over all lines; `None` if there are none.
    pub(super) fn read(headers: &HeaderMap) -> Option<Self> {
        let mut lines = headers.get_all(CACHE_CONTROL).iter().peekable();
        lines.peek()?;
        let (mut read, mut is_sound) = (Self::default(), true);
        for directive in lines.flat_map(|line| outside_quotes(line.as_bytes(), b',')) {
            is_sound &= read.add(directive.trim_ascii());
        }
        Some(if is_sound { read } else { read.distrusted() })
    }

    /// Adds one directive; unknown ones are ignored. `false` if it is malformed or an age is
    /// repeated.
    fn add(&mut self, directive: &[u8]) -> bool {
        let mut halves = directive.splitn(2, |byte| *byte == b'=');
        let name = halves.next().unwrap_or_default().trim_ascii();
        let argument = halves.next();
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        if let Some((_, flag)) = self.flags().into_iter().find(|(known, _)| is(known)) {
            *flag = true;
            // A directive with an argument is about single fields, which many caches do not
            // understand.
            return argument.is_none();
        }
        if let Some((_, age)) = self.ages().into_iter().find(|(known, _)| is(known)) {
            let is_first = age.is_none();
            *age = argument.and_then(seconds);
            return is_first && age.is_some();
        }
        true
    }

    fn flags(&mut self) -> [(&'static str, &mut bool); 8] {
        [
            ("no-store", &mut self.no_store),
            ("no-cache", &mut self.no_cache),
            ("private", &mut self.private),
            ("public", &mut self.public),
            ("must-revalidate", &mut self.must_revalidate),
            ("proxy-revalidate", &mut self.proxy_revalidate),
            ("no-transform", &mut self.no_transform),
            ("immutable", &mut self.immutable),
        ]
    }

    fn ages(&mut self) -> [(&'static str, &mut Option<u32>); 4] {
        [
            ("max-age", &mut self.max_age),
            ("s-maxage", &mut self.s_maxage),
            ("stale-while-revalidate", &mut self.stale_while_revalidate),
            ("stale-if-error", &mut self.stale_if_error),
        ]
    }

    /// Only the restrictions. A malformed field counts as stale (RFC 9111 4.2.1).
    fn distrusted(self) -> Self {
        Self {
            no_store: self.no_store,
            no_cache: true,
            private: self.private,
            must_revalidate: self.must_revalidate,
            proxy_revalidate: self.proxy_revalidate,
            no_transform: self.no_transform,
            ..Self::default()
        }
    }

    /// The stricter of both: all restrictions, the shorter ages, and the permissions that both
    /// grant.
    pub(super) fn meet(self, other: Self) -> Self {
        let max_age = shorter(self.max_age, other.max_age);
        let shared = shorter(self.shared_age(), other.shared_age());
        // `s-maxage` is also a permission, so it is left out if `max-age` has the same value.
        let is_shared_said = self.s_maxage.is_some() && other.s_maxage.is_some();
        Self {
            no_store: self.no_store || other.no_store,
            no_cache: self.no_cache || other.no_cache,
            private: self.private || other.private,
            public: self.public && other.public,
            must_revalidate: self.must_revalidate || other.must_revalidate,
            proxy_revalidate: self.proxy_revalidate || other.proxy_revalidate,
            no_transform: self.no_transform || other.no_transform,
            immutable: self.immutable && other.immutable,
            max_age,
            s_maxage: shared.filter(|_| is_shared_said || shared != max_age),
            stale_while_revalidate: common(
                self.stale_while_revalidate,
                other.stale_while_revalidate,
            ),
            stale_if_error: common(self.stale_if_error, other.stale_if_error),
        }
    }

    /// The directives for a response to one person: `no-store`, and `private` with an age or
    /// `no-cache`, are kept; everything else becomes `private, no-cache`.
    pub(super) fn personal(self) -> Self {
        if self.no_store {
            self
        } else if self.private {
            Self { no_cache: self.no_cache || self.max_age.is_none(), ..self }
        } else {
            let no_transform = self.no_transform;
            Self { private: true, no_cache: true, no_transform, ..Self::default() }
        }
    }

    /// What two sides have met at, for a request with `Authorization`: kept out of shared caches if a
    /// restriction of one side alone would let them keep the response.
    pub(super) fn close_unless_agreed(self, one: Self, other: Self) -> Self {
        let is_agreed = one.opens() && other.opens();
        Self { private: self.private || (self.opens() && !is_agreed), ..self }
    }

    /// Whether shared caches may keep the response to a request with `Authorization` (RFC 9111 3.5).
    fn opens(self) -> bool {
        self.public || self.s_maxage.is_some() || self.must_revalidate
    }

    pub(super) fn forbids_storing(self) -> bool {
        self.no_store
    }

    /// Whether it states a freshness lifetime for every cache.
    pub(super) fn states_age(self) -> bool {
        self.max_age.is_some()
    }

    /// The age in a cache that serves many users.
    fn shared_age(self) -> Option<u32> {
        self.s_maxage.or(self.max_age)
    }

    pub(super) fn value(self) -> HeaderValue {
        // INVARIANT: words, digits and commas are a header value.
        HeaderValue::try_from(self.to_string()).unwrap_or(NO_STORE)
    }
}

impl fmt::Display for Directives {
    /// Directives without effect next to `no-store` or `private` are left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.no_store {
            return f.write_str("no-store");
        }
        let word = |name: &str, is_set: bool| is_set.then(|| name.to_owned());
        let age = |name: &str, seconds: Option<u32>| Some(format!("{name}={}", seconds?));
        let is_shared = !self.private;
        let words = [
            word("private", self.private),
            word("public", self.public && is_shared),
            word("no-cache", self.no_cache),
            age("max-age", self.max_age),
            age("s-maxage", self.s_maxage.filter(|_| is_shared)),
            word("must-revalidate", self.must_revalidate),
            word("proxy-revalidate", self.proxy_revalidate && is_shared),
            word("no-transform", self.no_transform),
            word("immutable", self.immutable),
            age("stale-while-revalidate", self.stale_while_revalidate),
            age("stale-if-error", self.stale_if_error),
        ];
        f.write_str(&words.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

fn shorter(one: Option<u32>, other: Option<u32>) -> Option<u32> {
    one.into_iter().chain(other).min()
}

fn common(one: Option<u32>, other: Option<u32>) -> Option<u32> {
    one.zip(other).map(|(one, other)| one.min(other))
}

/// `delta-seconds` (RFC 9111 1.2.2); a number that is too large counts as the longest age.
fn seconds(argument: &[u8]) -> Option<u32> {
    let text = str::from_utf8(argument).ok()?;
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().map_or(LONGEST_AGE, |age: u32| age.min(LONGEST_AGE)))
}
