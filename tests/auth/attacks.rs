//! Hostile requests that no browser sends.

use std::collections::BTreeMap;

use axum_core::response::IntoResponse;
use policy_server::{
    AuthError, Mount, Scheme, SchemeRequest,
    http::{HeaderValue, Method},
    store::LimitPolicy,
};
use policy_tests::{
    handlers::token,
    http::{Running, request},
    http2,
};

use super::*;

struct Panics;

impl Scheme for Panics {
    const AMBIENT: bool = false;

    async fn authenticate(
        &self,
        _request: &mut SchemeRequest<'_>,
    ) -> Result<Option<Identity>, AuthError> {
        // A panic without its message on standard error.
        std::panic::resume_unwind(Box::new("the scheme panics"))
    }
}

#[get("/panics")]
#[auth(scheme = Panics, optional)]
async fn panics(State(shared): State<All>) {
    shared.count_call();
}

#[get("/either")]
#[auth(session | token)]
async fn either(me: Principal) -> String {
    me.subject().to_owned()
}

#[get("/items/{id}")]
#[auth(session)]
#[object(none = "a test of something else")]
async fn item(id: u64) -> String {
    id.to_string()
}

#[options("/options")]
#[cors(origins = ["https://spa.example"], credentials)]
#[auth(session)]
async fn own_options(State(shared): State<All>) -> &'static str {
    shared.count_call();
    "own"
}

#[delete("/thing")]
#[auth(session)]
async fn remove(State(shared): State<All>) {
    shared.count_call();
}

#[get("/thing")]
#[auth(session)]
async fn thing() -> &'static str {
    "thing"
}

#[post("/count")]
#[auth(public)]
async fn count(sessions: Sessions) -> Result<String, Problem> {
    Ok(sessions.list_user("ada").await?.len().to_string())
}

fn all() -> Vec<Route<All>> {
    routes![token, either, item, own_options, remove, thing, count]
}

/// The cases of `session_cookie_pick` over the whole server, with a valid session id.
#[tokio::test]
async fn the_cookie_of_a_session_is_picked_as_the_cases_say() {
    const GOOD: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
    const OTHER: &str = "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA";
    let mut seen = BTreeMap::new();
    for case in section("session_cookie_pick", 11) {
        let scenario = Scenario::new(all()).await;
        let (ada, eve) = (scenario.login("ada").await, scenario.login("eve").await);
        scenario.store.take_calls();
        let mut request = scenario.client.get("/me");
        for line in case["headers"].as_array().unwrap() {
            let line = line.as_str().unwrap();
            // Replaces whole ids only; malformed values stay as they are.
            let id = |visitor: &Visitor| visitor.cookie.replace("__Host-sid=", "");
            let line = match case["expect"] == "malformed" {
                true => line.to_owned(),
                false => line.replace(GOOD, &id(&ada)).replace(OTHER, &id(&eve)),
            };
            request = request.header("cookie", line);
        }
        let response = request.send().await;
        let calls = scenario.store.take_calls().len();
        let expected = case["expect"].as_str().unwrap().to_owned();
        if expected == "candidate" {
            assert_eq!((&*response.text(), calls), ("ada", 1), "{case}");
        } else {
            assert_problem(&response, 401, "auth.credentials-missing");
            assert_eq!(calls, 0, "{case}");
            assert!(leaves_cookie(&response), "{case}");
        }
        *seen.entry(expected).or_insert(0) += 1;
    }
    let seen: Vec<_> = seen.iter().map(|(expected, count)| (&**expected, *count)).collect();
    assert_eq!(seen, [("absent", 1), ("ambiguous", 1), ("candidate", 3), ("malformed", 6)]);
}

/// A host of the same site sets a second session cookie beside the victim's (cookie tossing).
#[tokio::test]
async fn a_planted_cookie_does_not_replace_another_one() {
    let scenario = Scenario::new(all()).await;
    let (ada, mallory) = (scenario.login("ada").await, scenario.login("mallory").await);
    let planted = format!("{}; {}", mallory.cookie, ada.cookie);
    for lines in [vec![planted], vec![ada.cookie.clone(), mallory.cookie.clone()]] {
        let with = |mut request: TestRequest| {
            for line in &lines {
                request = request.header("cookie", line);
            }
            request
        };
        assert_eq!(with(scenario.client.get("/me")).send().await.status(), 401);
        let change = with(scenario.client.post("/set/a/1")).origin(OWN);
        assert_eq!(change.header("x-csrf-token", &ada.csrf).send().await.status(), 401);
        // A login replaces both.
        let login = with(scenario.client.post("/login/ada")).origin(OWN).send().await;
        assert!(set_cookie(&login).is_some());
    }
    assert_eq!((ada.who().await.is_some(), mallory.who().await.is_some()), (true, true));
}

