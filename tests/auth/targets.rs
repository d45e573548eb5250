//! Mounts, proxies and the fallback accept the same callers as a handler with the same attribute,
//! through the same gates.

use policy_server::{
    CredentialError, CsrfPolicy, PolicyLayer, Request, ReverseProxy, extract::PeerAddr,
    http::Method,
};
use policy_tests::{caller_scheme::CallerScheme, handlers::ticket};
use tower::Layer as _;

use super::*;

#[post("/enter/{user}/{role}")]
#[auth(public)]
async fn enter(user: String, role: String, sessions: Sessions) -> Result<(), Problem> {
    Ok(sessions.login(Identity::new(user).roles([role])).await?)
}

/// Each requirement as an attribute and as a value.
macro_rules! requirements {
    ($($name:ident: #[$attribute:meta] = $value:expr;)*) => {
        $(
            #[get("/handler")]
            #[post("/handler")]
            #[$attribute]
            async fn $name() -> &'static str {
                "in"
            }
        )*

        fn requirements() -> Vec<(&'static str, Route<All>, Option<AuthRequirement>)> {
            vec![$({
                let [route] = <[_; 1]>::try_from(Vec::from_iter(routes![$name])).ok().expect("one");
                (stringify!($name), route, $value)
            }),*]
        }
    };
}

requirements! {
    everybody: #[auth(public)] = None;
    session: #[auth(session)] = Some(AuthRequirement::session());
    token: #[auth(token)] = Some(AuthRequirement::token());
    either: #[auth(session | token)] = Some(AuthRequirement::session().or_token());
    guests: #[auth(session | token, optional)] =
        Some(AuthRequirement::token().or_session().optional());
    hr: #[auth(session, roles = ["hr", "it"])] =
        Some(AuthRequirement::session().roles(&["hr", "it"]));
    writers: #[auth(token, scopes = ["write"])] =
        Some(AuthRequirement::token().scopes(&["write"]));
    payers: #[auth(token, scopes = ["pay"])] = Some(AuthRequirement::token().scopes(&["pay"]));
    recent: #[auth(session, fresh = "30s")] =
        Some(AuthRequirement::session().fresh(Duration::from_secs(30)));
    keys: #[auth(scheme = CallerScheme)] = Some(AuthRequirement::scheme::<CallerScheme>());
}

/// A handler whose callers are those of its group.
#[get("/inherits")]
#[post("/inherits")]
#[auth(group)]
async fn inherits() -> &'static str {
    "in"
}

fn answer() -> Mount {
    let service = tower::service_fn(async |_request: Request| {
        Ok::<_, std::convert::Infallible>("in".into_response())
    });
    Mount::new(service).methods([Method::GET, Method::POST])
}

/// Nothing listens there: a request that passes the gates gets 502.
fn upstream(prefix: &str) -> ReverseProxy {
    ReverseProxy::new(prefix, "http://127.0.0.1:9")
}

fn page() -> Fallback {
    Fallback::handler(async |_| "in")
}

/// An app with every kind of target for one requirement: stated at the target, and inherited.
async fn targets(route: Route<All>, requirement: Option<AuthRequirement>) -> Scenario {
    macro_rules! stated {
        ($target:expr) => {
            match requirement {
                Some(requirement) => $target.auth(requirement),
                None => $target.public(),
            }
        };
    }
    Scenario::with(vec![route], |app| {
        app.scheme(CallerScheme)
            .routes(routes![enter])
            .mount("/mount", stated!(answer()))
            .proxy(stated!(upstream("/proxy")))
            .fallback(stated!(page()))
            .group(
                "/group",
                stated!(
                    Group::new()
                        .mount("/mount", answer())
                        .proxy(upstream("/proxy"))
                        .routes(routes![inherits])
                ),
            )
    })
    .await
}

/// The targets of such an app beside the handler.
const TARGETS: [&str; 6] =
    ["/mount/x", "/group/mount/x", "/proxy/x", "/group/proxy/x", "/nothing/x", INHERITS];

/// The target that is a handler.
const INHERITS: &str = "/group/inherits";

/// One kind of request.
#[derive(Clone, Copy, Debug)]
struct Kind<'a> {
    method: &'static str,
    credential: &'a [(&'static str, String)],
    has_csrf_token: bool,
    origin: Option<&'static str>,
    site: Option<&'static str>,
}

