//! No secret is logged at any level: the requests have a secret wherever there can be one, and
//! everything that is recorded at level TRACE is searched for it.

use policy_server::tokens::SecretKey;
use policy_tests::{
    handlers::{by_ticket, own_token, ticket},
    log::Log,
};
use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Login {
    password: String,
}

#[post("/login")]
#[auth(public)]
#[csrf(exempt = "a test")]
async fn login(sessions: Sessions, Json(login): Json<Login>) -> Result<StatusCode, Problem> {
    if login.password.is_empty() {
        return Err(Problem::unauthorized());
    }
    sessions.login("ada").await?;
    Ok(StatusCode::NO_CONTENT)
}

#[get("/csrf")]
#[auth(session)]
async fn csrf(token: CsrfToken) -> String {
    token.text().unwrap_or_default().to_owned()
}

#[get("/private")]
#[post("/private")]
#[auth(session | token)]
async fn private(me: Principal) -> String {
    me.subject().to_owned()
}

#[post("/fails")]
#[auth(session | token)]
async fn fails(_me: Principal, _body: String) -> Result<String, Problem> {
    Err(Problem::internal("the disk is gone"))
}

fn body_of(what: &str, fields: &[&str], body: &str) -> String {
    let length = format!("content-length: {}", body.len());
    request(what, &[&["content-type: application/json", &length], fields].concat()) + body
}

/// A value that occurs nowhere by chance, in place of a valid secret.
fn made_up(place: &str) -> String {
    format!("s3cr3t-{place}-7d1f0a9c")
}

#[tokio::test]
async fn logs_contain_no_secrets() {
    let (log, _guard) = Log::start("");
    let secret = SecretKey::from_bytes(*b"a secret key of exactly 32 bytes");
    let tokens = Tokens::hs256([("k", secret)]).expect("a key");
    let app = App::new(()).sessions(Sessions::memory()).tokens(tokens).request_ids().access_log();
    let routes = routes![login, csrf, own_token, ticket, by_ticket, private, fails];
    let server = Running::start(app.routes(routes)).await;

    let password = made_up("password");
    let json = format!("{{\"password\":\"{password}\"}}");
    let response = server.response(body_of("POST /login", &[], &json)).await;
    assert_eq!(response.status, 204);
    let cookie = response.header("set-cookie").and_then(|cookie| cookie.split(';').next());
    let cookie = cookie.expect("a cookie").to_owned();
    let with_cookie = format!("cookie: {cookie}");
    let csrf = server.response(request("GET /csrf", &[&with_cookie])).await.text().to_owned();
    let with_csrf = format!("x-csrf-token: {csrf}");
    let own = ["origin: http://localhost", &with_cookie, &with_csrf];
    let token = server.response(body_of("POST /tokens", &own, "")).await.text().to_owned();
    let with_token = format!("authorization: Bearer {token}");
    let ticket =
        server.response(body_of("POST /ticket", &[&with_token], "")).await.text().to_owned();

    let mut secrets = vec![password];
    // The signed or random part is the secret.
    secrets.extend([&cookie, &csrf, &token, &ticket].map(|text| {
        let part = text.rsplit(['.', '=']).find(|part| part.len() >= 16);
        part.unwrap_or_else(|| panic!("no secret in `{text}`")).to_owned()
    }));
    let mut forged = |place: &str| {
        secrets.push(made_up(place));
        made_up(place)
    };
    let requests = [
        request("GET /private", &[&with_token]),
        request("GET /private", &[&with_cookie]),
        body_of("POST /private", &own, ""),
        body_of("POST /fails", &own, &format!("{:?}", forged("body"))),
        request(&format!("GET /by-ticket?ticket={ticket}"), &[]),
        // A ticket is valid once.
        request(&format!("GET /by-ticket?ticket={ticket}"), &[]),
        request(&format!("GET /private?access_token={}", forged("query")), &[]),
        request(&format!("GET /nowhere?token={}", forged("query-of-nowhere")), &[]),
        request("GET /private", &[&format!("authorization: Bearer {}", forged("bearer"))]),
        request("GET /private", &[&format!("authorization: Basic {}", forged("basic"))]),
        request("GET /private", &[&format!("authorization: {}", forged("malformed"))]),
        request("GET /private", &[&format!("cookie: {}={}", &cookie[..6], forged("cookie"))]),
        request("GET /private", &[&format!("proxy-authorization: {}", forged("proxy"))]),
        request("GET /private", &[&format!("x-request-id: {}", forged("request-id"))]),
        body_of(
            "POST /private",
            &[own[0], own[1], &format!("x-csrf-token: {}", forged("csrf"))],
            "",
        ),
        body_of("POST /login", &[], &format!("{{\"password\": 1, \"{}\": 2}}", forged("json"))),
        body_of("POST /login", &[], &forged("no-json")),
        request(&format!("GET /private#{}", forged("fragment")), &[]),
        request(&format!("GET http://ada:{}@localhost/private", forged("user-info")), &[]),
        "GET /private HTTP/1.1\r\nhost: evil.example\r\n".to_owned()
            + &format!("authorization: Bearer {}\r\n\r\n", forged("wrong-host")),
    ];
    for bytes in &requests {
        let mut connection = server.connect().await;
        connection.send(bytes).await;
        connection.head().await;
    }
    let (mut client, _ended) = http2::connect(&server).await;
    for (name, value) in [
        ("authorization", format!("Bearer {token}")),
        ("authorization", format!("Bearer {}", forged("bearer-h2"))),
        ("cookie", cookie.clone()),
        ("x-csrf-token", forged("csrf-h2")),
    ] {
        let url = format!("http://localhost/private?q={}", forged("query-h2"));
        http2::send(&mut client, http2::request("GET", &url, &[(name, &value)]), "").await;
    }
    soon(server.stop()).await.expect("an end");

    let lines = log.with("");
    let lines_of = |what: &str| lines.iter().filter(|line| line.contains(what)).count();
    assert!(lines_of("is_complete=") >= requests.len(), "the access log is among it");
    assert!(lines_of("request otel.name=") >= requests.len(), "the spans are");
    assert!(lines_of("TRACE") > 0, "what is below is");
    for secret in &secrets {
        let found: Vec<_> = lines.iter().filter(|line| line.contains(secret)).collect();
        assert!(found.is_empty(), "`{secret}` in {found:#?}");
    }
}
