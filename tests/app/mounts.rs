//! Services below a prefix.

use futures_util::stream;
use policy_server::PolicyLayer;
use policy_tests::handlers::login;
use tower::Layer;

use super::*;

const MOUNT: CorsPolicy = CorsPolicy::origins(&["https://mount.example"]).build();

fn echo() -> Mount {
    Mount::new(service_fn(async |request: Request| {
        let text = format!("{} {}", request.method(), request.uri());
        let forged = ("access-control-allow-origin", "https://evil.example");
        Ok::<_, Infallible>(([forged], text).into_response())
    }))
    .public()
}

#[tokio::test]
async fn mounts_get_every_path_below_their_prefix_in_its_normal_form() {
    let client = App::new(()).routes(routes![plain]).mount("/echo", echo()).test();
    for path in ["/echo", "/echo/", "/echo/a", "/echo/a/b%2Bc?d=%2e"] {
        assert_eq!(client.get(path).send().await.text(), format!("GET {path}"));
    }
    for (sent, received) in
        [("/%65cho/%61", "/echo/a"), ("/echo/%c3%a4|?%61", "/echo/%C3%A4%7C?%61")]
    {
        assert_eq!(client.get(sent).send().await.text(), format!("GET {received}"));
    }
    for path in ["/", "/echoes", "/ech"] {
        assert_eq!(client.get(path).send().await.status(), 404, "{path}");
    }
    for path in
        ["/echo/../plain", "/echo/%2e%2e/plain", "/echo/%", "/echo/%00", "/echo//a", "/echo/a%2Fb"]
    {
        assert_eq!(client.get(path).send().await.status(), 400, "{path}");
    }
}

#[tokio::test]
async fn mounts_accept_encoded_slashes_by_opt_in_and_hide_no_route() {
    #[get("/echo/guarded/x")]
    #[auth(public)]
    async fn guarded() -> &'static str {
        "guarded"
    }

    let echo = echo().encoded_slashes();
    let client = App::new(()).routes(routes![guarded]).mount("/echo", echo).test();
    assert_eq!(client.get("/echo/a%2fb%5Cc").send().await.text(), "GET /echo/a%2Fb%5Cc");
    assert_eq!(client.get("/echo/guarded/x").send().await.text(), "guarded");
    for path in ["/echo/guarded%2Fx", "/echo/%2fguarded%5cx", "/echo/guarded/%2F%2Fx", "/echo%2Fa"]
    {
        let response = client.get(path).send().await;
        let problem: serde_json::Value = response.json();
        assert_eq!(
            (response.status().as_u16(), problem["code"].as_str()),
            (400, Some("wire.path-encoded-slash")),
            "{path}"
        );
    }
}

#[tokio::test]
async fn mounts_serve_the_methods_that_they_say() {
    let client = App::new(())
        .mount("/read", echo().policies(Policies::new().cors(MOUNT)))
        .mount("/write", echo().methods([Method::PUT, Method::DELETE]))
        .mount("/closed", echo())
        .test();
    let put = client.put("/write/x").send().await;
    assert_eq!(put.text(), "PUT /write/x");
    for (response, allow) in [
        (client.put("/read/x").send().await, "GET, HEAD, OPTIONS"),
        (client.get("/write/x").send().await, "DELETE, OPTIONS, PUT"),
    ] {
        assert_eq!((response.status().as_u16(), response.header("allow")), (405, Some(allow)));
    }
    let head = client.head("/read/x").send().await;
    assert_eq!((head.status().as_u16(), head.text()), (200, String::new()));
    let preflight = client.options("/read/x").origin("https://mount.example");
    let preflight = preflight.header("access-control-request-method", "GET").send().await;
    assert_eq!(preflight.header("access-control-allow-methods"), Some("GET,HEAD"));
    // Whatever the service writes.
    for path in ["/read", "/read/x"] {
        assert_eq!(readers(&client, path).await, ["https://mount.example"], "{path}");
    }
    assert_eq!(readers(&client, "/closed/x").await, [""; 0]);
}

