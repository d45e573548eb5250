//! An engine that is made of a manifest: it decides about requests as the app does.
//!
//! It runs no handler and asks no store. Who sent a request is an argument ([`RequestCredentials`]), and rates
//! and permits are assumed to be available.

mod decision;
mod gates;
mod protocol;

pub use crate::credentials::{CredentialState, CsrfTokenState, Login, RequestCredentials};
pub use decision::{Decision, Outcome, Step, Verdict};
pub(super) use gates::{AmbientCredential, CallerFacts, Inspection, SenderFacts};
pub use protocol::Protocol;

pub use policy_core::gates::Gate;

use std::{borrow::Cow, error::Error, fmt, sync::Arc};

use http::{HeaderMap, Method, Request};
use policy_core::{
    Rule,
    cors::{self, Cors, CorsSpec, OriginLists, PolicyErrors, SharedOrigins},
    csrf::CsrfPolicy,
    forwarded::is_forwarding,
    gates::lookup_method,
    head::{Head, OwnOrigin, PublicOrigin},
    method,
    path::{PathTemplate, TrailingSlash},
    router::{AddError, PathMethod, Router, RouterBuilder, Sharing},
};

use super::{
    Manifest,
    facets::{Auth, Csrf, ManifestRoute, RouteCors, RouteKind},
};

/// The compiled policies of a manifest.
///
/// ```
/// use http::Request;
/// use policy_manifest::{Auth, Manifest, ManifestRoute, engine::{RequestCredentials, Engine, Outcome}};
///
/// let mut manifest = Manifest::new();
/// manifest.routes.push(ManifestRoute::handler("/hello/{name}", ["GET"], Auth::Public));
/// let engine = Engine::new(&manifest).unwrap();
/// let request = Request::get("/hello/Ada").header("host", "localhost").body(()).unwrap();
/// let decision = engine.decide(&request, &RequestCredentials::default());
/// assert_eq!(decision.outcome, Outcome::Reached);
/// ```
#[derive(Debug)]
pub struct Engine {
    own: OwnOrigin,
    has_sessions: bool,
    has_login_page: bool,
    knows_callers: bool,
    /// The issuer of the app's own tokens, if it signs any.
    own_issuer: Option<String>,
    /// The only issuer of an app that signs none.
    only_issuer: Option<String>,
    /// The name of the cookie of sessions.
    cookie: String,
    serves_trace: bool,
    trusts_proxies: bool,
    routes: Vec<CompiledRoute>,
    router: Router,
    /// The fallback, or the response to paths without a route.
    elsewhere: Option<usize>,
    tunnel: Option<usize>,
}

/// The policy of one path and some of its methods.
#[derive(Debug)]
struct CompiledRoute {
    /// In the order of the manifest.
    index: usize,
    route: ManifestRoute,
    cors: Option<Arc<Cors>>,
    /// The run-time list of the policy, if its entries are not known.
    assumed_list: Option<String>,
    csrf: CsrfPolicy,
    /// Whether the route or an argument of its handler may need the caller.
    needs_caller: bool,
    /// Whether unsafe requests without a caller need a trusted origin, too.
    checks_anonymous: bool,
}

/// Why a manifest cannot be compiled into an engine, in words: its public origin, a path or a CORS
/// policy breaks a rule, or two paths match the same requests.
#[derive(Debug)]
pub struct EngineError(String);

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for EngineError {}

impl Engine {
    /// Compiles a manifest. The run-time lists of origins are assumed to have all origins that
    /// their bounds allow, and without a bound every origin, since an operator may grant them.
    ///
    /// # Errors
    ///
    /// The first policy that breaks a rule: the engine validates as macros and the start do.
    pub fn new(manifest: &Manifest) -> Result<Self, EngineError> {
        Self::with_lists(manifest, |_| None)
    }

    /// The same with the current entries of run-time lists, by the names of the lists.
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

    /// The same with the run-time lists of a running app: a replaced list is also used here, even
    /// if the bounds of this manifest do not allow it. The engine does not change the lists.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new); also a list that is missing, or currently has an entry that a bound
    /// forbids.
    pub fn following(manifest: &Manifest, lists: &OriginLists) -> Result<Self, EngineError> {
        Self::compile(manifest, &Lists::Running(lists))
    }

