//! Clients that send single bytes with long pauses.

use super::*;

const TICK: Duration = Duration::from_millis(50);

fn impatient() -> App<()> {
    let settings = ServerSettings::default().header_timeout(Duration::from_millis(300));
    app()
        .policies(Policies::new().limits(Limits::NONE.timeout(Duration::from_millis(300))))
        .settings(settings)
}

/// Sends a byte at intervals until the server closes, and returns the response.
async fn drip(time: &StoppedTime, connection: &mut http::Connection, byte: u8) -> Vec<u8> {
    let (mut reading, mut writing) = connection.stream.split();
    let mut response = Vec::new();
    let dripping = async {
        while tokio::io::AsyncWriteExt::write_all(&mut writing, &[byte]).await.is_ok() {
            time.pass(TICK).await;
        }
        pending::<()>().await;
    };
    tokio::select! {
        _ = soon(tokio::io::AsyncReadExt::read_to_end(&mut reading, &mut response)) => (),
        () = dripping => (),
    }
    response
}

#[tokio::test]
async fn slow_clients_do_not_hold_a_connection_by_their_head() {
    let time = StoppedTime::begin();
    let server = Running::start(impatient()).await;
    for begun in ["", "G", "GET /hello HTTP/1.1\r\nhost: localhost\r\nx: ", "P", "PRI"] {
        let mut connection = server.connect().await;
        connection.send(begun).await;
        let response = drip(&time, &mut connection, b'x').await;
        assert!(!response.starts_with(b"HTTP/1.1 2"), "`{}`", response.escape_ascii());
    }
    assert_serving(&server).await;
}

#[tokio::test]
async fn slow_clients_do_not_hold_a_connection_by_their_second_head() {
    let time = StoppedTime::begin();
    let server = Running::start(impatient()).await;
    let mut connection = server.connect().await;
    assert_hello(&mut connection).await;
    connection.send("GET /hello HTTP/1.1\r\nx: ").await;
    assert_eq!(drip(&time, &mut connection, b'x').await, b"");
    assert_serving(&server).await;
}

#[tokio::test]
async fn slow_clients_that_say_nothing_are_let_go() {
    let time = StoppedTime::begin();
    let server = Running::start(impatient()).await;
    let mut connection = server.connect().await;
    assert!(time.until(connection.wait_for_close()).await < PATIENCE);
    let mut connection = server.connect().await;
    connection.send("GET /hel").await;
    assert!(time.until(connection.wait_for_close()).await < PATIENCE);
    assert_serving(&server).await;
}

#[tokio::test]
async fn slow_clients_do_not_hold_a_handler_by_their_body() {
    let time = StoppedTime::begin();
    let server = Running::start(impatient()).await;
    for path in ["POST /orders", "POST /upload"] {
        let mut connection = server.connect().await;
        let fields = [ORIGIN, "content-length: 5000", "content-type: application/json"];
        connection.send(request(path, &fields)).await;
        let response = drip(&time, &mut connection, b' ').await;
        let text = String::from_utf8(response).unwrap();
        assert!(text.starts_with("HTTP/1.1 408 Request Timeout\r\n"), "{text}");
        assert!(text.contains("\"code\":\"request.timed-out\""), "{text}");
        for line in SHARING {
            assert!(text.contains(line), "{text}");
        }
    }
    assert_serving(&server).await;
}

/// The time limits also apply to HTTP/2, which has no head to wait for before its preface.
#[tokio::test]
async fn slow_clients_do_not_hold_a_connection_of_http_2() {
    let settings = ServerSettings::default().idle_timeout(Duration::from_millis(300));
    let time = StoppedTime::begin();
    let server = Running::start(app().settings(settings)).await;
    let mut connection = server.connect().await;
    connection.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    // An empty SETTINGS frame, and the beginning of a DATA frame of 16 KiB.
    connection.send([0, 0, 0, 4, 0, 0, 0, 0, 0]).await;
    connection.send([0, 0x40, 0, 0, 0, 0, 0, 0, 1]).await;
    drip(&time, &mut connection, 0).await;
    assert_serving(&server).await;
}