/// Services remove the body themselves, and with it its length (RFC 9110 8.6).
#[tokio::test]
async fn head_of_a_service_has_no_length_of_0() {
    let router = || {
        let chunks = async || Body::from_stream(stream::iter(["chunk"].map(Ok::<_, Infallible>)));
        Router::new().route("/chunks", routing::get(chunks))
    };
    let app = || App::new(());
    let layer = PolicyLayer::builder().build().expect("no policy");
    for (client, path) in [
        (app().mount("/m", Mount::new(router()).public().strip_prefix()).test(), "/m/chunks"),
        (app().fallback(Fallback::new(router()).public()).test(), "/chunks"),
        (TestClient::new(layer.layer(router()), "localhost"), "/chunks"),
    ] {
        let head = client.head(path).send().await;
        assert_eq!((head.status().as_u16(), head.header("content-length")), (200, None), "{path}");
    }
}

#[tokio::test]
async fn mounts_may_be_a_router_of_axum() {
    let router = Router::new().route(
        "/old/lamps/{id}",
        routing::get(async |axum::extract::Path(id): axum::extract::Path<u32>| id.to_string()),
    );
    let client = App::new(())
        .policies(Policies::new().cors(APP))
        .mount("/old", Mount::new(router).public())
        .test();
    assert_eq!(client.get("/old/lamps/7").send().await.text(), "7");
    assert_eq!(client.get("/old/nothing").send().await.status(), 404);
    assert_eq!(readers(&client, "/old/nothing").await, ["https://app.example"]);
}

#[tokio::test]
async fn mounts_leave_routes_below_them_to_their_handlers() {
    let group = Group::new().routes(routes![plain, matched]);
    let client = App::new(()).mount("/echo", echo()).group("/echo", group).test();
    assert_eq!(client.get("/echo/plain").send().await.text(), "plain");
    assert_eq!(client.get("/echo/matched/x").send().await.text(), "/echo/matched/{name} x");
    assert_eq!(client.get("/echo/other").send().await.text(), "GET /echo/other");
}

#[tokio::test]
async fn a_mount_gets_paths_without_its_prefix_where_it_says_so() {
    let group = Group::new().mount("/inner", echo().strip_prefix());
    let app = App::new(()).mount("/echo", echo().strip_prefix()).group("/outer", group);
    let server = Running::start(app).await;
    for (path, received) in [
        ("/echo", "/"),
        ("/echo/", "/"),
        ("/echo?a=/b", "/?a=/b"),
        ("/echo/a/b%2Bc?d=%2e", "/a/b%2Bc?d=%2e"),
        ("/%65cho/a", "/a"),
        ("/outer/inner/a", "/a"),
        ("/outer/inner", "/"),
    ] {
        let response = server.response(&request(&format!("GET {path}"), &[])).await;
        assert_eq!(response.text(), format!("GET {received}"), "{path}");
    }
}

#[tokio::test]
async fn all_methods_are_one_word() {
    #[any("/handler/{id}")]
    #[auth(public)]
    async fn any_method(id: u64, request: Request) -> String {
        format!("{} {id}", request.method())
    }

    let app = App::new(())
        .policies(Policies::new().cors(EVERYBODY))
        .routes(routes![any_method])
        .mount("/mount", echo().all_methods());
    let server = Running::start(app).await;
    let evil = "origin: https://evil.example";
    for path in ["/handler/7", "/mount"] {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "QUERY"] {
            let line = format!("{method} {path}");
            let empty = ["content-length: 0", "content-type: application/json"];
            let response = server.response(&request(&line, &empty)).await;
            assert_eq!(response.status, 200, "{line}");
            assert!(response.text().starts_with(method), "{line} {response:?}");
            let preflight = [evil, &format!("access-control-request-method: {method}")];
            let line = format!("OPTIONS {path}");
            assert_eq!(server.response(&request(&line, &preflight)).await.status, 204, "{line}");
        }
        let mut connection = server.connect().await;
        connection.send(request(&format!("HEAD {path}"), &[])).await;
        assert_eq!(connection.head().await.status, 200, "{path}");
        let options = server.response(&request(&format!("OPTIONS {path}"), &[])).await;
        let allow = Some("DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT, QUERY");
        assert_eq!((options.status, options.header("allow")), (204, allow), "{path}");
        let unknown = server.response(&request(&format!("BREW {path}"), &[])).await;
        assert_eq!(unknown.status, 501, "{path}");
    }
}