    fn compile(manifest: &Manifest, lists: &Lists<'_, '_>) -> Result<Self, EngineError> {
        let app = &manifest.app;
        let broken = |rule: Rule| EngineError(format!("the public origin: {}", rule.message()));
        let own = match &app.public_origin {
            None => OwnOrigin::Development,
            Some(text) => OwnOrigin::Public(PublicOrigin::parse(text).map_err(broken)?),
        };
        let own_issuer = app.tokens.as_ref().and_then(|facts| facts.issuer.clone());
        // If there are several, an app starts only if its routes name theirs.
        let only_issuer = app.tokens.as_ref().and_then(|facts| facts.accepts.first());
        let only_issuer = only_issuer.filter(|_| own_issuer.is_none());
        let only_issuer = only_issuer.map(|facts| facts.issuer.clone());
        let mut engine = Self {
            own,
            has_sessions: app.sessions.is_some(),
            has_login_page: app.sessions.as_ref().is_some_and(|facts| facts.login_page.is_some()),
            knows_callers: app.sessions.is_some() || app.tokens.is_some(),
            own_issuer,
            only_issuer,
            cookie: app.sessions.as_ref().map(|facts| facts.cookie.clone()).unwrap_or_default(),
            serves_trace: app.trace,
            trusts_proxies: !app.proxies.is_empty(),
            routes: Vec::with_capacity(manifest.routes.len()),
            router: Router::default(),
            elsewhere: None,
            tunnel: None,
        };
        let mut router = RouterBuilder::new(app.trailing_slash);
        for route in &manifest.routes {
            let index = engine.routes.len();
            let compiled = CompiledRoute::new(index, route, lists, engine.knows_callers)?;
            match route.kind {
                RouteKind::Fallback | RouteKind::NotFound => engine.elsewhere = Some(index),
                RouteKind::Tunnel => engine.tunnel = Some(index),
                _ => engine.add(&mut router, &compiled)?,
            }
            engine.routes.push(compiled);
        }
        engine.router = router.finish();
        Ok(engine)
    }

    fn add(&self, router: &mut RouterBuilder, compiled: &CompiledRoute) -> Result<(), EngineError> {
        let route = &compiled.route;
        let mut add = |path: &str, methods: &[Method], by_credentials| {
            let sharing = Sharing { cors: compiled.cors.clone(), by_credentials };
            router.add(path, methods, compiled.index, &sharing).map_err(|error| {
                EngineError(match error {
                    AddError::Rule(rule) => format!("the path `{path}`: {}", rule.message()),
                    _ => format!("another path matches the same requests as `{path}`"),
                })
            })
        };
        let methods: Vec<Method> =
            route.methods.iter().filter_map(|name| name.parse().ok()).collect();
        if !matches!(route.kind, RouteKind::Mount | RouteKind::Proxy) {
            if methods.is_empty() {
                // This is still a path, and not one without a route.
                return add(&route.path, &[], Vec::new());
            }
            return methods.iter().try_for_each(|method| {
                let by_credentials = self.credential_headers(compiled, method);
                add(&route.path, std::slice::from_ref(method), by_credentials)
            });
        }
        let unsafe_method = methods.iter().find(|method| !method::is_safe(method.as_str()));
        let by_credentials =
            self.credential_headers(compiled, unsafe_method.unwrap_or(&Method::GET));
        let paths = route.templates();
        paths.iter().try_for_each(|path| add(path, &methods, by_credentials.clone()))
    }

    /// Decides about a request: the gates, in their order. The `:protocol` of an extended CONNECT is
    /// its extension [`Protocol`].
    pub fn decide<B>(&self, request: &Request<B>, caller: &RequestCredentials) -> Decision {
        self.decide_head(self.head(request), request.headers(), |_route| Cow::Borrowed(caller))
    }

