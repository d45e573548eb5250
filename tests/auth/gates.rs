//! The responses of every refusal, and the order of the gates.

use axum_core::extract::FromRequestParts;
use http::{Running, request};
use policy_server::http::{Method, request::Parts};

use super::*;
use crate::http;

#[get("/token")]
#[cors(origins = ["https://spa.example"], credentials)]
#[auth(token)]
async fn token(me: Principal, State(shared): State<All>) -> String {
    shared.count_call();
    me.subject().to_owned()
}

#[get("/admin")]
#[cors(origins = ["https://spa.example"], credentials)]
#[auth(token, scopes = ["admin"])]
async fn admin(State(shared): State<All>) {
    shared.count_call();
}

#[get("/write")]
#[auth(token, scopes = ["write"])]
async fn write(State(shared): State<All>) {
    shared.count_call();
}

#[post("/revoke/{id}")]
#[auth(public)]
async fn revoke(id: String, tokens: Tokens) -> Result<(), CredentialError> {
    let day = policy_core::time::Timestamp::from_seconds(START + 86_400);
    tokens.revoke_token(&id, day).await
}

#[post("/cut-off/{user}")]
#[auth(public)]
async fn cut_off(user: String, tokens: Tokens) -> Result<(), CredentialError> {
    tokens.revoke_user(&user).await.map(drop)
}

/// Counts how often it was asked.
struct Asked;

impl FromRequestParts<All> for Asked {
    type Rejection = Problem;

    async fn from_request_parts(_parts: &mut Parts, state: &All) -> Result<Self, Problem> {
        state.count_call();
        Ok(Self)
    }
}

#[post("/asked/session")]
#[auth(session)]
async fn asked_session(_asked: Asked, _body: String) {}

#[post("/asked/token")]
#[auth(token)]
async fn asked_token(_asked: Asked, _body: String) {}

#[post("/asked/either")]
#[auth(session | token)]
async fn asked_either(_asked: Asked, _body: String) {}

fn all() -> Vec<Route<All>> {
    routes![token, admin, write, revoke, cut_off, asked_session, asked_token, asked_either]
}

/// Builds the scenario whose response has a code of `failure_mapping`.
async fn failed(mode: &str, code: &str) -> TestResponse {
    let scenario = Scenario::new(all()).await;
    let get = |path: &str| scenario.client.get(path).origin(SPA);
    let with = |token: &str| get("/token").header("authorization", bearer(token));
    match (mode, code) {
        ("token", "none") => get("/token").send().await,
        ("token", "invalid_request") => {
            get("/token").header("authorization", "Bearer a b").send().await
        }
        ("token", "expired") => {
            scenario.advance(10_000);
            with(&good_token()).send().await
        }
        ("token", "bad_signature" | "unknown_key" | "bad_audience") => {
            let cases = section("token_hs256", 124);
            let case = cases.iter().find(|case| case["expect"] == code).expect("a case");
            with(case["token"].as_str().expect("a token")).send().await
        }
        ("token", "revoked") => {
            let revoked = scenario.client.post("/revoke/AAAAAAAAAAAAAAAAAAAAAA").send().await;
            assert_eq!(revoked.status(), 200);
            with(&good_token()).send().await
        }
        ("token", "insufficient_scope") => {
            get("/admin").header("authorization", bearer(&good_token())).send().await
        }
        ("token", "store_unavailable") => {
            scenario.store.fail();
            scenario.advance(60);
            with(&good_token()).send().await
        }
        ("session", "none") => get("/me").send().await,
        ("session", "unknown") => {
            let cookie = format!("__Host-sid={}", "A".repeat(43));
            get("/me").header("cookie", cookie).send().await
        }
        ("session", "expired") => {
            let ada = scenario.login("ada").await;
            scenario.advance(15 * 60);
            ada.get("/me").origin(SPA).send().await
        }
        ("session", "revoked") => {
            let ada = scenario.login("ada").await;
            assert_eq!(ada.post("/logout").send().await.status(), 200);
            ada.get("/me").origin(SPA).send().await
        }
        ("session", "csrf") => {
            let ada = scenario.login("ada").await;
            ada.bare("/set/a/1").origin(SPA).send().await
        }
        ("session", "store_unavailable") => {
            let ada = scenario.login("ada").await;
            scenario.store.fail();
            ada.get("/me").origin(SPA).send().await
        }
        other => panic!("{other:?}"),
    }
}

