//! The policy of an app as data: what each of its routes requires and allows, combined from app,
//! group and route, in a canonical form.
//!
//! Reviews read a [`Manifest`], lock files store it, and releases are compared by it. It has no
//! secret, no path of a machine and no line of a source file: source lines are in separate
//! [`Sources`]. Equal policies have equal bytes.
//!
//! - [`Manifest`], [`Lock`]: what an app requires and allows, and the parts that a review has
//!   accepted
//! - [`changes()`]: the changes from one manifest to another, in words; [`diff`]: the requests that
//!   the two decide differently, with witnesses
//! - [`engine`]: decides about a request by a manifest alone; [`explain()`]: the reasons for a
//!   decision, and the change that would let the request through
//! - [`Outcomes`]: what a route can respond with instead of serving a request
//! - [`lint`]: oddities in a policy; [`rules`]: what a policy must and must not allow
//! - [`algebra`]: sets of what policies grant
//!
//! An app returns its manifest by `App::manifest` of `policy-server` (feature `manifest`), and
//! `policy-cli` reads it.

pub mod algebra;
mod canonical;
mod changes;
mod credentials;
mod date;
pub mod diff;
pub mod engine;
mod example_paths;
mod explain;
mod facets;
mod lints;
mod lock;
mod normal;
mod outcomes;
mod read;
pub mod rules;
#[cfg(test)]
mod samples;
mod severity;
mod sources;
mod templates;

pub use changes::{Change, changes};
pub use date::{Date, ParseDateError};
pub use example_paths::ExamplePaths;
pub use explain::{
    Explanation, GateFinding, LeftCondition, Nearest, ObjectFinding, SuggestedEdit, Unsent, explain,
};
pub use facets::{
    AppFacts, EngineFacts, HandlerFacts, IssuerFacts, OriginListFacts, OwnProblem, ServerFacts,
    SessionFacts, TargetFacts, TlsFacts, TokenFacts,
};
pub use facets::{
    AppScheme, Auth, Cache, Csrf, Dangers, Direction, Headers, Jsonp, ManifestRoute, ObjectKey,
    ObjectUse, RouteCors, RouteKind, RouteLimits, RouteObjects, RouteOrigins, RouteRate,
    RouteRequirement, RuntimeOrigins,
};
pub use lints::{Finding, LintReport, Suppression, lint};
pub use lock::{Acceptance, Lock, Update};
pub use outcomes::Outcomes;
pub use read::ReadError;
pub use severity::{Authority, Effect, FindingSeverity, Gain, Gainer};
pub use sources::{FacetSource, SourceLine, Sources};

/// What tools ask each facet of a route: the effect of a change, its column and words, and the reason
/// for its rules.
pub mod facet {
    pub use crate::facets::{
        ALL, CALLERS, CREDENTIALS, Cell, CellOf, Column, FacetEntry, FromPolicy, ORIGINS,
        ShownRoute, Side, Tone, enforced_by,
    };
}

use std::collections::BTreeMap;

use serde::Serialize;
use sha2::Digest as _;

/// The version of the format that this release writes. It reads this one and older ones.
pub const FORMAT: u32 = 1;

/// The effective policy of an app.
///
/// ```
/// use policy_manifest::{Auth, Manifest, ManifestRoute};
///
/// let mut manifest = Manifest::new();
/// manifest.routes.push(ManifestRoute::handler("/hello", ["GET"], Auth::Public));
/// let text = manifest.to_json();
/// assert_eq!(Manifest::parse(&text).unwrap().to_json(), text);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Manifest {
    /// The version of the format, see [`FORMAT`].
    pub format: u32,
    /// The facts about the app as a whole.
    pub app: AppFacts,
    /// The security headers of the routes, each set once, by the beginning of its digest.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, Headers>,
    /// The rules of the objects that routes check: the text of a
    /// [`Condition`](policy_core::object::Condition) by object and action, such as `Order.edit`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub objects: BTreeMap<String, String>,
    /// All routes, in the order of their paths.
    pub routes: Vec<ManifestRoute>,
}