#[tokio::test]
async fn cookies_without_end_are_an_error_that_changes_nothing() {
    let scenario = Scenario::new(all()).await;
    let ada = scenario.login("ada").await;
    let long = format!("a={}; {}", "x".repeat(20_000), ada.cookie);
    scenario.store.take_calls();
    let get = |path: &str| scenario.client.get(path).header("cookie", &long);
    for path in ["/me", "/either", "/csrf"] {
        let response = get(path).send().await;
        assert_problem(&response, 400, "cookie.request-too-large");
        assert!(leaves_cookie(&response));
    }
    let post = scenario.client.post("/login/ada").origin(OWN).header("cookie", &long);
    assert_problem(&post.send().await, 400, "cookie.request-too-large");
    // Where a token decides, cookies are not read.
    for path in ["/token", "/either"] {
        let response = get(path).header("authorization", bearer(&good_token())).send().await;
        assert_eq!(response.text(), "user-1");
    }
    assert!(scenario.store.take_calls().is_empty());
}

/// A sibling subdomain sets as many cookies for the whole domain as a browser keeps.
#[tokio::test]
async fn many_cookies_lock_no_user_out() {
    let scenario = Scenario::new(all()).await;
    let ada = scenario.login("ada").await;
    let planted: String = (0..180).map(|number| format!("c{number}=x; ")).collect();
    let request = scenario.client.get("/me").header("cookie", format!("{planted}{}", ada.cookie));
    assert_eq!(request.send().await.text(), "ada");
}

#[tokio::test]
async fn two_authorization_fields_are_refused() {
    let (app, _shared) = app(&FaultyStore::default(), &Clock::at(START), all());
    let server = Running::start(app).await;
    let good = format!("authorization: Bearer {}", good_token());
    for other in ["authorization: Bearer x", "Authorization: Basic YTpi", "AUTHORIZATION:", &good] {
        for lines in [[&*good, other], [other, &*good]] {
            for path in ["/token", "/either"] {
                let text = request(&format!("GET {path}"), &lines);
                let response = server.response(text.replacen("localhost", "api.example", 1)).await;
                let problem = response.problem();
                assert_eq!(problem, (400, "auth.authorization-malformed".to_owned()), "{lines:?}");
            }
        }
    }
    // A folded line is no credential (RFC 9112 5.2).
    let text = request("GET /token", &[&good, " more"]);
    let response = server.response(text.replacen("localhost", "api.example", 1)).await;
    assert_eq!(response.status, 400);
}

/// RFC 9113 8.2.3: a client may split the Cookie field between cookies.
#[tokio::test]
async fn crumbs_of_cookies_over_http_2_are_one_field() {
    let (app, _shared) = app(&FaultyStore::default(), &Clock::at(START), all());
    let server = Running::start(app).await;
    let (client, _ended) = http2::connect(&server).await;
    let send = async |method: &str, path: &str, fields: &[(&str, &str)]| {
        let request = http2::request(method, &format!("http://api.example{path}"), fields);
        http2::send(&mut client.clone(), request, "").await
    };
    let login = async |user: &str| {
        let response = send("POST", &format!("/login/{user}"), &[("origin", OWN)]).await;
        let line = response.header("set-cookie").unwrap();
        line.split(';').next().unwrap().to_owned()
    };
    let (ada, eve) = (login("ada").await, login("eve").await);
    for crumbs in [
        vec![("cookie", "a=b"), ("cookie", &*ada), ("cookie", "c=d")],
        vec![("cookie", &*ada), ("cookie", &*ada)],
    ] {
        let response = send("GET", "/me", &crumbs).await;
        assert_eq!((response.status, response.text()), (200, "ada"));
    }
    let both = [("cookie", &*ada), ("cookie", "a=b"), ("cookie", &*eve)];
    assert_eq!(send("GET", "/me", &both).await.status, 401);
    let two = [("authorization", "Bearer a"), ("authorization", "Bearer b")];
    assert_eq!(send("GET", "/token", &two).await.status, 400);
}

#[tokio::test]
async fn no_field_and_no_parameter_changes_the_method() {
    let scenario = Scenario::new(all()).await;
    let ada = scenario.login("ada").await;
    for name in ["x-http-method-override", "x-http-method", "x-method-override"] {
        let response = ada.get("/thing?_method=DELETE").header(name, "DELETE").send().await;
        assert_eq!(response.text(), "thing");
        let response = ada.post("/thing").header(name, "DELETE").form(&[("_method", "DELETE")]);
        assert_problem(&response.send().await, 405, "route.method-not-allowed");
        // None of these fields turns a change into a safe request.
        let change = ada.bare("/set/a/1").origin(OWN).header(name, "GET").send().await;
        assert_problem(&change, 403, "csrf.token");
    }
    assert_eq!(scenario.shared.calls(), 0);
}

