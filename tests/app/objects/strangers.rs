//! A stranger gets the same response as for an object that does not exist.

use super::*;

/// The actions that each caller has on the first order: `View` decides before the action.
#[tokio::test]
async fn view_is_asked_before_the_action() {
    let (server, _) = serving().await;
    let body = ["content-type: application/json", "content-length: 3"];
    for (caller, view, edit, delete, refund) in [
        ("ada", 200, 200, 200, 403),
        ("bob;company=acme", 200, 403, 200, 403),
        ("bob;company=acme;role=lead", 200, 200, 200, 403),
        ("bob;company=acme;scope=refund", 200, 403, 200, 200),
        ("mallory;company=acme;scope=refund", 200, 403, 200, 403),
        ("rita", 200, 403, 200, 403),
        // Without the right to see the object, no action is allowed, even if its rule holds for
        // anyone.
        ("bob;company=globex;role=lead;scope=refund", 404, 404, 404, 404),
        ("bob", 404, 404, 404, 404),
        ("ADA", 404, 404, 404, 404),
        ("ad", 404, 404, 404, 404),
        ("adam", 404, 404, 404, 404),
    ] {
        for (what, status) in [
            ("GET /orders/3", view),
            ("DELETE /orders/3", delete),
            ("POST /orders/3/refund", refund),
        ] {
            let response = send(&server, what, Some(caller), &[]).await;
            assert_eq!(response.status, status, "{what} {caller} {response:?}");
        }
        let caller = format!("x-caller: {caller}");
        let change = request("PUT /orders/3", &[&body[..], &[&caller]].concat()) + "\"x\"";
        assert_eq!(server.response(change).await.status, edit, "{caller}");
    }
}

#[tokio::test]
async fn what_is_refused_is_named_and_private() {
    let (server, _) = serving().await;
    let unseen = send(&server, "GET /orders/1", Some("eve"), &[]).await;
    assert_eq!(unseen.problem(), (404, "object.not-found".to_owned()));
    let denied = send(&server, "POST /orders/1/refund", Some("ada"), &[]).await;
    assert_eq!(denied.problem(), (403, "object.denied".to_owned()));
    for (response, cached) in [(unseen, "private, no-cache"), (denied, "no-store")] {
        assert_eq!(response.header("cache-control"), Some(cached));
        assert_eq!(response.header("etag"), None);
        assert_eq!(response.header("accept-ranges"), None);
    }
}

/// Everything that a stranger can vary, with an order of someone else and with none.
#[tokio::test]
async fn a_strangers_object_is_like_none() {
    const JSON: &str = "content-type: application/json";
    let (server, orders) = serving().await;
    let mut compared = 0;
    for caller in [Some("eve"), Some("eve;company=globex;role=lead;scope=refund"), Some(""), None] {
        let caller = caller.map(|caller| format!("x-caller: {caller}"));
        for (method, path) in [
            ("GET", "/orders/#"),
            ("HEAD", "/orders/#"),
            ("PUT", "/orders/#"),
            ("DELETE", "/orders/#"),
            ("POST", "/orders/#/refund"),
            ("GET", "/maybe/#"),
            ("HEAD", "/maybe/#"),
            ("GET", "/open/#"),
            ("HEAD", "/open/#"),
            ("DELETE", "/open/#"),
        ] {
            for fields in [
                &[][..],
                &["range: bytes=0-1"],
                &["range: bytes=900-"],
                &["if-match: \"3\""],
                &["if-match: \"9\""],
                &["if-match: *"],
                &["if-none-match: *"],
                &["if-none-match: \"3\""],
                &["if-unmodified-since: Sun, 06 Nov 1994 08:49:37 GMT"],
                &["if-modified-since: Sun, 06 Nov 2094 08:49:37 GMT"],
                &["accept: image/png"],
                &["origin: http://localhost"],
                &["origin: https://evil.example", "sec-fetch-site: cross-site"],
            ] {
                // No body, a good one, one that is no JSON, and one of another type.
                for (of_body, body) in [
                    (&[][..], ""),
                    (&[JSON], "\"x\""),
                    (&[JSON], "{"),
                    (&["content-type: text/plain"], "x"),
                ] {
                    let caller = caller.as_deref().into_iter();
                    let fields: Vec<_> =
                        fields.iter().chain(of_body).copied().chain(caller).collect();
                    let mut responses = Vec::new();
                    for id in ["1", "99"] {
                        let what = format!("{method} {}", path.replace('#', id));
                        let bytes = match body {
                            "" => request(&what, &fields),
                            body => with_body(&what, &fields, body),
                        };
                        let before = orders.loads();
                        let mut connection = server.connect().await;
                        connection.send(&bytes).await;
                        let response = match method {
                            "HEAD" => connection.head().await,
                            _ => connection.response().await,
                        };
                        let loads = orders.loads() - before;
                        responses.push((
                            response.line.clone(),
                            response.lines(),
                            response.body,
                            loads,
                        ));
                    }
                    assert_eq!(responses[0], responses[1], "{method} {path} {fields:?}");
                    if responses[0].0.ends_with("404 Not Found") {
                        assert_eq!(responses[0].3, 1);
                        compared += 1;
                    }
                }
            }
        }
    }
    assert!(compared > 1000, "only {compared} were about an object");
}

/// A malformed key is refused before anything is loaded, for every caller.
#[tokio::test]
async fn keys_that_do_not_parse() {
    let (server, orders) = serving().await;
    for caller in ["ada", "eve"] {
        for key in ["x", "-1", "1.0", "18446744073709551616", "%31%20"] {
            let response = send(&server, &format!("GET /orders/{key}"), Some(caller), &[]).await;
            assert_eq!(response.status, 400, "{key} {response:?}");
        }
    }
    assert_eq!(orders.loads(), 0);
}

/// Nothing is loaded for a request that a gate refuses.
#[tokio::test]
async fn gates_are_before_objects() {
    let (server, orders) = serving().await;
    let response = send(&server, "GET /orders/1", None, &[]).await;
    assert_eq!(response.status, 401);
    let response = send(&server, "GET /orders/x", None, &[]).await;
    assert_eq!(response.status, 401);
    assert_eq!(orders.loads(), 0);
}

/// The body is read after the objects are loaded: a caller without the right to them learns nothing
/// about it.
#[tokio::test]
async fn objects_are_before_bodies() {
    let (server, _) = serving().await;
    for (caller, id, status) in
        [("ada", 1, 415), ("rita", 1, 403), ("eve", 1, 404), ("ada", 99, 404)]
    {
        let caller = format!("x-caller: {caller}");
        let what = format!("PUT /orders/{id}");
        let response = server.response(with_body(&what, &[&caller], "{")).await;
        assert_eq!(response.status, status, "{caller} {id}");
    }
}
