//! What caches may store: it depends on the route's declaration, the handler's fields and the
//! caller.

use axum::response::Html;
use policy_core::secret::SecretKey;
use policy_tests::{caller_scheme::CallerScheme, handlers::login};

use super::*;

/// Responds with the status and the headers that the request asks for.
type Asked = (StatusCode, HeaderMap, &'static str);

fn respond(headers: &HeaderMap) -> Asked {
    let status =
        headers.get("x-status").map_or(200, |value| value.to_str().unwrap().parse().unwrap());
    (StatusCode::from_u16(status).unwrap(), asked_for(headers), "")
}

#[get("/public")]
#[cache(public, max_age = 60, stale_while_revalidate = 30, vary = ["accept", "X-Region"])]
#[auth(public)]
async fn public(headers: HeaderMap) -> Asked {
    respond(&headers)
}

/// Leaves `Authorization` to the handler.
#[get("/aged")]
#[cache(max_age = 60)]
#[auth(public)]
async fn aged(headers: HeaderMap) -> Asked {
    respond(&headers)
}

#[get("/undeclared")]
#[auth(public)]
async fn undeclared(headers: HeaderMap) -> Asked {
    respond(&headers)
}

#[get("/public/session")]
#[cache(private, max_age = 60)]
#[auth(public)]
async fn public_session(_session: Session, headers: HeaderMap) -> Asked {
    respond(&headers)
}

/// An alias hides the type's name from the macro.
type Alias = CsrfToken;

#[get("/public/form")]
#[cache(public, max_age = 60)]
#[auth(public)]
async fn public_form(csrf: Alias) -> Html<String> {
    Html(csrf.field())
}

#[get("/session")]
#[cors(SHOP)]
#[cache(private, max_age = 60)]
#[auth(session)]
async fn session(headers: HeaderMap) -> Asked {
    respond(&headers)
}

#[get("/session/writes")]
#[cache(private, max_age = 60)]
#[auth(session)]
async fn writes(session: Session) -> Result<(), Problem> {
    Ok(session.elevate()?)
}

#[get("/token")]
#[cache(private, max_age = 60)]
#[auth(token)]
async fn token(headers: HeaderMap) -> Asked {
    respond(&headers)
}

#[get("/optional")]
#[cache(private, max_age = 60)]
#[auth(session | token, optional)]
async fn optional(headers: HeaderMap) -> Asked {
    respond(&headers)
}

#[post("/search")]
#[cache(public, max_age = 60)]
#[auth(public)]
async fn search(headers: HeaderMap) -> Asked {
    respond(&headers)
}

#[delete("/public")]
#[cache(no_store)]
#[auth(public)]
async fn remove() -> StatusCode {
    StatusCode::NO_CONTENT
}

#[post("/logout")]
#[auth(session)]
#[csrf(origin)]
async fn logout(session: Session) {
    session.logout();
}

#[post("/issue")]
#[auth(public)]
async fn issue(tokens: Tokens) -> Result<String, Problem> {
    Ok(tokens.issue(&Identity::new("ada"))?.access_token)
}

const OWN: &str = "https://api.shop.example";

struct Scenario {
    client: TestClient,
    cookie: String,
    token: String,
}

impl Scenario {
    async fn new() -> Self {
        let key = SecretKey::from_bytes([7; 32]);
        let tokens = Tokens::hs256([("k1".to_owned(), key)]).expect("keys");
        let client = App::new(())
            .public_origin(OWN)
            .clock(Clock::at(START))
            .sessions(Sessions::memory())
            .tokens(tokens.issuer(OWN).audience("api"))
            .routes(routes![
                public,
                undeclared,
                public_session,
                public_form,
                session,
                writes,
                token,
                optional,
                search,
                remove,
                login,
                logout,
                issue,
            ])
            .test();
        let response = client.post("/login").origin(OWN).send().await;
        let cookie = response.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        let token = client.post("/issue").origin(OWN).send().await.text();
        Self { client, cookie, token }
    }

    fn get(&self, path: &str, who: &str) -> TestRequest {
        self.by(Method::GET, path, who)
    }

    fn by(&self, method: Method, path: &str, who: &str) -> TestRequest {
        let request = self.client.request(method, path).origin(OWN);
        match who {
            "session" => request.header("cookie", &self.cookie),
            "token" => request.header("authorization", format!("Bearer {}", self.token)),
            "stale" => request.header("cookie", format!("__Host-sid={}", "A".repeat(43))),
            _ => request,
        }
    }
}

/// The directives of `Cache-Control`, sorted.
fn control(response: &TestResponse) -> String {
    let lines = response.header_all("cache-control").join(",");
    let mut directives: Vec<_> =
        lines.split(',').map(str::trim).filter(|directive| !directive.is_empty()).collect();
    directives.sort_unstable();
    directives.join(" ")
}

fn names(response: &TestResponse) -> BTreeSet<String> {
    let lines = response.header_all("vary").join(",").to_ascii_lowercase();
    lines.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

const DECLARED: &str = "max-age=60 public stale-while-revalidate=30";

#[tokio::test]
async fn responses_follow_the_table_of_audiences() {
    let scenario = Scenario::new().await;
    for (path, who, status, expected, varies) in [
        ("/public", "nobody", 200, DECLARED, "accept x-region"),
        // Credentials that the route does not ask for change nothing.
        ("/public", "session", 200, DECLARED, "accept x-region"),
        ("/public", "token", 200, DECLARED, "accept x-region"),
        ("/undeclared", "session", 200, "", ""),
        ("/public/session", "nobody", 200, "max-age=60 private", "cookie"),
        ("/public/session", "session", 200, "max-age=60 private", "cookie"),
        ("/public/form", "session", 200, "no-store", "cookie"),
        // Without a session there is no token.
        ("/public/form", "nobody", 200, "no-cache private", "cookie"),
        ("/session", "session", 200, "max-age=60 private", "cookie origin"),
        ("/session", "nobody", 401, "no-store", "accept cookie origin"),
        ("/session", "stale", 401, "no-store", "accept cookie origin"),
        ("/token", "token", 200, "max-age=60 private", "authorization"),
        ("/token", "nobody", 401, "no-store", "accept"),
        ("/optional", "nobody", 200, "max-age=60 private", "authorization cookie"),
        ("/optional", "session", 200, "max-age=60 private", "authorization cookie"),
        ("/optional", "token", 200, "max-age=60 private", "authorization"),
        ("/optional", "stale", 200, "max-age=60 private", "authorization cookie"),
    ] {
        for method in [Method::GET, Method::HEAD] {
            let response = scenario.by(method, path, who).send().await;
            assert_eq!(response.status(), status, "{path} {who}");
            assert_eq!(control(&response), expected, "{path} {who} {response:?}");
            let names = Vec::from_iter(names(&response)).join(" ");
            assert_eq!(names, varies, "{path} {who} {response:?}");
        }
    }
    // A response that sets or removes the session cookie is for one client only.
    for (method, path, who) in [
        (Method::POST, "/login", "nobody"),
        (Method::POST, "/login", "session"),
        (Method::POST, "/issue", "nobody"),
        (Method::GET, "/session/writes", "session"),
        (Method::POST, "/logout", "session"),
        // Without an age and a location of its own.
        (Method::POST, "/search", "nobody"),
        (Method::DELETE, "/public", "nobody"),
    ] {
        let response = scenario.by(method, path, who).send().await;
        assert_eq!(control(&response), "no-store", "{path} {response:?}");
    }
    assert_eq!(control(&scenario.client.get("/public/none").send().await), "");
    // `policy-core/tests/laws/caching/table.rs` has all statuses, methods and fields of handlers.
    let (age, location) = ("cache-control: public, max-age=10", "content-location: /search?q=1");
    for (method, path, name, value, expected) in [
        (Method::GET, "/public", "x-response", age, "max-age=10 public"),
        (Method::GET, "/public", "x-status", "404", "no-store"),
        (Method::POST, "/search", "x-response", location, "max-age=60 public"),
    ] {
        let response = scenario.by(method, path, "nobody").header(name, value).send().await;
        assert_eq!(control(&response), expected, "{path} {value}");
    }
}

/// RFC 9111 3.5. Of a request without `Authorization`, it has no rule.
#[tokio::test]
async fn a_restriction_of_a_handler_lets_no_shared_cache_keep_what_a_credential_gets() {
    let client = App::new(()).routes(routes![aged]).test();
    let get =
        || client.get("/aged").header("x-response", "cache-control: max-age=60, must-revalidate");
    let other = get().send().await;
    assert_eq!(control(&other), "max-age=60 must-revalidate");
    let response = get().header("authorization", "Basic YWRhOmE=").send().await;
    assert_eq!(control(&response), "max-age=60 must-revalidate private");
}

/// `tests/laws/http/personal.rs` has a shared cache store what it may, whatever handlers write.
#[tokio::test]
async fn personal_responses_have_no_fields_of_other_caches() {
    const RIVALS: [&str; 5] =
        ["expires", "cdn-cache-control", "surrogate-control", "x-accel-expires", "edge-control"];
    let scenario = Scenario::new().await;
    let written = "cache-control: max-age=60|expires: Sun, 06 Nov 2094 08:49:37 GMT|\
                   cdn-cache-control: max-age=60|surrogate-control: max-age=9|x-accel-expires: 9|\
                   edge-control: cache-maxage=9";
    for (path, who) in [
        ("/session", "session"),
        ("/token", "token"),
        ("/optional", "session"),
        ("/optional", "token"),
        ("/public/session", "session"),
        ("/public/session", "nobody"),
        ("/public/form", "session"),
    ] {
        for status in ["200", "203", "204", "301", "302", "404", "410", "500"] {
            let request = scenario.get(path, who).header("x-status", status);
            let response = request.header("x-response", written).send().await;
            for rival in RIVALS {
                assert!(response.header(rival).is_none(), "{path} {who} {rival} {response:?}");
            }
            let varies = who == "token" || names(&response).contains("cookie");
            assert!(varies, "{path} {who} {response:?}");
        }
    }
}

#[get("/default")]
#[auth(public)]
async fn default() -> &'static str {
    "default"
}

#[get("/default/own")]
#[cache(no_cache)]
#[auth(public)]
async fn own() -> &'static str {
    "own"
}

