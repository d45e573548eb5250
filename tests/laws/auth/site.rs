//! What a browser sends for a page: Fetch, Fetch Metadata and the cookies of RFC 6265bis.

use http::Method;

use super::house::{House, OWN, Request};

/// A document, and how it says to be referred to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    pub(crate) origin: &'static str,
    /// In a sandbox, whose origin is opaque.
    pub(crate) is_opaque: bool,
    pub(crate) referrer: Referrer,
    /// Whether its browser knows Fetch Metadata.
    pub(crate) is_modern: bool,
}

/// Its referrer policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Referrer {
    StrictOriginWhenCrossOrigin,
    SameOrigin,
    Hidden,
}

/// How a page makes its browser send something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vehicle {
    /// `fetch` with credentials.
    Script {
        is_cors: bool,
    },
    Form,
    Link,
    Image,
    WebSocket,
}

/// One thing that a page does.
#[derive(Clone, Debug)]
pub(crate) struct Try {
    pub(crate) page: Page,
    pub(crate) vehicle: Vehicle,
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    /// The origins that redirect it on, keeping method and body, before it reaches us.
    pub(crate) hops: Vec<&'static str>,
    /// An anti-forgery token that the page has.
    pub(crate) token: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SameSite {
    Strict,
    Lax,
    None,
}

/// Scheme and registrable domain: all public suffixes here have one label.
fn site(origin: &str) -> (&str, String) {
    let (scheme, host) = origin.split_once("://").expect("an origin");
    let labels: Vec<&str> = host.rsplit('.').take(2).collect();
    (scheme, labels.join("."))
}

impl Try {
    fn urls(&self) -> impl Iterator<Item = &str> {
        self.hops.iter().copied().chain([OWN])
    }

    fn is_same_origin(&self) -> bool {
        !self.page.is_opaque && self.urls().all(|url| url == self.page.origin)
    }

    fn is_same_site(&self) -> bool {
        !self.page.is_opaque && self.urls().all(|url| site(url) == site(self.page.origin))
    }

    /// Fetch 4.4: who asked is not told behind a redirect from one foreign origin to another.
    fn serialized_origin(&self) -> &str {
        let mut is_tainted = self.page.is_opaque;
        let urls: Vec<&str> = self.urls().collect();
        for pair in urls.windows(2) {
            is_tainted |= pair[0] != pair[1] && pair[0] != self.page.origin;
        }
        if is_tainted { "null" } else { self.page.origin }
    }

    /// Whether the cookie goes along. Redirects do not count, as browsers have it today.
    pub(crate) fn sends_cookie(&self, same_site: SameSite) -> bool {
        let is_near = !self.page.is_opaque && site(self.page.origin) == site(OWN);
        let is_navigation = matches!(self.vehicle, Vehicle::Form | Vehicle::Link);
        match same_site {
            SameSite::None => true,
            SameSite::Lax => is_near || (is_navigation && self.method == Method::GET),
            SameSite::Strict => is_near,
        }
    }

    fn is_cors(&self) -> bool {
        self.vehicle == Vehicle::Script { is_cors: true }
    }

    /// The header fields that a page can add.
    fn has_token_header(&self) -> bool {
        self.token.is_some() && self.is_cors()
    }

    /// The request, if the browser sends it.
    pub(crate) fn request(&self, house: &House, id: Option<&str>) -> Option<Request> {
        let is_simple = matches!(self.method, Method::GET | Method::HEAD | Method::POST);
        let can = match self.vehicle {
            Vehicle::Script { is_cors } => is_cors || is_simple,
            Vehicle::Form => matches!(self.method, Method::GET | Method::POST),
            Vehicle::Link | Vehicle::Image => self.method == Method::GET,
            Vehicle::WebSocket => self.method == Method::GET && self.hops.is_empty(),
        };
        let is_foreign = !self.is_same_origin();
        let asks_first = is_foreign && self.is_cors() && (!is_simple || self.has_token_header());
        // A redirect behind a preflight ends it, as good as always.
        if !can || (asks_first && (!self.hops.is_empty() || !self.may_go_on(house))) {
            return None;
        }
        let mut request = Request::new(self.method.clone(), self.path).cookie(id);
        if self.vehicle == Vehicle::WebSocket {
            request = request.with("upgrade", "websocket").with("connection", "Upgrade");
        }
        if let Some(origin) = self.origin_field(is_foreign) {
            request = request.with("origin", origin);
        }
        if let Some(referer) = self.referer() {
            request = request.with("referer", referer);
        }
        if self.page.is_modern {
            let site = match (self.is_same_origin(), self.is_same_site()) {
                (true, _) => "same-origin",
                (false, true) => "same-site",
                (false, false) => "cross-site",
            };
            request = request.with("sec-fetch-site", site);
        }
        match &self.token {
            Some(token) if self.has_token_header() => Some(request.with("x-csrf-token", token)),
            Some(token) if self.method == Method::POST => Some(
                request
                    .with("content-type", "application/x-www-form-urlencoded")
                    .body(format!("a=1&csrf_token={token}")),
            ),
            _ => Some(request),
        }
    }

    /// Fetch, append a request `Origin` header.
    fn origin_field(&self, is_foreign: bool) -> Option<&str> {
        let told = self.serialized_origin();
        let is_safe = matches!(self.method, Method::GET | Method::HEAD);
        if self.vehicle == Vehicle::WebSocket || (self.is_cors() && is_foreign) {
            return Some(told);
        }
        if is_safe {
            return None;
        }
        let is_hidden = match self.page.referrer {
            Referrer::Hidden => true,
            Referrer::SameOrigin => is_foreign,
            Referrer::StrictOriginWhenCrossOrigin => false,
        };
        Some(if is_hidden && !self.is_cors() { "null" } else { told })
    }

    fn referer(&self) -> Option<String> {
        if self.page.is_opaque || self.vehicle == Vehicle::WebSocket {
            return None;
        }
        match (self.page.referrer, self.is_same_origin()) {
            (Referrer::Hidden, _) | (Referrer::SameOrigin, false) => None,
            (_, true) => Some(format!("{}/page", self.page.origin)),
            (Referrer::StrictOriginWhenCrossOrigin, false) => {
                Some(format!("{}/", self.page.origin))
            }
        }
    }

    /// Fetch, CORS-preflight fetch.
    fn may_go_on(&self, house: &House) -> bool {
        let mut preflight = Request::new(Method::OPTIONS, self.path)
            .with("origin", self.serialized_origin())
            .with("access-control-request-method", self.method.as_str());
        if self.has_token_header() {
            preflight = preflight.with("access-control-request-headers", "x-csrf-token");
        }
        let reply = house.send(preflight);
        let lists = |field: &str, wanted: &str| {
            let list = reply.field(field).unwrap_or_default();
            list.split(',').any(|listed| listed.trim().eq_ignore_ascii_case(wanted))
        };
        (200..300).contains(&reply.status)
            && reply.field("access-control-allow-origin") == Some(self.serialized_origin())
            && reply.field("access-control-allow-credentials") == Some("true")
            && (matches!(self.method, Method::GET | Method::HEAD | Method::POST)
                || lists("access-control-allow-methods", self.method.as_str()))
            && (!self.has_token_header() || lists("access-control-allow-headers", "x-csrf-token"))
    }
}
