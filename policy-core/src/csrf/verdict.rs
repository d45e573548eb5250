//! The verdict on the origin of a request, and whether it also needs a token.

use http::{HeaderMap, HeaderValue, Method, header::REFERER};

use super::{CsrfPolicy, TokenVerdict};
use crate::{
    catalogue::Refusal,
    gate::{Head, Single},
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
            sec_fetch_site: Single::Absent,
            sec_fetch_mode: Single::Absent,
            referer: Single::Absent,
        };
        if !facts.is_safe() {
            facts.sec_fetch_site = Single::of(headers, &SEC_FETCH_SITE);
            facts.sec_fetch_mode = Single::of(headers, &SEC_FETCH_MODE);
            facts.referer = Single::of(headers, &REFERER);
        }
        facts
    }

    /// Whether the request changes nothing, by its method (RFC 9110 9.2.1), and opens nothing.
    /// A method that is not known may change everything, and so may TRACE as far as is known
    /// here: no browser sends it, and no route serves it.
    pub fn is_safe(&self) -> bool {
        !self.is_upgrade && self.method != Method::TRACE && method::is_safe(self.method.as_str())
    }

    /// Whether the request opens a WebSocket as browsers do, which cannot add a field to it.
    fn is_plain_upgrade(&self) -> bool {
        self.is_upgrade && matches!(*self.method, Method::GET | Method::CONNECT)
    }
}

/// The verdict on the origin of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OriginVerdict {
    /// From a trusted page, from the user, or it changes nothing.
    Passed,
    /// The headers do not state it; no current browser sends such a request. A token may decide.
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
/// use policy_core::{csrf::{OriginFacts, OriginVerdict, origin_verdict}, gate::Single};
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
    // A form of an own page without a referrer also has the origin `null`; then `Sec-Fetch-Site`
    // decides.
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

/// The origin and the possible effect of a request. Afterwards the head is not needed any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Provenance {
    verdict: OriginVerdict,
    reach: Reach,
}

/// The possible effect of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Reach {
    /// Nothing lasts of it.
    Nothing,
    /// It opens a WebSocket. No page can add a token to it.
    Upgrade,
    /// It may change anything.
    Change,
}

impl Provenance {
    /// Judges a request; see [`origin_verdict`].
    pub fn of(
        facts: &OriginFacts<'_>,
        is_own: impl Fn(&[u8]) -> bool,
        is_trusted: impl Fn(&[u8]) -> bool,
    ) -> Self {
        let reach = if facts.is_safe() {
            Reach::Nothing
        } else if facts.is_plain_upgrade() {
            Reach::Upgrade
        } else {
            Reach::Change
        };
        Self { verdict: origin_verdict(facts, is_own, is_trusted), reach }
    }

    /// Decides whether a request may act with a ticket. A ticket identifies its caller, but any page
    /// can put one into an address, such as its own visitor's into a WebSocket of another user. A
    /// program sends none of the headers that state a page, and every current browser does.
    ///
    /// # Errors
    ///
    /// [`Refusal::CsrfOrigin`].
    pub fn admit_ticket(self, policy: CsrfPolicy) -> Result<(), Refusal> {
        match (policy, self.verdict) {
            (CsrfPolicy::Exempt(_), _) => Ok(()),
            (_, OriginVerdict::Refused) => Err(Refusal::CsrfOrigin),
            (_, OriginVerdict::Passed | OriginVerdict::Undecided) => Ok(()),
        }
    }

    /// Whether the request may change state and is admitted with a CSRF token only.
    pub fn needs_token(self, policy: CsrfPolicy) -> bool {
        self.reach == Reach::Change
            && match policy {
                CsrfPolicy::Token => self.verdict != OriginVerdict::Refused,
                CsrfPolicy::OriginElseToken => self.verdict == OriginVerdict::Undecided,
                CsrfPolicy::Origin | CsrfPolicy::Exempt(_) => false,
            }
    }

