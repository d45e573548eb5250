//! Health, readiness, and the time between a signal and the exit.

use policy_tests::program::Program;

use super::*;

async fn status(connection: &mut Connection, path: &str) -> u16 {
    connection.send(get(path)).await;
    connection.response().await.status
}

#[tokio::test]
async fn readiness_turns_before_anything_else_ends() {
    let (time, gate) = (StoppedTime::begin(), gate());
    let settings = ServerSettings::default().drain(Duration::from_secs(2));
    let server = Running::start(app_with(&gate).settings(settings)).await;
    let address = server.address;
    let mut probe = server.connect().await;
    let mut busy = server.connect().await;
    assert_eq!(status(&mut probe, "/readyz").await, 200);
    busy.send(get("/wait")).await;

    let stopped = server.stop();
    // The change shows within a few requests. The clock is paused, so their number is the bound.
    for _ in 0..1000 {
        if status(&mut probe, "/readyz").await != 200 {
            break;
        }
        tokio::task::yield_now().await;
    }
    probe.send(get("/readyz")).await;
    assert_eq!(probe.response().await.problem(), (503, "server.stopping".to_owned()));
    assert_eq!(status(&mut probe, "/healthz").await, 200);
    // Clients that have not noticed yet are still served.
    let mut late = Connection::open(address).await;
    assert_eq!(status(&mut late, "/hello").await, 200);

    // Then new connections are refused, and waiting requests are finished.
    time.until(late.wait_for_close()).await;
    time.pass(Duration::from_secs(1)).await;
    assert!(soon(TcpStream::connect(address)).await.is_err());
    gate.add_permits(1);
    assert_eq!(busy.response().await.text(), "waited");
    soon(stopped).await.expect("an end");
}

#[tokio::test]
async fn probes_are_answered_over_http_2_and_to_head() {
    let server = Running::start(app()).await;
    let (mut client, _ended) = http2::connect(&server).await;
    let ready = get_h2(&mut client, "/readyz").await;
    assert_eq!((ready.status, ready.text()), (200, "ok\n"));
    assert_eq!(ready.header("cache-control"), Some("no-store"));
    let mut connection = server.connect().await;
    connection.send(request("HEAD /healthz", &[])).await;
    let head = connection.head().await;
    assert_eq!((head.status, head.header("content-length")), (200, Some("3")));
}

/// HAProxy's `httpchk` sends HTTP/1.0 without `Host` unless one is configured; `http-check` sends
/// what is configured. Clients get 503 while HAProxy considers the server down.
#[tokio::test]
#[ignore = "needs haproxy"]
async fn haproxy_finds_the_server_up_by_each_of_its_checks() {
    let app = App::new(())
        .public_origin("https://api.example")
        .routes(routes![hello])
        .health("/healthz")
        .readiness("/readyz");
    let server = Running::start(app).await;
    for check in [
        "option httpchk GET /healthz",
        "option httpchk HEAD /readyz",
        "option httpchk\n http-check send meth GET uri /healthz ver HTTP/1.1 hdr Host 10.0.0.7",
        "option httpchk\n http-check send meth GET uri /healthz ver HTTP/1.1 hdr Host api.example",
    ] {
        let configuration = format!(
            "global
                 stats socket FOLDER/admin mode 600 level user
             defaults
                 mode http
                 timeout connect 10s
                 timeout client 30s
                 timeout server 30s
             listen front
                 bind ADDRESS
                 {check}
                 http-check expect status 200
                 server app {} check inter 50ms fastinter 50ms rise 1 fall 1\n",
            server.address,
        );
        let haproxy = Program::haproxy(&configuration).await;
        let status = soon(async {
            loop {
                let status = last_check(&haproxy).await;
                // `INI` is the state before the first check; `*` marks a check in progress.
                if !status.is_empty() && !status.ends_with("INI") {
                    break status;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        assert_eq!(status.await.trim_start_matches("* "), "L7OK", "{check}");
        let mut client = Connection::open(haproxy.address).await;
        client.send("GET /hello HTTP/1.1\r\nhost: api.example\r\n\r\n").await;
        assert_eq!(client.response().await.status, 200, "{check}");
    }
}

/// The result of the last check of the server behind HAProxy, as its runtime API states it; empty before it
/// has one, and before HAProxy serves the API, which it does after its ports.
async fn last_check(haproxy: &Program) -> String {
    let socket = soon(UnixStream::connect(haproxy.folder.join("admin"))).await;
    let Ok(mut socket) = socket else { return String::new() };
    socket.write_all(b"show stat\n").await.expect("a command");
    let mut table = String::new();
    soon(socket.read_to_string(&mut table)).await.expect("a table");
    let mut rows = table.lines().map(|line| line.split(','));
    let column = rows.next().and_then(|mut names| names.position(|name| name == "check_status"));
    let row = rows.find(|row| row.clone().nth(1) == Some("app"));
    let status = row.zip(column).and_then(|(mut row, column)| row.nth(column));
    status.expect("the state of the server").to_owned()
}
