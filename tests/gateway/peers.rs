//! Independent clients and proxies.

use std::process::{Command, Output};

use axum::extract::WebSocketUpgrade;
use policy_server::Tunnel;
use policy_tests::{peers::installed, program::Program};

use super::*;

/// Runs a program to its end, while the server keeps running.
async fn run(mut command: Command) -> Output {
    let output = tokio::task::spawn_blocking(move || {
        let output = command.output();
        output.unwrap_or_else(|error| panic!("{command:?}: {error}"))
    });
    soon(output).await.expect("an end")
}

async fn curl(arguments: &[&str]) -> String {
    let mut command = Command::new("curl");
    command.args(["--silent", "--show-error", "--max-time", "20"]).args(arguments);
    let output = run(command).await;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).expect("a text")
}

#[tokio::test]
#[ignore = "needs curl"]
async fn curl_reaches_a_server_through_a_tunnel() {
    let inside = Running::start(app()).await;
    let tunnel = Tunnel::to([inside.address.to_string()]).public().private(["127.0.0.1"]);
    let gateway = Running::start(app().tunnel(tunnel)).await;
    let (proxy, url) =
        (format!("http://{}", gateway.address), format!("http://{}/client", inside.address));
    let text = curl(&["--proxytunnel", "--proxy", &proxy, &url]).await;
    assert_eq!(text, "127.0.0.1 over 127.0.0.1, ");
    let other = ["--proxytunnel", "--proxy", &proxy, "--write-out", "%{http_connect}"];
    let mut command = Command::new("curl");
    command.args(["--silent", "--max-time", "20"]).args(other).arg("http://db.example/");
    assert_eq!(run(command).await.stdout, b"403");
}

#[tokio::test]
#[ignore = "needs curl"]
async fn curl_speaks_the_proxy_protocol() {
    let server = Running::start(app().behind(TrustedProxies::new(PROXIES).proxy_protocol())).await;
    let url = format!("http://{}/client", server.address);
    assert_eq!(curl(&["--haproxy-protocol", &url]).await, "127.0.0.1 over 127.0.0.1, ");
    assert_eq!(
        curl(&["--haproxy-protocol", "--http2-prior-knowledge", &url]).await,
        "127.0.0.1 over 127.0.0.1, "
    );
    assert_eq!(curl(&["--interface", "127.0.0.2", &url]).await, "127.0.0.2 over 127.0.0.2, ");
}

/// The body of a proxy's response to a request.
async fn response(proxy: &Program, bytes: &str) -> String {
    let mut connection = Connection::open(proxy.address).await;
    connection.send(bytes.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n")).await;
    let response = String::from_utf8(connection.rest().await).expect("a text");
    response.split_once("\r\n\r\n").expect("a response").1.to_owned()
}

/// The nginx configuration from the documentation of `TrustedProxies`.
const NGINX: &str = "
server {
    listen ADDRESS;
    location / {
        proxy_pass http://UPSTREAM;
        proxy_set_header Host $host;
        proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
        proxy_set_header X-Forwarded-Proto $scheme;
    }
}
";

#[tokio::test]
#[ignore = "needs nginx"]
async fn nginx_states_its_client() {
    let proxies = || TrustedProxies::new(["127.0.0.1"]).x_forwarded();
    let server = Running::start(app().behind(proxies())).await;
    let configuration = NGINX.replace("UPSTREAM", &server.address.to_string());
    let nginx = Program::nginx(&configuration).await;
    // nginx and the test are both trusted proxies: the client is in front of them.
    for (fields, client) in [
        (&[][..], "127.0.0.1"),
        (&["x-forwarded-for: 192.0.2.1"], "192.0.2.1"),
        (&["x-forwarded-for: 198.51.100.9, 192.0.2.1"], "192.0.2.1"),
        (&["forwarded: for=192.0.2.1"], "127.0.0.1"),
    ] {
        let response = response(&nginx, &request("GET /client", fields)).await;
        let expected =
            format!("{client} over 127.0.0.1, x-forwarded-for={client} x-forwarded-proto=http");
        assert_eq!(response, expected, "{fields:?}");
    }
    // The test is a trusted proxy, and its report is malformed.
    let bytes = request("GET /client", &["x-forwarded-for: 192.0.2.1, nonsense"]);
    let refused = response(&nginx, &bytes).await;
    assert!(refused.contains("wire.forwarded-malformed"), "{refused}");
    // nginx reports plain `http`, which a deployment refuses.
    let app = app().public_origin("https://localhost").behind(proxies());
    let server = Running::start(app).await;
    drop(nginx);
    let configuration = NGINX.replace("UPSTREAM", &server.address.to_string());
    let nginx = Program::nginx(&configuration).await;
    let response = response(&nginx, &request("GET /client", &["x-forwarded-proto: https"])).await;
    assert!(response.contains("origin.plain-http"), "{response}");
}

const HAPROXY: &str = "
defaults
    mode tcp
    timeout connect 5s
    timeout client 5s
    timeout server 5s
listen front
    bind ADDRESS
    server app UPSTREAM HOW
";

#[tokio::test]
#[ignore = "needs haproxy"]
async fn haproxy_states_its_client() {
    for how in ["send-proxy", "send-proxy-v2", "send-proxy-v2-ssl-cn", "check send-proxy-v2"] {
        let server =
            Running::start(app().behind(TrustedProxies::new(["127.0.0.1"]).proxy_protocol())).await;
        let configuration = HAPROXY.replace("UPSTREAM", &server.address.to_string());
        let configuration = configuration.replace("HOW", how);
        let haproxy = Program::haproxy(&configuration).await;
        let mut connection = Connection::open_from(STRANGER, haproxy.address).await;
        connection.send(request("GET /client", &[])).await;
        assert_eq!(connection.response().await.text(), "127.0.0.2 over 127.0.0.1, ", "{how}");
    }
}

#[get("/socket")]
#[auth(public)]
#[limit(message = "1 MiB")]
async fn socket(upgrade: WebSocketUpgrade) -> Response {
    policy_tests::websocket::echo(upgrade)
}

/// Sends messages of all lengths that frames encode differently, and expects them back.
const PYTHON: &str = "
import sys
from websockets.sync.client import connect
from websockets.exceptions import InvalidStatus

url, own = sys.argv[1:]
with connect(url, origin=own, compression=None) as socket:
    for length in [0, 1, 125, 126, 65535, 65536, 1 << 20]:
        socket.send('x' * length)
        assert socket.recv() == 'x' * length, length
        socket.send(b'y' * length)
        assert socket.recv() == b'y' * length, length
    assert socket.ping().wait(10)
try:
    connect(url, origin='https://evil.example')
    raise SystemExit('it was opened for another origin')
except InvalidStatus as refused:
    assert refused.response.status_code == 403, refused
print('done')
";

#[tokio::test]
#[ignore = "needs packages of Python"]
async fn python_speaks_websockets() {
    let server = Running::start(app().routes(routes![socket])).await;
    let mut command = Command::new(installed("python/bin/python3"));
    let (url, own) =
        (format!("ws://{}/socket", server.address), format!("http://{}", server.address));
    command.args(["-c", PYTHON, &url, &own]);
    let output = run(command).await;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "done\n", "{errors}");
}
