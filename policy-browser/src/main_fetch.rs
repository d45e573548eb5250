//! One load, from its start to its outcome (Fetch, 4.1 main fetch and 4.3 HTTP fetch).

use crate::{
    CacheMode, Destination, Fetch, Mode, Outcome, Page, PageOrigin, Profile, Reason, Redirect,
    ResponseType, SentRequest, ServerResponse, State, ThirdParty, address_space,
    cors_check::cors_check,
    document, filter, initiator, mixed_content,
    network::{self, Network, PendingRequest},
    preflight,
    profile::SandboxedReferrer,
    redirect, referrer,
    request::{Request, Tainting, cache_mode},
    resource_policy, script,
};

/// The status of a proxy that asks for credentials.
const PROXY_STATUS: u16 = 407;

/// A load that waits for a response.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    request: Request,
    waits_for: Waiting,
}

#[derive(Clone, Debug)]
enum Waiting {
    /// The response to a preflight that asked for these names.
    Preflight(Vec<String>),
    /// The response to the request itself.
    Response(PendingRequest),
    /// The response for the cache of a request that no page waits for.
    Refresh(PendingRequest),
}

/// The next action of a load.
#[derive(Debug)]
pub(crate) enum Next {
    Send(Box<Load>, SentRequest),
    Done(Outcome),
    /// It was for the cache only, and no page waits for it.
    Kept,
}

enum Step {
    Send(Waiting, SentRequest),
    Done(Outcome),
}

/// Starts a load of a page.
pub(crate) fn start(state: &mut State, page: Option<Page>, fetch: Fetch) -> Next {
    state.preflights.clear_opaque(&state.profile);
    match Request::new(&state.profile, page, fetch) {
        Ok(request) => proceed(state, request, main_fetch),
        Err(blocked) => Next::Done(Outcome::Blocked(*blocked)),
    }
}

impl Load {
    /// Starts a request of the browser itself, which revalidates a stored response.
    pub(crate) fn refresh(request: Request, pending: PendingRequest) -> Self {
        Self { request, waits_for: Waiting::Refresh(pending) }
    }

    /// Continues with the response of a server.
    pub(crate) fn receive(self, state: &mut State, mut response: ServerResponse) -> Next {
        if state.profile.drops_empty_lines {
            network::drop_empty_lines(&mut response.headers);
        }
        if response.status == PROXY_STATUS && state.profile.refuses_proxy_status {
            return self.abandon(state, Reason::ProxyStatus);
        }
        let request = self.request;
        match self.waits_for {
            Waiting::Preflight(unsafe_names) => {
                match judge_preflight(state, &request, &unsafe_names, &response) {
                    Ok(()) => proceed(state, request, send),
                    Err(reason) => fail(state, &request, true, reason),
                }
            }
            Waiting::Response(pending) => proceed(state, request, |state, request| {
                let (response, is_stored) = network::received(state, request, &pending, response);
                if is_stored && is_dropped(&state.profile, request, &response) {
                    network::forget(state, &pending);
                }
                respond(state, request, response, false)
            }),
            Waiting::Refresh(pending) => {
                network::received(state, &request, &pending, response);
                Next::Kept
            }
        }
    }

    /// Continues if no server could be reached.
    pub(crate) fn unreachable(self, state: &mut State) -> Next {
        self.abandon(state, Reason::Unreachable)
    }

    fn abandon(self, state: &mut State, reason: Reason) -> Next {
        let in_preflight = match self.waits_for {
            Waiting::Preflight(_) => true,
            Waiting::Response(_) => false,
            Waiting::Refresh(_) => return Next::Kept,
        };
        fail(state, &self.request, in_preflight, reason)
    }
}

/// Whether a preflight response allows its request. Caches what it allows.
fn judge_preflight(
    state: &mut State,
    request: &Request,
    unsafe_names: &[String],
    response: &ServerResponse,
) -> Result<(), Reason> {
    let State { profile, preflights, now, .. } = state;
    let allowed = preflight::read(profile, request, response)?;
    let judged = preflight::judge(profile, request, unsafe_names, &allowed);
    let is_stored = request.fetch.cache != CacheMode::NoStore || profile.no_store_keeps_preflights;
    if is_stored && (judged.is_ok() || profile.refused_preflights_are_kept) {
        if profile.preflights_forget {
            preflights.clear(profile, request, &request.url);
        }
        preflights.keep(profile, request, allowed, *now);
    }
    judged
}

