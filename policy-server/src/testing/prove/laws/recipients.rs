//! Recipients: a response that was made for one principal reaches no other.

use http::{HeaderName, HeaderValue, Method, header};

use super::{Fault, Law, LawSpec, Verdict};
use crate::testing::prove::{
    caller::Caller,
    declared::Declaration,
    exchange::Exchange,
    explorer::PathExplorer,
    probe::HandlerBehavior,
    server::{ProbeRequest, Reply},
    tally::Tallies,
};

/// Caches of repeated requests use it as a key, without regard to the caller.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// The order of requests of the first caller, the second and an anonymous one: each follows each
/// other one, and some follow themselves.
const ORDER: [usize; 8] = [0, 1, 2, 1, 0, 0, 1, 2];

pub(super) const LAW: LawSpec = LawSpec {
    text: "a response that was made for one caller reaches no other",
    help: "keep what a layer stores or shares apart by the caller, or leave out responses \
                 whose `Cache-Control` has `private` or `no-store` and requests with a credential; \
                 a cache belongs around what is the same for everybody",
    is_cause: true,
    needs_empty_caches: true,
    silence: |app| {
        app.without(is_personal, "no response of a handler or mounted service is for one caller")
    },
    judge_exchange,
    judge_path: judge_callers,
    ..LawSpec::NONE
};

/// A page receives only responses made for the user whose credential its request carried.
fn judge_exchange(exchange: &Exchange<'_>) -> Verdict {
    let Some(reply) = exchange.reply() else { return Verdict::Silent };
    let is_carried = !exchange.caller.has_ambient() || exchange.is_carried();
    judge(reply, exchange.caller.facts().filter(|_| is_carried).map(|facts| &*facts.subject))
}

/// Two users and an anonymous caller send the same request, one after another and at the same time;
/// and two users log in.
fn judge_callers(explorer: &mut PathExplorer<'_, '_>, tallies: &mut Tallies) {
    for route in explorer.path.routes.clone() {
        if route.method == Method::HEAD {
            continue;
        }
        // First, while no cache has a response of another kind.
        if route.takes_session() {
            logins(explorer, route, tallies);
        }
        if !is_personal(route) {
            continue;
        }
        for (first, second) in explorer.rivals.clone() {
            let callers = [first, second, Caller::anonymous()];
            in_turns(explorer, route, &callers, tallies);
            let [first, second, _] = &callers;
            at_once(explorer, route, [first, second], tallies);
        }
    }
}

/// Whether its responses depend on the caller.
fn is_personal(route: &Declaration) -> bool {
    route.requirement().is_some()
}

fn in_turns(
    explorer: &mut PathExplorer<'_, '_>,
    route: &Declaration,
    callers: &[Caller; 3],
    tallies: &mut Tallies,
) {
    let mut sent: Vec<(ProbeRequest, Option<&str>)> = Vec::new();
    for caller in ORDER.iter().filter_map(|index| callers.get(*index)) {
        let request = request(explorer, caller, route);
        let Some(reply) = explorer.ask(&request, HandlerBehavior::Answers) else { continue };
        let subject = caller.facts().map(|facts| &*facts.subject);
        let verdict = judge(&reply, subject);
        let of_owner = |(_, of): &&(ProbeRequest, Option<&str>)| *of == reply.made_for.as_deref();
        let earlier = sent.iter().find(of_owner).filter(|_| matches!(verdict, Verdict::Broken(_)));
        let both: Vec<_> =
            earlier.map(|(earlier, _)| earlier).into_iter().chain([&request]).collect();
        let method = route.method.as_str();
        tallies.requests(Law::OwnResponse, explorer.path, method, &both, verdict);
        sent.push((request, subject));
    }
}

fn at_once(
    explorer: &mut PathExplorer<'_, '_>,
    route: &Declaration,
    callers: [&Caller; 2],
    tallies: &mut Tallies,
) {
    let requests = callers.map(|caller| request(explorer, caller, route));
    let replies = explorer.ask_at_once(&requests);
    let [first, second] = &requests;
    for (caller, reply) in callers.into_iter().zip(replies) {
        let Some(reply) = reply else { continue };
        let verdict = judge(&reply, caller.facts().map(|facts| &*facts.subject));
        let method = route.method.as_str();
        tallies.requests(Law::OwnResponse, explorer.path, method, &[first, second], verdict);
    }
}

/// Each login gets its own session.
fn logins(explorer: &mut PathExplorer<'_, '_>, route: &Declaration, tallies: &mut Tallies) {
    let request = request(explorer, &Caller::anonymous(), route);
    let prefix = format!("{}=", explorer.app.cookie);
    let mut cookie = || {
        let reply = explorer.ask(&request, HandlerBehavior::LogsIn)?;
        let mut lines = reply.headers.get_all(header::SET_COOKIE).iter();
        lines.rfind(|line| line.as_bytes().starts_with(prefix.as_bytes())).cloned()
    };
    let Some((first, second)) = cookie().zip(cookie()) else { return };
    let verdict = Verdict::unless(first == second, || Fault {
        expected: "the second login begins a session of its own".to_owned(),
        seen: "it gets the session cookie of the first one: both users share a session".to_owned(),
        attribute: "auth",
    });
    let method = route.method.as_str();
    tallies.requests(Law::OwnResponse, explorer.path, method, &[&request, &request], verdict);
}

fn request(explorer: &PathExplorer<'_, '_>, caller: &Caller, route: &Declaration) -> ProbeRequest {
    let mut request = explorer.by_own_page(caller, &route.method);
    request.headers.insert(IDEMPOTENCY_KEY, HeaderValue::from_static("policy-probe"));
    request
}

/// Whether a response may reach this user, or an anonymous caller.
fn judge(reply: &Reply, subject: Option<&str>) -> Verdict {
    let Some(made_for) = reply.made_for.as_deref() else { return Verdict::Silent };
    Verdict::unless(subject != Some(made_for), || Fault {
        expected: match subject {
            Some(subject) => format!("{subject} gets a response that was made for {subject}"),
            None => "nobody gets a response that was made for a user".to_owned(),
        },
        seen: format!("the response that the app made for {made_for}"),
        attribute: "auth",
    })
}
