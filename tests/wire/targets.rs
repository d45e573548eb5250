//! The four forms of a request target (RFC 9112 3.2).

use super::*;

fn raw(line: &str, fields: &str) -> String {
    format!("{line} HTTP/1.1\r\n{fields}\r\n")
}

#[tokio::test]
async fn targets_in_absolute_form_are_served_for_the_own_host() {
    for (line, host) in [
        ("GET http://localhost/hello", "host: localhost\r\n"),
        ("GET http://LOCALHOST/hello", "host: localhost\r\n"),
        ("GET http://127.0.0.1:8080/hello", "host: 127.0.0.1:8080\r\n"),
    ] {
        let response = send(raw(line, host)).await;
        assert_eq!((response.status, response.text()), (200, "hello"), "{line}");
    }
}

#[tokio::test]
async fn targets_in_absolute_form_for_another_host_are_refused() {
    for (line, host, status, code) in [
        ("GET http://a.example/hello", "a.example", 421, "origin.host-not-loopback"),
        ("GET http://a.example/hello", "localhost", 400, "wire.host-malformed"),
        ("GET http://localhost/hello", "a.example", 400, "wire.host-malformed"),
        ("GET http://a@localhost/hello", "a@localhost", 400, "wire.host-malformed"),
    ] {
        let response = send(raw(line, &format!("host: {host}\r\n"))).await;
        assert_eq!(response.problem(), (status, code.to_owned()), "{line} {host}");
    }
}

/// RFC 9110 7.4: over plain HTTP a server is no authority for `https`, or for anything else.
#[tokio::test]
async fn targets_in_absolute_form_have_the_scheme_of_their_connection() {
    for (line, status, code) in [
        ("GET https://localhost/hello", 421, "origin.scheme-mismatch"),
        ("GET HTTPS://localhost/hello", 421, "origin.scheme-mismatch"),
        ("GET ftp://localhost/hello", 400, "wire.scheme-unknown"),
        ("GET wss://localhost/hello", 400, "wire.scheme-unknown"),
    ] {
        let response = send(raw(line, "host: localhost\r\n")).await;
        assert_eq!(response.problem(), (status, code.to_owned()), "{line}");
    }
}

/// RFC 9112 3.2: 400 to any HTTP/1.1 request without Host.
#[tokio::test]
async fn targets_in_absolute_form_need_a_host_all_the_same() {
    let response = send(raw("GET http://localhost/hello", "")).await;
    assert_eq!(response.problem(), (400, "wire.host-missing".to_owned()));
}

#[tokio::test]
async fn targets_in_asterisk_form_are_for_options() {
    let response = send(request("OPTIONS *", &[])).await;
    assert_eq!((response.status, response.body), (204, vec![]));
    let response =
        send(request("OPTIONS *", &[ORIGIN, "access-control-request-method: PUT"])).await;
    assert_eq!((response.status, response.sharing()), (204, vec![]));
    for method in ["GET", "POST"] {
        let mut response = send(request(&format!("{method} *"), &[])).await;
        if method != "HEAD" {
            response.body.clear();
        }
        assert_eq!(response.status, 400, "{method}");
    }
}

/// RFC 9112 3.2: a target has no fragment. The parser removes it, so that neither a gate nor a
/// handler sees it.
#[tokio::test]
async fn targets_with_a_fragment_are_served_without_it() {
    for (target, body) in [
        ("/names/lamp#x", "lamp"),
        ("/names/lamp#/../../hello", "lamp"),
        ("/names/lamp#?x=1", "lamp"),
        ("http://localhost/names/lamp#@a.example/hello", "lamp"),
    ] {
        let response = send(raw(&format!("GET {target}"), "host: localhost\r\n")).await;
        assert_eq!((response.status, response.text()), (200, body), "{target}");
    }
    // The host ends where the fragment begins.
    let target = "GET http://a.example#@localhost/hello";
    assert_eq!(send(raw(target, "host: localhost\r\n")).await.status, 400);
}

#[tokio::test]
async fn targets_in_authority_form_are_refused() {
    for line in ["CONNECT localhost:80", "CONNECT a.example:443", "GET localhost:80"] {
        let response = send(raw(line, "host: localhost\r\n")).await;
        assert_eq!(response.status, 400, "{line}");
    }
}
