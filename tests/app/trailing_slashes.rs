//! Paths that differ in a trailing slash.

use policy_server::TrailingSlash;

use super::{handlers::hello, *};

#[get("/users/{id}")]
#[post("/users/{id}")]
#[cors(origins = ["https://shop.example"], credentials)]
#[auth(public)]
async fn user(id: u64) -> String {
    format!("user {id}")
}

#[get("/lists/")]
#[auth(public)]
async fn lists() -> &'static str {
    "lists"
}

#[get("/files/{*path}")]
#[auth(public)]
async fn file(path: String) -> String {
    path
}

#[get("/files/payroll")]
#[auth(session)]
async fn payroll() -> &'static str {
    "salaries"
}

fn app(meaning: TrailingSlash) -> App<()> {
    let mounted = Mount::new(service_fn(async |request: Request| {
        Ok::<_, Infallible>(request.uri().path().to_owned().into_response())
    }));
    App::new(())
        .sessions(Sessions::memory())
        .routes(routes![hello, user, lists, file, payroll])
        .mount("/mounted", mounted.public().strip_prefix())
        .trailing_slash(meaning)
}

async fn got(meaning: TrailingSlash, path: &str) -> (u16, String) {
    let response = app(meaning).test().get(path).send().await;
    let text = response.header("location").map_or_else(|| response.text(), str::to_owned);
    (response.status().as_u16(), text)
}

#[tokio::test]
async fn a_slash_at_the_end_makes_another_path_by_default() {
    for path in ["/hello/", "/users/7/", "/lists"] {
        assert_eq!(
            app(TrailingSlash::Strict).test().get(path).send().await.status(),
            404,
            "{path}"
        );
    }
}

#[tokio::test]
async fn reading_is_redirected_to_the_spelling_of_the_route() {
    for (path, target) in [
        ("/hello/", "../hello"),
        ("/users/7/?a=1&b=%2F/", "../7?a=1&b=%2F/"),
        ("/lists", "./lists/"),
        ("/lists?", "./lists/?"),
        ("/users/a:b/", "../a:b"),
    ] {
        assert_eq!(got(TrailingSlash::Redirect, path).await, (308, target.to_owned()), "{path}");
    }
    let client = app(TrailingSlash::Redirect).test();
    assert_eq!(client.head("/hello/").send().await.status(), 308);
    // Both responses carry the policy of the path.
    for (method, status) in [(Method::GET, 308), (Method::POST, 404), (Method::DELETE, 404)] {
        let request = client.request(method, "/users/7/").origin("https://shop.example");
        let response = request.send().await;
        assert_eq!(response.status(), status);
        let sharing = response.header("access-control-allow-origin");
        assert_eq!(sharing, Some("https://shop.example"));
    }
    let preflight = client
        .request(Method::OPTIONS, "/users/7/")
        .origin("https://shop.example")
        .header("access-control-request-method", "POST");
    assert_eq!(preflight.send().await.status(), 204);
}

/// A browser reads `//evil.example` and `/\evil.example` as another host.
#[tokio::test]
async fn a_redirect_stays_on_its_host() {
    for path in ["//evil.example/", "//evil.example", "/%2Fevil.example/", "/\\evil.example/"] {
        let response = app(TrailingSlash::Redirect)
            .fallback(Fallback::handler(async |_| "page").public())
            .test()
            .get(path)
            .send()
            .await;
        assert!(response.header("location").is_none(), "{path}");
    }
    let (status, target) = got(TrailingSlash::Redirect, "/users/%5Cevil.example/").await;
    assert_eq!((status, &*target), (308, "../%5Cevil.example"));
}

#[tokio::test]
async fn both_spellings_are_the_same_resource() {
    for (path, text) in [
        ("/hello", "hello"),
        ("/hello/", "hello"),
        ("/users/7", "user 7"),
        ("/users/7/", "user 7"),
        ("/lists", "lists"),
        ("/lists/", "lists"),
    ] {
        assert_eq!(got(TrailingSlash::Same, path).await, (200, text.to_owned()), "{path}");
    }
}

/// With strict slashes, the wildcard route serves the other spelling, and a notice at start says
/// so.
#[tokio::test]
async fn a_guarded_path_is_guarded_in_both_spellings() {
    for (meaning, status) in
        [(TrailingSlash::Strict, 200), (TrailingSlash::Redirect, 308), (TrailingSlash::Same, 401)]
    {
        assert_eq!(got(meaning, "/files/payroll").await.0, 401);
        assert_eq!(got(meaning, "/files/payroll/").await.0, status, "{meaning:?}");
    }
}

#[tokio::test]
async fn mounts_receive_trailing_slashes_unchanged() {
    for meaning in [TrailingSlash::Strict, TrailingSlash::Redirect, TrailingSlash::Same] {
        for (path, text) in [
            ("/files/a", "a"),
            ("/files/a/", "a/"),
            ("/files/a%20b/c/", "a b/c/"),
            ("/mounted", "/"),
            ("/mounted/", "/"),
            ("/mounted/a", "/a"),
            ("/mounted/a/", "/a/"),
        ] {
            assert_eq!(got(meaning, path).await, (200, text.to_owned()), "{meaning:?} {path}");
        }
        assert_eq!(got(meaning, "/files/").await.0, 404);
    }
}

#[get("/hello/")]
#[auth(public)]
async fn with_slash() {}

#[post("/lists")]
#[auth(public)]
async fn other_method() {}

#[test]
fn two_policies_for_two_spellings_do_not_start() {
    for meaning in [TrailingSlash::Redirect, TrailingSlash::Same] {
        for routes in [routes![with_slash], routes![other_method]] {
            let error = app(meaning).routes(routes).check().unwrap_err().to_string();
            assert!(error.contains("route.conflict"), "{error}");
        }
    }
    let strict = app(TrailingSlash::Strict).routes(routes![with_slash, other_method]);
    assert!(strict.check().is_ok());
}
