//! Responses: layers do not change what the policy writes into a response.

use std::{borrow::Cow, mem};

use http::{HeaderMap, HeaderName, HeaderValue, header};
use policy_browser::Mode;
use policy_core::cache::is_rival;

use super::{Fault, Law, LawSpec, Verdict, caching::Reuse, manifest};
use crate::testing::prove::{
    exchange::Exchange,
    explorer::PathExplorer,
    passage::WrittenHead,
    probe::HandlerBehavior,
    server::{ProbeRequest, Reply},
    tally::Tallies,
};

/// The permitted changes of a field by a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Freedom {
    /// Nothing: exactly the lines that the app writes leave the layers.
    None,
    /// Write it if the app writes none.
    Absent,
    /// Add members to it: each one restricts.
    Add,
    /// Forbid or shorten caching.
    Narrow,
}

/// The fields that policies write, and others that would allow pages or caches more than the
/// policies do, each with the attribute that states it. The fields of CORS, and those that caches
/// follow in place of `Cache-Control`, are handled separately.
static FIELDS: [(HeaderName, Freedom, &str); 18] = [
    (header::X_CONTENT_TYPE_OPTIONS, Freedom::Absent, "headers"),
    (header::CONTENT_SECURITY_POLICY, Freedom::Add, "headers"),
    (header::X_FRAME_OPTIONS, Freedom::Absent, "headers"),
    (header::REFERRER_POLICY, Freedom::Absent, "headers"),
    (header::STRICT_TRANSPORT_SECURITY, Freedom::Absent, "headers"),
    (HeaderName::from_static("permissions-policy"), Freedom::Absent, "headers"),
    (HeaderName::from_static("cross-origin-opener-policy"), Freedom::Absent, "headers"),
    (HeaderName::from_static("cross-origin-embedder-policy"), Freedom::Absent, "headers"),
    (HeaderName::from_static("cross-origin-resource-policy"), Freedom::Absent, "headers"),
    (HeaderName::from_static("clear-site-data"), Freedom::Absent, "auth"),
    (HeaderName::from_static("timing-allow-origin"), Freedom::None, "cors"),
    (HeaderName::from_static("service-worker-allowed"), Freedom::None, "headers"),
    (HeaderName::from_static("supports-loading-mode"), Freedom::None, "headers"),
    (HeaderName::from_static("activate-storage-access"), Freedom::None, "headers"),
    (header::VARY, Freedom::Add, "cache"),
    (header::CACHE_CONTROL, Freedom::Narrow, "cache"),
    (header::WWW_AUTHENTICATE, Freedom::None, "auth"),
    (header::SET_COOKIE, Freedom::None, "auth"),
];

/// The prefix of the names of CORS headers (Fetch 3.3.3).
const CORS: &str = "access-control-";

pub(super) const INTEGRITY: LawSpec = LawSpec {
    text: "what the policy writes into a response leaves the layers as it was written",
    help: "state it in the attribute, such as `#[headers]`, `#[cache]` or `#[cors]`, and let no \
                 layer write or remove it",
    silence: |app| (!app.has_layers).then_some("no layer is around the app"),
    judge_exchange,
    judge_path: judge_layer_responses,
    ..LawSpec::NONE
};

/// No layer responds with success, without calling the app, to a request that the app refuses by
/// its manifest. For a WebSocket only 101 is success.
fn judge_exchange(exchange: &Exchange<'_>) -> Verdict {
    let is_made = |reply: &&Reply| reply.is_layered && reply.inner.is_none();
    let Some(reply) = exchange.reply().filter(is_made) else { return Verdict::Silent };
    if exchange.fetch().mode == Mode::WebSocket && reply.status != 101 {
        return Verdict::Silent;
    }
    let Some(decision) = manifest::decision(exchange) else { return Verdict::Silent };
    let Some(status) = decision.status.filter(|_| decision.refusal().is_some()) else {
        return Verdict::Silent;
    };
    undone(status, reply).map_or(Verdict::Holds, Verdict::Broken)
}