fn proceed(
    state: &mut State,
    mut request: Request,
    work: impl FnOnce(&mut State, &mut Request) -> Result<Step, Reason>,
) -> Next {
    match work(state, &mut request) {
        Ok(Step::Send(waits_for, sent)) => Next::Send(Box::new(Load { request, waits_for }), sent),
        Ok(Step::Done(outcome)) => Next::Done(outcome),
        Err(reason) => fail(state, &request, false, reason),
    }
}

fn fail(state: &mut State, request: &Request, in_preflight: bool, reason: Reason) -> Next {
    let Profile { failures_clear_preflights, refused_redirects_clear_preflights, .. } =
        state.profile;
    let clears = match reason {
        Reason::Redirect => refused_redirects_clear_preflights,
        _ => failures_clear_preflights,
    };
    let is_asked = request.is_preflighted
        || state.profile.any_failure_clears_preflights && request.tainting == Tainting::Cors;
    if is_asked && clears {
        let is_blocked_redirect =
            reason == Reason::MixedContent && state.profile.blocked_redirects_clear_preflights;
        let redirecting = request.redirected_from.last().filter(|_| is_blocked_redirect);
        let url = redirecting.unwrap_or(&request.url);
        state.preflights.clear(&state.profile, request, url);
    }
    Next::Done(Outcome::Blocked(request.blocked(in_preflight, reason)))
}

/// Main fetch: for each URL of a redirect chain.
fn main_fetch(state: &mut State, request: &mut Request) -> Result<Step, Reason> {
    if !matches!(request.url.scheme(), "http" | "https") {
        return Err(Reason::Scheme);
    }
    mixed_content::upgrade_image(&state.profile, request);
    if mixed_content::is_blocked(&state.profile, request) {
        return Err(Reason::MixedContent);
    }
    address_space::check(state, request)?;
    tell_referrer(state, request);
    if request.redirected_from.is_empty() {
        request.first_referrer.clone_from(&request.referrer);
        request.keep_origin(initiator::allowed_origin(&state.profile, request).into_owned());
    }
    let is_basic = request.tainting == Tainting::Basic;
    match request.fetch.mode {
        Mode::Navigate | Mode::WebSocket => return send(state, request),
        _ if is_basic && request.is_same_origin() => return send(state, request),
        Mode::SameOrigin => return Err(Reason::Mode),
        Mode::NoCors => {
            if request.fetch.redirect != Redirect::Follow {
                return Err(Reason::Mode);
            }
            request.tainting = Tainting::Opaque;
            return send(state, request);
        }
        Mode::Cors => {}
    }
    request.tainting = Tainting::Cors;
    let unsafe_names = asked_names(&state.profile, request);
    if !preflight::is_due(&state.profile, request, &unsafe_names) {
        return send(state, request);
    }
    request.is_preflighted = true;
    if preflight::is_cached(&state.preflights, &state.profile, request, &unsafe_names) {
        return send(state, request);
    }
    let mode = cache_mode(&state.profile, request);
    if state.profile.preflights_forget && !state.profile.asks_anew.contains(&mode) {
        state.preflights.clear(&state.profile, request, &request.url);
    }
    let sent = network::preflight(&state.profile, request, &unsafe_names);
    Ok(Step::Send(Waiting::Preflight(unsafe_names), sent))
}

/// The names that a preflight asks for.
fn asked_names(profile: &Profile, request: &Request) -> Vec<String> {
    let (_, written) = &request.written;
    let others = request.preflight_fields.as_ref().unwrap_or(&request.fields);
    let fields = if profile.preflights_name_removed_fields { written } else { others };
    fields.unsafe_names(profile)
}

/// Computes the referrer for this URL. If an engine sends less to a site than the policy allows,
/// the next URL may get the full referrer of the page again (`ReferrerInfo::ComputeReferrer`).
fn tell_referrer(state: &State, request: &mut Request) {
    let Some(source) = request.referrer.take() else { return };
    let profile = &state.profile;
    let is_told_of_elements = profile.sandboxed_referrer == SandboxedReferrer::OfElements;
    let policy = match request.origin {
        PageOrigin::Opaque if is_told_of_elements => {
            referrer::across_origins(request.referrer_policy)
        }
        _ => request.referrer_policy,
    };
    request.referrer = referrer::referrer(profile, policy, &source, &request.url);
    let sent_to_target = initiator::sent_referrer(profile, request, request.referrer.as_ref());
    // With partitioned windows, a frame that got a shorter referrer keeps it.
    let is_frame =
        request.fetch.mode == Mode::Navigate && profile.third_party == ThirdParty::Partitioned;
    if sent_to_target.is_none() || is_frame {
        request.referrer = sent_to_target;
    } else if initiator::is_trimmed(profile, request) {
        request.referrer = request.page.as_ref().map(|page| page.url.clone());
    }
}

