//! Requests that pages of other sites cannot forge.

use policy_server::{Body, CsrfPolicy, http::Method};
use policy_tests::handlers::ticket;
use serde::Deserialize;

use super::*;

const APP: &str = "https://app.example";

/// Declares a route with these attributes for every method that the cases use.
macro_rules! routes_of_cases {
    ($($name:ident $method:literal $path:literal $(#[$attribute:meta])*;)*) => {
        $(
            #[route($method, $path)]
            $(#[$attribute])*
            async fn $name(State(shared): State<All>) {
                shared.count_call();
            }
        )*

        fn routes_of_cases() -> Vec<Route<All>> {
            routes![$($name),*]
        }
    };
}

routes_of_cases! {
    plain_get "GET" "/plain" #[cors(PARTNER)] #[auth(session)];
    plain_post "POST" "/plain" #[cors(PARTNER)] #[auth(session)];
    plain_propfind "PROPFIND" "/plain" #[cors(PARTNER)] #[auth(session)];
    plain_lower_case "post" "/plain" #[cors(PARTNER)] #[auth(session)];
    origin_post "POST" "/origin" #[cors(PARTNER)] #[auth(session)] #[csrf(origin)];
    shared_post "POST" "/shared" #[cors(SHARED)] #[auth(session)];
    bearer_post "POST" "/bearer" #[cors(PARTNER)] #[auth(session | token)];
}

/// The partner that may do everything; `csrf_config` lists it for the app.
const PARTNER: CorsPolicy = CorsPolicy::origins(&["https://admin.example"]).credentials().build();
const SHARED: CorsPolicy =
    CorsPolicy::origins(&["https://admin.example", "https://spa.example"]).credentials().build();

#[post("/begin")]
#[cors(PARTNER)]
#[auth(public)]
async fn begin(sessions: Sessions, State(shared): State<All>) -> Result<(), Problem> {
    shared.count_call();
    Ok(sessions.login("mallory").await?)
}

/// The cases of `csrf` over the whole server.
#[tokio::test]
async fn every_request_is_let_through_or_refused_as_the_cases_say() {
    let (mut passed, mut refused) = (0, 0);
    for case in section("csrf", 35) {
        let input = &case["request"];
        // There is no policy that checks the token alone.
        if input["policy"] == "token" {
            continue;
        }
        let scenario =
            Scenario::with(routes_of_cases(), |app| app.public_origin(APP).routes(routes![begin]))
                .await;
        let login = scenario.client.post("/login/ada").header("host", "app.example").origin(APP);
        let cookie = cookie_of(&login.send().await);
        let token = scenario.client.get("/csrf").header("host", "app.example");
        let token = token.header("cookie", &cookie).send().await.json::<Value>()["token"].clone();

        let is_bearer = input["cookie_auth"] == false && input["establishes_session"] != true;
        let path = match input {
            _ if input["establishes_session"] == true => "/begin",
            _ if is_bearer => "/bearer",
            _ if input["policy"] == "origin" => "/origin",
            _ if input["route_cors_credentials"] == true => "/shared",
            _ => "/plain",
        };
        let method: Method = input["method"].as_str().unwrap().parse().unwrap();
        // No route serves TRACE, and OPTIONS is answered without a handler.
        if method == Method::TRACE {
            assert_eq!(scenario.client.request(method, path).send().await.status(), 421);
            continue;
        }
        let mut request = scenario.client.request(method, path);
        for (name, value) in input["headers"].as_object().unwrap() {
            request = request.header(name, value.as_str().unwrap());
        }
        if input["headers"].get("host").is_none() {
            request = request.header("host", "app.example");
        }
        if input["cookie_auth"] == true {
            request = request.header("cookie", &cookie);
        }
        if is_bearer {
            request = request.header("authorization", bearer(&good_token()));
        }
        if input["csrf_token"] == "valid" {
            request = request.header("x-csrf-token", token.as_str().unwrap());
        }
        let response = request.send().await;
        let is_upgrade = input["headers"].get("upgrade").is_some();
        let code = match case["expect"].as_str().unwrap() {
            "allow" => None,
            // A wrong host is refused before the origin is checked.
            "deny:origin" if input["headers"].get("host").is_some() => Some((421, "origin.host")),
            // An upgrade is refused by its origin before authentication.
            "deny:origin" if is_upgrade && input["headers"].get("origin").is_some() => {
                Some((403, "cors.websocket-origin"))
            }
            "deny:origin" => Some((403, "csrf.origin")),
            "deny:token" => Some((403, "csrf.token")),
            other => panic!("{other}"),
        };
        match code {
            None => {
                assert!(response.status().is_success(), "{case} {response:?}");
                passed += 1;
            }
            Some((status, code)) => {
                let (got, problem) = problem(&response);
                assert!(got == status && problem.starts_with(code), "{case} {response:?}");
                let no_store = (status == 403).then_some("no-store");
                assert_eq!(response.header("cache-control"), no_store, "{case}");
                assert!(leaves_cookie(&response));
                refused += 1;
            }
        }
        let is_answered_by_handler = code.is_none() && input["method"] != "OPTIONS";
        assert_eq!(scenario.shared.calls(), usize::from(is_answered_by_handler), "{case}");
    }
    assert_eq!((passed, refused), (10, 23));
}

#[post("/change")]
#[auth(session)]
async fn change(State(shared): State<All>, body: String) -> String {
    shared.count_call();
    body
}

/// Only the argument shows that the handler uses a session.
#[post("/public/session")]
#[auth(public)]
async fn public_session(session: Session, State(shared): State<All>) -> Result<(), Problem> {
    shared.count_call();
    Ok(session.set("a", 1)?)
}

#[post("/public/sessions")]
#[auth(public)]
async fn public_sessions(
    sessions: Sessions,
    State(shared): State<All>,
    body: String,
) -> Result<String, Problem> {
    shared.count_call();
    sessions.revoke_user("ada").await?;
    Ok(body)
}

#[post("/by-token")]
#[auth(token)]
async fn by_token(session: Session, State(shared): State<All>) -> &'static str {
    shared.count_call();
    if session.identity().is_some() { "somebody" } else { "nobody" }
}

#[get("/by-ticket")]
#[cors(origins = ["*"])]
#[auth(ticket)]
async fn by_ticket(session: Session) -> &'static str {
    if session.identity().is_some() { "somebody" } else { "nobody" }
}

#[post("/callback")]
#[auth(public)]
#[csrf(exempt = "state checked")]
async fn callback(sessions: Sessions, Form(back): Form<Back>) -> Result<(), Problem> {
    if back.state != "expected" {
        return Err(Problem::bad_request());
    }
    Ok(sessions.login("ada").await?)
}

#[derive(Deserialize)]
struct Back {
    state: String,
}

#[get("/socket")]
#[auth(public)]
async fn socket(_session: Session, State(shared): State<All>) {
    shared.count_call();
}

fn all() -> Vec<Route<All>> {
    routes![change, public_session, public_sessions, by_token, ticket, by_ticket, callback, socket]
}

fn multipart(parts: &[(&str, &str)]) -> String {
    let mut text = "a preamble\r\n".to_owned();
    for (head, content) in parts {
        text += &format!("--b0und\r\n{head}\r\n\r\n{content}\r\n");
    }
    text + "--b0und--\r\n"
}

const MULTIPART: &str = "multipart/form-data; boundary=b0und";
const URLENCODED: &str = "application/x-www-form-urlencoded";

#[tokio::test]
async fn the_token_comes_in_a_header_or_form_and_the_form_stays_complete() {
    let scenario = Scenario::new(all()).await;
    let ada = scenario.login("ada").await;
    let eve = scenario.login("eve").await;
    let field = |name: &str| format!("content-disposition: form-data; name=\"{name}\"");
    let good = &*ada.csrf;
    let pad = |length: usize| "x".repeat(length);
    let reach = 64 * 1024;
    let len = "csrf_token=".len() + good.len();
    for (media_type, body, passes) in [
        (URLENCODED, format!("csrf_token={good}"), true),
        (URLENCODED, format!("a=1&csrf_token={good}&b=2"), true),
        // Names and values are percent-decoded as in every form.
        (URLENCODED, format!("csrf%5ftoken=%{:02x}{}", good.as_bytes()[0], &good[1..]), true),
        ("Application/X-WWW-Form-UrlEncoded; charset=utf-8", format!("csrf_token={good}"), true),
        (URLENCODED, format!("a={}&csrf_token={good}", pad(reach - len - 3)), true),
        (URLENCODED, format!("a={}&csrf_token={good}", pad(reach - len - 2)), false),
        (URLENCODED, format!("a={}&csrf_token={good}", pad(2 * reach)), false),
        (URLENCODED, format!("csrf_token={good}&a={}", pad(2 * reach)), true),
        (URLENCODED, format!("csrf_token={}", eve.csrf), false),
        // The first field counts: an attacker may have added another one.
        (URLENCODED, format!("csrf_token=x&csrf_token={good}"), false),
        (URLENCODED, format!("x_csrf_token={good}"), false),
        (URLENCODED, String::new(), false),
        ("text/plain", format!("csrf_token={good}"), false),
        ("application/json", format!("{{\"csrf_token\":\"{good}\"}}"), false),
        (MULTIPART, multipart(&[(&field("csrf_token"), good)]), true),
        (MULTIPART, multipart(&[(&field("a"), "1"), (&field("csrf_token"), good)]), true),
        (
            "multipart/form-data; charset=utf-8; boundary=\"b0und\"",
            multipart(&[(&field("csrf_token"), good)]),
            true,
        ),
        (MULTIPART, multipart(&[(&field("a"), &pad(reach)), (&field("csrf_token"), good)]), false),
        // A part that contains text like a field is not that field.
        (
            MULTIPART,
            multipart(&[(&field("a"), &format!("{}\r\n\r\n{good}", field("csrf_token")))]),
            false,
        ),
        (MULTIPART, multipart(&[(&field("csrf_token2"), good)]), false),
        (MULTIPART, multipart(&[(&field("csrf_token"), &eve.csrf)]), false),
        (
            MULTIPART,
            multipart(&[("content-disposition: attachment; name=\"csrf_token\"", good)]),
            false,
        ),
        (MULTIPART, "--b0und\r\n\r\n".to_owned(), false),
        ("multipart/form-data; boundary=c", multipart(&[(&field("csrf_token"), good)]), false),
        ("multipart/form-data", multipart(&[(&field("csrf_token"), good)]), false),
        ("multipart/form-data; boundary=", multipart(&[(&field("csrf_token"), good)]), false),
    ] {
        let start = &body[..body.len().min(120)];
        let before = scenario.shared.calls();
        let request = ada.bare("/change").origin(OWN).header("content-type", media_type);
        let response = request.body(body.clone()).send().await;
        if passes {
            assert_eq!(response.text(), body, "{media_type} {start}");
        } else {
            assert_eq!(problem(&response).1, "csrf.token", "{media_type} {start}");
        }
        assert_eq!(scenario.shared.calls() - before, usize::from(passes), "{media_type} {start}");
    }
}

#[tokio::test]
async fn the_header_precedes_the_form_and_the_query_is_ignored() {
    let scenario = Scenario::new(all()).await;
    let ada = scenario.login("ada").await;
    let own = |path: &str| ada.bare(path).origin(OWN);
    let form = [("csrf_token", &*ada.csrf)];
    let refused = async |request: TestRequest| {
        assert_problem(&request.send().await, 403, "csrf.token");
    };
    refused(own("/change").header("x-csrf-token", "x").form(&form)).await;
    refused(own("/change").header("x-csrf-token", "").form(&form)).await;
    refused(own("/change").header("x-csrf-token", &ada.csrf).header("x-csrf-token", &ada.csrf))
        .await;
    refused(own(&format!("/change?csrf_token={}", ada.csrf))).await;
    refused(own("/change").header("cookie", format!("__Host-csrf={}", ada.csrf))).await;
    refused(own("/change").header("x-csrf-token", ada.csrf.to_lowercase())).await;
    refused(own("/change").header("x-csrf-token", &ada.csrf[..63])).await;
    refused(own("/change").header("x-csrf-token", format!(" {}=", ada.csrf))).await;
    assert_eq!(scenario.shared.calls(), 0);
    let wrong = [("csrf_token", "x")];
    let response = own("/change").header("x-csrf-token", &ada.csrf).form(&wrong).send().await;
    assert_eq!(response.status(), 200);
}

/// A body that arrives one byte at a time.
#[tokio::test]
async fn a_form_that_comes_byte_by_byte_is_read_too() {
    let scenario = Scenario::new(all()).await;
    let ada = scenario.login("ada").await;
    let body = format!("a=1&csrf_token={}&b=2", ada.csrf);
    let pieces: Vec<_> = body
        .bytes()
        .map(|byte| Ok::<_, std::convert::Infallible>(bytes::Bytes::from(vec![byte])))
        .collect();
    let stream = Body::from_stream(futures_util::stream::iter(pieces));
    let request = ada.bare("/change").origin(OWN).header("content-type", URLENCODED);
    assert_eq!(request.body(stream).send().await.text(), body);
}

#[tokio::test]
async fn no_attribute_can_be_forgotten_where_a_session_is_touched() {
    let scenario = Scenario::new(all()).await;
    let ada = scenario.login("ada").await;
    for path in ["/public/session", "/public/sessions"] {
        // Without a session, only the origin is checked.
        let anonymous = || scenario.client.post(path);
        assert_problem(&anonymous().origin(EVIL).send().await, 403, "csrf.origin");
        assert_problem(&anonymous().send().await, 403, "csrf.origin");
        // With a session, the token is required too.
        assert_problem(&ada.bare(path).origin(OWN).send().await, 403, "csrf.token");
        assert_problem(&ada.bare(path).send().await, 403, "csrf.token");
        assert_problem(&ada.post(path).origin(OWN).send().await, 403, "csrf.origin");
        let foreign = ada.bare(path).origin(EVIL).header("x-csrf-token", &ada.csrf).send().await;
        assert_problem(&foreign, 403, "csrf.origin");
    }
    assert_eq!(scenario.shared.calls(), 0);
    assert_eq!(ada.who().await.as_deref(), Some("ada"));
    assert_eq!(ada.post("/public/session").send().await.status(), 200);
    let form = [("csrf_token", &*ada.csrf), ("a", "b")];
    let response = ada.bare("/public/sessions").origin(OWN).form(&form).send().await;
    assert_eq!(response.text(), format!("csrf_token={}&a=b", ada.csrf));
    assert_eq!(ada.who().await, None);
}

/// A bearer token by itself needs no CSRF check: no page can make a browser send it, and the
/// session cookie that the browser adds is ignored here.
#[tokio::test]
async fn a_route_of_tokens_does_not_lend_the_session_that_comes_along() {
    let scenario = Scenario::new(all()).await;
    let ada = scenario.login("ada").await;
    let with = |request: TestRequest| request.header("authorization", bearer(&good_token()));
    for request in
        [ada.bare("/by-token"), ada.bare("/by-token").origin(EVIL), ada.post("/by-token")]
    {
        assert_eq!(with(request).send().await.text(), "nobody");
    }
    assert_eq!(scenario.shared.calls(), 3);
    assert_eq!(ada.who().await.as_deref(), Some("ada"));
}

/// A foreign page can put a ticket of its own into the address of a WebSocket. Gate 4 lets any page
/// open one on this route.
#[tokio::test]
async fn a_ticket_of_another_user_does_not_use_the_session_cookie() {
    let scenario = Scenario::new(all()).await;
    let ada = scenario.login("ada").await;
    let make = scenario.client.post("/ticket").header("authorization", bearer(&good_token()));
    let path = format!("/by-ticket?ticket={}", make.send().await.text());
    let calls = scenario.shared.calls();
    let open = |request: TestRequest| {
        request.header("upgrade", "websocket").header("connection", "Upgrade")
    };
    for request in [
        open(ada.get(&path)).origin(EVIL),
        open(ada.get(&path)).origin("null"),
        open(ada.get(&path)).header("sec-fetch-site", "cross-site"),
        open(scenario.client.get(&path)).origin(EVIL),
    ] {
        assert_problem(&request.send().await, 403, "csrf.origin");
    }
    assert_eq!(scenario.shared.calls(), calls);
    // A program names no page. The cookie beside its ticket is ignored.
    assert_eq!(open(ada.get(&path)).send().await.text(), "nobody");
}

/// OAuth 2.0 Form Post Response Mode: a page of the provider posts a form to this app.
#[tokio::test]
async fn an_exempt_route_is_reached_from_everywhere() {
    let scenario = Scenario::new(all()).await;
    let callback = |state: &str| {
        let request = scenario.client.post("/callback").origin(EVIL);
        request.header("sec-fetch-site", "cross-site").form(&[("state", state)])
    };
    assert_eq!(callback("other").send().await.status(), 400);
    assert!(set_cookie(&callback("other").send().await).is_none());
    let ada = scenario.login("ada").await;
    for request in [callback("expected"), callback("expected").header("cookie", &ada.cookie)] {
        assert!(set_cookie(&request.send().await).is_some());
    }
}

/// RFC 6455 10.2.
#[tokio::test]
async fn a_websocket_does_not_use_the_session_of_another_page() {
    let scenario = Scenario::new(all()).await;
    let ada = scenario.login("ada").await;
    let open = || {
        let request = ada.get("/socket").header("upgrade", "websocket");
        request.header("connection", "Upgrade")
    };
    for (request, code) in [
        (open().origin(EVIL), "cors.websocket-origin-not-granted"),
        (open().origin("null"), "cors.websocket-origin-not-granted"),
        (open().origin(OWN).header("sec-fetch-site", "cross-site"), "csrf.origin"),
        (open(), "csrf.origin"),
        (open().header("x-csrf-token", &ada.csrf), "csrf.origin"),
        (open().header("sec-fetch-site", "same-site"), "csrf.origin"),
    ] {
        assert_problem(&request.send().await, 403, code);
    }
    assert_eq!(scenario.shared.calls(), 0);
    assert_eq!(open().origin(OWN).send().await.status(), 200);
}

/// A QUERY changes nothing (RFC 10008 2), so it needs what a GET needs.
#[tokio::test]
async fn a_query_needs_no_token() {
    #[query("/found")]
    #[auth(session)]
    async fn find(me: Principal) -> String {
        me.subject().to_owned()
    }

    let scenario = Scenario::new(routes![find]).await;
    let ada = scenario.login("ada").await;
    let request = scenario.client.query("/found").header("cookie", &ada.cookie).json("everything");
    let response = request.send().await;
    assert_eq!((response.status().as_u16(), &*response.text()), (200, "ada"));
    let anybody = scenario.client.query("/found").json("everything").send().await;
    assert_problem(&anybody, 401, "auth.credentials-missing");
}

/// A route without `#[csrf]` has the protection of its group, or else of its app; a route with one
/// has its own. The response to a request that states no page says what to send.
#[tokio::test]
async fn apps_and_groups_set_the_protection_of_handlers_without_one() {
    #[post("/quiet")]
    #[auth(session)]
    async fn quiet(State(shared): State<All>, body: String) -> String {
        shared.count_call();
        body
    }

    #[post("/strict")]
    #[auth(session)]
    #[csrf(token)]
    async fn strict(State(shared): State<All>) {
        shared.count_call();
    }

    let routes = || routes![quiet, strict];
    let scenario = Scenario::with(vec![], |app| {
        app.csrf(CsrfPolicy::OriginElseToken)
            .routes(routes())
            .group("/forms", Group::new().csrf(CsrfPolicy::Origin).routes(routes()))
    })
    .await;
    let ada = scenario.login("ada").await;
    let (page, token) = ("csrf.origin", "csrf.token");
    // Requests from a page of ours, from one of others, and from a program, with the token and
    // without.
    for (path, ours, others, program) in [
        ("/quiet", ["", ""], [page, page], ["", token]),
        ("/strict", ["", token], [page, page], ["", token]),
        ("/forms/quiet", ["", ""], [page, page], [page, page]),
        ("/forms/strict", ["", token], [page, page], ["", token]),
    ] {
        for (origin, expected) in [(Some(OWN), ours), (Some(EVIL), others), (None, program)] {
            for (has_token, code) in [true, false].into_iter().zip(expected) {
                let mut request = ada.bare(path);
                if let Some(origin) = origin {
                    request = request.origin(origin);
                }
                if has_token {
                    request = request.header("x-csrf-token", &ada.csrf);
                }
                let response = request.send().await;
                let case = format!("{path} {origin:?} {has_token}");
                if code.is_empty() {
                    assert_eq!(response.status(), 200, "{case}");
                    continue;
                }
                assert_eq!(problem(&response), (403, code.to_owned()), "{case}");
                assert_eq!(response.header("cache-control"), Some("no-store"), "{case}");
                let detail = response.json::<Value>()["detail"].as_str().map(str::to_owned);
                let says = |text: &str| detail.as_deref().is_some_and(|it| it.contains(text));
                let may_state_page = origin.is_none() && !path.ends_with("strict");
                assert_eq!(says("send `Origin`"), may_state_page, "{case}: {detail:?}");
                assert_eq!(says("X-CSRF-Token"), code == token, "{case}: {detail:?}");
            }
        }
    }
    let form = [("csrf_token", &*ada.csrf), ("a", "b")];
    let response = ada.bare("/quiet").form(&form).send().await;
    assert_eq!(response.text(), format!("csrf_token={}&a=b", ada.csrf));
}

/// Without a session there is no token, so that a program has to state the origin.
#[tokio::test]
async fn a_login_without_a_page_needs_an_origin() {
    for policy in [CsrfPolicy::Token, CsrfPolicy::OriginElseToken, CsrfPolicy::Origin] {
        let scenario = Scenario::with(vec![], |app| app.csrf(policy)).await;
        let login = || scenario.client.post("/login/ada");
        let response = login().send().await;
        assert_problem(&response, 403, "csrf.origin");
        assert_eq!(response.header("cache-control"), Some("no-store"));
        let body: Value = response.json();
        assert!(body["detail"].as_str().is_some_and(|text| text.contains("send `Origin`")));
        assert_problem(&login().origin(EVIL).send().await, 403, "csrf.origin");
        assert_eq!(login().origin(OWN).send().await.status(), 200);
    }
}

/// A repeated `Origin`, even with equal values, states no page. The token of the session does not
/// help.
#[tokio::test]
async fn two_origins_are_none() {
    for policy in [CsrfPolicy::Token, CsrfPolicy::OriginElseToken, CsrfPolicy::Origin] {
        let scenario = Scenario::with(vec![], |app| app.csrf(policy)).await;
        let ada = scenario.login("ada").await;
        for lines in [[OWN, OWN], [OWN, EVIL], [EVIL, OWN]] {
            let request = ada.bare("/set/a/1").header("x-csrf-token", &ada.csrf);
            let response = request.origin(lines[0]).origin(lines[1]).send().await;
            assert_problem(&response, 403, "csrf.origin");
            assert_eq!(ada.value("a").await, Value::Null, "{lines:?}");
        }
        assert_eq!(ada.post("/set/a/1").send().await.status(), 200);
        assert_eq!(ada.value("a").await, 1);
    }
}
