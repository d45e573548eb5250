//! Gate 13: what is written onto every answer, whoever made it.

use std::sync::Arc;

use axum_core::{body::Body, response::Response};
use http::{
    HeaderMap, HeaderValue, Method, StatusCode,
    header::{ACCEPT, CONTENT_LENGTH},
};
use http_body::Body as _;
use policy_core::{
    cache::{self, Exchange, Happened},
    conditional::Conditions,
    cors::{Grant, finish_without_cors},
    gate::Head,
    headers::Nonce,
    vary,
};

use crate::{guard::Guard, partial, problem, rules::Rules};

/// What becomes of the answer to one request.
#[derive(Debug)]
pub(crate) struct Finish {
    rules: Arc<Rules>,
    grant: Grant,
    method: Method,
    /// Where nobody settles the session of the request, and a handler could set its cookie.
    guard: Option<Arc<Guard>>,
    /// What few requests have.
    rare: Option<Box<Rare>>,
}

/// What a request asks of its answer, and what a gate found out for it.
#[derive(Debug, Default)]
struct Rare {
    conditions: Option<Box<Conditions>>,
    /// Which form of a problem is read best.
    accept: Vec<HeaderValue>,
    nonce: Option<Nonce>,
}

impl Finish {
    /// For an answer to this request.
    pub(crate) fn new(
        head: &Head<'_>,
        headers: &HeaderMap,
        rules: &Arc<Rules>,
        grant: Grant,
    ) -> Self {
        let (rules, method) = (Arc::clone(rules), head.method.clone());
        let mut finish = Self { rules, grant, method, guard: None, rare: None };
        // A change was held against the state that it found, by its handler: that is gone now.
        if head.is_conditional && matches!(*head.method, Method::GET | Method::HEAD) {
            finish.rare().conditions = Conditions::read(head.method, headers);
        }
        if head.has_preference {
            finish.rare().accept = headers.get_all(ACCEPT).iter().cloned().collect();
        }
        finish
    }

    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// Keeps the handler's hands off the cookie of the sessions.
    pub(crate) fn keeping_cookie(mut self, guard: &Arc<Guard>) -> Self {
        self.guard = Some(Arc::clone(guard));
        self
    }

    /// States the nonce of the page that is made.
    pub(crate) fn with_nonce(mut self, nonce: Nonce) -> Self {
        self.rare().nonce = Some(nonce);
        self
    }

    pub(crate) fn rules(&self) -> &Arc<Rules> {
        &self.rules
    }

    pub(crate) fn apply(self, mut response: Response, happened: Happened) -> Response {
        let Self { rules, grant, method, guard, rare } = self;
        if let Some(guard) = &guard {
            guard.keep_cookie(response.headers_mut());
        }
        if let Some(conditions) = rare.as_ref().and_then(|rare| rare.conditions.as_ref()) {
            response = partial::answer(conditions, response);
        }
        let accept = rare.as_ref().map_or(&[][..], |rare| &rare.accept);
        response = problem::negotiate(accept, response);
        let exchange = Exchange { method: &method, status: response.status(), happened };
        let headers = response.headers_mut();
        cache::finish(rules.caching.as_ref(), exchange, headers);
        if let Some(security) = &rules.headers {
            let nonce = rare.as_ref().and_then(|rare| rare.nonce.as_ref());
            security.finish(headers, nonce);
        }
        if rules.isolation.is_some() {
            vary::add(headers, vary::Token::FetchMetadata);
            vary::add(headers, vary::Token::Origin);
        }
        match &rules.cors {
            Some(cors) => cors.finish(grant, headers),
            None => finish_without_cors(headers),
        }
        if method == Method::HEAD { without_body(response) } else { response }
    }
}

/// An answer of these headers and nothing else, such as that to an allowed preflight.
pub(crate) fn without_content(status: StatusCode, headers: HeaderMap) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// The answer to HEAD: GET's, its length included, without the body (RFC 9110 9.3.2). A status
/// that has no content says no length (RFC 9110 8.6).
fn without_body(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    let has_content = !parts.status.is_informational()
        && !matches!(parts.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    if has_content
        && let Some(length) = body.size_hint().exact()
        && !parts.headers.contains_key(CONTENT_LENGTH)
    {
        parts.headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    Response::from_parts(parts, Body::empty())
}
