//! The policy of one path.

use policy_core::{
    isolation::Isolation,
    path::{PathTemplate, Segment},
};
use serde::{Deserialize, Serialize};

use crate::facets::{Auth, Cache, Cors, Csrf, Jsonp, Limits, is_default, is_false};

/// The kind of target that serves a route.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RouteKind {
    /// A handler.
    #[default]
    Handler,
    /// A mounted service, which serves the prefix and every path below it.
    Mount,
    /// An upstream server, which serves the prefix and every path below it.
    Proxy,
    /// A health probe, which is exempt from the policies of the app.
    Probe,
    /// The tunnels that CONNECT opens. The path is empty.
    Tunnel,
    /// The target that serves paths without a route. The path is `*`.
    Fallback,
    /// The response to paths without a route, 404. The path is `*`.
    NotFound,
}

/// The effective policy of a path, for those of its methods that have the same one.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Route {
    /// The template of the path with its prefix; for a mount or a proxy, the prefix.
    pub path: String,
    /// Its methods. HEAD is served as GET is and not listed, unless it has its own policy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub methods: Vec<String>,
    /// The target that serves it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kind: RouteKind,
    /// Whether a mount or a proxy takes encoded slashes in the paths below it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub takes_slashes: bool,
    /// Where the tunnels of CONNECT may lead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// The callers that it accepts.
    pub auth: Auth,
    /// The CSRF protection of requests with an ambient credential.
    #[serde(default, skip_serializing_if = "is_default")]
    pub csrf: Csrf,
    /// Whether the handler takes the session of its caller itself, independent of `auth`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub takes_session: bool,
    /// Which pages of other origins may read responses; none by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cors: Option<Cors>,
    /// The isolation of responses from pages, by Fetch Metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Which caches may keep responses; `None` leaves it to the handler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<Cache>,
    /// Whether responses are scripts for pages of any origin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jsonp: Option<Jsonp>,
    /// The limits on sizes, times, rates and concurrency.
    #[serde(default, skip_serializing_if = "is_default")]
    pub limits: Limits,
    /// The security headers of responses, by their name in [`Manifest::headers`](super::Manifest);
    /// `None` adds none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headers: Option<String>,
}

impl Route {
    /// A route without policies except its callers.
    pub fn new<T: Into<String>>(
        kind: RouteKind,
        path: impl Into<String>,
        methods: impl IntoIterator<Item = T>,
        auth: Auth,
    ) -> Self {
        Self {
            path: path.into(),
            methods: methods.into_iter().map(Into::into).collect(),
            kind,
            takes_slashes: false,
            targets: Vec::new(),
            auth,
            csrf: Csrf::default(),
            takes_session: false,
            cors: None,
            isolation: None,
            cache: None,
            jsonp: None,
            limits: Limits::default(),
            headers: None,
        }
    }

    /// A handler without policies except its callers.
    pub fn handler<T: Into<String>>(
        path: impl Into<String>,
        methods: impl IntoIterator<Item = T>,
        auth: Auth,
    ) -> Self {
        Self::new(RouteKind::Handler, path, methods, auth)
    }

    /// Whether it serves this method; a route that serves GET also serves HEAD.
    pub fn serves(&self, method: &str) -> bool {
        let lists = |name: &str| self.methods.iter().any(|listed| listed == name);
        lists(method) || (method == "HEAD" && lists("GET"))
    }

    /// A path that it serves: a handler's template with values for its parameters, or one below the
    /// prefix of a mount or a proxy. `None` for a route without paths or for all other paths.
    ///
    /// ```
    /// use policy_manifest::{Auth, Route};
    ///
    /// let route = Route::handler("/orders/{id}/lines", ["GET"], Auth::Public);
    /// assert_eq!(route.example_path().as_deref(), Some("/orders/1/lines"));
    /// ```
    pub fn example_path(&self) -> Option<String> {
        match self.kind {
            RouteKind::Handler | RouteKind::Probe => Some(sample(&self.path)),
            RouteKind::Mount | RouteKind::Proxy => Some(sample(&format!("{}/", self.path))),
            RouteKind::Tunnel | RouteKind::Fallback | RouteKind::NotFound => None,
        }
    }

    /// Whether it takes a credential that browsers send automatically.
    pub fn is_ambient(&self) -> bool {
        self.takes_session
            || match &self.auth {
                Auth::Public => false,
                Auth::Required(requirement) => requirement.is_ambient(),
            }
    }
}

/// A path that a template matches.
pub(crate) fn sample(template: &str) -> String {
    let Ok(parsed) = PathTemplate::parse(template) else { return template.to_owned() };
    let mut path = String::new();
    for segment in parsed.segments() {
        path.push('/');
        match segment {
            Segment::Fixed(text) => path += text,
            Segment::Parameter(_) => path.push('1'),
            Segment::Rest(_) => path += "policy/sample",
        }
    }
    if path.is_empty() || template.ends_with('/') {
        path.push('/');
    }
    path
}
