//! Generated cases: mostly common configurations, often close to a boundary.
//!
//! Not generated, since the behaviour of browsers depends on more than the input of the model:
//! - lifetimes that end while a case runs: `max-age` and `Max-Age` of a few seconds
//! - a second `<img>` or `<script>` with the same URL in one document, which reuses the first
//! - streams as request bodies, which Chromium sends over HTTP/2 only and Firefox not at all
//! - documents that scripts and images request, and stored ones that are requested in mode `no-cors`:
//!   Chromium blocks them by their content (Opaque Response Blocking)
//! - stored responses with another status than 200: their lifetimes, and whether they are
//!   revalidated, differ by status
//! - ranges of stored responses, which Chromium serves itself
//! - responses without type to `XMLHttpRequest` and to elements with `crossorigin`: Chromium reads
//!   their content to guess the type before it asks whether the page may see them, and has stored
//!   all of it if the first bytes say nothing
//! - redirects of a page to its own origin with a password, which `fetch()` of Chromium refuses and
//!   its `XMLHttpRequest` follows
//! - two `Content-Type` of one request: Firefox sends one of them
//! - 206 to a request without `Range`
//! - downloads and 204 in frames and windows, for which no event fires
//! - `document.cookie` of sandboxed pages, which throws
//! - what [`policy_browser`] leaves out: `keepalive` with credentials, redirects and stored
//!   responses, and beacons of sandboxed pages
//! - beacons that are redirected twenty times: Chromium follows one less than of other requests
//! - redirects of images to `http`: engines differ in whether the upgrade to `https` comes before the
//!   question which origin redirects to which
//! - `X-Frame-Options` with a redirect status that leads nowhere, which Firefox ignores
//! - windows that navigate to `http`: browsers ask the user, or try `https` first

mod cookie;
mod grant;
mod request;
mod response;
mod store;
mod taint;

use policy_browser::{Destination, Fetch, Mode, ReferrerPolicy};

use crate::diff::{
    case::{Case, Place, Route, Sandbox, Step},
    engine::LeftOut,
    random::Random,
};

use cookie::cookie;
use grant::preflight;
pub(crate) use request::is_hint;
use request::{
    beacon, cache, credentials, element, fetch, headers, keepalive, method, upload, url,
};
use response::response;
use taint::lead_away;

/// The hosts, of which `shop.test`, `evil.test`, `shop.co.uk` and `evil.co.uk` are sites.
pub(crate) const HOSTS: &[&str] = &[
    "app.shop.test",
    "api.shop.test",
    "shop.test",
    "evil.test",
    "shop.co.uk",
    "evil.co.uk",
    "localhost",
];

const PATHS: &[&str] = &["a", "b", "c"];

/// A page for many cases: its position in turn, so that a few pages have all of them.
pub(crate) fn place(random: &mut Random, turn: usize) -> Place {
    let secure = |host: &str| format!("https://{host}:{{P}}");
    let top = match random.below(20) {
        0..12 => secure("app.shop.test"),
        12..14 => secure("shop.test"),
        14..16 => secure("shop.co.uk"),
        16 => secure("localhost"),
        17..19 => "http://app.shop.test:{P}".into(),
        _ => "http://localhost:{P}".into(),
    };
    let is_secure = top.starts_with("https");
    let mut origins = vec![top];
    let mut sandbox = Sandbox::None;
    match turn % 12 {
        1 => {
            sandbox = Sandbox::Frame;
            origins.push(origins[0].clone());
        }
        2 if is_secure => origins.push(secure("api.shop.test")),
        3 => {
            sandbox = Sandbox::Around;
            origins.extend([origins[0].clone(), origins[0].clone()]);
        }
        4 => sandbox = Sandbox::Response,
        5 if is_secure => origins.push(secure("evil.test")),
        7 if is_secure => origins.extend([secure("evil.test"), origins[0].clone()]),
        9 => {
            sandbox = Sandbox::Response;
            origins.push(origins[0].clone());
        }
        _ => {}
    }
    let referrer_policy = match random.below(3) {
        0 => *random.choose(&[
            ReferrerPolicy::NoReferrer,
            ReferrerPolicy::NoReferrerWhenDowngrade,
            ReferrerPolicy::Origin,
            ReferrerPolicy::OriginWhenCrossOrigin,
            ReferrerPolicy::SameOrigin,
            ReferrerPolicy::StrictOrigin,
            ReferrerPolicy::UnsafeUrl,
        ]),
        _ => ReferrerPolicy::StrictOriginWhenCrossOrigin,
    };
    Place { origins, sandbox, referrer_policy }
}

/// A case at a page, without what its engine leaves out.
pub(crate) fn case(random: &mut Random, place: &Place, left_out: &[LeftOut]) -> Case {
    loop {
        let mut case = any_case(random, place);
        for one in left_out {
            match one {
                LeftOut::Cookies => remove_cookies(&mut case),
                LeftOut::HttpCache => forbid_storage(&mut case),
                LeftOut::Details => remove_details(&mut case),
            }
        }
        if !case.steps.is_empty() {
            return case;
        }
    }
}

