//! Who calls: handlers run for those who are let in, and refusals tell nothing.

use http::{HeaderMap, HeaderName, header};

use super::{Fault, Law, Verdict};
use crate::testing::prove::{
    caller::{Admitted, CredentialState, Defect},
    exchange::Exchange,
    explorer::At,
    probe::HandlerBehavior,
    tally::Tallies,
};

/// A handler that ran was let in to, for the user whose credential came.
pub(super) fn before_handler(exchange: &Exchange<'_>) -> Verdict {
    let Some(requirement) = exchange.route().and_then(|route| route.requirement()) else {
        return Verdict::Silent;
    };
    if !exchange.handler_ran() {
        return Verdict::Silent;
    }
    let admitted = exchange.caller.admitted(requirement, exchange.is_carried());
    let is_right = admitted == Admitted::As(exchange.principal());
    Verdict::unless(!is_right, || Fault {
        expected: match admitted {
            Admitted::No => format!(
                "the handler does not run for {}: `#[auth({requirement})]`",
                exchange.caller()
            ),
            Admitted::As(None) => "the handler runs for nobody".to_owned(),
            Admitted::As(Some(who)) => format!("the handler runs for {who}"),
        },
        seen: match exchange.principal() {
            Some(who) => format!("it ran for {who}"),
            None => "it ran for nobody".to_owned(),
        },
        attribute: "auth",
    })
}

/// Whoever is refused learns from the fields of the answer nothing but that.
pub(super) fn uniform(at: &mut At<'_, '_>, tallies: &mut Tallies) {
    let Some(own) = at.pages.iter().find(|page| page.is_own).cloned() else { return };
    let callers = at.callers.clone();
    let refused = |standing: &CredentialState| !matches!(standing, CredentialState::Known(_));
    for route in at.path.routes.clone() {
        if route.requirement().is_none_or(|requirement| requirement.optional) {
            continue;
        }
        // By a token that came, cookies are not looked at, which `Vary` says.
        let (mut of_cookies, mut of_tokens) = (None, None);
        for caller in callers.iter().filter(|caller| refused(&caller.standing)) {
            let asked = at.by(caller, &route.method, Some(&own.origin));
            let Some(reply) = at.ask(&asked, HandlerBehavior::Answers) else { continue };
            let is_malformed =
                matches!(caller.standing, CredentialState::Bad(_, Defect::Malformed))
                    && caller.authorization.is_some();
            let takes_token = route.requirement().is_some_and(|asked| asked.token);
            let status = if is_malformed && takes_token { 400 } else { 401 };
            let fields = told(&reply.headers);
            let has_token = caller.authorization.is_some();
            let first = if has_token { &mut of_tokens } else { &mut of_cookies };
            let (before, expected) = first.get_or_insert_with(|| (asked.clone(), fields.clone()));
            let is_right = reply.ran.is_none() && reply.status == status && fields == *expected;
            let verdict = Verdict::unless(!is_right, || Fault {
                expected: format!("status {status}, {}", listed(expected)),
                seen: format!("status {}, {}", reply.status, listed(&fields)),
                attribute: "auth",
            });
            let both = [before, &asked];
            let asked = both.into_iter().skip(usize::from(caller.is_nobody())).collect::<Vec<_>>();
            tallies.requests(Law::UniformRefusal, at.path, route.method.as_str(), &asked, verdict);
        }
    }
}

/// The fields of a refusal, but for what its code is said in.
fn told(headers: &HeaderMap) -> Vec<String> {
    const OF_CODE: [HeaderName; 4] =
        [header::CONTENT_LENGTH, header::WWW_AUTHENTICATE, header::SET_COOKIE, header::DATE];
    let all = headers.iter().filter(|(name, _)| !OF_CODE.contains(name));
    let mut fields: Vec<_> = all
        .map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value.as_bytes())))
        .collect();
    fields.sort_unstable();
    fields
}

fn listed(fields: &[String]) -> String {
    if fields.is_empty() { "no field".to_owned() } else { fields.join(", ") }
}
