//! Layers of groups and of routes: behind the gates, inside the protections.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use policy_server::extract::MatchedRoute;
use policy_tests::handlers::login;
use tower::{Layer, Service, layer::layer_fn, util::MapRequestLayer};

use super::*;

/// Counts the requests that reach it, and writes its name onto requests and responses.
#[derive(Clone)]
struct Mark(&'static str, Arc<AtomicUsize>);

#[derive(Clone)]
struct Marked<S> {
    inner: S,
    mark: Mark,
}

impl<S> Layer<S> for Mark {
    type Service = Marked<S>;

    fn layer(&self, inner: S) -> Marked<S> {
        Marked { inner, mark: self.clone() }
    }
}

impl<S> Service<Request> for Marked<S>
where
    S: Service<Request, Response = Response, Error = Infallible, Future: Send + 'static>,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        let Mark(name, seen) = self.mark.clone();
        seen.fetch_add(1, Ordering::Relaxed);
        request.headers_mut().append("x-mark", name.parse().expect("a value"));
        let response = self.inner.call(request);
        Box::pin(async move {
            let mut response = response.await?;
            response.headers_mut().append("x-mark", name.parse().expect("a value"));
            Ok(response)
        })
    }
}

fn marks(headers: &http::HeaderMap) -> String {
    let marks: Vec<_> =
        headers.get_all("x-mark").iter().map(|mark| mark.to_str().expect("text")).collect();
    marks.join(" ")
}

fn once(name: &'static str) -> Mark {
    Mark(name, Arc::default())
}

#[get("/plain/{id}")]
#[auth(public)]
async fn unwrapped(id: u64, headers: http::HeaderMap) -> String {
    format!("{id} {}", marks(&headers))
}

#[get("/wrapped/{id}")]
#[auth(public)]
#[layer(once("outer"), once("inner"))]
async fn wrapped(id: u64, headers: http::HeaderMap) -> String {
    format!("{id} {}", marks(&headers))
}

#[get("/secret")]
#[post("/secret")]
#[auth(session)]
#[layer(once("route"))]
async fn secret(me: Principal) -> String {
    me.subject().to_owned()
}

fn echo() -> Mount {
    Mount::new(service_fn(async |request: Request| {
        Ok::<_, Infallible>(marks(request.headers()).into_response())
    }))
    .public()
}

#[tokio::test]
async fn layers_of_a_group_wrap_those_of_a_route_and_the_first_is_outermost() {
    let group = Group::new()
        .layer(once("near"))
        .layer(once("far"))
        .routes(routes![unwrapped, wrapped])
        .mount("/mount", echo());
    let app = App::new(()).routes(routes![wrapped]).group("/g", group).mount("/mount", echo());
    let server = Running::start(app).await;
    for (path, on_request, on_response) in [
        ("/g/plain/7", "7 far near", &["near", "far"][..]),
        ("/g/wrapped/7", "7 far near outer inner", &["inner", "outer", "near", "far"]),
        ("/g/mount", "far near", &["near", "far"]),
        ("/wrapped/7", "7 outer inner", &["inner", "outer"]),
        ("/mount", "", &[]),
    ] {
        let response = server.response(&request(&format!("GET {path}"), &[])).await;
        assert_eq!((response.status, response.text()), (200, on_request), "{path}");
        let marks = response.headers.iter().filter(|(name, _)| name == "x-mark");
        let marks: Vec<_> = marks.map(|(_, value)| value.as_str()).collect();
        assert_eq!(marks, on_response, "{path}");
    }
}

#[tokio::test]
async fn only_admitted_requests_reach_a_layer_and_its_responses_are_protected() {
    let seen = Arc::new(AtomicUsize::new(0));
    let group = Group::new().layer(Mark("group", Arc::clone(&seen))).routes(routes![secret]);
    let app =
        App::new(()).sessions(Sessions::memory()).policies(Policies::new().cors(EVERYBODY_OF_APP));
    let client = app.routes(routes![login]).group("/g", group).test();
    let refused = [
        client.get("/g/secret"),
        client.get("/g/secret").header("cookie", "__Host-sid=x"),
        client.put("/g/secret"),
        client
            .options("/g/secret")
            .origin("https://app.example")
            .header("access-control-request-method", "GET"),
    ];
    for request in refused {
        let response = request.send().await;
        assert_eq!(response.header("x-mark"), None, "{response:?}");
    }
    let login = client.post("/login").origin("http://localhost").send().await;
    let cookie = login.header("set-cookie").expect("a cookie").split(';').next().expect("a pair");
    let forged = client.post("/g/secret").header("cookie", cookie).origin("https://evil.example");
    assert_eq!(forged.send().await.status(), 403);
    assert_eq!(seen.load(Ordering::Relaxed), 0);

    let own = client.get("/g/secret").header("cookie", cookie).origin("https://app.example");
    let response = own.send().await;
    assert_eq!((response.text().as_str(), seen.load(Ordering::Relaxed)), ("ada", 1));
    assert_eq!(response.header("cache-control"), Some("private, no-cache"));
    assert_eq!(response.header("access-control-allow-origin"), Some("https://app.example"));
    assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
}

