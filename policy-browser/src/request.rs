//! A request on its way through redirects (Fetch, 2.2.5), and which requests a page may send at
//! all.

use std::borrow::Cow;

use http::Method;
use url::Url;

use crate::{
    Blocked, CacheMode, Destination, Fetch, Mode, Page, PageOrigin, Profile, Reason, Redirect,
    ReferrerPolicy,
    grammar::is_token,
    headers::{CONDITIONS, Fields, is_forbidden_method},
    profile::SandboxedReferrer,
    site::site,
};

/// A request, with its current state.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The load that was started: its modes and its destination. Its method, fields and content are
    /// the original ones; the current ones are below.
    pub(crate) fetch: Fetch,
    /// The page that started the load; `None` for the address bar.
    pub(crate) page: Option<Page>,
    pub(crate) origin: PageOrigin,
    pub(crate) referrer_policy: ReferrerPolicy,
    /// The referrer; a redirect can shorten it, and later ones do not restore it.
    pub(crate) referrer: Option<Url>,
    /// The referrer of the first URL.
    pub(crate) first_referrer: Option<Url>,
    pub(crate) method: Method,
    pub(crate) fields: Fields,
    /// The fields that a preflight asks for, if they differ from `fields`.
    pub(crate) preflight_fields: Option<Fields>,
    /// The method and the fields at the start.
    pub(crate) written: (Method, Fields),
    pub(crate) body: Option<Vec<u8>>,
    /// The URL list, without the current one.
    pub(crate) redirected_from: Vec<Url>,
    /// The current URL.
    pub(crate) url: Url,
    /// The origin of the current URL.
    pub(crate) target: PageOrigin,
    pub(crate) tainting: Tainting,
    /// Whether its origin is redirect-tainted.
    pub(crate) is_redirect_tainted: bool,
    /// Whether a redirect led from one site to another.
    pub(crate) was_cross_site_redirected: bool,
    /// Whether the last redirect led from one origin to another.
    pub(crate) comes_from_elsewhere: bool,
    /// `Origin` outside of mode `cors`, in engines that decide it at the start and by redirects to
    /// another origin.
    pub(crate) kept_origin: Option<String>,
    /// How many of its URLs were upgraded to TLS.
    pub(crate) upgrades: usize,
    /// Whether its original fields or its upload need a preflight.
    pub(crate) is_unsafe: bool,
    /// Whether one of its URLs needed a preflight.
    pub(crate) is_preflighted: bool,
}

/// Which parts of a response the page will see (Fetch, response tainting).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tainting {
    Basic,
    Cors,
    Opaque,
}

impl Request {
    /// Creates the request of `new Request()`, of an element or of a navigation.
    pub(crate) fn new(
        profile: &Profile,
        page: Option<Page>,
        mut fetch: Fetch,
    ) -> Result<Self, Box<Blocked>> {
        let refused = |page: &Option<Page>, url: &str, reason| {
            let origin = page.as_ref().map_or(PageOrigin::Opaque, |page| page.origin.clone());
            Box::new(Blocked { url: url.to_owned(), origin, in_preflight: false, reason })
        };
        let url =
            address(page.as_ref(), &fetch).map_err(|reason| refused(&page, &fetch.url, reason))?;
        let method = method(&fetch).map_err(|reason| refused(&page, url.as_str(), reason))?;
        // `XMLHttpRequest` combines them (`setRequestHeader`: "combine").
        let joins = profile.joins_fields || fetch.watches_upload;
        let fields = Fields::fill(profile, &fetch.headers, fetch.mode == Mode::NoCors, joins)
            .map_err(|field| refused(&page, url.as_str(), Reason::Header(field)))?;
        let target = PageOrigin::from_url(&url);
        if fetch.mode == Mode::WebSocket {
            // WebSockets, "establish a WebSocket connection"
            (fetch.cache, fetch.redirect) = (CacheMode::NoStore, Redirect::Error);
        }
        let is_element =
            fetch.mode == Mode::Navigate || fetch.destination != Destination::default();
        let tells_page = |page: &&Page| {
            let is_told = match profile.sandboxed_referrer {
                SandboxedReferrer::Untold => false,
                SandboxedReferrer::OfElements => is_element,
                SandboxedReferrer::Told => true,
            };
            fetch.mode != Mode::WebSocket && (page.origin != PageOrigin::Opaque || is_told)
        };
        fetch.watches_upload &= fetch.body.is_some() || profile.watches_empty_uploads;
        let needs_preflight = fetch.watches_upload || !fields.unsafe_names(profile).is_empty();
        fetch.streams_body &= fetch.body.is_some();
        Ok(Self {
            origin: page.as_ref().map_or_else(|| target.clone(), |page| page.origin.clone()),
            referrer: page.as_ref().filter(tells_page).map(|page| page.url.clone()),
            first_referrer: None,
            referrer_policy: page.as_ref().map(|page| page.referrer_policy).unwrap_or_default(),
            page,
            preflight_fields: None,
            written: (method.clone(), fields.clone()),
            kept_origin: None,
            method,
            fields,
            body: fetch.body.take(),
            redirected_from: Vec::new(),
            url,
            target,
            tainting: Tainting::Basic,
            is_redirect_tainted: false,
            was_cross_site_redirected: false,
            comes_from_elsewhere: false,
            upgrades: 0,
            is_unsafe: needs_preflight,
            is_preflighted: false,
            fetch,
        })
    }