impl Manifest {
    /// A manifest without routes.
    pub fn new() -> Self {
        Self {
            format: FORMAT,
            app: AppFacts::default(),
            headers: BTreeMap::new(),
            objects: BTreeMap::new(),
            routes: Vec::new(),
        }
    }

    /// The text of its digest: SHA-256 of [`to_json`](Self::to_json), in hexadecimal digits.
    pub fn digest(&self) -> String {
        digest_of(&self.to_json())
    }

    /// Adds a set of security headers, and returns the name by which routes refer to it.
    pub fn add_headers(&mut self, headers: Headers) -> String {
        let name = headers.name();
        self.headers.insert(name.clone(), headers);
        name
    }

    /// The security headers of a route.
    pub fn headers_of(&self, route: &ManifestRoute) -> Option<&Headers> {
        self.headers.get(route.headers.as_ref()?)
    }

    /// The route of a path template and a method.
    pub fn route(&self, method: &str, path: &str) -> Option<&ManifestRoute> {
        self.routes.iter().find(|route| route.path == path && route.serves(method))
    }
}

impl Default for Manifest {
    fn default() -> Self {
        Self::new()
    }
}

/// SHA-256 of a text, in hexadecimal digits.
fn digest_of(text: &str) -> String {
    base16ct::lower::encode_string(&sha2::Sha256::digest(text.as_bytes()))
}

/// A name of a policy or a set of headers: half of the digest of its text. The author of a policy also
/// chooses its reasons, and must not find two policies with one name by trying them.
fn name_of(text: &str) -> String {
    digest_of(text).chars().take(32).collect()
}

