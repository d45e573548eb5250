//! Gate 8: whether the user intended a request, by the page that sent it.

use http::{HeaderMap, header::COOKIE};

use crate::{
    auth::{Authorization, authorization},
    catalogue::Refusal,
    cors::{Cors, OriginDecision},
    csrf::{CsrfPolicy, OriginFacts, Provenance, TokenVerdict},
    head::{Head, OwnOrigin},
    method,
};

/// The page that sent a request, with the verdict of its route about the page.
#[derive(Clone, Copy, Debug)]
pub struct Sender {
    provenance: Provenance,
    policy: CsrfPolicy,
    /// Whether CORS grants the page.
    is_granted: bool,
    /// Whether the request needs a trusted origin even without a caller: the target may know its
    /// own cookies.
    checks_anonymous: bool,
}

/// A credential that no browser sends automatically.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplicitCredential {
    /// A bearer token.
    Token,
    /// A ticket.
    Ticket,
}

impl Sender {
    /// Judges the page that sent a request. `grant` is the decision of `cors`, the policy of the
    /// route. `checks_anonymous` is for targets without attributes.
    pub fn new(
        own: &OwnOrigin,
        head: &Head<'_>,
        headers: &HeaderMap,
        cors: Option<&Cors>,
        grant: &OriginDecision,
        policy: CsrfPolicy,
        checks_anonymous: bool,
    ) -> Self {
        let is_own = |origin: &[u8]| own.is_own(head, origin);
        // An origin that may read with the user's cookies may write with them as well.
        let is_trusted = |origin: &[u8]| match grant {
            OriginDecision::Origin(granted) => {
                granted.as_bytes() == origin && cors.is_some_and(Cors::allows_credentials)
            }
            OriginDecision::Unasked | OriginDecision::Refused => false,
        };
        let provenance = Provenance::judge(&OriginFacts::read(head, headers), is_own, is_trusted);
        let is_granted = grant.grants(head.origin, cors);
        // With `Upgrade`, HEAD and others still open nothing; gate 4 has judged the origin of GET.
        let checks_anonymous = checks_anonymous && !method::is_safe(head.method.as_str());
        Self { provenance, policy, is_granted, checks_anonymous }
    }

    /// What the page may do with the credentials of its visitor.
    pub fn provenance(&self) -> Provenance {
        self.provenance
    }

    /// Whether CORS grants the page.
    pub fn is_granted(&self) -> bool {
        self.is_granted
    }

    /// The same request as if its page were trusted.
    pub fn trusted(self) -> Self {
        let facts = OriginFacts::safe();
        Self { provenance: Provenance::judge(&facts, |_| true, |_| true), ..self }
    }

    /// Whether a request with an ambient credential is admitted only with a CSRF token.
    pub fn needs_token(&self) -> bool {
        self.provenance.needs_token(self.policy)
    }

    /// A hint for a program whose request was refused.
    pub fn advice(&self, refusal: Refusal) -> Option<&'static str> {
        self.provenance.advice(self.policy, refusal)
    }

    /// Checks whether the page may act with a credential that browsers send automatically: the
    /// origin must be trusted, and the CSRF token must match the session, if there is one.
    ///
    /// # Errors
    ///
    /// [`Refusal::CsrfOrigin`] or [`Refusal::CsrfToken`].
    pub(crate) fn admit_ambient(
        &self,
        token: impl FnOnce() -> Option<TokenVerdict>,
    ) -> Result<(), Refusal> {
        self.provenance.admit(self.policy, token)
    }

    /// Checks whether the page may act with a ticket.
    ///
    /// # Errors
    ///
    /// [`Refusal::CsrfOrigin`].
    pub(crate) fn admit_ticket(&self) -> Result<(), Refusal> {
        self.provenance.admit_ticket(self.policy)
    }

    /// Checks whether the page may send a request without a caller to the target.
    ///
    /// # Errors
    ///
    /// [`Refusal::CsrfOrigin`].
    #[inline]
    pub fn admit_anonymous(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        if !self.checks_anonymous {
            return Ok(());
        }
        if self.is_granted && !has_ambient_credential(headers) {
            return Ok(());
        }
        self.provenance.admit_anonymous(self.policy, headers.get(COOKIE))
    }

    /// Checks whether a handler may use the session that it takes itself, regardless of the
    /// requirement of its route. `used` is the credential of the caller, unless browsers send it
    /// automatically.
    ///
    /// # Errors
    ///
    /// [`Refusal::CsrfOrigin`] or [`Refusal::CsrfToken`].
    pub fn admit_session(
        &self,
        used: Option<ExplicitCredential>,
        token: impl FnOnce() -> Option<TokenVerdict>,
    ) -> Result<(), Refusal> {
        match used {
            Some(ExplicitCredential::Token) => Ok(()),
            Some(ExplicitCredential::Ticket) => self.admit_ticket(),
            None => self.admit_ambient(token),
        }
    }
}

