//! Requests: the gates decide about the request that was sent, not about one that a layer changed.

use http::{HeaderName, HeaderValue, header};
use policy_core::headers::groups::may_be_credential;

use super::{Fault, Law, LawSpec, Verdict, responses};
use crate::testing::prove::{
    declared::{DEVELOPMENT, Declaration},
    equivalence_classes::STRANGER,
    exchange::Exchange,
    explorer::PathExplorer,
    passage::{Alteration, Part},
    probe::HandlerBehavior,
    server::{ProbeRequest, Reply},
    tally::Tallies,
};

/// A part of a request that a layer may copy into another part of it.
#[derive(Clone, Copy, Debug)]
enum Bait {
    Cookie(&'static str),
    Query(&'static str, &'static str),
    Field(&'static str, &'static str),
}

/// The value of a token that no service issued.
const TOKEN: &str = "policy-probe-token";

/// Names that services use for these parts. A layer that uses another name is not detected.
const BAITS: [Bait; 25] = [
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
];

/// The statement of a forwarded field. Any client can send one as well.
#[derive(Clone, Copy, Debug)]
enum Claim {
    /// The requested host.
    Host,
    /// The requested origin.
    Origin,
    /// The requested path.
    Path,
}

/// The fields in which proxies state the request that they received. An app removes those that it
/// knows before any layer, but a layer may read another one. No field for the scheme is tested: a
/// redirect to HTTPS because of one does no harm.
const FORWARDED: [(&str, Claim); 12] = [
    ("x-forwarded-host", Claim::Host),
    ("x-original-host", Claim::Host),
    ("x-http-host-override", Claim::Host),
    ("x-host", Claim::Host),
    ("forwarded", Claim::Host),
    ("x-forwarded-origin", Claim::Origin),
    ("x-original-url", Claim::Path),
    ("x-rewrite-url", Claim::Path),
    ("x-original-uri", Claim::Path),
    ("x-original-path", Claim::Path),
    ("x-forwarded-prefix", Claim::Path),
    ("x-envoy-original-path", Claim::Path),
];

/// A host that does not exist.
const NOBODY: &str = "policy-probe.invalid";
/// The host of a stranger's page.
const STRANGER_HOST: &str = "stranger.example";

pub(super) const INTEGRITY: LawSpec = LawSpec {
    text: "the gates see each request as it was sent",
    help: "let layers add to a request and read it; for another path use \
                 `Group`, `Mount::strip_prefix` or a proxy, for credentials of your own a `Scheme`",
    is_cause: true,
    silence: |app| (!app.has_layers).then_some("no layer is around the app"),
    judge_exchange,
    judge_path: |explorer, tallies| {
        baited(explorer, tallies);
        forwarded(explorer, tallies);
    },
    ..LawSpec::NONE
};

/// A request of a page reaches the gates as its browser sent it.
fn judge_exchange(exchange: &Exchange<'_>) -> Verdict {
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

/// A request with all baits at once reaches the gates as it was sent, too.
fn baited(explorer: &mut PathExplorer<'_, '_>, tallies: &mut Tallies) {
    for (method, caller) in explorer.through_layers() {
        let plain = explorer.by_own_page(&caller, &method);
        let mut request = with(&plain, &BAITS);
        let verdict = match check_request(explorer, &request) {
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

/// No layer trusts forwarded fields of a client: the response is the same with and without them. As
/// an attacker would send them, they name the host of the page and the path of another route.
fn forwarded(explorer: &mut PathExplorer<'_, '_>, tallies: &mut Tallies) {
    let other = another_path(explorer);
    let (own, cookie) = (explorer.app.declared.own.clone(), explorer.app.cookie.clone());
    for (method, caller) in explorer.through_layers() {
        for (page, host) in [(&*own, NOBODY), (STRANGER, STRANGER_HOST)] {
            let mut ask = |fields: &[(&'static str, Claim)]| {
                let mut request = explorer.by(&caller, &method, Some(page));
                for (name, claim) in fields {
                    // Gate 2 refuses these where the app has no public origin.
                    let is_refused = *name == "forwarded" || name.starts_with("x-forwarded-");
                    if own == DEVELOPMENT && is_refused {
                        continue;
                    }
                    if let Ok(value) = HeaderValue::try_from(value(name, *claim, host, &other)) {
                        request.headers.insert(*name, value);
                    }
                }
                let reply = explorer.ask(&request, HandlerBehavior::Answers)?;
                Some((request, reply))
            };
            // A layer with state may respond differently to two equal requests.
            let mut judge = |fields: &[(&'static str, Claim)]| {
                let name = fields.first().map_or("", |(name, _)| *name);
                let (_, plain) = ask(&[])?;
                let (request, reply) = ask(fields)?;
                let (_, again) = ask(&[])?;
                let is_steady = depends(&plain, &again, name, host, &cookie).is_none();
                let fault = depends(&again, &reply, name, host, &cookie).filter(|_| is_steady);
                Some((request, fault))
            };
            let Some((mut request, mut found)) = judge(&FORWARDED) else { continue };
            if found.is_some() {
                // Find the field that causes it.
                let alone = FORWARDED.iter().filter_map(|field| judge(&[*field]));
                let one = alone.into_iter().find(|(_, fault)| fault.is_some());
                (request, found) = one.unwrap_or((request, None));
            }
            let verdict = found.map_or(Verdict::Holds, Verdict::Broken);
            let method = method.as_str();
            tallies.requests(Law::RequestIntegrity, explorer.path, method, &[&request], verdict);
        }
    }
}

/// The path of another route, preferably a public one.
fn another_path(explorer: &PathExplorer<'_, '_>) -> String {
    let here = explorer.path.template;
    let declared = &explorer.app.declared;
    let is_other = |route: &&Declaration| route.path() != here && !route.is_fallback();
    let others = || declared.routes.iter().filter(is_other);
    let open = others().find(|route| route.requirement().is_none());
    let other = open.or_else(|| others().next());
    let path = other.map(|route| declared.example_paths.path_of(route.path()));
    path.unwrap_or_else(|| "/policy-probe".to_owned())
}

fn value(name: &str, claim: Claim, host: &str, path: &str) -> String {
    match claim {
        Claim::Host if name == "forwarded" => format!("host={host}"),
        Claim::Host => host.to_owned(),
        Claim::Origin => format!("https://{host}"),
        Claim::Path => path.to_owned(),
    }
}

/// How the response differs from the one without the fields.
fn depends(
    plain: &Reply,
    reply: &Reply,
    name: &'static str,
    host: &str,
    cookie: &str,
) -> Option<Fault> {
    if let Some(Err(alteration)) = &reply.passed {
        return Some(fault(alteration, Some(Bait::Field(name, ""))));
    }
    let expected = format!("the response is that without `{name}`, which any client can send");
    let names_host = |reply: &Reply| {
        let in_field = |value: &HeaderValue| contains(value.as_bytes(), host.as_bytes());
        reply.headers.values().any(in_field) || contains(&reply.body, host.as_bytes())
    };
    let seen = if plain.status != reply.status {
        format!("status {} in place of {}", reply.status, plain.status)
    } else if plain.made_for != reply.made_for {
        "the response that was made for another user".to_owned()
    } else if let Some(difference) = responses::difference(plain, reply, cookie) {
        let Fault { expected, seen, .. } = difference;
        format!("{seen} in place of {expected}")
    } else if names_host(reply) && !names_host(plain) {
        format!("the response names {host}")
    } else {
        return None;
    };
    Some(Fault { expected, seen, attribute: "auth" })
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

fn check_request(
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
        match check_request(explorer, &request) {
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
    let text = |values: &[String]| match values {
        [] => "none".to_owned(),
        _ if is_secret => "one".to_owned(),
        values => values.join(" and "),
    };
    let seen = match (is_secret, sent.is_empty(), arrived.is_empty()) {
        (true, false, false) => "another one arrives than was sent".to_owned(),
        _ => format!("{} was sent, {} arrives", text(sent), text(arrived)),
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
