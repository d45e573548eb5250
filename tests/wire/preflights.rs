//! Preflights that request too much, or nothing.

use super::*;

#[tokio::test]
async fn preflights_with_empty_list_members_get_one_response() {
    let plain = send(preflight(&[ORIGIN])).await;
    assert_eq!(
        plain.lines(),
        [
            "access-control-allow-credentials: true",
            "access-control-allow-headers: authorization,content-type,x-csrf-token,x-lamp",
            "access-control-allow-methods: PUT",
            "access-control-allow-origin: https://shop.example",
            "access-control-max-age: 0",
            "vary: origin",
        ]
    );
    let commas = format!("access-control-request-headers: {}", ",".repeat(32 * 1024));
    let response = send(preflight(&[ORIGIN, &commas])).await;
    assert_eq!((response.status, response.lines()), (204, plain.lines()));
}

#[tokio::test]
async fn preflights_with_more_commas_than_a_head_has_bytes_are_not_read() {
    let commas = |count| format!("access-control-request-headers: {}", ",".repeat(count));
    // The limit is checked between reads, so a head slightly above it may still be accepted.
    let response = send(preflight(&[ORIGIN, &commas(64 << 10)])).await;
    assert!(matches!(response.status, 204 | 431), "{response:?}");
    let response = send(preflight(&[ORIGIN, &commas(256 << 10)])).await;
    assert_eq!(response.line, "HTTP/1.1 431 Request Header Fields Too Large");
}

#[tokio::test]
async fn preflights_ask_for_exactly_one_method() {
    for fields in [
        &["access-control-request-method: GET", "access-control-request-method: PUT"][..],
        &["access-control-request-method:"],
        &["access-control-request-method: GET, PUT"],
        &["access-control-request-method: G\tT"],
    ] {
        let response = send(request("OPTIONS /hello", &[&[ORIGIN], fields].concat())).await;
        assert_eq!(
            response.problem(),
            (403, "cors.request-method-malformed".to_owned()),
            "{fields:?}"
        );
    }
}
