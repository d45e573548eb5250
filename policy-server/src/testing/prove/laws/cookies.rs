//! The cookie of a session: set by the app, as it declares it, and for one browser.

use http::{HeaderValue, header};

use super::{Fault, Law, LawSpec, Verdict};
use crate::testing::prove::{
    declared::Declaration, exchange::Exchange, explorer::PathExplorer, probe::HandlerBehavior,
    tally::Tallies,
};

pub(super) const LAW: LawSpec = LawSpec {
    text: "the session cookie is set only by the app, as it declares it",
    help: "log in by `Sessions::login`, and leave `Set-Cookie` as it is",
    silence: |app| {
        app.without(Declaration::takes_session, "no handler takes the session in its own hands")
    },
    judge_exchange,
    judge_path: judge_logins,
    ..LawSpec::NONE
};

/// A handler cannot set the session cookie itself.
fn judge_exchange(exchange: &Exchange<'_>) -> Verdict {
    if !exchange.handler_ran() || exchange.cookie.is_empty() {
        return Verdict::Silent;
    }
    let planted = format!("{}=planted", exchange.cookie);
    let lines = exchange.headers().into_iter().flat_map(|all| all.get_all(header::SET_COOKIE));
    let is_planted = lines.into_iter().any(|line| line.as_bytes().starts_with(planted.as_bytes()));
    Verdict::unless(is_planted, || Fault {
        expected: "no `Set-Cookie` for the cookie of the sessions but the app's own".to_owned(),
        seen: format!("that of the handler: {planted}"),
        attribute: "auth",
    })
}

/// A login sets exactly one cookie, with the attributes that the app declares and no others, in a
/// response that no cache stores, and a browser accepts it.
fn judge_logins(explorer: &mut PathExplorer<'_, '_>, tallies: &mut Tallies) {
    let Some(own) = explorer.pages.iter().find(|page| page.is_own).cloned() else { return };
    let Some(nobody) = explorer.callers.first().cloned() else { return };
    for route in explorer.path.routes.clone().into_iter().filter(|route| route.takes_session()) {
        let request = explorer.by(&nobody, &route.method, Some(&own.origin));
        let Some(reply) = explorer.ask(&request, HandlerBehavior::LogsIn) else { continue };
        if reply.report.is_none() {
            continue;
        }
        let lines: Vec<&HeaderValue> = reply.headers.get_all(header::SET_COOKIE).iter().collect();
        let texts: Vec<_> =
            lines.iter().map(|line| String::from_utf8_lossy(line.as_bytes())).collect();
        let prefix = format!("{}=", explorer.app.cookie);
        let fault = |expected: &str| {
            Verdict::Broken(Fault {
                expected: expected.to_owned(),
                seen: match texts.is_empty() {
                    true => "no `Set-Cookie`".to_owned(),
                    false => format!("set-cookie: {}", texts.join(" and ")),
                },
                attribute: "auth",
            })
        };
        let verdict = match texts.as_slice() {
            [line] if line.starts_with(&prefix) => {
                let declared = &explorer.app.declared.cookie_attributes;
                if attributes(line) != *declared {
                    let declared = declared.join("; ");
                    fault(&format!(
                        "the attributes that the app declares, and no others: {declared}"
                    ))
                } else if !explorer.app.takes(&reply) {
                    fault("a cookie that a browser keeps and sends back")
                } else if reply.field("cache-control") != Some("no-store") {
                    fault("`Cache-Control: no-store` beside the cookie")
                } else {
                    Verdict::Holds
                }
            }
            _ => fault("one cookie, that of the session"),
        };
        tallies.requests(Law::Cookies, explorer.path, route.method.as_str(), &[&request], verdict);
    }
}

/// The attributes of a `Set-Cookie` line, in lower case and sorted.
fn attributes(line: &str) -> Vec<String> {
    let attributes = line.split(';').skip(1);
    let mut attributes: Vec<_> =
        attributes.map(|attribute| attribute.trim().to_ascii_lowercase()).collect();
    attributes.sort_unstable();
    attributes
}
