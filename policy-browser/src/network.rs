//! HTTP-network-or-cache fetch (Fetch, 4.5): which fields the browser adds to a request, and what
//! it stores of the response.

use http::{HeaderMap, HeaderValue, Method, header};
use url::Url;

use crate::{
    CacheMode, Credentials, Destination, Mode, Profile, SentRequest, ServerResponse, State,
    cache_partition::{LoadKind, Partition},
    cookie_context::CookieContext,
    grammar::trim,
    initiator::{describe, is_silent},
    preflight,
    request::{Request, Tainting, cache_mode},
    storage_access,
    store::Lookup,
};

/// Where the response comes from.
#[expect(clippy::large_enum_variant, reason = "taken apart at once")]
pub(crate) enum Network {
    /// From a server.
    Send(SentRequest, PendingRequest),
    /// From the cache.
    Cached(ServerResponse),
}

/// A request on its way to a server, with the facts about it that the HTTP cache needs.
#[derive(Clone, Debug)]
pub(crate) struct PendingRequest {
    /// The request without content and without the conditions of the cache.
    request: SentRequest,
    key: Partition,
    /// Whether the cache revalidates a stored response.
    is_conditional: bool,
}

/// Revalidates a stored response that was used at once, for the next request.
#[derive(Clone, Debug)]
pub(crate) struct Refresh {
    pub(crate) request: Request,
    pub(crate) sent: SentRequest,
    pub(crate) pending: PendingRequest,
}

/// Prepares a request for the network.
pub(crate) fn send(state: &mut State, request: &Request) -> Network {
    let mut headers = request.fields.to_map(&state.profile);
    if !headers.contains_key(header::ACCEPT) {
        headers.insert(header::ACCEPT, HeaderValue::from_static(accepted(request)));
    }
    if request.fetch.mode == Mode::WebSocket {
        upgrade(&mut headers);
    }
    describe(&state.profile, &mut headers, request, false);
    if !is_silent(&state.profile, request) {
        ask_caches(&mut headers, cache_mode(&state.profile, request));
    }
    storage_access::tell(&state.profile, &mut headers, request, false);
    let mut sent = to_sent(request, request.method.clone(), headers);
    let (context, includes_credentials) = (cookie_context(request), includes_credentials(request));
    if includes_credentials
        && let Some(value) = state.cookies.header(&state.profile, state.now, &context)
    {
        sent.headers.insert(header::COOKIE, value);
    }
    let mode = (!includes_credentials).then_some(request.fetch.credentials);
    sent.withheld = state.cookies.withheld(&state.profile, state.now, &context, mode);
    let key = partition(&state.profile, request);
    let lookup = match request.fetch.mode {
        Mode::WebSocket => Lookup::Miss,
        _ => {
            let mode = cache_mode(&state.profile, request);
            state.store.lookup(&state.profile, state.now, &key, mode, &sent)
        }
    };
    let (cached, conditions) = match lookup {
        Lookup::Fresh(response) => return Network::Cached(response),
        Lookup::Refresh(response, conditions) => (Some(response), conditions),
        Lookup::Stale(conditions) => (None, conditions),
        Lookup::Miss => (None, HeaderMap::new()),
    };
    let pending =
        PendingRequest { request: sent.clone(), key, is_conditional: !conditions.is_empty() };
    sent.headers.extend(conditions);
    sent.body.clone_from(&request.body);
    let Some(response) = cached else { return Network::Send(sent, pending) };
    state.refreshes.push(Refresh { request: request.clone(), sent, pending });
    Network::Cached(response)
}

/// Prepares a preflight: without credentials, and without caches.
pub(crate) fn preflight(
    profile: &Profile,
    request: &Request,
    unsafe_names: &[String],
) -> SentRequest {
    let mut headers = preflight::ask(request, unsafe_names);
    describe(profile, &mut headers, request, true);
    if profile.preflights_have_cache_mode {
        ask_caches(&mut headers, cache_mode(profile, request));
    }
    storage_access::tell(profile, &mut headers, request, true);
    SentRequest { is_preflight: true, ..to_sent(request, preflight::METHOD, headers) }
}