/// Unsafe requests get the CSRF check, whichever attribute or constructor names their methods.
#[tokio::test]
async fn all_methods_get_the_csrf_check() {
    #[any("/any")]
    #[auth(session)]
    async fn guarded() {}

    let app = App::new(()).sessions(Sessions::memory()).routes(routes![guarded, login]);
    let mount = echo().all_methods().auth(AuthRequirement::session());
    let client = app.mount("/mount", mount).test();
    let login = client.post("/login").origin("http://localhost").send().await;
    let cookie = login.header("set-cookie").expect("a cookie").split(';').next().expect("a pair");
    for path in ["/any", "/mount"] {
        for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            let request = client.request(method.clone(), path).header("cookie", cookie);
            let response = request.origin("https://evil.example").send().await;
            assert_eq!(response.status(), 403, "{method} {path}");
        }
        let response = client.get(path).header("cookie", cookie).send().await;
        assert_eq!(response.status(), 200, "{path}");
    }
}

#[tokio::test]
async fn mounts_make_problems_of_errors_in_plain_text_where_they_say_so() {
    let service = || {
        Mount::new(service_fn(async |request: Request| {
            let dated = [("allow", "GET"), ("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT")];
            let gzip = [("content-encoding", "gzip")];
            let text = [
                ("content-digest", "sha-256=:AAAA:"),
                ("content-location", "/gone.txt"),
                ("etag", "\"a\""),
            ];
            Ok::<_, Infallible>(match request.uri().path() {
                "/old/gone" => (StatusCode::GONE, text, "sold out").into_response(),
                "/old/coded" => (StatusCode::GONE, gzip, "encoded").into_response(),
                "/old/bare" => (StatusCode::METHOD_NOT_ALLOWED, dated).into_response(),
                "/old/down" => (StatusCode::SERVICE_UNAVAILABLE, "disk 3 is gone").into_response(),
                "/old/json" => (StatusCode::GONE, Json("sold out")).into_response(),
                _ => "hello".into_response(),
            })
        }))
        .public()
    };
    let client = App::new(()).mount("/old", service().problems()).test();
    for (path, status, title, detail) in [
        ("/old/gone", 410, "Gone", Some("sold out")),
        ("/old/bare", 405, "Method Not Allowed", None),
        ("/old/down", 503, "Service Unavailable", None),
    ] {
        let response = client.get(path).send().await;
        assert_eq!(response.header("content-type"), Some("application/problem+json"), "{path}");
        let problem: serde_json::Value = response.json();
        assert_eq!((response.status().as_u16(), problem["title"].as_str()), (status, Some(title)));
        assert_eq!(problem["detail"].as_str(), detail, "{path}");
        assert_eq!(response.header("allow").is_some(), path == "/old/bare");
        for name in ["content-digest", "content-location", "etag", "last-modified"] {
            assert_eq!(response.header(name), None, "{path} {name}");
        }
    }
    for (path, text) in
        [("/old/json", "\"sold out\""), ("/old/coded", "encoded"), ("/old/", "hello")]
    {
        assert_eq!(client.get(path).send().await.text(), text);
    }
    let unchanged = App::new(()).mount("/old", service()).test();
    assert_eq!(unchanged.get("/old/gone").send().await.text(), "sold out");
}
