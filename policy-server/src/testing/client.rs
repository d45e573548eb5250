//! Sends requests to a service in the same process, for tests.

use std::{any::Any, fmt};

use axum_core::{body::Body, extract::Request};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri,
    header::{CONTENT_TYPE, HOST, ORIGIN},
};
use http_body_util::BodyExt;
use policy_core::head::OwnOrigin;
use serde::{Serialize, de::DeserializeOwned};

use super::{Browser, Network, TestPage};
use crate::{
    app::App,
    build::{self, Plan},
    handler::service::{HttpService, SharedService},
    pipeline::service::AppService,
};

/// Sends requests to a service without a socket: [`App::test`](crate::App::test) makes one for
/// an app, [`new`](Self::new) for any service, such as an axum router.
///
/// It is a program and not a browser: it sends exactly the request of the test, follows no redirect,
/// keeps no cookie, and shows every header of a response, whatever the policy. [`page`](Self::page) is
/// a page in a browser, which keeps cookies, sends `Origin`, and shows what a page may read.
///
/// ```
/// use policy_server::prelude::*;
///
/// #[get("/")]
/// #[cors(origins = ["https://app.example"])]
/// #[auth(public)]
/// async fn index() -> &'static str {
///     "hello"
/// }
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let client = App::new(()).routes(routes![index]).test();
/// let response = client.get("/").origin("https://app.example").send().await;
/// assert_eq!(response.status(), 200);
/// assert_eq!(response.text(), "hello");
/// assert_eq!(response.header("access-control-allow-origin"), Some("https://app.example"));
/// # });
/// ```
#[derive(Clone)]
pub struct TestClient {
    service: SharedService,
    host: String,
    /// The service, if it is an app.
    app: Option<AppService>,
    /// The browser of its pages.
    browser: Browser,
}

impl<S> App<S> {
    /// Builds the app as a `tower::Service` for a test; panics with all start problems if there are
    /// any. Sessions, tokens and shared limits are kept in memory, whatever stores the app states; only
    /// a session store of the application is kept.
    ///
    /// ```
    /// use policy_server::{prelude::*, testing::TestClient};
    ///
    /// #[get("/")]
    /// #[auth(public)]
    /// async fn index() -> &'static str {
    ///     "hello"
    /// }
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// # runtime.block_on(async {
    /// let inner = App::new(()).routes(routes![index]).into_service();
    /// let router = axum::Router::new().nest_service("/app", inner);
    /// let response = TestClient::new(router, "localhost").get("/app/").send().await;
    /// assert_eq!(response.text(), "hello");
    /// # });
    /// ```
    ///
    /// # Panics
    ///
    /// If the app has problems, with all of them.
    #[track_caller]
    #[expect(clippy::panic, reason = "a test stops with the words of the errors")]
    pub fn into_service(mut self) -> AppService {
        self.parts.is_tested = true;
        match build::compile(self.parts).and_then(Plan::in_memory) {
            Ok(service) => service,
            Err(error) => panic!("{error}"),
        }
    }

    /// A client that calls the app without a socket. Requests name the public origin's host,
    /// or `localhost`.
    ///
    /// # Panics
    ///
    /// As [`into_service`](Self::into_service).
    #[track_caller]
    pub fn test(self) -> TestClient {
        let service = self.into_service();
        let host = service.authority().unwrap_or("localhost").to_owned();
        TestClient::new(service, host)
    }
}

