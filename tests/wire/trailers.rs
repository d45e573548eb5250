//! Trailers (RFC 9110 6.5, RFC 9112 7.1.2).

use ::http::{HeaderMap, HeaderValue};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use policy_server::Body;

use super::*;

/// Returns the trailers of a request as those of the response.
#[post("/sum")]
#[auth(public)]
async fn sum(body: Body) -> Response {
    let collected = body.collect().await.expect("a body");
    let sum = collected.trailers().and_then(|trailers| trailers.get("x-sum")).cloned();
    let mut trailers = HeaderMap::new();
    trailers.insert("x-sum", sum.unwrap_or(HeaderValue::from_static("none")));
    let frames = [Frame::data(collected.to_bytes()), Frame::trailers(trailers)];
    let body = StreamBody::new(futures_util::stream::iter(frames.map(Ok::<_, std::io::Error>)));
    ([("trailer", "x-sum")], Body::new(body)).into_response()
}

const BODY: &str = "5\r\nhello\r\n0\r\nx-sum: 42\r\n\r\n";

async fn post_sum(fields: &[&str]) -> String {
    let server = Running::start(App::new(()).routes(routes![hello, sum])).await;
    let mut connection = server.connect().await;
    let fields = [&["transfer-encoding: chunked", "connection: close"], fields].concat();
    connection.send(request("POST /sum", &fields) + BODY).await;
    let text = String::from_utf8(connection.rest().await).expect("a text");
    assert_serving(&server).await;
    text
}

#[tokio::test]
async fn trailers_reach_handlers_and_clients_that_accept_them() {
    let text = post_sum(&["te: trailers"]).await;
    assert!(text.ends_with("5\r\nhello\r\n0\r\nx-sum: 42\r\n\r\n"), "{text}");
    assert!(text.contains("\r\ntrailer: x-sum\r\n"), "{text}");
}

/// RFC 9110 6.5.1: without `TE: trailers`, a client gets none.
#[tokio::test]
async fn trailers_of_a_response_are_left_out_for_others() {
    let text = post_sum(&[]).await;
    assert!(text.ends_with("5\r\nhello\r\n0\r\n\r\n"), "{text}");
}
