//! The final `Cache-Control`.

use http::{HeaderMap, HeaderValue, header::CACHE_CONTROL};

use super::directives;
use crate::vary;

/// What happened while an answer was made, as far as caches have to know.
///
/// Ambient credentials of an application's own count as a session where they are cookies, and as
/// a bearer token where they are in `Authorization`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Happened {
    /// A cookie of a session, of refreshing or of anti-forgery is set or removed.
    pub cookie_set: bool,
    /// The answer has an anti-forgery token in it.
    pub csrf_token_rendered: bool,
    /// The answer is a login's, a logout's, or has another credential in it: a token, a ticket.
    pub credential_issued: bool,
    /// The engine refused the request.
    pub refused: bool,
    /// The session of the request was asked for, even if there is none.
    pub session_read: bool,
    /// A bearer token authenticated the request.
    pub bearer: bool,
}

/// Writes the final `Cache-Control` and completes `Vary`. What a handler wrote is kept where it is
/// as strict as what happened demands.
///
/// Fields for one kind of cache alone (RFC 9213 and its forerunners) are removed where anything is
/// demanded: such a cache would follow them and not `Cache-Control`.
///
/// ```
/// use http::{HeaderMap, HeaderValue, header::{CACHE_CONTROL, VARY}};
/// use policy_core::cache::{Happened, finish};
///
/// let mut headers = HeaderMap::new();
/// headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=60"));
/// finish(Happened { session_read: true, ..Happened::default() }, &mut headers);
/// assert_eq!(headers[CACHE_CONTROL], "private, no-cache");
/// assert_eq!(headers[VARY], "cookie");
///
/// headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, max-age=60"));
/// finish(Happened { session_read: true, ..Happened::default() }, &mut headers);
/// assert_eq!(headers[CACHE_CONTROL], "private, max-age=60");
/// ```
pub fn finish(happened: Happened, headers: &mut HeaderMap) {
    let stored_nowhere = happened.cookie_set
        || happened.csrf_token_rendered
        || happened.credential_issued
        || happened.refused;
    if stored_nowhere {
        headers.insert(CACHE_CONTROL, NO_STORE);
    } else if happened.session_read || happened.bearer {
        let kept = directives::personal(headers);
        headers.insert(CACHE_CONTROL, kept.unwrap_or(PRIVATE));
    } else {
        return;
    }
    let is_targeted = |name: &str| {
        name.ends_with("-cache-control") || matches!(name, "surrogate-control" | "x-accel-expires")
    };
    while let Some(name) = headers.keys().find(|name| is_targeted(name.as_str())).cloned() {
        headers.remove(name);
    }
    if happened.cookie_set || happened.csrf_token_rendered || happened.session_read {
        vary::add(headers, vary::Token::Cookie);
    }
}

// As constants, since `from_static` looks at every byte.
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
const PRIVATE: HeaderValue = HeaderValue::from_static("private, no-cache");
