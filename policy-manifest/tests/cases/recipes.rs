//! The recipes of `docs/rules.md`, each with a policy that follows it and with one that does not.
#![expect(clippy::unwrap_used, reason = "what a test cannot do without fails it")]

use std::fs;

use policy_core::{cache::Audience, limits::RateKey, time::Timestamp};
use policy_manifest::{
    Auth, Cache, Csrf, Date, Headers, Manifest, ManifestRoute, RouteCors, RouteKind, RouteOrigins,
    RouteRate, RouteRequirement, SessionFacts,
    rules::{CheckReport, CheckedPolicy, Rules, check},
};

/// The recipes, without their headings.
fn recipes() -> Vec<String> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/rules.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, recipes) = page.split_once("## Recipes").unwrap();
    let recipes = recipes.split("\n### ").skip(1).enumerate().map(|(index, recipe)| {
        assert!(recipe.starts_with(&format!("{}. ", index + 1)), "{recipe}");
        let (_, rest) = recipe.split_once("```toml\n").unwrap();
        rest.split_once("```").unwrap().0.to_owned()
    });
    recipes.collect()
}

fn session(role: &str) -> Auth {
    let roles = if role.is_empty() { Vec::new() } else { vec![role.to_owned()] };
    Auth::Required(RouteRequirement { session: true, roles, ..RouteRequirement::default() })
}

fn cors(origin: &str) -> Option<RouteCors> {
    Some(RouteCors {
        credentials: true,
        ..RouteCors::new(RouteOrigins::Listed(vec![origin.to_owned()]))
    })
}

/// A shop that follows all recipes.
fn shop() -> Manifest {
    let mut manifest = Manifest::new();
    manifest.app.public_origin = Some("https://api.shop.example".to_owned());
    manifest.app.sessions = Some(SessionFacts::new("memory", "__Host-sid", "lax"));
    let mut headers = Headers::default();
    for (name, value) in
        [("strict-transport-security", "max-age=63072000"), ("x-frame-options", "DENY")]
    {
        headers.every.insert(name.to_owned(), value.to_owned());
    }
    let headers = manifest.add_headers(headers);
    let mut add = |methods: &[&str], path: &str, auth: Auth| {
        let mut route = ManifestRoute::handler(path, methods.iter().copied(), auth);
        route.headers = Some(headers.clone());
        route.cors = cors("https://www.shop.example").filter(|_| !path.starts_with("/admin"));
        manifest.routes.push(route);
    };
    add(&["GET"], "/catalogue/{id}", Auth::Public);
    add(&["POST"], "/login", Auth::Public);
    add(&["GET"], "/me/orders", session(""));
    add(&["GET"], "/admin/users", session("admin"));
    add(&["DELETE"], "/admin/users/{id}", session("admin"));
    add(&["GET", "PUT"], "/tickets/{id}", session("support"));
    let probe = ManifestRoute::new(RouteKind::Probe, "/healthz", ["GET"], Auth::Public);
    manifest.routes.push(probe);
    let login = route(&mut manifest, "/login");
    login.limits.rate = Some(RouteRate { count: 5, per_ms: 60_000, by: RateKey::Address });
    let cache = Cache { audience: Audience::Private, ..Cache::default() };
    route(&mut manifest, "/me/orders").cache = Some(cache);
    manifest
}

fn route<'m>(manifest: &'m mut Manifest, path: &str) -> &'m mut ManifestRoute {
    manifest.routes.iter_mut().find(|route| route.path == path).unwrap()
}

fn check_recipe(recipe: &str, manifest: &Manifest) -> CheckReport {
    let rules = Rules::parse("policy.rules", recipe).unwrap();
    let policy = CheckedPolicy { name: "shop", manifest };
    check(&rules, &[policy], Date::from_timestamp(Timestamp::from_seconds(0))).unwrap()
}

/// A change that each recipe forbids, and the routes that then violate it.
type Change = (fn(&mut Manifest), &'static str);

const CHANGES: [Change; 10] = [
    (|shop| route(shop, "/me/orders").auth = Auth::Public, "GET /me/orders"),
    (|shop| route(shop, "/admin/users").auth = session(""), "GET /admin/users"),
    (
        |shop| {
            let route = ManifestRoute::handler("/debug/env", ["GET"], session("admin"));
            shop.routes.push(route);
        },
        "GET /debug/env",
    ),
    (
        |shop| route(shop, "/tickets/{id}").cors = cors("https://a.partner.example"),
        "GET,PUT /tickets/{id}",
    ),
    (
        |shop| route(shop, "/admin/users").cors = cors("https://www.shop.example"),
        "GET /admin/users",
    ),
    (
        |shop| route(shop, "/tickets/{id}").csrf = Csrf::Exempt("why".to_owned()),
        "PUT /tickets/{id}",
    ),
    (|shop| route(shop, "/login").limits.rate = None, "POST /login"),
    (|shop| route(shop, "/login").headers = None, "POST /login"),
    (
        |shop| {
            route(shop, "/me/orders").cache =
                Some(Cache { s_maxage: Some(60), ..Cache::default() });
        },
        "GET /me/orders",
    ),
    (|shop| route(shop, "/admin/users/{id}").auth = session("support"), "DELETE /admin/users/{id}"),
];

#[test]
fn every_recipe_holds_for_one_policy_and_is_violated_by_another() {
    let recipes = recipes();
    assert_eq!(recipes.len(), CHANGES.len());
    for (recipe, (change, expected)) in recipes.iter().zip(CHANGES) {
        let good = check_recipe(recipe, &shop());
        assert!(good.holds(), "{recipe}\n{good:?}");
        let mut bad = shop();
        change(&mut bad);
        let bad = check_recipe(recipe, &bad);
        assert_eq!(bad.problems, [], "{recipe}");
        let routes: Vec<_> = bad.violations.iter().map(|it| it.routes.join("; ")).collect();
        assert!(
            !routes.is_empty() && routes.iter().all(|routes| routes == expected),
            "{recipe}\n{routes:?}"
        );
        assert!(!bad.holds());
    }
}
