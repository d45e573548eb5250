//! The verdict on the origin of a request.

use http::{HeaderMap, Method, header::REFERER};

use crate::{
    head::{Head, Single},
    isolation::{SEC_FETCH_MODE, SEC_FETCH_SITE, is_tainted},
    method,
};

/// The request headers that state which page a request comes from.
#[derive(Clone, Copy, Debug)]
pub struct OriginFacts<'a> {
    /// The method as it is: no field and no parameter overrides it.
    pub method: &'a Method,
    /// Whether it opens a WebSocket.
    pub is_upgrade: bool,
    /// `Origin`
    pub origin: Single<'a>,
    /// `Sec-Fetch-Site`
    pub sec_fetch_site: Single<'a>,
    /// `Sec-Fetch-Mode`
    pub sec_fetch_mode: Single<'a>,
    /// `Referer`
    pub referer: Single<'a>,
}

impl<'a> OriginFacts<'a> {
    /// Reads the headers of a request; nothing is read from a request with a safe method.
    pub fn read(head: &Head<'a>, headers: &'a HeaderMap) -> Self {
        let mut facts = Self {
            method: head.method,
            is_upgrade: head.is_upgrade(),
            origin: head.origin,
            ..Self::safe()
        };
        if !facts.is_safe() {
            facts.sec_fetch_site = Single::read(headers, &SEC_FETCH_SITE);
            facts.sec_fetch_mode = Single::read(headers, &SEC_FETCH_MODE);
            facts.referer = Single::read(headers, &REFERER);
        }
        facts
    }

    /// The facts of a request that changes nothing.
    pub(crate) fn safe() -> Self {
        Self {
            method: &Method::GET,
            is_upgrade: false,
            origin: Single::Absent,
            sec_fetch_site: Single::Absent,
            sec_fetch_mode: Single::Absent,
            referer: Single::Absent,
        }
    }

    /// Whether the request changes nothing, by its method (RFC 9110 9.2.1), and opens nothing. An
    /// unknown method may change everything. TRACE is treated alike, since no browser sends it and
    /// no route serves it.
    pub fn is_safe(&self) -> bool {
        !self.is_upgrade && self.method != Method::TRACE && method::is_safe(self.method.as_str())
    }

    /// Whether the request opens a WebSocket as browsers do, which cannot add a field to it.
    pub(super) fn is_plain_upgrade(&self) -> bool {
        self.is_upgrade && matches!(*self.method, Method::GET | Method::CONNECT)
    }
}

/// The verdict on the origin of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OriginVerdict {
    /// The request comes from a trusted page or the user, or changes nothing.
    Passed,
    /// The headers do not state the origin; no current browser sends such a request. A token may
    /// decide.
    Undecided,
    /// Another page, or contradictory headers.
    Refused,
}

/// Judges the origin of a request. `is_own` matches the server's own origin, from its configuration
/// and never from `Host`; `is_trusted` matches other origins that may act with the user's cookies.
/// Both compare exact text, including scheme and port.
///
/// ```
/// use http::{HeaderValue, Method};
/// use policy_core::{csrf::{OriginFacts, OriginVerdict, origin_verdict}, head::Single};
///
/// let verdict = |origin: &'static str| {
///     let origin = HeaderValue::from_static(origin);
///     let facts = OriginFacts {
///         method: &Method::POST,
///         is_upgrade: false,
///         origin: Single::One(&origin),
///         sec_fetch_site: Single::Absent,
///         sec_fetch_mode: Single::Absent,
///         referer: Single::Absent,
///     };
///     origin_verdict(&facts, |origin| origin == b"https://app.example", |_| false)
/// };
/// assert_eq!(verdict("https://app.example"), OriginVerdict::Passed);
/// assert_eq!(verdict("http://app.example"), OriginVerdict::Refused);
/// assert_eq!(verdict("null"), OriginVerdict::Refused);
/// ```
pub fn origin_verdict(
    facts: &OriginFacts<'_>,
    is_own: impl Fn(&[u8]) -> bool,
    is_trusted: impl Fn(&[u8]) -> bool,
) -> OriginVerdict {
    if facts.is_safe() || passes(facts, &is_own, &is_trusted) {
        OriginVerdict::Passed
    } else if [facts.origin, facts.sec_fetch_site, facts.referer] == [Single::Absent; 3] {
        OriginVerdict::Undecided
    } else {
        OriginVerdict::Refused
    }
}

