//! Preflights: requests that are not granted are not sent, and only origin and method decide.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};

use super::{Fault, Law, LawSpec, Verdict, no_sharing};
use crate::{
    observe::request_id,
    testing::prove::{
        exchange::Exchange,
        explorer::PathExplorer,
        probe::HandlerBehavior,
        server::{ProbeRequest, Reply},
        tally::Tallies,
    },
};

pub(super) const GATE: LawSpec = LawSpec {
    text: "a request that needs a preflight is not sent until it is granted",
    help: "leave OPTIONS to the app: state methods and headers in `#[cors]`",
    silence: |app| app.routes.is_empty().then_some("there is no handler or mounted service"),
    judge_exchange: gate,
    ..LawSpec::NONE
};

pub(super) const PURITY: LawSpec = LawSpec {
    text: "the response to a preflight depends only on its origin and method, and nothing else runs",
    help: "leave OPTIONS to the app: state methods and headers in `#[cors]`",
    silence: no_sharing,
    judge_path: pure,
    ..LawSpec::NONE
};

/// A request that needs a preflight and is not granted is not sent.
fn gate(exchange: &Exchange<'_>) -> Verdict {
    let is_asked_first = exchange.request_case.is_asked_first() && !exchange.is_own_page();
    if !is_asked_first || exchange.is_granted() {
        return Verdict::Silent;
    }
    Verdict::unless(exchange.is_sent(), || {
        let lists = exchange.preflight.as_ref().map(|reply| lists(reply)).unwrap_or_default();
        Fault {
            expected:
                "the browser does not send the request, since the preflight does not grant it"
                    .to_owned(),
            seen: format!("it sends it: the response to the preflight has {lists}"),
            attribute: "cors",
        }
    })
}

/// The response to a preflight does not depend on cookies, tokens and requested headers; no code of
/// the app runs for it, and it sets no cookie.
fn pure(explorer: &mut PathExplorer<'_, '_>, tallies: &mut Tallies) {
    let pages: Vec<_> =
        explorer.pages.iter().filter(|page| page.stands_for_others).cloned().collect();
    let credentials = explorer.credentials();
    for page in &pages {
        for method in explorer.path.methods() {
            let plain = preflight(explorer, &page.origin, method);
            let Some(expected) = explorer.ask(&plain, HandlerBehavior::Answers) else { continue };
            let is_granted =
                explorer.path.sharing(method).is_some_and(|all| all.names(&page.origin))
                    && !explorer.path.is_unknown();
            let mut verdict = Verdict::unless(
                expected.report.is_some()
                    || expected.headers.contains_key(header::SET_COOKIE)
                    || (is_granted && !(200..300).contains(&expected.status)),
                || Fault {
                    expected: match is_granted {
                        true => "a status of 200 to 299, no cookie, and no handler".to_owned(),
                        false => "no cookie, and no handler".to_owned(),
                    },
                    seen: describe(&expected),
                    attribute: "cors",
                },
            );
            let mut request = plain.clone();
            for (name, value) in &credentials {
                if !matches!(verdict, Verdict::Holds) {
                    break;
                }
                request = plain.clone();
                request.headers.insert(name.clone(), value.clone());
                let Some(reply) = explorer.ask(&request, HandlerBehavior::Answers) else {
                    continue;
                };
                verdict = Verdict::unless(stable(&reply) != stable(&expected), || Fault {
                    expected: format!(
                        "the same response as without `{name}`: {}",
                        describe(&expected)
                    ),
                    seen: describe(&reply),
                    attribute: "cors",
                });
            }
            tallies.requests(Law::PreflightPurity, explorer.path, method, &[&request], verdict);
        }
    }
}

/// A preflight that names no field.
pub(super) fn preflight(
    explorer: &PathExplorer<'_, '_>,
    origin: &str,
    method: &str,
) -> ProbeRequest {
    let mut headers = HeaderMap::new();
    for (name, text) in [(header::ORIGIN, origin), (header::ACCESS_CONTROL_REQUEST_METHOD, method)]
    {
        if let Ok(value) = HeaderValue::from_str(text) {
            headers.insert(name, value);
        }
    }
    let target = explorer.path.sample.clone();
    ProbeRequest { method: Method::OPTIONS, target, headers, body: Bytes::new() }
}

/// The parts of a response that do not differ from one to the next.
fn stable(reply: &Reply) -> (u16, bool, BTreeMap<&str, Vec<&HeaderValue>>) {
    let mut fields: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let own = [header::DATE, request_id::FIELD];
    for (name, value) in reply.headers.iter().filter(|(name, _)| !own.contains(name)) {
        fields.entry(name.as_str()).or_default().push(value);
    }
    (reply.status, reply.report.is_some(), fields)
}

fn lists(reply: &Reply) -> String {
    let lists = ["access-control-allow-methods", "access-control-allow-headers"];
    let lists: Vec<_> = lists
        .into_iter()
        .filter_map(|name| Some(format!("{name}: {}", reply.field(name)?)))
        .collect();
    if lists.is_empty() { "no field of CORS".to_owned() } else { lists.join(", ") }
}

fn describe(reply: &Reply) -> String {
    let ran = if reply.report.is_some() { ", and a handler ran" } else { "" };
    let cookie =
        if reply.headers.contains_key(header::SET_COOKIE) { ", with a cookie" } else { "" };
    format!("status {}, {}{cookie}{ran}", reply.status, lists(reply))
}