fn any_case(random: &mut Random, place: &Place) -> Case {
    let length = *random.choose(&[1, 1, 1, 1, 2, 2, 3, 4]);
    let mut steps: Vec<Step> = Vec::new();
    for _ in 0..length {
        let earlier = steps.iter().rev().find_map(Step::load);
        let step = match earlier {
            Some(fetch) if is_script(fetch) && random.below(3) > 0 => again(random, fetch.clone()),
            _ => anew(random, place, &steps),
        };
        steps.push(step);
    }
    let mut case = Case { place: place.clone(), steps, routes: Vec::new() };
    case.routes = PATHS.iter().map(|path| route(random, &case, path)).collect();
    if random.below(6) == 0 && !case.loads().any(|fetch| fetch.mode == Mode::WebSocket) {
        lead_away(random, &mut case);
    }
    if case.steps.iter().any(|step| matches!(step, Step::Beacon(_))) {
        end_redirects(&mut case);
    }
    case
}

/// The last response is repeated, so it must not lead on.
fn end_redirects(case: &mut Case) {
    for canned in case.routes.iter_mut().filter_map(|route| route.responses.last_mut()) {
        if (300..400).contains(&canned.status) {
            canned.status = 200;
        }
    }
}

fn remove_cookies(case: &mut Case) {
    case.steps.retain(|step| step.load().is_some());
    for canned in case.all_responses() {
        canned.headers.retain(|(name, _)| *name != "set-cookie");
    }
}

fn forbid_storage(case: &mut Case) {
    const OF_CACHES: &[&str] =
        &["age", "cache-control", "date", "etag", "expires", "last-modified", "vary"];
    for canned in case.all_responses() {
        canned.headers.retain(|(name, _)| !OF_CACHES.contains(name));
        add(&mut canned.headers, "cache-control", "no-store".into());
    }
}

fn remove_details(case: &mut Case) {
    let is_secure = case.place.origins.iter().any(|origin| origin.starts_with("https:"));
    let has_sockets = case.loads().any(|fetch| fetch.mode == Mode::WebSocket);
    for fetch in case.steps.iter_mut().filter_map(Step::load_mut) {
        fetch.headers.retain(|(_, value)| value.is_ascii());
    }
    for canned in case.all_responses() {
        canned.headers.retain(|(name, value)| {
            let is_refused = value.contains('@') || is_secure && value.starts_with("http:");
            let is_left_out = value.is_empty() || has_sockets || is_refused;
            value.is_ascii() && (*name != "location" || !is_left_out)
        });
    }
}

fn is_script(fetch: &Fetch) -> bool {
    matches!(fetch.mode, Mode::Cors | Mode::NoCors | Mode::SameOrigin)
        && fetch.destination == Default::default()
}

/// A repetition of the last step, or one with a small change.
fn again(random: &mut Random, mut fetch: Fetch) -> Step {
    match random.below(6) {
        0 if !fetch.watches_upload => fetch.credentials = credentials(random),
        1 => fetch.headers = headers(random, fetch.body.is_some()),
        2 if !fetch.watches_upload => fetch.cache = cache(random),
        3 if fetch.body.is_none() && !fetch.watches_upload => fetch.method = method(random).into(),
        _ => {}
    }
    Step::Load(fetch)
}

fn anew(random: &mut Random, place: &Place, earlier: &[Step]) -> Step {
    let url = url(random, place);
    let has_element = earlier
        .iter()
        .filter_map(Step::load)
        .any(|fetch| matches!(fetch.destination, Destination::Script | Destination::Image));
    let opens_window = !has_element && url.starts_with("https:");
    match random.below(100) {
        0..6 => Step::Load(upload(random, url)),
        6..11 => Step::Load(element(random, Fetch::script(url), earlier)),
        11..14 => Step::Load(element(random, Fetch::image(url), earlier)),
        14..17 if !has_element => Step::Load(Fetch::frame(url)),
        17..19 if !has_element => {
            let mut fetch = Fetch::form(url, [("field", "a value")]);
            fetch.destination = Destination::Frame;
            Step::Load(fetch)
        }
        19..22 if opens_window => Step::Load(Fetch::navigate(url)),
        22..24 if opens_window => Step::Load(Fetch::form(url, [("field", "a value")])),
        24..26 => Step::Load(Fetch::websocket(url)),
        26..29 if !place.is_sandboxed() => Step::WriteCookie(cookie(random)),
        29..32 if !place.is_sandboxed() => Step::ReadCookies,
        32..36 if !place.is_sandboxed() => Step::Beacon(beacon(random, url)),
        36..40 => Step::Keepalive(keepalive(random, url)),
        _ => Step::Load(fetch(random, url)),
    }
}

fn route(random: &mut Random, case: &Case, path: &'static str) -> Route {
    let count = *random.choose(&[1, 1, 1, 1, 2, 3]);
    let preflights = (0..count).map(|_| preflight(random, case)).collect();
    let responses = (0..count).map(|_| response(random, case)).collect();
    Route { path, preflights, responses }
}

fn add(headers: &mut Vec<(&'static str, String)>, name: &'static str, value: String) {
    headers.push((name, value));
}
