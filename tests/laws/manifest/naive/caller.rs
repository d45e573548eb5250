//! The sender of a request, whether the user intended it, and whether the sender has the rights.

use policy_manifest::engine::{CredentialState, CsrfTokenState, Login, RequestCredentials};
use serde_json::Value;

use super::{
    App, Route,
    asked::{Asked, is_safe, is_token},
    texts,
};

type CheckReport<T = ()> = Result<T, &'static str>;

struct Known<'a> {
    login: &'a Login,
    by: By,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Token,
    Ticket,
    Session,
    /// A scheme of the app; whether browsers send its credential automatically.
    Scheme(bool),
}

/// The page that a request comes from, according to its headers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Page {
    Ours,
    Unstated,
    Others,
}

/// Gates 7 to 9.
pub(super) fn check(
    app: &App<'_>,
    route: Route<'_>,
    request: &Asked,
    sender: &RequestCredentials,
) -> CheckReport {
    let known = match route.required() {
        None => None,
        Some(required) => authenticate(app, route, required, request, sender)?,
    };
    let is_ambient =
        known.as_ref().is_some_and(|known| matches!(known.by, By::Session | By::Scheme(true)));
    match (&known, route.required()) {
        (Some(known), _) if is_ambient => {
            let token = (known.by == By::Session).then_some(sender.csrf);
            intended(app, route, request, token)?;
        }
        (None, None) => anonymous(app, route, request)?,
        _ => (),
    }
    let Some(required) = route.required() else { return Ok(()) };
    match known {
        None if required["optional"] == true => anonymous(app, route, request),
        None => Err("auth.credentials-missing"),
        Some(known) => authorize(required, &known),
    }
}

/// A handler that takes the session itself gets one only for what the user intended.
pub(super) fn session_of_handler(
    app: &App<'_>,
    route: Route<'_>,
    request: &Asked,
    sender: &RequestCredentials,
) -> CheckReport {
    if !route.says("takes_session") {
        return Ok(());
    }
    let known = match route.required() {
        None => None,
        Some(required) => authenticate(app, route, required, request, sender)?,
    };
    match known.map(|known| known.by) {
        Some(By::Token) => Ok(()),
        Some(By::Ticket) => check_ticket(app, route, request),
        _ => {
            let session = session(app, request, sender)?;
            intended(app, route, request, session.map(|_login| sender.csrf))
        }
    }
}

/// A token decides alone on a route that accepts it. Otherwise a ticket decides, then a scheme,
/// then a session.
fn authenticate<'a>(
    app: &App<'_>,
    route: Route<'_>,
    required: &Value,
    request: &Asked,
    sender: &'a RequestCredentials,
) -> CheckReport<Option<Known<'a>>> {
    let issuers = texts(&required["issuers"]);
    if required["token"] == true && has_bearer(request)? {
        return match &sender.token {
            CredentialState::Valid(login) if takes(app, login, false, &issuers) => {
                Ok(Some(Known { login, by: By::Token }))
            }
            CredentialState::Expired => Err("auth.token-expired"),
            CredentialState::Unchecked => Err("auth.credentials-unchecked"),
            _ => Err("auth.token-invalid"),
        };
    }
    let tickets = request.query.split('&').filter(|pair| pair.starts_with("ticket=")).count();
    let may_have = ["GET", "CONNECT"].contains(&request.method.as_str());
    if required["ticket"] == true && tickets == 1 && may_have {
        check_ticket(app, route, request)?;
        return match &sender.ticket {
            CredentialState::Valid(login) if takes(app, login, true, &issuers) => {
                Ok(Some(Known { login, by: By::Ticket }))
            }
            CredentialState::Unchecked => Err("auth.credentials-unchecked"),
            _ => Err("auth.ticket-invalid"),
        };
    }
    if let Some(scheme) = required.get("scheme") {
        return match &sender.scheme {
            CredentialState::Absent => Ok(None),
            CredentialState::Valid(login) => {
                Ok(Some(Known { login, by: By::Scheme(scheme["ambient"] == true) }))
            }
            CredentialState::Unchecked => Err("auth.credentials-unchecked"),
            _ => Err("auth.credential-invalid"),
        };
    }
    if required["session"] != true {
        return Ok(None);
    }
    Ok(session(app, request, sender)?.map(|login| Known { login, by: By::Session }))
}