    pub(crate) fn is_same_origin(&self) -> bool {
        self.origin.is_same(&self.target)
    }

    /// The value of `Origin` (Fetch, byte-serializing a request origin).
    pub(crate) fn serialized_origin(&self) -> Cow<'_, str> {
        match &self.origin {
            PageOrigin::Tuple(origin) if !self.is_redirect_tainted => Cow::Borrowed(origin),
            _ => Cow::Borrowed("null"),
        }
    }

    /// Whether a redirect led from one origin to another.
    pub(crate) fn was_led_away(&self) -> bool {
        self.redirected_from.iter().any(|url| !PageOrigin::from_url(url).is_same(&self.target))
    }

    /// Notes that the request has `Origin` because of its method, and with this value.
    pub(crate) fn keep_origin(&mut self, origin: String) {
        self.kept_origin = is_unsafe(&self.method).then_some(origin);
    }

    /// The value of `Origin` in a preflight.
    pub(crate) fn preflight_origin(&self, profile: &Profile) -> Cow<'_, str> {
        match &self.origin {
            PageOrigin::Tuple(origin) if !profile.preflights_know_taint => Cow::Borrowed(origin),
            _ => self.serialized_origin(),
        }
    }

    /// Whether it replaces the document of the window.
    pub(crate) fn is_top_level_navigation(&self) -> bool {
        self.fetch.mode == Mode::Navigate && self.fetch.destination == Destination::Document
    }

    /// The network partition key: the site of the window (Fetch, 2.7).
    pub(crate) fn partition(&self) -> String {
        let page = self.page.as_ref().filter(|_| !self.is_top_level_navigation());
        site(page.map_or(&self.url, |page| &page.top_level))
    }

    /// The network error for this request.
    pub(crate) fn blocked(&self, in_preflight: bool, reason: Reason) -> Blocked {
        let origin =
            if self.is_redirect_tainted { PageOrigin::Opaque } else { self.origin.clone() };
        Blocked { url: self.url.to_string(), origin, in_preflight, reason }
    }
}

/// Whether a URL has a user or a password.
pub(crate) fn includes_credentials(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

fn address(page: Option<&Page>, fetch: &Fetch) -> Result<Url, Reason> {
    let url = Url::options().base_url(page.map(|page| &page.url)).parse(&fetch.url);
    let mut url = url.map_err(|_no_url| Reason::Address)?;
    let is_script = fetch.destination == Destination::Empty
        && matches!(fetch.mode, Mode::Cors | Mode::NoCors | Mode::SameOrigin);
    if is_script && includes_credentials(&url) {
        return Err(Reason::Address);
    }
    if fetch.mode == Mode::WebSocket {
        let scheme = match url.scheme() {
            "ws" | "http" => "http",
            "wss" | "https" => "https",
            _ => return Err(Reason::Scheme),
        };
        // WebSockets, `new WebSocket(url)`
        if url.fragment().is_some() {
            return Err(Reason::Address);
        }
        url.set_scheme(scheme).map_err(|()| Reason::Scheme)?;
    }
    Ok(url)
}

fn method(fetch: &Fetch) -> Result<Method, Reason> {
    let written = &*fetch.method;
    if !is_token(written) || is_forbidden_method(written.as_bytes()) {
        return Err(Reason::Method);
    }
    // Normalize a method (Fetch, 2.2.1); all others are sent unchanged.
    let known =
        [Method::DELETE, Method::GET, Method::HEAD, Method::OPTIONS, Method::POST, Method::PUT];
    let method = known
        .into_iter()
        .find(|known| known.as_str().eq_ignore_ascii_case(written))
        .map_or_else(|| Method::from_bytes(written.as_bytes()), Ok)
        .map_err(|_no_method| Reason::Method)?;
    if fetch.mode == Mode::NoCors && !is_safelisted(&method) {
        return Err(Reason::Method);
    }
    if fetch.body.is_some() && matches!(method, Method::GET | Method::HEAD) {
        return Err(Reason::Content);
    }
    Ok(method)
}

/// Whether a method is neither GET nor HEAD, so that a request has `Origin` (Fetch, 3.2).
pub(crate) fn is_unsafe(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD)
}

/// CORS-safelisted method (Fetch, 2.2.1).
pub(crate) fn is_safelisted(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::POST)
}

fn has_conditions(request: &Request) -> bool {
    CONDITIONS.iter().any(|name| request.fields.contains(name))
}

/// The effective cache mode of a request: one with its own conditions has another mode (Fetch,
/// "HTTP-network-or-cache fetch", step 8.16).
pub(crate) fn cache_mode(profile: &Profile, request: &Request) -> CacheMode {
    let is_script = profile.uploads_have_conditions || !request.fetch.watches_upload;
    if request.fetch.cache == CacheMode::Default && is_script && has_conditions(request) {
        return profile.own_conditions;
    }
    let is_form = request.fetch.mode == Mode::Navigate && request.fetch.method != "GET";
    if is_form && profile.forms_ask_caches { CacheMode::NoCache } else { request.fetch.cache }
}
