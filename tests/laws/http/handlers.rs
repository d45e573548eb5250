//! Handlers that respond as planned.

use std::{
    convert::Infallible,
    time::{Duration, SystemTime},
};

use axum_core::extract::FromRequestParts;
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, request::Parts};
use http_body_util::BodyExt;
use policy_server::{Body, Route, prelude::*};

/// The planned response of a handler.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) status: u16,
    pub(crate) fields: Vec<(&'static str, &'static str)>,
    pub(crate) content: Content,
    /// The state that a handler finds; `None` where nothing exists.
    pub(crate) state: Option<State>,
}

/// The validators of the state: a tag in its written form, and seconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    pub(crate) tag: &'static str,
    pub(crate) modified: u64,
}

impl Default for Plan {
    fn default() -> Self {
        Self { status: 200, fields: Vec::new(), content: Content::Nothing, state: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Nothing,
    /// A body of this many bytes, at once.
    Whole(usize),
    /// A stream of this many bytes, without a stated length.
    Stream(usize),
    Json,
    Page,
    Problem,
    Panic,
}

impl Plan {
    fn response(&self) -> Response {
        let mut response = match self.content {
            Content::Nothing => ().into_response(),
            Content::Whole(len) => content(len).into_response(),
            Content::Stream(len) => in_pieces(&content(len)).into_response(),
            Content::Json => Json([1, 2]).into_response(),
            Content::Page => {
                let html = [("content-type", "text/html; charset=utf-8")];
                (html, "<!doctype html><p>A lamp").into_response()
            }
            Content::Problem => Problem::conflict().into_response(),
            // A panic without its message on standard error.
            Content::Panic => std::panic::resume_unwind(Box::new("the handler panics")),
        };
        if self.content != Content::Problem {
            *response.status_mut() = StatusCode::from_u16(self.status).expect("a status");
        }
        for (name, value) in &self.fields {
            response.headers_mut().append(*name, HeaderValue::from_static(value));
        }
        response
    }

    /// The response, with the client's name in a header.
    fn response_for(&self, who: &str) -> Response {
        let mut response = self.response();
        response.headers_mut().insert("x-who", who.parse().expect("a name"));
        response
    }
}

/// Always the same bytes for one length, without repeats nearby.
pub(crate) fn content(len: usize) -> Bytes {
    (0..len).map(|at| b' ' + (at % 89) as u8).collect()
}

/// A body that arrives in pieces without a stated length.
fn in_pieces(content: &[u8]) -> Body {
    let pieces: Vec<_> = content.chunks(7).map(Bytes::copy_from_slice).collect();
    Body::from_stream(stream::iter(pieces.into_iter().map(Ok::<_, Infallible>)))
}

impl<S: Send + Sync> FromRequestParts<S> for Plan {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, StatusCode> {
        parts.extensions.get::<Self>().cloned().ok_or(StatusCode::NOT_IMPLEMENTED)
    }
}

#[get("/open")]
#[post("/open")]
#[auth(public)]
async fn open(plan: Plan) -> Response {
    plan.response()
}

/// Has every policy of its own.
#[get("/declared")]
#[auth(public)]
#[cors(origins = ["https://app.shop.example"], credentials, expose = ["etag"])]
#[cache(public, max_age = 60, vary = ["x-region"])]
#[headers(frame = none, every_response)]
#[isolation(same_site)]
async fn declared(plan: Plan, region: Region) -> Response {
    let mut response = plan.response();
    response.headers_mut().insert("x-of", region.0);
    response
}

/// The value of a request field that a response depends on.
struct Region(HeaderValue);

impl<S: Send + Sync> FromRequestParts<S> for Region {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        let region = parts.headers.get("x-region").cloned();
        Ok(Self(region.unwrap_or(HeaderValue::from_static("nowhere"))))
    }
}

#[get("/script")]
#[auth(public)]
#[jsonp(callback = "cb")]
async fn script(plan: Plan) -> Response {
    plan.response()
}

#[get("/chosen")]
#[auth(public)]
async fn chosen(plan: Plan, accept: Accept) -> Result<Response, Problem> {
    Ok((accept.best(["application/json", "text/html"])?, plan.response()).into_response())
}

#[get("/session")]
#[post("/session")]
#[auth(session)]
#[csrf(origin)]
async fn by_session(plan: Plan, who: Principal) -> Response {
    plan.response_for(who.subject())
}

#[get("/token")]
#[post("/token")]
#[auth(token)]
async fn by_token(plan: Plan, who: Principal) -> Response {
    plan.response_for(who.subject())
}

#[get("/maybe")]
#[auth(session | token, optional)]
async fn maybe(plan: Plan, who: Option<Principal>) -> Response {
    plan.response_for(who.as_ref().map_or("nobody", |who| who.subject()))
}

#[get("/held")]
#[auth(public)]
async fn held(plan: Plan, session: Session) -> Response {
    let identity = session.identity();
    plan.response_for(identity.as_ref().map_or("nobody", |identity| &identity.subject))
}

/// Changes the state.
#[put("/state")]
#[delete("/state")]
#[auth(public)]
async fn change(plan: Plan, conditions: Preconditions) -> Result<StatusCode, Problem> {
    match plan.state {
        None => conditions.check(None::<&ETag>)?,
        Some(State { tag, modified }) => {
            let (is_weak, name) = match tag.strip_prefix("W/") {
                Some(tag) => (true, tag.trim_matches('"')),
                None => (false, tag.trim_matches('"')),
            };
            let etag = if is_weak { ETag::weak(name) } else { ETag::strong(name) };
            let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(modified);
            conditions.check((&etag.expect("a tag"), LastModified::from(modified)))?;
        }
    }
    Ok(StatusCode::ACCEPTED)
}

#[post("/bytes")]
#[auth(public)]
async fn collected(body: Bytes) -> String {
    body.len().to_string()
}

#[post("/text")]
#[auth(public)]
#[limit(body = "100 B")]
async fn text(body: String) -> String {
    body.len().to_string()
}

#[post("/json")]
#[auth(public)]
async fn json(Json(text): Json<String>) -> String {
    text.len().to_string()
}

/// Reads each piece and keeps none.
#[post("/pieces")]
#[auth(public)]
async fn pieces(mut body: Body) -> String {
    let mut len = 0;
    while let Some(Ok(frame)) = body.frame().await {
        len += frame.into_data().map_or(0, |data| data.len());
    }
    len.to_string()
}

/// Receives the form of a logged-in user's page: its CSRF token is read from the body before the
/// handler runs.
#[post("/form")]
#[auth(session)]
async fn form(body: String) -> String {
    body.len().to_string()
}

/// Responds as planned below `/files`, and reads the body of the request.
pub(crate) async fn file(request: http::Request<Body>) -> Response {
    let (parts, body) = request.into_parts();
    match parts.extensions.get::<Plan>() {
        _ if body.collect().await.is_err() => StatusCode::PAYLOAD_TOO_LARGE.into_response(),
        Some(plan) => plan.response(),
        None => StatusCode::NOT_IMPLEMENTED.into_response(),
    }
}

/// The routes of the app.
pub(crate) fn routes() -> Vec<Route<()>> {
    routes![open, declared, script, chosen, by_token, maybe].into_iter().collect()
}

/// The routes of a public group.
pub(crate) fn scoped() -> Vec<Route<()>> {
    routes![change, collected, text, json, pieces, open, chosen, maybe].into_iter().collect()
}

/// The routes of a group with sessions.
pub(crate) fn session_routes() -> Vec<Route<()>> {
    routes![by_session, held, form].into_iter().collect()
}
