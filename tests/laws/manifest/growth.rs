//! How the work on a manifest grows with the number of origins of one route. It is measured in
//! allocated bytes, not in time.

use policy_core::time::Timestamp;
use policy_manifest::{
    Auth, Date, Manifest, ManifestRoute, RouteCors, RouteKind, RouteOrigins, diff::diff, lint,
};

/// A list of origins of one kind, by their numbers.
type List = fn(usize) -> String;

const LISTS: [(&str, List); 6] = [
    ("domains", |n| format!("https://shop{n}.example")),
    ("names below one domain", |n| format!("https://s{n}.shop.example")),
    ("wildcards", |n| format!("https://*.s{n}.shop.example")),
    ("ports of one host", |n| format!("https://shop.example:{}", 2 * n + 1001)),
    ("beginnings of labels", |n| format!("https://s{n}-*-acme.shop.example")),
    ("ends of labels", |n| format!("https://*-s{n}.shop.example")),
];

fn manifest(methods: &[&str], origins: impl Iterator<Item = String>) -> Manifest {
    let mut manifest = Manifest::new();
    let methods = methods.iter().copied();
    let mut route = ManifestRoute::new(RouteKind::Handler, "/orders", methods, Auth::Public);
    route.cors = Some(RouteCors::new(RouteOrigins::Listed(origins.collect())));
    manifest.routes.push(route);
    manifest
}

/// The bytes that the commands `show`, `lint` and `diff` allocate.
fn work(methods: &[&str], list: List, count: usize) -> [u64; 3] {
    let old = manifest(methods, (0..count).map(list));
    // Some are added and some are removed.
    let new = manifest(methods, (count / 10..count + count / 10).map(list));
    let today = Date::from_timestamp(Timestamp::from_seconds(1_800_000_000));
    let measure = |run: &mut dyn FnMut()| allocation_counter::measure(run).bytes_total;
    [
        measure(&mut || assert!(!old.clone().normal().to_json().is_empty())),
        measure(&mut || drop(lint(&old, &[], today))),
        measure(&mut || assert!(!diff(&old, &new).expect("two manifests").findings.is_empty())),
    ]
}

/// Twice as many origins need little more than twice the work; quadratic growth would be four
/// times.
#[test]
fn work_grows_with_the_number_of_origins_and_not_with_its_square() {
    for (name, list) in LISTS {
        let (few, many) = (work(&["GET"], list, 200), work(&["GET"], list, 400));
        for (what, (few, many)) in ["show", "lint", "diff"].iter().zip(few.iter().zip(many)) {
            let factor = many as f64 / *few as f64;
            assert!(factor < 2.7, "{what} of {name}: {few} bytes, then {many}: {factor:.2} times");
        }
    }
}

/// A list is read and compared once, however many methods a route has.
#[test]
fn methods_of_one_route_share_the_work() {
    for (name, list) in LISTS {
        let [.., one] = work(&["POST"], list, 400);
        let [.., six] = work(&["POST", "PUT", "PATCH", "DELETE", "QUERY", "REPORT"], list, 400);
        let factor = six as f64 / one as f64;
        println!("diff of {name}: {one} bytes for one method, {six} for six: {factor:.2} times");
        assert!(factor < 2.0, "diff of {name}: {one} bytes for one method, {six} for six");
    }
}

/// Patterns that all overlap give one set for each pair, so a manifest with very many pairs is
/// refused before anything is compared.
#[test]
fn a_list_of_very_many_pairs_is_refused() {
    let text = |prefixes: usize, suffixes: usize, host: &str| {
        let prefixes = (0..prefixes).map(|n| format!("https://s{n}-*-acme.{host}"));
        let suffixes = (1..suffixes).map(|n| format!("https://shop-*-{n}.{host}"));
        manifest(&["GET"], prefixes.chain(suffixes)).to_json()
    };
    for (prefixes, suffixes, is_read) in
        [(255, 256, true), (10_000, 1, true), (256, 256, false), (1, 40_000, false)]
    {
        let read = Manifest::parse(&text(prefixes, suffixes, "shop.example"));
        assert_eq!(read.is_ok(), is_read, "{prefixes} x {suffixes}: {:?}", read.err());
    }
}
