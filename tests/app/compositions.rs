//! Groups, fallbacks, layers, and an app inside of axum.

use policy_tests::handlers::peer;

use super::*;

#[tokio::test]
async fn groups_put_their_prefix_before_every_path() {
    let group = || Group::new().routes(routes![root, plain, matched]);
    let client =
        App::new(()).routes(routes![root]).group("/api", group()).group("/api/v2", group()).test();
    for (path, text) in [
        ("/", "root"),
        ("/api", "root"),
        ("/api/plain", "plain"),
        ("/api/v2", "root"),
        ("/api/v2/matched/x", "/api/v2/matched/{name} x"),
    ] {
        assert_eq!(client.get(path).send().await.text(), text, "{path}");
    }
    for path in ["/api/", "/plain", "/api/v2/"] {
        assert_eq!(client.get(path).send().await.status(), 404, "{path}");
    }
}

#[tokio::test]
async fn unrouted_requests_reach_the_fallback() {
    let fallback =
        async |request: Request| (StatusCode::NOT_FOUND, format!("no {}", request.uri().path()));
    let client = App::new(())
        .policies(Policies::new().cors(APP))
        .routes(routes![plain])
        .fallback(Fallback::handler(fallback).public())
        .test();
    let response = client.get("/lamp").origin("https://app.example").send().await;
    assert_eq!((response.status().as_u16(), response.text()), (404, "no /lamp".to_owned()));
    assert_eq!(readers(&client, "/lamp").await, ["https://app.example"]);
    // A known path has its own responses.
    assert_eq!(client.post("/plain").send().await.status(), 405);
    assert_eq!(client.get("/plain").send().await.text(), "plain");
}

fn marked(name: &'static str) -> MapResponseLayer<impl Fn(Response) -> Response + Clone> {
    MapResponseLayer::new(move |mut response: Response| {
        let value = policy_server::http::HeaderValue::from_static(name);
        response.headers_mut().append("x-layer", value);
        response
    })
}

#[tokio::test]
async fn apps_with_layers_are_wrapped_from_the_first_to_the_last() {
    let app = App::new(()).policies(Policies::new().cors(APP)).routes(routes![plain, matched]);
    let client = app.layer(marked("inner")).layer(marked("outer")).test();
    for path in ["/plain", "/nowhere", "/%"] {
        let response = client.get(path).send().await;
        assert_eq!(response.header_all("x-layer"), ["inner", "outer"], "{path}");
    }
    assert_eq!(readers(&client, "/plain").await, ["https://app.example"]);
    assert_eq!(client.get("/matched/x").send().await.text(), "/matched/{name} x");
}

#[tokio::test]
async fn apps_with_layers_resolve_client_and_host() {
    let app = App::new(()).routes(routes![peer, plain]).layer(marked("one"));
    let server = Running::start(app).await;
    let mut connection = server.connect().await;
    connection.send(request("GET /peer", &[])).await;
    let own = connection.stream.local_addr().unwrap().to_string();
    assert_eq!(connection.response().await.text(), own);
    let foreign = "GET /plain HTTP/1.1\r\nhost: a.example\r\n\r\n";
    assert_eq!(server.response(foreign).await.status, 421);
}

#[tokio::test]
async fn apps_with_a_layer_that_panics_serve_on() {
    let broken = MapResponseLayer::new(|response: Response| {
        assert_ne!(response.status(), 404, "a panic on purpose");
        response
    });
    let server = Running::start(App::new(()).routes(routes![plain]).layer(broken)).await;
    let response = server.response(request("GET /nowhere", &[])).await;
    assert_eq!(response.problem(), (500, "handler.failed".to_owned()));
    assert_eq!(server.response(request("GET /plain", &[])).await.text(), "plain");
}

#[tokio::test]
async fn apps_are_services_inside_of_axum() {
    let inner = || {
        App::new(()).policies(Policies::new().cors(APP)).routes(routes![root, plain]).into_service()
    };
    let router = Router::new()
        .route("/axum", routing::get(async || "axum"))
        .nest_service("/nested", inner())
        .fallback_service(inner());
    let client = TestClient::new(router, "localhost");
    for (path, text) in
        [("/axum", "axum"), ("/plain", "plain"), ("/nested/plain", "plain"), ("/nested", "root")]
    {
        assert_eq!(client.get(path).send().await.text(), text, "{path}");
    }
    assert_eq!(readers(&client, "/plain").await, ["https://app.example"]);
    assert_eq!(readers(&client, "/nowhere").await, ["https://app.example"]);
    assert_eq!(readers(&client, "/axum").await, [""; 0]);
    // The gates of the app apply there too.
    let foreign = client.get("/plain").header("host", "a.example").send().await;
    assert_eq!(foreign.status(), 421);
}

/// For each kind of target, and also where the route refuses the caller.
#[tokio::test]
async fn a_layer_around_an_app_sees_the_route_of_a_response() {
    #[get("/accounts/{id}")]
    #[auth(session)]
    #[object(none = "a test of something else")]
    async fn account(id: u64) -> String {
        id.to_string()
    }

    let name = |mut response: Response| async {
        let route =
            response.extensions().get::<MatchedRoute>().map(|route| route.path().to_owned());
        let route = route.unwrap_or_else(|| "none".to_owned());
        response.headers_mut().insert("x-route", route.parse().expect("a path"));
        response
    };
    let files = Mount::new(service_fn(async |_request: Request| {
        Ok::<_, Infallible>(Response::new(Body::empty()))
    }));
    let app = App::new(())
        .sessions(Sessions::memory())
        .group("/a", Group::new().routes(routes![account, plain]))
        .mount("/files", files.public())
        .layer(axum::middleware::map_response(name));
    let client = app.test();
    for (path, route) in [
        ("/a/plain", "/a/plain"),
        ("/a/accounts/7", "/a/accounts/{id}"),
        ("/files/x", "/files/{*path}"),
        ("/nowhere", "none"),
    ] {
        let response = client.get(path).send().await;
        assert_eq!(response.header("x-route"), Some(route), "{path}");
    }
    let preflight = client.options("/a/plain").origin("https://a.example");
    let preflight = preflight.header("access-control-request-method", "GET").send().await;
    assert_eq!(preflight.header("x-route"), Some("none"));
}