/// The requests of a client with one of these methods.
macro_rules! requests {
    ($($(#[$doc:meta])* $name:ident: $method:ident;)*) => { $(
        $(#[$doc])*
        ///
        /// # Panics
        ///
        /// As [`request`](Self::request).
        #[track_caller]
        pub fn $name(&self, path: &str) -> TestRequest {
            self.request(Method::$method, path)
        }
    )* };
}

impl TestClient {
    /// A client of `service`, whose requests are for `host`.
    pub fn new(service: impl HttpService, host: impl Into<String>) -> Self {
        let app = (&service as &dyn Any).downcast_ref::<AppService>().cloned();
        let browser = Browser::chromium();
        Self { service: SharedService::with_own_tags(service), host: host.into(), app, browser }
    }

    /// A page at this address that calls the service with `fetch()`. All pages of a client are in one
    /// browser, so that they share its cookies; [`another_browser`](Self::another_browser) is for
    /// another user.
    ///
    /// ```
    /// use policy_server::{prelude::*, testing::Omit};
    ///
    /// #[get("/prices")]
    /// #[cors(origins = ["https://app.shop.example"])]
    /// #[auth(public)]
    /// async fn prices() -> &'static str {
    ///     "12"
    /// }
    ///
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// # runtime.block_on(async {
    /// let client = App::new(()).public_origin("https://api.shop.example").routes(routes![prices]).test();
    /// let page = client.page("https://app.shop.example");
    /// assert_eq!(page.get("/prices").credentials(Omit).send().await.text(), "12");
    /// let page = client.page("https://evil.example");
    /// assert!(page.get("/prices").credentials(Omit).send().await.is_blocked());
    /// # });
    /// ```
    ///
    /// # Panics
    ///
    /// If `address` is not a URL.
    #[track_caller]
    pub fn page(&self, address: &str) -> TestPage {
        let origin = self.origin();
        let net = Network::new().host(&origin, self.service.clone());
        TestPage { tab: self.browser.open(address), net, origin, app: self.app.clone() }
    }

    /// A client of the same service whose pages are in a new browser, for another user.
    #[must_use]
    pub fn another_browser(&self) -> Self {
        Self { browser: Browser::chromium(), ..self.clone() }
    }

    /// The origin under which browsers reach the service.
    fn origin(&self) -> String {
        match self.app.as_ref().map(|app| &app.app().own_origin) {
            Some(OwnOrigin::Public(origin)) => origin.as_str().to_owned(),
            Some(OwnOrigin::Development) => format!("http://{}", self.host),
            None if self.host.starts_with("localhost") => format!("http://{}", self.host),
            None => format!("https://{}", self.host),
        }
    }

    requests! {
        /// A GET request for a path, with its query if it has one.
        get: GET;
        /// A POST request.
        post: POST;
        /// A PUT request.
        put: PUT;
        /// A PATCH request.
        patch: PATCH;
        /// A QUERY request (RFC 10008): the path, and the query as the body.
        query: QUERY;
        /// A DELETE request.
        delete: DELETE;
        /// A HEAD request.
        head: HEAD;
        /// An OPTIONS request.
        options: OPTIONS;
    }

    /// A request for any target: a path with or without a query, an absolute URI, or `*`.
    ///
    /// # Panics
    ///
    /// If `target` is none of these.
    #[track_caller]
    pub fn request(&self, method: Method, target: &str) -> TestRequest {
        let uri = valid(target.parse::<Uri>(), "request target", target.as_bytes());
        let mut request = Request::new(Body::empty());
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        TestRequest { request, service: self.service.clone(), host: self.host.clone() }
    }

    /// Sends a prepared request, and reads the whole response.
    ///
    /// # Panics
    ///
    /// As [`TestRequest::send`].
    pub async fn send(&self, request: http::Request<impl Into<Body>>) -> TestResponse {
        let (service, host) = (self.service.clone(), self.host.clone());
        TestRequest { request: request.map(Into::into), service, host }.send().await
    }
}

impl fmt::Debug for TestClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestClient").field("host", &self.host).finish_non_exhaustive()
    }
}

/// A request that is about to be sent.
#[must_use = "it is sent by `send().await`"]
pub struct TestRequest {
    request: Request,
    service: SharedService,
    host: String,
}

impl TestRequest {
    /// Adds a header; a second one with the same name adds another line. `Host` defaults to the
    /// client's host. The value may be any bytes that are valid in a header.
    ///
    /// # Panics
    ///
    /// If the name or the value is invalid in a header.
    #[track_caller]
    pub fn header(mut self, name: impl AsRef<str>, value: impl AsRef<[u8]>) -> Self {
        let (name, value) = (name.as_ref(), value.as_ref());
        let header = valid(name.parse::<HeaderName>(), "header name", name.as_bytes());
        let value = valid(HeaderValue::from_bytes(value), "header value", value);
        self.request.headers_mut().append(header, value);
        self
    }

    /// Adds the `Origin` of the page that sends the request.
    ///
    /// # Panics
    ///
    /// If the origin is invalid in a header.
    #[track_caller]
    pub fn origin(self, origin: impl AsRef<[u8]>) -> Self {
        self.header(ORIGIN, origin)
    }

    /// Sends a value as JSON; `Content-Type` is `application/json` unless one was added before.
    ///
    /// # Panics
    ///
    /// If the value cannot be written as JSON.
    #[track_caller]
    #[expect(clippy::panic, reason = "a panic reports the mistake to the test")]
    pub fn json(self, value: &(impl Serialize + ?Sized)) -> Self {
        match serde_json::to_vec(value) {
            Ok(body) => self.default_type("application/json").body(body),
            Err(error) => panic!("the value cannot be written as JSON: {error}"),
        }
    }

    /// Sends a value as a form; `Content-Type` is `application/x-www-form-urlencoded` unless one
    /// was added before.
    ///
    /// # Panics
    ///
    /// If the value cannot be written as a form.
    #[track_caller]
    #[expect(clippy::panic, reason = "a panic reports the mistake to the test")]
    pub fn form(self, value: &(impl Serialize + ?Sized)) -> Self {
        match serde_html_form::to_string(value) {
            Ok(body) => self.default_type("application/x-www-form-urlencoded").body(body),
            Err(error) => panic!("the value cannot be written as a form: {error}"),
        }
    }

    /// Sends this body.
    pub fn body(mut self, body: impl Into<Body>) -> Self {
        *self.request.body_mut() = body.into();
        self
    }

