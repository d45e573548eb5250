//! The policy of an app as the laws read it: its manifest, with the source lines that decided. The
//! additional facts are about code, which is not part of a policy.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use http::Method;
use policy_core::{
    csrf,
    object::{Atom, Condition},
    route::Level,
};
use policy_manifest::{
    AppFacts, Csrf, ExamplePaths, Manifest, ManifestRoute, Outcomes, RouteKind, RouteRequirement,
    SourceLine, Sources, TargetFacts, engine::Engine,
};

use super::sharing::Sharing;
use crate::{
    app::{AppParts, group::path_below, route::Entry},
    build,
    handler::{
        describe::Signature,
        object::{KeyOrigin, ObjectDescription},
    },
};

/// The own origin of an app that states none, as in the development profile.
pub(super) const DEVELOPMENT: &str = "http://localhost";

/// An app, as its manifest describes it.
#[derive(Debug)]
pub(super) struct DeclaredApp {
    /// The origin under which browsers reach it.
    pub(super) own: String,
    pub(super) has_sessions: bool,
    /// The attributes of the session cookie, if it ends with the browser, in lower case and sorted.
    pub(super) cookie_attributes: Vec<String>,
    /// Whether there are layers around the app.
    pub(super) has_layers: bool,
    /// Everything that pages can reach and that states its own policies: handlers, mounted services,
    /// proxies, and the fallback.
    pub(super) routes: Vec<Declaration>,
    pub(super) example_paths: ExamplePaths,
    /// The origins that may read responses for unknown paths.
    pub(super) unknown: Option<Arc<Sharing>>,
    /// The engine of the manifest, with the present lists of origins.
    pub(super) engine: Option<Engine>,
    /// Descriptions of the app's code that does not run in a proof.
    pub(super) replaced: Vec<String>,
    /// Whether there is a tunnel, which no law tries.
    pub(super) has_tunnel: bool,
}

/// Routes to which laws may apply: those of an app, or of one path.
pub(super) struct Routes<'a> {
    /// Whether there are layers around the app.
    pub(super) has_layers: bool,
    pub(super) routes: Vec<&'a Declaration>,
}

/// One method of one path.
#[derive(Clone, Debug)]
pub(super) struct Declaration {
    pub(super) method: Method,
    pub(super) route: Arc<ManifestRoute>,
    /// What it can respond with instead of serving a request.
    pub(super) outcomes: Arc<Outcomes>,
    pub(super) sharing: Option<Arc<Sharing>>,
    /// The facets that a level states, even if it states that there is none.
    pub(super) decided: BTreeSet<String>,
    /// `None` for a service.
    pub(super) handler: Option<Handler>,
    /// The objects that parameters of its path name, in their order.
    pub(super) objects: Arc<[ObjectDescription]>,
    /// The lists of objects that its handler takes.
    pub(super) lists: Arc<[ObjectDescription]>,
    /// Routes with the same value are equivalent.
    pub(super) effective: Arc<Effective>,
}

/// The function that serves a route.
#[derive(Clone, Debug)]
pub(super) struct Handler {
    /// Its path: `shop::orders`.
    pub(super) name: String,
    /// Its place in the source.
    pub(super) place: SourceLine,
    /// Its attributes that decided a facet, each with its line.
    attributes: Vec<(String, u32)>,
}

/// Everything that decides about the requests of a route.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Effective {
    /// The route without its path and methods.
    policy: ManifestRoute,
    /// The present entries of its list of origins.
    origins: Vec<String>,
    /// Whether its handler takes more than parameters, so that it may use the caller.
    extracts: bool,
    /// The group whose layers are around it. The layers of another group can differ from these,
    /// though their types have the same names.
    group: Option<usize>,
    /// The module of a handler with layers of its own. In another module, the same words can call
    /// another function.
    module: Option<String>,
}

