//! The servers that a browser can reach.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, LazyLock, Mutex},
    time::Duration,
};

use axum_core::{body::Body, extract::Request};
use futures_util::FutureExt;
use http::{
    HeaderValue,
    header::{CONTENT_LENGTH, HOST, UPGRADE},
};
use http_body_util::BodyExt;
use policy_browser::{SentRequest, ServerResponse, Url};

use super::upgrade;
use crate::{
    auth::is_event_stream,
    base::{clock::Clock, locks::lock},
    handler::service::{HttpService, SharedService},
    pipeline::explain::RouteTrace,
};

/// The servers that browsers can reach in a test, and the clock that they share. No socket is
/// opened.
///
/// Copies of a network share its log and its clock.
///
/// ```
/// use policy_server::{prelude::*, testing::{Browser, Fetch, Network}};
///
/// #[get("/lamps")]
/// #[cors(origins = ["https://app.shop.example"])]
/// #[auth(public)]
/// async fn lamps() -> &'static str {
///     "12 lamps"
/// }
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let app = App::new(()).public_origin("https://api.shop.example").routes(routes![lamps]);
/// let net = Network::new().host("https://api.shop.example", app.into_service());
/// let page = Browser::firefox().open("https://app.shop.example");
/// let lamps = page.fetch(&net, Fetch::get("https://api.shop.example/lamps")).await;
/// assert_eq!(lamps.text(), "12 lamps");
/// assert_eq!(net.requests().len(), 1, "a simple request has no preflight");
/// # });
/// ```
#[derive(Clone)]
pub struct Network {
    /// The servers by their origins.
    hosts: BTreeMap<String, SharedService>,
    clock: Clock,
    log: Arc<Mutex<Vec<SentRequest>>>,
}

impl Network {
    /// A network without servers. Its clock is stopped at about the time of the system.
    #[expect(clippy::new_without_default, reason = "an empty network is not a useful default")]
    pub fn new() -> Self {
        let clock = Clock::at(start().as_secs());
        Self { hosts: BTreeMap::new(), clock, log: Arc::default() }
    }

    /// Adds a server: an [`AppService`](crate::AppService), an axum router, or any other such
    /// service, which gets the requests for `origin`.
    ///
    /// # Panics
    ///
    /// If `origin` is not an origin, or already has a server.
    #[must_use]
    #[track_caller]
    #[expect(clippy::panic, reason = "a panic reports the mistake to the test")]
    pub fn host(mut self, origin: &str, service: impl HttpService) -> Self {
        let url = Url::parse(origin).ok().filter(|url| {
            matches!(url.scheme(), "http" | "https")
                && url.path() == "/"
                && url.username().is_empty()
                && url.password().is_none()
                && url.query().is_none()
                && url.fragment().is_none()
        });
        let Some(url) = url else {
            panic!(
                "`{origin}` is no origin of a server: write its scheme and its host, such as \
                 `https://api.shop.example`"
            )
        };
        if self.hosts.insert(origin_of(&url), SharedService::with_own_tags(service)).is_some() {
            panic!("`{origin}` has a server already: one origin is one host of the network")
        }
        self
    }

    /// The clock of the network. Apps use it by [`App::clock`](crate::App::clock), browsers by loading
    /// from the network.
    pub fn clock(&self) -> Clock {
        self.clock.clone()
    }

    /// Advances the time of the browsers, and of the apps that use the [clock](Self::clock).
    pub fn elapse(&self, duration: Duration) {
        self.clock.advance(duration);
    }

    /// All requests that browsers have sent so far, in order, including preflights and requests to
    /// hosts without a server.
    pub fn requests(&self) -> Vec<SentRequest> {
        lock(&self.log).clone()
    }

    /// Delivers a request to its server. `None` if there is no server, or if its response breaks
    /// off.
    pub(super) async fn deliver(
        &self,
        sent: &SentRequest,
        trace: &RouteTrace,
    ) -> Option<ServerResponse> {
        lock(&self.log).push(sent.clone());
        let service = self.hosts.get(&origin_of(&sent.url))?.clone();
        let request = request_of(sent)?;
        let response = if request.headers().contains_key(UPGRADE) {
            upgrade::open(service, request, trace).await?
        } else {
            service.run(trace.put_into(request)).await
        };
        let (http::response::Parts { status, headers, .. }, body) = response.into_parts();
        // A page reads an event stream while it arrives.
        let body = if is_event_stream(&headers) { so_far(body)? } else { whole(body).await? };
        Some(ServerResponse::new(status.as_u16(), headers, body))
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network").field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

async fn whole(body: Body) -> Option<Vec<u8>> {
    Some(body.collect().await.ok()?.to_bytes().into())
}

/// The part of a stream that is available without waiting.
fn so_far(mut body: Body) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    while let Some(Some(frame)) = body.frame().now_or_never() {
        if let Ok(data) = frame.ok()?.into_data() {
            bytes.extend_from_slice(&data);
        }
    }
    Some(bytes)
}

/// The initial time of networks and browsers. It is the same for a whole run of tests, so that
/// clocks do not differ by the moment at which they were created.
pub(super) fn start() -> Duration {
    static START: LazyLock<Duration> =
        LazyLock::new(|| Duration::from_secs(Clock::system().now().seconds()));
    *START
}

/// The origin of a server; for a WebSocket, the origin of its handshake.
fn origin_of(url: &Url) -> String {
    let origin = url.origin().ascii_serialization();
    match origin.strip_prefix("ws") {
        Some(rest) => format!("http{rest}"),
        None => origin,
    }
}

/// The request as HTTP/1.1 writes it.
fn request_of(sent: &SentRequest) -> Option<Request> {
    let url = &sent.url;
    let target = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let host = match (url.host_str()?, url.port()) {
        (host, Some(port)) => format!("{host}:{port}"),
        (host, None) => host.to_owned(),
    };
    let mut request = Request::new(Body::from(sent.body.clone().unwrap_or_default()));
    *request.method_mut() = sent.method.clone();
    *request.uri_mut() = target.parse().ok()?;
    let headers = request.headers_mut();
    *headers = sent.headers.clone();
    headers.insert(HOST, HeaderValue::from_str(&host).ok()?);
    if let Some(body) = &sent.body {
        headers.insert(CONTENT_LENGTH, body.len().into());
    }
    Some(request)
}
