//! Each lint finds its oddity in an app, and nothing in the most similar app without it.

mod cases;

use std::collections::BTreeSet;

use policy_core::{Confidence, Lint, cache::Audience, isolation::Isolation, outcome::ArgumentKind};

pub(super) use self::cases::*;
use super::*;
use crate::{
    AppScheme, Auth, Cache, Csrf, Dangers, FindingSeverity, Headers, Jsonp, RouteObjects,
    RouteRequirement, SessionFacts, algebra::OriginRegion,
};

fn findings(manifest: &Manifest) -> Vec<Finding> {
    lint(manifest, &[], today()).findings
}

#[test]
fn each_lint_finds_its_app_and_nothing_in_the_nearest_good_one() {
    assert_eq!(findings(&shop()), []);
    for ((expected, severity), bad, good) in cases() {
        let found = findings(&bad);
        let lints: Vec<_> =
            found.iter().map(|it| (it.lint, it.severity(), it.is_error())).collect();
        let is_sure = expected.confidence() == Confidence::Sure;
        let is_error = is_sure && severity >= FindingSeverity::Medium;
        assert_eq!(lints, [(expected, severity, is_error)], "{found:#?}");
        let found = findings(&good);
        // An app that is good for one lint may be odd for another one, but has no error.
        assert!(found.iter().all(|finding| finding.lint != expected), "{expected:?} {found:#?}");
        assert!(found.iter().all(|finding| !finding.is_error()), "{expected:?} {found:#?}");
    }
}

/// Lints about suppressions have separate tests.
#[test]
fn every_lint_has_a_case() {
    let tested: BTreeSet<_> = cases().into_iter().map(|((lint, _), ..)| lint).collect();
    for lint in Lint::ALL {
        assert_ne!(tested.contains(lint), lint.is_about_suppressions(), "{lint:?}");
    }
}

/// `docs/lints.md` lists them, in the order of the catalogue.
#[test]
fn every_lint_is_documented() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/lints.md");
    let text = std::fs::read_to_string(file).unwrap();
    let rows: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("| `lint.")).collect();
    assert_eq!(rows.len(), Lint::ALL.len());
    for (lint, row) in Lint::ALL.iter().zip(rows) {
        let cells: Vec<_> = row.split(" | ").collect();
        let sure = match lint.confidence() {
            Confidence::Sure => "yes",
            Confidence::Heuristic => "a guess",
        };
        assert_eq!((format!("lint.{}", cells[0]), cells[2]), (format!("{}`", lint.code()), sure));
    }
}

/// Pages of other sites gain nothing from a cookie that is not sent to them.
#[test]
fn a_session_counts_for_an_origin_only_if_its_cookie_is_sent_there() {
    let of = |same_site: &str, origin: &str| {
        let dangers = Dangers { insecure_origins: true, ..Dangers::default() };
        let mut manifest =
            with_cors("GET", "/orders/{id}", RouteCors { dangers, ..cors(&[origin], true) });
        manifest.app.sessions = Some(SessionFacts::new("postgres", "__Host-sid", same_site));
        let mut found = findings(&manifest).into_iter();
        found.find(|finding| finding.lint == Lint::InsecureOrigins).unwrap().severity()
    };
    assert_eq!(of("lax", "http://app.shop.example"), FindingSeverity::High);
    assert_eq!(of("none", "http://partner.example"), FindingSeverity::High);
    assert_eq!(of("lax", "http://partner.example"), FindingSeverity::Low);
    assert_eq!(of("lax", "http://192.0.2.1"), FindingSeverity::Low);
}

#[test]
fn a_witness_origin_is_in_the_set_of_its_lint() {
    let mut origins = 0;
    for ((lint, _), bad, _) in cases() {
        let finding = findings(&bad).remove(0);
        let Some(witness) = finding.witness.filter(|witness| witness.contains("://")) else {
            continue;
        };
        let bad = bad.normal();
        let route = shared(&bad).find(|(route, _)| {
            finding.routes == [format!("{} {}", route.methods.join(","), route.path)]
        });
        let granted = route.map(|(_, cors)| cors.region()).unwrap_or_default();
        let is_outside = matches!(lint, Lint::JsonpBesideCors | Lint::ForgeableFromAnySite);
        let expected = if is_outside { granted.complement() } else { granted };
        if lint != Lint::CookieOfDomain {
            assert!(expected.contains(witness.as_bytes()), "{lint:?} {witness}");
        }
        assert!(OriginRegion::all().contains(witness.as_bytes()), "{witness}");
        origins += 1;
    }
    assert!(origins > 10, "{origins}");
}

#[test]
fn equal_findings_of_several_routes_are_merged() {
    let wide = Some(cors(&["https://*.shop.example"], true));
    let manifest = with(|manifest| {
        for route in manifest.routes.iter_mut().filter(|route| route.is_ambient()) {
            route.cors.clone_from(&wide);
        }
    });
    let found: Vec<_> = findings(&manifest)
        .into_iter()
        .map(|finding| (finding.severity(), finding.routes))
        .collect();
    let write = texts(&["PUT /orders/{id}", "POST /logout"]);
    let read = texts(&["GET /orders/{id}", "GET /staff", "GET /stock"]);
    let [(FindingSeverity::High, mut high), (FindingSeverity::Medium, medium)] =
        <[_; 2]>::try_from(found).unwrap()
    else {
        panic!("the worst first")
    };
    high.sort();
    high.reverse();
    assert_eq!((high, medium), (write, read));
}

