//! Paths that a cache takes for static files, and a route for its own (web cache deception; OWASP WSTG).

use policy_core::Refusal;
use policy_manifest::{ManifestRoute, RouteKind};

use super::{Planner, Probe, Purpose, Trial, name_of};

/// The end of the targets. A cache by its end keeps it, and the sender puts a new name before it.
pub(in super::super) const STATIC_FILE: &str = "policy-audit.css";

/// Between a path and the name of a file: signs that a cache and an app may read differently.
const DELIMITERS: [&str; 6] = ["/", ";", "?", "%2F", "%3B", "%3F"];

impl Planner<'_> {
    /// For each route that takes any path below its own, and a credential: the response for the owner
    /// of the credential, then what anybody gets.
    pub(super) fn static_files(&self) -> Vec<Trial> {
        let routes = self.manifest.routes.iter().filter(|route| takes_any_path(route));
        let trials = routes.filter_map(|route| Some((route, route.example_path()?)));
        let trials = trials.flat_map(|(route, path)| {
            let path = path.trim_end_matches('/').to_owned();
            DELIMITERS.iter().flat_map(move |delimiter| {
                let target = format!("{path}{delimiter}{STATIC_FILE}");
                let plain = self.probe("GET", &target, &[]);
                let served = plain.filter(|plain| self.serves(route, &target, plain));
                served.into_iter().flat_map(move |plain| {
                    let owners: Vec<_> = self.with_credentials(route, &plain).collect();
                    owners.into_iter().map(move |owner| {
                        let probes = [Some(owner), Some(plain.clone())];
                        self.trial(name_of(route), Purpose::StaticFile, probes)
                    })
                })
            })
        });
        trials.collect()
    }

    /// Whether the app gives a target to this route, and to none that is nearer.
    fn serves(&self, route: &ManifestRoute, target: &str, plain: &Probe) -> bool {
        let path = target.split('?').next().unwrap_or(target);
        let is_nearest =
            self.engine.serving("GET", path).is_some_and(|served| served.path == route.path);
        let decision = self.engine.decide(&plain.request, &plain.caller);
        is_nearest && decision.refusal() != Some(Refusal::PathEncodedSlash)
    }
}

/// Whether a route serves paths that only its handler, or the service behind it, understands.
pub(super) fn takes_any_path(route: &ManifestRoute) -> bool {
    let is_service = matches!(route.kind, RouteKind::Mount | RouteKind::Proxy);
    route.serves("GET") && (is_service || route.path.contains("{*"))
}
