//! HEAD, OPTIONS, and methods that a path does not serve.

use super::*;

#[tokio::test]
async fn head_is_answered_as_get_without_its_body() {
    let server = Running::start(app()).await;
    let mut connection = server.connect().await;
    for path in [
        "/hello",
        "/orders?lamps=3",
        "/orders",
        "/moved",
        "/unchanged",
        "/nothing",
        "/missing",
        "/nowhere",
        "/panic",
        "/stream",
        "/echo",
    ] {
        connection.send(get(path)).await;
        let of_get = connection.answer().await;
        connection.send(get(path).replace("GET ", "HEAD ")).await;
        // Bytes of a body would be read as the next answer's head.
        let of_head = connection.head().await;
        assert_eq!(of_head.line, of_get.line, "{path}");
        // RFC 9112 6.1 allows to leave this one out.
        let mut lines = of_get.lines();
        lines.retain(|line| line != "transfer-encoding: chunked");
        let mut lines_of_head = of_head.lines();
        lines_of_head.retain(|line| line != "transfer-encoding: chunked");
        assert_eq!(lines_of_head, lines, "{path}");
    }
    assert_hello(&mut connection).await;
}

#[tokio::test]
async fn options_is_answered_with_what_the_path_serves() {
    let server = Running::start(app()).await;
    for (path, allow) in [
        ("/hello", "DELETE, GET, HEAD, OPTIONS"),
        ("/orders", "GET, HEAD, OPTIONS, POST"),
        ("/echo", "OPTIONS, POST"),
    ] {
        let answer = server.answer(request(&format!("OPTIONS {path}"), &[ORIGIN])).await;
        assert_eq!((answer.status, answer.header("allow")), (204, Some(allow)), "{path}");
        assert_eq!(answer.sharing(), SHARING);
        assert_eq!(answer.header("content-length"), None);
    }
}

#[tokio::test]
async fn that_a_path_does_not_serve_are_refused_with_those_that_it_does() {
    let server = Running::start(app()).await;
    for (line, allow) in [
        ("POST /hello", "DELETE, GET, HEAD, OPTIONS"),
        ("GET /echo", "OPTIONS, POST"),
        ("TRACE /echo", "OPTIONS, POST"),
    ] {
        let answer = server.answer(request(line, &[ORIGIN])).await;
        assert_eq!(answer.problem(), (405, "route.method-not-allowed".to_owned()), "{line}");
        assert_eq!(answer.header("allow"), Some(allow));
        assert_eq!(answer.sharing(), SHARING);
    }
    for line in ["PURGE /echo", "get /hello"] {
        let answer = server.answer(request(line, &[ORIGIN])).await;
        assert_eq!(answer.problem(), (501, "route.method-unknown".to_owned()), "{line}");
        assert_eq!(answer.sharing(), SHARING);
    }
}