/// Stores what the browser keeps of a response before any check. Returns the response to use, which
/// is the stored one if the server confirmed it, and whether the response itself is stored now.
pub(crate) fn received(
    state: &mut State,
    request: &Request,
    pending: &PendingRequest,
    response: ServerResponse,
) -> (ServerResponse, bool) {
    let sets_cookies = request.fetch.mode != Mode::WebSocket
        || matches!(response.status, 101 | 401)
        || state.profile.refused_sockets_set_cookies;
    if sets_cookies {
        for line in response.headers.get_all(header::SET_COOKIE) {
            if includes_credentials(request) {
                let context = cookie_context(request);
                state.cookies.store(&state.profile, state.now, &context, line.as_bytes());
            } else {
                state.cookies.ignore(&request.url, line.as_bytes(), request.fetch.credentials);
            }
        }
    }
    let State { profile, now, store, .. } = state;
    let PendingRequest { request: sent, key, is_conditional } = pending;
    match request.fetch.mode {
        Mode::WebSocket => (response, false),
        _ if *is_conditional && response.status == 304 => {
            (store.revalidated(profile, *now, key, sent, &response).unwrap_or(response), false)
        }
        _ => {
            let mode = cache_mode(profile, request);
            let is_stored = store.keep(profile, *now, key, mode, sent, &response);
            (response, is_stored)
        }
    }
}

/// Removes a response that has just been stored.
pub(crate) fn forget(state: &mut State, pending: &PendingRequest) {
    state.store.forget(&state.profile, &pending.key, &pending.request);
}

/// Drops lines with an empty value from a field that has other lines.
pub(crate) fn drop_empty_lines(headers: &mut HeaderMap) {
    let lines: Vec<_> = headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    headers.clear();
    for (name, value) in lines {
        let is_empty = |value: &HeaderValue| trim(value.as_bytes()).is_empty();
        match headers.get(&name) {
            Some(earlier) if is_empty(earlier) => drop(headers.insert(name, value)),
            Some(_) if is_empty(&value) => {}
            _ => drop(headers.append(name, value)),
        }
    }
}

fn to_sent(request: &Request, method: Method, headers: HeaderMap) -> SentRequest {
    let mut url = request.url.clone();
    url.set_fragment(None);
    hide_credentials(&mut url);
    SentRequest { headers, ..SentRequest::new(method, url) }
}

/// The user and the password of a URL are not sent.
fn hide_credentials(url: &mut Url) {
    // A URL without a host has neither.
    let _ = url.set_username("");
    let _ = url.set_password(None);
}

/// Whether the request includes credentials, and cookies of its response are stored.
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

/// The fields by which cache modes control HTTP caches on the way.
fn ask_caches(headers: &mut HeaderMap, mode: CacheMode) {
    let control = match mode {
        CacheMode::NoStore | CacheMode::Reload => "no-cache",
        CacheMode::NoCache => "max-age=0",
        CacheMode::Default | CacheMode::ForceCache => return,
    };
    if control == "no-cache" {
        headers.entry(header::PRAGMA).or_insert(HeaderValue::from_static(control));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static(control));
}

