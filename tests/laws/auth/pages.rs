//! What the pages of a browser can make it do with the cookies of its user.

use std::cell::Cell;

use http::Method;
use policy_server::{
    AuthError, Scheme, SchemeRequest, extract::CsrfToken, http, prelude::*, session,
};
use proptest::{prelude::*, sample::select};

use super::{
    house::{House, OWN, Request, login},
    site::{Page, Referrer, SameSite, Try, Vehicle},
};
use crate::law::{Premise, holds};

const APP: &str = "https://app.shop.example";
const PARTNER: &str = "https://partner.test";
const READER: &str = "https://reader.test";

/// A browser that once asked its user for a password sends it with everything.
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
    static HOUSES: [House; 3] =
        [session::SameSite::Strict, session::SameSite::Lax, session::SameSite::None].map(house);
}

fn house(same_site: session::SameSite) -> House {
    let app = App::new(()).sessions(Sessions::memory().same_site(same_site)).scheme(Basic);
    let app = app.routes(routes![login, csrf, transfer, remove, note, sign_in, socket, basic]);
    House::new(app)
}

fn reached() {
    REACHED.with(|reached| reached.set(reached.get() + 1));
}

#[get("/csrf")]
#[auth(public)]
async fn csrf(token: CsrfToken) -> CsrfToken {
    token
}

#[post("/transfer")]
#[cors(origins = ["https://app.shop.example", "https://partner.test"], credentials)]
#[auth(session)]
async fn transfer(session: Session) -> Result<(), Problem> {
    reached();
    Ok(session.set("a", 1)?)
}

#[delete("/item")]
#[cors(origins = ["https://app.shop.example", "https://partner.test"], credentials)]
#[auth(session)]
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

/// A route that changes something, and the foreign pages that may.
#[derive(Clone, Copy, Debug)]
struct Target {
    method: &'static str,
    path: &'static str,
    trusts: &'static [&'static str],
    /// Whether it is there for somebody who is logged in.
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
    // Of the same site, which cookies do not tell apart.
    "https://evil.shop.example",
    // Whoever is on the way can be this one.
    "http://api.shop.example",
    "https://api.shop.example.evil.test",
];

fn page() -> impl Strategy<Value = Page> {
    let referrer =
        select(vec![Referrer::StrictOriginWhenCrossOrigin, Referrer::SameOrigin, Referrer::Hidden]);
    let bits = (prop::bool::weighted(0.1), prop::bool::weighted(0.7));
    (select(ORIGINS.to_vec()), referrer, bits).prop_map(
        |(origin, referrer, (is_opaque, is_modern))| Page {
            origin,
            is_opaque,
            referrer,
            is_modern,
        },
    )
}

/// Which token a page has got hold of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Has {
    Nothing,
    Garbage,
    /// That of a session of the attacker's own.
    Theirs,
    /// That of the session of the user, which only pages that may read it have.
    Right,
}

