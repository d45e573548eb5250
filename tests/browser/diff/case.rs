//! A case: a page, its loads in order, and the responses of the servers.
//!
//! Texts contain placeholders, so that a case is the same in each run: `{P}` is the port, `{ID}` the
//! case, `{T+60}` the date in 60 seconds, and `{O}` the value of the request's `Origin`; a line with
//! `{O}` is left out if the request has none. All hosts share one port, which serves both HTTP and
//! HTTPS, and paths are `/{ID}/a`, `/{ID}/b`, .., so that cases share no cached responses and
//! cookies.

use std::{
    collections::HashMap,
    fmt::{self, Write as _},
    time::{Duration, SystemTime},
};

use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use policy_browser::{Fetch, Page, PageOrigin, ReferrerPolicy, ServerResponse, Url};

/// The requests of one page.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) place: Place,
    pub(crate) steps: Vec<Step>,
    pub(crate) routes: Vec<Route>,
}

/// The position of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The origin of the window, and of each frame within; the last one is the page.
    pub(crate) origins: Vec<String>,
    pub(crate) sandbox: Sandbox,
    pub(crate) referrer_policy: ReferrerPolicy,
}

/// What makes the origin of the page opaque, always without `allow-same-origin`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sandbox {
    None,
    /// The attribute `sandbox` of its frame.
    Frame,
    /// The attribute `sandbox` of the frame around its frame.
    Around,
    /// `Content-Security-Policy: sandbox` of its own response.
    Response,
}

/// What the page does.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Load(Fetch),
    /// `fetch()` with `keepalive`.
    Keepalive(Fetch),
    /// `navigator.sendBeacon()`.
    Beacon(Fetch),
    WriteCookie(String),
    ReadCookies,
}

/// The responses of all hosts at one path.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    pub(crate) path: &'static str,
    /// The responses to the first preflight, the second, and so on; the last one is repeated.
    pub(crate) preflights: Vec<Canned>,
    /// The responses to all other requests.
    pub(crate) responses: Vec<Canned>,
}

#[derive(Clone, Debug)]
pub(crate) struct Canned {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Body,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// A script that reports that it ran.
    Script,
    /// A document that reports to its opener that it loaded.
    Document,
    Image,
}

/// The values of the placeholders.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filling<'a> {
    pub(crate) port: u16,
    pub(crate) id: &'a str,
    pub(crate) now: SystemTime,
}

impl Filling<'_> {
    pub(crate) fn fill(&self, text: &str) -> String {
        let text = text.replace("{P}", &self.port.to_string()).replace("{ID}", self.id);
        let mut rest = &*text;
        let mut filled = String::new();
        while let Some((before, after)) = rest.split_once("{T") {
            let (seconds, after) = after.split_once('}').expect("a date has an end");
            let seconds: i64 = seconds.parse().expect("a date has a number");
            let distance = Duration::from_secs(seconds.unsigned_abs());
            let date = if seconds < 0 { self.now - distance } else { self.now + distance };
            filled.push_str(before);
            filled.push_str(&httpdate::fmt_http_date(date));
            rest = after;
        }
        filled + rest
    }
}

impl Case {
    pub(crate) fn filled(&self, filling: &Filling<'_>) -> Self {
        let fill = |text: &str| filling.fill(text);
        let canned = |canned: &Canned| Canned {
            headers: canned.headers.iter().map(|(name, value)| (*name, fill(value))).collect(),
            ..canned.clone()
        };
        Self {
            place: self.place.filled(filling),
            steps: self
                .steps
                .iter()
                .map(|step| {
                    let mut step = step.clone();
                    if let Some(fetch) = step.load_mut() {
                        fetch.url = fill(&fetch.url);
                    }
                    if let Step::WriteCookie(text) = &mut step {
                        *text = fill(text);
                    }
                    step
                })
                .collect(),
            routes: self
                .routes
                .iter()
                .map(|route| Route {
                    path: route.path,
                    preflights: route.preflights.iter().map(canned).collect(),
                    responses: route.responses.iter().map(canned).collect(),
                })
                .collect(),
        }
    }

    pub(crate) fn loads(&self) -> impl Iterator<Item = &Fetch> {
        self.steps.iter().filter_map(Step::load)
    }

    /// All responses, those to preflights too.
    pub(crate) fn all_responses(&mut self) -> impl Iterator<Item = &mut Canned> {
        self.routes
            .iter_mut()
            .flat_map(|route| route.preflights.iter_mut().chain(&mut route.responses))
    }
}

