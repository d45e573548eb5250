//! Mounts, proxies, groups, the fallback and tunnels accept the issuers that they name, as a
//! handler with the same attribute does.

use policy_server::{ReverseProxy, Tunnel, testing::TestResponse};
use policy_tests::http::Running;
use serde_json::{Value, json};

use super::*;

const A: &str = "https://a.example";
const B: &str = "https://b.example";

/// Each requirement as an attribute and as a value.
macro_rules! requirements {
    ($($name:ident: #[$attribute:meta] = $value:expr;)*) => {
        $(
            #[get("/handler")]
            #[$attribute]
            async fn $name() -> &'static str {
                "in"
            }
        )*

        fn requirements() -> Vec<(&'static str, policy_server::Route<()>, AuthRequirement)> {
            vec![$({
                let route = Vec::from_iter(routes![$name]).pop().expect("one");
                (stringify!($name), route, $value)
            }),*]
        }
    };
}

requirements! {
    unnamed: #[auth(token)] = AuthRequirement::token();
    of_a: #[auth(token, issuers = ["https://a.example"])] = AuthRequirement::token().issuers(&[A]);
    of_a_and_own: #[auth(token, issuers = ["own", "https://a.example"])] =
        AuthRequirement::token().issuers(&["own", A]);
    of_both: #[auth(token, issuers = ["https://a.example", "https://b.example"])] =
        AuthRequirement::token().issuers(&[A, B]);
    readers: #[auth(token, issuers = ["https://a.example", "https://b.example"], scopes = ["read"])] =
        AuthRequirement::token().issuers(&[A, B]).scopes(&["read"]);
    writers: #[auth(token, issuers = ["own", "https://a.example"], scopes = ["write"])] =
        AuthRequirement::token().issuers(&["own", A]).scopes(&["write"]);
    recent: #[auth(token, issuers = ["https://a.example"], fresh = "1m")] =
        AuthRequirement::token().issuers(&[A]).fresh(std::time::Duration::from_secs(60));
}

fn mount() -> Mount {
    Mount::new(Router::new().fallback(async || "in"))
}

/// Nothing listens there: a request that passes the gates gets 502.
fn upstream() -> ReverseProxy {
    ReverseProxy::new("/proxy", "http://127.0.0.1:9")
}

/// An app that signs tokens and accepts those of two issuers, the first of which may grant `read`.
struct Issuers {
    a: Signer,
    b: Signer,
}

impl Issuers {
    fn new() -> Self {
        Self { a: Signer::ed25519("a"), b: Signer::es256("b") }
    }

    fn app(&self) -> App<()> {
        let tokens = own_tokens()
            .accept(issuer(A, &[&self.a]).scopes(["read"]))
            .accept(issuer(B, &[&self.b]));
        App::new(()).clock(Clock::at(START)).tokens(tokens).routes(routes![own])
    }

    /// Tokens of both issuers and of none, each with a name.
    fn tokens(&self) -> [(&'static str, String); 6] {
        let of = |key: &Signer, issuer: &str, more: Value| key.token_with(claims(issuer), &more);
        let rights = json!({ "scope": "read write", "auth_time": START });
        [
            ("of a", of(&self.a, A, rights.clone())),
            ("of b", of(&self.b, B, rights.clone())),
            ("of a, by the key of b", of(&self.b, A, rights)),
            ("of a, long ago", of(&self.a, A, json!({ "auth_time": START - 100 }))),
            ("of a, for others", of(&self.a, A, json!({ "aud": "billing" }))),
            ("no token", "nonsense".to_owned()),
        ]
    }
}

/// Whether a target admitted a request, or else how it refused it.
fn decided(response: &TestResponse) -> (u16, String) {
    match response.status().as_u16() {
        200 | 502 => (200, String::new()),
        status => (status, response.json::<Value>()["code"].as_str().unwrap().to_owned()),
    }
}

#[tokio::test]
async fn targets_take_the_issuers_that_a_handler_takes() {
    let issuers = Issuers::new();
    let (mut let_in, mut refused) = (0, 0);
    for (name, route, requirement) in requirements() {
        let app = issuers.app().routes(vec![route]).public_origin(ORIGIN);
        let client = app
            .mount("/mount", mount().auth(requirement))
            .proxy(upstream().auth(requirement))
            .fallback(Fallback::handler(async |_| "in").auth(requirement))
            .group(
                "/group",
                Group::new().auth(requirement).mount("/mount", mount()).proxy(upstream()),
            )
            .test();
        let own = client.get("/own").send().await.text();
        for (whose, token) in issuers.tokens().into_iter().chain([("own", own)]) {
            let ask = async |path: &str| {
                let bearer = format!("Bearer {token}");
                decided(&client.get(path).header("authorization", bearer).send().await)
            };
            let handler = ask("/handler").await;
            *(if handler.0 == 200 { &mut let_in } else { &mut refused }) += 1;
            for path in ["/mount/x", "/proxy/x", "/nothing/x", "/group/mount/x", "/group/proxy/x"] {
                assert_eq!(ask(path).await, handler, "{name}, {whose}, {path}");
            }
        }
    }
    assert!(let_in >= 10 && refused >= 25, "{let_in} let in, {refused} refused");
}

#[tokio::test]
async fn a_tunnel_takes_the_issuers_that_a_handler_takes() {
    let issuers = Issuers::new();
    // A target that accepts and sends nothing: an open tunnel is enough.
    let target = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = target.local_addr().map(|address| (address, target)).unwrap();
    let (mut let_in, mut refused) = (0, 0);
    for (name, route, requirement) in requirements() {
        let tunnel = Tunnel::to([target.0.to_string()]).auth(requirement).private(["127.0.0.0/8"]);
        let server = Running::start(issuers.app().routes(vec![route]).tunnel(tunnel)).await;
        let own = server.response("GET /own HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
        let own = own.text().to_owned();
        for (whose, token) in issuers.tokens().into_iter().chain([("own", own)]) {
            let field = format!("authorization: Bearer {token}\r\n\r\n");
            let handler = format!("GET /handler HTTP/1.1\r\nhost: localhost\r\n{field}");
            let handler = server.response_status(handler).await;
            let connect = format!("CONNECT {0} HTTP/1.1\r\nhost: {0}\r\nproxy-{field}", target.0);
            let tunnel = server.response_status(connect).await;
            *(if handler == 200 { &mut let_in } else { &mut refused }) += 1;
            // A proxy asks for credentials by a status of its own (RFC 9110 15.5.8).
            let expected = if handler == 401 { 407 } else { handler };
            assert_eq!(tunnel, expected, "{name}, {whose}");
        }
    }
    assert!(let_in >= 10 && refused >= 25, "{let_in} let in, {refused} refused");
}