/// The cases of `failure_mapping`, exactly; a page of another origin can read every refusal.
#[tokio::test]
async fn every_failure_maps_to_its_response() {
    for case in section("failure_mapping", 15) {
        let (mode, code) = (case["mode"].as_str().unwrap(), case["code"].as_str().unwrap());
        let response = failed(mode, code).await;
        let expect = &case["expect"];
        assert_eq!(response.status().as_u16(), expect["status"], "{case}");
        let challenges = response.header_all("www-authenticate");
        let expected: Vec<_> = expect["www_authenticate"].as_str().into_iter().collect();
        assert_eq!(challenges, expected, "{case}");
        for (name, member) in [("content-type", "content_type"), ("cache-control", "cache_control")]
        {
            assert_eq!(response.header_all(name), [expect[member].as_str().unwrap()], "{case}");
        }
        let retry = (response.status() == 503).then_some("1");
        assert_eq!(response.header("retry-after"), retry, "{case}");
        assert_eq!(response.header("access-control-allow-origin"), Some(SPA), "{case}");
        assert_eq!(response.header("access-control-allow-credentials"), Some("true"), "{case}");
        // A response that is not stored depends on no token.
        let vary = if mode == "session" { "accept, cookie, origin" } else { "accept, origin" };
        assert_eq!(response.header_all("vary"), [vary], "{case}");
        assert!(leaves_cookie(&response), "{case}");
    }
}

#[get("/listed/{number}")]
#[cors(origins = ["https://spa.example"])]
#[auth(public)]
async fn listed(number: u64) -> String {
    number.to_string()
}

#[get("/open/{number}")]
#[cors(origins = ["*"])]
#[auth(public)]
async fn open(number: u64) -> String {
    number.to_string()
}

#[get("/closed/{number}")]
#[auth(public)]
async fn closed(number: u64) -> String {
    number.to_string()
}

/// RFC 9110 12.5.5: a problem depends on `Accept`; on the cookie, where the session was asked for; and
/// on the origin, unless all origins or none may read it.
#[tokio::test]
async fn a_problem_varies_by_what_it_depends_on_and_nothing_else() {
    let client = Scenario::new(routes![listed, open, closed]).await.client;
    for (method, path, status, vary) in [
        (Method::GET, "/listed/x", 400, "accept, origin"),
        (Method::PUT, "/listed/1", 405, "accept, origin"),
        (Method::GET, "/open/x", 400, "accept"),
        (Method::PUT, "/open/1", 405, "accept"),
        (Method::GET, "/closed/x", 400, "accept"),
        (Method::PUT, "/closed/1", 405, "accept"),
        (Method::GET, "/nowhere", 404, "accept"),
        (Method::GET, "/me", 401, "accept, cookie, origin"),
        (Method::PUT, "/me", 405, "accept, origin"),
        // A session, and no policy of CORS.
        (Method::GET, "/value/a", 401, "accept, cookie"),
        (Method::PUT, "/value/a", 405, "accept"),
    ] {
        for origin in [None, Some(SPA), Some(EVIL), Some("null")] {
            let request = client.request(method.clone(), path);
            let request = match origin {
                Some(origin) => request.origin(origin),
                None => request,
            };
            let response = request.send().await;
            let case = format!("{method} {path} {origin:?}");
            assert_eq!(response.status(), status, "{case}");
            assert_eq!(response.header_all("vary"), [vary], "{case}");
        }
    }
}

