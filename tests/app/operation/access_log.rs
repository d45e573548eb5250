//! One line for each response.

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

#[tokio::test]
async fn the_access_log_is_off_by_default() {
    let (log, _guard) = Log::of(TARGET);
    let server = Running::start(app()).await;
    assert_eq!(server.response(get("/hello")).await.status, 200);
    soon(server.stop()).await.expect("an end");
    assert!(log.with("").is_empty());
}
