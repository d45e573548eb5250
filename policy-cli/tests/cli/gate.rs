//! The gate of a pull request, against honest, careless and hostile authors.

use policy_manifest::{Acceptance, Auth, Lock, Manifest, ManifestRoute, RouteCors};

use crate::{
    fixtures::shop,
    run::{Ran, folder, run_in},
};

/// The shop, in which everybody may call these routes.
fn shop_with_public(paths: &[&str]) -> Manifest {
    let mut manifest = shop();
    let routes = manifest.routes.iter_mut().filter(|route| paths.contains(&route.path.as_str()));
    routes.for_each(|route| route.auth = Auth::Public);
    manifest
}

/// The lock file of a policy, with a signed line for every change of a route that still exists.
pub(crate) fn signed(old: &Manifest, new: &Manifest) -> Lock {
    let update = Lock::new(old.clone()).update(new).unwrap();
    let sign =
        |line: Acceptance| Acceptance { who: "ada".to_owned(), why: "launch".to_owned(), ..line };
    let lock = Lock::new(new.clone());
    let lines = lock.unaccepted(&update.changes).unwrap().into_iter().map(|(_, line)| sign(line));
    let accepted = lines.filter(|line| !line.policy.is_empty()).collect();
    Lock { accepted, ..lock }
}

/// Compares the shop with a policy and its acceptances.
fn gate(name: &str, manifest: &Manifest, accepted: Vec<Acceptance>) -> Ran {
    let lock = Lock { accepted, ..Lock::new(manifest.clone()) };
    let files = [("old.lock", &*Lock::new(shop()).to_json()), ("new.lock", &*lock.to_json())];
    let arguments = ["diff", "old.lock", "new.lock", "--no-new-access", "--accepted"];
    run_in(&folder(&format!("gate-{name}"), &files), &arguments, "")
}

#[test]
fn what_is_signed_passes_and_nothing_else() {
    let one = shop_with_public(&["/orders/{id}"]);
    let two = shop_with_public(&["/orders/{id}", "/admin/refunds/{id}"]);
    let [of_one, of_two] = [&one, &two].map(|new| signed(&shop(), new).accepted);
    assert!(!of_one.is_empty() && of_two.len() > of_one.len(), "{of_one:?} {of_two:?}");
    let honest = gate("honest", &one, of_one.clone());
    assert_eq!(honest.code, 0, "{}{}", honest.out, honest.err);
    let both = gate("both", &two, of_two.clone());
    assert_eq!(both.code, 0, "{}{}", both.out, both.err);

    let careless = gate("careless", &one, Vec::new());
    assert_eq!(careless.code, 1, "{}", careless.err);
    for line in &of_one {
        // The line to sign is printed.
        let unsigned = format!("\"policy\":\"{}\",\"who\":\"\"", line.policy);
        assert!(careless.err.contains(&unsigned), "{}", careless.err);
    }

    // The lines of one change do not cover a second one.
    let second = gate("second", &two, of_one.clone());
    assert_eq!(second.code, 1, "{}", second.err);
    assert!(second.err.contains("/admin/refunds/{id}"), "{}", second.err);
    // A line of another policy is not accepted, nor a line for a later one.
    let mut other = of_one.clone();
    other[0].policy = "0123456789ab".to_owned();
    assert_eq!(gate("other", &one, other).code, 1);
    let early = gate("early", &shop(), of_one.clone());
    assert_eq!(early.code, 1, "{}", early.err);
    assert!(early.err.contains("accepts another policy than the route has"), "{}", early.err);
    let mut nobody = of_one;
    nobody[0].who.clear();
    assert_eq!(gate("nobody", &one, nobody).code, 2);
    // Nothing opens, and nothing has to be signed.
    assert_eq!(gate("same", &shop(), Vec::new()).code, 0);
}

/// A parameter that takes encoded slashes has a line of its own, also beside a fact of the app.
#[test]
fn encoded_slashes_are_signed() {
    let mut manifest = shop();
    manifest.app.server.shared_port = true;
    for route in manifest.routes.iter_mut().filter(|route| route.path == "/orders/{id}") {
        route.path = "/orders/{id:slashes}".to_owned();
    }
    let all = signed(&shop(), &manifest).accepted;
    let (of_app, of_routes): (Vec<_>, Vec<_>) =
        all.iter().cloned().partition(|line| line.route == "app");
    assert_eq!((of_app.len(), of_routes.len()), (1, 1), "{all:?}");
    assert_eq!(gate("slashes", &manifest, of_app).code, 1);
    let ran = gate("slashes-signed", &manifest, all);
    assert_eq!(ran.code, 0, "{}", ran.err);
}

#[test]
fn facts_of_the_app_are_signed_as_well() {
    let mut manifest = shop();
    manifest.app.sessions.as_mut().unwrap().idle_s = None;
    let mut before = shop();
    before.app.sessions.as_mut().unwrap().idle_s = Some(900);
    let lock = Lock::new(before.clone());
    let update = lock.update(&manifest).unwrap();
    let [(change, line)] = update.to_accept.as_slice() else { panic!("{:?}", update.to_accept) };
    assert_eq!(change.to_string(), "opens: app: sessions: idle was 15m, is none");
    assert_eq!(line.route, "app");
}

#[test]
fn acceptances_are_asked_for_by_the_gate_only() {
    let ran = run_in(&folder("gate-alone", &[("a.lock", "")]), &["diff", "--accepted"], "");
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("--no-new-access"), "{}", ran.err);
}

/// One line of the app decides about a thousand routes.
#[test]
fn one_cause_is_told_once() {
    let of = |origins: &[&str]| {
        let mut manifest = shop();
        for number in 0..1_000 {
            let method = ["GET", "POST", "PUT", "DELETE"][number % 4];
            let mut route = ManifestRoute::handler(
                format!("/items{number}/{{id}}"),
                [method],
                manifest.routes[number % 3].auth.clone(),
            );
            let mut cors = manifest.routes.iter().find_map(|route| route.cors.clone()).unwrap();
            cors.origins = policy_manifest::RouteOrigins::Listed(
                origins.iter().map(|it| (*it).to_owned()).collect(),
            );
            route.cors = Some(RouteCors { credentials: number % 5 == 0, ..cors });
            manifest.routes.push(route);
        }
        manifest
    };
    let old = of(&["https://a.example"]).to_json();
    let new = of(&["https://a.example", "https://b.example"]).to_json();
    let folder = folder("one-cause", &[("old.json", &old), ("new.json", &new)]);
    for format in ["text", "markdown"] {
        let ran = run_in(&folder, &["diff", "old.json", "new.json", "--format", format], "");
        assert_eq!(ran.code, 1, "{}", ran.err);
        // A comment on GitHub holds 64 KiB.
        assert!(ran.out.len() < 16 << 10, "{format}: {} bytes", ran.out.len());
        assert!(ran.out.contains("more findings have this cause, at"), "{}", ran.out);
        assert!(ran.out.contains("and alike at"), "{}", ran.out);
    }
    let all = run_in(&folder, &["diff", "old.json", "new.json", "--max", "0"], "");
    assert!(all.out.contains("more cause"), "{}", all.out);
}