impl Kind<'_> {
    async fn send(&self, client: &TestClient, path: &str, csrf: &str) -> TestResponse {
        let method = Method::from_bytes(self.method.as_bytes()).expect("a method");
        let mut request = client.request(method, path).header("sec-fetch-mode", "navigate");
        for (name, value) in self.credential {
            request = request.header(*name, value);
        }
        if self.has_csrf_token {
            request = request.header("x-csrf-token", csrf);
        }
        if let Some(origin) = self.origin {
            request = request.origin(origin);
        }
        if let Some(site) = self.site {
            request = request.header("sec-fetch-site", site);
        }
        request.send().await
    }

    /// Whether an anonymous request may reach a target that may use cookies unknown to this app.
    fn is_harmless(&self) -> bool {
        let has_cookie = self.credential.iter().any(|(name, _)| *name == "cookie");
        match (self.method, self.origin, self.site) {
            ("GET", ..) => true,
            (_, None, None) => !has_cookie,
            (_, Some(OWN), site) => site != Some("cross-site"),
            (_, None | Some("null"), site) => site == Some("same-origin"),
            _ => false,
        }
    }
}

/// What the gates decided, as the response shows it.
fn decided(answer: &TestResponse) -> Vec<String> {
    let status = answer.status().as_u16();
    let code = match status {
        200 | 502 => String::new(),
        _ => problem(answer).1,
    };
    // An admitted request gets 502, as a problem, from an upstream that is down.
    let is_in = matches!(status, 200 | 502);
    let mut decided = vec![if is_in { "in".to_owned() } else { status.to_string() }, code];
    let headers = ["www-authenticate", "location", "set-cookie", "access-control-allow-origin"];
    decided.extend(headers.map(|name| format!("{name}: {:?}", answer.header_all(name))));
    if status != 502 {
        decided.push(format!("{:?}", answer.header_all("cache-control")));
    }
    decided
}

/// For every requirement and every kind of request, each target decides as the handler does; an
/// anonymous request that the handler would admit is refused if another page may have sent it.
#[tokio::test]
async fn targets_decide_as_a_handler_with_the_same_attribute() {
    let (mut let_in, mut refused, mut forged) = (0, 0, 0);
    for (name, route, requirement) in requirements() {
        let scenario = targets(route, requirement).await;
        let client = &scenario.client;
        let enter = async |path: &str| cookie_of(&client.post(path).origin(OWN).send().await);
        let old = enter("/enter/old/hr").await;
        scenario.advance(60);
        let (hr, staff) = (enter("/enter/ada/hr").await, enter("/enter/bob/sales").await);
        let visitor = Visitor { client: client.clone(), cookie: hr.clone(), csrf: String::new() };
        let csrf = visitor.token().await;
        let dead = format!("__Host-sid={}", "A".repeat(43));
        let credentials = [
            vec![],
            vec![("cookie", hr.clone())],
            vec![("cookie", staff)],
            vec![("cookie", old)],
            vec![("cookie", dead)],
            vec![("cookie", "theme=dark".to_owned())],
            vec![("authorization", bearer(&good_token()))],
            vec![("authorization", bearer(&good_token())), ("cookie", hr)],
            vec![("authorization", bearer("nonsense"))],
            vec![("authorization", "Bearer".to_owned())],
            vec![("x-caller", "partner".to_owned())],
            vec![("x-caller", "partner;bad".to_owned())],
        ];
        for credential in &credentials {
            for method in ["GET", "POST"] {
                for (has_csrf_token, origin, site) in [
                    (false, None, None),
                    (true, None, None),
                    (true, Some(OWN), None),
                    (true, Some(OWN), Some("same-origin")),
                    (false, Some(OWN), Some("same-origin")),
                    (true, Some(OWN), Some("cross-site")),
                    (true, Some(EVIL), Some("cross-site")),
                    (false, Some(EVIL), None),
                    (true, Some("null"), Some("same-origin")),
                    (true, Some("null"), None),
                    (true, None, Some("cross-site")),
                ] {
                    let kind = Kind { method, credential, has_csrf_token, origin, site };
                    let handler = kind.send(client, "/handler", &csrf).await;
                    let is_anonymous = handler.status() == 200
                        && (name == "everybody"
                            || (name == "guests"
                                && !credential.iter().any(|(name, value)| {
                                    *name == "authorization"
                                        || (value.starts_with("__Host-sid")
                                            && !value.contains("AAAAAAAA"))
                                })));
                    for path in TARGETS {
                        let target = kind.send(client, path, &csrf).await;
                        if is_anonymous && !kind.is_harmless() && path != INHERITS {
                            forged += 1;
                            assert_problem(&target, 403, "csrf.origin");
                            continue;
                        }
                        match handler.status().as_u16() {
                            200 => let_in += 1,
                            _ => refused += 1,
                        }
                        let (target, handler) = (decided(&target), decided(&handler));
                        assert!(
                            target.starts_with(&handler[..6]),
                            "{name} {path} {kind:?}: {target:?} {handler:?}"
                        );
                    }
                }
            }
        }
    }
    assert!(let_in > 1_000 && refused > 1_000 && forged > 500, "{let_in} {refused} {forged}");
}