    /// Makes the value available to `Extension` extractors and layers, as a layer would.
    pub fn extension<T: Clone + Send + Sync + 'static>(mut self, value: T) -> Self {
        self.request.extensions_mut().insert(value);
        self
    }

    /// Sends the request and reads the whole response.
    ///
    /// # Panics
    ///
    /// If the body of the response fails, or the client's host is invalid in a header.
    #[expect(clippy::panic, reason = "a panic reports the failure to the test")]
    pub async fn send(mut self) -> TestResponse {
        if !self.request.headers().contains_key(HOST) {
            let host = HeaderValue::from_str(&self.host);
            let host = valid(host, "host", self.host.as_bytes());
            self.request.headers_mut().insert(HOST, host);
        }
        let (head, body) = self.service.run(self.request).await.into_parts();
        match body.collect().await {
            Ok(body) => {
                TestResponse { status: head.status, headers: head.headers, body: body.to_bytes() }
            }
            Err(error) => panic!("the body of the response ({}) failed: {error}", head.status),
        }
    }

    fn default_type(mut self, media_type: &'static str) -> Self {
        let value = HeaderValue::from_static(media_type);
        self.request.headers_mut().entry(CONTENT_TYPE).or_insert(value);
        self
    }
}

impl fmt::Debug for TestRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TestRequest").field(&self.request).finish()
    }
}

/// A response with its whole body.
#[derive(Clone, Debug)]
pub struct TestResponse {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl TestResponse {
    /// The status; it compares with numbers: `assert_eq!(response.status(), 200)`.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// All headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The first header with that name; `None` also if it is not visible ASCII.
    pub fn header(&self, name: impl AsRef<str>) -> Option<&str> {
        self.headers.get(name.as_ref())?.to_str().ok()
    }

    /// Every header of that name that is visible ASCII, in order.
    pub fn header_all(&self, name: impl AsRef<str>) -> Vec<&str> {
        self.headers.get_all(name.as_ref()).iter().filter_map(|value| value.to_str().ok()).collect()
    }

    /// The body.
    pub fn bytes(&self) -> &Bytes {
        &self.body
    }

    /// The body as text.
    ///
    /// # Panics
    ///
    /// If it is not UTF-8.
    #[track_caller]
    pub fn text(&self) -> String {
        text("body", &self.body).to_owned()
    }

    /// The body read as JSON.
    ///
    /// # Panics
    ///
    /// If it is not JSON, or of another shape.
    #[track_caller]
    pub fn json<T: DeserializeOwned>(&self) -> T {
        json("body", &self.body)
    }
}

/// What a test receives, as text.
#[track_caller]
#[expect(clippy::panic, reason = "a panic shows the response to the test")]
pub(super) fn text<'a>(what: &str, bytes: &'a [u8]) -> &'a str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => panic!("the {what} is not UTF-8: {error}"),
    }
}

/// What a test receives, read as JSON.
#[track_caller]
#[expect(clippy::panic, reason = "a panic shows the response to the test")]
pub(super) fn json<T: DeserializeOwned>(what: &str, bytes: &[u8]) -> T {
    match serde_json::from_slice(bytes) {
        Ok(value) => value,
        Err(error) => {
            let text = String::from_utf8_lossy(bytes);
            panic!("the {what} is not the expected JSON: {error}\n{text}")
        }
    }
}

#[track_caller]
#[expect(clippy::panic, reason = "a panic reports the mistake to the test")]
fn valid<T, E: fmt::Display>(parsed: Result<T, E>, what: &str, text: &[u8]) -> T {
    match parsed {
        Ok(value) => value,
        Err(error) => panic!("`{}` is not a {what}: {error}", text.escape_ascii()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client of a service that responds with what it receives.
    fn client() -> TestClient {
        let echo = SharedService::from_fn(|request: Request| async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            let line = format!("{} {}", head.method, head.uri);
            (head.headers, [("x-line", line)], body)
        });
        TestClient::new(echo, "localhost")
    }

    #[tokio::test]
    async fn a_request_is_sent_as_it_was_described() {
        let sent = client()
            .put("/a?b=c")
            .header("x-a", "1")
            .header("x-a", b"2\xff")
            .origin("https://a.example")
            .json(&[1, 2])
            .send()
            .await;
        assert_eq!(sent.header("x-line"), Some("PUT /a?b=c"));
        assert_eq!(sent.headers().get_all("x-a").iter().nth(1).unwrap(), &b"2\xff"[..]);
        assert_eq!(sent.header_all("x-a"), ["1"]);
        assert_eq!(sent.header("host"), Some("localhost"));
        assert_eq!(sent.header("origin"), Some("https://a.example"));
        assert_eq!(sent.header("content-type"), Some("application/json"));
        assert_eq!(sent.json::<[u8; 2]>(), [1, 2]);
        assert_eq!(sent.text(), "[1,2]");
    }

    #[tokio::test]
    async fn headers_of_the_test_are_not_replaced() {
        let request = client().post("/").header("host", "b.example").header(CONTENT_TYPE, "x/y");
        let sent = request.form(&[("a", "b c")]).send().await;
        assert_eq!(sent.header_all("host"), ["b.example"]);
        assert_eq!(sent.header_all("content-type"), ["x/y"]);
        assert_eq!(sent.bytes(), "a=b+c");
    }

    #[tokio::test]
    #[should_panic(expected = "`a\\nb` is not a header value")]
    async fn a_malformed_request_of_a_test_panics() {
        let _never = client().get("/").header("x", "a\nb");
    }
}
