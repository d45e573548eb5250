//! The final `Cache-Control`.

use http::{
    HeaderMap, HeaderName, HeaderValue, Method, StatusCode,
    header::{CACHE_CONTROL, CONTENT_LOCATION, CONTENT_TYPE, EXPIRES, PRAGMA, SET_COOKIE, VARY},
};

use super::{
    CachePolicy, CacheSpec,
    directives::{Directives, NO_STORE},
};
use crate::{method, vary};

/// Facts about a response that decide how caches may treat it.
///
/// An ambient credential of a custom scheme counts as a session if it is a cookie, and as a bearer
/// token if it is in `Authorization`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResponseFacts {
    /// A cookie of a session, a refresh token or a CSRF token is set or removed.
    pub cookie_set: bool,
    /// The response contains a CSRF token.
    pub csrf_token_rendered: bool,
    /// The response belongs to a login or logout, or contains another credential: a token, a
    /// ticket.
    pub credential_issued: bool,
    /// The engine refused the request.
    pub refused: bool,
    /// The handler asked for the session, even if there is none.
    pub session_read: bool,
    /// The request has `Authorization`, which a service behind the app may read.
    pub authorization_sent: bool,
    /// A bearer token authenticated the request.
    pub bearer: bool,
    /// The route takes a bearer token, or a credential of a custom scheme, which may be in
    /// `Authorization`, and the request had none; another request may have one.
    pub bearer_absent: bool,
    /// The `Content-Security-Policy` of the response has a nonce, which no other response may have.
    pub nonce_written: bool,
}

impl ResponseFacts {
    fn is_secret(self) -> bool {
        self.cookie_set || self.csrf_token_rendered || self.credential_issued || self.refused
    }

    fn is_personal(self) -> bool {
        self.session_read || self.bearer || self.nonce_written
    }

    fn depends_on_cookies(self) -> bool {
        self.cookie_set || self.csrf_token_rendered || self.session_read
    }
}

/// The facts about one request and its response.
#[derive(Clone, Copy, Debug)]
pub struct CacheExchange<'a> {
    /// The method of the request.
    pub method: &'a Method,
    /// The status of the response.
    pub status: StatusCode,
    /// What happened while the response was made.
    pub facts: ResponseFacts,
}

/// A policy with its fields as bytes, computed once.
#[derive(Clone, Debug)]
pub struct Caching {
    /// `None` if the policy states only `vary`.
    control: Option<Control>,
    vary: Option<vary::VaryNames>,
}

#[derive(Clone, Debug)]
struct Control {
    declared: Directives,
    value: HeaderValue,
    /// For a response to one person.
    personal: HeaderValue,
}

impl Caching {
    /// The fields of a policy.
    pub fn new(policy: &CachePolicy) -> Self {
        Self::from_spec(policy.spec())
    }

    /// As [`new`](Self::new), for a spec without violations that need not be a constant.
    ///
    /// ```
    /// use http::{HeaderMap, Method, StatusCode, header::CACHE_CONTROL};
    /// use policy_core::cache::{CacheExchange, CacheSpec, Caching, ResponseFacts, apply};
    ///
    /// let caching = Caching::from_spec(&CacheSpec { no_store: true, ..CacheSpec::NOTHING });
    /// let (method, facts) = (&Method::GET, ResponseFacts::default());
    /// let mut headers = HeaderMap::new();
    /// apply(Some(&caching), CacheExchange { method, status: StatusCode::OK, facts }, &mut headers);
    /// assert_eq!(headers[CACHE_CONTROL], "no-store");
    /// ```
    pub fn from_spec(spec: &CacheSpec<'_>) -> Self {
        let control = Directives::new(spec).map(|declared| Control {
            declared,
            value: declared.value(),
            personal: declared.personal().value(),
        });
        Self { control, vary: vary::VaryNames::new(spec.vary) }
    }
}

/// Whether caches may keep responses with this status without explicit permission (RFC 9110 15.1).
///
/// ```
/// use policy_core::cache::is_cacheable_by_default;
///
/// assert!(is_cacheable_by_default(404) && !is_cacheable_by_default(302));
/// ```
pub const fn is_cacheable_by_default(status: u16) -> bool {
    matches!(status, 200 | 203 | 204 | 206 | 300 | 301 | 308 | 404 | 405 | 410 | 414 | 501)
}

