//! One line for each response.

use policy_server::tokens::SecretKey;
use policy_tests::log::Log;

use super::*;

const TARGET: &str = "policy::access";

/// The lines of the log, once there are this many.
async fn lines(log: &Log, count: usize) -> Vec<String> {
    log.until(|log| Some(log.with("INFO")).filter(|lines| lines.len() >= count)).await
}

#[tokio::test]
async fn the_access_log_states_the_outcome_of_a_request() {
    let (log, _guard) = Log::of(TARGET);
    let server = Running::start(app().access_log().request_ids()).await;
    let foreign = "GET /hello HTTP/1.1\r\nhost: evil.example\r\n\r\n".to_owned();
    let cases: &[(String, &[&str])] = &[
        (get("/hello?token=secret"), &["path=/hello", "route=\"/hello\"", "status=200", "bytes=5"]),
        (get("/users/7"), &["path=/users/7", "route=\"/users/{id}\"", "status=200", "bytes=1"]),
        (get("/missing"), &["status=404", "code=\"lamps.missing\""]),
        (get("/nowhere"), &["path=/nowhere", "status=404", "code=\"route.not-found\""]),
        (foreign, &["status=421", "code=\"origin.host-not-loopback\""]),
        (get("/panic"), &["route=\"/panic\"", "status=500", "code=\"handler.failed\""]),
        (request("HEAD /hello", &[]), &["method=HEAD", "status=200", "bytes=0"]),
        (get("/a%0ab%1b"), &["path=/a%0ab%1b", "status=400", "code=\"wire.path-encoding\""]),
    ];
    for (index, (bytes, parts)) in cases.iter().enumerate() {
        let mut connection = server.connect().await;
        connection.send(bytes).await;
        let response = connection.head().await;
        let line = lines(&log, index + 1).await.remove(index);
        assert_parts(&line, parts);
        let id = format!("request_id=\"{}\"", response.header("x-request-id").expect("an id"));
        let client = "client=127.0.0.1";
        assert_parts(&line, &["protocol=HTTP/1.1", client, "is_complete=true", &id]);
        assert!(line.contains(" duration_us=") && !line.contains("secret"), "{line}");
    }
}

#[tokio::test]
async fn the_access_log_names_the_upgraded_protocol() {
    let (log, _guard) = Log::of(TARGET);
    let server = Running::start(app().access_log()).await;
    let client = connect_h2(&server).await;
    h2_response(&client, "/hello", "date").await;
    let line = lines(&log, 1).await.remove(0);
    assert_parts(&line, &["protocol=HTTP/2.0", "status=200", "bytes=5", "is_complete=true"]);
}

#[tokio::test]
async fn the_access_log_distinguishes_disconnected_and_served_clients() {
    let (log, _guard) = Log::of(TARGET);
    let gate = gate();
    let server = Running::start(app_with(&gate).access_log()).await;
    let mut before_the_head = server.connect().await;
    before_the_head.send(get("/wait")).await;
    drop(before_the_head);
    let line = lines(&log, 1).await.remove(0);
    assert_parts(&line, &["path=/wait", "route=\"/wait\"", "bytes=0", "is_complete=false"]);
    assert!(!line.contains("status="), "{line}");

    let mut within_the_body = server.connect().await;
    within_the_body.send(get("/stream")).await;
    assert_eq!(within_the_body.head().await.status, 200);
    assert_eq!(within_the_body.chunk().await.as_deref(), Some(&b"begun"[..]));
    drop(within_the_body);
    let line = lines(&log, 2).await.remove(1);
    assert_parts(&line, &["path=/stream", "status=200", "bytes=5", "is_complete=false"]);

    gate.add_permits(1);
    assert_eq!(server.response(get("/stream")).await.text(), "begunrest");
    let line = lines(&log, 3).await.remove(2);
    assert_parts(&line, &["bytes=9", "is_complete=true"]);
}

#[get("/by-token")]
#[auth(token)]
async fn by_token() {}

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
        let (log, _guard) = Log::of(target);
        let tokens = Tokens::hs256([("k", SecretKey::drawn([7; 32]))]).expect("a key");
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
                &["code=\"route.not-found\"", "origin=https://evil.example"],
            ),
            (
                request("GET /by-token", &["authorization: Bearer x"]),
                401,
                &["code=\"auth.token-invalid\"", "cause=\"token.malformed\"", "origin=none"],
            ),
            (
                request("GET /by-session", &["sec-fetch-mode: navigate"]),
                303,
                &["code=\"auth.credentials-missing\""],
            ),
            (
                request("POST /login", &[FOREIGN]),
                403,
                &["code=\"csrf.origin\"", "origin=https://evil.example"],
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
            assert_eq!(event.contains(" is_complete="), has_entries, "{event}");
        }
    }
}

#[tokio::test]
async fn the_access_log_is_off_by_default() {
    let (log, _guard) = Log::of(TARGET);
    let server = Running::start(app()).await;
    assert_eq!(server.response(get("/hello")).await.status, 200);
    soon(server.stop()).await.expect("an end");
    assert!(log.with("").is_empty());
}
