//! Apps of two hundred routes, and many requests to them.

use std::{
    collections::BTreeMap,
    env, iter,
    num::NonZero,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Instant,
};

use http::Request;
use policy_core::path::TrailingSlash;
use policy_manifest::{Manifest, ManifestRoute, RouteKind, diff::diff, engine::Engine};
use proptest::{
    collection::vec,
    prelude::*,
    strategy::ValueTree as _,
    test_runner::{Config, RngSeed, TestRunner},
};

use super::{Pair, edit, exact};
use crate::manifest::{
    assert_floors,
    generate::{Site, caller, site, sketch},
    verdict,
};

/// The routes of each app.
const ROUTES: usize = 200;

/// T25 for large apps: for each of many random requests, exactly one case states what one app
/// allows beyond the other.
///
/// `POLICY_DIFF` is the number of pairs of apps and of requests to each, such as `100x1000000`.
/// Progress is printed, so that a run that is stopped has shown what it covered.
#[test]
fn t25_many_requests_to_large_apps() {
    let setting = env::var("POLICY_DIFF").unwrap_or_else(|_| "2x2000".to_owned());
    let (pairs, requests) = setting.split_once('x').expect("PAIRSxREQUESTS");
    let [pairs, requests] = [pairs, requests].map(|text| text.parse::<u64>().expect("a number"));
    let seed = env::var("PROPTEST_RNG_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let next = AtomicU64::new(1);
    // Each pair has its own number as a seed, so that it does not depend on the number of threads.
    let on_a_thread = || {
        let numbers = iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)));
        let counts = numbers.take_while(|number| *number <= pairs);
        counts.map(|number| compared(seed, number, requests)).collect::<Vec<_>>()
    };
    let occurred = thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(on_a_thread)).collect();
        let mut occurred = BTreeMap::<&'static str, u64>::new();
        for counts in threads.into_iter().flat_map(|thread| thread.join().expect("no failure")) {
            counts
                .into_iter()
                .for_each(|(what, count)| *occurred.entry(what).or_default() += count);
        }
        occurred
    });
    let floors = [("findings", 1), ("another decision", 20), ("widened", 5), ("narrowed", 5)];
    assert_floors(&occurred, &floors);
}

/// What occurred in a pair of apps with this many requests.
#[expect(clippy::print_stdout, reason = "a run that is stopped has said how far it came")]
fn compared(seed: u64, number: u64, requests: u64) -> BTreeMap<&'static str, u64> {
    let seed = RngSeed::Fixed(seed.wrapping_mul(1_000_003).wrapping_add(number));
    let mut runner = TestRunner::new(Config { rng_seed: seed, ..Config::default() });
    let pair = large(&mut runner);
    let started = Instant::now();
    let found = diff(&pair.old.manifest, &pair.new.manifest).expect("a comparison");
    let compared = started.elapsed();
    let engines = [&pair.old, &pair.new].map(|site| Engine::new(&site.manifest).expect("a policy"));
    let request = (sketch(), caller(), any::<bool>());
    let [mut widened, mut narrowed, mut others] = [0; 3];
    for _ in 0..requests {
        let (sketch, caller, of_old) = request.new_tree(&mut runner).expect("a request").current();
        let request = sketch.to_request(if of_old { &pair.old } else { &pair.new });
        let (gains, loses) = exact(&pair, &found, &request, &caller)
            .unwrap_or_else(|error| panic!("{error}\n{:#?}", candidates(&pair, &request)));
        widened += u64::from(gains);
        narrowed += u64::from(loses);
        let [before, after] =
            engines.each_ref().map(|engine| verdict(&engine.decide(&request, &caller)));
        others += u64::from(before != after);
    }
    let findings = found.findings.len();
    println!(
        "pair {number}: {:?} routes, {findings} findings in {compared:?}, {requests} requests in {:?}",
        (pair.old.manifest.routes.len(), pair.new.manifest.routes.len()),
        started.elapsed() - compared
    );
    BTreeMap::from([
        ("requests", requests),
        ("findings", findings as u64),
        ("widened", widened),
        ("narrowed", narrowed),
        ("another decision", others),
    ])
}

/// The routes of both apps that may serve a request.
fn candidates(pair: &Pair, request: &Request<()>) -> [Vec<ManifestRoute>; 2] {
    let first = |path: &str| path.split('/').nth(1).map(str::to_owned);
    let wanted = first(request.uri().path());
    [&pair.old, &pair.new].map(|site| {
        let routes = site.manifest.routes.iter();
        let near = |route: &&ManifestRoute| route.path == "*" || first(&route.path) == wanted;
        routes.filter(near).cloned().collect()
    })
}

/// Two apps of many small ones, each below a prefix of its own.
fn large(runner: &mut TestRunner) -> Pair {
    let small = site();
    let next = |runner: &mut TestRunner| small.new_tree(runner).expect("an app").current();
    let mut old = next(runner);
    // The paths of the others may differ in a slash alone.
    old.manifest.app.trailing_slash = TrailingSlash::Strict;
    let donor = next(runner);
    while old.manifest.routes.len() < ROUTES {
        let prefix = format!("/s{}", old.manifest.routes.len());
        let more = next(runner);
        add(&mut old, more, &prefix);
    }
    let mut new = old.clone();
    let edits = vec(edit(), 10..40).new_tree(runner).expect("edits").current();
    for edit in edits {
        let before: Manifest = new.manifest.clone();
        edit.apply(&mut new.manifest, &donor.manifest);
        if Engine::new(&new.manifest).is_err() {
            new.manifest = before;
        }
    }
    Pair { old, new }
}

/// Adds the paths of another app below a prefix.
fn add(site: &mut Site, other: Site, prefix: &str) {
    let routes = other.manifest.routes.into_iter().filter(|route| {
        !matches!(route.kind, RouteKind::Fallback | RouteKind::NotFound | RouteKind::Tunnel)
    });
    for mut route in routes {
        route.path = format!("{prefix}{}", route.path);
        site.manifest.routes.push(route);
    }
    for (name, headers) in other.manifest.headers {
        site.manifest.headers.insert(name, headers);
    }
}
