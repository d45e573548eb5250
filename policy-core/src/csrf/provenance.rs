//! Whether a request may act with an ambient credential, by its origin and its CSRF token.

use http::HeaderValue;

use super::{CsrfPolicy, OriginFacts, OriginVerdict, TokenVerdict, origin_verdict};
use crate::catalogue::Refusal;

/// The origin and the possible effect of a request, which do not borrow its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Provenance {
    verdict: OriginVerdict,
    reach: Reach,
}

/// The possible effect of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Reach {
    /// It has no lasting effect.
    Nothing,
    /// It opens a WebSocket. No page can add a token to it.
    Upgrade,
    /// It may change anything.
    Change,
}

impl Provenance {
    /// Judges a request; see [`origin_verdict`].
    pub fn judge(
        facts: &OriginFacts<'_>,
        is_own: impl Fn(&[u8]) -> bool,
        is_trusted: impl Fn(&[u8]) -> bool,
    ) -> Self {
        if facts.is_safe() {
            return Self { verdict: OriginVerdict::Passed, reach: Reach::Nothing };
        }
        let reach = if facts.is_plain_upgrade() { Reach::Upgrade } else { Reach::Change };
        Self { verdict: origin_verdict(facts, is_own, is_trusted), reach }
    }

    /// Decides whether a request may act with a ticket. A ticket identifies its caller, but any
    /// page can put one into a URL, such as its own ticket into the URL of a WebSocket that another
    /// user opens. Programs send no header that states a page; every current browser sends one.
    ///
    /// # Errors
    ///
    /// [`Refusal::CsrfOrigin`].
    pub(crate) fn admit_ticket(self, policy: CsrfPolicy) -> Result<(), Refusal> {
        match (policy, self.verdict) {
            (CsrfPolicy::Exempt(_), _) => Ok(()),
            (_, OriginVerdict::Refused) => Err(Refusal::CsrfOrigin),
            (_, OriginVerdict::Passed | OriginVerdict::Undecided) => Ok(()),
        }
    }

    /// Whether the request may change state and is admitted only with a CSRF token.
    pub fn needs_token(self, policy: CsrfPolicy) -> bool {
        self.reach == Reach::Change
            && match policy {
                CsrfPolicy::Token => self.verdict != OriginVerdict::Refused,
                CsrfPolicy::OriginElseToken => self.verdict == OriginVerdict::Undecided,
                CsrfPolicy::Origin | CsrfPolicy::Exempt(_) => false,
            }
    }

    /// A hint for a program whose request was refused. Browsers state their origin, so there is no
    /// hint for a page of another origin.
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
    ///     head::Single,
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
    /// let nowhere = Provenance::judge(&facts, |_| false, |_| false);
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

    /// Decides about a request without a known caller, for a target that may know its own cookies:
    /// a mounted service, an upstream. A request with neither `Origin`, Fetch Metadata nor `Cookie`
    /// passes, since no browser sends it with a credential automatically.
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
    ///     head::Single,
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
    /// let webhook = Provenance::judge(&facts, |_| false, |_| false);
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
            // The origin of a WebSocket was judged earlier.
            | (_, Reach::Nothing | Reach::Upgrade, _)
            | (_, Reach::Change, OriginVerdict::Passed) => Ok(()),
            (_, Reach::Change, OriginVerdict::Undecided) if cookie.is_none() => Ok(()),
            (_, Reach::Change, _) => Err(Refusal::CsrfOrigin),
        }
    }
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::{super::verdict::tests::facts, *};

    const VERDICTS: [OriginVerdict; 3] =
        [OriginVerdict::Passed, OriginVerdict::Undecided, OriginVerdict::Refused];

    const PROTECTED: [CsrfPolicy; 3] =
        [CsrfPolicy::Token, CsrfPolicy::OriginElseToken, CsrfPolicy::Origin];

    #[test]
    fn a_token_is_read_only_where_it_decides() {
        let unread = || -> Option<TokenVerdict> { unreachable!("the origin decides") };
        let post = facts(&Method::POST, false);
        let found = Provenance::judge(&post, |_| false, |_| false);
        let passed = Provenance { verdict: OriginVerdict::Passed, ..found };
        assert_eq!(passed.admit(CsrfPolicy::OriginElseToken, unread), Ok(()));
        for method in [Method::GET, Method::HEAD, Method::OPTIONS] {
            let safe = facts(&method, false);
            assert_eq!(origin_verdict(&safe, |_| false, |_| false), OriginVerdict::Passed);
            let found = Provenance::judge(&safe, |_| false, |_| false);
            assert_eq!(found.admit(CsrfPolicy::Token, unread), Ok(()));
        }
    }

    #[test]
    fn programs_get_advice_and_pages_of_others_do_not() {
        let post = facts(&Method::POST, false);
        let found = Provenance::judge(&post, |_| false, |_| false);
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

    #[test]
    fn anonymous_requests_are_refused_from_other_pages_and_with_a_cookie_without_origin() {
        let post = facts(&Method::POST, false);
        let found = Provenance::judge(&post, |_| false, |_| false);
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
}
