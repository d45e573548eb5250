//! Responses to preflights: made in advance, sent with the origin filled in.

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
use crate::{catalogue::Refusal, csrf, grammar::is_token, head::Single, method};

/// The response to the preflights of one route: made at start, or once a layer knows the methods of
/// its service.
///
/// Every allowed origin gets the same full lists, regardless of its request. The browser reports
/// methods and headers that the lists do not cover, and `Access-Control-Request-Headers` is never
/// read.
#[derive(Clone, Debug)]
pub struct Preflight {
    /// Complete except for the value of `Access-Control-Allow-Origin`.
    headers: HeaderMap,
}

impl Preflight {
    /// The status and headers of the response.
    ///
    /// # Errors
    ///
    /// The reason for a refusal; its response then has no CORS header except `Vary`.
    pub fn answer(
        &self,
        cors: &Cors,
        origin: Single<'_>,
        method: Single<'_>,
    ) -> Result<(StatusCode, HeaderMap), Refusal> {
        self.answer_of(cors, None, origin, method)
    }

    /// As [`answer`](Self::answer), for a policy whose origins a path parameter selects, with its
    /// value ([`Cors::decide_origin_of`]).
    ///
    /// # Errors
    ///
    /// As [`answer`](Self::answer).
    pub fn answer_of(
        &self,
        cors: &Cors,
        key: Option<&str>,
        origin: Single<'_>,
        method: Single<'_>,
    ) -> Result<(StatusCode, HeaderMap), Refusal> {
        let origin = check(cors, key, origin, method)?;
        let mut headers = self.headers.clone();
        // It is the first field, so looking at the names is cheaper than hashing one.
        let mut fields = headers.iter_mut();
        if let Some(origin) = origin
            && let Some((_, value)) = fields.find(|(name, _)| *name == ACCESS_CONTROL_ALLOW_ORIGIN)
        {
            *value = origin;
        }
        Ok((StatusCode::NO_CONTENT, headers))
    }

    /// The same response without caching, even if the policy declares a time. It is needed where
    /// another route of the same path changes state and has a different policy: browsers cache a
    /// preflight response for all methods of a URL (Fetch, CORS-preflight cache) and would send
    /// that route requests that it never allowed.
    #[must_use]
    pub fn not_kept(mut self) -> Self {
        self.headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("0"));
        self
    }
}

impl Cors {
    /// Makes the response to preflights for a route with this policy. `served` are the methods of
    /// the routes at its path that share preflights with it, see
    /// [`shares_preflight`](Self::shares_preflight); they are used if the policy names no methods.
    /// `by_credentials` are the request headers that these routes need for their credentials, see
    /// [`AuthPolicy::request_headers`](crate::auth::AuthPolicy::request_headers).
    pub fn preflight(&self, served: &[Method], by_credentials: &[&str]) -> Preflight {
        let mut headers = HeaderMap::with_capacity(8);
        // Pre-insert the header: replacing a value is cheaper than inserting one.
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

    /// The response to preflights for a method that no route of the path serves, so that a page can
    /// read the 404 or 405 of the request itself, with or without credentials. It is never cached,
    /// since a later release may serve the method with another policy. `None` if the policy names
    /// its methods, since it allows no others, and for a non-standard method, since no text of a
    /// client is reflected.
    pub fn unserved_preflight(&self, method: Single<'_>) -> Option<Preflight> {
        let Single::One(name) = method else { return None };
        if self.methods.is_some() {
            return None;
        }
        let is_known = str::from_utf8(name.as_bytes()).is_ok_and(method::is_known);
        let method = Method::from_bytes(name.as_bytes()).ok().filter(|_| is_known)?;
        Some(self.preflight(&[method], &["authorization", csrf::HEADER]).not_kept())
    }

    /// Never an empty list: without the header, a page that observes an upload may use any method
    /// it asked for (Fetch, CORS-preflight fetch, 7.3). If nothing else is allowed, the list names
    /// the methods that need no permission.
    fn allowed_methods(&self, served: &[Method]) -> HeaderValue {
        let sent = |method: &&Method| !names::is_forbidden_method(method.as_str().as_bytes());
        let served =
            || NameList::new(served.iter().filter(sent).map(|method| method.as_str().to_owned()));
        let names = self.methods.clone().unwrap_or_else(served);
        names.value().unwrap_or(HeaderValue::from_static("GET,HEAD,POST"))
    }

    /// The declared headers, and `content-type` if a served method has a body. If the policy names
    /// its methods, it is complete, so `content-type` is not added; `*` covers it anyway.
    ///
    /// The headers for credentials do not depend on the methods and are always added: `*` does not
    /// cover `authorization` (Fetch, CORS non-wildcard request-header name). The CSRF header is
    /// needed only if cookies are sent.
    fn allowed_headers(&self, served: &[Method], by_credentials: &[&str]) -> NameList {
        const WITH_BODY: [Method; 5] =
            [Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::QUERY];
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

/// The origin to return; `None` for `*`.
fn check(
    cors: &Cors,
    key: Option<&str>,
    origin: Single<'_>,
    method: Single<'_>,
) -> Result<Option<HeaderValue>, Refusal> {
    let origin = match cors.decide_origin_of(key, origin) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cors::CorsConfig;

    /// The request headers that a preflight allows where one method is served.
    fn allowed_headers(config: &CorsConfig, method: &Method) -> Option<String> {
        let cors = Cors::from_config("a route", config).unwrap();
        let preflight = cors.preflight(std::slice::from_ref(method), &[]);
        let names = preflight.headers.get(ACCESS_CONTROL_ALLOW_HEADERS)?;
        Some(names.to_str().unwrap().to_owned())
    }

    #[test]
    fn content_type_is_derived_for_each_method_with_a_body() {
        let config = CorsConfig::new(["https://a.example"]);
        for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            assert_eq!(
                allowed_headers(&config, &method).as_deref(),
                Some("content-type"),
                "{method}"
            );
            let complete = Some(vec![method.to_string()]);
            let complete = CorsConfig { methods: complete, ..config.clone() };
            assert_eq!(allowed_headers(&complete, &method), None, "{method}");
        }
        for method in [Method::GET, Method::HEAD, Method::OPTIONS] {
            assert_eq!(allowed_headers(&config, &method), None, "{method}");
        }
    }
}