#[tokio::test]
async fn a_ticket_counts_with_get_only() {
    #[get("/handler")]
    #[auth(ticket)]
    async fn handler() -> &'static str {
        "in"
    }

    let requirement = AuthRequirement::ticket();
    let scenario = Scenario::with(routes![handler, ticket], |app| {
        app.mount("/mount", answer().methods([Method::GET, Method::HEAD, Method::POST]))
            .proxy(upstream("/proxy"))
            .fallback(page())
            .auth(requirement)
    })
    .await;
    let client = &scenario.client;
    for path in ["/handler", "/mount", "/proxy", "/nothing"] {
        let make = client.post("/ticket").header("authorization", bearer(&good_token()));
        let target = format!("{path}?ticket={}", make.send().await.text());
        for method in [Method::POST, Method::HEAD] {
            let response = client.request(method.clone(), &target).send().await;
            assert!(
                matches!(response.status().as_u16(), 401 | 405),
                "{method} {path} {response:?}"
            );
        }
        // The ticket is not used up.
        let response = client.get(&target).send().await;
        assert!(matches!(response.status().as_u16(), 200 | 502), "{path} {response:?}");
    }
}

#[tokio::test]
async fn csrf_of_a_target_can_be_waived_for_a_reason_and_follows_cors() {
    const SHARED: CorsPolicy = CorsPolicy::origins(&[SPA]).build();
    let exempt = CsrfPolicy::Exempt("every request is signed");
    let scenario = Scenario::with(vec![], |app| {
        app.public()
            .mount("/exempt", answer().csrf(exempt))
            .mount("/shared", answer().policies(Policies::new().cors(SHARED)))
            .mount("/own-forms", answer().auth(AuthRequirement::session()).csrf(CsrfPolicy::Origin))
            .group("/signed", Group::new().csrf(exempt).mount("/hooks", answer()))
    })
    .await;
    let ada = scenario.login("ada").await;
    for (path, origin, cookie, status) in [
        ("/exempt", EVIL, "own=1", 200),
        ("/signed/hooks", EVIL, "own=1", 200),
        ("/shared", SPA, "", 200),
        // CORS without credentials grants no cookies.
        ("/shared", SPA, "own=1", 403),
        ("/shared", EVIL, "", 403),
        ("/own-forms", OWN, &ada.cookie, 200),
        ("/own-forms", EVIL, &ada.cookie, 403),
    ] {
        let mut request = scenario.client.post(path).origin(origin);
        if !cookie.is_empty() {
            request = request.header("cookie", cookie);
        }
        assert_eq!(request.send().await.status(), status, "{path} {origin} {cookie}");
    }
    // Browsers repeat what their user typed for HTTP authentication, and send no bearer token.
    for (credential, status) in
        [("Basic YTpi", 403), ("Digest a=b", 403), ("Negotiate YII=", 403), ("bearer abc", 200)]
    {
        let request = scenario.client.post("/shared").origin(SPA);
        let response = request.header("authorization", credential).send().await;
        assert_eq!(response.status(), status, "{credential}");
    }
}

#[tokio::test]
async fn preflights_of_targets_are_answered_before_auth() {
    const SHARED: CorsPolicy = CorsPolicy::origins(&[SPA]).credentials().build();
    let requirement = AuthRequirement::session().or_token();
    let scenario = Scenario::with(vec![], |app| {
        app.mount("/mount", answer().auth(requirement).policies(Policies::new().cors(SHARED)))
    })
    .await;
    let preflight = scenario.client.options("/mount/x").origin(SPA);
    let answer = preflight.header("access-control-request-method", "POST").send().await;
    assert_eq!(answer.status(), 204);
    assert_eq!(
        answer.header("access-control-allow-headers"),
        Some("authorization,content-type,x-csrf-token")
    );
}

#[tokio::test]
async fn handlers_in_a_public_group_keep_their_own_callers() {
    let scenario = Scenario::with(vec![], |app| {
        app.public().group("/open", Group::new().public().routes(routes![session]))
    })
    .await;
    let answer = scenario.client.get("/open/handler").send().await;
    assert_problem(&answer, 401, "auth.credentials-missing");
}