impl DeclaredApp {
    /// Reads an app before it is built.
    pub(super) fn read(app: &AppParts) -> Self {
        let (manifest, sources) = build::manifest::read(app);
        // The laws judge only by what the text of the manifest contains.
        let manifest = Manifest::parse(&manifest.to_json()).unwrap_or(manifest);
        let lists = |name: &str| sources.lists.get(name).map(Vec::as_slice);
        let engine = Engine::with_lists(&manifest, lists).ok();
        let unknown = manifest
            .routes
            .iter()
            .find(|route| matches!(route.kind, RouteKind::Fallback | RouteKind::NotFound));
        let unknown = unknown.and_then(|route| sharing(route, "*", &sources));
        let extracting = extracting(app);
        let objects = objects(app);
        let layered = layered_routes(app);
        let replaced = replaced(&manifest, &sources);
        let has_tunnel = manifest.routes.iter().any(|route| route.kind == RouteKind::Tunnel);
        let is_stated =
            |route: &&ManifestRoute| route.kind == RouteKind::Handler || route.kind.is_service();
        let routes = manifest.routes.iter().filter(is_stated);
        let routes = routes
            .flat_map(|it| declarations(&manifest, it, &sources, (&extracting, &objects, &layered)))
            .collect();
        Self {
            example_paths: ExamplePaths::new(&manifest.routes),
            cookie_attributes: cookie_attributes(&manifest.app),
            own: manifest.app.public_origin.unwrap_or_else(|| DEVELOPMENT.to_owned()),
            has_sessions: app.sessions.is_some(),
            has_layers: !app.layers.is_empty(),
            routes,
            unknown,
            engine,
            replaced,
            has_tunnel,
        }
    }

    /// All its routes.
    pub(super) fn all_routes(&self) -> Routes<'_> {
        Routes { has_layers: self.has_layers, routes: self.routes.iter().collect() }
    }

    /// All CORS policies of the app.
    pub(super) fn sharings(&self) -> impl Iterator<Item = &Arc<Sharing>> {
        self.routes.iter().filter_map(|route| route.sharing.as_ref()).chain(&self.unknown)
    }
}

impl Routes<'_> {
    /// A reason, unless one of the routes has a property.
    pub(super) fn without(
        &self,
        property: fn(&Declaration) -> bool,
        reason: &'static str,
    ) -> Option<&'static str> {
        (!self.routes.iter().any(|route| property(route))).then_some(reason)
    }
}

/// The code that probes replace.
fn replaced(manifest: &Manifest, sources: &Sources) -> Vec<String> {
    let functions: BTreeSet<_> = sources.handlers.values().collect();
    let mut replaced = Vec::new();
    match functions.len() {
        0 => (),
        1 => replaced.push("1 handler".to_owned()),
        count => replaced.push(format!("{count} handlers")),
    }
    for route in &manifest.routes {
        match route.kind {
            RouteKind::Mount => replaced.push(format!("what is mounted at `{}`", route.path)),
            RouteKind::Proxy => replaced.push(format!("the upstream of `{}`", route.path)),
            RouteKind::Fallback => replaced.push("the fallback".to_owned()),
            RouteKind::Tunnel => replaced.push("tunnels".to_owned()),
            _ => (),
        }
    }
    let schemes: BTreeSet<_> = manifest
        .routes
        .iter()
        .filter_map(|route| route.auth.requirement()?.scheme.as_ref())
        .map(|scheme| format!("the scheme `{}`", scheme.name))
        .collect();
    replaced.extend(schemes);
    replaced.dedup();
    replaced
}

/// The attributes of the session cookie (RFC 6265bis 4.1.2). Over HTTP on loopback, it has none that
/// needs `Secure`.
fn cookie_attributes(app: &AppFacts) -> Vec<String> {
    let Some(sessions) = &app.sessions else { return Vec::new() };
    let mut attributes = vec!["httponly".to_owned(), "path=/".to_owned()];
    let same_site = match (&app.public_origin, &*sessions.same_site) {
        (None, "none") => "lax",
        (_, stated) => stated,
    };
    attributes.push(format!("samesite={same_site}"));
    if app.public_origin.is_some() {
        attributes.push("secure".to_owned());
        attributes.extend(sessions.partitioned.then(|| "partitioned".to_owned()));
        attributes.extend(sessions.domain.as_ref().map(|domain| format!("domain={domain}")));
    }
    attributes.sort_unstable();
    attributes
}

