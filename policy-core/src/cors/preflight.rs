//! Answers to preflights: made once, sent with the origin filled in.

use http::{
    HeaderMap, HeaderValue, Method, StatusCode,
    header::{
        ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS,
        ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_MAX_AGE, VARY,
    },
};

use super::{
    actual::OriginDecision,
    compiled::{Cors, NameList},
    names,
};
use crate::{catalogue::Refusal, csrf, gate::Single, grammar::is_token};

/// The answer to the preflights of one route, made at start.
///
/// Every allowed origin gets the same full lists, whatever it asked for, so a browser itself
/// names what is not covered, and `Access-Control-Request-Headers` is never read.
#[derive(Clone, Debug)]
pub struct Preflight {
    /// Complete but for the origin, which has its place already.
    headers: HeaderMap,
}

impl Preflight {
    /// The answer as a status and headers.
    ///
    /// # Errors
    ///
    /// The reason to refuse; the answer then has no header of CORS but `Vary`.
    pub fn answer(
        &self,
        cors: &Cors,
        origin: Single<'_>,
        method: Single<'_>,
    ) -> Result<(StatusCode, HeaderMap), Refusal> {
        let origin = check(cors, origin, method)?;
        let mut headers = self.headers.clone();
        if let Some(origin) = origin
            && let Some(place) = headers.get_mut(ACCESS_CONTROL_ALLOW_ORIGIN)
        {
            *place = origin;
        }
        Ok((StatusCode::NO_CONTENT, headers))
    }

    /// The same, which browsers do not keep, whatever the policy says: where another route of the
    /// path changes something and shares it otherwise. What a browser keeps, it keeps for all
    /// methods of an address (Fetch, CORS-preflight cache), and would send that route what it
    /// never granted without asking.
    #[must_use]
    pub fn not_kept(mut self) -> Self {
        self.headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("0"));
        self
    }
}

impl Cors {
    /// Makes the answer to preflights for a route of this policy. `served` are the methods of
    /// the routes at its path that share preflights with it, see
    /// [`shares_preflight`](Self::shares_preflight); they count where the policy names no
    /// methods of its own. `by_credentials` are the request headers that these routes need for
    /// their credentials, see
    /// [`AuthPolicy::request_headers`](crate::auth::AuthPolicy::request_headers).
    pub fn preflight(&self, served: &[Method], by_credentials: &[&str]) -> Preflight {
        let mut headers = HeaderMap::with_capacity(8);
        // A place for the origin: a value that is replaced costs no insertion.
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        if !self.is_any_origin() {
            headers.insert(VARY, HeaderValue::from_static("origin"));
        }
        if self.credentials {
            headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        }
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, self.allowed_methods(served));
        if let Some(names) = self.allowed_headers(served, by_credentials).value() {
            headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, names);
        }
        if let Some(max_age) = &self.max_age {
            headers.insert(ACCESS_CONTROL_MAX_AGE, max_age.clone());
        }
        Preflight { headers }
    }

    /// Never an empty list: without the header, a page that watches an upload may send whatever
    /// method it asked for (Fetch, CORS-preflight fetch, 7.3). The methods that need no
    /// permission stand for none.
    fn allowed_methods(&self, served: &[Method]) -> HeaderValue {
        let sent = |method: &&Method| !names::is_forbidden_method(method.as_str().as_bytes());
        let served =
            || NameList::new(served.iter().filter(sent).map(|method| method.as_str().to_owned()));
        let names = self.methods.clone().unwrap_or_else(served);
        names.value().unwrap_or(HeaderValue::from_static("GET,HEAD,POST"))
    }

    /// The declared headers, and `content-type` where a served method carries a body. A policy
    /// that names its methods says all there is to say, so that is not added to it; `*` covers the
    /// name already.
    ///
    /// What credentials need does not follow from methods, and is always added: `*` does not cover
    /// `authorization` (Fetch, CORS non-wildcard request-header name). Where no cookie comes
    /// along, there is nothing for the CSRF header to prove.
    fn allowed_headers(&self, served: &[Method], by_credentials: &[&str]) -> NameList {
        const WITH_BODY: [Method; 4] = [Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
        let carries_body = served.iter().any(|method| WITH_BODY.contains(method));
        let derived = carries_body && self.methods.is_none() && !self.headers.any;
        let derived = derived.then_some("content-type");
        let needed = |name: &&str| self.credentials || *name != csrf::HEADER;
        let derived = derived.into_iter().chain(by_credentials.iter().copied().filter(needed));
        let derived = derived.map(str::to_owned);
        let mut names = NameList::new(self.headers.listed.iter().cloned().chain(derived));
        names.any = self.headers.any;
        names
    }
}

/// The origin to answer to, `None` for `*`.
fn check(
    cors: &Cors,
    origin: Single<'_>,
    method: Single<'_>,
) -> Result<Option<HeaderValue>, Refusal> {
    let origin = match cors.decide_origin(origin) {
        OriginDecision::Unasked => None,
        OriginDecision::Origin(origin) => Some(origin),
        OriginDecision::Refused if matches!(origin, Single::Repeated) => {
            return Err(Refusal::PreflightOriginRepeated);
        }
        OriginDecision::Refused => return Err(Refusal::PreflightOrigin),
    };
    match method {
        Single::One(method) if is_token(method.as_bytes()) => Ok(origin),
        _ => Err(Refusal::PreflightMethod),
    }
}