/// Whether the request has a bearer token (RFC 6750 2.1).
fn has_bearer(request: &Asked) -> CheckReport<bool> {
    let malformed = Err("auth.authorization-malformed");
    let value = match *request.lines("authorization") {
        [] => return Ok(false),
        [value] => value,
        _ => return malformed,
    };
    let end = value.iter().position(|byte| !is_token(&[*byte])).unwrap_or(value.len());
    let (scheme, rest) = value.split_at(end);
    if !scheme.eq_ignore_ascii_case(b"bearer") {
        let is_scheme = !scheme.is_empty() && (rest.is_empty() || rest[0] == b' ');
        return if is_scheme { Ok(false) } else { malformed };
    }
    let Ok(rest) = str::from_utf8(rest) else { return malformed };
    let token = rest.trim_start_matches(' ');
    let text = token.trim_end_matches('=');
    let is_sign = |sign: char| sign.is_ascii_alphanumeric() || "-._~+/".contains(sign);
    let is_bearer = rest.starts_with(' ') && !text.is_empty() && text.chars().all(is_sign);
    if is_bearer { Ok(true) } else { malformed }
}

/// Whether the request has what browsers send by themselves: a cookie, or an `Authorization` other than
/// a bearer token.
pub(super) fn has_ambient(asked: &Asked) -> bool {
    asked.has("cookie") || (asked.has("authorization") && has_bearer(asked) != Ok(true))
}

/// Whether a route with these issuers accepts a login. Sessions get tickets, too.
fn takes(app: &App<'_>, login: &Login, is_ticket: bool, issuers: &[String]) -> bool {
    let tokens = app.fact("tokens");
    let signs = tokens.is_some_and(|tokens| tokens.get("issuer").is_some());
    let accepts = tokens.and_then(|tokens| tokens.get("accepts")?.as_array());
    match &login.issuer {
        None if issuers.is_empty() => signs || is_ticket && app.fact("sessions").is_some(),
        None => issuers.iter().any(|issuer| issuer == "own"),
        Some(issuer) if issuers.is_empty() => {
            let only = accepts.and_then(|accepts| accepts.first());
            !signs && only.is_some_and(|only| only["issuer"] == **issuer)
        }
        Some(issuer) => issuers.contains(issuer),
    }
}

/// The user whom the session names, if the cookie names exactly one session.
fn session<'a>(
    app: &App<'_>,
    request: &Asked,
    sender: &'a RequestCredentials,
) -> CheckReport<Option<&'a Login>> {
    let name = app.fact("sessions").and_then(|sessions| sessions["cookie"].as_str());
    let lines = request.lines("cookie");
    if lines.join(&b"; "[..]).len() > 16 * 1024 {
        return Err("cookie.request-too-large");
    }
    let mut values: Vec<String> = Vec::new();
    for line in lines {
        for pair in String::from_utf8_lossy(line).split(';') {
            if let Some((found, value)) = pair.split_once('=')
                && Some(found.trim()) == name
            {
                values.push(value.trim().to_owned());
            }
        }
    }
    values.dedup();
    match (values.len(), &sender.session) {
        (1, CredentialState::Valid(login)) => Ok(Some(login)),
        (1, CredentialState::Unchecked) => Err("auth.credentials-unchecked"),
        _ => Ok(None),
    }
}

fn authorize(required: &Value, known: &Known<'_>) -> CheckReport {
    let (scopes, roles) = (texts(&required["scopes"]), texts(&required["roles"]));
    let Known { login, by } = known;
    let has_all = scopes.iter().all(|scope| login.scopes.contains(scope));
    let has_one = roles.is_empty() || roles.iter().any(|role| login.roles.contains(role));
    if !(has_all && has_one) {
        return Err("auth.rights-missing");
    }
    match required["fresh"].as_u64() {
        // A scheme checks its credential with each request.
        _ if matches!(by, By::Scheme(_)) => Ok(()),
        None => Ok(()),
        Some(limit) if login.age.is_some_and(|age| u64::from(age) < limit) => Ok(()),
        Some(_) => Err("auth.login-too-old"),
    }
}