const EVERYBODY_OF_APP: CorsPolicy =
    CorsPolicy::origins(&["https://app.example"]).credentials().build();

/// The layer responds itself, fails, and panics.
#[tokio::test]
async fn responses_of_a_layer_have_the_policies_of_the_route() {
    #[get("/quota")]
    #[cors(origins = ["https://app.example"])]
    #[auth(public)]
    #[layer(layer_fn(|_inner: policy_server::SharedService| service_fn(quota)))]
    async fn limited() {}

    async fn quota(request: Request) -> Result<Response, String> {
        match request.uri().query() {
            Some("panic") => panic!("a layer"),
            Some("error") => Err("a layer".to_owned()),
            _ => Ok((StatusCode::PAYMENT_REQUIRED, "no quota").into_response()),
        }
    }

    let client = App::new(()).routes(routes![limited]).test();
    for (path, status) in [("/quota", 402), ("/quota?error", 500), ("/quota?panic", 500)] {
        let response = client.get(path).origin("https://app.example").send().await;
        assert_eq!(response.status(), status, "{path}");
        let origin = response.header("access-control-allow-origin");
        assert_eq!(origin, Some("https://app.example"), "{path}");
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"), "{path}");
    }
}

#[tokio::test]
async fn a_layer_changes_the_request_of_the_handler_but_not_the_decision() {
    #[any("/items/{id}")]
    #[auth(public)]
    #[layer(MapRequestLayer::new(forge))]
    async fn item(id: u64, method: Method, route: MatchedRoute, request: Request) -> String {
        let field = request.headers()["x-forged"].to_str().expect("text").to_owned();
        format!("{id} {method} {} {} {field}", route.path(), request.uri())
    }

    fn forge(mut request: Request) -> Request {
        *request.method_mut() = Method::DELETE;
        *request.uri_mut() = "/other/8".parse().expect("a path");
        request.headers_mut().insert("x-forged", http::HeaderValue::from_static("yes"));
        request
    }

    let client = App::new(()).routes(routes![item]).test();
    let response = client.get("/items/7?a=b").send().await;
    assert_eq!(response.text(), "7 GET /items/{id} /items/7?a=b yes");
}

#[tokio::test]
async fn layers_of_a_fallback_are_behind_its_gates() {
    let seen = Arc::new(AtomicUsize::new(0));
    let forge = MapRequestLayer::new(|mut request: Request| {
        *request.uri_mut() = "/other".parse().expect("a path");
        request
    });
    let fallback = Fallback::handler(async |request: Request| {
        format!("{} {}", request.uri(), marks(request.headers()))
    });
    let near = Mark("near", Arc::clone(&seen));
    let fallback =
        fallback.layer(near).layer(once("far")).layer(forge).auth(AuthRequirement::session());
    let app =
        App::new(()).sessions(Sessions::memory()).policies(Policies::new().cors(EVERYBODY_OF_APP));
    let client = app.routes(routes![login]).fallback(fallback).test();
    let refused = client.get("/nowhere").origin("https://app.example").send().await;
    assert_eq!((refused.status().as_u16(), seen.load(Ordering::Relaxed)), (401, 0));

    let login = client.post("/login").origin("http://localhost").send().await;
    let cookie = login.header("set-cookie").expect("a cookie").split(';').next().expect("a pair");
    let request = client.get("/nowhere?a").header("cookie", cookie);
    let response = request.origin("https://app.example").send().await;
    assert_eq!(response.text(), "/nowhere?a far near");
    assert_eq!(marks(response.headers()), "near far");
    assert_eq!(response.header("access-control-allow-origin"), Some("https://app.example"));
    assert_eq!(response.header("cache-control"), Some("private, no-cache"));
}

/// One limit for all routes of the group, as for a layer around a router.
#[tokio::test]
async fn a_layer_of_a_group_is_one_for_all_its_routes() {
    let layer_count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&layer_count);
    let count = layer_fn(move |inner: policy_server::SharedService| {
        counted.fetch_add(1, Ordering::Relaxed);
        inner
    });
    let group = Group::new().layer(count).routes(routes![unwrapped, wrapped]).mount("/m", echo());
    let client = App::new(()).group("/g", group).test();
    assert_eq!(client.get("/g/m").send().await.status(), 200);
    assert_eq!(layer_count.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_layer_that_replaces_the_request_gets_500() {
    #[get("/anew")]
    #[auth(public)]
    #[layer(MapRequestLayer::new(|_request: Request| Request::new(Body::empty())))]
    async fn anew() {}

    let client = App::new(()).routes(routes![anew]).test();
    assert_eq!(client.get("/anew").send().await.status(), 500);
}
