//! The old or the new app of a comparison, prepared for deciding about requests.

use std::collections::BTreeMap;

use policy_core::path::PathTemplate;

use crate::{
    Auth, Manifest, ManifestRoute, RouteKind,
    engine::{Engine, EngineError},
    facets::RouteCors,
};

/// The old or the new app: its manifest, and its engine with the data to address requests to it.
#[derive(Debug)]
pub(crate) struct Side {
    pub(crate) manifest: Manifest,
    pub(crate) engine: Engine,
    pub(crate) identity: Identity,
    /// Whether a route may start a session for a stranger.
    pub(crate) may_log_in: bool,
    /// The text of each path template in the manifest, by the number of the path in the engine.
    pub(crate) path_texts: BTreeMap<usize, String>,
}

/// The names of an app that a request to it contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) host: String,
    pub(crate) origin: String,
    /// Whether the app is in development, where its own pages are those of the host that a request
    /// names.
    pub(crate) is_development: bool,
    /// The name of the cookie of its sessions.
    pub(crate) cookie: String,
}

impl Side {
    pub(crate) fn new(manifest: &Manifest) -> Result<Self, EngineError> {
        let manifest = manifest.clone().normal();
        let engine = Engine::new(&manifest)?;
        let origin = manifest.app.public_origin.clone();
        let is_development = origin.is_none();
        let origin = origin.unwrap_or_else(|| "http://localhost".to_owned());
        let host = origin.split_once("://").map_or("", |(_, host)| host).to_owned();
        let cookie = manifest.app.sessions.as_ref().map(|facts| facts.cookie.clone());
        let cookie = cookie.unwrap_or_else(unknown);
        let identity = Identity { host, origin, is_development, cookie };
        let mut of_form = BTreeMap::new();
        for route in &manifest.routes {
            for text in route.templates() {
                if let Ok(template) = PathTemplate::parse(&text) {
                    of_form.insert(engine.form(&template), plain_template(&text));
                }
            }
        }
        let numbers = engine.path_forms();
        let path_texts = numbers
            .filter_map(|(form, number)| Some((number, of_form.get(form)?.clone())))
            .collect();
        let may_log_in = manifest.routes.iter().any(may_log_in);
        Ok(Self { manifest, engine, identity, may_log_in, path_texts })
    }

    /// Uses the cookie name of the other app if this app has no sessions, so that both get the same
    /// request. An app without sessions ignores the cookie.
    pub(crate) fn take_cookie(&mut self, other: &Self) {
        if self.manifest.app.sessions.is_none() {
            self.identity.cookie.clone_from(&other.identity.cookie);
        }
    }

    /// Whether both apps decide about a request alike, where their routes are equal.
    pub(super) fn is_same_app(&self, other: &Self) -> bool {
        self.engine.facts() == other.engine.facts() && self.identity == other.identity
    }

    pub(crate) fn route(&self, index: Option<usize>) -> Option<&ManifestRoute> {
        self.manifest.routes.get(index?)
    }

    pub(crate) fn cors(&self, index: Option<usize>) -> Option<&RouteCors> {
        self.route(index)?.cors.as_ref()
    }

    pub(crate) fn elsewhere_kind(&self) -> Option<RouteKind> {
        self.route(self.engine.elsewhere()).map(|route| route.kind)
    }
}

/// Whether a route admits a stranger and gives its target the session, so that it may start one: this is
/// all that a manifest says about logins.
fn may_log_in(route: &ManifestRoute) -> bool {
    let takes_session =
        route.takes_session || matches!(route.kind, RouteKind::Mount | RouteKind::Fallback);
    match &route.auth {
        Auth::Public => takes_session,
        Auth::Required(requirement) => {
            requirement.optional && (requirement.session || takes_session)
        }
    }
}

/// A template without what its parameters take, as findings name it.
pub(super) fn plain_template(text: &str) -> String {
    text.replace(":slashes}", "}")
}

/// A cookie name that no app uses. The empty name would match `=value`.
fn unknown() -> String {
    "__Host-sid".to_owned()
}
