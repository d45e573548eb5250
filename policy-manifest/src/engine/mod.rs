//! An engine that is made of a manifest: it decides about requests as the app does.
//!
//! It runs no handler and asks no store. Who sent a request is an argument ([`Caller`]), and rates
//! and permits are taken as free.

mod caller;
mod decision;
mod gates;
mod paths;
mod protocol;

pub use caller::{Caller, CredentialState, CsrfToken, Login};
pub use decision::{Decision, Gate, Outcome, Step, Verdict};
pub(super) use gates::{CallerFacts, Inspection, SenderFacts};
pub use protocol::Protocol;

use std::{borrow::Cow, error::Error, fmt};

use http::{HeaderMap, Request};

use self::paths::Paths;
use super::{
    Manifest,
    facets::{Auth, Csrf, Origins},
    route::{Route, RouteKind},
};
use policy_core::{
    Rule,
    cors::{self, Cors, CorsSpec, OriginLists, PolicyErrors, Preflight, SharedOrigins},
    csrf::CsrfPolicy,
    forwarded::is_forwarding,
    gate::{Head, OwnOrigin, PublicOrigin},
    method,
    path::{PathTemplate, TrailingSlash},
};

/// The compiled policies of a manifest.
///
/// ```
/// use http::Request;
/// use policy_manifest::{Auth, Manifest, Route, engine::{Caller, Engine, Outcome}};
///
/// let mut manifest = Manifest::new();
/// manifest.routes.push(Route::handler("/hello/{name}", ["GET"], Auth::Public));
/// let engine = Engine::new(&manifest).unwrap();
/// let request = Request::get("/hello/Ada").header("host", "localhost").body(()).unwrap();
/// let decision = engine.decide(&request, &Caller::default());
/// assert_eq!(decision.outcome, Outcome::Reached);
/// ```
#[derive(Debug)]
pub struct Engine {
    own: OwnOrigin,
    has_sessions: bool,
    knows_callers: bool,
    signs_tokens: bool,
    /// The name of the cookie of sessions.
    cookie: String,
    serves_trace: bool,
    trusts_proxies: bool,
    routes: Vec<CompiledRoute>,
    paths: Paths,
    /// The fallback, or the response to paths without a route.
    elsewhere: Option<usize>,
    tunnel: Option<usize>,
}

/// The policy of one path and some of its methods.
#[derive(Debug)]
struct CompiledRoute {
    route: Route,
    cors: Option<Cors>,
    csrf: CsrfPolicy,
    /// Unsafe requests without a caller need an origin that may send them, too.
    judges_anonymous: bool,
}

/// Why no engine can be made of a manifest.
#[derive(Debug)]
#[non_exhaustive]
pub enum EngineError {
    /// The public origin breaks a rule.
    PublicOrigin(Rule),
    /// A path breaks a rule.
    Path {
        /// The path.
        path: String,
        /// The rule.
        rule: Rule,
    },
    /// Two paths match the same requests.
    Overlap {
        /// One of them.
        path: String,
    },
    /// A CORS policy breaks rules.
    Cors(PolicyErrors),
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PublicOrigin(rule) => write!(f, "the public origin: {}", rule.message()),
            Self::Path { path, rule } => write!(f, "the path `{path}`: {}", rule.message()),
            Self::Overlap { path } => write!(f, "another path matches what `{path}` matches"),
            Self::Cors(errors) => errors.fmt(f),
        }
    }
}

impl Error for EngineError {}

impl Engine {
    /// Compiles a manifest. The run-time lists of origins have all that their bounds allow, since an
    /// operator may grant it; a list without a bound is empty.
    ///
    /// # Errors
    ///
    /// The first policy that breaks a rule: the engine validates as macros and the start do.
    pub fn new(manifest: &Manifest) -> Result<Self, EngineError> {
        Self::with_lists(manifest, |_| None)
    }