/// Compares a response that left the layers with the response that entered them.
pub(in crate::testing::prove) fn judge(reply: &Reply, cookie: &str) -> Verdict {
    reply.written.as_ref().map_or(Verdict::Silent, |written| compare(written, reply, cookie))
}

/// Adds the verdicts on all responses of a path that left layers.
pub(in crate::testing::prove) fn arrived(
    explorer: &mut PathExplorer<'_, '_>,
    tallies: &mut Tallies,
) {
    for (request, verdict) in mem::take(&mut explorer.arrived) {
        note(explorer, &request, verdict, tallies);
    }
}

/// A response that a layer makes itself has the fields that the app would have written: for pages
/// of handlers, and for refusals, errors and panics shown as pages.
fn judge_layer_responses(explorer: &mut PathExplorer<'_, '_>, tallies: &mut Tallies) {
    for (method, caller) in explorer.through_layers() {
        let is_served = explorer.path.route_for(method.as_str()).is_some();
        let behaviors =
            [HandlerBehavior::Answers, HandlerBehavior::Fails(404), HandlerBehavior::Panics];
        for behavior in behaviors.into_iter().take(if is_served { 3 } else { 1 }) {
            // Each request has its own ticket.
            let mut ask = |is_bare| {
                let mut request = explorer.by_own_page(&caller, &method);
                request.headers.insert(header::ACCEPT, HeaderValue::from_static("text/html"));
                let reply = explorer.ask_for_page(&request, behavior, is_bare)?;
                Some((request, reply))
            };
            let Some((request, reply)) = ask(false).filter(|(_, reply)| reply.written.is_none())
            else {
                continue;
            };
            let Some((_, bare)) = ask(true) else { continue };
            let is_refusal = bare.status >= 400 && !bare.is_reached;
            let headers = without_nonces(bare.headers);
            let expected = WrittenHead { status: bare.status, is_refusal, code: None, headers };
            let reply = Reply { headers: without_nonces(reply.headers), ..reply };
            let verdict = compare(&expected, &reply, &explorer.app.cookie);
            note(explorer, &request, verdict, tallies);
        }
    }
}

fn note(
    explorer: &PathExplorer<'_, '_>,
    request: &ProbeRequest,
    verdict: Verdict,
    tallies: &mut Tallies,
) {
    let announced = request.headers.get(header::ACCESS_CONTROL_REQUEST_METHOD);
    let announced = announced.and_then(|method| method.to_str().ok());
    let method = announced.unwrap_or(request.method.as_str());
    tallies.requests(Law::ResponseIntegrity, explorer.path, method, &[request], verdict);
}

fn compare(written: &WrittenHead, reply: &Reply, cookie: &str) -> Verdict {
    let undone = Some(written.status).filter(|_| written.is_refusal);
    let undone = undone.and_then(|status| self::undone(status, reply));
    let fault = undone.or_else(|| fields(written, reply, cookie));
    fault.map_or(Verdict::Holds, Verdict::Broken)
}

/// A refusal stays a refusal. A 404 protects nothing, so a layer may replace it.
fn undone(status: u16, reply: &Reply) -> Option<Fault> {
    (status != 404 && reply.status < 400).then(|| Fault {
        expected: format!("a refusal: the app refuses the request with {status}"),
        seen: format!("status {}", reply.status),
        attribute: "auth",
    })
}