#[tokio::test]
async fn head_asks_for_the_same_credential_and_tells_no_more() {
    let scenario = Scenario::new(all()).await;
    let ada = scenario.login("ada").await;
    let head = scenario.client.head("/me").send().await;
    assert_eq!((head.status().as_u16(), head.bytes().len()), (401, 0));
    let get = ada.get("/me").send().await;
    let head = scenario.client.head("/me").header("cookie", &ada.cookie).send().await;
    assert_eq!((head.status(), head.bytes().len()), (get.status(), 0));
    let kept = |response: &TestResponse| {
        let mut headers = response.headers().clone();
        headers.remove("content-length");
        headers
    };
    assert_eq!(kept(&head), kept(&get));
}

#[tokio::test]
async fn own_responses_to_options_are_authenticated_and_preflights_are_not() {
    let scenario = Scenario::new(all()).await;
    let ada = scenario.login("ada").await;
    let own = scenario.client.options("/options");
    assert_problem(&own.send().await, 401, "auth.credentials-missing");
    let own = scenario.client.options("/options").header("cookie", &ada.cookie).send().await;
    assert_eq!(own.text(), "own");
    let preflight = |origin: &str| {
        let request = scenario.client.options("/options").origin(origin);
        request.header("access-control-request-method", "OPTIONS").header("cookie", &ada.cookie)
    };
    assert_eq!(preflight(SPA).send().await.status(), 204);
    assert_eq!(preflight(EVIL).send().await.status(), 403);
    // Without a requested method it is an ordinary OPTIONS request.
    let plain = scenario.client.options("/options").origin(SPA).send().await;
    assert_problem(&plain, 401, "auth.credentials-missing");
    // The automatic OPTIONS response needs no authentication.
    let automatic = scenario.client.options("/me").send().await;
    assert_eq!(
        (automatic.status().as_u16(), automatic.header("allow")),
        (204, Some("GET, HEAD, OPTIONS"))
    );
    assert_eq!(scenario.shared.calls(), 1);
}

#[tokio::test]
async fn parameters_are_read_behind_the_gate() {
    let scenario = Scenario::new(all()).await;
    let response = scenario.client.get("/items/x").send().await;
    assert_problem(&response, 401, "auth.credentials-missing");
    let ada = scenario.login("ada").await;
    assert_problem(&ada.get("/items/x").send().await, 400, "request.parameter-invalid");
}

#[tokio::test]
async fn a_panicking_scheme_admits_no_caller() {
    let scenario = Scenario::with(routes![panics], |app| app.scheme(Panics)).await;
    assert_problem(&scenario.client.get("/panics").send().await, 500, "handler.failed");
    assert_eq!(scenario.shared.calls(), 0);
}

/// A store that hangs: the request times out, and the user stays logged in.
#[tokio::test]
async fn a_gate_that_waits_is_timed_out_as_a_handler_is() {
    let scenario = Scenario::with(all(), |app| {
        app.policies(Policies::new().limits(Limits::NONE.timeout(Duration::from_millis(50))))
    })
    .await;
    let ada = scenario.login("ada").await;
    scenario.store.hold();
    let response = ada.get("/me").send().await;
    assert_problem(&response, 503, "handler.timed-out");
    assert!(leaves_cookie(&response));
    scenario.store.release();
    assert_eq!(ada.who().await.as_deref(), Some("ada"));
    assert_eq!(scenario.shared.calls(), 1);
}