/// The cases of `token_hs256` over the whole server. The engine is tested with the same tokens and
/// verdicts; this test adds the response. A refusal reveals its reason only if the token has
/// expired, and no handler runs.
#[tokio::test]
async fn every_token_is_taken_or_refused_as_the_cases_say() {
    let (mut taken, mut refused, mut left) = (0, 0, 0);
    let mut bodies = std::collections::BTreeSet::new();
    for case in section("token_hs256", 124) {
        let config = &case["config"];
        // An app fixes the type and the date format of its own tokens.
        if config.get("typ").is_some() || config.get("numeric_dates").is_some() {
            left += 1;
            continue;
        }
        let names: Vec<&str> = match config["keys"].as_array() {
            Some(names) => names.iter().map(|name| name.as_str().unwrap()).collect(),
            None => vec!["k1", "k2"],
        };
        let store: FaultyStore = FaultyStore::default();
        let mut settings = Tokens::hs256(case_keys(&names))
            .unwrap()
            .issuer("https://auth.example")
            .audience("api")
            .store(store.clone());
        if let Some(leeway) = config["leeway"].as_u64() {
            settings = settings.leeway(Duration::from_secs(leeway));
        }
        let clock = Clock::at(START - 1);
        let scenario = Scenario::on(store, clock, all(), |app| app.tokens(settings)).await;
        for id in config["revoked_jti"].as_array().into_iter().flatten() {
            let path = format!("/revoke/{}", id.as_str().unwrap());
            assert_eq!(scenario.client.post(&path).send().await.status(), 200);
        }
        for (user, cut) in config["not_before_user"].as_object().into_iter().flatten() {
            // The cut-off is the next second.
            assert_eq!(*cut, START);
            let path = format!("/cut-off/{user}");
            assert_eq!(scenario.client.post(&path).send().await.status(), 200);
        }
        scenario.advance(1);
        let path = match config["required_scope"].as_str() {
            None => "/token",
            Some("write") => "/write",
            Some("admin") => "/admin",
            Some(other) => panic!("{other}"),
        };
        let text = case["token"].as_str().unwrap();
        let field = [b"Bearer ", text.as_bytes()].concat();
        if field.iter().any(|byte| (*byte < b' ' && *byte != b'\t') || *byte == 0x7f) {
            // A header field cannot carry such bytes.
            left += 1;
            continue;
        }
        let response = scenario.client.get(path).header("authorization", field).send().await;
        let is_token68 = {
            let front = text.trim_end_matches('=');
            let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte);
            !front.is_empty() && front.bytes().all(is_sign)
        };
        let invalid = "Bearer realm=\"api\", error=\"invalid_token\", \
                       error_description=\"The access token is invalid\"";
        let expired = "Bearer realm=\"api\", error=\"invalid_token\", \
                       error_description=\"The access token expired\"";
        let (status, challenge) = match case["expect"].as_str().unwrap() {
            "ok" => (200, None),
            "expired" => (401, Some(expired)),
            "insufficient_scope" => {
                (403, Some("Bearer realm=\"api\", error=\"insufficient_scope\", scope=\"admin\""))
            }
            _ if !is_token68 => (400, Some("Bearer realm=\"api\", error=\"invalid_request\"")),
            _ => (401, Some(invalid)),
        };
        let challenges = response.header_all("www-authenticate");
        let got = (response.status().as_u16(), challenges.first().copied());
        assert_eq!(got, (status, challenge), "{case}");
        assert_eq!(scenario.shared.calls(), usize::from(status == 200), "{case}");
        if challenge == Some(invalid) {
            let mut headers: Vec<_> =
                response.headers().iter().map(|line| format!("{line:?}")).collect();
            headers.sort();
            bodies.insert((headers, response.bytes().clone()));
        }
        if status == 200 { taken += 1 } else { refused += 1 }
    }
    assert_eq!(bodies.len(), 1, "the responses tell what is wrong: {bodies:?}");
    assert_eq!((taken, refused, left), (18, 99, 7));
}

