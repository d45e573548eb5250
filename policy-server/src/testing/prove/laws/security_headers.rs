//! Security headers: layers keep what the app tells browsers.

use http::{HeaderMap, HeaderName, HeaderValue, header};

use super::{Fault, Law, Verdict};
use crate::testing::prove::{
    explorer::PathExplorer, probe::HandlerBehavior, server::Reply, tally::Tallies,
};

/// What `#[headers]` states.
static NAMES: [HeaderName; 9] = [
    header::X_CONTENT_TYPE_OPTIONS,
    header::CONTENT_SECURITY_POLICY,
    header::X_FRAME_OPTIONS,
    header::REFERRER_POLICY,
    header::STRICT_TRANSPORT_SECURITY,
    HeaderName::from_static("permissions-policy"),
    HeaderName::from_static("cross-origin-opener-policy"),
    HeaderName::from_static("cross-origin-embedder-policy"),
    HeaderName::from_static("cross-origin-resource-policy"),
];

/// Every response has the security headers that it has without the layers: pages of handlers, and
/// refusals, errors and panics as pages.
pub(super) fn survive(explorer: &mut PathExplorer<'_, '_>, tallies: &mut Tallies) {
    for (method, caller) in explorer.through_layers() {
        let method_name = method.as_str();
        let is_served = explorer.path.served(method_name).is_some();
        let behaviors =
            [HandlerBehavior::Answers, HandlerBehavior::Fails(404), HandlerBehavior::Panics];
        for behavior in behaviors.into_iter().take(if is_served { 3 } else { 1 }) {
            // Each with a ticket of its own.
            let mut ask = |is_bare| {
                let mut request = explorer.by_own_page(&caller, &method);
                request.headers.insert(header::ACCEPT, HeaderValue::from_static("text/html"));
                let reply = explorer.ask_for_page(&request, behavior, is_bare)?;
                Some((request, reply))
            };
            let Some(((request, reply), (_, expected))) = ask(false).zip(ask(true)) else {
                continue;
            };
            // What became of another request is no response to this one.
            if matches!(reply.passed, Some(Err(_))) {
                continue;
            }
            let lost = NAMES.iter().find(|name| !is_kept(name, &expected, &reply));
            let verdict = lost.map_or(Verdict::Holds, |name| {
                Verdict::Broken(Fault {
                    expected: format!("`{name}: {}`", listed(&expected.headers, name)),
                    seen: match reply.headers.contains_key(name) {
                        true => format!("`{name}: {}`", listed(&reply.headers, name)),
                        false => format!("no `{name}`, status {}", reply.status),
                    },
                    attribute: "headers",
                })
            });
            tallies.requests(
                Law::SecurityHeaders,
                explorer.path,
                method_name,
                &[&request],
                verdict,
            );
        }
    }
}

/// Whether the lines of a field that the app writes are those of the response. Of policies for
/// content each one holds, so there may be more.
fn is_kept(name: &HeaderName, expected: &Reply, reply: &Reply) -> bool {
    let lines = |reply: &Reply| -> Vec<String> {
        let values = reply.headers.get_all(name).iter();
        values.map(|value| without_nonce(&String::from_utf8_lossy(value.as_bytes()))).collect()
    };
    let (expected, lines) = (lines(expected), lines(reply));
    match *name == header::CONTENT_SECURITY_POLICY {
        true => expected.iter().all(|line| lines.contains(line)),
        false => expected.is_empty() || expected == lines,
    }
}

/// A policy without the value of its nonce, which differs from response to response.
fn without_nonce(policy: &str) -> String {
    let mut parts = policy.split("'nonce-");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.split_once('\'').map_or(part, |(_, rest)| rest));
    rest.fold(first, |text, rest| text + "'nonce'" + rest)
}

fn listed(headers: &HeaderMap, name: &HeaderName) -> String {
    let values = headers.get_all(name).iter();
    let values: Vec<_> = values.map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
    values.join(" and ")
}