impl Step {
    /// The request, if it starts one.
    pub(crate) fn load(&self) -> Option<&Fetch> {
        match self {
            Self::Load(fetch) | Self::Keepalive(fetch) | Self::Beacon(fetch) => Some(fetch),
            Self::WriteCookie(_) | Self::ReadCookies => None,
        }
    }

    /// The same, to change it.
    pub(crate) fn load_mut(&mut self) -> Option<&mut Fetch> {
        match self {
            Self::Load(fetch) | Self::Keepalive(fetch) | Self::Beacon(fetch) => Some(fetch),
            Self::WriteCookie(_) | Self::ReadCookies => None,
        }
    }
}

impl Place {
    pub(crate) fn filled(&self, filling: &Filling<'_>) -> Self {
        let origins = self.origins.iter().map(|origin| filling.fill(origin)).collect();
        Self { origins, ..self.clone() }
    }

    pub(crate) fn is_sandboxed(&self) -> bool {
        self.sandbox != Sandbox::None
    }

    /// The URLs of the window's page and of its nested frames.
    pub(crate) fn urls(&self) -> Vec<Url> {
        let mut urls: Vec<Url> = Vec::new();
        for (index, origin) in self.origins.iter().enumerate().rev() {
            let mut url = Url::parse(origin).expect("an origin is an address").join("/page");
            let url = url.as_mut().expect("a path");
            let mut query = url.query_pairs_mut();
            if let Some(inner) = urls.first() {
                query.append_pair("frame", inner.as_str());
                let within = match self.sandbox {
                    Sandbox::Frame => Some(2),
                    Sandbox::Around => Some(3),
                    Sandbox::None | Sandbox::Response => None,
                };
                if within.is_some_and(|within| index + within == self.origins.len()) {
                    query.append_pair("sandbox-frame", "");
                }
            } else {
                query.append_pair("policy", policy_name(self.referrer_policy));
                if self.sandbox == Sandbox::Response {
                    query.append_pair("sandbox", "");
                }
            }
            drop(query);
            urls.insert(0, url.clone());
        }
        urls
    }

    /// The page in terms of the model.
    pub(crate) fn page(&self) -> Page {
        let urls = self.urls();
        let (top_level, url) = (urls.first().expect("a window"), urls.last().expect("a page"));
        let mut page = Page::at(url.clone());
        if self.is_sandboxed() {
            page = page.sandboxed();
        }
        page.top_level = top_level.clone();
        page.ancestor_origins = urls.iter().rev().skip(1).map(PageOrigin::from_url).collect();
        if self.sandbox == Sandbox::Around {
            page.ancestor_origins[0] = PageOrigin::Opaque;
        }
        page.has_same_site_ancestors = (!self.is_sandboxed() || urls.len() == 1)
            && urls.iter().all(|one| site(one) == site(url));
        page.referrer_policy = self.referrer_policy;
        page
    }
}

/// Scheme and registrable domain, of the hosts here.
fn site(url: &Url) -> String {
    let host = url.host_str().expect("a host");
    let labels: Vec<&str> = host.split('.').collect();
    let kept = if host.ends_with(".co.uk") { 3 } else { 2 };
    let domain = labels[labels.len().saturating_sub(kept)..].join(".");
    format!("{}://{domain}", url.scheme())
}

pub(crate) fn policy_name(policy: ReferrerPolicy) -> &'static str {
    match policy {
        ReferrerPolicy::NoReferrer => "no-referrer",
        ReferrerPolicy::NoReferrerWhenDowngrade => "no-referrer-when-downgrade",
        ReferrerPolicy::Origin => "origin",
        ReferrerPolicy::OriginWhenCrossOrigin => "origin-when-cross-origin",
        ReferrerPolicy::SameOrigin => "same-origin",
        ReferrerPolicy::StrictOrigin => "strict-origin",
        ReferrerPolicy::StrictOriginWhenCrossOrigin => "strict-origin-when-cross-origin",
        ReferrerPolicy::UnsafeUrl => "unsafe-url",
    }
}

/// The servers of a case, the same for the model and for browsers.
#[derive(Debug)]
pub(crate) struct Servers {
    routes: Vec<Route>,
    id: String,
    /// The number of requests of each kind.
    counts: HashMap<(&'static str, bool), usize>,
}

impl Servers {
    pub(crate) fn new(case: &Case, id: &str) -> Self {
        Self { routes: case.routes.clone(), id: id.into(), counts: HashMap::new() }
    }