/// The page that a request comes from. A safe request may come from any page.
fn page(app: &App<'_>, route: Route<'_>, request: &Asked) -> Page {
    if changes_nothing(request) {
        return Page::Ours;
    }
    let [origins, sites, referers, modes] =
        ["origin", "sec-fetch-site", "referer", "sec-fetch-mode"].map(|name| request.lines(name));
    if origins.is_empty() && sites.is_empty() && referers.is_empty() {
        return Page::Unstated;
    }
    if origins.len() > 1 || sites.len() > 1 {
        return Page::Others;
    }
    let site = sites.first().copied();
    if let Some(origin) = origins.first() {
        if app.is_own(request, origin) {
            return if site == Some(b"cross-site") { Page::Others } else { Page::Ours };
        }
        if app.trusts(route, request) {
            return Page::Ours;
        }
    }
    let is_null = origins.first() == Some(&&b"null"[..]);
    let is_cors = modes.len() > 1 || modes == [b"cors"];
    let is_by_same_page = [Some(&b"same-origin"[..]), Some(b"none")].contains(&site);
    if is_by_same_page && (origins.is_empty() || (is_null && !is_cors)) {
        return Page::Ours;
    }
    if let ([], [], [referer]) = (&origins[..], &sites[..], &referers[..]) {
        let referer = String::from_utf8_lossy(referer);
        if let Some((scheme, rest)) = referer.split_once("://") {
            let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
            if app.is_own(request, format!("{scheme}://{host}").as_bytes()) {
                return Page::Ours;
            }
        }
    }
    Page::Others
}

fn changes_nothing(request: &Asked) -> bool {
    is_safe(&request.method) && request.method != "TRACE" && !request.is_upgrade()
}

/// Whether it only opens a WebSocket, to which no page can add a token.
fn only_upgrades(request: &Asked) -> bool {
    request.is_upgrade() && ["GET", "CONNECT"].contains(&request.method.as_str())
}

/// Gate 8. `token` is that of a session, if there is one.
fn intended(
    app: &App<'_>,
    route: Route<'_>,
    request: &Asked,
    token: Option<CsrfTokenState>,
) -> CheckReport {
    let page = page(app, route, request);
    if route.csrf() == "exempt" || changes_nothing(request) {
        return Ok(());
    }
    let needs_token = !only_upgrades(request)
        && match route.csrf() {
            "token" => page != Page::Others,
            "origin_else_token" => page == Page::Unstated,
            _ => false,
        };
    match token.filter(|_| needs_token) {
        Some(CsrfTokenState::Valid) => Ok(()),
        Some(_) => Err("csrf.token"),
        None if page == Page::Ours => Ok(()),
        None => Err("csrf.origin"),
    }
}

/// Any page can put a ticket into a URL.
fn check_ticket(app: &App<'_>, route: Route<'_>, request: &Asked) -> CheckReport {
    match page(app, route, request) {
        Page::Others if route.csrf() != "exempt" => Err("csrf.origin"),
        _ => Ok(()),
    }
}

/// A target without attributes may use cookies of its own.
fn anonymous(app: &App<'_>, route: Route<'_>, request: &Asked) -> CheckReport {
    let may_know = route.is_prefix() || route.is("fallback");
    // Without GET, a request with `Upgrade` opens nothing.
    let is_harmless = is_safe(&request.method) || only_upgrades(request);
    if !may_know || route.csrf() == "exempt" || is_harmless {
        return Ok(());
    }
    let has_cookie = request.has("cookie");
    match page(app, route, request) {
        _ if app.grants(route, request) && !has_ambient(request) => Ok(()),
        Page::Ours => Ok(()),
        Page::Unstated if !has_cookie => Ok(()),
        _ => Err("csrf.origin"),
    }
}
