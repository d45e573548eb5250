//! The responses, and the CORS policy with three origins.

use std::error::Error;

use bytes::Bytes;
use contract::{ORDER, Order, Sessions};
use http_body_util::{BodyExt, Full, Limited};
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode,
    body::Incoming,
    header::{
        ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS,
        ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS,
        ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, AUTHORIZATION, CACHE_CONTROL,
        CONTENT_SECURITY_POLICY, CONTENT_TYPE, COOKIE, HeaderName, HeaderValue, ORIGIN,
        REFERRER_POLICY, SET_COOKIE, VARY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
    },
};

use crate::token::Verifier;

pub(crate) type Reply = Response<Full<Bytes>>;

pub(crate) struct App {
    verifier: Verifier,
    sessions: Sessions,
    router: matchit::Router<()>,
    origins: [HeaderValue; 3],
}

/// The headers of a route with every policy on, besides CORS; its rate and its permits are not
/// counted.
const POLICIES: [(HeaderName, HeaderValue); 7] = [
    (CACHE_CONTROL, HeaderValue::from_static("public, max-age=60")),
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (
        CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; base-uri 'none'; frame-ancestors 'none'"),
    ),
    (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (
        HeaderName::from_static("ratelimit-policy"),
        HeaderValue::from_static("\"default\";q=4000000000;w=1"),
    ),
    (
        HeaderName::from_static("ratelimit"),
        HeaderValue::from_static("\"default\";r=3999999999;t=1"),
    ),
];

impl App {
    pub(crate) fn new() -> Result<Self, Box<dyn Error>> {
        let mut router = matchit::Router::new();
        let routes = contract::routes(|name| format!("{{{name}}}"));
        for path in routes.without.into_iter().chain(routes.with_one).chain(routes.with_two) {
            router.insert(path, ())?;
        }
        let sessions = Sessions::default();
        for user in 0..contract::SESSIONS {
            sessions.create(user)?;
        }
        Ok(Self {
            verifier: Verifier::new(contract::SECRET)?,
            sessions,
            router,
            origins: contract::ORIGINS.map(HeaderValue::from_static),
        })
    }

    pub(crate) fn respond(&self, request: &Request<Incoming>) -> Reply {
        match request.uri().path() {
            "/plain" => hello(),
            "/cors" => self.shared(request, |_| hello()),
            "/token" => self.shared(request, |headers| self.token(headers)),
            "/session" => self.shared(request, |headers| self.session(headers)),
            "/policies" => self.shared(request, |_| policies()),
            "/order" => order(),
            "/login" if request.method() == Method::POST => self.login(request),
            path => self.routed(path),
        }
    }

    /// The response with CORS headers, or that to a preflight.
    #[inline]
    fn shared(
        &self,
        request: &Request<Incoming>,
        reply: impl FnOnce(&HeaderMap) -> Reply,
    ) -> Reply {
        let headers = request.headers();
        let origin =
            headers.get(ORIGIN).and_then(|origin| self.origins.iter().find(|own| *own == origin));
        let is_preflight = request.method() == Method::OPTIONS
            && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        let mut reply = if is_preflight { status(StatusCode::NO_CONTENT) } else { reply(headers) };
        let fields = reply.headers_mut();
        fields.insert(VARY, HeaderValue::from_static("origin"));
        let Some(origin) = origin else { return reply };
        fields.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        fields.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        if is_preflight {
            let allowed = HeaderValue::from_static("content-type,x-request-id");
            fields.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET,PUT"));
            fields.insert(ACCESS_CONTROL_ALLOW_HEADERS, allowed);
            fields.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        } else {
            let exposed = HeaderValue::from_static(contract::EXPOSED_HEADER);
            fields.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
        }
        reply
    }

    fn token(&self, headers: &HeaderMap) -> Reply {
        let credentials = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes);
        let token = credentials.and_then(|credentials| credentials.strip_prefix(b"Bearer "));
        let mut decoded = [0; 512];
        match token.and_then(|token| self.verifier.verify(token, &mut decoded)) {
            Some(subject) => text(Bytes::copy_from_slice(subject.as_bytes())),
            None => status(StatusCode::UNAUTHORIZED),
        }
    }

    fn session(&self, headers: &HeaderMap) -> Reply {
        match headers.get(COOKIE).and_then(|cookie| self.sessions.find(cookie.as_bytes())) {
            Some(user) => text(user.to_string().into()),
            None => status(StatusCode::UNAUTHORIZED),
        }
    }

    fn login(&self, request: &Request<Incoming>) -> Reply {
        let query = request.uri().query();
        let user = query.and_then(|query| query.strip_prefix("user=")?.parse().ok());
        let cookie = user.and_then(|user| self.sessions.create(user).ok()?.try_into().ok());
        let Some(cookie) = cookie else { return status(StatusCode::BAD_REQUEST) };
        let mut reply = status(StatusCode::NO_CONTENT);
        reply.headers_mut().insert(SET_COOKIE, cookie);
        reply
    }

    /// The parameters of one of the hundred routes, as the body.
    fn routed(&self, path: &str) -> Reply {
        let Ok(found) = self.router.at(path) else { return status(StatusCode::NOT_FOUND) };
        let mut body = String::with_capacity(32);
        for (index, (_, value)) in found.params.iter().enumerate() {
            if index > 0 {
                body.push(':');
            }
            body.push_str(value);
        }
        text(body.into())
    }
}

fn hello() -> Reply {
    text(Bytes::from_static(contract::HELLO.as_bytes()))
}

fn policies() -> Reply {
    let mut reply = with_room(16, Bytes::from_static(contract::HELLO.as_bytes()));
    for (name, value) in &POLICIES {
        reply.headers_mut().insert(name.clone(), value.clone());
    }
    reply
}

fn order() -> Reply {
    let Ok(json) = serde_json::to_vec(&*ORDER) else {
        return status(StatusCode::INTERNAL_SERVER_ERROR);
    };
    let mut reply = text(json.into());
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    reply
}

/// The total of a valid order.
pub(crate) async fn total(body: Incoming) -> Reply {
    let Ok(body) = Limited::new(body, 1 << 20).collect().await else {
        return status(StatusCode::PAYLOAD_TOO_LARGE);
    };
    let Ok(order) = serde_json::from_slice::<Order>(&body.to_bytes()) else {
        return status(StatusCode::BAD_REQUEST);
    };
    match order.total() {
        Some(total) => text(total.into()),
        None => status(StatusCode::UNPROCESSABLE_ENTITY),
    }
}

fn text(body: Bytes) -> Reply {
    with_room(8, body)
}

/// A text, with capacity for this many headers.
#[inline]
fn with_room(fields: usize, body: Bytes) -> Reply {
    let mut headers = HeaderMap::with_capacity(fields);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    let mut reply = Response::new(Full::new(body));
    *reply.headers_mut() = headers;
    reply
}

fn status(code: StatusCode) -> Reply {
    let mut reply = Response::new(Full::default());
    *reply.status_mut() = code;
    reply
}
