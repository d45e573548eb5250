//! Isolation together with CORS.

use http::HeaderValue;
use policy_browser::{Mode, State, run};
use policy_server::Isolation;
use proptest::{prelude::*, sample::select};

use super::{is_ours, met_if, reads::START};
use crate::{
    generate,
    law::holds,
    oracle,
    scenario::{OWN, Site, is_routed},
};

/// T19, consistency of isolation. Isolation refuses nothing that CORS grants, nor the app's own
/// pages, links to it, or requests that state neither an origin nor a site. It refuses everything
/// else, and what it refuses reaches no handler.
#[test]
fn t19_isolation_refuses_exactly_the_requests_that_cors_does_not_grant() {
    let isolation = select(vec![Isolation::SameOrigin, Isolation::SameSite]);
    let cases = (generate::visit(), isolation, prop::bool::weighted(0.9));
    holds("T19", 23, cases, |((mut scenario, visitor), isolation, is_modern)| {
        for group in &mut scenario.groups {
            group.isolation = Some(isolation);
        }
        let (site, page) = (Site::new(&scenario), visitor.page(&scenario));
        let mut hops = Vec::new();
        let state = State::new(visitor.profile, START);
        run(state, Some(&page), visitor.fetch.clone(), |sent| {
            let mut sent = sent.clone();
            if !is_modern {
                for name in ["sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest"] {
                    sent.headers.remove(name);
                }
            }
            site.calls();
            let response = site.serve(&sent);
            hops.push((sent, response.clone(), site.calls().len()));
            response
        });
        let mut was_decided = false;
        for (sent, response, calls) in hops {
            let (path, method) = (sent.url.path(), sent.method.as_str());
            let is_asked = is_ours(&sent) && !sent.is_preflight && is_routed(path);
            // WebSockets are covered by other laws.
            if !is_asked
                || visitor.fetch.mode == Mode::WebSocket
                || scenario.serving(method).is_none()
            {
                continue;
            }
            let field = |name: &str| sent.headers.get(name).map(HeaderValue::as_bytes);
            let is_granted = scenario.policy(path, method).is_some_and(|policy| {
                field("origin").is_some_and(|origin| {
                    let is_any = policy.origins.iter().any(|one| one == "*");
                    is_any || oracle::grants_origin(policy, origin)
                })
            });
            let is_link = field("sec-fetch-dest") == Some(b"document") && method == "GET";
            // A redirect by another site leaves no origin.
            let is_tainted =
                field("origin") == Some(b"null") && field("sec-fetch-mode") == Some(b"cors");
            let is_near = match field("sec-fetch-site") {
                None => field("origin").is_none_or(|origin| origin == OWN.as_bytes()),
                Some(b"same-origin") => !is_tainted,
                Some(b"none") => true,
                Some(b"same-site") => isolation == Isolation::SameSite,
                _ => false,
            };
            let is_due = is_granted || is_link || is_near;
            let is_refused = response.status == 403 && calls == 0;
            prop_assert_eq!(is_refused, !is_due, "{:?}: {:?}", sent, response);
            prop_assert_eq!(calls, usize::from(is_due), "{:?}: {:?}", sent, response);
            was_decided |= is_modern;
        }
        met_if(was_decided)
    });
}