    /// The same with the present entries of run-time lists, by the names of the lists.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn with_lists<'l>(
        manifest: &Manifest,
        lists: impl Fn(&str) -> Option<&'l [String]>,
    ) -> Result<Self, EngineError> {
        Self::compile(manifest, &Lists::Texts(&lists))
    }

    /// The same with the run-time lists of a running app: what is replaced there counts here as well,
    /// whether or not the bounds of this manifest allow it. Nothing of it acts on the lists.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new); also a list that is missing, or has an entry now that a bound forbids.
    pub fn following(manifest: &Manifest, lists: &OriginLists) -> Result<Self, EngineError> {
        Self::compile(manifest, &Lists::Running(lists))
    }

    fn compile(manifest: &Manifest, lists: &Lists<'_, '_>) -> Result<Self, EngineError> {
        let app = &manifest.app;
        let own = match &app.public_origin {
            None => OwnOrigin::Development,
            Some(text) => {
                OwnOrigin::Public(PublicOrigin::parse(text).map_err(EngineError::PublicOrigin)?)
            }
        };
        let mut engine = Self {
            own,
            has_sessions: app.sessions.is_some(),
            knows_callers: app.sessions.is_some() || app.tokens.is_some(),
            signs_tokens: app.tokens.as_ref().is_some_and(|facts| facts.issuer.is_some()),
            cookie: app.sessions.as_ref().map(|facts| facts.cookie.clone()).unwrap_or_default(),
            serves_trace: app.trace,
            trusts_proxies: !app.proxies.is_empty(),
            routes: Vec::with_capacity(manifest.routes.len()),
            paths: Paths::new(app.trailing_slash),
            elsewhere: None,
            tunnel: None,
        };
        for route in &manifest.routes {
            let index = engine.routes.len();
            match route.kind {
                RouteKind::Fallback | RouteKind::NotFound => engine.elsewhere = Some(index),
                RouteKind::Tunnel => engine.tunnel = Some(index),
                _ => engine.paths.add(route, index)?,
            }
            engine.routes.push(CompiledRoute::new(route, lists)?);
        }
        Ok(engine)
    }

    /// Decides about a request: the gates, in their order. The `:protocol` of an extended CONNECT is
    /// its extension [`Protocol`].
    pub fn decide<B>(&self, request: &Request<B>, caller: &Caller) -> Decision {
        self.decide_head(self.head(request), request.headers(), |_route| Cow::Borrowed(caller))
    }

    /// The same for a server, which knows what the connection says about the head of a request. It is
    /// asked for the caller if a route serves the request and no gate before has refused it.
    pub fn decide_head<'c>(
        &self,
        head: Head<'_>,
        headers: &HeaderMap,
        caller: impl FnOnce(&Route) -> Cow<'c, Caller>,
    ) -> Decision {
        gates::decide(self, head, headers, caller)
    }

    /// What each part of a request means to the route that serves it.
    pub(super) fn inspect(&self, request: &Request<()>, caller: &Caller) -> Inspection {
        gates::inspect(self, self.head(request), request.headers(), caller)
    }

    fn head<'r, B>(&self, request: &'r Request<B>) -> Head<'r> {
        let mut head = Head::read(request);
        head.is_secure = matches!(self.own, OwnOrigin::Public(_));
        // Whether a peer is one of the proxies is a fact of its connection.
        head.is_forwarded = !self.trusts_proxies && request.headers().keys().any(is_forwarding);
        head.protocol = Protocol::of(request).map(Protocol::as_str);
        head
    }

    /// The method by which a route is found: a WebSocket over HTTP/2 is GET.
    pub(super) fn method_of(request: &Request<()>) -> &str {
        let mut head = Head::read(request);
        head.protocol = Protocol::of(request).map(Protocol::as_str);
        gates::method_of(&head)
    }

    /// The number of the path that serves a request for this one. The spelling that is redirected has a
    /// number of its own, which serves no method: it is neither the path nor one that no route has.
    pub(super) fn path_number(&self, path: &str) -> Option<usize> {
        let found = self.paths.find(path)?;
        Some(found.index + if found.is_redirected { self.paths.len() } else { 0 })
    }

    /// Whether a [number of a path](Self::path_number) is one of a spelling that is redirected.
    pub(super) fn is_redirected(&self, number: usize) -> bool {
        number >= self.paths.len()
    }

    /// The form of a template by which [`path_forms`](Self::path_forms) has its path.
    pub(super) fn form(&self, template: &PathTemplate<'_>) -> String {
        self.paths.form(template)
    }

    /// What a path with another trailing slash is.
    pub(super) fn trailing_slash(&self) -> TrailingSlash {
        self.paths.trailing_slash()
    }

    /// The templates of all paths as [`PathTemplate::form`](policy_core::path::PathTemplate::form) writes
    /// them, with their numbers.
    pub(super) fn path_forms(&self) -> impl Iterator<Item = (&str, usize)> {
        self.paths.forms()
    }

    /// The methods of a path, by its number, each with the index of its route.
    pub(super) fn methods_of(&self, path: usize) -> &[(String, usize)] {
        self.paths.methods(path)
    }

    /// The index of what serves other paths.
    pub(super) fn elsewhere(&self) -> Option<usize> {
        self.elsewhere
    }

    /// The index of what serves CONNECT.
    pub(super) fn tunnel(&self) -> Option<usize> {
        self.tunnel
    }

    /// The facts of the app on which decisions about its routes depend, but for its own origin and the
    /// name of its cookie.
    pub(super) fn facts(&self) -> (TrailingSlash, [bool; 5]) {
        let facts = [
            self.has_sessions,
            self.knows_callers,
            self.signs_tokens,
            self.serves_trace,
            self.trusts_proxies,
        ];
        (self.trailing_slash(), facts)
    }

    /// The route that serves a method of a path, or of other paths (`*`), or of CONNECT (an empty
    /// path); `None` where nothing does.
    pub fn serving(&self, method: &str, path: &str) -> Option<&Route> {
        let index = match path {
            "" => self.tunnel,
            "*" => self.elsewhere,
            path => match self.paths.find(path) {
                Some(found) if found.is_redirected => None,
                Some(found) => found.path.route(method),
                None => self.elsewhere,
            },
        };
        let route = self.routes.get(index?).map(|compiled| &compiled.route)?;
        let is_served = route.kind != RouteKind::NotFound || path == "*";
        is_served.then_some(route)
    }

    /// The policy of a route that a decision names.
    pub fn route(&self, decision: &Decision) -> Option<&Route> {
        self.routes.get(decision.route?).map(|compiled| &compiled.route)
    }

    /// The preflight response for one method of a path, which allows all methods that share the same
    /// policy.
    fn preflight(&self, path: &[(String, usize)], served: usize) -> Option<Preflight> {
        let cors = self.routes.get(served)?.cors.as_ref()?;
        let (mut shared, mut by_credentials, mut may_be_kept) = (Vec::new(), Vec::new(), true);
        for (name, index) in path {
            let Some(other) = self.routes.get(*index) else { continue };
            if other.cors.as_ref().is_some_and(|other| other.shares_preflight(cors)) {
                shared.extend(http::Method::from_bytes(name.as_bytes()));
                by_credentials.extend(self.credential_headers(other, name));
            } else {
                may_be_kept &= method::is_safe(name);
            }
        }
        if shared.contains(&http::Method::GET) && !shared.contains(&http::Method::HEAD) {
            shared.push(http::Method::HEAD);
        }
        let preflight = cors.preflight(&shared, &by_credentials);
        Some(if may_be_kept { preflight } else { preflight.not_kept() })
    }

    /// The request headers that a page needs for the credentials of a route.
    fn credential_headers(&self, compiled: &CompiledRoute, method: &str) -> Vec<&'static str> {
        let route = &compiled.route;
        let is_one = matches!(route.kind, RouteKind::Mount | RouteKind::Proxy);
        let unsafe_method = route.methods.iter().find(|method| !method::is_safe(method));
        let method = match unsafe_method {
            Some(unsafe_method) if is_one => unsafe_method,
            _ => method,
        };
        let (has_token, is_ambient) = match &route.auth {
            // Such a route may handle the session itself.
            Auth::Public => (false, self.has_sessions),
            Auth::Required(requirement) => (requirement.token, requirement.is_ambient()),
        };
        let needs_csrf =
            is_ambient && compiled.csrf == CsrfPolicy::Token && !method::is_safe(method);
        let names = [(has_token, "authorization"), (needs_csrf, policy_core::csrf::HEADER)];
        names.into_iter().filter_map(|(is_needed, name)| is_needed.then_some(name)).collect()
    }
}