/// The first field that differs from what the app wrote.
fn fields(written: &WrittenHead, reply: &Reply, cookie: &str) -> Option<Fault> {
    let named = || written.headers.keys().chain(reply.headers.keys());
    let mut of_cors: Vec<_> = named().filter(|name| name.as_str().starts_with(CORS)).collect();
    of_cors.sort_unstable_by_key(|name| name.as_str());
    let of_cors = of_cors.into_iter().map(|name| (name, Freedom::None, "cors"));
    let others = FIELDS.iter().map(|(name, freedom, attribute)| (name, *freedom, *attribute));
    // Layers against caching write the two old fields beside `no-store`. Without it, `Expires` lets caches
    // store a response of any status (RFC 9111 3).
    let is_kept = || Reuse::from_response(200, &reply.headers) != Reuse::default();
    let is_followed = |name: &&HeaderName| {
        is_rival(name) && (!matches!(**name, header::EXPIRES | header::PRAGMA) || is_kept())
    };
    let of_caches = named().filter(is_followed).map(|name| (name, Freedom::None, "cache"));
    let mut all = others.chain(of_cors).chain(of_caches);
    let (name, _, attribute) = all.find(|(name, freedom, _)| {
        let [expected, arrived] =
            [&written.headers, &reply.headers].map(|headers| lines(headers, name, cookie));
        !match freedom {
            Freedom::None => expected == arrived,
            Freedom::Absent => expected.is_empty() || expected == arrived,
            Freedom::Add => has_all(&arrived, &expected),
            Freedom::Narrow => Reuse::from_response(reply.status, &reply.headers)
                .is_within(&Reuse::from_response(written.status, &written.headers)),
        }
    })?;
    let [expected, seen] = [&written.headers, &reply.headers].map(|headers| {
        let lines = lines(headers, name, cookie);
        let lines: Vec<_> = lines.iter().map(|line| redact(name, line)).collect();
        match lines.is_empty() {
            true => format!("no `{name}`"),
            false => format!("`{name}: {}`", lines.join(" and ")),
        }
    });
    Some(Fault { expected, seen: format!("{seen}, status {}", reply.status), attribute })
}

/// The first difference between the responses to two equal requests.
pub(super) fn difference(one: &Reply, other: &Reply, cookie: &str) -> Option<Fault> {
    let status = one.status;
    let headers = without_nonces(one.headers.clone());
    let expected = WrittenHead { status, is_refusal: false, code: None, headers };
    let other = Reply { headers: without_nonces(other.headers.clone()), ..other.clone() };
    fields(&expected, &other, cookie)
}

/// Whether all expected members arrived. `*` in `Vary` stands for all.
fn has_all(arrived: &[String], expected: &[String]) -> bool {
    let is_there = |member: &String| arrived.iter().any(|other| other == member || other == "*");
    expected.iter().all(is_there)
}

/// The lines of a field; for `Vary` its members, and for `Set-Cookie` only the lines that set the
/// session cookie.
fn lines(headers: &HeaderMap, name: &HeaderName, cookie: &str) -> Vec<String> {
    let values = headers.get_all(name).iter();
    let texts = values.map(|value| String::from_utf8_lossy(value.as_bytes()));
    match *name {
        header::VARY => {
            let members = |line: Cow<'_, str>| {
                let members = line.split(',').map(|member| member.trim().to_ascii_lowercase());
                members.collect::<Vec<_>>()
            };
            texts.flat_map(members).collect()
        }
        header::SET_COOKIE => {
            let is_of_session = |line: &Cow<'_, str>| {
                line.split_once('=').is_some_and(|(name, _)| name.trim() == cookie)
            };
            texts.filter(is_of_session).map(Cow::into_owned).collect()
        }
        _ => texts.map(Cow::into_owned).collect(),
    }
}

/// A line to be shown, without the id of a session.
fn redact(name: &HeaderName, line: &str) -> String {
    match line.split_once('=').filter(|_| *name == header::SET_COOKIE) {
        None => line.to_owned(),
        Some((cookie, rest)) => {
            let attributes = rest.split_once(';').map_or("", |(_, attributes)| attributes);
            format!("{cookie}=..;{attributes}")
        }
    }
}

/// The headers, with `Content-Security-Policy` without the values of nonces, which differ in each
/// response.
fn without_nonces(mut headers: HeaderMap) -> HeaderMap {
    for policy in headers.iter_mut().filter(|(name, _)| **name == header::CONTENT_SECURITY_POLICY) {
        let text = without_nonce(&String::from_utf8_lossy(policy.1.as_bytes()));
        if let Ok(text) = HeaderValue::try_from(text) {
            *policy.1 = text;
        }
    }
    headers
}

fn without_nonce(policy: &str) -> String {
    let mut parts = policy.split("'nonce-");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.split_once('\'').map_or(part, |(_, rest)| rest));
    rest.fold(first, |text, rest| text + "'nonce'" + rest)
}