/// The functions that take more than parameters.
fn extracting(app: &AppParts) -> HashSet<&'static str> {
    let all = app.handlers().map(|(_, _, entry)| entry.description);
    all.filter(|handler| handler.extracts).map(|handler| handler.handler).collect()
}

/// The objects of each function: those that it takes in the place of path parameters, and lists.
type Objects = HashMap<&'static str, [Arc<[ObjectDescription]>; 2]>;

fn objects(app: &AppParts) -> Objects {
    let of = |(_, _, entry): (_, _, &Entry)| {
        let objects = Signature::new(entry.describe).objects;
        let with = |is_wanted: fn(KeyOrigin) -> bool| {
            objects.iter().filter(|object| is_wanted(object.key)).cloned().collect()
        };
        let of_path = with(|key| matches!(key, KeyOrigin::Parameter(_)));
        (entry.description.handler, [of_path, with(|key| key == KeyOrigin::List)])
    };
    app.handlers().map(of).collect()
}

/// The routes behind the layers of a group: method and path, and the index of the group.
type LayeredRoutes = HashMap<String, usize>;

fn layered_routes(app: &AppParts) -> LayeredRoutes {
    let mut routes = HashMap::new();
    for (index, (prefix, group)) in app.groups.iter().enumerate() {
        if group.layers.is_empty() {
            continue;
        }
        let handlers = group.routes.iter().flat_map(|entry| entry.description.routes);
        let handlers =
            handlers.map(|(method, path)| format!("{method} {}", path_below(prefix, path)));
        let mounts = group.mounts.iter().flat_map(move |(below, mount)| {
            mount.methods.iter().map(move |method| format!("{method} {prefix}{below}"))
        });
        routes.extend(handlers.chain(mounts).map(|route| (route, index)));
        #[cfg(feature = "gateway")]
        routes.extend(group.upstreams.iter().flat_map(|proxy| {
            let methods = proxy.methods.iter();
            methods.map(move |method| (format!("{method} {prefix}{}", proxy.prefix), index))
        }));
    }
    routes
}