#[get("/default/none")]
#[cache(none)]
#[auth(public)]
async fn none() -> &'static str {
    "none"
}

#[post("/default")]
#[auth(public)]
async fn posted() -> &'static str {
    "posted"
}

#[route(GET, POST, "/default/both")]
#[auth(public)]
async fn both() -> &'static str {
    "both"
}

#[get("/default/session")]
#[auth(session, optional)]
async fn for_one() -> &'static str {
    "one"
}

#[get("/default/argument")]
#[auth(public)]
async fn argument(_session: Session) -> &'static str {
    "argument"
}

#[get("/default/form")]
#[auth(public)]
async fn form(csrf: CsrfToken) -> String {
    csrf.field()
}

/// A request without a credential is anonymous, but the next one may have one.
#[get("/default/scheme")]
#[auth(scheme = CallerScheme, optional)]
async fn by_scheme() -> &'static str {
    "scheme"
}

#[tokio::test]
async fn a_default_applies_to_public_responses() {
    const APP: CachePolicy = CachePolicy::public().max_age(7).build();
    const GROUP: CachePolicy = CachePolicy::private().max_age(8).build();
    let all = || routes![default, own, none, posted, both, for_one, by_scheme, argument, form];
    let client = App::new(())
        .sessions(Sessions::memory())
        .scheme(CallerScheme)
        .policies(Policies::new().cache(APP))
        .routes(all())
        .group("/group", Group::new().policies(Policies::new().cache(GROUP)).routes(all()))
        .group("/bare", Group::new().policies(Policies::new().no_cache()).routes(all()))
        .mount(
            "/mount",
            Mount::new(tower::service_fn(async |_| {
                Ok::<_, Infallible>(Response::new(Body::empty()))
            }))
            .public(),
        )
        .test();
    for (prefix, taken) in
        [("", "max-age=7 public"), ("/group", "max-age=8 private"), ("/bare", "")]
    {
        for (method, path, expected) in [
            (Method::GET, "/default", taken),
            (Method::HEAD, "/default", taken),
            (Method::GET, "/default/own", "no-cache"),
            (Method::GET, "/default/none", ""),
            (Method::POST, "/default", ""),
            (Method::GET, "/default/both", ""),
            (Method::POST, "/default/both", ""),
            (Method::GET, "/default/session", "no-cache private"),
            (Method::GET, "/default/scheme", ""),
            (Method::GET, "/default/argument", "no-cache private"),
            (Method::GET, "/default/form", "no-cache private"),
        ] {
            let response = client.request(method.clone(), &format!("{prefix}{path}")).send().await;
            assert_eq!(control(&response), expected, "{method} {prefix}{path} {response:?}");
        }
    }
    assert_eq!(control(&client.get("/mount/x").send().await), "max-age=7 public");
    assert_eq!(control(&client.get("/nowhere").send().await), "no-store");
}

