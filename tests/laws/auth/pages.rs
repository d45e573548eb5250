//! What the pages of a browser can make it do with its user's cookies.

use std::{cell::Cell, time::Duration};

use policy_browser::{
    Credentials, Fetch, Mode, Outcome, Page, PageOrigin, ReferrerPolicy, SentRequest,
    ServerResponse, State, Url, run,
};
use policy_server::{AuthError, Scheme, SchemeRequest, prelude::*, session, tokens::SecretKey};
use policy_tests::handlers::csrf;
use proptest::{prelude::*, sample::select};

use super::test_server::{OWN, Request, START, TestServer, login};
use crate::{
    generate::profile,
    law::{Precondition, assert_usual, holds},
    scenario::redirect,
};

const APP: &str = "https://app.shop.example";
const PARTNER: &str = "https://partner.test";
const READER: &str = "https://reader.test";

/// Basic: a browser that once asked for a password sends it with every request.
struct Basic;

impl Scheme for Basic {
    const AMBIENT: bool = true;

    async fn authenticate(
        &self,
        request: &mut SchemeRequest<'_>,
    ) -> Result<Option<Identity>, AuthError> {
        let is_there = request.headers().contains_key("authorization");
        Ok(is_there.then(|| Identity::new("ada")))
    }
}

thread_local! {
    static REACHED: Cell<u32> = const { Cell::new(0) };
    static SERVERS: [TestServer; 3] =
        [session::SameSite::Strict, session::SameSite::Lax, session::SameSite::None].map(server);
}

fn server(same_site: session::SameSite) -> TestServer {
    // An app whose only credential is withheld from a granted page does not start.
    let tokens = Tokens::hs256([("k", SecretKey::from_bytes([7; 32]))]).expect("a key");
    let app = App::new(()).sessions(Sessions::memory().same_site(same_site));
    let app = app.tokens(tokens).scheme(Basic);
    let app = app.routes(routes![login, csrf, transfer, remove, note, sign_in, socket, basic]);
    TestServer::new(app)
}

fn reached() {
    REACHED.with(|reached| reached.set(reached.get() + 1));
}

#[post("/transfer")]
#[cors(origins = ["https://app.shop.example", "https://partner.test"], credentials)]
#[auth(session | token)]
async fn transfer(session: Session) -> Result<(), Problem> {
    reached();
    Ok(session.set("a", 1)?)
}

#[delete("/item")]
#[cors(origins = ["https://app.shop.example", "https://partner.test"], credentials)]
#[auth(session | token)]
async fn remove(_me: Principal) {
    reached();
}

#[post("/note")]
#[cors(origins = ["https://reader.test"])]
#[auth(public)]
async fn note(session: Session) -> Result<(), Problem> {
    reached();
    Ok(session.set("a", 1)?)
}

#[post("/sign-in")]
#[cors(origins = ["https://app.shop.example"], credentials)]
#[auth(public)]
async fn sign_in(sessions: Sessions) -> Result<(), Problem> {
    reached();
    Ok(sessions.login("eve").await?)
}

#[get("/socket")]
#[cors(origins = ["https://app.shop.example"], credentials)]
#[auth(session)]
async fn socket(_me: Principal) {
    reached();
}

#[post("/basic")]
#[auth(scheme = Basic)]
async fn basic(_me: Principal) {
    reached();
}

/// A route that changes something, and the foreign origins that it shares with.
#[derive(Clone, Copy, Debug)]
struct Target {
    method: &'static str,
    path: &'static str,
    trusts: &'static [&'static str],
    /// Whether it requires a session.
    needs_session: bool,
}

