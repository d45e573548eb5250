//! What no response to the planned requests can show.

use std::collections::BTreeSet;

use policy_core::method;
use policy_manifest::{ManifestRoute, RouteKind, RouteOrigins};

use super::{
    Planner, Subject,
    callers::{takes_session, takes_token},
    name_of,
    static_files::takes_file_names,
};
use crate::shown;

impl Planner<'_> {
    /// What the plan cannot show, with the argument that would show it if there is one. An audit
    /// without findings says nothing about it.
    pub(super) fn unseen(&self, subjects: &[Subject<'_>]) -> Vec<String> {
        let routes = || self.manifest.routes.iter();
        let needs = |takes: fn(&ManifestRoute) -> bool| routes().any(takes);
        let subject_routes = subjects.iter().map(|subject| subject.route);
        let is_session_needed =
            subject_routes.clone().any(|route| route.serves("GET") && needs_session(route));
        let options = self.options;
        let mut unseen = Vec::new();
        if needs(takes_session) && !options.has_session {
            unseen.push("responses to callers with a session: `--login` or `--session`");
        }
        if self.manifest.app.sessions.is_some() && !(options.has_session && is_session_needed) {
            unseen.push(match options.has_session {
                false => "whether `Cookie` reaches the app: `--login` or `--session`",
                true => {
                    "whether `Cookie` reaches the app: no route that is read requires a session"
                }
            });
        }
        if needs(takes_token) && !options.has_token {
            unseen.push("responses to callers with a token: `--token`");
        }
        let is_cached = |route: &ManifestRoute| {
            takes_file_names(route)
                && (!options.has_session && (takes_session(route) || self.may_read_session(route))
                    || !options.has_token && takes_token(route))
        };
        if routes().any(is_cached) {
            unseen.push("whether a cache takes responses to users for static files: a credential");
        }
        let reads_metadata =
            |route: &ManifestRoute| route.isolation.is_some() || route.is_ambient();
        if routes().any(reads_metadata) && !subject_routes.clone().any(is_isolated) {
            let words =
                "whether `Sec-Fetch-Site` reaches the app: no route that is read is isolated";
            unseen.push(words);
        }
        let is_unsafe =
            |route: &ManifestRoute| route.methods.iter().any(|name| !method::is_safe(name));
        if routes().any(is_unsafe) {
            unseen.push(match options.sends_unsafe_methods {
                false => "requests with unsafe methods: `--unsafe-methods` for those that the policy refuses",
                true => "requests with unsafe methods that the policy allows",
            });
        }
        let mut unseen: Vec<_> = unseen.into_iter().map(str::to_owned).collect();
        let lists: BTreeSet<_> = routes().filter_map(run_time_list).collect();
        let words = |list: &str| format!("responses to pages of the origins in the list `{list}`");
        unseen.extend(lists.into_iter().map(words));
        let is_other = |route: &&ManifestRoute| {
            !matches!(route.kind, RouteKind::NotFound | RouteKind::Probe)
                && self.served_path(route).is_none()
        };
        let others: Vec<_> = routes().filter(is_other).map(name_of).collect();
        if !others.is_empty() {
            let others = shown::routes(others.iter());
            unseen.push(format!("routes without a path of their own: {others}"));
        }
        let alike = routes().filter(|route| self.served_path(route).is_some()).count();
        let alike = alike.saturating_sub(subjects.len());
        if alike > 0 {
            let words = "with the same policy as one that is asked: `--all-routes`";
            unseen.push(format!("{} {words}", shown::count(alike, "route")));
        }
        unseen
    }
}

/// The run-time list that has the origins of the route. No probe names one of them.
fn run_time_list(route: &ManifestRoute) -> Option<&str> {
    match &route.cors.as_ref()?.origins {
        RouteOrigins::AtRunTime(list) => Some(&list.list),
        RouteOrigins::Listed(_) => None,
    }
}

fn is_isolated(route: &ManifestRoute) -> bool {
    route.serves("GET") && route.isolation.is_some()
}

/// Whether the route answers 401 if the app does not see the cookie.
fn needs_session(route: &ManifestRoute) -> bool {
    route.auth.requirement().is_some_and(|it| it.session && !it.optional)
}
