//! The loads of a page.

use crate::mime::Mime;

/// A load of a page: a call of `fetch()`, or anything else that makes a browser send a request
/// (Fetch, 2.2.5: requests).
///
/// ```
/// use policy_browser::{Credentials, Fetch};
///
/// let order = Fetch::post("https://api.shop.example/orders")
///     .credentials(Credentials::Include)
///     .json(&[7]);
/// assert_eq!(order.method, "POST");
/// assert_eq!(order.body.as_deref(), Some(&b"[7]"[..]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fetch {
    /// The URL, resolved against the URL of the page.
    pub url: String,
    /// The method as the script writes it.
    pub method: String,
    /// The fields as the script writes them, in its order.
    pub headers: Vec<(String, String)>,
    /// The content.
    pub body: Option<Vec<u8>>,
    /// The request mode.
    pub mode: Mode,
    /// The credentials mode.
    pub credentials: Credentials,
    /// The redirect mode.
    pub redirect: Redirect,
    /// The cache mode.
    pub cache: CacheMode,
    /// The destination of the response.
    pub destination: Destination,
    /// Whether there are listeners on the progress of the upload (`XMLHttpRequest.upload`), which
    /// always cause a preflight.
    pub watches_upload: bool,
    /// Whether the content is a stream, which can be sent only once and causes a preflight.
    pub streams_body: bool,
    /// Whether it is a beacon (`navigator.sendBeacon()`).
    pub is_beacon: bool,
}

impl Fetch {
    /// `fetch(url, { method })`: mode `cors`, credentials `same-origin`.
    pub fn new(method: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            method: method.into(),
            headers: Vec::new(),
            body: None,
            mode: Mode::Cors,
            credentials: Credentials::SameOrigin,
            redirect: Redirect::Follow,
            cache: CacheMode::Default,
            destination: Destination::Empty,
            watches_upload: false,
            streams_body: false,
            is_beacon: false,
        }
    }

    /// `fetch(url)`.
    pub fn get(url: impl Into<String>) -> Self {
        Self::new("GET", url)
    }

    /// `fetch(url, { method: "POST" })`.
    pub fn post(url: impl Into<String>) -> Self {
        Self::new("POST", url)
    }

    /// `fetch(url, { method: "PUT" })`.
    pub fn put(url: impl Into<String>) -> Self {
        Self::new("PUT", url)
    }

    /// `fetch(url, { method: "PATCH" })`.
    pub fn patch(url: impl Into<String>) -> Self {
        Self::new("PATCH", url)
    }

    /// `fetch(url, { method: "QUERY" })`. Browsers do not change `query` into it.
    pub fn query(url: impl Into<String>) -> Self {
        Self::new("QUERY", url)
    }

    /// `fetch(url, { method: "DELETE" })`.
    pub fn delete(url: impl Into<String>) -> Self {
        Self::new("DELETE", url)
    }

    /// `<script src=url>`: mode `no-cors`, credentials `include`.
    pub fn script(url: impl Into<String>) -> Self {
        Self::element(Destination::Script, url)
    }

    /// `<img src=url>`.
    pub fn image(url: impl Into<String>) -> Self {
        Self::element(Destination::Image, url)
    }

    /// A link, a navigation by script or the address bar: the document is replaced.
    pub fn navigate(url: impl Into<String>) -> Self {
        Self { mode: Mode::Navigate, ..Self::element(Destination::Document, url) }
    }

    /// `<iframe src=url>`.
    pub fn frame(url: impl Into<String>) -> Self {
        Self { destination: Destination::Frame, ..Self::navigate(url) }
    }

    /// `<form method=post action=url>` that is submitted: a navigation.
    pub fn form<N: AsRef<str>, V: AsRef<str>>(
        url: impl Into<String>,
        fields: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let body =
            url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        Self { method: "POST".into(), ..Self::navigate(url) }
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body)
    }

    /// `new WebSocket(url)`; `ws:`, `wss:`, and their `http` forms.
    pub fn websocket(url: impl Into<String>) -> Self {
        Self { mode: Mode::WebSocket, ..Self::element(Destination::Empty, url) }
    }

    /// `navigator.sendBeacon(url, new Blob([content], { type }))` (Beacon, 3.2): mode `no-cors` for the
    /// types of forms, otherwise `cors`.
    pub fn beacon(url: impl Into<String>, kind: &str, content: impl Into<Vec<u8>>) -> Self {
        let is_form = Mime::parse(kind.as_bytes()).is_some_and(|mime| mime.is_form());
        let mode = if kind.is_empty() || is_form { Mode::NoCors } else { Mode::Cors };
        let beacon = Self {
            mode,
            credentials: Credentials::Include,
            is_beacon: true,
            ..Self::post(url).body(content)
        };
        if kind.is_empty() { beacon } else { beacon.header("content-type", kind) }
    }

    fn element(destination: Destination, url: impl Into<String>) -> Self {
        Self {
            mode: Mode::NoCors,
            credentials: Credentials::Include,
            destination,
            ..Self::new("GET", url)
        }
    }

    /// Adds a field. The browser drops it if scripts may not set it.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// The content.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// The content: a value as JSON; `content-type` is `application/json` unless one was added
    /// before.
    ///
    /// # Panics
    ///
    /// If the value cannot be written as JSON.
    #[track_caller]
    #[expect(clippy::panic, reason = "a panic reports the mistake to the test")]
    pub fn json<T: serde::Serialize + ?Sized>(self, value: &T) -> Self {
        let has_type =
            self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        let typed = if has_type { self } else { self.header("content-type", "application/json") };
        match serde_json::to_vec(value) {
            Ok(body) => typed.body(body),
            Err(error) => panic!("the value cannot be written as JSON: {error}"),
        }
    }

    /// The request mode; `crossorigin` of an element is `Cors` and a credentials mode.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// The credentials mode.
    pub fn credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = credentials;
        self
    }

    /// The redirect mode.
    pub fn redirect(mut self, redirect: Redirect) -> Self {
        self.redirect = redirect;
        self
    }

    /// The cache mode.
    pub fn cache(mut self, cache: CacheMode) -> Self {
        self.cache = cache;
        self
    }

    /// Adds a listener to the progress of the upload.
    pub fn watch_upload(mut self) -> Self {
        self.watches_upload = true;
        self
    }

    /// Sends the content as a stream.
    pub fn stream_body(mut self) -> Self {
        self.streams_body = true;
        self
    }
}