/// Writes the final `Cache-Control` and completes `Vary`. It combines the facts about the response,
/// the declaration of the route and what the handler wrote; the strictest counts.
///
/// - A response with a secret is not stored, and a response to one person is not stored by shared
///   caches, whatever was declared or written. A response that sets a cookie is one person's (RFC
///   9111 7.3). So is a page with a nonce, which a shared cache would send to everybody.
/// - A declaration applies to responses of 2xx and 3xx that caches keep, and to 304. Others are not
///   stored unless the handler wrote a `max-age` for them. The handler can only make a declaration
///   stricter: restrictions of either side hold, and permissions need both.
/// - Responses to methods that are not cacheable, and to POST and PATCH without `max-age` and
///   `Content-Location`, are never declared storable (RFC 9110 9.2.3 and 9.3.3).
/// - Responses to QUERY are never stored, whatever was declared or written: a cache that leaves the
///   content of the request out of its key would answer one query with the result of another (RFC
///   10008 2.7).
/// - Without a declaration and without any of these facts, a response stays as it is.
///
/// Where `Cache-Control` is written, the fields that some caches would follow instead are removed,
/// see [`is_rival`].
///
/// ```
/// use http::{HeaderMap, HeaderValue, Method, StatusCode, header::{CACHE_CONTROL, VARY}};
/// use policy_core::cache::{CachePolicy, Caching, CacheExchange, ResponseFacts, apply};
///
/// const LISTS: CachePolicy = CachePolicy::public().max_age(60).vary(&["accept"]).build();
/// let lists = Caching::new(&LISTS);
/// let exchange =
///     CacheExchange { method: &Method::GET, status: StatusCode::OK, facts: ResponseFacts::default() };
///
/// let mut headers = HeaderMap::new();
/// apply(Some(&lists), exchange, &mut headers);
/// assert_eq!(headers[CACHE_CONTROL], "public, max-age=60");
/// assert_eq!(headers[VARY], "accept");
///
/// let mut headers = HeaderMap::new();
/// headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, max-age=3600"));
/// apply(Some(&lists), exchange, &mut headers);
/// assert_eq!(headers[CACHE_CONTROL], "private, max-age=60");
///
/// let mut headers = HeaderMap::new();
/// let facts = ResponseFacts { session_read: true, ..ResponseFacts::default() };
/// apply(None, CacheExchange { facts, ..exchange }, &mut headers);
/// assert_eq!(headers[CACHE_CONTROL], "private, no-cache");
/// assert_eq!(headers[VARY], "cookie");
/// ```
pub fn apply(declared: Option<&Caching>, exchange: CacheExchange<'_>, headers: &mut HeaderMap) {
    if let Some(names) = declared.and_then(|caching| caching.vary.as_ref()) {
        vary::add_all(headers, names);
    }
    if exchange.facts.depends_on_cookies() {
        vary::add(headers, vary::VaryToken::Cookie);
    }
    let control = declared.and_then(|caching| caching.control.as_ref());
    // Most responses have few headers, none of them about caching: a scan costs less than a hash.
    let (mut says_something, mut sets_cookie) = (false, false);
    for name in headers.keys() {
        says_something |= *name == CACHE_CONTROL || is_rival(name);
        sets_cookie |= *name == SET_COOKIE;
    }
    let written = if says_something { Directives::read(headers) } else { None };
    let is_personal = exchange.facts.is_personal() || sets_cookie;
    if let Some(value) = decide(control, written, exchange, is_personal, headers) {
        if value.is_empty() {
            headers.remove(CACHE_CONTROL);
        } else {
            headers.insert(CACHE_CONTROL, value);
        }
        if says_something {
            remove_rivals(headers);
        }
    }
    // RFC 9111 3.5 keeps responses to a token out of shared caches. The cache of one browser may
    // serve two accounts, and a response without a token must not be reused for a request with one.
    let ResponseFacts { bearer, bearer_absent, .. } = exchange.facts;
    let is_reused = |value: &HeaderValue| *value != PRIVATE && *value != NO_STORE;
    if (bearer || bearer_absent) && headers.get(CACHE_CONTROL).is_none_or(is_reused) {
        vary::add(headers, vary::VaryToken::Authorization);
    }
}