/// The methods of a route.
fn declarations(
    manifest: &Manifest,
    route: &ManifestRoute,
    sources: &Sources,
    (extracting, objects, layered): (&HashSet<&'static str>, &Objects, &LayeredRoutes),
) -> Vec<Declaration> {
    let shared = Arc::new(route.clone());
    let is_fallback = route.kind == RouteKind::Fallback;
    // The fallback serves every method. A page may send these two without a preflight.
    let sampled = ["GET", "POST"].map(str::to_owned);
    let methods: &[String] = if is_fallback { &sampled } else { &route.methods };
    let of = |name: &String| {
        let method = Method::from_bytes(name.as_bytes()).ok()?;
        let written = if is_fallback { "*" } else { name.as_str() };
        let key = format!("{written} {}", route.path);
        let handler = handler(&key, sources);
        let sharing = sharing(route, written, sources);
        let mut policy = route.clone();
        policy.path.clear();
        policy.methods.clear();
        // A probe is in its place, so routes that differ only in this are equivalent.
        policy.target = TargetFacts::default();
        let has_own_layers = route.layers.iter().any(|layer| layer.starts_with("route "));
        let module = handler.as_ref().and_then(|it| it.name.rsplit_once("::"));
        let effective = Effective {
            policy,
            origins: sharing.as_ref().map(|all| all.origins.clone()).unwrap_or_default(),
            extracts: handler.as_ref().is_some_and(|it| extracting.contains(it.name.as_str())),
            group: layered.get(&key).copied(),
            module: module.filter(|_| has_own_layers).map(|(module, _)| module.to_owned()),
        };
        let known = handler.as_ref().and_then(|it| objects.get(it.name.as_str()));
        let [objects, lists] = known.cloned().unwrap_or_default();
        Some(Declaration {
            method,
            objects,
            lists,
            route: Arc::clone(&shared),
            outcomes: Arc::new(manifest.outcomes(route, name)),
            sharing,
            decided: sources
                .decided
                .get(&key)
                .into_iter()
                .flatten()
                .map(|(facet, _)| facet.clone())
                .collect(),
            handler,
            effective: Arc::new(effective),
        })
    };
    methods.iter().filter_map(of).collect()
}

fn sharing(route: &ManifestRoute, method: &str, sources: &Sources) -> Option<Arc<Sharing>> {
    let source = sources.get(method, &route.path, "cors");
    let own = match route.kind {
        RouteKind::Handler => "#[cors]".to_owned(),
        _ => service_name(route),
    };
    Some(Arc::new(Sharing::new(route.cors.as_ref()?, sources, source, &own)))
}

/// The words for a service, which states its own policies.
pub(super) fn service_name(route: &ManifestRoute) -> String {
    match route.kind {
        RouteKind::Fallback => "the fallback".to_owned(),
        RouteKind::Proxy => format!("proxy {}", route.path),
        _ => format!("mount {}", route.path),
    }
}

fn handler(key: &str, sources: &Sources) -> Option<Handler> {
    let name = sources.handlers.get(key)?.clone();
    let place = sources.places.get(key)?.clone();
    let decided = sources.decided.get(key).into_iter().flatten();
    let own = decided.filter(|(_, source)| source.level == Level::Route);
    // A facet without an attribute is noted at the function.
    let own = own.filter(|(_, source)| source.line != place.line);
    let attributes = own.map(|(facet, source)| (facet.clone(), source.line)).collect();
    Some(Handler { name, place, attributes })
}

impl Handler {
    /// The line of an attribute.
    pub(super) fn line_of(&self, attribute: &str) -> Option<u32> {
        let found = self.attributes.iter().find(|(name, _)| name == attribute);
        found.map(|(_, line)| *line)
    }
}

impl Declaration {
    /// The statements in the rules of its objects and lists.
    pub(super) fn conditions(&self) -> Vec<Atom> {
        let all = self.objects.iter().chain(&*self.lists);
        let rules = all.flat_map(|object| object.rules);
        let conditions = rules.filter_map(|(_, text)| text.parse::<Condition>().ok());
        conditions.flat_map(|it| it.atoms().into_iter().cloned().collect::<Vec<_>>()).collect()
    }

    /// The template, prefix included.
    pub(super) fn path(&self) -> &str {
        &self.route.path
    }

    pub(super) fn is_fallback(&self) -> bool {
        self.route.kind == RouteKind::Fallback
    }

    /// The requirement for callers, if there is one.
    pub(super) fn requirement(&self) -> Option<&RouteRequirement> {
        self.route.auth.requirement()
    }

    /// The route, and its place in the source.
    pub(super) fn at(&self) -> String {
        let (method, path) = (&self.method, self.path());
        match &self.handler {
            Some(Handler { name, place, .. }) => {
                format!("{method} {path} of {name} ({}:{})", place.file, place.line)
            }
            None => format!("{method} {path} of {}", service_name(&self.route)),
        }
    }

    pub(super) fn csrf(&self) -> &Csrf {
        &self.route.csrf
    }

    /// Whether the handler takes the session itself.
    pub(super) fn takes_session(&self) -> bool {
        self.route.takes_session
    }

    /// Whether it accepts ambient credentials.
    pub(super) fn is_ambient(&self) -> bool {
        self.takes_session() || self.requirement().is_some_and(RouteRequirement::is_ambient)
    }

    /// Whether it changes nothing, by its method (RFC 9110 9.2.1).
    pub(super) fn is_safe(&self) -> bool {
        is_safe(&self.method)
    }

    /// The request headers that its credentials need.
    pub(super) fn credential_headers(&self, has_sessions: bool) -> Vec<&'static str> {
        let mut names = Vec::new();
        let (token, ambient) = match self.requirement() {
            Some(requirement) => (requirement.token, requirement.is_ambient()),
            // A handler or a mounted service may take the session itself.
            None => (false, has_sessions),
        };
        if token {
            names.push("authorization");
        }
        if ambient && self.route.csrf == Csrf::Token && !self.is_safe() {
            names.push(csrf::HEADER);
        }
        names
    }
}

pub(super) fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::QUERY | Method::OPTIONS | Method::TRACE)
}
