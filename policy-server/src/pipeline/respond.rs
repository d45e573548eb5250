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
    limits::Granted,
    vary,
};

use crate::{
    auth::Guard,
    base::problem,
    route::{conditional, limits::Permit, route_policy::Rules},
};

/// What becomes of the answer to one request.
#[derive(Debug)]
pub(crate) struct Finish {
    rules: Arc<Rules>,
    grant: Grant,
    method: Method,
    is_secure: bool,
    /// Where nobody settles the session of the request, and a handler could set its cookie.
    guard: Option<Arc<Guard>>,
    /// What is left of a limit for its client.
    granted: Option<Granted>,
    permit: Option<Permit>,
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
        let mut finish = Self {
            rules: Arc::clone(rules),
            grant,
            method: head.method.clone(),
            is_secure: head.is_secure,
            guard: None,
            granted: None,
            permit: None,
            rare: None,
        };
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

    /// Notes what is left of the limits of the route, until the answer is done.
    pub(crate) fn within(mut self, granted: Option<Granted>, permit: Option<Permit>) -> Self {
        (self.granted, self.permit) = (granted, permit);
        self
    }

    pub(crate) fn rules(&self) -> &Arc<Rules> {
        &self.rules
    }

    pub(crate) fn apply(self, mut response: Response, happened: Happened) -> Response {
        let Self { rules, grant, method, is_secure, guard, granted, permit, rare } = self;
        if let Some(guard) = &guard {
            guard.keep_cookie(response.headers_mut());
        }
        if let Some(conditions) = rare.as_ref().and_then(|rare| rare.conditions.as_ref()) {
            response = conditional::answer(conditions, response);
        }
        let accept = rare.as_ref().map_or(&[][..], |rare| &rare.accept);
        problem::negotiate(accept, &mut response);
        let exchange = Exchange { method: &method, status: response.status(), happened };
        let headers = response.headers_mut();
        if rules.fields > 0 {
            headers.reserve(rules.fields);
        }
        cache::finish(rules.cache.as_ref(), exchange, headers);
        if let Some(security) = &rules.headers {
            let nonce = rare.as_ref().and_then(|rare| rare.nonce.as_ref());
            security.finish(headers, nonce);
            if is_secure {
                security.finish_secure(headers);
            }
        }
        if rules.isolation.is_some() {
            vary::add(headers, vary::Token::FetchMetadata);
            vary::add(headers, vary::Token::Origin);
        }
        if let (Some(limit), Some(granted)) = (&rules.rate, granted) {
            limit.write(&Ok(granted), headers);
        }
        match &rules.cors {
            Some(cors) => cors.finish(grant, headers),
            None => finish_without_cors(headers),
        }
        if method == Method::HEAD {
            return without_body(response);
        }
        match permit {
            Some(permit) => permit.keep(response),
            None => response,
        }
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

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream;

    use super::*;
    use crate::prelude::*;

    #[get("/stream")]
    #[auth(public)]
    async fn frames() -> Body {
        Body::from_stream(stream::iter(["a", "b"].map(Ok::<_, Infallible>)))
    }

    #[get("/whole")]
    #[auth(public)]
    async fn whole() -> &'static str {
        "whole"
    }

    #[get("/nothing")]
    #[auth(public)]
    async fn nothing() -> StatusCode {
        StatusCode::NO_CONTENT
    }

    #[get("/guarded")]
    #[cors(origins = ["https://app.example"])]
    #[isolation(same_origin)]
    #[auth(public)]
    async fn guarded() {}

    #[tokio::test]
    async fn the_answer_to_head_has_the_fields_of_get_and_no_body() {
        let client = App::new(()).routes(routes![frames, whole, nothing]).test();
        for (path, body, length) in
            [("/stream", "ab", None), ("/whole", "whole", Some("5")), ("/nothing", "", None)]
        {
            let (of_get, of_head) = (client.get(path).send().await, client.head(path).send().await);
            assert_eq!((of_get.text(), of_head.text()), (body.to_owned(), String::new()), "{path}");
            assert_eq!(of_head.status(), of_get.status());
            let mut headers = of_head.headers().clone();
            // The server writes that of GET when it sends the body.
            let stated = headers.remove(CONTENT_LENGTH);
            assert_eq!(stated.as_ref().and_then(|length| length.to_str().ok()), length, "{path}");
            assert_eq!(headers, *of_get.headers());
        }
    }

    #[tokio::test]
    async fn caches_learn_what_isolation_looks_at() {
        let client = App::new(()).routes(routes![guarded]).test();
        for (site, status) in [("same-origin", 200), ("cross-site", 403)] {
            let answer = client.get("/guarded").header("sec-fetch-site", site).send().await;
            assert_eq!(answer.status(), status, "{site}");
            let vary = answer.header_all("vary").join(", ");
            for name in ["sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest", "origin"] {
                assert!(vary.split(", ").any(|listed| listed == name), "{name} in {vary}");
            }
        }
    }

    #[tokio::test]
    async fn isolation_lets_in_whom_cors_lets_read() {
        let client = App::new(()).routes(routes![guarded]).test();
        for (origin, status) in [("https://app.example", 200), ("https://evil.example", 403)] {
            let request = client.get("/guarded").origin(origin);
            let answer = request.header("sec-fetch-site", "cross-site").send().await;
            assert_eq!(answer.status(), status, "{origin}");
        }
    }
}
