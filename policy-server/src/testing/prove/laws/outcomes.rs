//! Outcomes: a route responds to requests that it refuses as
//! [`Outcomes`](policy_manifest::Outcomes) states, and in no other way. Documents and tables of an
//! app state the same.

use std::collections::BTreeSet;

use policy_core::Refusal;
use policy_manifest::Csrf;

use super::{Fault, Law, LawSpec, Verdict};
use crate::testing::prove::{
    caller::{Caller, CallerAdmission, CredentialKind, CredentialState},
    declared::Declaration,
    exchange::Exchange,
    explorer::PathExplorer,
    tally::Tallies,
};

pub(super) const LAW: LawSpec = LawSpec {
    text: "a route refuses as it is documented, and admits whom it is documented for",
    help: "please report this: what a route can respond is derived from its policy",
    judge_exchange,
    ..LawSpec::NONE
};

/// The refusals that occur in every proof of a route that can meet them. The others need a store
/// that fails, a full rate, a clock or an argument of a handler, which probes replace.
const BROUGHT_ABOUT: [Refusal; 4] = [
    Refusal::CredentialsMissing,
    Refusal::TokenInvalid,
    Refusal::CredentialInvalid,
    Refusal::LoginTooOld,
];

/// What one path responded to its exchanges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::testing::prove) struct Seen {
    /// The methods with the codes of their refusals.
    refusals: BTreeSet<(String, String)>,
    /// The methods with the credentials by which requests passed the gates; `None` is none.
    admitted: BTreeSet<(String, Option<CredentialKind>)>,
    /// Whether layers kept a request from the app, or changed it.
    is_partial: bool,
}

impl Seen {
    /// Notes the result of an exchange.
    pub(in crate::testing::prove) fn note(&mut self, exchange: &Exchange<'_>) {
        let mut replies = exchange.preflight.as_deref().into_iter().chain(exchange.reply());
        self.is_partial |= replies.any(|reply| reply.app_response().is_none());
        let Some(reply) = exchange.reply() else { return };
        let method = exchange.method().to_owned();
        if reply.is_reached {
            let credential = match &exchange.caller.state {
                CredentialState::Known(facts) if exchange.principal().is_some() => Some(facts.kind),
                _ => None,
            };
            self.admitted.insert((method, credential));
        } else if let Some(code) = reply.app_code() {
            self.refusals.insert((method, code));
        }
    }
}

/// A refusal is among the outcomes of its route.
fn judge_exchange(exchange: &Exchange<'_>) -> Verdict {
    let (Some(route), Some(reply)) = (exchange.route(), exchange.reply()) else {
        return Verdict::Silent;
    };
    let Some((status, _)) = reply.app_response() else { return Verdict::Silent };
    if reply.is_reached || status < 300 {
        return Verdict::Silent;
    }
    let code = reply.app_code();
    let is_said = route.outcomes.refuse(status, code.as_deref());
    Verdict::unless(!is_said, || Fault {
        expected: format!("one of {:?}", route.outcomes.by_status()),
        seen: format!("{status} {}", code.as_deref().unwrap_or("without a code")),
        attribute: "auth",
    })
}

/// Each refusal of a gate that is among the outcomes of a route occurred, and each credential that
/// the route takes was admitted.
pub(in crate::testing::prove) fn occurred(explorer: &PathExplorer<'_, '_>, tallies: &mut Tallies) {
    if tallies.seen.is_partial {
        return;
    }
    for route in &explorer.path.routes {
        let method = route.method.as_str();
        let seen = &tallies.seen;
        let refused =
            |refusal: &Refusal| seen.refusals.contains(&(method.to_owned(), refusal.code().into()));
        let lacks_rights = |caller: &Caller| {
            let requirement = route.requirement();
            let admitted = requirement.map(|it| caller.admission(it, method, true));
            caller.facts().is_some() && admitted == Some(CallerAdmission::No)
        };
        let is_sent = |refusal: &&Refusal| match refusal {
            Refusal::CsrfToken => route.route.csrf == Csrf::Token,
            // Other pages need a preflight for other methods, and end there. Every page may load the
            // scripts of JSONP, so only a malformed `Sec-Fetch-Site` is refused.
            Refusal::CrossSite => matches!(method, "GET" | "POST") && route.route.jsonp.is_none(),
            // The tokens of other issuers have all rights in a proof.
            Refusal::RightsMissing => explorer.callers.iter().any(lacks_rights),
            refusal => BROUGHT_ABOUT.contains(refusal),
        };
        let missing = route.outcomes.refusals.iter().filter(is_sent);
        let never = missing.filter(|it| !refused(it)).map(|refusal| Fault {
            expected: format!("some request is refused with {}", refusal.code()),
            seen: "none is".to_owned(),
            attribute: "auth",
        });
        let admitted = |kind| seen.admitted.contains(&(method.to_owned(), kind));
        // Not every proof has a caller with all the rights, such as those that another issuer grants.
        let is_held = |kind: Option<CredentialKind>| {
            kind.is_none()
                || explorer.callers.iter().any(|caller| {
                    let is_of_kind = caller.facts().map(|facts| facts.kind) == kind;
                    let of_route = route.requirement();
                    let admits = |it| caller.admission(it, method, true) != CallerAdmission::No;
                    is_of_kind && of_route.is_none_or(admits)
                })
        };
        let locked_out = credentials(route).into_iter();
        let locked_out = locked_out.filter(|kind| is_held(*kind) && !admitted(*kind));
        let locked_out = locked_out.map(|kind| Fault {
            expected: format!("a caller with {kind:?} is admitted"),
            seen: "none is".to_owned(),
            attribute: "auth",
        });
        let faults: Vec<_> = never.chain(locked_out).collect();
        for fault in faults {
            let verdict = Verdict::Broken(fault);
            tallies.requests(Law::DocumentedOutcomes, explorer.path, method, &[], verdict);
        }
    }
}

/// The credentials that a route takes.
fn credentials(route: &Declaration) -> Vec<Option<CredentialKind>> {
    let Some(requirement) = route.requirement() else { return vec![None] };
    let is_taken = |kind: &CredentialKind| kind.is_taken(requirement, route.method.as_str());
    let taken = CredentialKind::ALL.into_iter().filter(is_taken).map(Some);
    taken.chain(requirement.optional.then_some(None)).collect()
}
