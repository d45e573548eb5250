//! The first bytes of responses.

use super::*;

#[tokio::test]
async fn status_lines_have_version_status_and_reason_phrase() {
    for (bytes, line) in [
        (request("GET /hello", &[]), "HTTP/1.1 200 OK"),
        (request("GET /nowhere", &[]), "HTTP/1.1 404 Not Found"),
        (request("POST /hello", &[]), "HTTP/1.1 405 Method Not Allowed"),
        (preflight(&[ORIGIN]), "HTTP/1.1 204 No Content"),
        (preflight(&["origin: https://evil.example"]), "HTTP/1.1 403 Forbidden"),
        (request("GET /%", &[]), "HTTP/1.1 400 Bad Request"),
        (
            "GET /hello HTTP/1.1\r\nhost: a.example\r\n\r\n".to_owned(),
            "HTTP/1.1 421 Misdirected Request",
        ),
        ("nonsense\r\n\r\n".to_owned(), "HTTP/1.1 400 Bad Request"),
    ] {
        assert_eq!(send(&bytes).await.line, line, "{bytes}");
    }
}

#[tokio::test]
async fn status_lines_are_followed_by_lower_case_headers_and_the_body() {
    let server = Running::start(app()).await;
    let mut connection = server.connect().await;
    connection.send(request("GET /hello", &[ORIGIN, "connection: close"])).await;
    let raw = String::from_utf8(connection.rest().await).unwrap();
    let (head, body) = raw.split_once("\r\n\r\n").unwrap();
    let mut lines: Vec<_> = head.split("\r\n").filter(|line| !line.starts_with("date: ")).collect();
    assert_eq!(lines.remove(0), "HTTP/1.1 200 OK");
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "access-control-allow-credentials: true",
            "access-control-allow-origin: https://shop.example",
            "connection: close",
            "content-length: 5",
            "content-type: text/plain; charset=utf-8",
            "vary: origin",
            "x-content-type-options: nosniff",
        ]
    );
    assert_eq!(body, "hello");
}
