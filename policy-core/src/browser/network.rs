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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::browser::{
        Fetch, Page, PageOrigin, Reason, ReferrerPolicy,
        trial::{answer, app, browser, load, load_in, page},
    };

    #[test]
    fn cookies_go_as_the_credentials_mode_says() {
        let cookie = ("set-cookie", "a=1; Secure; SameSite=None");
        let granted = [("access-control-allow-origin", "https://app.test")];
        let granted = [granted[0], ("access-control-allow-credentials", "true")];
        let bar = |url| Fetch::navigate(url);
        let state = load_in(browser(), None, bar("https://app.test/"), &[answer(200, &[cookie])]);
        let state =
            load_in(state.state, None, bar("https://api.test/"), &[answer(200, &[cookie])]).state;
        let cookie = |url: &str, credentials| {
            let fetch = Fetch::get(url).credentials(credentials);
            let trial = load_in(state.clone(), Some(&app()), fetch, &[answer(200, &granted)]);
            trial.last("cookie").map(str::to_owned)
        };
        for (credentials, own, other) in [
            (Credentials::Omit, None, None),
            (Credentials::SameOrigin, Some("a=1"), None),
            (Credentials::Include, Some("a=1"), Some("a=1")),
        ] {
            assert_eq!(cookie("/", credentials).as_deref(), own, "{credentials:?}");
            assert_eq!(
                cookie("https://api.test/", credentials).as_deref(),
                other,
                "{credentials:?}"
            );
        }
    }

    #[test]
    fn cookies_are_kept_even_of_an_answer_that_nobody_may_read() {
        let fetch = |credentials| Fetch::get("https://api.test/").credentials(credentials);
        let fields = [("set-cookie", "a=1; Secure; SameSite=None")];
        let kept = |credentials| {
            let trial = load(&app(), fetch(credentials), &[answer(200, &fields)]);
            assert!(trial.outcome.blocked().is_some());
            trial.state.cookies().iter().count()
        };
        assert_eq!(kept(Credentials::Include), 1);
        assert_eq!(kept(Credentials::Omit), 0);
    }

    #[test]
    fn a_preflight_has_no_credentials_and_keeps_no_cookies() {
        let fetch = Fetch::put("https://api.test/").credentials(Credentials::Include);
        let trial = load(&app(), fetch, &[answer(401, &[("set-cookie", "a=1")])]);
        assert_eq!(trial.last("cookie"), None);
        assert_eq!(trial.state.cookies().iter().count(), 0);
        assert_eq!(trial.last("sec-fetch-mode"), Some("cors"));
    }

    #[test]
    fn a_protected_page_loads_nothing_that_others_can_change() {
        for fetch in [Fetch::get, Fetch::image, Fetch::frame, Fetch::websocket] {
            let trial = load(&app(), fetch("http://api.test/".to_owned()), &[]);
            assert_eq!(*trial.reason(), Reason::MixedContent);
        }
        for url in ["http://localhost/", "http://127.0.0.1/"] {
            load(&app(), Fetch::image(url), &[answer(200, &[])]);
        }
        load(&app(), Fetch::navigate("http://api.test/"), &[answer(200, &[])]);
        load(&page("http://localhost/"), Fetch::image("http://a.test/"), &[answer(200, &[])]);
        let redirect = answer(302, &[("location", "http://api.test/")]);
        assert_eq!(*load(&app(), Fetch::image("/"), &[redirect]).reason(), Reason::MixedContent);
    }

    #[test]
    fn origin_is_told_to_others_and_with_unsafe_methods() {
        let origin =
            |fetch| load(&app(), fetch, &[answer(200, &[])]).last("origin").map(str::to_owned);
        let app = Some("https://app.test");
        assert_eq!(origin(Fetch::get("/")), None);
        assert_eq!(origin(Fetch::post("/")).as_deref(), app);
        assert_eq!(origin(Fetch::get("https://api.test/")).as_deref(), app);
        assert_eq!(origin(Fetch::image("https://api.test/")), None);
        assert_eq!(origin(Fetch::post("https://api.test/").mode(Mode::NoCors)).as_deref(), app);
    }

    #[test]
    fn the_referrer_policy_hides_the_origin_where_cors_is_not_used() {
        let page = Page { referrer_policy: ReferrerPolicy::NoReferrer, ..app() };
        let form = Fetch::form("https://api.test/", [("a", "b")]);
        assert_eq!(load(&page, form, &[answer(200, &[])]).last("origin"), Some("null"));
        let fetch = Fetch::post("https://api.test/");
        let trial = load(&page, fetch, &[answer(200, &[])]);
        assert_eq!(trial.last("origin"), Some("https://app.test"));
        assert_eq!(trial.last("referer"), None);
    }

    #[test]
    fn a_sandboxed_page_is_null_even_at_home() {
        let page = Page { origin: PageOrigin::Opaque, ..app() };
        assert_eq!(load(&page, Fetch::get("/"), &[answer(200, &[])]).last("origin"), Some("null"));
    }

    #[test]
    fn a_websocket_is_asked_for_with_origin_and_upgrade() {
        let trial = load(&app(), Fetch::websocket("wss://api.test/live"), &[answer(101, &[])]);
        assert!(matches!(trial.outcome, crate::browser::Outcome::Open));
        assert_eq!(trial.sent[0].url.as_str(), "https://api.test/live");
        assert_eq!(trial.last("origin"), Some("https://app.test"));
        assert_eq!(trial.last("upgrade"), Some("websocket"));
        let refused = load(&app(), Fetch::websocket("wss://api.test/live"), &[answer(403, &[])]);
        assert_eq!(*refused.reason(), Reason::NoUpgrade(403));
    }
}
