//! The manifest: the app decides about each request as its manifest states.

use http::{HeaderMap, HeaderValue, Request, header};
use policy_core::Refusal;
use policy_manifest::{
    Csrf, ManifestRoute,
    engine::{
        CredentialState as State, CsrfTokenState, Decision, Engine, Login, Outcome,
        RequestCredentials as Sender,
    },
};

use super::{Fault, Law, LawSpec, Verdict, caching::Reuse, reading::cors_fields};
use crate::testing::prove::{
    caller::{Caller, CredentialKind, CredentialState, Defect, Facts},
    exchange::Exchange,
    explorer::{PathExplorer, probe_request},
    probe::{HandlerBehavior, OWN_CREDENTIAL},
    server::{ProbeRequest, Reply},
    tally::Tallies,
};

pub(super) const LAW: LawSpec = LawSpec {
    text: "the app decides about each request as its manifest says",
    help: "please report this: the app and its manifest should never differ",
    judge_exchange,
    judge_path: |explorer, tallies| {
        judge_preflights(explorer, tallies);
        judge_csrf_tokens(explorer, tallies);
    },
    ..LawSpec::NONE
};

/// The request that a page sent was decided as the manifest states.
fn judge_exchange(exchange: &Exchange<'_>) -> Verdict {
    let (Some(engine), Some(request)) = (exchange.engine, request(exchange)) else {
        return Verdict::Silent;
    };
    let Some(reply) = exchange.reply() else { return Verdict::Silent };
    judge(engine, exchange.own, &request, exchange.caller, reply)
}

/// The decision of the manifest about a page's request.
pub(super) fn decision(exchange: &Exchange<'_>) -> Option<Decision> {
    decide(exchange.engine?, exchange.own, &request(exchange)?, exchange.caller)
}

/// The request that a page sent, if it sent one.
fn request(exchange: &Exchange<'_>) -> Option<ProbeRequest> {
    let (node, _) = exchange.sent.as_ref()?;
    let sent = node.request()?;
    let caller = exchange.caller;
    let target = match caller.has_ticket {
        true => format!("{}?ticket=one", exchange.path.sample),
        false => exchange.path.sample.clone(),
    };
    let page = (exchange.page_case, &exchange.stand_in);
    Some(probe_request(sent, caller, page, &target, exchange.cookie))
}

/// Preflights of each page for each method are decided as the manifest states.
fn judge_preflights(explorer: &mut PathExplorer<'_, '_>, tallies: &mut Tallies) {
    let nobody = Caller::anonymous();
    for page in explorer.pages.clone() {
        for method in explorer.path.methods() {
            let request = super::preflights::preflight(explorer, &page.origin, method);
            judge_request(explorer, method, &request, &nobody, tallies);
        }
    }
}

/// The CSRF token of another session, and one of no session, are decided as the manifest states.
fn judge_csrf_tokens(explorer: &mut PathExplorer<'_, '_>, tallies: &mut Tallies) {
    for route in explorer.path.routes.clone() {
        if route.is_safe() || !route.is_ambient() || *route.csrf() != Csrf::Token {
            continue;
        }
        for (caller, another) in explorer.rivals.clone() {
            let Some(foreign) = another.csrf else { continue };
            for token in [foreign, "policy-probe".to_owned()] {
                let forger = Caller { csrf: Some(token), ..caller.clone() };
                let request = explorer.by_own_page(&forger, &route.method);
                judge_request(explorer, route.method.as_str(), &request, &caller, tallies);
            }
        }
    }
}

/// Sends a request of a caller, which is decided as the manifest states.
fn judge_request(
    explorer: &mut PathExplorer<'_, '_>,
    method: &str,
    request: &ProbeRequest,
    caller: &Caller,
    tallies: &mut Tallies,
) {
    let declared = explorer.app.declared;
    let Some(engine) = &declared.engine else { return };
    let Some(reply) = explorer.ask(request, HandlerBehavior::Answers) else { return };
    let verdict = judge(engine, &declared.own, request, caller, &reply);
    tallies.requests(Law::ManifestFidelity, explorer.path, method, &[request], verdict);
}

