//! Responses to preflights, header by header.

use super::*;

#[get("/orders/{id}")]
#[cors(origins = ["https://route.example", "https://*.partner.example"], credentials, headers = ["x-b", "X-A"], expose = ["etag"], max_age = 600)]
#[auth(public)]
async fn order(id: u32) -> String {
    id.to_string()
}

#[route(PUT, PURGE, "/orders/{id}")]
#[cors(origins = ["https://*.partner.example", "https://route.example"], credentials, headers = ["x-a", "x-b"])]
#[auth(public)]
async fn change(id: u32) -> String {
    id.to_string()
}

/// Shared with other origins, so its preflight does not hold for the other methods.
#[delete("/orders/{id}")]
#[cors(origins = ["https://admin.example"], max_age = -1)]
#[auth(public)]
async fn remove(id: u32) -> String {
    id.to_string()
}

#[post("/open")]
#[cors(origins = ["*"], headers = ["*"], methods = ["*"], max_age = 0)]
#[auth(public)]
async fn open() {}

#[post("/named")]
#[cors(origins = ["https://route.example"], methods = ["PUT", "patch", "get"])]
#[auth(public)]
async fn named() {}

#[options("/options")]
#[get("/options")]
#[cors(origins = ["https://route.example"])]
#[auth(public)]
async fn own_options() -> &'static str {
    "my own"
}

#[tokio::test]
async fn preflights_have_exactly_these_headers() {
    let server = Running::start(App::new(()).routes(routes![
        order,
        change,
        remove,
        open,
        named,
        own_options
    ]))
    .await;
    let shared = [
        "access-control-allow-credentials: true",
        "access-control-allow-headers: content-type,x-a,x-b",
        "access-control-allow-methods: GET,HEAD,PURGE,PUT",
    ];
    let order = [
        &shared[..],
        &[
            "access-control-allow-origin: https://route.example",
            // The route declares 600, but DELETE of the same path is shared differently.
            "access-control-max-age: 0",
            "vary: origin",
        ],
    ]
    .concat();
    let change = [
        &shared[..],
        &[
            "access-control-allow-origin: https://a.partner.example",
            "access-control-max-age: 0",
            "vary: origin",
        ],
    ]
    .concat();
    for (path, method, origin, expected) in [
        ("/orders/7", "GET", "https://route.example", order.clone()),
        ("/orders/7", "HEAD", "https://route.example", order),
        ("/orders/7", "PUT", "https://a.partner.example", change.clone()),
        ("/orders/x", "PURGE", "https://a.partner.example", change),
        (
            "/orders/7",
            "DELETE",
            "https://admin.example",
            vec![
                "access-control-allow-headers: content-type",
                "access-control-allow-methods: DELETE",
                "access-control-allow-origin: https://admin.example",
                "access-control-max-age: 0",
                "vary: origin",
            ],
        ),
        (
            "/open",
            "POST",
            "https://any.example",
            vec![
                "access-control-allow-headers: *",
                "access-control-allow-methods: *",
                "access-control-allow-origin: *",
                "access-control-max-age: 0",
            ],
        ),
        (
            "/named",
            "DELETE",
            "https://route.example",
            vec![
                "access-control-allow-methods: GET,PUT,patch",
                "access-control-allow-origin: https://route.example",
                "vary: origin",
            ],
        ),
        (
            "/options",
            "GET",
            "https://route.example",
            vec![
                "access-control-allow-methods: GET,HEAD,OPTIONS",
                "access-control-allow-origin: https://route.example",
                "vary: origin",
            ],
        ),
    ] {
        let fields =
            [&format!("origin: {origin}"), &*format!("access-control-request-method: {method}")];
        let response = server.response(request(&format!("OPTIONS {path}"), &fields)).await;
        assert_eq!((response.status, &*response.body), (204, &b""[..]));
        assert_eq!(response.lines(), expected, "{method} {path}");
    }
}

#[get("/listed")]
#[auth(public)]
async fn listed() {}

/// Otherwise a page would see `TypeError: Failed to fetch` instead of the router's 404 or 405.
#[tokio::test]
async fn preflights_without_a_route_let_the_page_read_the_reason() {
    let app = || App::new(()).policies(Policies::new().cors(APP)).routes(routes![listed]);
    let client = app().test();
    for (method, path, status) in [
        ("PUT", "/nowhere", 404),
        ("GET", "/nowhere", 404),
        ("DELETE", "/listed", 405),
        ("PATCH", "/listed/", 404),
    ] {
        let preflight = |client: &TestClient, origin: &str| {
            client
                .request(Method::OPTIONS, path)
                .origin(origin)
                .header("access-control-request-method", method)
        };
        let granted = preflight(&client, "https://app.example").send().await;
        assert_eq!(granted.status(), 204, "{method} {path}");
        assert_eq!(granted.header("access-control-allow-origin"), Some("https://app.example"));
        assert_eq!(granted.header("access-control-allow-methods"), Some(method));
        let headers = granted.header("access-control-allow-headers").unwrap();
        assert!(headers.contains("authorization"), "{headers}");
        assert_eq!(headers.contains("content-type"), method != "GET", "{headers}");
        assert_eq!(granted.header("access-control-max-age"), Some("0"));
        let request = client.request(method.parse().unwrap(), path).origin("https://app.example");
        let response = request.send().await;
        assert_eq!(response.status(), status);
        assert_eq!(response.header("access-control-allow-origin"), Some("https://app.example"));

        let refused = preflight(&client, "https://evil.example").send().await;
        assert_eq!(refused.status(), 403, "{method} {path}");
        assert_eq!(refused.header("access-control-allow-origin"), None);
        // Without a policy, nothing is shared.
        let unshared =
            preflight(&App::new(()).routes(routes![listed]).test(), "https://app.example");
        let unshared = unshared.send().await;
        assert!(path != "/listed" || unshared.status() == 403, "{unshared:?}");
        assert_eq!(unshared.header("access-control-allow-origin"), None);
    }
    // Non-standard methods are not reflected, and a fallback takes every method.
    let with_fallback = app().fallback(Fallback::handler(async |_| "page").public()).test();
    for (client, method, path) in
        [(&client, "BREW", "/nowhere"), (&client, "BREW", "/listed"), (&with_fallback, "PUT", "/a")]
    {
        let preflight = client
            .request(Method::OPTIONS, path)
            .origin("https://app.example")
            .header("access-control-request-method", method);
        let response = preflight.send().await;
        let methods = response.header("access-control-allow-methods").unwrap_or_default();
        assert!(!methods.contains(method), "{method} {path}: {methods}");
    }
}

/// Methods are case-sensitive (RFC 9110 9.1). Browsers write `get`, `put` and some others in upper case
/// before they ask (Fetch 2.2.1), and `patch` as the script has it.
#[tokio::test]
async fn a_method_in_lower_case_is_another_method() {
    let client = App::new(()).routes(routes![order, change, remove]).test();
    for lower in ["get", "put", "delete", "patch"] {
        for origin in ["https://route.example", "https://a.partner.example"] {
            let preflight = client.options("/orders/7").origin(origin);
            let response = preflight.header("access-control-request-method", lower).send().await;
            let methods = response.header("access-control-allow-methods").unwrap_or_default();
            assert!(methods.split(',').all(|method| method != lower), "{lower}: {methods}");
        }
        let method = Method::from_bytes(lower.as_bytes()).expect("a method");
        let response = client.request(method, "/orders/7").send().await;
        assert!([405, 501].contains(&response.status().as_u16()), "{lower}: {response:?}");
    }
}