/// The request mode (Fetch, 2.2.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Other origins are requested with the CORS protocol.
    #[default]
    Cors,
    /// Other origins are requested, and their responses are opaque.
    NoCors,
    /// Other origins are not requested.
    SameOrigin,
    /// The document is replaced by another.
    Navigate,
    /// A WebSocket is opened.
    WebSocket,
}

/// The credentials mode (Fetch, 2.2.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Credentials {
    /// None are sent, and cookies of the response are ignored.
    Omit,
    /// Sent only to the origin of the page.
    #[default]
    SameOrigin,
    /// Always sent.
    Include,
}

/// The redirect mode (Fetch, 2.2.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Redirect {
    /// Followed, at most twenty.
    #[default]
    Follow,
    /// A network error.
    Error,
    /// Shown as a response without content.
    Manual,
}

/// The cache mode (Fetch, 2.2.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CacheMode {
    /// Used by the rules of HTTP.
    #[default]
    Default,
    /// Neither read nor written.
    NoStore,
    /// Not read.
    Reload,
    /// Revalidated.
    NoCache,
    /// Read at any age.
    ForceCache,
}

/// The destination of a response (Fetch, 2.2.5), as in `Sec-Fetch-Dest`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Destination {
    /// `fetch()`, `XMLHttpRequest`, beacons, WebSockets.
    #[default]
    Empty,
    /// `<script>`.
    Script,
    /// `<img>`.
    Image,
    /// A document that replaces the page.
    Document,
    /// `<iframe>`.
    Frame,
}