#[tokio::test]
async fn extractors_work_in_a_mounted_router() {
    use axum::routing::{get, post};

    let router = axum::Router::new()
        .route("/app/who", get(async |me: Principal| me.subject().to_owned()))
        .route(
            "/app/login/{user}",
            post(
                async |axum::extract::Path(user): axum::extract::Path<String>,
                       sessions: Sessions| { sessions.login(user.as_str()).await },
            ),
        )
        .route(
            "/app/name",
            get(async |session: Session| {
                session.identity().map(|who| who.subject.to_string()).unwrap_or_default()
            }),
        )
        .route("/app/csrf", get(async |token: CsrfToken| token))
        .route(
            "/app/client",
            get(async |ClientAddr(client): ClientAddr, PeerAddr(peer): PeerAddr| {
                format!("{client} {peer}")
            }),
        );
    let mount = |router| Mount::new(router).methods([Method::GET, Method::POST]);
    let guarded = router.clone();
    let scenario = Scenario::with(vec![], |app| app.mount("/app", mount(router).public())).await;
    let client = &scenario.client;
    let ada = cookie_of(&client.post("/app/login/ada").origin(OWN).send().await);
    let name = client.get("/app/name").header("cookie", &ada).send().await;
    assert_eq!(name.text(), "ada");
    assert_eq!(name.header("cache-control"), Some("private, no-cache"));
    let csrf = client.get("/app/csrf").header("cookie", &ada).send().await;
    assert!(csrf.json::<Value>()["token"].is_string(), "{csrf:?}");
    let peer: std::net::SocketAddr = "192.0.2.7:4711".parse().expect("an address");
    let from = client.get("/app/client").extension(PeerAddr(peer)).send().await;
    assert_eq!(from.text(), "192.0.2.7 192.0.2.7:4711");
    let forged = client.post("/app/login/eve").origin(EVIL).send().await;
    assert_problem(&forged, 403, "csrf.origin");

    let scenario = Scenario::with(vec![], |app| {
        app.mount("/app", mount(guarded).auth(AuthRequirement::session()))
    })
    .await;
    let ada = scenario.login("ada").await;
    assert_eq!(ada.get("/app/who").send().await.text(), "ada");
}

/// What a mounted router changes in a session is committed with its response, under the CSRF check of
/// the mount; a token needs none.
#[tokio::test]
async fn a_mounted_router_changes_the_session_as_a_handler_does() {
    use axum::{
        extract::Path,
        routing::{get, post},
    };

    async fn note(
        session: Session,
        Path(status): Path<u16>,
        note: String,
    ) -> Result<StatusCode, CredentialError> {
        session.set("note", note)?;
        Ok(StatusCode::from_u16(status).unwrap_or_default())
    }

    let router = axum::Router::new()
        .route("/note", get(async |session: Session| session.get::<Value>("note").map(Json)))
        .route("/note/{status}", post(note))
        .route("/who", post(async |me: Principal| me.subject().to_owned()))
        .route("/logout", post(async |session: Session| session.logout()));
    let layer = PolicyLayer::builder()
        .policies(Policies::new().headers(HeadersPolicy::API))
        .build()
        .expect("right");
    let requirement = AuthRequirement::session().or_token();
    let mount = Mount::new(layer.layer(router)).all_methods().strip_prefix().auth(requirement);
    let scenario = Scenario::with(vec![], |app| app.mount("/old", mount)).await;
    let ada = scenario.login("ada").await;
    let noted = async || ada.get("/old/note").send().await.json::<Value>();

    let forged = ada.bare("/old/note/200").origin(EVIL).body("forged").send().await;
    assert_problem(&forged, 403, "csrf.origin");
    let bare = ada.bare("/old/note/200").origin(OWN).body("bare").send().await;
    assert_problem(&bare, 403, "csrf.token");
    assert_eq!(noted().await, Value::Null);
    assert_eq!(ada.post("/old/note/200").body("milk").send().await.status(), 200);
    assert_eq!(noted().await, "milk");
    assert_eq!(ada.post("/old/note/500").body("lost").send().await.status(), 500);
    assert_eq!(noted().await, "milk");

    let client = &scenario.client;
    let by_token = client.post("/old/who").header("authorization", bearer(&good_token()));
    assert_eq!(by_token.origin(EVIL).send().await.status(), 200);
    let anonymous = client.post("/old/who").origin(OWN).send().await;
    assert_problem(&anonymous, 401, "auth.credentials-missing");

    let left = ada.post("/old/logout").send().await;
    assert_eq!(left.status(), 200);
    assert!(left.header_all("set-cookie").iter().any(|line| line.starts_with("__Host-sid=;")));
    assert_eq!(ada.who().await, None);
}
