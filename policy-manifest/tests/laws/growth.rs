//! How the work on a manifest grows with the number of its routes. It is measured in allocated bytes,
//! not in time: these are the same in each run.

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

/// The bytes that commands allocate.
fn work(count: usize, change: Change) -> [u64; 5] {
    let old = manifest(count, change);
    let mut new = old.clone();
    new.routes.iter_mut().for_each(|route| route.auth = Auth::Public);
    let today = Date::from_timestamp(Timestamp::from_seconds(1_800_000_000));
    let suppressions = lint(&new, &[], today).findings;
    let lines = suppressions.iter().flat_map(Suppression::lines_for).map(|line| {
        let signed = "ada".to_owned();
        Suppression { who: signed.clone(), why: signed, ..line }
    });
    let lines: Vec<_> = lines.collect();
    let measure = |run: &mut dyn FnMut()| allocation_counter::measure(run).bytes_total;
    [
        measure(&mut || assert!(!old.to_json().is_empty())),
        measure(&mut || drop(lint(&new, &lines, today))),
        measure(&mut || assert!(diff(&old, &old).expect("a manifest").is_empty())),
        measure(&mut || assert!(!diff(&old, &new).expect("manifests").findings.is_empty())),
        measure(&mut || {
            let update = Lock::new(old.clone()).update(&new).expect("manifests");
            assert_eq!(update.to_accept.len(), count);
        }),
    ]
}

/// Twice as many routes need little more than twice the work; quadratic growth would be four times.
#[test]
fn work_grows_with_the_number_of_routes_and_not_with_its_square() {
    const COMMANDS: [&str; 5] = ["show", "lint", "diff of equals", "diff", "update of the lock"];
    for (kind, change) in KINDS {
        let (few, many) = (work(100, change), work(200, change));
        for (command, (few, many)) in COMMANDS.iter().zip(few.iter().zip(many)) {
            let factor = many as f64 / *few as f64;
            println!("{command} of {kind}: {few} bytes, then {many}: {factor:.2} times");
            assert!(factor < 2.7, "{command} of {kind}: {few} bytes, then {many}: {factor:.2}");
        }
    }
}
