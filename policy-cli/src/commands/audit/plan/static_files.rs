//! Paths that a cache takes for static files, and a route for its own (web cache deception; OWASP WSTG).

use policy_core::{
    Refusal,
    path::{PathTemplate, Segment},
};
use policy_manifest::{Auth, ManifestRoute, RouteKind};

use super::{Planner, Probe, Purpose, Trial, name_of};

/// The end of each target. Caches store it for its extension; the sender puts a new name before it.
pub(in super::super) const STATIC_FILE: &str = "policy-audit.css";
/// The prefix of the names that are requested only without a credential.
pub(in super::super) const OF_NOBODY: &str = "policy-audit-of-nobody-";

/// Delimiters of a path and a file name, which a cache and an app may parse differently.
const DELIMITERS: [&str; 6] = ["/", ";", "?", "%2F", "%3B", "%3F"];

impl Planner<'_> {
    /// For each route whose paths may end like the name of a file, and that knows its caller: the
    /// response for the owner of a credential, then what anybody gets.
    pub(super) fn static_files(&self) -> Vec<Trial> {
        let mut known = Vec::new();
        let routes = self.manifest.routes.iter().filter(|route| takes_file_names(route));
        // Services and handlers of the rest of a path are few, and each parses it in its own way.
        let routes = routes.filter(|it| !is_parameter_last(it) || self.is_new(it, &mut known));
        let trials = routes.flat_map(|route| {
            self.directories(route).into_iter().flat_map(|before| self.static_file(route, &before))
        });
        trials.collect()
    }

    /// The prefixes of a file name in targets of a route.
    fn directories(&self, route: &ManifestRoute) -> Vec<String> {
        // A fallback takes any path.
        let path = self.example_paths.path(route).unwrap_or_else(|| "/policy-audit".to_owned());
        let path = path.trim_end_matches('/');
        let parent = is_parameter_last(route).then(|| path.rsplit_once('/')).flatten();
        let whole = parent.map(|(parent, _)| format!("{parent}/"));
        let below = DELIMITERS.iter().map(|delimiter| format!("{path}{delimiter}"));
        whole.into_iter().chain(below).collect()
    }

    /// The trials of one file.
    fn static_file(&self, route: &ManifestRoute, before: &str) -> Vec<Trial> {
        let target = format!("{before}{STATIC_FILE}");
        let plain = self.probe("GET", &target, &[]);
        let Some(plain) = plain.filter(|plain| self.serves(route, &target, plain)) else {
            return Vec::new();
        };
        let trial =
            |probes: Vec<Option<Probe>>| self.trial(name_of(route), Purpose::StaticFile, probes);
        let owners = self.with_credentials(route, &plain);
        let mut trials: Vec<_> =
            owners.map(|owner| trial(vec![Some(owner), Some(plain.clone())])).collect();
        if self.may_read_session(route)
            && let Some(owner) = self.with_session(route, &plain)
        {
            // Only the responses show whether the service knows its caller.
            let nobody = self.probe("GET", &format!("{before}{OF_NOBODY}{STATIC_FILE}"), &[]);
            trials.push(trial(vec![nobody, Some(owner), Some(plain)]));
        }
        trials
    }

    /// Whether the app routes a target to this route, and not to a more specific one.
    fn serves(&self, route: &ManifestRoute, target: &str, plain: &Probe) -> bool {
        let path = target.split('?').next().unwrap_or(target);
        let is_nearest =
            self.engine.serving("GET", path).is_some_and(|served| served.path == route.path);
        let decision = self.engine.decide(&plain.request, &plain.caller);
        is_nearest && decision.refusal() != Some(Refusal::PathEncodedSlash)
    }

    /// Whether the service behind a public route gets the session cookie, and may read it itself.
    pub(super) fn may_read_session(&self, route: &ManifestRoute) -> bool {
        let gets_cookies = match route.kind {
            RouteKind::Mount | RouteKind::Fallback => true,
            RouteKind::Proxy => route.target.forwards_session,
            _ => false,
        };
        gets_cookies && route.auth == Auth::Public && self.manifest.app.sessions.is_some()
    }
}

/// Whether a route serves paths that end as the client likes.
pub(super) fn takes_file_names(route: &ManifestRoute) -> bool {
    let is_handler = route.kind == RouteKind::Handler;
    let is_open = is_handler && last_segment(route).is_some_and(|last| last.name().is_some());
    route.serves("GET") && (is_open || route.kind.is_service())
}

fn is_parameter_last(route: &ManifestRoute) -> bool {
    matches!(last_segment(route), Some(Segment::Parameter(_)))
}

fn last_segment(route: &ManifestRoute) -> Option<Segment<'_>> {
    PathTemplate::parse(&route.path).ok()?.segments().last()
}
