//! What a shared cache may store (RFC 9111).

use std::sync::{Arc, Mutex};

use axum_core::extract::FromRequestParts;
use http::{HeaderMap, Method, request::Parts};
use policy_core_tests::caching::Field;
use policy_server::{extract::CsrfToken, http, prelude::*};
use proptest::{collection::vec, option, prelude::*, sample::select};

use super::test_server::{
    Request, TestServer, identity, issue, login, login_by_token, token_settings,
};
use crate::{
    law::{Precondition, holds},
    shared_cache::stored_by,
};

/// What the handler does with the session before it responds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    Nothing,
    Read,
    Write,
    Login,
    Logout,
    Render,
    Issue,
}

/// Fields that the handler writes, and whether it ran.
#[derive(Clone, Debug)]
struct PlannedResponse {
    deed: Deed,
    status: u16,
    fields: Vec<(&'static str, &'static str)>,
    has_run: Arc<Mutex<bool>>,
}

impl<S: Send + Sync> FromRequestParts<S> for PlannedResponse {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, StatusCode> {
        PLANNED
            .with(|planned| planned.lock().expect("no panic").clone())
            .ok_or_else(|| panic!("no response is planned for {}", parts.uri))
    }
}

thread_local! {
    static PLANNED: Mutex<Option<PlannedResponse>> = const { Mutex::new(None) };
    static SERVER: TestServer = {
        let app = App::new(()).sessions(Sessions::memory()).tokens(token_settings());
        let app = app.routes(routes![login, login_by_token, issue]);
        TestServer::new(app.routes(routes![open, held, by_session, by_token, either, maybe, rendered, issued]))
    };
}

impl PlannedResponse {
    fn give(self) -> Response {
        *self.has_run.lock().expect("no panic") = true;
        let mut response = "a response".into_response();
        *response.status_mut() = StatusCode::from_u16(self.status).expect("a status");
        for (name, value) in self.fields {
            response.headers_mut().append(name, value.parse().expect("a value"));
        }
        response
    }
}

#[get("/open")]
#[post("/open")]
#[auth(public)]
async fn open(response: PlannedResponse) -> Response {
    response.give()
}

#[get("/held")]
#[post("/held")]
#[auth(public)]
#[csrf(origin)]
async fn held(
    response: PlannedResponse,
    session: Session,
    sessions: Sessions,
) -> Result<Response, Problem> {
    match response.deed {
        Deed::Write => session.set("a", 1)?,
        Deed::Login => sessions.login(identity("ada")).await?,
        Deed::Logout => session.logout(),
        _ => drop(session.identity()),
    }
    Ok(response.give())
}

#[get("/rendered")]
#[auth(public)]
async fn rendered(response: PlannedResponse, token: CsrfToken) -> Response {
    let _rendered = token.field();
    response.give()
}

#[get("/issued")]
#[post("/issued")]
#[auth(public)]
async fn issued(response: PlannedResponse, tokens: Tokens) -> Result<Response, Problem> {
    tokens.issue(&identity("ada"))?;
    Ok(response.give())
}

#[get("/session")]
#[auth(session)]
async fn by_session(response: PlannedResponse) -> Response {
    response.give()
}

#[get("/token")]
#[auth(token, scopes = ["s"])]
async fn by_token(response: PlannedResponse) -> Response {
    response.give()
}

#[get("/either")]
#[auth(session | token)]
async fn either(response: PlannedResponse) -> Response {
    response.give()
}

#[get("/maybe")]
#[auth(session | token, optional)]
async fn maybe(response: PlannedResponse) -> Response {
    response.give()
}

fn fields() -> impl Strategy<Value = Vec<(&'static str, &'static str)>> {
    let values = vec![
        "public",
        "public, max-age=60",
        "s-maxage=600",
        "max-age=60, must-revalidate",
        "private",
        "private=\"set-cookie\", max-age=60",
        "no-cache=\"set-cookie\", public",
        "private, max-age=60, public",
        "private, max-age=5, s-maxage=5",
        "no-store",
        "immutable, max-age=31536000",
        "Public , Max-Age=\"60\"",
        "ext=\"private\", public",
        "ext=\"a, no-store\", max-age=1",
    ];
    let field = prop_oneof![
        4 => select(values.clone()).prop_map(|value| ("cache-control", value)),
        1 => select(values.clone()).prop_map(|value| ("cdn-cache-control", value)),
        1 => select(values).prop_map(|value| ("x-cdn-cache-control", value)),
        1 => Just(("surrogate-control", "max-age=600")),
        1 => Just(("expires", "Fri, 01 Jan 2100 00:00:00 GMT")),
        1 => select(vec!["*", "accept", "Cookie", "origin, cookie"]).prop_map(|it| ("vary", it)),
        1 => Just(("etag", "\"1\"")),
    ];
    vec(field, 0..4)
}

