//! Forged requests: ambient credentials change nothing for pages that are not trusted.

use policy_browser::Mode;
use policy_manifest::Csrf;

use super::{Fault, LawSpec, Verdict};
use crate::testing::prove::{declared::Declaration, exchange::Exchange};

pub(super) const LAW: LawSpec = LawSpec {
    text: "no page changes anything with credentials that browsers send automatically, \
                 unless the policy trusts it",
    help: "let `Origin`, `Sec-Fetch-Site` and `x-csrf-token` reach the app as the browser sent \
                 them",
    silence: |app| {
        app.without(
            |route| {
                let is_exempt = matches!(route.csrf(), Csrf::Exempt(_));
                route.is_ambient() && !route.is_safe() && !is_exempt
            },
            "no route changes anything with a credential that browsers send automatically",
        )
    },
    judge_exchange: no_ambient,
    caveats: |_, route| exempt(route),
    ..LawSpec::NONE
};

/// With the user's session but without its CSRF token, no page reaches a handler that changes
/// something; if the route checks only the origin, no page reaches it that the policy does not
/// trust with credentials. The same holds for WebSockets.
fn no_ambient(exchange: &Exchange<'_>) -> Verdict {
    let (Some(route), Some(facts)) = (exchange.route(), exchange.caller.facts()) else {
        return Verdict::Silent;
    };
    let opens_socket = exchange.fetch().mode == Mode::WebSocket;
    let is_forgeable = route.is_ambient() && (!route.is_safe() || opens_socket);
    let is_exempt = matches!(route.csrf(), Csrf::Exempt(_));
    if !is_forgeable || is_exempt || !exchange.caller.is_in_browser() || !exchange.is_carried() {
        return Verdict::Silent;
    }
    let sharing = exchange.path.sharing(exchange.method());
    let is_trusted = exchange.is_own_page()
        || sharing.is_some_and(|all| all.has_credentials() && all.names(exchange.page()));
    // A legitimate page also has the token; browsers cannot add it to a WebSocket.
    let asks_token = *route.csrf() == Csrf::Token && !opens_socket;
    let is_ambient = facts.subject.as_str();
    if is_trusted && !asks_token {
        return Verdict::Silent;
    }
    Verdict::unless(exchange.handler_ran(), || Fault {
        expected: match is_trusted {
            true => "the handler does not run: the token of the session is missing".to_owned(),
            false => "the handler does not run: nobody trusts this page with the session of its \
                      user"
                .to_owned(),
        },
        seen: match exchange.principal() {
            Some(who) if who == is_ambient => "it ran for the user who is logged in".to_owned(),
            _ => "it ran".to_owned(),
        },
        attribute: "csrf",
    })
}

fn exempt(route: &Declaration) -> Vec<String> {
    match route.csrf() {
        Csrf::Exempt(reason) => vec![format!("outside of it: {}, exempt: {reason}", route.at())],
        _ => Vec::new(),
    }
}
