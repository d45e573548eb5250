//! T25: what changes from one app to another is what changes for requests.

mod large;

use std::{cell::RefCell, collections::BTreeMap};

use http::Request;
use policy_manifest::{
    Manifest, SessionFacts,
    diff::{Axis, Case, Diff, DiffFinding, Gains, PathMethods, diff},
    engine::{Engine, RequestCredentials},
};
use proptest::{collection::vec, prelude::*, sample::Index};

use super::{
    generate::{Site, caller, site, sketch},
    naive, verdict,
};
use crate::law::{Precondition, holds_in_fewer};

/// How one app becomes another: by what it takes from a third one.
#[derive(Clone, Debug)]
struct Edit {
    route: Index,
    donor: Index,
    what: usize,
}

/// One of the edits that [`Edit::apply`] knows.
fn edit() -> impl Strategy<Value = Edit> + Clone {
    let parts = (any::<Index>(), any::<Index>(), 0..14_usize);
    parts.prop_map(|(route, donor, what)| Edit { route, donor, what })
}

impl Edit {
    fn apply(&self, manifest: &mut Manifest, donor: &Manifest) {
        let other = donor.routes[self.donor.index(donor.routes.len())].clone();
        if manifest.routes.is_empty() {
            return;
        }
        let index = self.route.index(manifest.routes.len());
        let route = &mut manifest.routes[index];
        match self.what {
            0 => route.auth = other.auth,
            1 => route.csrf = other.csrf,
            2 | 3 => route.cors = other.cors,
            4 => route.isolation = other.isolation,
            5 => route.jsonp = other.jsonp,
            6 => route.takes_session = other.takes_session,
            7 => route.limits = other.limits,
            8 => route.takes_slashes = other.takes_slashes,
            9 => {
                manifest.routes.remove(index);
            }
            10 => {
                route.methods.pop();
            }
            // An app has one fallback and one tunnel.
            11 if !matches!(other.path.as_str(), "" | "*") => manifest.routes.push(other),
            11 => (),
            12 => manifest.app.tokens.clone_from(&donor.app.tokens),
            _ => {
                manifest.app.sessions.clone_from(&donor.app.sessions);
                manifest.app.trace = donor.app.trace;
                manifest.app.trailing_slash = donor.app.trailing_slash;
            }
        }
    }
}

/// Two apps that receive the same requests.
#[derive(Clone, Debug)]
struct Pair {
    old: Site,
    new: Site,
}

impl Pair {
    /// Whether the two apps use different names for themselves or for the sender of a request; each is
    /// then asked under its own names.
    fn is_moved(&self) -> bool {
        let [old, new] = [&self.old, &self.new].map(|site| &site.manifest.app);
        let cookie = |facts: &SessionFacts| facts.cookie.clone();
        let cookies = [old, new].map(|app| app.sessions.as_ref().map(cookie));
        old.public_origin != new.public_origin
            || old.proxies != new.proxies
            || matches!(&cookies, [Some(one), Some(other)] if one != other)
    }

    /// Whether a page of `localhost` asks under another name of this machine: apps without a public
    /// origin are compared as `localhost`, whose own pages these are.
    fn is_asked_by_localhost(&self, request: &Request<()>) -> bool {
        let is = |name: &str, text: &str| {
            request.headers().get_all(name).iter().any(|value| value.as_bytes() == text.as_bytes())
        };
        self.old.manifest.app.public_origin.is_none()
            && is("origin", "http://localhost")
            && !is("host", "localhost")
    }
}

fn pair() -> impl Strategy<Value = Pair> + Clone {
    (site(), site(), vec(edit(), 0..7), prop::bool::weighted(0.1)).prop_filter_map(
        "two manifests that the engine accepts",
        |(old, other, edits, is_other)| {
            let mut new = old.clone();
            match is_other {
                true => new.manifest = other.manifest,
                false => {
                    let donor = &other.manifest;
                    edits.iter().for_each(|edit| edit.apply(&mut new.manifest, donor));
                }
            }
            Engine::new(&old.manifest).ok()?;
            Engine::new(&new.manifest).ok()?;
            Some(Pair { old, new })
        },
    )
}

/// The minimum number of occurrences in a hundred cases.
const FLOORS: &[(&str, u64)] = &[
    ("witness", 60),
    ("the same app", 3),
    ("another decision", 30),
    ("widened", 5),
    ("narrowed", 5),
];

