//! One load, from its start to its outcome (Fetch, 4.1 main fetch and 4.3 HTTP fetch).

use super::{
    Answer, Destination, Fetch, Mode, Outcome, Page, Reason, Redirect, ResponseType, Sent, State,
    cors_check::cors_check,
    document, filter,
    network::{self, Network},
    preflight, redirect,
    request::{Request, Tainting},
    resource_policy, script,
};

/// A load that waits for a server.
#[derive(Clone, Debug)]
pub(super) struct Load {
    request: Request,
    waits_for: Waiting,
}

#[derive(Clone, Debug)]
enum Waiting {
    /// The answer to a preflight that asked for these names.
    Preflight(Vec<String>),
    /// The answer to the request itself.
    Response,
}

/// What a load does next.
#[derive(Debug)]
pub(super) enum Next {
    Send(Box<Load>, Sent),
    Done(Outcome),
}

enum Step {
    Send(Waiting, Sent),
    Done(Outcome),
}

/// A page asks for something.
pub(super) fn start(state: &mut State, page: Option<Page>, fetch: Fetch) -> Next {
    match Request::new(page, fetch) {
        Ok(request) => proceed(state, request, main_fetch),
        Err(blocked) => Next::Done(Outcome::Blocked(*blocked)),
    }
}

impl Load {
    /// A server has answered.
    pub(super) fn answered(self, state: &mut State, answer: Answer) -> Next {
        let request = self.request;
        match self.waits_for {
            Waiting::Preflight(unsafe_names) => {
                let judged = preflight::judge(&state.profile, &request, &unsafe_names, &answer);
                match judged {
                    Ok(allowed) => {
                        let cap = state.profile.preflight_cap;
                        state.preflights.keep(&request, allowed, state.now, cap);
                        proceed(state, request, send)
                    }
                    Err(reason) => fail(state, &request, true, reason),
                }
            }
            Waiting::Response => proceed(state, request, |state, request| {
                let answer = network::received(state, request, answer);
                respond(state, request, answer, false)
            }),
        }
    }

    /// No server has.
    pub(super) fn unreachable(self, state: &mut State) -> Next {
        let in_preflight = matches!(self.waits_for, Waiting::Preflight(_));
        fail(state, &self.request, in_preflight, Reason::Unreachable)
    }
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
    if request.is_preflighted {
        state.preflights.clear(request);
    }
    Next::Done(Outcome::Blocked(request.blocked(in_preflight, reason)))
}

/// Main fetch: of every address on the way.
fn main_fetch(state: &mut State, request: &mut Request) -> Result<Step, Reason> {
    if !matches!(request.url.scheme(), "http" | "https") {
        return Err(Reason::Scheme);
    }
    if network::is_mixed_content(request) {
        return Err(Reason::MixedContent);
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
    let unsafe_names = request.fields.unsafe_names();
    if !preflight::is_due(request, &unsafe_names) {
        return send(state, request);
    }
    request.is_preflighted = true;
    if preflight::is_cached(&state.preflights, &state.profile, request, &unsafe_names) {
        return send(state, request);
    }
    let sent = network::preflight(request, &unsafe_names);
    Ok(Step::Send(Waiting::Preflight(unsafe_names), sent))
}

fn send(state: &mut State, request: &mut Request) -> Result<Step, Reason> {
    match network::send(state, request) {
        Network::Send(sent) => Ok(Step::Send(Waiting::Response, sent)),
    }
}

/// HTTP fetch, once there is an answer.
fn respond(
    state: &mut State,
    request: &mut Request,
    answer: Answer,
    is_cached: bool,
) -> Result<Step, Reason> {
    if request.fetch.mode == Mode::WebSocket {
        return match answer.status {
            101 => Ok(Step::Done(Outcome::Open)),
            status => Err(Reason::NoUpgrade(status)),
        };
    }
    match request.tainting {
        Tainting::Cors => cors_check(request, &answer.headers)?,
        Tainting::Opaque => resource_policy::check(request, &answer.headers)?,
        Tainting::Basic => {}
    }
    if redirect::is_redirect(answer.status) {
        match request.fetch.redirect {
            Redirect::Error => return Err(Reason::Redirect),
            Redirect::Manual => {
                let response = filter::nothing(request, ResponseType::OpaqueRedirect, is_cached);
                return Ok(Step::Done(Outcome::Response(response)));
            }
            Redirect::Follow => {
                if let Some(url) = redirect::location(request, &answer.headers)? {
                    redirect::follow(request, &answer, url)?;
                    return main_fetch(state, request);
                }
            }
        }
    }
    let outcome = match (request.fetch.mode, request.fetch.destination) {
        (Mode::Navigate, _) => document::load(request, answer, is_cached)?,
        (_, Destination::Script) => script::load(request, answer, is_cached)?,
        _ => Outcome::Response(filter::filter(request, answer, is_cached)),
    };
    Ok(Step::Done(outcome))
}