const TARGETS: [Target; 6] = [
    Target { method: "POST", path: "/transfer", trusts: &[APP, PARTNER], needs_session: true },
    Target { method: "DELETE", path: "/item", trusts: &[APP, PARTNER], needs_session: true },
    Target { method: "POST", path: "/note", trusts: &[], needs_session: false },
    Target { method: "POST", path: "/sign-in", trusts: &[APP], needs_session: false },
    Target { method: "GET", path: "/socket", trusts: &[APP], needs_session: true },
    Target { method: "POST", path: "/basic", trusts: &[], needs_session: false },
];

const ORIGINS: [&str; 9] = [
    OWN,
    OWN,
    APP,
    PARTNER,
    READER,
    "https://evil.test",
    // Same-site, so that cookies do not distinguish it.
    "https://evil.shop.example",
    // An attacker on the network can pose as this origin.
    "http://api.shop.example",
    "https://api.shop.example.evil.test",
];

/// How a page makes its browser send a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Vehicle {
    /// `fetch` with credentials.
    Script(Mode),
    Form,
    Link,
    Image,
    WebSocket,
}

impl Vehicle {
    /// The load that the page starts, if this vehicle can have the method.
    fn fetch(self, method: &str, url: &str, token: Option<&str>) -> Option<Fetch> {
        let fields = || [("a", "1")].into_iter().chain(token.map(|token| ("csrf_token", token)));
        let form = || Fetch::form(url, fields());
        let fetch = match (self, method) {
            (Self::Script(Mode::Cors), _) => {
                let fetch = Fetch::new(method, url).credentials(Credentials::Include);
                match token {
                    Some(token) => fetch.header("x-csrf-token", token),
                    None => fetch,
                }
            }
            (Self::Script(mode), "GET" | "HEAD") => {
                Fetch::new(method, url).mode(mode).credentials(Credentials::Include)
            }
            (Self::Script(mode), "POST") => {
                let mut fetch = form().mode(mode).credentials(Credentials::Include);
                fetch.destination = Fetch::get("").destination;
                fetch
            }
            (Self::Form, "POST") => form(),
            (Self::Form | Self::Link, "GET") => Fetch::navigate(url),
            (Self::Image, "GET") => Fetch::image(url),
            (Self::WebSocket, "GET") => Fetch::websocket(url),
            _ => return None,
        };
        Some(fetch)
    }
}

/// Which CSRF token a page has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Has {
    Nothing,
    Garbage,
    /// The token of the attacker's own session.
    Theirs,
    /// The token of the user's session, which only pages that may read it have.
    Right,
}

/// A page and the settings of its browser.
#[derive(Clone, Debug)]
struct Visitor {
    page: Page,
    state: State,
    /// Whether the browser sends Fetch Metadata.
    is_modern: bool,
}

fn visitor() -> impl Strategy<Value = (&'static str, Visitor)> {
    let policies = vec![
        ReferrerPolicy::StrictOriginWhenCrossOrigin,
        ReferrerPolicy::SameOrigin,
        ReferrerPolicy::NoReferrer,
    ];
    let bits = (prop::bool::weighted(0.1), prop::bool::weighted(0.7));
    (select(ORIGINS.to_vec()), select(policies), profile(), bits).prop_map(
        |(origin, referrer_policy, profile, (is_opaque, is_modern))| {
            let mut page = page_of(origin);
            page.referrer_policy = referrer_policy;
            if is_opaque {
                page.origin = PageOrigin::Opaque;
            }
            let state = State::new(profile, Duration::from_secs(START));
            (origin, Visitor { page, state, is_modern })
        },
    )
}

fn page_of(origin: &str) -> Page {
    Page::at(Url::parse(origin).expect("an address"))
}