/// Whether a request has a credential that a browser may have added, and that its target may know: a
/// cookie, or HTTP authentication (Basic, Digest, Negotiate), which browsers repeat for every page.
/// Only scripts and programs send a bearer token.
pub fn has_ambient_credential(headers: &HeaderMap) -> bool {
    headers.contains_key(COOKIE)
        || matches!(authorization(headers), Authorization::OtherScheme | Authorization::Invalid)
}

#[cfg(test)]
mod tests {
    use http::{HeaderValue, Request, header::ORIGIN};

    use super::*;
    use crate::head::PublicOrigin;

    /// A POST that a page of another origin sends, with or without a cookie.
    fn foreign(checks_anonymous: bool, cookie: Option<&'static str>) -> (Sender, HeaderMap) {
        let own = OwnOrigin::Public(PublicOrigin::parse("https://api.test").unwrap());
        let mut request = Request::post("/").body(()).unwrap();
        let fields = request.headers_mut();
        fields.insert(ORIGIN, HeaderValue::from_static("https://evil.test"));
        if let Some(cookie) = cookie {
            fields.insert(COOKIE, HeaderValue::from_static(cookie));
        }
        let (head, headers) = (Head::read(&request), request.headers());
        let grant = OriginDecision::Unasked;
        let sender =
            Sender::new(&own, &head, headers, None, &grant, CsrfPolicy::Token, checks_anonymous);
        (sender, headers.clone())
    }

    #[test]
    fn a_foreign_page_acts_with_no_credential_that_browsers_send() {
        let (sender, _) = foreign(false, None);
        let valid = || Some(TokenVerdict::Valid);
        assert_eq!(sender.admit_ambient(valid), Err(Refusal::CsrfOrigin));
        assert_eq!(sender.admit_ticket(), Err(Refusal::CsrfOrigin));
        assert_eq!(sender.admit_session(None, valid), Err(Refusal::CsrfOrigin));
        assert_eq!(sender.admit_session(Some(ExplicitCredential::Token), valid), Ok(()));
        let ticket = sender.admit_session(Some(ExplicitCredential::Ticket), valid);
        assert_eq!(ticket, Err(Refusal::CsrfOrigin));
        // The same request from a page that may send everything.
        assert_eq!(sender.trusted().admit_ambient(|| None), Ok(()));
        assert_eq!(sender.trusted().admit_ticket(), Ok(()));
    }

    #[test]
    fn a_safe_request_with_upgrade_is_not_judged() {
        let own = OwnOrigin::Public(PublicOrigin::parse("https://api.test").unwrap());
        for (method, is_judged) in [("HEAD", false), ("GET", false), ("POST", true)] {
            let request = Request::builder().method(method).header("upgrade", "websocket");
            let request = request.header("cookie", "a=1").header("sec-fetch-site", "cross-site");
            let request = request.body(()).unwrap();
            let (head, headers) = (Head::read(&request), request.headers());
            let (grant, policy) = (OriginDecision::Unasked, CsrfPolicy::Token);
            let sender = Sender::new(&own, &head, headers, None, &grant, policy, true);
            assert_eq!(sender.admit_anonymous(headers).is_err(), is_judged, "{method}");
        }
    }

    #[test]
    fn a_request_without_a_caller_is_judged_only_where_the_route_asks() {
        for cookie in [None, Some("theme=dark")] {
            let (sender, headers) = foreign(true, cookie);
            assert_eq!(sender.admit_anonymous(&headers), Err(Refusal::CsrfOrigin));
            let (sender, headers) = foreign(false, cookie);
            assert_eq!(sender.admit_anonymous(&headers), Ok(()));
        }
    }
}