/// Tests the example of the README like those of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests {
    use super::*;

    fn sample_manifest() -> Manifest {
        let mut manifest = Manifest::new();
        let mut fields = Headers::default();
        fields.every.insert("x-content-type-options".to_owned(), "nosniff".to_owned());
        let headers = manifest.add_headers(fields);
        let cors = RouteCors {
            headers: vec!["x-range".to_owned()],
            max_age: Some(600),
            ..samples::cors(&["https://*.a.example", "https://b.example"], true)
        };
        let auth = Auth::Required(samples::session());
        let orders = ManifestRoute {
            cors: Some(cors),
            headers: Some(headers),
            ..ManifestRoute::handler("/orders/{id}", ["GET", "PUT"], auth)
        };
        manifest.routes = vec![orders, ManifestRoute::handler("/", ["GET"], Auth::Public)];
        manifest
    }

    #[test]
    fn a_facet_is_one_line() {
        let before = sample_manifest().to_json();
        let mut changed = sample_manifest();
        changed.routes[0].csrf = Csrf::Exempt("why".to_owned());
        let after = changed.to_json();
        let new: Vec<_> = after.lines().filter(|line| !before.contains(line)).collect();
        assert_eq!(new, ["      \"csrf\": {\"exempt\":\"why\"},"]);
    }

    /// Three routes, two of which share their CORS policy and their limits, with headers for all.
    fn shared(max_age: i64, body: u64, framing: &str) -> Manifest {
        let mut manifest = Manifest::new();
        let mut fields = Headers::default();
        fields.every.insert("x-frame-options".to_owned(), framing.to_owned());
        let headers = manifest.add_headers(fields);
        for (path, origin) in [("/a", "a"), ("/b", "b"), ("/c", "b")] {
            let mut route = ManifestRoute::handler(path, ["GET"], Auth::Public);
            route.cors = Some(RouteCors {
                max_age: Some(max_age),
                ..RouteCors::new(RouteOrigins::Listed(vec![format!("https://{origin}.example")]))
            });
            route.limits.body = Some(if path == "/a" { 1 } else { body });
            route.headers = Some(headers.clone());
            manifest.routes.push(route);
        }
        manifest
    }

    #[test]
    fn a_set_that_routes_share_is_written_once() {
        let before = shared(60, 1024, "DENY");
        let text = before.to_json();
        assert_eq!(Manifest::parse(&text).unwrap(), before);
        for name in ["\"cors\": \"usual\"", "\"limits\": \"usual\"", "\"headers\": \"usual\""] {
            let expected = if name.contains("headers") { 3 } else { 2 };
            assert_eq!(text.matches(name).count(), expected, "{text}");
        }
        // Its name stays when it changes, so that a change is one line.
        for after in [shared(60, 2048, "DENY"), shared(60, 1024, "SAMEORIGIN")] {
            let after = after.to_json();
            let new = after.lines().filter(|line| !text.lines().any(|known| known == *line));
            assert_eq!(new.count(), 1, "{after}");
        }
        // The own CORS policy of the first route, and the shared one.
        let after = shared(61, 1024, "DENY").to_json();
        let new = after.lines().filter(|line| !text.lines().any(|known| known == *line));
        assert_eq!(new.count(), 2, "{after}");
        let lost = text.replace("\"cors\": \"usual\"", "\"cors\": \"own\"");
        let error = Manifest::parse(&lost).unwrap_err().to_string();
        assert!(error.contains("has the cors `own`, which the manifest does not have"), "{error}");
        let mixed = text.replace("\"cors\": \"usual\"", "\"cors\": 1");
        let error = Manifest::parse(&mixed).unwrap_err().to_string();
        assert!(error.contains("expected a set, or the name of one at line"), "{error}");
    }

    /// A path may look like the name of a second set of another path.
    #[test]
    fn no_two_sets_have_one_name() {
        let mut manifest = Manifest::new();
        for (path, method, body) in [
            ("/a", "DELETE", 1),
            ("/a", "GET", 2),
            ("/a", "POST", 3),
            ("/a 2", "GET", 4),
            ("/b", "DELETE", 1),
            ("/b", "GET", 2),
            ("/b", "POST", 3),
            ("/b", "PUT", 4),
        ] {
            let mut route = ManifestRoute::handler(path, [method], Auth::Public);
            route.limits.body = Some(body);
            manifest.routes.push(route);
        }
        let text = manifest.to_json();
        assert_eq!(Manifest::parse(&text).unwrap(), manifest.normal(), "{text}");
    }

    #[test]
    fn rejects_unreadable_manifests() {
        let text = sample_manifest().to_json();
        for (from, to, words) in [
            ("\"format\": 1", "\"format\": 2", "up to 1"),
            ("\"session\":true", "\"session\":true,\"captcha\":true", "unknown field `captcha`"),
            ("\"routes\"", "\"roots\"", "unknown field `roots`"),
            ("\"auth\"", "\"auth\": \"public\", \"auth\"", "duplicate field `auth`"),
            ("\"routes\"", "\"accepted\": [], \"routes\"", "it is a lock file"),
        ] {
            assert!(text.contains(from), "{from}");
            let error = Manifest::parse(&text.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
        let long = format!("/{}", "a".repeat(100_000));
        let error =
            Manifest::parse(&sample_manifest().to_json().replace("\"/", &format!("\"{long}")));
        let error = error.unwrap_err().to_string();
        assert!(error.contains("has a path of over 4,096 bytes") && error.len() < 200, "{error}");
        let sessions = "\"app\": {\"sessions\": {\"store\": \"memory\", \"cookie\": \"sid\"}}";
        let error =
            Manifest::parse(&text.replace("\"app\": {}", sessions)).unwrap_err().to_string();
        assert!(error.contains("`app.sessions.same_site` is missing"), "{error}");
    }

    /// An app with one route, which checks that its caller may edit an order.
    fn with_rules(rules: &[(&str, &str)]) -> Manifest {
        let mut manifest = Manifest::new();
        let mut route = ManifestRoute::handler("/orders/{id}", ["PUT"], Auth::Public);
        route.object = Some(samples::order("edit", samples::id()));
        manifest.routes.push(route);
        manifest.objects = samples::object_rules(rules);
        manifest
    }

    #[test]
    fn rules_of_objects_are_canonical_and_only_those_that_are_used() {
        let manifest = with_rules(&[
            ("Order.view", "same(team)|owner(user)"),
            ("Order.edit", "( role(\"lead\") & owner(user) )"),
            ("Order.delete", "owner(user)"),
            ("Board.view", "anyone"),
        ]);
        let text = manifest.to_json();
        let section = "  \"objects\": {\n    \
             \"Order.edit\": \"owner(user) & role(\\\"lead\\\")\",\n    \
             \"Order.view\": \"owner(user) | same(team)\"\n  },\n  \"routes\": [";
        assert!(text.contains(section), "{text}");
        assert_eq!(Manifest::parse(&text).unwrap().to_json(), text);
        let file = text.replace("owner(user) | same(team)", "same(team)|(owner(user))");
        assert_ne!(file, text);
        assert_eq!(Manifest::parse(&file).unwrap().to_json(), text);
    }

    #[test]
    fn rejects_rules_of_objects_that_are_none() {
        let view = ("Order.view", "anyone");
        let many = "owner(user) | ".repeat(24) + "draft";
        let long = format!("{}.edit", "O".repeat(300));
        for (rules, words) in [
            (&[view][..], "the route `/orders/{id}` has the object rule `Order.edit`, which"),
            (&[("Order.edit", "anyone")], "has the object rule `Order.view`, which"),
            (&[view, ("Order.edit", "owner(user) |")], "the object rule `Order.edit`: "),
            (&[view, ("Order.edit", &many)], "the object rule `Order.edit`: "),
            (&[view, ("Order", "anyone")], "name it after an object and an action"),
            (&[view, (".edit", "anyone")], "name it after an object and an action"),
            (&[view, ("Order edit.x", "anyone")], "name it after an object and an action"),
            (&[view, ("/orders.json", "anyone")], "name it after an object and an action"),
            (&[view, (&long, "anyone")], "name it after an object and an action"),
        ] {
            // The text of a manifest as others may write it, with rules that no route uses.
            let rules: BTreeMap<_, _> = rules.iter().copied().collect();
            let rules = format!("\"objects\": {}, \"routes\"", facets::json(&rules));
            let text = with_rules(&[]).to_json().replace("\"routes\"", &rules);
            let error = Manifest::parse(&text).unwrap_err().to_string();
            assert!(error.contains(words) && error.len() < 500, "{error}");
        }
        let text = with_rules(&[("Order.view", "anyone"), ("Order.edit", "anyone")]).to_json();
        let rules = |count: usize| {
            let rules: String = (0..count).map(|it| format!("\"O.a{it}\": \"anyone\",")).collect();
            text.replacen("\"Order.edit\"", &format!("{rules}\"Order.edit\""), 1)
        };
        assert!(Manifest::parse(&rules(1_022)).is_ok());
        let error = Manifest::parse(&rules(1_023)).unwrap_err().to_string();
        assert!(error.contains("at most 1,024 rules"), "{error}");
        let uses = "{\"object\":\"Order\",\"action\":\"edit\",\"key\":\"list\"},".repeat(64);
        let error = Manifest::parse(&text.replace("\"uses\":[", &format!("\"uses\":[{uses}")));
        let error = error.unwrap_err().to_string();
        assert!(error.contains("checks over 64 objects"), "{error}");
    }

    #[test]
    fn what_would_take_too_long_to_compare_is_not_read() {
        let file = |cors: &str, routes: &[String]| {
            format!(
                "{{\"format\": 1, \"app\": {{}}, \"cors\": {cors}, \"routes\": [{}]}}",
                routes.join(",")
            )
        };
        let methods = |count: usize| -> Vec<String> {
            let of =
                |number| format!(r#"{{"path": "/a", "methods": ["M{number}"], "auth": "public"}}"#);
            (0..count).map(of).collect()
        };
        assert!(Manifest::parse(&file("{}", &methods(256))).is_ok());
        let error = Manifest::parse(&file("{}", &methods(257))).unwrap_err().to_string();
        assert!(error.contains("`/a` has over 256 methods"), "{error}");
        // A set is written once, and each route that names it has a copy.
        let origins: Vec<_> = (0..50_000).map(|it| format!("\"https://s{it}.example\"")).collect();
        let set = format!("{{\"large\": {{\"origins\": [{}]}}}}", origins.join(","));
        let route =
            |number| format!(r#"{{"path": "/{number}", "auth": "public", "cors": "large"}}"#);
        let routes: Vec<_> = (0..1_000).map(route).collect();
        let error = Manifest::parse(&file(&set, &routes)).unwrap_err().to_string();
        assert!(error.contains("have CORS policies of over 128 MiB in all"), "{error}");
    }
}