/// The scheme may read `Authorization`, and the next request may have one.
#[tokio::test]
async fn a_response_without_a_credential_of_a_scheme_varies_by_authorization() {
    let client = App::new(()).scheme(CallerScheme).routes(routes![default, by_scheme]).test();
    let names_for = async |request: TestRequest| Vec::from_iter(names(&request.send().await));
    assert_eq!(names_for(client.get("/default/scheme")).await, ["authorization"]);
    // The response to a caller is revalidated, which needs no `Vary`.
    let ada = client.get("/default/scheme").header("x-caller", "ada");
    assert_eq!(names_for(ada).await, [""; 0]);
    assert_eq!(names_for(client.get("/default")).await, [""; 0]);
}

/// Such a default opens nothing. The manifest states it for the same routes.
#[tokio::test]
async fn a_default_that_forbids_storing_applies_to_every_route() {
    let app = App::new(())
        .sessions(Sessions::memory())
        .scheme(CallerScheme)
        .policies(Policies::new().cache(CachePolicy::no_store().build()))
        .routes(routes![default, own, none, posted, both, for_one, by_scheme, argument]);
    let manifest = app.manifest();
    let client = app.test();
    for (method, path, expected) in [
        (Method::GET, "/default", "no-store"),
        (Method::GET, "/default/own", "no-cache"),
        (Method::GET, "/default/none", ""),
        (Method::POST, "/default", "no-store"),
        (Method::GET, "/default/both", "no-store"),
        (Method::POST, "/default/both", "no-store"),
        (Method::GET, "/default/session", "no-store"),
        (Method::GET, "/default/scheme", "no-store"),
        (Method::GET, "/default/argument", "no-store"),
    ] {
        let response = client.request(method.clone(), path).send().await;
        assert_eq!(response.status(), 200, "{method} {path}");
        assert_eq!(control(&response), expected, "{method} {path}");
        let route = manifest.route(method.as_str(), path).unwrap();
        let is_stated = route.cache.as_ref().is_some_and(|cache| cache.no_store);
        assert_eq!(is_stated, expected == "no-store", "{method} {path}");
    }
}