#[tokio::test]
async fn every_authorization_field_is_read_as_the_cases_say() {
    for case in section("authorization_header", 14) {
        let scenario = Scenario::new(all()).await;
        let mut request = scenario.client.get("/token");
        for line in case["headers"].as_array().unwrap() {
            request = request.header("authorization", line.as_str().unwrap());
        }
        let response = request.send().await;
        let challenge = response.header("www-authenticate").unwrap().to_owned();
        let expected = match case["expect"][0].as_str().unwrap() {
            "none" | "other_scheme" => (401, "Bearer realm=\"api\""),
            "reject" => (400, "Bearer realm=\"api\", error=\"invalid_request\""),
            // The token is not one of this app.
            "token" => (
                401,
                "Bearer realm=\"api\", error=\"invalid_token\", \
                 error_description=\"The access token is invalid\"",
            ),
            other => panic!("{other}"),
        };
        assert_eq!((response.status().as_u16(), &*challenge), expected, "{case}");
        assert_eq!(scenario.shared.calls(), 0);
    }
}

#[tokio::test]
async fn unserved_paths_and_methods_are_not_authenticated() {
    let scenario = Scenario::new(all()).await;
    let ada = scenario.login("ada").await;
    scenario.store.fail();
    scenario.store.take_calls();
    for (method, path, status, code) in [
        (Method::GET, "/nowhere", 404, "route.not-found"),
        (Method::POST, "/nowhere", 404, "route.not-found"),
        (Method::DELETE, "/me", 405, "route.method-not-allowed"),
        (Method::POST, "/token", 405, "route.method-not-allowed"),
    ] {
        let request = scenario.client.request(method, path);
        let response = request.header("cookie", &ada.cookie).header("authorization", "Bearer x");
        let response = response.send().await;
        assert_problem(&response, status, code);
        assert!(response.header("www-authenticate").is_none() && leaves_cookie(&response));
    }
    assert!(scenario.store.take_calls().is_empty());
}

#[tokio::test]
async fn no_extractor_runs_before_the_gate() {
    let scenario = Scenario::new(all()).await;
    for path in ["/asked/session", "/asked/token", "/asked/either"] {
        let response = scenario.client.post(path).origin(OWN).body("a").send().await;
        assert_problem(&response, 401, "auth.credentials-missing");
        let response = scenario.client.post(path).header("authorization", "Bearer x").send().await;
        assert_eq!(response.status(), 401);
    }
    let ada = scenario.login("ada").await;
    assert_problem(&ada.bare("/asked/session").send().await, 403, "csrf.token");
    assert_eq!(scenario.shared.calls(), 0);
    // The scheme is asked once the CSRF check has passed.
    assert_eq!(ada.post("/asked/session").send().await.status(), 200);
    assert_eq!(scenario.shared.calls(), 1);
}

/// A refused client learns it before it sends a byte of the announced body.
#[tokio::test]
async fn no_body_is_read_before_the_gate() {
    let (app, shared) = app(&FaultyStore::default(), &Clock::at(START), all());
    let server = Running::start(app).await;
    for (path, fields, status) in [
        ("/asked/session", "origin: https://api.example", 401),
        ("/asked/token", "origin: https://api.example", 401),
        ("/asked/token", "authorization: Bearer x", 401),
        ("/asked/either", "cookie: __Host-sid=x", 401),
    ] {
        for media_type in
            ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=b"]
        {
            let fields = [fields, "content-length: 1000", &format!("content-type: {media_type}")];
            let text =
                request(&format!("POST {path}"), &fields).replace("localhost", "api.example");
            let response = server.response(text).await;
            assert_eq!(response.status, status, "{path} {media_type} {response:?}");
        }
    }
    assert_eq!(shared.calls(), 0);
}

/// A form that another site makes a browser send is refused before its body is complete.
#[tokio::test]
async fn the_form_of_another_site_is_not_read() {
    let (app, shared) = app(&FaultyStore::default(), &Clock::at(START), all());
    let server = Running::start(app).await;
    let own = ["origin: https://api.example", "content-length: 0"];
    let own = request("POST /login/ada", &own).replace("localhost", "api.example");
    let response = server.response(own).await;
    let cookie = response.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let form = [
        "origin: https://evil.example",
        &format!("cookie: {cookie}"),
        "content-length: 1000",
        "content-type: application/x-www-form-urlencoded",
    ];
    let form = request("POST /asked/session", &form).replace("localhost", "api.example");
    let response = server.response(form).await;
    assert_eq!(response.problem(), (403, "csrf.origin".to_owned()));
    assert_eq!(shared.calls(), 0);
}
