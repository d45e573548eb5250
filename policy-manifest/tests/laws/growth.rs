//! How the work on a manifest grows with the number of its routes, and with the number of origins of
//! one route. It is measured in allocated bytes, not in time: these are the same in each run.

use policy_core::time::Timestamp;
use policy_manifest::{
    Auth, Date, Headers, Lock, Manifest, ManifestRoute, RouteCors, RouteOrigins, RouteRequirement,
    SessionFacts, Suppression, diff::diff, lint,
};

/// What distinguishes the route of a number from others.
type Change = fn(&mut Manifest, &mut ManifestRoute, usize);

const KINDS: [(&str, Change); 5] = [
    ("numbers as paths", |_, route, number| route.path = format!("/{}", number + 1)),
    ("roles", |_, route, number| {
        // Every third role occurs once, and the others twice.
        let name = if number % 3 == 0 { number } else { number / 2 };
        let name: String = name.to_string().bytes().map(|digit| char::from(digit + 49)).collect();
        route.auth = required(&format!("role-{name}-x"));
    }),
    ("origins", |_, route, number| {
        let origins =
            [format!("https://s{number}.example"), format!("https://*.w{number}.example")];
        route.cors = Some(RouteCors {
            credentials: true,
            methods: Some(vec!["PUT".to_owned()]),
            ..RouteCors::new(RouteOrigins::Listed(origins.to_vec()))
        });
    }),
    ("sets of headers", |manifest, route, number| {
        let every = [("x-number".to_owned(), number.to_string())].into();
        route.headers = Some(manifest.add_headers(Headers { every, pages: [].into() }));
    }),
    ("limits", |_, route, number| route.limits.body = Some(number as u64 + 1)),
];

fn required(role: &str) -> Auth {
    let roles = vec![role.to_owned()];
    Auth::Required(RouteRequirement { session: true, roles, ..RouteRequirement::default() })
}

fn manifest(count: usize, change: Change) -> Manifest {
    let mut manifest = Manifest::new();
    manifest.app.public_origin = Some("https://shop.example".to_owned());
    manifest.app.sessions = Some(SessionFacts::new("memory", "__Host-sid", "lax"));
    for number in 0..count {
        let path = format!("/a{number}/{{id}}");
        let mut route = ManifestRoute::handler(&path, ["GET"], required("staff"));
        change(&mut manifest, &mut route, number);
        manifest.routes.push(route);
    }
    manifest
}

fn today() -> Date {
    Date::from_timestamp(Timestamp::from_seconds(1_800_000_000))
}

fn measure(run: impl FnOnce()) -> u64 {
    allocation_counter::measure(run).bytes_total
}

/// The bytes that commands allocate.
fn work(count: usize, change: Change) -> [u64; 5] {
    let old = manifest(count, change);
    let mut new = old.clone();
    new.routes.iter_mut().for_each(|route| route.auth = Auth::Public);
    let suppressions = lint(&new, &[], today()).findings;
    let lines = suppressions.iter().flat_map(Suppression::lines_for).map(|line| {
        let signed = "ada".to_owned();
        Suppression { who: signed.clone(), why: signed, ..line }
    });
    let lines: Vec<_> = lines.collect();
    [
        measure(|| assert!(!old.to_json().is_empty())),
        measure(|| drop(lint(&new, &lines, today()))),
        measure(|| assert!(diff(&old, &old).expect("a manifest").is_empty())),
        measure(|| assert!(!diff(&old, &new).expect("manifests").findings.is_empty())),
        measure(|| {
            let update = Lock::new(old.clone()).update(&new).expect("manifests");
            assert_eq!(update.to_accept.len(), count);
        }),
    ]
}

/// Twice as much needs little more than twice the work; quadratic growth would be four times.
#[expect(clippy::print_stdout, reason = "how much work there was")]
fn assert_growth<const N: usize>(kind: &str, commands: [&str; N], few: [u64; N], many: [u64; N]) {
    for (command, (few, many)) in commands.iter().zip(few.iter().zip(many)) {
        let factor = many as f64 / *few as f64;
        println!("{command} of {kind}: {few} bytes, then {many}: {factor:.2} times");
        assert!(factor < 2.7, "{command} of {kind}: {few} bytes, then {many}: {factor:.2}");
    }
}

#[test]
fn work_grows_with_the_number_of_routes_and_not_with_its_square() {
    const COMMANDS: [&str; 5] = ["show", "lint", "diff of equals", "diff", "update of the lock"];
    for (kind, change) in KINDS {
        assert_growth(kind, COMMANDS, work(100, change), work(200, change));
    }
}

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

fn with_origins(methods: &[&str], origins: impl Iterator<Item = String>) -> Manifest {
    let mut manifest = Manifest::new();
    let mut route = ManifestRoute::handler("/orders", methods.iter().copied(), Auth::Public);
    route.cors = Some(RouteCors::new(RouteOrigins::Listed(origins.collect())));
    manifest.routes.push(route);
    manifest
}

/// The bytes that the commands `show`, `lint` and `diff` allocate.
fn work_on_list(methods: &[&str], list: List, count: usize) -> [u64; 3] {
    let old = with_origins(methods, (0..count).map(list));
    // Some are added and some are removed.
    let new = with_origins(methods, (count / 10..count + count / 10).map(list));
    [
        measure(|| assert!(!old.clone().normal().to_json().is_empty())),
        measure(|| drop(lint(&old, &[], today()))),
        measure(|| assert!(!diff(&old, &new).expect("two manifests").findings.is_empty())),
    ]
}

#[test]
fn work_grows_with_the_number_of_origins_and_not_with_its_square() {
    for (name, list) in LISTS {
        let [few, many] = [200, 400].map(|count| work_on_list(&["GET"], list, count));
        assert_growth(name, ["show", "lint", "diff"], few, many);
    }
}

/// A list is read and compared once, however many methods a route has.
#[test]
fn methods_of_one_route_share_the_work() {
    for (name, list) in LISTS {
        let [.., one] = work_on_list(&["POST"], list, 400);
        let [.., six] =
            work_on_list(&["POST", "PUT", "PATCH", "DELETE", "QUERY", "REPORT"], list, 400);
        let factor = six as f64 / one as f64;
        println!("diff of {name}: {one} bytes for one method, {six} for six: {factor:.2} times");
        assert!(factor < 2.0, "diff of {name}: {one} bytes for one method, {six} for six");
    }
}

/// Patterns that all overlap give one set for each pair, so a manifest with very many pairs is
/// refused before anything is compared.
#[test]
fn a_list_of_very_many_pairs_is_refused() {
    let text = |prefixes: usize, suffixes: usize| {
        let prefixes = (0..prefixes).map(|n| format!("https://s{n}-*-acme.shop.example"));
        let suffixes = (1..suffixes).map(|n| format!("https://shop-*-{n}.shop.example"));
        with_origins(&["GET"], prefixes.chain(suffixes)).to_json()
    };
    for (prefixes, suffixes, is_read) in
        [(255, 256, true), (10_000, 1, true), (256, 256, false), (1, 40_000, false)]
    {
        let read = Manifest::parse(&text(prefixes, suffixes));
        assert_eq!(read.is_ok(), is_read, "{prefixes} x {suffixes}: {:?}", read.err());
    }
}
