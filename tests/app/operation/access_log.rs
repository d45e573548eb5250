//! One line for each response.

use policy_server::tokens::SecretKey;
use policy_tests::{handlers::by_token, log::Log};

use super::*;

const TARGET: &str = "policy::access";

/// The lines of the log, once there are this many.
async fn lines(log: &Log, count: usize) -> Vec<String> {
    log.until(|log| Some(log.with("INFO")).filter(|lines| lines.len() >= count)).await
}

#[tokio::test]
async fn the_access_log_states_the_outcome_of_a_request() {
    let (log, _guard) = Log::start(TARGET);
    let server = Running::start(app().access_log().request_ids()).await;
    let foreign = "GET /hello HTTP/1.1\r\nhost: evil.example\r\n\r\n".to_owned();
    let cases: &[(String, &[&str])] = &[
        (
            get("/hello?token=secret"),
            &[
                "url.path=/hello",
                "http.route=\"/hello\"",
                "http.response.status_code=200",
                "http.response.body.size=5",
            ],
        ),
        (
            get("/users/7"),
            &[
                "url.path=/users/7",
                "http.route=\"/users/{id}\"",
                "http.response.status_code=200",
                "http.response.body.size=1",
            ],
        ),
        (get("/missing"), &["http.response.status_code=404", "policy.code=\"lamps.missing\""]),
        (
            get("/nowhere"),
            &[
                "url.path=/nowhere",
                "http.response.status_code=404",
                "policy.code=\"route.not-found\"",
            ],
        ),
        (foreign, &["http.response.status_code=421", "policy.code=\"origin.host-not-loopback\""]),
        (
            get("/panic"),
            &[
                "http.route=\"/panic\"",
                "http.response.status_code=500",
                "policy.code=\"handler.failed\"",
            ],
        ),
        (
            request("HEAD /hello", &[]),
            &[
                "http.request.method=\"HEAD\"",
                "http.response.status_code=200",
                "http.response.body.size=0",
            ],
        ),
        (
            get("/a%0ab%1b"),
            &[
                "url.path=/a%0ab%1b",
                "http.response.status_code=400",
                "policy.code=\"wire.path-encoding\"",
            ],
        ),
    ];
    for (index, (bytes, parts)) in cases.iter().enumerate() {
        let mut connection = server.connect().await;
        connection.send(bytes).await;
        let response = connection.head().await;
        let line = lines(&log, index + 1).await.remove(index);
        assert_parts(&line, parts);
        let id =
            format!("policy.request_id=\"{}\"", response.header("x-request-id").expect("an id"));
        let client = "client.address=127.0.0.1";
        assert_parts(
            &line,
            &["network.protocol.version=\"1.1\"", client, "policy.is_complete=true", &id],
        );
        assert!(
            line.contains(" http.server.request.duration=") && !line.contains("secret"),
            "{line}"
        );
    }
    let (mut client, _ended) = http2::connect(&server).await;
    get_h2(&mut client, "/hello").await;
    let line = lines(&log, cases.len() + 1).await.remove(cases.len());
    assert_parts(
        &line,
        &[
            "network.protocol.version=\"2\"",
            "http.response.status_code=200",
            "http.response.body.size=5",
            "policy.is_complete=true",
        ],
    );
}

#[tokio::test]
async fn the_access_log_distinguishes_disconnected_and_served_clients() {
    let (log, _guard) = Log::start(TARGET);
    let gate = gate();
    let server = Running::start(app_with(&gate).access_log()).await;
    let mut before_the_head = server.connect().await;
    before_the_head.send(get("/wait")).await;
    drop(before_the_head);
    let line = lines(&log, 1).await.remove(0);
    assert_parts(
        &line,
        &[
            "url.path=/wait",
            "http.route=\"/wait\"",
            "http.response.body.size=0",
            "policy.is_complete=false",
        ],
    );
    assert!(!line.contains("http.response.status_code="), "{line}");

    let mut within_the_body = server.connect().await;
    within_the_body.send(get("/stream")).await;
    assert_eq!(within_the_body.head().await.status, 200);
    assert_eq!(within_the_body.chunk().await.as_deref(), Some(&b"begun"[..]));
    drop(within_the_body);
    let line = lines(&log, 2).await.remove(1);
    assert_parts(
        &line,
        &[
            "url.path=/stream",
            "http.response.status_code=200",
            "http.response.body.size=5",
            "policy.is_complete=false",
        ],
    );

    gate.add_permits(1);
    assert_eq!(server.response(get("/stream")).await.text(), "begunrest");
    let line = lines(&log, 3).await.remove(2);
    assert_parts(&line, &["http.response.body.size=9", "policy.is_complete=true"]);
}

#[get("/by-session")]
#[auth(session)]
async fn by_session() {}

/// The route is public, so that its extractor checks the request.
#[post("/login")]
#[auth(public)]
async fn login(_sessions: Sessions) {}

/// Where the access log is not recorded, the event of the refusal is.
#[tokio::test]
async fn a_refused_request_is_one_event_with_its_reason() {
    const FOREIGN: &str = "origin: https://evil.example";
    for (target, has_entries) in [("", true), ("policy_server", false)] {
        let (log, _guard) = Log::start(target);
        let tokens = Tokens::hs256([("k", SecretKey::from_bytes([7; 32]))]).expect("a key");
        let app = App::new(())
            .sessions(Sessions::memory().login_page("/sign-in"))
            .tokens(tokens)
            .routes(routes![by_token, by_session, login])
            .access_log();
        let server = Running::start(app).await;
        let cases: &[(String, u16, &[&str])] = &[
            (
                request("GET /nowhere", &[FOREIGN]),
                404,
                &["policy.code=\"route.not-found\"", "policy.origin=https://evil.example"],
            ),
            (
                request("GET /by-token", &["authorization: Bearer x"]),
                401,
                &[
                    "policy.code=\"auth.token-invalid\"",
                    "policy.cause=\"token.malformed\"",
                    "policy.origin=none",
                ],
            ),
            (
                request("GET /by-session", &["sec-fetch-mode: navigate"]),
                303,
                &["policy.code=\"auth.credentials-missing\""],
            ),
            (
                request("POST /login", &[FOREIGN]),
                403,
                &["policy.code=\"csrf.origin\"", "policy.origin=https://evil.example"],
            ),
        ];
        for (index, (bytes, status, parts)) in cases.iter().enumerate() {
            assert_eq!(server.response(bytes).await.status, *status, "{bytes}");
            let events = |log: &Log| {
                let mut events = log.with("INFO ");
                events.retain(|line| !line.contains("server.listening"));
                Some(events).filter(|events| events.len() > index)
            };
            let events = log.until(events).await;
            assert_eq!(events.len(), index + 1, "{events:?}");
            let event = &events[index];
            assert_parts(event, parts);
            assert_eq!(event.contains(" policy.is_complete="), has_entries, "{event}");
        }
    }
}

#[tokio::test]
async fn the_access_log_is_off_by_default() {
    let (log, _guard) = Log::start(TARGET);
    let server = Running::start(app()).await;
    assert_eq!(server.response(get("/hello")).await.status, 200);
    soon(server.stop()).await.expect("an end");
    assert!(log.with("").is_empty());
}