fn suppression(lint: &str, route: Option<&str>) -> Suppression {
    Suppression {
        lint: lint.to_owned(),
        route: route.map(str::to_owned),
        who: "ada".to_owned(),
        why: "it is meant".to_owned(),
        until: None,
    }
}

/// Two findings of one lint.
fn wide() -> Manifest {
    with(|manifest| {
        for route in manifest.routes.iter_mut().filter(|route| route.path == "/orders/{id}") {
            route.cors = Some(cors(&["http://app.shop.example"], true));
        }
    })
}

const INSECURE: &str = "lint.insecure-origins";

fn lints_with(suppressions: &[Suppression]) -> (Vec<Lint>, usize) {
    let linted = lint(&wide(), suppressions, today());
    (linted.findings.iter().map(|finding| finding.lint).collect(), linted.suppressed.len())
}

#[test]
fn a_suppression_of_a_route_removes_one_finding() {
    let get = suppression(INSECURE, Some("GET /orders/{id}"));
    let put = suppression(INSECURE, Some("PUT /orders/{id}"));
    assert_eq!(lints_with(&[]), (vec![Lint::InsecureOrigins; 2], 0));
    assert_eq!(lints_with(std::slice::from_ref(&get)), (vec![Lint::InsecureOrigins], 1));
    assert_eq!(lints_with(&[get.clone(), put]), (vec![], 2));
    assert_eq!(lints_with(&[suppression(INSECURE, None)]), (vec![], 2));
    // The first of two has suppressed it.
    let (lints, suppressed) = lints_with(&[get.clone(), get]);
    assert_eq!((lints, suppressed), (vec![Lint::InsecureOrigins, Lint::SuppressionUnused], 1));
}

#[test]
fn a_suppression_that_suppresses_nothing_is_a_finding() {
    for (lint, route) in [
        (INSECURE, Some("DELETE /orders/{id}")),
        ("lint.own-origin", None),
        ("lint.unheard-of", None),
        ("lint.suppression-unused", None),
    ] {
        let unused = suppression(lint, route);
        let text = unused.to_string();
        let all = suppression(INSECURE, None);
        let linted = super::lint(&wide(), &[all, unused], today());
        let finding = &linted.findings[0];
        assert_eq!((finding.lint, &finding.about), (Lint::SuppressionUnused, &text));
        assert!(finding.is_error());
    }
}

#[test]
fn a_suppression_holds_until_the_end_of_its_day() {
    let until = |text: &str| {
        let all = suppression(INSECURE, None);
        lints_with(&[Suppression { until: Some(day(text)), ..all }])
    };
    assert_eq!(until("2027-06-30"), (vec![], 2));
    assert_eq!(until("2026-12-08"), (vec![], 2));
    for soon in ["2026-12-07", "2026-11-24"] {
        assert_eq!(until(soon), (vec![Lint::SuppressionEndsSoon], 2), "{soon}");
    }
    let expired = vec![Lint::SuppressionExpired, Lint::InsecureOrigins, Lint::InsecureOrigins];
    let (mut lints, suppressed) = until("2026-11-23");
    lints.sort_by_key(|lint| *lint == Lint::InsecureOrigins);
    assert_eq!((lints, suppressed), (expired, 0));
}

#[test]
fn suppressions_need_a_name_and_a_reason() {
    for (who, why) in [("", "it is meant"), ("ada", " \n")] {
        let [who, why] = [who, why].map(str::to_owned);
        let (lints, suppressed) =
            lints_with(&[Suppression { who, why, ..suppression(INSECURE, None) }]);
        assert_eq!(lints.len(), 3);
        assert!(lints.contains(&Lint::SuppressionUnsigned) && suppressed == 0);
    }
}

#[test]
fn a_finding_names_gainer_route_and_fix() {
    let text = findings(&wide()).remove(0).to_string();
    assert_eq!(
        text,
        "high: anybody who controls the network can act as a page of this origin \
         (lint.insecure-origins)\n  \
         about    `http://app.shop.example`\n  \
         at       GET /orders/{id}\n  \
         gain     pages of any site may read as the visitor who is logged in\n  \
         witness  http://app.shop.example\n  \
         help     serve the page over `https`, and grant that origin"
    );
}

/// Routes whose findings are shown together have the witness of each of them.
#[test]
fn the_witness_of_a_finding_is_one_at_each_of_its_routes() {
    let jsonp = |path: &str, origins: &[&str]| {
        let mut route = ManifestRoute::handler(path, ["GET"], Auth::Public);
        route.cors = Some(cors(origins, false));
        route.jsonp = Some(Jsonp { callback: "cb".to_owned(), dotted: false });
        route
    };
    let witness = cors(&["https://b.example"], false).region().complement().witness();
    let witness = witness.unwrap().origin().to_owned();
    let mut manifest = Manifest::new();
    manifest.routes = vec![
        jsonp("/a", &["https://b.example"]),
        jsonp("/b", &["https://c.example"]),
        // The witness of the others is granted here.
        jsonp("/c", &[&witness]),
    ];
    let found = lint(&manifest, &[], today()).findings;
    let found: Vec<_> = found.iter().filter(|one| one.lint == Lint::JsonpBesideCors).collect();
    for finding in &found {
        let witness = finding.witness.as_ref().unwrap();
        for route in &finding.routes {
            let shared = manifest.routes.iter().find(|one| route.ends_with(&one.path)).unwrap();
            let region = shared.cors.as_ref().unwrap().region();
            assert!(!region.contains(witness.as_bytes()), "{witness} at {route}");
        }
    }
    let routes: usize = found.iter().map(|finding| finding.routes.len()).sum();
    assert_eq!(routes, 3);
}