fn partition(profile: &Profile, request: &Request) -> Partition {
    let kind = match request.fetch.destination {
        _ if request.is_top_level_navigation() => LoadKind::Window,
        Destination::Frame => LoadKind::Frame,
        Destination::Empty if !request.fetch.is_beacon => LoadKind::Fetch,
        _ => LoadKind::Subresource,
    };
    let page = request.page.as_ref();
    Partition::for_load(profile, page, kind, &request.url, includes_credentials(request))
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

/// The opening handshake of a WebSocket (RFC 6455, 4.1). The nonce is the one of its example, since
/// this browser has no random numbers.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Fetch, Reason, run,
        trial::{Trial, app, browser, engine, load, load_by, load_in, response},
    };

    #[test]
    fn cookies_go_as_the_credentials_mode_says() {
        let cookie = ("set-cookie", "a=1; Secure; SameSite=None");
        let granted = [("access-control-allow-origin", "https://app.test")];
        let granted = [granted[0], ("access-control-allow-credentials", "true")];
        let bar = |url| Fetch::navigate(url);
        let state = load_in(browser(), None, bar("https://app.test/"), &[response(200, &[cookie])]);
        let state =
            load_in(state.state, None, bar("https://api.test/"), &[response(200, &[cookie])]).state;
        let cookie = |url: &str, credentials| {
            let fetch = Fetch::get(url).credentials(credentials);
            let trial = load_in(state.clone(), Some(&app()), fetch, &[response(200, &granted)]);
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
    fn cookies_of_unreadable_responses_are_stored() {
        let fetch = |credentials| Fetch::get("https://api.test/").credentials(credentials);
        let fields = [("set-cookie", "a=1; Secure; SameSite=None")];
        let kept = |credentials| {
            let trial = load(&app(), fetch(credentials), &[response(200, &fields)]);
            assert!(trial.outcome.blocked().is_some());
            trial.state.cookies().iter().count()
        };
        assert_eq!(kept(Credentials::Include), 1);
        assert_eq!(kept(Credentials::Omit), 0);
    }

    #[test]
    fn a_websocket_request_has_origin_and_upgrade() {
        let trial = load(&app(), Fetch::websocket("wss://api.test/live"), &[response(101, &[])]);
        assert!(matches!(trial.outcome, crate::Outcome::Open));
        assert_eq!(trial.sent[0].url.as_str(), "https://api.test/live");
        assert_eq!(trial.last("origin"), Some("https://app.test"));
        assert_eq!(trial.last("upgrade"), Some("websocket"));
        let refused = load(&app(), Fetch::websocket("wss://api.test/live"), &[response(403, &[])]);
        assert_eq!(*refused.reason(), Reason::NoUpgrade(403));
    }

    #[test]
    fn a_websocket_that_is_refused_sets_no_cookies_in_chromium() {
        let kept = |profile, status| {
            let response = response(status, &[("set-cookie", "a=1; Secure")]);
            let fetch = Fetch::websocket("wss://app.test/live");
            load_by(profile, &app(), fetch, &[response]).state.cookies().iter().count()
        };
        for (status, in_chromium) in [(101, 1), (401, 1), (200, 0), (301, 0), (403, 0)] {
            assert_eq!(kept(Profile::STANDARD, status), 1, "{status}");
            assert_eq!(kept(Profile::CHROMIUM, status), in_chromium, "{status}");
        }
    }

    #[test]
    fn chromium_does_not_store_blocked_responses_and_keeps_the_stored_one() {
        let origin = "access-control-allow-origin";
        let tagged = [("cache-control", "max-age=60"), ("etag", "\"1\"")];
        let [seen, unseen] = ["https://app.test", "https://evil.test"]
            .map(|granted| response(200, &[tagged[0], tagged[1], (origin, granted)]));
        let holds = response(304, &[(origin, "https://evil.test")]);
        let fetch = |mode| Fetch::get("https://api.test/").cache(mode);
        let asks_again = |mode, second: &ServerResponse| {
            let mut state = engine(Profile::CHROMIUM);
            for (mode, response) in [(CacheMode::Default, &seen), (mode, second)] {
                let responses = std::slice::from_ref(response);
                state = load_in(state, Some(&app()), fetch(mode), responses).state;
            }
            let mut count = 0;
            run(state, Some(&app()), fetch(CacheMode::Default), |_| {
                count += 1;
                seen.clone()
            });
            count == 1
        };
        assert!(asks_again(CacheMode::NoCache, &unseen));
        assert!(asks_again(CacheMode::Reload, &unseen));
        assert!(!asks_again(CacheMode::NoStore, &unseen));
        assert!(!asks_again(CacheMode::NoCache, &holds));
    }

    #[test]
    fn firefox_stores_nothing_that_it_blocks() {
        let fresh = ("cache-control", "max-age=60");
        let is_stored = |profile, fetch: &Fetch, field| {
            let mut state = engine(profile);
            let mut count = 0;
            for _ in 0..2 {
                state = run(state, Some(&app()), fetch.clone(), |_| {
                    count += 1;
                    response(200, &[fresh, field])
                })
                .0;
            }
            count == 1
        };
        let (script, image) = (Fetch::script("/a"), Fetch::image("https://api.test/a"));
        for (fetch, field, in_firefox) in [
            (&script, ("content-type", "image/gif"), false),
            (&script, ("content-type", "text/javascript"), true),
            (&image, ("cross-origin-resource-policy", "same-origin"), false),
            (&image, ("cross-origin-resource-policy", "cross-origin"), true),
        ] {
            assert!(is_stored(Profile::STANDARD, fetch, field), "{field:?}");
            assert_eq!(is_stored(Profile::FIREFOX, fetch, field), in_firefox, "{field:?}");
        }
    }

    /// The first response of `/`, and the outcome of a second fetch of it, whose response is
    /// `again`.
    fn twice(fields: &[(&str, &str)], again: &[ServerResponse]) -> Trial {
        let state =
            load_in(browser(), Some(&app()), Fetch::get("/"), &[response(200, fields)]).state;
        load_in(state, Some(&app()), Fetch::get("/"), again)
    }

    #[test]
    fn a_fresh_response_needs_no_request() {
        let trial = twice(&[("cache-control", "max-age=60")], &[]);
        let response = trial.outcome.response().unwrap();
        assert!(response.is_cached && response.body == b"content");
    }

    #[test]
    fn a_script_that_sends_conditions_sees_the_304() {
        let fetch = Fetch::get("/").header("if-none-match", "\"1\"");
        let trial = load(&app(), fetch, &[response(304, &[])]);
        assert_eq!(trial.outcome.response().unwrap().status, 304);
    }

    #[test]
    fn conditions_of_a_script_keep_a_response_out_of_the_cache_by_default_only() {
        use CacheMode::{Default, ForceCache, NoCache, NoStore, Reload};
        for (profile, all) in [(Profile::FIREFOX, false), (Profile::CHROMIUM, true)] {
            for (mode, is_stored) in [
                (Default, false),
                (NoStore, false),
                (Reload, true),
                (NoCache, true),
                (ForceCache, true),
            ] {
                let mut state = engine(profile);
                let own = Fetch::get("/").header("if-none-match", "\"1\"").cache(mode);
                let response = response(200, &[("cache-control", "max-age=60")]);
                let mut count = 0;
                for fetch in [own, Fetch::get("/")] {
                    state = run(state, Some(&app()), fetch, |_| {
                        count += 1;
                        response.clone()
                    })
                    .0;
                }
                assert_eq!(count == 1, is_stored && !all, "{} {mode:?}", profile.name);
            }
        }
    }

    #[test]
    fn conditions_of_an_upload_leave_the_cache_mode_alone_in_firefox() {
        for (profile, control) in [(Profile::STANDARD, Some("no-cache")), (Profile::FIREFOX, None)]
        {
            let fetch = Fetch::get("/").header("if-none-match", "\"1\"").watch_upload();
            let trial = load_by(profile, &app(), fetch, &[response(200, &[])]);
            assert_eq!(trial.last("cache-control"), control, "{}", profile.name);
        }
    }

    #[test]
    fn stale_while_revalidate_uses_and_refreshes_the_response() {
        let fields = [("etag", "\"1\""), ("cache-control", "max-age=0, stale-while-revalidate=60")];
        let new = response(200, &[("cache-control", "max-age=60"), ("x-new", "1")]);
        let trial = twice(&fields, &[new]);
        assert!(trial.outcome.response().unwrap().is_cached);
        assert_eq!(trial.last("if-none-match"), Some("\"1\""));
        let third = load_in(trial.state, Some(&app()), Fetch::get("/"), &[]);
        assert!(third.outcome.response().unwrap().headers.contains_key("x-new"));
    }

    #[test]
    fn the_cache_mode_sets_request_directives() {
        for (mode, control, pragma) in [
            (CacheMode::Default, None, None),
            (CacheMode::NoCache, Some("max-age=0"), None),
            (CacheMode::Reload, Some("no-cache"), Some("no-cache")),
            (CacheMode::NoStore, Some("no-cache"), Some("no-cache")),
        ] {
            let trial = load(&app(), Fetch::get("/").cache(mode), &[response(200, &[])]);
            assert_eq!([trial.last("cache-control"), trial.last("pragma")], [control, pragma]);
        }
    }
}