/// Paths without a route: a service below a prefix, the fallback, a layer.
#[tokio::test]
async fn services_and_layers_open_no_way_around_a_gate() {
    let service = tower::service_fn(async |request: policy_server::Request| {
        let cookie = request.headers().get("cookie").is_some();
        let planted = ("set-cookie", "__Host-sid=planted; Path=/; Secure");
        Ok::<_, std::convert::Infallible>(([planted], cookie.to_string()).into_response())
    });
    let scenario = Scenario::with(all(), |app| {
        app.mount("/files", Mount::new(service).public())
            .fallback(
                Fallback::handler(async |_request| {
                    ([("set-cookie", "__Host-sid=planted; Path=/")], "fallback")
                })
                .public(),
            )
            .layer(tower::util::MapRequestLayer::new(|mut request: policy_server::Request| {
                request.headers_mut().insert("x-layer", HeaderValue::from_static("1"));
                request
            }))
    })
    .await;
    let ada = scenario.login("ada").await;
    let (log, _guard) = policy_tests::log::Log::start("policy_server");
    for path in ["/files", "/files/", "/files/me", "/files/../me", "/FILES/me"] {
        let response = ada.get(path).send().await;
        assert_ne!(response.text(), "ada", "{path}");
        assert!(response.header("set-cookie").is_none(), "{path} plants a session: {response:?}");
    }
    for path in ["/nowhere", "/me/", "/ME", "/me/x"] {
        let response = scenario.client.get(path).send().await;
        assert_eq!(response.text(), "fallback", "{path}");
        assert!(response.header("set-cookie").is_none(), "{path} plants a session: {response:?}");
    }
    assert_eq!(scenario.client.get("/me").send().await.status(), 401);
    assert_eq!(ada.who().await.as_deref(), Some("ada"));
    assert_eq!(scenario.client.get("//me").send().await.status(), 400);
    assert_eq!(scenario.client.get("/%6de").send().await.status(), 401);
    assert!(!log.with_code("session.cookie-of-handler").is_empty(), "{:?}", log.with("code="));
}

/// Logins on many devices at once leave exactly as many sessions as allowed.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn thousands_of_logins_at_once_leave_as_many_sessions_as_allowed() {
    for policy in [LimitPolicy::EvictOldest, LimitPolicy::Deny] {
        let limited = |app: App<All>| {
            app.sessions(Sessions::memory().same_site(SameSite::None).limit_per_user(5, policy))
        };
        let scenario = Scenario::with(all(), limited).await;
        let logins: Vec<_> = (0..2000)
            .map(|_| tokio::spawn(scenario.client.post("/login/ada").origin(OWN).send()))
            .collect();
        let mut cookies = Vec::new();
        for login in logins {
            let response = login.await.unwrap();
            match response.status().as_u16() {
                200 => cookies.push(cookie_of(&response)),
                _ => assert_problem(&response, 409, "session.limit-reached"),
            }
        }
        let allowed = if policy == LimitPolicy::Deny { 5 } else { 2000 };
        assert_eq!(cookies.len(), allowed);
        let mut living = 0;
        for cookie in cookies {
            let response = scenario.client.get("/me").header("cookie", cookie).send().await;
            living += usize::from(response.status() == 200);
        }
        let listed = scenario.client.post("/count").origin(OWN).send().await.text();
        assert_eq!((living, &*listed), (5, "5"), "{policy:?}");
    }
}

/// Development works without TLS, with a cookie name and attributes that browsers accept there.
#[tokio::test]
async fn without_a_public_origin_sessions_are_for_this_machine() {
    let app = App::new(All::default())
        .clock(Clock::at(START))
        .sessions(Sessions::memory())
        .routes(routes![login, me]);
    let server = Running::start(app).await;
    let port = server.address.port();
    let login = async |host: &str, origin: &str| {
        let fields = [&*format!("origin: {origin}"), "content-length: 0"];
        let text = request("POST /login/ada", &fields).replacen("localhost", host, 1);
        server.response(text).await
    };
    let local = format!("localhost:{port}");
    let response = login(&local, &format!("http://{local}")).await;
    let line = response.header("set-cookie").unwrap().to_owned();
    let (pair, attributes) = line.split_once("; ").unwrap();
    assert!(pair.starts_with(&format!("sid-{port}=")), "{line}");
    assert_eq!(attributes, "Path=/; HttpOnly; SameSite=Lax");
    let me = request("GET /me", &[&format!("cookie: {pair}")]);
    assert_eq!(server.response(me).await.text(), "ada");
    // Another port is another origin; another name is another host.
    let other = login(&local, "http://localhost:1").await;
    assert_eq!(other.problem(), (403, "csrf.origin".to_owned()));
    let rebound = login("evil.example", "http://evil.example").await;
    assert_eq!(rebound.problem().0, 421);
}

#[tokio::test]
async fn a_response_tells_nothing_of_the_credential() {
    let scenario = Scenario::new(all()).await;
    let ada = scenario.login("ada").await;
    let secret = ada.cookie.replace("__Host-sid=", "");
    for request in [
        ada.get("/me"),
        ada.get("/nowhere"),
        ada.get("/items/x"),
        ada.post("/set/a/1"),
        ada.bare("/set/a/1"),
    ] {
        let response = request.header("authorization", bearer(&secret)).send().await;
        let text = format!("{response:?}");
        assert!(!text.contains(&secret), "{text}");
    }
    let methods = [Method::TRACE, Method::CONNECT];
    for method in methods {
        let request = scenario.client.request(method, "/me").header("cookie", &ada.cookie);
        let response = request.send().await;
        assert!(!response.text().contains(&secret));
        assert!(!response.status().is_success());
    }
}
