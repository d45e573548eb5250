//! Origins that are repeated or not ASCII.

use super::*;

#[tokio::test]
async fn two_origins_make_a_refused_preflight() {
    let response = send(preflight(&[ORIGIN, ORIGIN])).await;
    assert_eq!(response.problem(), (403, "cors.preflight-origin-repeated".to_owned()));
    assert_eq!(response.sharing(), [""; 0]);
    assert_eq!(response.header("vary"), Some("accept, origin"));
}

#[tokio::test]
async fn an_origin_that_is_not_text_is_never_granted() {
    for value in [&b"https://shop.example\xff"[..], b"\xff", b"https://sh\xc3\xb6p.example", b""] {
        let field = [b"\r\norigin: ", value, b"\r\n\r\n"].concat();
        let with_origin = |text: String| [text.trim_end().as_bytes(), &field].concat();

        let response = send(with_origin(request("GET /hello", &[]))).await;
        assert_eq!((response.status, response.sharing()), (200, vec![]));
        assert_eq!(response.header("vary"), Some("origin"));

        let response = send(with_origin(preflight(&[]))).await;
        assert_eq!(response.problem(), (403, "cors.origin-not-granted".to_owned()));
        assert_eq!(response.sharing(), [""; 0]);
    }
}