/// No shared cache may store a response that depends on a session or a token, sets or removes the
/// session cookie, or contains a CSRF token or a credential, whatever the handler's cache fields,
/// on any route, for any method, status and client, refusals included. A response that depends on a
/// cookie varies by it. One that contains a credential is not stored at all. All others are as the
/// handler wrote them.
#[test]
fn no_shared_cache_keeps_personal_responses() {
    let routes =
        vec!["/open", "/held", "/session", "/token", "/either", "/maybe", "/rendered", "/issued"];
    let deeds = vec![Deed::Read, Deed::Write, Deed::Login, Deed::Logout];
    let statuses = vec![200, 203, 204, 301, 302, 308, 400, 404, 405, 410, 500, 501];
    let shows = (option::of(prop::bool::weighted(0.8)), option::of(any::<bool>()));
    let cases = (select(routes), select(deeds), select(statuses), fields(), shows);
    let cases = (cases, select(vec![Method::GET, Method::HEAD, Method::POST]));
    holds("caches", 23, cases, |((path, deed, status, fields, (cookie, token)), method)| {
        let deed = match path {
            "/held" => deed,
            "/rendered" => Deed::Render,
            "/issued" => Deed::Issue,
            _ => Deed::Nothing,
        };
        SERVER.with(|server| {
            let mut request = Request::new(method, path).with("origin", super::test_server::OWN);
            if let Some(is_good) = cookie {
                let id = server.send(Request::post("/login").body("ada")).set_id();
                let id = id.filter(|_| is_good).unwrap_or_else(|| "A".repeat(43));
                request = request.cookie(Some(&id));
            }
            if let Some(is_good) = token {
                let body = if is_good { "ada;s" } else { "ada" };
                let reply = server.send(Request::post("/tokens/issue").body(body));
                request = request.bearer(&reply.text("access_token"));
            }
            let has_run = Arc::new(Mutex::new(false));
            let response = PlannedResponse { deed, status, fields, has_run: Arc::clone(&has_run) };
            let plan = |response| PLANNED.with(|it| *it.lock().expect("no panic") = response);
            plan(Some(response.clone()));
            let reply = server.send(request.clone());
            plan(None);
            let has_run = *has_run.lock().expect("no panic");
            if reply.status == 405 && !has_run {
                return Ok(Precondition::Unmet);
            }
            let is_personal = path != "/open" || reply.headers.contains_key("set-cookie");
            if !is_personal {
                // A response to POST needs an age and a `Content-Location`, or it is not stored.
                let is_kept = |name: &str| request.method != Method::POST || name == "vary";
                for (name, value) in response.fields.iter().filter(|(name, _)| is_kept(name)) {
                    let lines = reply.headers.get_all(*name);
                    prop_assert!(lines.iter().any(|line| line == value), "{} is lost", name);
                }
                return Ok(Precondition::Unmet);
            }
            let by = |headers: &HeaderMap| {
                stored_by(&request.method, &request.headers, reply.status, headers)
            };
            prop_assert_eq!(by(&reply.headers), None, "a cache keeps {:?}", reply);
            let stored_nowhere = matches!(deed, Deed::Render | Deed::Issue)
                || !has_run
                || reply.headers.contains_key("set-cookie");
            let read = |name: &str| Field::read(&reply.headers, name).unwrap_or_default();
            let is_kept_nowhere = read("cache-control").has_plain("no-store");
            // An anonymous page has no CSRF token to render.
            let has_credential = stored_nowhere && (deed != Deed::Render || cookie == Some(true));
            prop_assert!(is_kept_nowhere || !has_credential, "{:?}", reply);
            let by_cookie = has_run && matches!(path, "/held" | "/session" | "/rendered");
            let varies = read("vary").has("cookie") || read("vary").has("*");
            prop_assert!(varies || !by_cookie, "{:?}", reply);
            // The precondition: the handler tried to have it shared.
            let mut tried = HeaderMap::new();
            for (name, value) in &response.fields {
                tried.append(*name, value.parse().expect("a value"));
            }
            Ok(Precondition::met_if(by(&tried).is_some() && has_run))
        })
    });
}