/// Where the entries of run-time lists are.
enum Lists<'a, 'l> {
    /// By the names of the lists; one without entries has all that its bound allows.
    Texts(&'a dyn Fn(&str) -> Option<&'l [String]>),
    Running(&'a OriginLists),
}

impl CompiledRoute {
    fn new(route: &Route, lists: &Lists<'_, '_>) -> Result<Self, EngineError> {
        let csrf = match &route.csrf {
            Csrf::Token => CsrfPolicy::Token,
            Csrf::OriginElseToken => CsrfPolicy::OriginElseToken,
            Csrf::Origin => CsrfPolicy::Origin,
            // The reason is for people.
            Csrf::Exempt(_) => CsrfPolicy::Exempt(""),
        };
        let cors = match &route.cors {
            None => None,
            Some(cors) => Some(compile(cors, &route.path, lists).map_err(EngineError::Cors)?),
        };
        let judges_anonymous =
            matches!(route.kind, RouteKind::Mount | RouteKind::Proxy | RouteKind::Fallback);
        Ok(Self { route: route.clone(), cors, csrf, judges_anonymous })
    }
}

/// The compiled form of a CORS policy.
fn compile(
    cors: &super::facets::Cors,
    location: &str,
    lists: &Lists<'_, '_>,
) -> Result<Cors, PolicyErrors> {
    let (listed, list) = match &cors.origins {
        Origins::Listed(origins) => (texts(origins), None),
        Origins::AtRunTime(list) => (Vec::new(), Some(list)),
    };
    let within = list.and_then(|list| list.within.as_deref()).map(texts);
    let origins = match list {
        None => cors::Origins::Listed(&listed),
        Some(list) => {
            // Without a running app, one list stands for those of all keys.
            let by = list.by.as_deref().filter(|_| matches!(lists, Lists::Running(_)));
            cors::Origins::AtRunTime { name: &list.list, within: within.as_deref(), by }
        }
    };
    let (methods, headers) = (cors.methods.as_deref().map(texts), texts(&cors.headers));
    let expose = texts(&cors.expose);
    let spec = CorsSpec {
        credentials: cors.credentials,
        methods: methods.as_deref(),
        headers: &headers,
        expose: &expose,
        max_age: cors.max_age,
        dangerous_insecure_origins: cors.dangers.insecure_origins,
        dangerous_public_suffix: cors.dangers.public_suffix,
        // A manifest does not say what the configuration says.
        dangerous_configured_bound: true,
        ..CorsSpec::new(origins)
    };
    let mut named = OriginLists::new();
    let Some(list) = list else { return Cors::compile(location, &spec, &named) };
    named.set_unknown_bound(&list.list);
    match lists {
        Lists::Running(lists) => {
            if let Some(present) = lists.get(&list.list) {
                named.insert(&list.list, present.view());
            }
            Cors::compile(location, &spec, &named)
        }
        Lists::Texts(lists) => {
            let present = SharedOrigins::new();
            named.insert(&list.list, present.clone());
            let compiled = Cors::compile(location, &spec, &named)?;
            let bound = within.iter().flatten().map(|text| (*text).to_owned());
            let bound: Vec<_> = bound.filter(|text| text != "*").collect();
            present.replace(lists(&list.list).unwrap_or(&bound))?;
            Ok(compiled)
        }
    }
}

fn texts(list: &[String]) -> Vec<&str> {
    list.iter().map(String::as_str).collect()
}