fn judge(
    engine: &Engine,
    own: &str,
    request: &ProbeRequest,
    caller: &Caller,
    reply: &Reply,
) -> Verdict {
    let Some((status, headers)) = reply.app_response() else { return Verdict::Silent };
    let Some(decision) = decide(engine, own, request, caller) else { return Verdict::Silent };
    let has_run = reply.report.is_some();
    let is_reached = match decision.refusal() {
        // This refusal comes from behind the layers of a route.
        Some(Refusal::MediaType) => has_run,
        _ => reply.is_reached,
    };
    let reached = decision.outcome == Outcome::Reached;
    let decided = decision.status.filter(|_| !is_reached);
    let is_equal = reached == is_reached
        && decided.is_none_or(|decided| decided == status)
        && fields(&decision.cors) == fields(headers);
    let route = engine.route(&decision).filter(|_| has_run && is_equal && status == 200);
    if let Some(fault) = route.and_then(|route| kept_otherwise(route, headers)) {
        return Verdict::Broken(fault);
    }
    Verdict::unless(!is_equal, || Fault {
        expected: match (reached, decision.refusal()) {
            (true, _) => format!("the handler runs, {}", cors_fields(Some(&decision.cors))),
            (false, Some(refusal)) => {
                format!("{}, {}", refusal.code(), cors_fields(Some(&decision.cors)))
            }
            (false, None) => format!("status {decided:?}, {}", cors_fields(Some(&decision.cors))),
        },
        seen: match has_run {
            true => format!("the handler ran, {}", cors_fields(Some(headers))),
            false => format!("status {status}, {}", cors_fields(Some(headers))),
        },
        attribute: "auth",
    })
}

/// The fault if the response, in which the probe tries to relax `Cache-Control`, permits caches more
/// than its route states.
fn kept_otherwise(route: &ManifestRoute, headers: &HeaderMap) -> Option<Fault> {
    let stated = route.cache.as_ref()?.control();
    let stated = stated.split(';').next().filter(|stated| !stated.is_empty())?;
    let most = HeaderMap::from_iter([(header::CACHE_CONTROL, HeaderValue::from_str(stated).ok()?)]);
    let [most, actual] = [&most, headers].map(|headers| Reuse::from_response(200, headers));
    let control = headers.get(header::CACHE_CONTROL).map(HeaderValue::as_bytes);
    (!actual.is_within(&most)).then(|| Fault {
        expected: format!("`cache-control: {stated}`, or stricter"),
        seen: format!("`{}`", String::from_utf8_lossy(control.unwrap_or_default())),
        attribute: "cache",
    })
}

fn decide(engine: &Engine, own: &str, request: &ProbeRequest, caller: &Caller) -> Option<Decision> {
    let (_, host) = own.split_once("://")?;
    let mut sent =
        Request::builder().method(request.method.clone()).uri(&request.target).body(()).ok()?;
    sent.headers_mut().clone_from(&request.headers);
    sent.headers_mut().insert(header::HOST, host.parse().ok()?);
    Some(engine.decide(&sent, &sender(caller, &request.headers)))
}

/// The caller, with only those credentials that the request carries.
fn sender(caller: &Caller, headers: &HeaderMap) -> Sender {
    let mut sender = Sender::default();
    let (kind, state) = match &caller.state {
        CredentialState::Anonymous => return sender,
        CredentialState::Known(facts) => (facts.kind, State::Valid(login(facts))),
        CredentialState::Bad(kind, Defect::Expired) => (*kind, State::Expired),
        CredentialState::Bad(kind, _) => (*kind, State::Invalid),
    };
    let has_own = headers.contains_key(OWN_CREDENTIAL)
        || headers.get(header::COOKIE).is_some_and(|cookies| {
            String::from_utf8_lossy(cookies.as_bytes()).contains(OWN_CREDENTIAL)
        });
    match kind {
        CredentialKind::Session => sender.session = state,
        CredentialKind::Token => sender.token = state,
        CredentialKind::Ticket => sender.ticket = state,
        CredentialKind::Own if has_own => sender.scheme = state,
        CredentialKind::Own => (),
    }
    if let Some(token) = headers.get(policy_core::csrf::HEADER) {
        let is_own = caller.csrf.as_ref().is_some_and(|own| token == own.as_str());
        sender.csrf = if is_own { CsrfTokenState::Valid } else { CsrfTokenState::Invalid };
    }
    sender
}