    /// The same for a server, which adds the facts of the connection to the head of a request.
    /// `caller` is called if a route serves the request and no earlier gate has refused it.
    pub fn decide_head<'c>(
        &self,
        head: Head<'_>,
        headers: &HeaderMap,
        caller: impl FnOnce(&ManifestRoute) -> Cow<'c, RequestCredentials>,
    ) -> Decision {
        gates::decide(self, head, headers, caller)
    }

    /// The meaning of each part of a request for the route that serves it.
    pub(super) fn inspect(&self, request: &Request<()>, caller: &RequestCredentials) -> Inspection {
        gates::inspect(self, self.head(request), request.headers(), caller)
    }

    /// The login of the caller of a request, if a credential that counts names one.
    pub(super) fn login(
        &self,
        request: &Request<()>,
        caller: &RequestCredentials,
    ) -> Option<Login> {
        gates::login(self, self.head(request), request.headers(), caller)
    }

    fn head<'r, B>(&self, request: &'r Request<B>) -> Head<'r> {
        let mut head = Head::read(request);
        head.is_secure = matches!(self.own, OwnOrigin::Public(_));
        // Whether a peer is one of the proxies is a fact of its connection.
        head.is_forwarded = !self.trusts_proxies && request.headers().keys().any(is_forwarding);
        head.protocol = Protocol::from_request(request).map(Protocol::as_str);
        head
    }

    /// The method by which a route is found: a WebSocket over HTTP/2 is GET.
    pub(super) fn method_of(request: &Request<()>) -> &str {
        let mut head = Head::read(request);
        head.protocol = Protocol::from_request(request).map(Protocol::as_str);
        lookup_method(&head).as_str()
    }

    /// The number of the path that serves a request for this one. A spelling that is redirected has
    /// a separate number, which serves no method: it is neither the path nor one without a route.
    pub(super) fn path_number(&self, path: &str) -> Option<usize> {
        let (found, _) = self.router.find(path)?;
        Some(found.index() + if found.redirects(path) { self.router.paths().len() } else { 0 })
    }

    /// Whether a [number of a path](Self::path_number) is that of a redirected spelling.
    pub(super) fn is_redirected(&self, number: usize) -> bool {
        number >= self.router.paths().len()
    }

    /// The form of a template by which [`path_forms`](Self::path_forms) has its path.
    pub(super) fn form(&self, template: &PathTemplate<'_>) -> String {
        self.router.form(template)
    }

    /// How a path is treated that differs from a route only in its trailing slash.
    pub(super) fn trailing_slash(&self) -> TrailingSlash {
        self.router.trailing_slash()
    }

    /// The templates of all paths as [`PathTemplate::form`](policy_core::path::PathTemplate::form) writes
    /// them, with their numbers.
    pub(super) fn path_forms(&self) -> impl Iterator<Item = (&str, usize)> {
        self.router.forms()
    }

    /// The methods of a path, by its number.
    pub(super) fn methods_of(&self, path: usize) -> &[PathMethod] {
        self.router.paths().get(path).map_or(&[], |path| path.methods())
    }

    /// The index of the route that serves a method of a path, by its number.
    pub(super) fn index_by_number(&self, method: &str, number: usize) -> Option<usize> {
        let path = self.router.paths().get(number)?;
        path.route_for_name(method.as_bytes()).map(|served| served.route)
    }

    /// The index of the route that serves a method of a path, which may be the route for other paths.
    pub(super) fn index_by_path(&self, method: &str, path: &str) -> Option<usize> {
        match self.path_number(path) {
            Some(number) => self.index_by_number(method, number),
            None => self.elsewhere,
        }
    }

    /// The index of the route that serves other paths.
    pub(super) fn elsewhere(&self) -> Option<usize> {
        self.elsewhere
    }

    /// The index of the route that serves CONNECT.
    pub(super) fn tunnel(&self) -> Option<usize> {
        self.tunnel
    }

    /// The facts of the app on which decisions about its routes depend, except its own origin and
    /// the name of its cookie.
    pub(super) fn facts(&self) -> (TrailingSlash, [bool; 4], [&Option<String>; 2]) {
        let facts = [self.has_sessions, self.knows_callers, self.serves_trace, self.trusts_proxies];
        (self.trailing_slash(), facts, [&self.own_issuer, &self.only_issuer])
    }

    /// The route that serves a method of a path, or of other paths (`*`), or of CONNECT (an empty
    /// path); `None` if there is none.
    pub fn serving(&self, method: &str, path: &str) -> Option<&ManifestRoute> {
        let index = match path {
            "" => self.tunnel,
            "*" => self.elsewhere,
            path => self.index_by_path(method, path),
        };
        let route = self.routes.get(index?).map(|compiled| &compiled.route)?;
        let is_served = route.kind != RouteKind::NotFound || path == "*";
        is_served.then_some(route)
    }

    /// Whether the route that serves a method of a path takes the encoded slashes in it; `None` if there is
    /// none.
    pub(super) fn takes_slashes(&self, method: &str, path: &str) -> Option<bool> {
        self.serving(method, path)?;
        // A fallback takes none.
        let Some(found) = self.router.find(path) else { return Some(false) };
        let served = found.0.route_for_name(method.as_bytes())?;
        Some(self.router.takes_slashes(path, found, served))
    }

    /// The policy of a route that a decision names.
    pub fn route(&self, decision: &Decision) -> Option<&ManifestRoute> {
        self.routes.get(decision.route?).map(|compiled| &compiled.route)
    }

    fn elsewhere_route(&self) -> Option<&CompiledRoute> {
        self.routes.get(self.elsewhere?)
    }

    /// The request headers that a page needs for the credentials of a route.
    fn credential_headers(&self, compiled: &CompiledRoute, method: &Method) -> Vec<&'static str> {
        let (has_token, is_ambient) = match &compiled.route.auth {
            // Such a route may handle the session itself.
            Auth::Public => (false, self.has_sessions),
            Auth::Required(requirement) => (requirement.token, requirement.is_ambient()),
        };
        let needs_csrf =
            is_ambient && compiled.csrf == CsrfPolicy::Token && !method::is_safe(method.as_str());
        let names = [(has_token, "authorization"), (needs_csrf, policy_core::csrf::HEADER)];
        names.into_iter().filter_map(|(is_needed, name)| is_needed.then_some(name)).collect()
    }
}

