//! Laws of lints.

use std::collections::BTreeMap;

use policy_core::{Lint, time::Timestamp};
use policy_manifest::{
    Date, Finding, FindingSeverity, Manifest, ManifestRoute, RouteOrigins, Suppression,
    algebra::OriginRegion, lint,
};
use proptest::{prelude::*, sample::Index};

use super::{generate::site, rewording::rewording};
use crate::law::{Precondition, holds_in_fewer};

fn today() -> Date {
    Date::from_timestamp(Timestamp::from_seconds(1_800_000_000))
}

fn findings(manifest: &Manifest) -> Vec<Finding> {
    lint(manifest, &[], today()).findings
}

/// Each lint with each of its routes, and how often it is found there.
fn places(findings: &[Finding]) -> BTreeMap<(Lint, String), usize> {
    let mut places = BTreeMap::new();
    for finding in findings {
        for route in &finding.routes {
            *places.entry((finding.lint, route.clone())).or_default() += 1;
        }
    }
    places
}

/// The route that a finding names.
fn route<'m>(manifest: &'m Manifest, name: &str) -> Option<&'m ManifestRoute> {
    manifest.routes.iter().find(|route| match route.methods.as_slice() {
        [] => route.path == name,
        methods => format!("{} {}", methods.join(","), route.path).trim_end() == name,
    })
}

/// Origins on this machine, which no network reaches.
const LOOPBACK: &str =
    "http://localhost:*, http://*.localhost:*, http://127.0.0.1:*, http://[::1]:*";

/// Findings name routes of the app, each lint each route once, and are as severe as what is gained.
#[test]
fn findings_are_about_routes_of_the_app() {
    holds_in_fewer(6, "findings", 94, site(), |site| {
        let manifest = site.manifest.normal();
        let found = findings(&manifest);
        for finding in &found {
            let severity = finding.gain.map_or(FindingSeverity::Info, |gain| {
                FindingSeverity::for_gain(gain.who, gain.what, gain.authority)
            });
            prop_assert_eq!(finding.severity(), severity);
            for name in &finding.routes {
                prop_assert!(name == "app" || route(&manifest, name).is_some(), "{}", name);
            }
        }
        for (place, times) in places(&found) {
            prop_assert_eq!(times, 1, "{:?}", place);
        }
        Ok(Precondition::met_if(!found.is_empty()))
    });
}

/// The findings do not depend on how a policy is written.
#[test]
fn findings_depend_on_the_meaning_of_a_policy() {
    holds_in_fewer(
        4,
        "findings of another wording",
        99,
        (site(), rewording()),
        |(site, rewording)| {
            let reworded = rewording.apply(&site.manifest);
            prop_assert_eq!(findings(&reworded), findings(&site.manifest));
            let read = Manifest::parse(&site.manifest.to_json()).expect("its own text");
            prop_assert_eq!(findings(&read), findings(&site.manifest));
            Ok(Precondition::met_if(reworded != site.manifest))
        },
    );
}

/// A finding about a set of origins holds by the algebra: there are such origins, and the witness is
/// one that every route of the finding grants.
#[test]
fn findings_about_origins_hold_by_the_algebra() {
    let loopback: OriginRegion = LOOPBACK.parse().expect("patterns");
    holds_in_fewer(6, "origins of findings", 37, site(), |site| {
        let manifest = site.manifest.normal();
        let found = findings(&manifest);
        let mut are_insecure = 0;
        for route in manifest.routes.iter().filter(|route| route.path != "*") {
            let Some(cors) = &route.cors else { continue };
            let names = [format!("{} {}", route.methods.join(","), route.path), route.path.clone()];
            let of = |lint: Lint| {
                found.iter().find(|finding| {
                    finding.lint == lint && names.iter().any(|name| finding.routes.contains(name))
                })
            };
            let region = cors.region();
            for lint in [Lint::InsecureOrigins, Lint::SubdomainOrigins, Lint::PublicSuffixOrigins] {
                if let Some(Finding { witness: Some(witness), .. }) = of(lint) {
                    prop_assert!(region.contains(witness.as_bytes()), "{:?} {}", lint, witness);
                }
            }
            if let Some(Finding { witness: Some(witness), .. }) = of(Lint::JsonpBesideCors) {
                prop_assert!(!region.contains(witness.as_bytes()), "{}", witness);
            }
            prop_assert_eq!(
                of(Lint::JsonpBesideCors).is_some(),
                route.jsonp.is_some() && region != OriginRegion::all()
            );
            let is_unbounded =
                matches!(&cors.origins, RouteOrigins::AtRunTime(list) if list.within.is_none());
            prop_assert_eq!(of(Lint::UnboundedOrigins).is_some(), is_unbounded);
            if region.is_cofinite() {
                continue;
            }
            let beyond = region.difference(&loopback).witnesses(256);
            let is_plain = beyond.iter().any(|origin| origin.origin().starts_with("http://"));
            prop_assert_eq!(of(Lint::InsecureOrigins).is_some(), is_plain, "{}", region);
            are_insecure += usize::from(is_plain);
        }
        Ok(Precondition::met_if(are_insecure > 0))
    });
}

/// A suppression of a finding at a route removes that finding and no other.
#[test]
fn a_suppression_removes_one_finding() {
    holds_in_fewer(6, "suppressions", 94, (site(), any::<Index>()), |(site, index)| {
        let found = findings(&site.manifest);
        let mut places = places(&found);
        if places.is_empty() {
            return Ok(Precondition::Unmet);
        }
        let (chosen, route) = index.get(&places.keys().cloned().collect::<Vec<_>>()).clone();
        let suppression = Suppression {
            lint: chosen.code().to_owned(),
            route: Some(route.clone()),
            who: "ada".to_owned(),
            why: "it is meant".to_owned(),
            until: Some(today()),
        };
        let linted = lint(&site.manifest, std::slice::from_ref(&suppression), today());
        places.remove(&(chosen, route.clone()));
        places.insert((Lint::SuppressionEndsSoon, route.clone()), 1);
        prop_assert_eq!(self::places(&linted.findings), places);
        let [(finding, by)] = linted.suppressed.as_slice() else {
            return Err(TestCaseError::fail("one is suppressed"));
        };
        prop_assert_eq!((finding.lint, &finding.routes, by), (chosen, &vec![route], &suppression));
        Ok(Precondition::Met)
    });
}