/// T25. A comparison is sound: each witness is decided as it says. It is complete and exact: for
/// each request, exactly one case states what one app allows beyond the other, and if nothing is
/// found, all requests are decided alike. An app does not differ from itself, and what is widened
/// one way is narrowed the other way.
#[test]
fn t25_a_comparison_is_sound_complete_and_exact() {
    let occurred = RefCell::new(BTreeMap::<&'static str, u64>::new());
    let count = |what: &'static str| *occurred.borrow_mut().entry(what).or_default() += 1;
    let cases = (pair(), vec((sketch(), caller(), any::<bool>()), 60));
    holds_in_fewer(10, "T25, comparisons", 100, cases, |(pair, requests)| {
        let (old, new) = (&pair.old.manifest, &pair.new.manifest);
        let found = diff(old, new).expect("a comparison");
        let own = diff(old, old).expect("a comparison");
        prop_assert!(own.is_empty(), "{:?}", described(&own));
        let mirrored = diff(new, old).expect("a comparison");
        prop_assert_eq!(described_mirrored(&mirrored), described(&found));
        let engines = (Engine::new(old).expect("old"), Engine::new(new).expect("new"));
        for finding in &found.findings {
            for case in &finding.cases {
                sound(&pair, &engines, finding, case)?;
                count("witness");
            }
        }
        if found.is_empty() {
            count("the same app");
        }
        for (sketch, caller, of_old) in &requests {
            // A request is drawn for a route, and the new app may have none.
            let is_old = *of_old || new.routes.is_empty();
            let site = if is_old { &pair.old } else { &pair.new };
            let request = sketch.to_request(site);
            let differs = exact(&pair, &found, &request, caller)?;
            let before = verdict(&engines.0.decide(&request, caller));
            let after = verdict(&engines.1.decide(&request, caller));
            if before != after {
                prop_assert!(!found.is_empty(), "{request:?} {before:?} {after:?}");
                count("another decision");
            }
            count(match differs {
                (false, false) => "the same access",
                (true, false) => "widened",
                (false, true) => "narrowed",
                (true, true) => "both",
            });
        }
        Ok(Precondition::Met)
    });
    super::assert_floors(&occurred.borrow(), FLOORS);
}

/// Whether a witness is decided in the stated direction, by the engines and, if it is about
/// reaching a handler, by the interpreter that shares no code with them.
fn sound(
    pair: &Pair,
    engines: &(Engine, Engine),
    finding: &DiffFinding,
    case: &Case,
) -> Result<(), TestCaseError> {
    let witness = &case.witness;
    let moved = witness.moved.as_ref().unwrap_or(&witness.request);
    let before = engines.0.decide(&witness.request, &witness.caller);
    let after = engines.1.decide(moved, &witness.caller);
    prop_assert_ne!(verdict(&before), verdict(&after), "{:?} {:?}", finding.places, witness);
    let naive = |site: &Site, request: &Request<()>| {
        let value = serde_json::to_value(&site.manifest).expect("a value");
        // Without present entries, each list has all that its bound allows.
        naive::decide(&value, &naive::Lists::new(), request, &witness.caller)
    };
    let (before, after) = (naive(&pair.old, &witness.request), naive(&pair.new, moved));
    prop_assert_ne!(&before, &after, "{:?} {:?}", finding.places, witness);
    if case.gains.reaches {
        let (more, less) = match finding.axis {
            Axis::Widened => (after, before),
            Axis::Narrowed => (before, after),
        };
        prop_assert_eq!(more.outcome.as_str(), "reached");
        prop_assert_ne!(less.outcome.as_str(), "reached");
    }
    Ok(())
}

/// Whether a request gains, and whether it loses. Exactly one case states each.
fn exact(
    pair: &Pair,
    found: &Diff,
    request: &Request<()>,
    caller: &RequestCredentials,
) -> Result<(bool, bool), TestCaseError> {
    let (gained, lost) = found.gains(request, caller);
    let at = found.at(request, caller);
    // The limits of bodies and the own names of an app are listed among the changes.
    let is_elsewhere = pair.is_moved()
        || request.headers().contains_key("content-length")
        || pair.is_asked_by_localhost(request);
    for (axis, gains) in [(Axis::Widened, &gained), (Axis::Narrowed, &lost)] {
        let cases = at.iter().filter(|(finding, _)| finding.axis == axis);
        let cases: Vec<&Gains> = cases.map(|(_, case)| &case.gains).collect();
        let is_described = match gains.is_empty() {
            true => cases.is_empty(),
            false => cases == [gains],
        };
        prop_assert!(
            is_described || is_elsewhere,
            "{axis:?} {gains:?}, not {cases:?}: {request:?} {caller:?} {:#?} {:?}",
            described(found),
            found.changes
        );
    }
    Ok((!gained.is_empty(), !lost.is_empty()))
}

/// A comparison in words, without its witnesses.
fn described(found: &Diff) -> Vec<String> {
    all_described(found, |axis| axis)
}

fn described_mirrored(found: &Diff) -> Vec<String> {
    all_described(found, |axis| match axis {
        Axis::Widened => Axis::Narrowed,
        Axis::Narrowed => Axis::Widened,
    })
}

fn all_described(found: &Diff, of: fn(Axis) -> Axis) -> Vec<String> {
    let lines = found.findings.iter().map(|finding| {
        let cases = finding.cases.iter().map(|case| {
            format!(
                "{} {} {:?} {:?} {}",
                case.severity,
                case.senders.words(),
                case.callers,
                case.gains,
                case.is_preflight()
            )
        });
        let places: Vec<_> = finding.places.iter().map(PathMethods::words).collect();
        let axis = of(finding.axis).name();
        format!("{axis} {} {places:?} {:?}", finding.severity, cases.collect::<Vec<_>>())
    });
    let mut lines: Vec<_> = lines.collect();
    lines.sort();
    lines
}
