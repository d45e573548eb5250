//! Services below a prefix.

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
    for (sent, seen) in [("/%65cho/%61", "/echo/a"), ("/echo/%c3%a4|?%61", "/echo/%C3%A4%7C?%61")] {
        assert_eq!(client.get(sent).send().await.text(), format!("GET {seen}"));
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
async fn mounts_take_encoded_slashes_where_they_say_so_and_no_path_of_another_route_is_hidden() {
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
        .mount("/read", echo())
        .mount("/write", echo().methods([Method::PUT, Method::DELETE]))
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
}

#[tokio::test]
async fn mounts_have_the_policy_of_the_app_or_their_own() {
    let client = App::new(())
        .cors(APP)
        .mount("/inherits", echo())
        .mount("/own", echo().cors(MOUNT))
        .mount("/closed", echo().no_cors())
        .test();
    for (path, expected) in [
        ("/inherits/x", &["https://app.example"][..]),
        ("/own", &["https://mount.example"]),
        ("/own/x", &["https://mount.example"]),
        ("/closed/x", &[]),
    ] {
        assert_eq!(readers(&client, path).await, expected, "{path}");
    }
    let preflight = client.options("/own/x").origin("https://mount.example");
    let preflight = preflight.header("access-control-request-method", "GET").send().await;
    assert_eq!(preflight.header("access-control-allow-methods"), Some("GET,HEAD"));
}

#[tokio::test]
async fn mounts_may_be_a_router_of_axum() {
    let router = Router::new().route(
        "/old/lamps/{id}",
        routing::get(async |axum::extract::Path(id): axum::extract::Path<u32>| id.to_string()),
    );
    let client = App::new(()).cors(APP).mount("/old", Mount::new(router).public()).test();
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
