//! Heads that are invalid or too large.

use super::*;

#[tokio::test]
async fn heads_that_are_no_http_are_answered_with_400_or_not_at_all() {
    let server = Running::start(app()).await;
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"[..],
        b"GET /hello\r\n\r\n",
        b"GET /hello HTTP/9.9\r\nhost: localhost\r\n\r\n",
        b"GET  /hello HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET /hello HTTP/1.1\r\nhost: localhost\r\nno colon\r\n\r\n",
        b"GET /hello HTTP/1.1\r\nhost: localhost\r\nx y: z\r\n\r\n",
        b"GET /hello HTTP/1.1\r\nhost: localhost\r\nx: a\r\n folded\r\n\r\n",
        b"GET /hello HTTP/1.1\r\nhost: localhost\r\nx: a\0b\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n no settings",
    ] {
        let mut connection = server.connect().await;
        connection.send(bytes).await;
        let rest = connection.rest().await;
        let refused =
            rest.is_empty() || rest.starts_with(b"HTTP/1.1 400 ") || rest.starts_with(b"\0\0");
        assert!(refused, "`{}` got `{}`", bytes.escape_ascii(), rest.escape_ascii());
    }
    assert_serving(&server).await;
}

#[tokio::test]
async fn heads_of_too_many_fields_are_not_read() {
    let fields: Vec<_> = (0..200).map(|n| format!("x-{n}: 1")).collect();
    let fields: Vec<_> = fields.iter().map(String::as_str).collect();
    assert_eq!(send(request("GET /hello", &fields)).await.status, 431);
}
