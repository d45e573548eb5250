//! Long paths, encoded paths, and paths that lead elsewhere.

use super::*;

#[tokio::test]
async fn paths_are_long_as_long_as_the_head_has_room() {
    let long = "x".repeat(60_000);
    let response = send(request(&format!("GET /names/{long}"), &[])).await;
    assert_eq!((response.status, response.text()), (200, &*long));
}

#[tokio::test]
async fn paths_of_100_000_bytes_are_too_long() {
    let bytes = request(&format!("GET /{}", "x".repeat(100_000)), &[]);
    let response = send(&bytes).await;
    assert!(matches!(response.status, 414 | 431), "{response:?}");
    // Where the head is within its limit, the target is not.
    let settings = ServerSettings::default().header_limit(200_000);
    let response = send_with(app().settings(settings), &bytes).await;
    assert_eq!(response.line, "HTTP/1.1 414 URI Too Long");
}

#[tokio::test]
async fn paths_are_decoded_once_and_after_they_were_matched() {
    for (path, text) in [
        ("/names/a%2fb", "a/b"),
        ("/names/a%2Fb", "a/b"),
        ("/names/%2f", "/"),
        ("/names/%252f", "%2f"),
        ("/names/%252e%252e", "%2e%2e"),
        ("/names/%c3%b6", "ö"),
        ("/names/...", "..."),
        ("/files/a%2F%2fb", "a//b"),
        ("/n%61mes/%61", "a"),
        ("/names/a|b", "a|b"),
    ] {
        let response = send(request(&format!("GET {path}"), &[])).await;
        assert_eq!((response.status, response.text()), (200, text), "{path}");
    }
}

#[tokio::test]
async fn paths_that_are_not_percent_encoded_text_are_refused() {
    for path in [
        "/names/%00",
        "/names/a%00b",
        "/names/%",
        "/names/%4",
        "/names/%zz",
        "/names/%u0041",
        "/names/%ff",
        "/names/%c3%28",
        "/names/%ed%a0%80",
        "/names/%c0%ae",
        "/%",
    ] {
        let response = send(request(&format!("GET {path}"), &[ORIGIN])).await;
        assert_eq!(response.problem(), (400, "wire.path-encoding".to_owned()), "{path}");
    }
}

#[tokio::test]
async fn paths_with_control_characters_are_refused() {
    for path in ["/names/a%0d%0ab", "/names/%1f", "/names/%7F", "/names/%c2%85"] {
        let response = send(request(&format!("GET {path}"), &[ORIGIN])).await;
        assert_eq!(response.problem(), (400, "wire.path-encoding".to_owned()), "{path}");
    }
}

#[tokio::test]
async fn paths_with_empty_segments_are_refused() {
    for path in ["//", "//hello", "/files//a", "/files/a//", "/hello//"] {
        let response = send(request(&format!("GET {path}"), &[ORIGIN])).await;
        assert_eq!(response.problem(), (400, "wire.path-empty-segment".to_owned()), "{path}");
    }
}

#[tokio::test]
async fn encoded_slashes_are_refused_unless_a_parameter_accepts_them() {
    for path in ["/hello%2F", "/%2fhello", "/lamps/1%2f2", "/no%5cwhere", "/no\\where"] {
        let response = send(request(&format!("GET {path}"), &[ORIGIN])).await;
        assert_eq!(response.problem(), (400, "wire.path-encoded-slash".to_owned()), "{path}");
    }
}

#[tokio::test]
async fn paths_with_dot_segments_are_refused() {
    for path in [
        "/files/../secret",
        "/files/./a",
        "/..",
        "/files/..",
        "/names/%2e%2e",
        "/names/%2E.",
        "/files/..%2fsecret",
        "/files/a/%2e%2e%2fb",
        "/files/..%5csecret",
        "/files/%2e/a",
    ] {
        let response = send(request(&format!("GET {path}"), &[ORIGIN])).await;
        assert_eq!(response.problem(), (400, "wire.path-dot-segment".to_owned()), "{path}");
    }
}

#[tokio::test]
async fn paths_with_bytes_that_no_path_has_are_no_requests() {
    for path in [&b"/names/a\0b"[..], b"/names/a\x7fb", b"/names/a\x01b"] {
        let bytes = [b"GET ", path, b" HTTP/1.1\r\nhost: localhost\r\n\r\n"].concat();
        assert_eq!(send(bytes).await.line, "HTTP/1.1 400 Bad Request");
    }
}