/// All servers: this one, and others that redirect to it and share with everyone. If the browser
/// has a password, it sends it.
fn serve(
    server: &TestServer,
    hops: &[&str],
    target: &str,
    is_modern: bool,
    sent: &SentRequest,
) -> ServerResponse {
    if let Some(place) = sent.url.query().and_then(|query| query.strip_prefix("hop=")) {
        let place: usize = place.parse().expect("a place");
        return match hops.get(place) {
            Some(hop) => redirect(&format!("{hop}/?hop={}", place + 1), sent),
            None => redirect(target, sent),
        };
    }
    let mut request = Request::from_sent(sent);
    if !is_modern {
        for name in ["sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest", "sec-fetch-user"] {
            request.headers.remove(name);
        }
    }
    if request.path == "/basic" && !sent.is_preflight {
        request = request.with("authorization", "Basic YWRhOmE=");
    }
    server.send(request).into()
}

/// Logs the user of a browser in and returns the CSRF token of the session.
fn log_in(server: &TestServer, state: State) -> (State, String) {
    let own = page_of(OWN);
    let ask = |state, fetch| {
        let (state, outcome) =
            run(state, Some(&own), fetch, |sent| serve(server, &[], "", true, sent));
        (state, String::from_utf8_lossy(&outcome.response().expect("a response").body).into_owned())
    };
    let (state, _) = ask(state, Fetch::post(format!("{OWN}/login")).body("ada"));
    let (state, body) = ask(state, Fetch::get(format!("{OWN}/csrf")));
    let value: serde_json::Value = serde_json::from_str(&body).expect("JSON");
    (state, value["token"].as_str().expect("a token").to_owned())
}

