//! Requests: the gates decide about what was sent, not about what a layer made of it.

use http::{HeaderName, HeaderValue, header};
use policy_core::headers::groups::may_be_credential;

use super::{Fault, Law, Verdict};
use crate::testing::prove::{
    exchange::Exchange,
    explorer::PathExplorer,
    passage::{Alteration, Part},
    probe::HandlerBehavior,
    server::ProbeRequest,
    tally::Tallies,
};

/// Something in a request of which a layer may make another part of it.
#[derive(Clone, Copy, Debug)]
enum Bait {
    Cookie(&'static str),
    Query(&'static str, &'static str),
    Field(&'static str, &'static str),
}

/// The value of a token that no service issued.
const TOKEN: &str = "policy-probe-token";

/// Names that services give to these things. A layer that uses another one is not found.
const BAITS: [Bait; 30] = [
    Bait::Cookie("access_token"),
    Bait::Cookie("token"),
    Bait::Cookie("jwt"),
    Bait::Cookie("id_token"),
    Bait::Cookie("auth"),
    Bait::Cookie("auth_token"),
    Bait::Cookie("authorization"),
    Bait::Cookie("bearer"),
    Bait::Cookie("api_key"),
    Bait::Cookie("session_token"),
    Bait::Query("access_token", TOKEN),
    Bait::Query("token", TOKEN),
    Bait::Query("jwt", TOKEN),
    Bait::Query("auth", TOKEN),
    Bait::Query("authorization", TOKEN),
    Bait::Query("api_key", TOKEN),
    Bait::Query("key", TOKEN),
    Bait::Query("session", TOKEN),
    Bait::Query("sid", TOKEN),
    Bait::Query("_method", "DELETE"),
    Bait::Query("method", "DELETE"),
    Bait::Query("origin", "https://policy-probe.invalid"),
    Bait::Field("x-http-method-override", "DELETE"),
    Bait::Field("x-http-method", "DELETE"),
    Bait::Field("x-method-override", "DELETE"),
    Bait::Field("x-original-url", "/policy-probe"),
    Bait::Field("x-rewrite-url", "/policy-probe"),
    Bait::Field("x-forwarded-host", "policy-probe.invalid"),
    Bait::Field("x-original-host", "policy-probe.invalid"),
    Bait::Field("x-forwarded-origin", "https://policy-probe.invalid"),
];

/// A request of a page reaches the gates as its browser sent it.
pub(super) fn of_exchange(exchange: &Exchange<'_>) -> Verdict {
    let replies = exchange.preflight.as_deref().into_iter().chain(exchange.reply());
    let mut verdict = Verdict::Silent;
    for passed in replies.filter_map(|reply| reply.passed.as_ref()) {
        verdict = match passed {
            Ok(()) => Verdict::Holds,
            Err(alteration) => return Verdict::Broken(fault(alteration, None)),
        };
    }
    verdict
}

/// So does a request with everything of which a layer may make another part of it.
pub(super) fn baited(explorer: &mut PathExplorer<'_, '_>, tallies: &mut Tallies) {
    for (method, caller) in explorer.through_layers() {
        let plain = explorer.by_own_page(&caller, &method);
        let mut request = with(&plain, &BAITS);
        let verdict = match passed(explorer, &request) {
            None => Verdict::Silent,
            Some(Ok(())) => Verdict::Holds,
            Some(Err(alteration)) => {
                let (simplest, alteration, bait) = simplest(explorer, &plain, alteration)
                    .unwrap_or_else(|alteration| (request.clone(), alteration, None));
                request = simplest;
                Verdict::Broken(fault(&alteration, bait))
            }
        };
        let method = method.as_str();
        tallies.requests(Law::RequestIntegrity, explorer.path, method, &[&request], verdict);
    }
}

fn passed(
    explorer: &mut PathExplorer<'_, '_>,
    request: &ProbeRequest,
) -> Option<Result<(), Alteration>> {
    explorer.ask(request, HandlerBehavior::Answers)?.passed
}

/// The request with at most one bait of which a layer alters the same part, or the alteration if
/// there is none.
fn simplest(
    explorer: &mut PathExplorer<'_, '_>,
    plain: &ProbeRequest,
    alteration: Alteration,
) -> Result<(ProbeRequest, Alteration, Option<Bait>), Alteration> {
    for bait in [None].into_iter().chain(BAITS.map(Some)) {
        let request = with(plain, bait.as_slice());
        match passed(explorer, &request) {
            Some(Err(found)) if found.part == alteration.part => return Ok((request, found, bait)),
            _ => (),
        }
    }
    Err(alteration)
}

fn with(plain: &ProbeRequest, baits: &[Bait]) -> ProbeRequest {
    let mut request = plain.clone();
    let cookies = request.headers.get(header::COOKIE).and_then(|value| value.to_str().ok());
    let mut cookies: Vec<String> = cookies.map(str::to_owned).into_iter().collect();
    for bait in baits {
        match *bait {
            Bait::Cookie(name) => cookies.push(format!("{name}={TOKEN}")),
            Bait::Query(name, value) => {
                let mark = if request.target.contains('?') { '&' } else { '?' };
                request.target.push_str(&format!("{mark}{name}={value}"));
            }
            Bait::Field(name, value) => {
                let name = HeaderName::from_static(name);
                request.headers.insert(name, HeaderValue::from_static(value));
            }
        }
    }
    if let Ok(value) = HeaderValue::try_from(cookies.join("; "))
        && !cookies.is_empty()
    {
        request.headers.insert(header::COOKIE, value);
    }
    request
}

fn fault(alteration: &Alteration, bait: Option<Bait>) -> Fault {
    let Alteration { part, sent, arrived } = alteration;
    let (what, why, attribute) = match part {
        Part::Method => (
            "the method".to_owned(),
            "a form or a link sends GET and POST without asking first, and would get at what other \
             methods do",
            "cors",
        ),
        Part::Target => (
            "the path".to_owned(),
            "what the attributes of this route state would not hold for it, but what another \
             route's do",
            "auth",
        ),
        Part::Field(name) if may_be_credential(name.as_str()) => (
            format!("`{name}`"),
            "what a layer makes a credential of, such as a cookie or a query, any page can have a \
             browser send, and no CSRF protection asks about it",
            "auth",
        ),
        Part::Field(name) if *name == header::HOST => (
            "`host`".to_owned(),
            "by the host the app tells its own address from names that others point to it",
            "auth",
        ),
        Part::Field(name) => (
            format!("`{name}`"),
            "by it the policy tells which page sent the request: CORS, CSRF protection and \
             isolation would decide about another page",
            "csrf",
        ),
    };
    let is_secret = matches!(part, Part::Field(name) if may_be_credential(name.as_str()));
    let shown = |values: &[String]| match values {
        [] => "none".to_owned(),
        _ if is_secret => "one".to_owned(),
        values => values.join(" and "),
    };
    let seen = match (is_secret, sent.is_empty(), arrived.is_empty()) {
        (true, false, false) => "another one arrives than was sent".to_owned(),
        _ => format!("{} was sent, {} arrives", shown(sent), shown(arrived)),
    };
    let made_of = match bait {
        None => String::new(),
        Some(Bait::Cookie(name)) => format!(", made of the cookie `{name}`"),
        Some(Bait::Query(name, _)) => format!(", made of `{name}` in the query"),
        Some(Bait::Field(name, _)) => format!(", made of `{name}`"),
    };
    Fault {
        expected: format!("{what} reaches the gates as it was sent: {why}"),
        seen: format!("{seen}{made_of}"),
        attribute,
    }
}