    /// What a program should add to a request that was refused. Browsers state their origin, so
    /// there is nothing to say to a page of others.
    pub fn advice(self, policy: CsrfPolicy, refusal: Refusal) -> Option<&'static str> {
        match (refusal, self.verdict, policy) {
            (Refusal::CsrfOrigin, OriginVerdict::Undecided, _) => Some(
                "the request states no page: send `Origin` with the origin of this service, as \
                 browsers do",
            ),
            (Refusal::CsrfToken, OriginVerdict::Undecided, CsrfPolicy::OriginElseToken) => Some(
                "the request states no page: send `Origin` with the origin of this service, as \
                 browsers do, or the CSRF token of the session in `X-CSRF-Token`",
            ),
            (Refusal::CsrfToken, ..) => Some(
                "send the CSRF token of the session in `X-CSRF-Token`, or in the field `csrf_token` \
                 of a form",
            ),
            _ => None,
        }
    }

    /// Decides whether a request may act with an ambient credential, or obtain one. `token` is
    /// called only if a token is needed, and returns `None` if there is no session that a token
    /// could be bound to: then the origin alone decides, as it does for a WebSocket.
    ///
    /// A request with neither `Origin`, `Sec-Fetch-Site` nor `Referer` comes from no current browser.
    /// It needs the token, and where no token could help ([`CsrfPolicy::Origin`], a WebSocket, no
    /// session) an `Origin`.
    ///
    /// Do not call this if `Authorization` authenticated the request: no page can make a browser
    /// send that header to a service that does not trust the page.
    ///
    /// # Errors
    ///
    /// [`Refusal::CsrfOrigin`] or [`Refusal::CsrfToken`].
    ///
    /// ```
    /// use http::Method;
    /// use policy_core::{
    ///     Refusal,
    ///     csrf::{CsrfPolicy, OriginFacts, Provenance, TokenVerdict},
    ///     gate::Single,
    /// };
    ///
    /// let facts = OriginFacts {
    ///     method: &Method::POST,
    ///     is_upgrade: false,
    ///     origin: Single::Absent,
    ///     sec_fetch_site: Single::Absent,
    ///     sec_fetch_mode: Single::Absent,
    ///     referer: Single::Absent,
    /// };
    /// let nowhere = Provenance::of(&facts, |_| false, |_| false);
    /// let admit = |token| nowhere.admit(CsrfPolicy::Token, || token);
    /// assert_eq!(admit(Some(TokenVerdict::Valid)), Ok(()));
    /// assert_eq!(admit(Some(TokenVerdict::Invalid)), Err(Refusal::CsrfToken));
    /// assert_eq!(admit(None), Err(Refusal::CsrfOrigin));
    /// ```
    pub fn admit(
        self,
        policy: CsrfPolicy,
        token: impl FnOnce() -> Option<TokenVerdict>,
    ) -> Result<(), Refusal> {
        let origin_alone = match self.verdict {
            OriginVerdict::Passed => Ok(()),
            OriginVerdict::Undecided | OriginVerdict::Refused => Err(Refusal::CsrfOrigin),
        };
        if matches!(policy, CsrfPolicy::Exempt(_)) {
            return Ok(());
        }
        if !self.needs_token(policy) {
            return origin_alone;
        }
        match token() {
            None => origin_alone,
            Some(TokenVerdict::Valid) => Ok(()),
            Some(TokenVerdict::Invalid | TokenVerdict::Malformed) => Err(Refusal::CsrfToken),
        }
    }

    /// Decides about a request without a caller that this service knows, for what may know cookies
    /// of its own: a mounted service, an upstream. A request with neither `Origin`, Fetch Metadata
    /// nor `Cookie` passes, since no browser sends it with anything by itself.
    ///
    /// # Errors
    ///
    /// [`Refusal::CsrfOrigin`].
    ///
    /// ```
    /// use http::{HeaderValue, Method};
    /// use policy_core::{
    ///     Refusal,
    ///     csrf::{CsrfPolicy, OriginFacts, Provenance},
    ///     gate::Single,
    /// };
    ///
    /// let facts = OriginFacts {
    ///     method: &Method::POST,
    ///     is_upgrade: false,
    ///     origin: Single::Absent,
    ///     sec_fetch_site: Single::Absent,
    ///     sec_fetch_mode: Single::Absent,
    ///     referer: Single::Absent,
    /// };
    /// let webhook = Provenance::of(&facts, |_| false, |_| false);
    /// assert_eq!(webhook.admit_anonymous(CsrfPolicy::Token, None), Ok(()));
    /// let cookie = HeaderValue::from_static("theme=dark");
    /// let refused = webhook.admit_anonymous(CsrfPolicy::Token, Some(&cookie));
    /// assert_eq!(refused, Err(Refusal::CsrfOrigin));
    /// ```
    pub fn admit_anonymous(
        self,
        policy: CsrfPolicy,
        cookie: Option<&HeaderValue>,
    ) -> Result<(), Refusal> {
        match (policy, self.reach, self.verdict) {
            (CsrfPolicy::Exempt(_), ..)
            // The origin of a WebSocket is judged before.
            | (_, Reach::Nothing | Reach::Upgrade, _)
            | (_, Reach::Change, OriginVerdict::Passed) => Ok(()),
            (_, Reach::Change, OriginVerdict::Undecided) if cookie.is_none() => Ok(()),
            (_, Reach::Change, _) => Err(Refusal::CsrfOrigin),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERDICTS: [OriginVerdict; 3] =
        [OriginVerdict::Passed, OriginVerdict::Undecided, OriginVerdict::Refused];

    fn facts(method: &Method, is_upgrade: bool) -> OriginFacts<'_> {
        OriginFacts {
            method,
            is_upgrade,
            origin: Single::Absent,
            sec_fetch_site: Single::Absent,
            sec_fetch_mode: Single::Absent,
            referer: Single::Absent,
        }
    }

    #[test]
    fn a_null_origin_is_an_own_page_outside_of_cors_mode_alone() {
        use http::HeaderValue;

        let value = HeaderValue::from_static;
        let (null, here) = (value("null"), value("same-origin"));
        for (mode, verdict) in [
            ("navigate", OriginVerdict::Passed),
            ("no-cors", OriginVerdict::Passed),
            ("cors", OriginVerdict::Refused),
        ] {
            let mode = value(mode);
            let facts = OriginFacts {
                origin: Single::One(&null),
                sec_fetch_site: Single::One(&here),
                sec_fetch_mode: Single::One(&mode),
                ..facts(&Method::POST, false)
            };
            assert_eq!(origin_verdict(&facts, |_| false, |_| false), verdict, "{mode:?}");
        }
    }

    /// The decision for a request with these facts and this verdict on its origin.
    fn admit(
        policy: CsrfPolicy,
        facts: &OriginFacts<'_>,
        verdict: OriginVerdict,
        token: impl FnOnce() -> Option<TokenVerdict>,
    ) -> Result<(), Refusal> {
        let found = Provenance::of(facts, |_| false, |_| false);
        Provenance { verdict, ..found }.admit(policy, token)
    }

    const PROTECTED: [CsrfPolicy; 3] =
        [CsrfPolicy::Token, CsrfPolicy::OriginElseToken, CsrfPolicy::Origin];

    #[test]
    fn a_refused_origin_is_refused_whatever_the_token() {
        for policy in PROTECTED {
            for is_upgrade in [false, true] {
                let facts = facts(&Method::POST, is_upgrade);
                let valid = || Some(TokenVerdict::Valid);
                let answer = admit(policy, &facts, OriginVerdict::Refused, valid);
                assert_eq!(answer, Err(Refusal::CsrfOrigin));
            }
        }
    }

    #[test]
    fn the_token_of_a_session_is_needed_even_from_an_own_page() {
        for verdict in [OriginVerdict::Passed, OriginVerdict::Undecided] {
            for method in [Method::POST, Method::DELETE, Method::TRACE] {
                for token in [TokenVerdict::Invalid, TokenVerdict::Malformed] {
                    let facts = facts(&method, false);
                    let answer = admit(CsrfPolicy::Token, &facts, verdict, || Some(token));
                    assert_eq!(answer, Err(Refusal::CsrfToken));
                }
            }
        }
    }

    #[test]
    fn the_token_is_the_proof_where_no_page_is_stated() {
        let post = facts(&Method::POST, false);
        let policy = CsrfPolicy::OriginElseToken;
        let unasked = || unreachable!("the origin has passed");
        assert_eq!(admit(policy, &post, OriginVerdict::Passed, unasked), Ok(()));
        let answers = [TokenVerdict::Valid, TokenVerdict::Invalid, TokenVerdict::Malformed]
            .map(|token| admit(policy, &post, OriginVerdict::Undecided, || Some(token)));
        assert_eq!(answers, [Ok(()), Err(Refusal::CsrfToken), Err(Refusal::CsrfToken)]);
    }

    #[test]
    fn programs_are_told_what_to_send_and_pages_of_others_are_not() {
        let post = facts(&Method::POST, false);
        let found = Provenance::of(&post, |_| false, |_| false);
        let advice = |verdict, policy, refusal| {
            let text = Provenance { verdict, ..found }.advice(policy, refusal).unwrap_or_default();
            (text.contains("`Origin`"), text.contains("`X-CSRF-Token`"))
        };
        for policy in PROTECTED {
            let of = |verdict| advice(verdict, policy, Refusal::CsrfOrigin);
            assert_eq!(VERDICTS.map(of), [(false, false), (true, false), (false, false)]);
        }
        let of = |policy| advice(OriginVerdict::Undecided, policy, Refusal::CsrfToken);
        assert_eq!(of(CsrfPolicy::Token), (false, true));
        assert_eq!(of(CsrfPolicy::OriginElseToken), (true, true));
    }

    /// Only the request that opens a WebSocket is exempt: a POST that asks for an upgrade still
    /// changes state.
    #[test]
    fn an_upgrade_needs_its_origin_and_no_token() {
        let none = || Some(TokenVerdict::Malformed);
        for method in [Method::GET, Method::CONNECT] {
            let facts = facts(&method, true);
            for policy in PROTECTED {
                let answers = VERDICTS.map(|verdict| admit(policy, &facts, verdict, none));
                assert_eq!(answers, [Ok(()), Err(Refusal::CsrfOrigin), Err(Refusal::CsrfOrigin)]);
            }
        }
        let post = facts(&Method::POST, true);
        let answer = admit(CsrfPolicy::Token, &post, OriginVerdict::Passed, none);
        assert_eq!(answer, Err(Refusal::CsrfToken));
    }

    #[test]
    fn without_a_session_the_origin_has_to_pass() {
        let facts = facts(&Method::POST, false);
        for policy in PROTECTED {
            let answers = VERDICTS.map(|verdict| admit(policy, &facts, verdict, || None));
            assert_eq!(answers, [Ok(()), Err(Refusal::CsrfOrigin), Err(Refusal::CsrfOrigin)]);
        }
        let exempt = CsrfPolicy::Exempt("state checked");
        let answers = VERDICTS.map(|verdict| admit(exempt, &facts, verdict, || None));
        assert_eq!(answers, [Ok(()); 3]);
    }

    #[test]
    fn a_safe_request_says_nothing_and_passes() {
        for method in [Method::GET, Method::HEAD, Method::OPTIONS] {
            let facts = facts(&method, false);
            let verdict = origin_verdict(&facts, |_| false, |_| false);
            assert_eq!(verdict, OriginVerdict::Passed);
            let token = || unreachable!("nobody asks for it");
            assert_eq!(admit(CsrfPolicy::Token, &facts, verdict, token), Ok(()));
        }
    }

    #[test]
    fn anonymous_requests_are_refused_to_other_pages_and_to_who_has_a_cookie_and_no_origin() {
        let post = facts(&Method::POST, false);
        let found = Provenance::of(&post, |_| false, |_| false);
        let cookie = HeaderValue::from_static("a=b");
        let answers = |policy, cookie| {
            VERDICTS.map(|verdict| Provenance { verdict, ..found }.admit_anonymous(policy, cookie))
        };
        let refused = Err(Refusal::CsrfOrigin);
        for policy in PROTECTED {
            assert_eq!(answers(policy, None), [Ok(()), Ok(()), refused]);
            assert_eq!(answers(policy, Some(&cookie)), [Ok(()), refused, refused]);
        }
        assert_eq!(answers(CsrfPolicy::Exempt("signed"), Some(&cookie)), [Ok(()); 3]);
    }

    /// Where nothing else says where a request comes from.
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
