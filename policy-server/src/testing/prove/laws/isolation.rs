//! Isolation: pages of other sites load nothing of an isolated route.

use policy_browser::{Destination, Mode};
use policy_core::isolation::Isolation;

use super::{Fault, LawSpec, Verdict};
use crate::testing::prove::{declared::Declaration, exchange::Exchange, sharing::Sharing};

pub(super) const LAW: LawSpec = LawSpec {
    text: "pages that isolation keeps out load nothing",
    help: "let `Sec-Fetch-Site` and `Origin` reach the app, and no layer respond in its place",
    silence: |app| app.without(keeps_out, "no route keeps pages out"),
    judge_exchange,
    caveats: |_, route| open(route),
    ..LawSpec::NONE
};

/// A page is refused, by Fetch Metadata or in its absence by `Origin`, unless it is the app's own,
/// granted, or of the same site where such pages are permitted. A navigation, as by a link, is not
/// refused.
fn judge_exchange(exchange: &Exchange<'_>) -> Verdict {
    let Some(route) = exchange.route() else { return Verdict::Silent };
    let (Some(isolation), Some((node, _))) = (isolation(route), &exchange.sent) else {
        return Verdict::Silent;
    };
    let Some(sent) = node.request() else { return Verdict::Silent };
    let fetch = exchange.fetch();
    let is_old = exchange.page_case.lacks_fetch_metadata;
    let is_link = fetch.mode == Mode::Navigate
        && fetch.destination == Destination::Document
        && matches!(exchange.method(), "GET" | "HEAD")
        && !is_old;
    // Nothing distinguishes it from a program.
    let is_unknown = is_old && !sent.headers.contains_key("origin");
    let site = sent.headers.get("sec-fetch-site").filter(|_| !is_old);
    let is_near = isolation == Isolation::SameSite && site.is_some_and(|site| site == "same-site");
    let sharing = exchange.path.sharing(exchange.method());
    let is_granted = sharing.is_some_and(|sharing| sharing.names(exchange.page()));
    if exchange.is_own_page() || is_link || is_unknown || is_near || is_granted {
        return Verdict::Silent;
    }
    let is_refused =
        !exchange.handler_ran() && exchange.status().is_none_or(|status| status.as_u16() >= 400);
    Verdict::unless(!is_refused, || Fault {
        expected: "a refusal: the route is isolated, and nothing lets this page load it".to_owned(),
        seen: match exchange.handler_ran() {
            true => "the handler ran".to_owned(),
            false => "a response that is no refusal".to_owned(),
        },
        attribute: "isolation",
    })
}

/// Whether a route refuses any pages.
fn keeps_out(route: &Declaration) -> bool {
    isolation(route).is_some() && !route.sharing.as_deref().is_some_and(Sharing::is_for_all)
}

/// The pages from which a route withholds its responses. Every page may load a script of JSONP.
fn isolation(route: &Declaration) -> Option<Isolation> {
    route.route.isolation.filter(|_| route.route.jsonp.is_none())
}

fn open(route: &Declaration) -> Vec<String> {
    // A level states that there is none.
    let is_open = route.route.isolation.is_none() && route.decided.contains("isolation");
    let words = || {
        format!(
            "stated: no isolation on {}: pages of every site may load it with the session of \
             their user",
            route.at()
        )
    };
    (is_open && route.is_ambient()).then(words).into_iter().collect()
}