fn send(state: &mut State, request: &mut Request) -> Result<Step, Reason> {
    match network::send(state, request) {
        Network::Send(sent, pending) => Ok(Step::Send(Waiting::Response(pending), sent)),
        Network::Cached(response) => respond(state, request, response, true),
    }
}

/// Whether the page may have the response at all.
fn may_see(request: &Request, response: &ServerResponse) -> Result<(), Reason> {
    match request.tainting {
        Tainting::Cors => {
            let origin = request.serialized_origin();
            cors_check(request.fetch.credentials, &origin, &response.headers)
        }
        Tainting::Opaque => resource_policy::check(request, &response.headers),
        Tainting::Basic => Ok(()),
    }
}

/// Whether an engine does not store a response after all, because the page may not have it.
fn is_dropped(profile: &Profile, request: &Request, response: &ServerResponse) -> bool {
    let is_refused = || may_see(request, response).is_err();
    let is_blocked = || match request.fetch.destination {
        Destination::Script if script::check_type(&response.headers).is_err() => true,
        _ => request.tainting == Tainting::Opaque && is_refused(),
    };
    !profile.stores_refused && is_refused() || !profile.stores_blocked && is_blocked()
}

/// HTTP fetch, after a response has arrived.
fn respond(
    state: &mut State,
    request: &mut Request,
    response: ServerResponse,
    is_cached: bool,
) -> Result<Step, Reason> {
    if request.fetch.mode == Mode::WebSocket {
        return match response.status {
            101 => Ok(Step::Done(Outcome::Open)),
            status => Err(Reason::NoUpgrade(status)),
        };
    }
    may_see(request, &response)?;
    if redirect::is_redirect(response.status) {
        let is_idle =
            state.profile.redirects_need_location && !redirect::leads_on(&response.headers);
        match request.fetch.redirect {
            Redirect::Error if is_idle => {}
            Redirect::Error => return Err(Reason::Redirect),
            Redirect::Manual => {
                if state.profile.manual_needs_address {
                    redirect::address(request, &response.headers)?;
                }
                let mut filtered =
                    filter::nothing(request, ResponseType::OpaqueRedirect, is_cached);
                if is_idle && state.profile.manual_shows_content {
                    filtered.body = response.body;
                }
                return Ok(Step::Done(Outcome::Response(filtered)));
            }
            Redirect::Follow if is_idle => {}
            Redirect::Follow => {
                if let Some(url) = redirect::location(request, &response.headers)? {
                    redirect::check(&state.profile, request, &response.headers)?;
                    redirect::follow(&state.profile, request, &response, url)?;
                    return main_fetch(state, request);
                }
            }
        }
    }
    let outcome = match (request.fetch.mode, request.fetch.destination) {
        (Mode::Navigate, _) => document::load(&state.profile, request, response, is_cached)?,
        (_, Destination::Script) => script::load(&state.profile, request, response, is_cached)?,
        _ => Outcome::Response(filter::filter(&state.profile, request, response, is_cached)),
    };
    Ok(Step::Done(outcome))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Credentials, Event, LoadId, Output, PageOrigin, step,
        trial::{app, browser, load, load_by, load_in, response},
    };

    const URL: &str = "https://api.test/";

    #[test]
    fn cross_origin_responses_need_cors_to_be_read() {
        let trial = load(&app(), Fetch::get(URL), &[response(200, &[])]);
        assert_eq!(*trial.reason(), Reason::NoAllowOrigin);
        assert!(!trial.outcome.blocked().unwrap().in_preflight);
    }

    #[test]
    fn a_refused_preflight_keeps_the_request_at_home() {
        let trial = load(&app(), Fetch::new("DELETE", URL), &[response(403, &[])]);
        assert!(trial.outcome.blocked().unwrap().in_preflight);
        assert_eq!(*trial.reason(), Reason::NoAllowOrigin);
    }

    #[test]
    fn the_status_of_a_proxy_is_shown_by_firefox_only() {
        let response =
            response(407, &[("access-control-allow-origin", "*"), ("set-cookie", "a=1")]);
        let load =
            |profile| load_by(profile, &app(), Fetch::get(URL), std::slice::from_ref(&response));
        for profile in [Profile::CHROMIUM, Profile::WEBKIT] {
            assert_eq!(*load(profile).reason(), Reason::ProxyStatus, "{}", profile.name);
        }
        assert!(load(Profile::FIREFOX).outcome.is_readable());
    }

    #[test]
    fn mode_same_origin_sends_nothing_cross_origin() {
        let fetch = |url| Fetch::get(url).mode(Mode::SameOrigin);
        assert_eq!(*load(&app(), fetch(URL), &[]).reason(), Reason::Mode);
        let away = response(302, &[("location", URL)]);
        assert_eq!(*load(&app(), fetch("/"), &[away]).reason(), Reason::Mode);
    }

    #[test]
    fn without_cors_redirects_are_followed_or_nothing_is_sent() {
        let fetch = Fetch::get(URL).mode(Mode::NoCors).redirect(Redirect::Manual);
        assert_eq!(*load(&app(), fetch, &[]).reason(), Reason::Mode);
    }

    #[test]
    fn forbidden_requests_are_not_sent() {
        for (fetch, reason) in [
            (Fetch::new("trace", URL), Reason::Method),
            (Fetch::new("a b", URL), Reason::Method),
            (Fetch::put(URL).mode(Mode::NoCors), Reason::Method),
            (Fetch::get(URL).body("x"), Reason::Content),
            (Fetch::get("https://u:p@api.test/"), Reason::Address),
            (Fetch::get("https://"), Reason::Address),
            (Fetch::get("ftp://api.test/"), Reason::Scheme),
            (Fetch::websocket("ftp://api.test/"), Reason::Scheme),
            (Fetch::get(URL).header("a b", "1"), Reason::Header("a b: 1".into())),
        ] {
            assert_eq!(*load(&app(), fetch, &[]).reason(), reason);
        }
    }

    #[test]
    fn a_response_of_the_own_origin_stays_shared_after_it_went_abroad() {
        let grant = [("access-control-allow-origin", "*"), ("location", "https://app.test/b")];
        let responses = [response(302, &grant), response(200, &[])];
        let trial = load(&app(), Fetch::get(URL), &responses);
        assert_eq!(*trial.reason(), Reason::NoAllowOrigin);
        assert_eq!(trial.outcome.blocked().unwrap().origin, PageOrigin::Opaque);
    }

    #[test]
    fn the_address_bar_is_of_no_page() {
        let trial = load_in(browser(), None, Fetch::navigate(URL), &[response(200, &[])]);
        assert_eq!(trial.outcome.page().unwrap().url.as_str(), URL);
        assert_eq!([trial.last("origin"), trial.last("referer")], [None, None]);
    }

    #[test]
    fn a_server_that_cannot_be_reached_shows_nothing() {
        let (id, page) = (LoadId(7), Some(app()));
        let (state, _) = step(browser(), Event::Start { id, page, fetch: Fetch::put(URL) });
        let (_, outputs) = step(state, Event::Unreachable { id });
        let [Output::Done { outcome, .. }] = &outputs[..] else { panic!("{outputs:?}") };
        let blocked = outcome.blocked().unwrap();
        assert_eq!((blocked.in_preflight, &blocked.reason), (true, &Reason::Unreachable));
    }

    #[test]
    fn loads_run_side_by_side() {
        let mut state = browser();
        for (id, url) in [(1, "/a"), (2, "/b")] {
            let event = Event::Start { id: LoadId(id), page: Some(app()), fetch: Fetch::get(url) };
            (state, _) = step(state, event);
        }
        for (id, status) in [(2, 404), (1, 200)] {
            let event = Event::Response { id: LoadId(id), response: response(status, &[]) };
            let outputs;
            (state, outputs) = step(state, event);
            let [Output::Done { outcome, .. }] = &outputs[..] else { panic!("{outputs:?}") };
            assert_eq!(outcome.response().unwrap().status, status);
        }
    }

    #[test]
    fn an_unexpected_response_is_ignored() {
        let id = LoadId(3);
        let events =
            [Event::Response { id, response: response(200, &[]) }, Event::Unreachable { id }];
        for event in events {
            assert!(step(browser(), event).1.is_empty());
        }
    }

    #[test]
    fn credentials_need_a_grant_by_name_and_in_words() {
        let fetch = || Fetch::get(URL).credentials(Credentials::Include);
        let origin = |value| ("access-control-allow-origin", value);
        let trial = load(&app(), fetch(), &[response(200, &[origin("*")])]);
        assert_eq!(*trial.reason(), Reason::AnyOriginWithCredentials);
        let trial = load(&app(), fetch(), &[response(200, &[origin("https://app.test")])]);
        assert_eq!(*trial.reason(), Reason::AllowCredentials(None));
        let fields = [origin("https://app.test"), ("access-control-allow-credentials", "True")];
        let trial = load(&app(), fetch(), &[response(200, &fields)]);
        assert_eq!(*trial.reason(), Reason::AllowCredentials(Some("True".into())));
    }
}