/// T4, no ambient write. Only pages of the server's own origin, and of origins that the route
/// shares with including credentials, reach a handler that changes something by a session, logs in,
/// opens a WebSocket or uses another credential that browsers send automatically. No other page
/// does: not by script, form, link, image or WebSocket, not from a sibling domain, a sandbox or
/// plain HTTP, not by a redirect, for any referrer policy, `SameSite` and third-party cookie
/// setting, in every engine, with and without Fetch Metadata, and with a CSRF token of its own. The
/// allowed pages reach it with the token of the session and with no other. The exception is a form
/// of a page without referrer in a browser without Fetch Metadata, which cannot be distinguished
/// from a sandbox.
#[test]
fn t04_no_untrusted_page_reaches_a_changing_handler() {
    let vehicles = vec![
        Vehicle::Script(Mode::Cors),
        Vehicle::Script(Mode::Cors),
        Vehicle::Script(Mode::NoCors),
        Vehicle::Form,
        Vehicle::Form,
        Vehicle::Link,
        Vehicle::Image,
        Vehicle::WebSocket,
    ];
    let hops = prop_oneof![
        4 => Just(vec![]),
        1 => select(vec!["https://evil.test", OWN, "https://evil.shop.example"])
            .prop_map(|hop| vec![hop]),
        1 => Just(vec!["https://evil.test", OWN]),
    ];
    let has = select(vec![Has::Nothing, Has::Garbage, Has::Theirs, Has::Right, Has::Right]);
    let cases = (visitor(), select(TARGETS.to_vec()), select(vehicles), hops);
    let cases = (cases, has, 0..3_usize, prop::bool::weighted(0.8));
    let [attacks, ambient, visits, tried] = [const { Cell::new(0_u64) }; 4];
    let count = |what: &Cell<u64>| what.set(what.get() + 1);
    holds("T4", 21, cases, |((visitor, target, vehicle, hops), has, same_site, is_logged_in)| {
        count(&tried);
        let (origin, Visitor { page, state, is_modern }) = visitor;
        let is_opaque = page.origin == PageOrigin::Opaque;
        let is_trusted_origin = (origin == OWN || target.trusts.contains(&origin)) && !is_opaque;
        let is_trusted = is_trusted_origin && hops.iter().all(|hop| *hop == OWN && origin == OWN);
        // A redirect of the server to itself keeps the origin of a trusted page (Fetch,
        // HTTP-redirect fetch, 12): neither an attack nor a plain visit.
        if is_trusted_origin && !is_trusted && hops.iter().all(|hop| *hop == OWN) {
            return Ok(Precondition::Unmet);
        }
        // A page cannot have what it cannot read.
        let has = if has == Has::Right && !is_trusted { Has::Theirs } else { has };
        SERVERS.with(|servers| {
            let server = &servers[same_site];
            let (state, right) =
                if is_logged_in { log_in(server, state) } else { (state, "A".repeat(64)) };
            let attacker = server.send(Request::post("/login").body("eve")).set_id();
            let theirs =
                server.send(Request::get("/csrf").cookie(attacker.as_deref())).text("token");
            let token = match has {
                Has::Nothing => None,
                Has::Garbage => Some("A".repeat(64)),
                Has::Theirs => Some(theirs),
                Has::Right => Some(right),
            };
            let url = format!("{OWN}{}", target.path);
            let first = hops.first().map_or(url.clone(), |hop| format!("{hop}/?hop=1"));
            let Some(fetch) = vehicle.fetch(target.method, &first, token.as_deref()) else {
                return Ok(Precondition::Unmet);
            };
            if vehicle != Vehicle::WebSocket && target.method == "GET" {
                // GET changes nothing.
                return Ok(Precondition::Unmet);
            }
            REACHED.with(|reached| reached.set(0));
            let mut last = None;
            let (_, outcome) = run(state, Some(&page), fetch, |sent| {
                let response = serve(server, &hops, &url, is_modern, sent);
                let is_at_target = sent.url.path() == target.path && !sent.is_preflight;
                last = is_at_target.then(|| sent.clone()).or(last.take());
                response
            });
            let is_reached = REACHED.with(Cell::get) > 0;
            let Some(last) = last else {
                prop_assert!(!is_reached);
                return Ok(Precondition::Unmet);
            };
            let has_cookie = last.headers.contains_key("cookie");
            if !is_trusted {
                count(&attacks);
                if has_cookie {
                    count(&ambient);
                }
                prop_assert!(!is_reached, "{last:?} reached it: {outcome:?}");
                return Ok(Precondition::met_if(has_cookie || !target.needs_session));
            }
            let is_upgrade = vehicle == Vehicle::WebSocket;
            let has_right = has == Has::Right && is_logged_in;
            let is_proven = has_right || !has_cookie || is_upgrade || target.path == "/basic";
            prop_assert!(is_proven || !is_reached, "without its token: {last:?}");
            let is_due = is_proven
                && is_open(vehicle, origin)
                && !is_hidden(&page, vehicle, origin, is_modern)
                && (has_cookie || !target.needs_session);
            prop_assert!(is_reached || !is_due, "{last:?} was refused: {}", text(&outcome));
            if is_due {
                count(&visits);
            }
            Ok(Precondition::met_if(is_due))
        })
    });
    let [attacks, ambient, visits, tried] = [attacks, ambient, visits, tried].map(|all| all.get());
    assert_usual("T4: attacks", attacks, tried, 21);
    assert_usual("T4: with the cookie", ambient, tried, 6);
    assert_usual("T4: visits let in", visits, tried, 3);
}

/// Whether the request shows its origin: loads whose response a page may read always do.
fn is_open(vehicle: Vehicle, origin: &str) -> bool {
    origin == OWN || matches!(vehicle, Vehicle::Script(Mode::Cors) | Vehicle::WebSocket)
}

/// Whether `Origin`, `Referer` and Fetch Metadata all hide the page.
fn is_hidden(page: &Page, vehicle: Vehicle, origin: &str, is_modern: bool) -> bool {
    !is_modern
        && !matches!(vehicle, Vehicle::Script(Mode::Cors) | Vehicle::WebSocket)
        && match page.referrer_policy {
            ReferrerPolicy::NoReferrer => true,
            ReferrerPolicy::SameOrigin => origin != OWN,
            _ => false,
        }
}

fn text(outcome: &Outcome) -> String {
    let body = outcome.response().map(|response| String::from_utf8_lossy(&response.body));
    format!("{outcome:?} {body:?}")
}