/// No page but those of the server's own origin, and those of another origin that the route shares
/// with, credentials included, reaches a handler that changes something by a session, logs
/// somebody in, opens a WebSocket or goes by another credential that browsers send by themselves:
/// not by script, form, link, image or WebSocket, not from a sibling domain, a sandbox or plain
/// HTTP, not by a redirect, whatever its referrer policy hides, whatever `SameSite` lets through,
/// in browsers with and without Fetch Metadata, and with an anti-forgery token of its own. Those
/// pages themselves reach it with the token of the session, and never with another one. Only a
/// form of a page without referrer in a browser without Fetch Metadata does not: nothing tells it
/// from a sandbox.
#[test]
fn no_page_of_others_reaches_what_changes_something() {
    let vehicles = vec![
        Vehicle::Script { is_cors: true },
        Vehicle::Script { is_cors: true },
        Vehicle::Script { is_cors: false },
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
    ];
    let has = select(vec![Has::Nothing, Has::Garbage, Has::Theirs, Has::Right, Has::Right]);
    let same_site = select(vec![SameSite::Strict, SameSite::Lax, SameSite::None]);
    let cases = (page(), select(TARGETS.to_vec()), select(vehicles), hops);
    let cases = (cases, has, same_site, prop::bool::weighted(0.8));
    let (attacks, visits, tried) = (Cell::new(0_u32), Cell::new(0_u32), Cell::new(0_u32));
    holds("pages", 15, cases, |((page, target, vehicle, hops), has, same_site, is_logged_in)| {
        tried.set(tried.get() + 1);
        let is_trusted_origin = page.origin == OWN || target.trusts.contains(&page.origin);
        let is_trusted = is_trusted_origin
            && !page.is_opaque
            && hops.iter().all(|hop| *hop == OWN && page.origin == OWN);
        // A redirect of the server's own to itself leaves the origin of a trusted page as it is
        // (Fetch, HTTP-redirect fetch, 12): that is no attack, and no plain visit.
        if is_trusted_origin && !is_trusted && !page.is_opaque && hops.iter().all(|hop| *hop == OWN)
        {
            return Ok(Premise::Unmet);
        }
        // What a page cannot read it does not have.
        let has = if has == Has::Right && !is_trusted { Has::Theirs } else { has };
        HOUSES.with(|houses| {
            let house = match same_site {
                SameSite::Strict => &houses[0],
                SameSite::Lax => &houses[1],
                SameSite::None => &houses[2],
            };
            let session = |user| {
                let id = house.send(Request::post("/login").body(user)).set_id().expect("an id");
                let token = house.send(Request::get("/csrf").cookie(Some(&id))).text("token");
                (id, token)
            };
            let (user, attacker) = (session("ada"), session("eve"));
            let token = match has {
                Has::Nothing => None,
                Has::Garbage => Some("A".repeat(64)),
                Has::Theirs => Some(attacker.1),
                Has::Right => Some(user.1),
            };
            let method: Method = target.method.parse().expect("a method");
            let asked = Try { page, vehicle, method, path: target.path, hops, token };
            let cookie = is_logged_in && asked.sends_cookie(same_site);
            let id = cookie.then_some(&*user.0);
            let Some(mut request) = asked.request(house, id) else { return Ok(Premise::Unmet) };
            if target.path == "/basic" {
                request = request.with("authorization", "Basic YWRhOmE=");
            }
            let is_upgrade = vehicle == Vehicle::WebSocket;
            if !is_upgrade && target.method == "GET" {
                // It reads, and changes nothing.
                return Ok(Premise::Unmet);
            }
            REACHED.with(|reached| reached.set(0));
            let reply = house.send(request.clone());
            let is_reached = REACHED.with(Cell::get) > 0;
            if !is_trusted {
                attacks.set(attacks.get() + 1);
                prop_assert!(!is_reached, "{:?} reached it: {:?}", request, reply);
                return Ok(Premise::Met);
            }
            let is_proven = has == Has::Right || !cookie || is_upgrade || target.path == "/basic";
            prop_assert!(is_proven || !is_reached, "without its token: {:?}", request);
            let is_hidden = !page.is_modern
                && !matches!(vehicle, Vehicle::Script { is_cors: true } | Vehicle::WebSocket)
                && match page.referrer {
                    Referrer::Hidden => true,
                    Referrer::SameOrigin => page.origin != OWN,
                    Referrer::StrictOriginWhenCrossOrigin => false,
                };
            // Foreign pages use what may read the answer; the rest says less of who asks.
            let is_open = page.origin == OWN
                || matches!(vehicle, Vehicle::Script { is_cors: true } | Vehicle::WebSocket);
            let is_due = is_proven && is_open && !is_hidden && (cookie || !target.needs_session);
            prop_assert!(is_reached || !is_due, "{:?} was refused: {:?}", request, reply);
            visits.set(visits.get() + u32::from(is_due));
            Ok(Premise::met_if(is_due))
        })
    });
    let (attacks, visits, tried) = (attacks.get(), visits.get(), tried.get());
    println!("pages: of {tried}, {attacks} were attacks, and {visits} visits that are let in");
    assert!(attacks * 100 >= 15 * tried && visits * 50 >= tried, "{attacks} {visits}");
}