fn login(facts: &Facts) -> Login {
    let age = facts.authenticated.map(|at| facts.now.since(at).as_secs());
    Login {
        scopes: facts.scopes.clone(),
        roles: facts.roles.clone(),
        age: age.map(|age| u32::try_from(age).unwrap_or(u32::MAX)),
        issuer: facts.issuer.foreign.clone(),
    }
}

/// The CORS headers of a response.
fn fields(headers: &HeaderMap) -> Vec<(&str, &[u8])> {
    let all = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    let mut fields: Vec<_> = all.filter(|(name, _)| name.starts_with("access-control-")).collect();
    fields.sort_unstable();
    fields
}

#[cfg(test)]
mod tests {
    use policy_core::cache::CachePolicy;
    use policy_manifest::Auth;

    use super::*;
    use crate::{
        prelude::*,
        testing::prove::{equivalence_classes::Path, explorer::AppExplorer, prepared},
    };

    #[post("/orders")]
    #[auth(session)]
    async fn order() {}

    #[test]
    fn csrf_tokens_of_other_sessions_and_of_none_are_tried() {
        let app = App::new(()).sessions(Sessions::memory()).routes(routes![order]);
        let (declared, service) = prepared(app.parts);
        let (paths, mut tallies) = (Path::all(&declared), Tallies::new(&declared.own));
        let mut explorer = AppExplorer::new(&declared, &service);
        judge_csrf_tokens(&mut explorer.path(0, &paths[0]), &mut tallies);
        let tally = tallies.tally(Law::ManifestFidelity);
        assert_eq!((tally.tried, tally.broken), (2, 0), "{:?}", tally.counterexample);
    }

    #[test]
    fn caches_are_told_what_the_route_says_or_less() {
        let public = CachePolicy::public().max_age(60).s_maxage(90).build();
        let private = CachePolicy::private().max_age(60).build();
        let aged = CachePolicy::unstated().max_age(60).build();
        let (no_cache, kept_by_nobody) =
            (CachePolicy::public().no_cache().build(), CachePolicy::no_store().build());
        for (policy, sent, is_kept) in [
            (public, "public, max-age=60, s-maxage=90", true),
            (public, "public, max-age=59", true),
            (public, "private, no-cache", true),
            (public, "no-store", true),
            (public, "public, max-age=61", false),
            (public, "public, max-age=60, s-maxage=91", false),
            (public, "public, max-age=60, stale-if-error=1", false),
            (private, "private, max-age=60", true),
            (private, "no-store", true),
            (private, "max-age=60", false),
            (private, "public, private, max-age=60", false),
            (private, "private=\"x-a\", max-age=60", false),
            (private, "private, max-age=60, max-age=61", false),
            (private, "private, max-age=99999999999999999999", false),
            (private, "private, max-age=60, immutable", false),
            (private, "private, max-age=60, must-revalidate", true),
            (aged, "max-age=60", true),
            (aged, "private, max-age=60, must-revalidate", true),
            (aged, "no-cache, must-revalidate", true),
            (aged, "max-age=60, must-revalidate", false),
            (aged, "max-age=60, s-maxage=60", false),
            (no_cache, "public, no-cache", true),
            (no_cache, "public, no-cache, max-age=600", true),
            (no_cache, "public", false),
            (no_cache, "public, max-age=600", false),
            (no_cache, "public, no-cache=\"x-a\", max-age=600", false),
            (kept_by_nobody, "no-store", true),
            (kept_by_nobody, "private, no-cache", false),
            (kept_by_nobody, "", false),
        ] {
            let mut route = ManifestRoute::handler("/", ["GET"], Auth::Public);
            route.cache = Some((&policy).into());
            let headers = HeaderMap::from_iter([(header::CACHE_CONTROL, sent.parse().unwrap())]);
            let fault = kept_otherwise(&route, &headers);
            assert_eq!(fault.is_none(), is_kept, "{sent} where {policy:?}: {fault:?}");
        }
    }
}
