//! HTTP-network-or-cache fetch (Fetch, 4.5): what goes on the wire, with what belongs to the
//! browser, and what it keeps of the answer.

use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use url::Url;

use super::{
    Answer, Credentials, Destination, Mode, Sent, State,
    jar::CookieContext,
    metadata, preflight,
    referrer::{origin_allowed, referrer},
    request::{Request, Tainting},
    site::is_trustworthy,
};

/// Where the answer comes from.
pub(super) enum Network {
    /// A server has to be asked.
    Send(Sent),
}

/// A request on its way.
pub(super) fn send(state: &mut State, request: &Request) -> Network {
    let mut headers = request.fields.to_map();
    if !headers.contains_key(header::ACCEPT) {
        headers.insert(header::ACCEPT, HeaderValue::from_static(accepted(request)));
    }
    if request.fetch.mode == Mode::WebSocket {
        upgrade(&mut headers);
    }
    describe(&mut headers, request);
    let mut sent = sent(request, request.method.clone(), headers);
    sent.body = request.body.clone();
    if includes_credentials(request)
        && let Some(value) =
            state.cookies.header(&state.profile, state.now, &cookie_context(request))
    {
        sent.headers.insert(header::COOKIE, value);
    }
    Network::Send(sent)
}

/// A preflight: without credentials, and past all caches.
pub(super) fn preflight(request: &Request, unsafe_names: &[String]) -> Sent {
    let mut headers = preflight::ask(request, unsafe_names);
    describe(&mut headers, request);
    Sent { is_preflight: true, ..sent(request, preflight::METHOD, headers) }
}

/// What the browser keeps of an answer before anybody looks at it.
pub(super) fn received(state: &mut State, request: &Request, answer: Answer) -> Answer {
    if includes_credentials(request) {
        for line in answer.headers.get_all(header::SET_COOKIE) {
            let context = cookie_context(request);
            state.cookies.store(&state.profile, state.now, &context, line.as_bytes());
        }
    }
    answer
}

/// Whether a page of `https` would load something that others can change on its way (Mixed
/// Content, 4.4). Browsers look at the scheme: a page of `http://localhost` may load anything.
pub(super) fn is_mixed_content(request: &Request) -> bool {
    let Some(page) = &request.page else { return false };
    let is_protected = page.url.scheme() == "https" || page.top_level.scheme() == "https";
    is_protected && !request.is_top_level_navigation() && !is_trustworthy(&request.url)
}

fn sent(request: &Request, method: Method, headers: HeaderMap) -> Sent {
    let mut url = request.url.clone();
    url.set_fragment(None);
    hide_credentials(&mut url);
    Sent { method, url, headers, body: None, is_preflight: false }
}

/// The user and the password of an address are no part of what is sent.
fn hide_credentials(url: &mut Url) {
    // An address without a host has neither.
    let _ = url.set_username("");
    let _ = url.set_password(None);
}

/// Who asks, and for what: `Referer`, `Sec-Fetch-*` and `Origin`.
fn describe(headers: &mut HeaderMap, request: &Request) {
    let (page, policy) = (request.page.as_ref(), request.referrer_policy);
    if let Some(referrer) = page.and_then(|page| referrer(policy, page, &request.url)) {
        insert(headers, header::REFERER, &referrer);
    }
    metadata::write(headers, &request.fetch, page, &request.redirected_from, &request.url);
    let is_cors = request.tainting == Tainting::Cors || request.fetch.mode == Mode::WebSocket;
    if is_cors {
        insert(headers, header::ORIGIN, &request.serialized_origin());
    } else if !matches!(request.method, Method::GET | Method::HEAD) {
        let is_told = request.fetch.mode == Mode::Cors
            || origin_allowed(policy, &request.origin, &request.url);
        let origin = if is_told { request.serialized_origin() } else { "null".into() };
        insert(headers, header::ORIGIN, &origin);
    }
}

/// Whether credentials go with the request, and cookies of its answer are kept.
fn includes_credentials(request: &Request) -> bool {
    match request.fetch.credentials {
        Credentials::Include => true,
        Credentials::SameOrigin => request.tainting == Tainting::Basic,
        Credentials::Omit => false,
    }
}

fn cookie_context(request: &Request) -> CookieContext<'_> {
    let page = request.page.as_ref();
    CookieContext {
        url: &request.url,
        method: &request.method,
        top_level: page.map(|page| &page.top_level),
        initiator: page.map(|page| &page.origin),
        has_same_site_ancestors: page.is_none_or(|page| page.has_same_site_ancestors),
        is_top_level_navigation: request.is_top_level_navigation(),
        was_cross_site_redirected: request.was_cross_site_redirected,
    }
}

fn accepted(request: &Request) -> &'static str {
    match request.fetch.destination {
        Destination::Document | Destination::Frame => {
            "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
        }
        Destination::Image => "image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5",
        Destination::Empty | Destination::Script => "*/*",
    }
}

/// The opening handshake of a WebSocket (RFC 6455, 4.1). The nonce is the one of its example:
/// this browser draws no random numbers.
fn upgrade(headers: &mut HeaderMap) {
    for (name, value) in [
        (header::CONNECTION, "Upgrade"),
        (header::UPGRADE, "websocket"),
        (header::SEC_WEBSOCKET_KEY, "dGhlIHNhbXBsZSBub25jZQ=="),
        (header::SEC_WEBSOCKET_VERSION, "13"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
