//! An app that observes a candidate: its responses do not change.

use std::{cell::RefCell, convert::Infallible};

use policy_manifest::{
    Auth, Manifest, RouteCors, RouteOrigins, RouteRequirement, engine::Protocol,
};
use policy_server::{
    AppService, Body, Clock, Random, SharedOrigins,
    candidate::{Candidate, Counts},
    http::Request,
    prelude::*,
    session::SameSite,
    tokens::SecretKey,
};
use proptest::{collection::vec, prelude::*};

use super::{
    REQUESTS,
    generate::{OWN, Site, site, sketch},
};
use crate::{
    law::{Precondition, holds_in_fewer},
    local::{Reply, block_on, send},
};

const SHOP: CorsPolicy =
    CorsPolicy::origins(&["https://app.example", "https://*.shop.example"]).credentials().build();

#[get("/a")]
#[cors(SHOP)]
#[auth(session | token | ticket, optional)]
async fn read() -> &'static str {
    "read"
}

#[post("/a")]
#[put("/a")]
#[cors(SHOP)]
#[auth(session)]
async fn write() {}

#[get("/a/{id}")]
#[query("/a/{id}")]
#[cors(origins = config("partners"))]
#[auth(token)]
#[object(none = "a test of something else")]
async fn of_partners(id: String) -> String {
    id
}

#[get("/f/{*rest}")]
#[post("/f/{*rest}")]
#[cors(origins = config("staff"))]
#[auth(public)]
#[isolation(same_origin)]
async fn files(rest: String) -> String {
    rest
}

#[get("/f/x")]
#[auth(public)]
#[jsonp(callback = "callback")]
async fn script() -> Json<u8> {
    Json(1)
}

#[post("/")]
#[auth(public)]
#[limit(body = "100 B")]
async fn login(_sessions: Sessions) {}

/// An app with the routes that generated requests name.
fn app(lists: &[(&str, SharedOrigins)]) -> App<()> {
    let secret = SecretKey::from_bytes(*b"\x8f0123456789abcdef0123456789abcde");
    let below = tower::service_fn(async |request: Request<Body>| {
        Ok::<_, Infallible>(Response::new(Body::from(request.uri().path().to_owned())))
    });
    let app = App::new(())
        .public_origin(OWN)
        .clock(Clock::at(1_800_000_000))
        .random(Random::from_fn(|bytes| bytes.fill(7)))
        .sessions(Sessions::memory().same_site(SameSite::None))
        .tokens(Tokens::hs256([("k1", secret)]).expect("a key"))
        .routes(routes![read, write, of_partners, files, script, login])
        .mount("/m", Mount::new(below).public().policies(Policies::new().cors(SHOP)))
        .health("/health");
    lists.iter().fold(app, |app, (name, list)| app.origins(*name, list))
}

/// Another policy for the app: its lists have no bounds that the present entries could break.
fn candidate_of(mut manifest: Manifest) -> Manifest {
    for route in &mut manifest.routes {
        if let Some(RouteCors { origins: RouteOrigins::AtRunTime(list), .. }) = &mut route.cors {
            list.within = None;
        }
    }
    manifest
}

/// A candidate whose public routes require a credential, which the gates of the app do not check.
fn guarded(mut manifest: Manifest) -> Manifest {
    let wanted = RouteRequirement { session: true, token: true, ..RouteRequirement::default() };
    for route in &mut manifest.routes {
        if route.auth == Auth::Public {
            route.auth = Auth::Required(wanted.clone());
        }
    }
    manifest
}

/// The whole response.
fn respond(service: &AppService, request: &Request<()>) -> Reply {
    let mut request = request.clone().map(|()| Body::empty());
    if let Some(protocol) = request.extensions().get::<Protocol>() {
        let protocol = match protocol.as_str() {
            "websocket" => hyper::ext::Protocol::from_static("websocket"),
            _ => hyper::ext::Protocol::from_static("connect-udp"),
        };
        request.extensions_mut().insert(protocol);
    }
    send(service, request)
}

/// T30. Whatever the candidate is, each response equals the one without it, byte for byte. With the
/// policy in force as the candidate, nothing differs.
#[test]
fn t30_a_candidate_changes_nothing_and_is_right() {
    let counted = RefCell::new([0_u64; 3]);
    let lists = ["partners", "staff"].map(|name| (name, SharedOrigins::new()));
    let entries = ["https://app.example", "https://*.shop.example"];
    assert!(lists.iter().all(|(_, list)| list.replace(&entries).is_ok()));
    let entries = entries.map(str::to_owned).to_vec();
    let own = Site {
        manifest: app(&lists).manifest(),
        lists: lists.iter().map(|(name, _)| ((*name).to_owned(), entries.clone())).collect(),
    };
    let candidates = prop_oneof![
        2 => site().prop_map(|site| site.manifest),
        1 => Just(guarded(own.manifest.clone())),
    ];
    let cases = (candidates, vec(sketch(), REQUESTS));
    let same = Candidate::new(own.manifest.clone());
    let plain = block_on(app(&lists).open()).expect("an app that starts");
    let by_same = block_on(app(&lists).report_only(&same).open()).expect("an app that starts");
    holds_in_fewer(6, "T30, a candidate changes nothing", 89, cases, |(manifest, sketches)| {
        let before = same.counts();
        let other = Candidate::new(candidate_of(manifest));
        let Ok(by_other) = block_on(app(&lists).report_only(&other).open()) else {
            return Ok(Precondition::Unmet);
        };
        for sketch in &sketches {
            let request = sketch.to_request(&own);
            let response = respond(&plain, &request);
            prop_assert_eq!(&respond(&by_same, &request), &response);
            prop_assert_eq!(&respond(&by_other, &request), &response);
            let differences = same.differences();
            prop_assert!(differences.is_empty(), "{request:?}\n{response:?}\n{differences:?}");
        }
        let (same, other) = (same.counts(), other.counts());
        let all = |counts: Counts| counts.agreed + counts.differed + counts.undecided;
        prop_assert_eq!(all(same) - all(before), sketches.len() as u64);
        prop_assert_eq!(all(other), sketches.len() as u64);
        let new = [other.agreed, other.differed, other.undecided];
        counted.borrow_mut().iter_mut().zip(new).for_each(|(all, new)| *all += new);
        Ok(Precondition::Met)
    });
    let same = same.counts();
    assert!(same.undecided * 50 < same.agreed, "by the policy in force: {same:?}");
    let by_other = counted.into_inner();
    let total: u64 = by_other.iter().sum();
    let names = ["agreed", "differed", "undecided"];
    println!("by other policies, of {total}: {names:?} {by_other:?}");
    for ((name, count), floor) in names.iter().zip(by_other).zip([20, 10, 100]) {
        assert!(count * floor > total, "by other policies, only {count} of {total} {name}");
    }
}