    /// Responds to a request for a path, with 304 if its conditions hold.
    pub(crate) fn respond(
        &mut self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
    ) -> ServerResponse {
        let Some(route) = self.routes.iter().find(|route| {
            path.strip_prefix(&format!("/{}/", self.id)).is_some_and(|rest| rest == route.path)
        }) else {
            let mut response = ServerResponse::new(404, HeaderMap::new(), Vec::new());
            response.headers.insert(header::CONTENT_LENGTH, 0.into());
            return response;
        };
        let is_preflight =
            method == Method::OPTIONS && headers.contains_key("access-control-request-method");
        let all = if is_preflight { &route.preflights } else { &route.responses };
        let count = self.counts.entry((route.path, is_preflight)).or_default();
        let canned = all.get(*count).or(all.last()).expect("a response");
        let number = *count;
        *count += 1;
        let mut response = ServerResponse::new(canned.status, HeaderMap::new(), Vec::new());
        let origin = headers.get(header::ORIGIN).and_then(|origin| origin.to_str().ok());
        for (name, value) in &canned.headers {
            let value = match (value.contains("{O}"), origin) {
                (true, None) => continue,
                (true, Some(origin)) => value.replace("{O}", origin),
                (false, _) => value.clone(),
            };
            let bytes: Vec<u8> = value.chars().map(|sign| sign as u8).collect();
            let value = HeaderValue::from_bytes(&bytes).expect("a field value");
            response.headers.append(HeaderName::from_static(name), value);
        }
        let is_read = matches!(*method, Method::GET | Method::HEAD);
        let holds = |condition: &HeaderName, validator: &HeaderName| {
            let stated = headers.get(condition);
            stated.is_some() && stated == response.headers.get(validator)
        };
        if is_read
            && response.status == 200
            && (holds(&header::IF_NONE_MATCH, &header::ETAG)
                || (!headers.contains_key(header::IF_NONE_MATCH)
                    && holds(&header::IF_MODIFIED_SINCE, &header::LAST_MODIFIED)))
        {
            response.status = 304;
        }
        if matches!(response.status, 101 | 204 | 304) {
            return response;
        }
        let what = format!("{}-{number}", route.path);
        response.body = match canned.body {
            Body::Script => format!("ran({:?}, {what:?})", self.id).into_bytes(),
            Body::Document => format!(
                "<!doctype html><script>(window.opener ?? parent).postMessage(\
                 {{ arrived: {what:?}, name: window.name }}, '*')</script>"
            )
            .into_bytes(),
            Body::Image => PIXEL.to_vec(),
        };
        response.headers.insert(header::CONTENT_LENGTH, response.body.len().into());
        if *method == Method::HEAD {
            response.body.clear();
        }
        response
    }
}

/// A GIF of one pixel.
const PIXEL: &[u8] = b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff!\xf9\x04\x01\0\0\0\0,\0\0\0\0\
\x01\0\x01\0\0\x02\x02D\x01\0;";

/// In a form that can be repeated by hand.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        let sandbox = match self.place.sandbox {
            Sandbox::None => "",
            Sandbox::Frame => " sandboxed by its frame",
            Sandbox::Around => " sandboxed by the frame around its frame",
            Sandbox::Response => " sandboxed by its response",
        };
        let policy = policy_name(self.place.referrer_policy);
        writeln!(text, "page{sandbox} {} with {policy}", self.place.origins.join(" > "))?;
        for step in &self.steps {
            match step {
                Step::Load(fetch) => writeln!(text, "load {fetch:?}")?,
                Step::Keepalive(fetch) => writeln!(text, "load with keepalive {fetch:?}")?,
                Step::Beacon(fetch) => writeln!(text, "beacon {fetch:?}")?,
                Step::WriteCookie(cookie) => writeln!(text, "document.cookie = {cookie:?}")?,
                Step::ReadCookies => writeln!(text, "document.cookie")?,
            }
        }
        for route in &self.routes {
            let preflights = route.preflights.iter().map(|canned| ("preflight", canned));
            for (what, canned) in
                preflights.chain(route.responses.iter().map(|one| ("response", one)))
            {
                writeln!(text, "{what} at {}: {} {:?}", route.path, canned.status, canned.body)?;
                for (name, value) in &canned.headers {
                    writeln!(text, "    {name}: {value:?}")?;
                }
            }
        }
        f.write_str(&text)
    }
}