/// Writes `no-store` onto a response about which no route declares anything.
///
/// ```
/// use http::{HeaderMap, header::CACHE_CONTROL};
///
/// let mut headers = HeaderMap::new();
/// policy_core::cache::forbid_storing(&mut headers);
/// assert_eq!(headers[CACHE_CONTROL], "no-store");
/// ```
pub fn forbid_storing(headers: &mut HeaderMap) {
    headers.insert(CACHE_CONTROL, NO_STORE);
}

/// `None` if the response stays as it is; an empty value if no directive is left.
fn decide(
    declared: Option<&Control>,
    written: Option<Directives>,
    exchange: CacheExchange<'_>,
    is_personal: bool,
    headers: &HeaderMap,
) -> Option<HeaderValue> {
    let CacheExchange { method, status, facts } = exchange;
    if facts.is_secret() || *method == Method::QUERY {
        return Some(NO_STORE);
    }
    match (declared, written) {
        (None, None) => is_personal.then_some(PRIVATE),
        (Some(control), None) => {
            let is_kept = keeps(method, control.declared, headers) && is_declared_for(status);
            Some(match (is_kept, is_personal) {
                (true, false) => control.value.clone(),
                (true, true) => control.personal.clone(),
                (false, _) => NO_STORE,
            })
        }
        (declared, Some(written)) => {
            let combined = declared.map_or(written, |control| control.declared.meet(written));
            let is_kept = keeps(method, combined, headers)
                && (declared.is_none() || is_declared_for(status) || written.states_age());
            if !combined.forbids_storing() && !is_kept {
                Some(NO_STORE)
            } else if is_personal {
                Some(combined.personal().value())
            } else if let (Some(control), true) = (declared, facts.authorization_sent) {
                Some(combined.close_unless_agreed(control.declared, written).value())
            } else {
                declared.map(|_| combined.value())
            }
        }
    }
}

/// Whether caches may keep the response to a request with this method.
fn keeps(method: &Method, directives: Directives, headers: &HeaderMap) -> bool {
    let is_complete = || directives.states_age() && headers.contains_key(CONTENT_LOCATION);
    method::is_cacheable(method.as_str()) && (method::is_safe(method.as_str()) || is_complete())
}

fn is_declared_for(status: StatusCode) -> bool {
    let is_answer = status.is_success() || status.is_redirection();
    is_answer && is_cacheable_by_default(status.as_u16()) || status == StatusCode::NOT_MODIFIED
}

/// Removes the freshness that a handler declared, when another response replaces its own.
pub fn forget_age(headers: &mut HeaderMap) {
    headers.remove(CACHE_CONTROL);
    remove_rivals(headers);
}

fn remove_rivals(headers: &mut HeaderMap) {
    while let Some(name) = headers.keys().find(|name| is_rival(name)).cloned() {
        headers.remove(name);
    }
}

/// Whether some caches follow this field in place of `Cache-Control`: `Expires`, `Pragma`, and the
/// fields for one kind of cache (RFC 9213 and its predecessors).
///
/// ```
/// use http::{HeaderName, header::CACHE_CONTROL};
/// use policy_core::cache::is_rival;
///
/// assert!(is_rival(&HeaderName::from_static("cdn-cache-control")));
/// assert!(!is_rival(&CACHE_CONTROL));
/// ```
pub fn is_rival(name: &HeaderName) -> bool {
    let is_targeted = |name: &str| {
        name.ends_with("-cache-control")
            || matches!(name, "edge-control" | "surrogate-control" | "x-accel-expires")
    };
    match *name {
        EXPIRES | PRAGMA => true,
        CONTENT_TYPE | VARY => false,
        _ => is_targeted(name.as_str()),
    }
}

// A constant, since `from_static` checks every byte.
const PRIVATE: HeaderValue = HeaderValue::from_static("private, no-cache");