fn passes(
    facts: &OriginFacts<'_>,
    is_own: &impl Fn(&[u8]) -> bool,
    is_trusted: &impl Fn(&[u8]) -> bool,
) -> bool {
    let site = match facts.sec_fetch_site {
        Single::Absent => None,
        Single::One(site) => Some(site.as_bytes()),
        Single::Repeated => return false,
    };
    let origin = match facts.origin {
        Single::Absent => None,
        Single::One(origin) => Some(origin.as_bytes()),
        Single::Repeated => return false,
    };
    // A form on an own page that sends no referrer also has the origin `null`; then
    // `Sec-Fetch-Site` decides.
    let names_nobody =
        matches!(origin, None | Some(b"null")) && !is_tainted(facts.origin, facts.sec_fetch_mode);
    match (origin, site) {
        // No browser reports `cross-site` for the own origin.
        (Some(origin), _) if is_own(origin) => site != Some(b"cross-site"),
        (Some(origin), _) if origin != b"null" && is_trusted(origin) => true,
        (_, Some(b"same-origin" | b"none")) => names_nobody,
        (Some(_), _) | (_, Some(_)) => false,
        (None, None) => match facts.referer {
            Single::One(referer) => origin_of_url(referer.as_bytes())
                .is_some_and(|origin| is_own(origin) || is_trusted(origin)),
            Single::Absent | Single::Repeated => false,
        },
    }
}

/// The text of an absolute URL up to the end of its authority.
fn origin_of_url(url: &[u8]) -> Option<&[u8]> {
    let scheme_len = url.windows(3).position(|part| part == b"://")? + 3;
    let (_, behind) = url.split_at_checked(scheme_len)?;
    let host_len = behind.iter().position(|byte| matches!(byte, b'/' | b'?' | b'#'));
    url.get(..scheme_len + host_len.unwrap_or(behind.len()))
}

#[cfg(test)]
pub(super) mod tests {
    use http::HeaderValue;

    use super::*;

    /// A request that states no page.
    pub(in crate::csrf) fn facts(method: &Method, is_upgrade: bool) -> OriginFacts<'_> {
        OriginFacts { method, is_upgrade, ..OriginFacts::safe() }
    }

    /// It counts only if no other header states where a request comes from.
    #[test]
    fn a_referer_counts_with_its_scheme_host_and_port() {
        let own = |origin: &[u8]| origin == b"https://own.example";
        let trusted = |origin: &[u8]| origin == b"https://app.example:8443";
        for (referer, verdict) in [
            ("https://own.example/", OriginVerdict::Passed),
            ("https://own.example", OriginVerdict::Passed),
            ("https://own.example?a", OriginVerdict::Passed),
            ("https://own.example/a:8443/", OriginVerdict::Passed),
            ("https://own.example:8443/", OriginVerdict::Refused),
            ("https://own.example:443/", OriginVerdict::Refused),
            ("http://own.example/", OriginVerdict::Refused),
            ("https://own.example.evil.example/", OriginVerdict::Refused),
            ("https://own.example@evil.example/", OriginVerdict::Refused),
            ("https://evil.example/https://own.example/", OriginVerdict::Refused),
            ("https://app.example:8443/a", OriginVerdict::Passed),
            ("https://app.example/a", OriginVerdict::Refused),
            ("/a", OriginVerdict::Refused),
        ] {
            let referer = HeaderValue::from_static(referer);
            let post = facts(&Method::POST, false);
            let facts = OriginFacts { referer: Single::One(&referer), ..post };
            assert_eq!(origin_verdict(&facts, own, trusted), verdict, "{referer:?}");
        }
    }
}