/// The source of the entries of run-time lists.
enum Lists<'a, 'l> {
    /// By the names of the lists; one that is not given has all origins that its bound allows.
    Texts(&'a dyn Fn(&str) -> Option<&'l [String]>),
    Running(&'a OriginLists),
}

impl Lists<'_, '_> {
    /// Whether a list is assumed to have every origin that its bound allows.
    fn assumes(&self, name: &str) -> bool {
        matches!(self, Self::Texts(entries) if entries(name).is_none())
    }
}

impl CompiledRoute {
    fn new(
        index: usize,
        route: &ManifestRoute,
        lists: &Lists<'_, '_>,
        knows_callers: bool,
    ) -> Result<Self, EngineError> {
        let csrf = match &route.csrf {
            Csrf::Token => CsrfPolicy::Token,
            Csrf::OriginElseToken => CsrfPolicy::OriginElseToken,
            Csrf::Origin => CsrfPolicy::Origin,
            // The reason has no effect on decisions.
            Csrf::Exempt(_) => CsrfPolicy::Exempt(""),
        };
        let cors = match &route.cors {
            None => None,
            Some(cors) => {
                let compiled = compile(cors, &route.path, lists);
                Some(Arc::new(compiled.map_err(|errors| EngineError(errors.to_string()))?))
            }
        };
        let list = route.cors.as_ref().and_then(RouteCors::list).map(|list| list.list.clone());
        let assumed_list = list.filter(|list| lists.assumes(list));
        let checks_anonymous = route.kind.is_service();
        let is_service = matches!(route.kind, RouteKind::Mount | RouteKind::Fallback);
        let takes_caller = (is_service || route.takes_session) && knows_callers;
        let needs_caller = route.auth != Auth::Public || takes_caller;
        let route = route.clone();
        Ok(Self { index, route, cors, assumed_list, csrf, needs_caller, checks_anonymous })
    }
}

/// The compiled form of a CORS policy.
fn compile(cors: &RouteCors, location: &str, lists: &Lists<'_, '_>) -> Result<Cors, PolicyErrors> {
    let list = cors.list();
    let listed = if list.is_some() { Vec::new() } else { texts(cors.patterns()) };
    let within = list.and_then(|list| list.within.as_deref()).map(texts);
    let origins = match list {
        None => cors::Origins::Listed(&listed),
        Some(list) => {
            // Without a running app, one list represents those of all keys.
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
        // A manifest does not contain the configuration.
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
            let entries = lists(&list.list);
            if entries.is_none() && matches!(within.as_deref(), None | Some(["*"])) {
                named.set_unknown_entries(&list.list);
                return Cors::compile(location, &spec, &named);
            }
            let present = SharedOrigins::new();
            named.insert(&list.list, present.clone());
            let compiled = Cors::compile(location, &spec, &named)?;
            let bound: Vec<_> = within.iter().flatten().map(|text| (*text).to_owned()).collect();
            present.replace(entries.unwrap_or(&bound))?;
            Ok(compiled)
        }
    }
}

fn texts(list: &[String]) -> Vec<&str> {
    list.iter().map(String::as_str).collect()
}
