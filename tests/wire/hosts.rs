//! The host names that the server accepts, and others.

use super::*;

async fn get(app: App<()>, fields: &str) -> RawResponse {
    send_with(app, format!("GET /hello HTTP/1.1\r\n{fields}\r\n")).await
}

#[tokio::test]
async fn hosts_are_named_exactly_once() {
    for (fields, code) in [
        ("", "wire.host-missing"),
        ("host: localhost\r\nhost: localhost\r\n", "wire.host-repeated"),
        ("host: localhost\r\nhost: a.example\r\n", "wire.host-repeated"),
        ("host:\r\n", "wire.host-malformed"),
        ("host: local host\r\n", "wire.host-malformed"),
        ("host: localhost:\r\n", "wire.host-malformed"),
        ("host: localhost:99999\r\n", "wire.host-malformed"),
        ("host: localhost:80:80\r\n", "wire.host-malformed"),
        ("host: http://localhost\r\n", "wire.host-malformed"),
        ("host: [::1\r\n", "wire.host-malformed"),
        ("host: localhost, a.example\r\n", "wire.host-malformed"),
    ] {
        let response = get(app(), fields).await;
        assert_eq!(response.problem(), (400, code.to_owned()), "{fields:?}");
        assert_eq!(response.sharing(), [""; 0]);
    }
    let response = send(b"GET /hello HTTP/1.1\r\nhost: localhost\xff\r\n\r\n").await;
    assert_eq!(response.problem(), (400, "wire.host-malformed".to_owned()));
}

/// Load balancers and orchestrators send different hosts: HAProxy's `httpchk` and old scripts
/// HTTP/1.0 without a host, kubelet and cloud load balancers the address of the process, and
/// clients of Unix sockets the socket's path.
#[tokio::test]
async fn hosts_of_health_probes_are_any_or_none() {
    let apps = [app(), app().public_origin("https://api.example")];
    for app in apps.map(|app| app.health("/healthz").readiness("/readyz")) {
        let server = Running::start(app).await;
        for (head, fields) in [
            ("GET /healthz HTTP/1.0", ""),
            ("GET /readyz HTTP/1.0", ""),
            ("GET /healthz HTTP/1.0", "host: 10.244.0.5\r\n"),
            ("GET /healthz HTTP/1.1", "host: 10.244.0.5:8000\r\nuser-agent: kube-probe/1.33\r\n"),
            ("GET /healthz HTTP/1.1", "host: [fd00::5]:8000\r\n"),
            (
                "GET /healthz HTTP/1.1",
                "host: 10.0.1.7:8080\r\nuser-agent: ELB-HealthChecker/2.0\r\n",
            ),
            ("GET /healthz HTTP/1.1", "host: 35.191.0.1\r\nuser-agent: GoogleHC/1.0\r\n"),
            ("GET /healthz HTTP/1.1", "host: /run/app.sock\r\n"),
            ("GET /healthz HTTP/1.1", "host: %2Frun%2Fapp.sock\r\n"),
            ("GET /healthz HTTP/1.1", "host:\r\n"),
            ("GET http://10.0.1.7/healthz HTTP/1.1", "host: 10.0.1.7:8080\r\n"),
            ("GET https://10.0.1.7/healthz HTTP/1.1", "host: 10.0.1.7\r\n"),
            ("GET /healthz HTTP/1.1", "host: a\r\nx-forwarded-proto: http\r\n"),
        ] {
            let bytes = format!("{head}\r\n{fields}\r\n");
            let response = server.response(bytes).await;
            assert_eq!(response.status, 200, "{head} {fields}");
        }
        // RFC 9112 3.2 demands 400 for these, and no prober sends them.
        for (fields, code) in
            [("", "wire.host-missing"), ("host: a\r\nhost: b\r\n", "wire.host-repeated")]
        {
            let response = server.response(format!("GET /healthz HTTP/1.1\r\n{fields}\r\n")).await;
            assert_eq!(response.problem(), (400, code.to_owned()));
        }
        // Any other request needs the server's own host, to show that it is meant for it.
        let response = server.response("GET /hello HTTP/1.0\r\n\r\n").await;
        assert_eq!(response.problem(), (400, "wire.host-missing".to_owned()));
    }
}

/// RFC 9110 7.4, and a defence against DNS rebinding.
#[tokio::test]
async fn hosts_are_loopback_hosts_in_development() {
    for host in ["localhost", "LocalHost:81", "127.0.0.1", "[::1]:8080", "shop.localhost"] {
        assert_eq!(get(app(), &format!("host: {host}\r\n")).await.status, 200, "{host}");
    }
    for host in ["a.example", "localhost.a.example", "10.0.0.1", "[::2]", "127.0.0.1.a.example"] {
        let response = get(app(), &format!("host: {host}\r\n{ORIGIN}\r\n")).await;
        assert_eq!(response.problem(), (421, "origin.host-not-loopback".to_owned()), "{host}");
        assert_eq!(response.sharing(), [""; 0]);
    }
}

#[tokio::test]
async fn hosts_behind_a_proxy_are_none_in_development() {
    for field in [
        "forwarded: for=192.0.2.1",
        "x-forwarded-for: 192.0.2.1",
        "X-Forwarded-Host: a",
        "x-forwarded-proto:",
    ] {
        let response = get(app(), &format!("host: localhost\r\n{field}\r\n")).await;
        assert_eq!(
            response.problem(),
            (421, "origin.forwarded-in-development".to_owned()),
            "{field}"
        );
    }
}

#[tokio::test]
async fn hosts_are_the_public_origin_in_a_deployment() {
    let server = Running::start(app().public_origin("https://api.example")).await;
    for (host, status) in [
        ("api.example", 200),
        ("API.example:443", 200),
        ("api.example\r\nx-forwarded-for: 192.0.2.1", 200),
        ("api.example:8443", 421),
        ("localhost", 421),
        ("127.0.0.1", 421),
        ("api.example.evil.example", 421),
        ("api.example.", 421),
    ] {
        let bytes = format!("GET /hello HTTP/1.1\r\nhost: {host}\r\n\r\n");
        let response = server.response(bytes).await;
        assert_eq!(response.status, status, "{host}");
        if status == 421 {
            assert_eq!(response.problem().1, "origin.host-unknown");
        }
    }
    assert_eq!(server.panics(), 0);
}
