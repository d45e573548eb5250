//! The manifest of an app, read from its declarations: each facet from the nearest level that states
//! it. Errors of a declaration are reported at start.

mod facts;

use std::{collections::BTreeSet, panic::Location};

use policy_core::{
    auth::{AuthPolicy, AuthSpec},
    cors::CorsExtension,
    csrf::CsrfPolicy,
    head::{OwnOrigin, PublicOrigin},
    headers::HeadersPolicy,
    limits::Limits,
    method::is_safe,
    outcome::ArgumentKind,
    route::{
        Facet, FacetPolicy as _, FromSpec as _, Level, LevelPolicy, RouteFacts, RoutePolicy,
        nearest,
    },
};
use policy_manifest::{
    Auth, Csrf, FacetSource, HandlerFacts, Manifest, ManifestRoute, ObjectKey, ObjectUse,
    OwnProblem, RouteCors, RouteKind, SourceLine, Sources, TargetFacts, facet::FromPolicy,
};

use super::origin_lists::NamedLists;
use crate::{
    app::{
        AppParts,
        access::{Access, HandlerCallers},
        cors_source::CorsSource,
        group::{GroupParts, path_below},
        mount::Mount,
        policies::Policies,
        route::Entry,
    },
    handler::{
        Description,
        describe::Signature,
        object::{KeyOrigin, ObjectDescription},
    },
    route::limits::{BODY, TIMEOUT},
};

/// The manifest of an app, and where its policies are written.
pub(crate) fn read(app: &AppParts) -> (Manifest, Sources) {
    let own = app.public_origin.as_deref().and_then(|text| PublicOrigin::parse(text).ok());
    let own = own.map_or(OwnOrigin::Development, OwnOrigin::Public);
    let mut manifest = Manifest::new();
    manifest.app = facts::describe_app(app, &own);
    let mut sources = Sources::default();
    // Errors of a list are reported at start.
    let named = NamedLists::read(app.origins.clone(), &mut Vec::new());
    named.fill().for_each(drop);
    sources.lists =
        named.lists.iter().map(|(name, list)| (name.to_owned(), list.patterns())).collect();
    let mut defaults = app.policies.level.clone();
    if defaults.headers == Facet::Inherit {
        defaults.headers = Facet::Set(HeadersPolicy::DEFAULT);
    }
    let mut reader = Reader { app, defaults: &defaults, manifest, sources };
    reader.routes();
    let Reader { manifest, sources, .. } = reader;
    (manifest.normal(), sources)
}

/// The target of a route, and its own policies.
struct DeclaredTarget<'a> {
    kind: RouteKind,
    path: String,
    methods: Vec<String>,
    auth: AuthPolicy,
    /// The level of a handler's requirement.
    auth_level: Level,
    /// The CSRF protection, and the level that states it.
    csrf: (CsrfPolicy, Option<Level>),
    policies: LevelPolicy<CorsSource>,
    facts: RouteFacts<'a>,
    takes_session: bool,
    takes_slashes: bool,
    target: TargetFacts,
    handler: HandlerFacts,
    layers: Vec<String>,
    /// The source of the level itself: a handler, or the calls of a mount.
    written: PolicySource<'a>,
    group: Option<&'a Policies>,
}

/// The source of the policies of a route.
#[derive(Clone, Copy)]
enum PolicySource<'a> {
    Handler(&'a Description),
    Calls(&'a Policies),
    Nowhere,
}

struct Reader<'a> {
    app: &'a AppParts,
    /// What the app states, with the headers that it has by default.
    defaults: &'a LevelPolicy<CorsSource>,
    manifest: Manifest,
    sources: Sources,
}

impl<'a> Reader<'a> {
    fn routes(&mut self) {
        let app = self.app;
        for route in &app.routes {
            self.handler(route, "", None);
        }
        for (prefix, group) in &app.groups {
            for route in &group.routes {
                self.handler(route, prefix, Some(group));
            }
            for (below, mount) in &group.mounts {
                self.mount(format!("{prefix}{below}"), mount, Some(group));
            }
            #[cfg(feature = "gateway")]
            for proxy in &group.upstreams {
                self.proxied(proxy, prefix, Some(group));
            }
        }
        for (prefix, mount) in &app.mounts {
            self.mount(prefix.clone(), mount, None);
        }
        #[cfg(feature = "gateway")]
        for proxy in &app.gateway.upstreams {
            self.proxied(proxy, "", None);
        }
        for (path, _) in &app.probes {
            self.probe(path);
        }
        #[cfg(feature = "gateway")]
        if let Some(tunnel) = &app.gateway.tunnel {
            self.tunnel(tunnel);
        }
        match &app.fallback {
            Some(fallback) => {
                let declared = DeclaredTarget {
                    target: facts::served_by(&fallback.served_by),
                    layers: facts::layers("fallback", &fallback.layers).collect(),
                    ..DeclaredTarget::public(RouteKind::Fallback, "*".to_owned())
                };
                self.mounted(declared, fallback.access, &fallback.policies, None);
            }
            None => self.add(&DeclaredTarget {
                facts: RouteFacts { methods: &["GET"], ..RouteFacts::PUBLIC },
                ..DeclaredTarget::public(RouteKind::NotFound, "*".to_owned())
            }),
        }
    }

    fn handler(&mut self, entry: &'a Entry, prefix: &str, group: Option<&'a GroupParts>) {
        let description = &entry.description;
        let types = Signature::new(entry.describe);
        let signature = describe_handler(&types);
        let policy = &description.policy;
        let csrf = Access::nearest_csrf(policy.csrf, access_of(group), self.app.access);
        let own_layers = entry.layer_names.iter().map(|name| format!("route {name}"));
        let layers: Vec<_> = layers_of(group).chain(own_layers).collect();
        let (own, _) = policy.level();
        let callers = HandlerCallers::find(description, access_of(group), self.app.access);
        // An app in which no level states the callers does not start.
        let (auth, auth_level) = callers
            .map_or((AuthPolicy::Public, Level::Route), |callers| (callers.auth, callers.level));
        let methods: Vec<_> = description.routes.iter().map(|(method, _)| *method).collect();
        let spec = AuthSpec {
            takes_session: description.takes_session,
            ..AuthSpec::from_policies(&auth, policy.csrf.as_ref())
        };
        for (method, path) in description.routes {
            let path = path_below(prefix, path);
            let key = format!("{method} {path}");
            let place = SourceLine { file: description.file.to_owned(), line: description.line };
            self.sources.handlers.insert(key.clone(), description.handler.to_owned());
            self.sources.places.insert(key, place);
            self.add(&DeclaredTarget {
                methods: vec![(*method).to_owned()],
                auth,
                auth_level,
                csrf,
                policies: own.map_cors(|cors| cors.map(CorsSource::Policy)),
                facts: RouteFacts::new(&spec, &methods, false),
                takes_session: description.takes_session,
                handler: signature.clone(),
                layers: layers.clone(),
                written: PolicySource::Handler(description),
                group: group.map(|group| &group.policies),
                ..DeclaredTarget::public(RouteKind::Handler, path)
            });
            if let Some(route) = self.manifest.routes.last_mut() {
                add_objects(route, &types);
            }
            types.objects.iter().for_each(|object| self.rules(object));
        }
    }

    /// The rules of an object, and where they are written.
    fn rules(&mut self, object: &ObjectDescription) {
        for (index, (action, text)) in object.rules.iter().enumerate() {
            let name = format!("{}.{action}", object.name);
            if let Some((file, line)) = object.places.get(index) {
                let source =
                    FacetSource { level: Level::Route, file: (*file).to_owned(), line: *line };
                let of_rule = std::collections::BTreeMap::from([("object".to_owned(), source)]);
                self.sources.decided.insert(format!("* {name}"), of_rule);
            }
            self.manifest.objects.insert(name, (*text).to_owned());
        }
    }

    fn mount(&mut self, path: String, mount: &'a Mount, group: Option<&'a GroupParts>) {
        let declared = DeclaredTarget {
            methods: mount.methods.iter().map(ToString::to_string).collect(),
            takes_slashes: mount.paths.take_slashes,
            target: facts::describe_mount(mount),
            layers: layers_of(group).collect(),
            ..DeclaredTarget::public(RouteKind::Mount, path)
        };
        self.mounted(declared, mount.access, &mount.policies, group);
    }

    /// A mount, a proxy or the fallback.
    fn mounted(
        &mut self,
        declared: DeclaredTarget<'a>,
        access: Access,
        defaults: &'a Policies,
        group: Option<&'a GroupParts>,
    ) {
        let outer = access_of(group);
        // An app in which no level states the callers does not start.
        let callers = access.or(outer).or(self.app.access).callers;
        let auth = callers.map_or(AuthPolicy::Public, |callers| callers.policy());
        let extracts = declared.kind != RouteKind::Proxy;
        let csrf = access.csrf_of_target(outer, self.app.access, &auth, extracts);
        let methods = declared.methods.clone();
        let names: Vec<_> = match declared.kind {
            RouteKind::Fallback => vec!["GET"],
            _ => methods.iter().map(String::as_str).collect(),
        };
        let spec = AuthSpec::from_policies(&auth, access.csrf.as_ref());
        self.add(&DeclaredTarget {
            auth,
            csrf,
            policies: defaults.level.clone(),
            facts: RouteFacts::new(&spec, &names, false),
            written: PolicySource::Calls(defaults),
            group: group.map(|group| &group.policies),
            ..declared
        });
    }

    #[cfg(feature = "gateway")]
    fn proxied(
        &mut self,
        proxy: &'a crate::app::proxy::ReverseProxy,
        prefix: &str,
        group: Option<&'a GroupParts>,
    ) {
        let declared = DeclaredTarget {
            methods: proxy.methods.iter().map(ToString::to_string).collect(),
            takes_slashes: proxy.paths.take_slashes,
            target: facts::describe_proxy(proxy),
            layers: layers_of(group).collect(),
            ..DeclaredTarget::public(RouteKind::Proxy, format!("{prefix}{}", proxy.prefix))
        };
        self.mounted(declared, proxy.access, &proxy.policies, group);
    }

    /// A probe is exempt from the policies of the app.
    fn probe(&mut self, path: &str) {
        let cache = policy_core::cache::CachePolicy::no_store().build();
        let mut route = policy_manifest::ManifestRoute::new(
            RouteKind::Probe,
            path,
            ["GET"],
            policy_manifest::Auth::Public,
        );
        route.cache = Some((&cache).into());
        route.limits = limits(Limits::NONE);
        let headers = FromPolicy::from_policy(&HeadersPolicy::DEFAULT, &mut self.manifest);
        route.headers = Some(headers);
        self.manifest.routes.push(route);
    }

    #[cfg(feature = "gateway")]
    fn tunnel(&mut self, tunnel: &crate::app::tunnel::Tunnel) {
        let auth = tunnel.requirement.map_or(AuthPolicy::Public, |callers| callers.policy());
        let mut no_cors = LevelPolicy::default();
        no_cors.cors = Facet::None;
        let csrf = match auth {
            AuthPolicy::Public => CsrfPolicy::default(),
            _ => CsrfPolicy::Exempt("no page can send CONNECT"),
        };
        self.add(&DeclaredTarget {
            methods: vec!["CONNECT".to_owned()],
            auth,
            csrf: (csrf, None),
            policies: no_cors,
            facts: RouteFacts { methods: &["GET"], ..RouteFacts::PUBLIC },
            target: facts::describe_tunnel(tunnel),
            ..DeclaredTarget::public(RouteKind::Tunnel, String::new())
        });
        if let Some(route) = self.manifest.routes.last_mut() {
            route.targets.clone_from(&tunnel.targets);
        }
    }

    /// Resolves the facets of a route.
    fn add(&mut self, declared: &DeclaredTarget<'_>) {
        let group = declared.group.map(|group| &group.level);
        let levels = [
            (Level::Route, Some(&declared.policies)),
            (Level::Group, group),
            (Level::App, Some(self.defaults)),
        ];
        let own = declared.own();
        let (cors, cors_level) =
            nearest(with_policies(levels).map(|(level, it)| (level, it.cors.clone())));
        let cors = cors.map(|source| cors_of(&source, own.map(|own| &own.cors_extension)));
        let has_jsonp = own.is_some_and(|own| own.jsonp.is_some());
        let facts = RouteFacts { has_jsonp, ..declared.facts };
        let mut route = policy_manifest::ManifestRoute::new(
            declared.kind,
            &declared.path,
            declared.methods.clone(),
            policy_manifest::Auth::from(&declared.auth),
        );
        route.csrf = Csrf::from(&declared.csrf.0);
        route.takes_session = declared.takes_session;
        route.takes_slashes = declared.takes_slashes;
        route.target = declared.target.clone();
        route.handler = declared.handler.clone();
        route.layers.clone_from(&declared.layers);
        route.cors = cors;
        let limits_of = |policies: Option<&LevelPolicy<_>>| policies.map(|of| of.limits);
        let stated = levels.iter().filter_map(|(_, policies)| limits_of(*policies));
        route.limits = limits(stated.fold(Limits::NONE, Limits::or));
        let states_limits = |policies| limits_of(policies).is_some_and(|it| it != Limits::NONE);
        let limits_level = levels.into_iter().find(|(_, policies)| states_limits(*policies));
        let mut decided = self.facets(&mut route, levels, own, facts);
        decided.extend([
            ("auth", (declared.kind != RouteKind::NotFound).then_some(declared.auth_level)),
            ("csrf", declared.csrf.1),
            ("cors", cors_level),
            ("limits", limits_level.map(|(level, _)| level)),
        ]);
        self.note(declared, decided);
        self.manifest.routes.push(route);
    }

    /// Notes where the facets of a route are written.
    fn note(&mut self, declared: &DeclaredTarget<'_>, decided: Vec<(&str, Option<Level>)>) {
        let mut of_route = std::collections::BTreeMap::new();
        for (facet, level) in decided {
            let Some(level) = level else { continue };
            let location = match (level, declared.written) {
                (Level::Route, PolicySource::Handler(description)) => {
                    let name = if facet == "limits" { "limit" } else { facet };
                    let line =
                        description.attributes.iter().find(|(attribute, _)| *attribute == name);
                    let line = line.map_or(description.line, |(_, line)| *line);
                    Some((level, description.file, line))
                }
                (Level::Route, PolicySource::Calls(defaults)) => {
                    let levels = [
                        (Level::Route, Some(defaults)),
                        (Level::Group, declared.group),
                        (Level::App, Some(&self.app.policies)),
                    ];
                    // The callers of a mount are inherited.
                    levels.into_iter().find_map(|(level, defaults)| {
                        let location = defaults?.location(facet)?;
                        Some((level, location.file(), location.line()))
                    })
                }
                (Level::Route, PolicySource::Nowhere) => None,
                (Level::Group, _) => {
                    place(level, declared.group.and_then(|group| group.location(facet)))
                }
                (Level::App, _) => place(level, self.app.policies.location(facet)),
            };
            if let Some((level, file, line)) = location {
                let source = FacetSource { level, file: file.to_owned(), line };
                of_route.insert(facet.to_owned(), source);
            }
        }
        let methods =
            if declared.methods.is_empty() { &["*".to_owned()][..] } else { &declared.methods };
        for method in methods {
            let key = format!("{method} {}", declared.path);
            self.sources.decided.insert(key, of_route.clone());
        }
    }
}

/// The levels that may state the facets of a route, and what each of them states.
type Levels<'a> = [(Level, Option<&'a LevelPolicy<CorsSource>>); 3];

/// The levels that have policies.
fn with_policies(levels: Levels<'_>) -> impl Iterator<Item = (Level, &LevelPolicy<CorsSource>)> {
    levels.into_iter().filter_map(|(level, policies)| Some((level, policies?)))
}

macro_rules! read_facets {
    (
        levels { $(
            $(#[$doc:meta])* $name:ident: $Spec:ty => $Policy:ty => $Compiled:ty,
            $(#[$none_doc:meta])* $none:ident;
        )* }
        route { $($(#[$own_doc:meta])* $own:ident: $OwnSpec:ty => $OwnPolicy:ty => $OwnCompiled:ty,)* }
    ) => {
        impl Reader<'_> {
            /// Takes each facet from the nearest level that states it. Returns these levels.
            fn facets(
                &mut self,
                route: &mut policy_manifest::ManifestRoute,
                levels: Levels<'_>,
                own: Option<&RoutePolicy>,
                facts: RouteFacts<'_>,
            ) -> Vec<(&'static str, Option<Level>)> {
                let mut decided = Vec::new();
                $({
                    let (policy, level) =
                        nearest(with_policies(levels).map(|(level, it)| (level, it.$name)));
                    let applies = |policy: &$Policy| level.is_some_and(|it| policy.applies(it, facts));
                    let level = level.filter(|_| policy.as_ref().is_none_or(applies));
                    let policy = policy.filter(applies);
                    let value = |policy| FromPolicy::from_policy(&policy, &mut self.manifest);
                    route.$name = policy.map(value);
                    decided.push((stringify!($name), level));
                })*
                $({
                    let policy = own.and_then(|own| <$OwnPolicy>::from_spec(own.$own?).ok());
                    decided.push((stringify!($own), policy.map(|_| Level::Route)));
                    let value = |policy| FromPolicy::from_policy(&policy, &mut self.manifest);
                    route.$own = policy.map(value);
                })*
                decided
            }
        }
    };
}

policy_core::facets!([read_facets]);

fn place(
    level: Level,
    location: Option<&'static Location<'static>>,
) -> Option<(Level, &'static str, u32)> {
    location.map(|location| (level, location.file(), location.line()))
}

/// The statements of a group about callers; empty without a group.
fn access_of(group: Option<&GroupParts>) -> Access {
    group.map(|group| group.access).unwrap_or_default()
}

fn layers_of(group: Option<&GroupParts>) -> impl Iterator<Item = String> {
    group.into_iter().flat_map(|group| facts::layers("group", &group.layers))
}

impl<'a> DeclaredTarget<'a> {
    /// The policy of the attributes of a handler.
    fn own(&self) -> Option<&'a RoutePolicy> {
        match self.written {
            PolicySource::Handler(description) => Some(&description.policy),
            PolicySource::Calls(_) | PolicySource::Nowhere => None,
        }
    }

    /// A public route that states nothing.
    fn public(kind: RouteKind, path: String) -> Self {
        Self {
            kind,
            path,
            methods: Vec::new(),
            auth: AuthPolicy::Public,
            auth_level: Level::Route,
            csrf: (CsrfPolicy::default(), None),
            policies: LevelPolicy::default(),
            facts: RouteFacts::PUBLIC,
            takes_session: false,
            takes_slashes: false,
            target: TargetFacts::default(),
            handler: HandlerFacts::default(),
            layers: Vec::new(),
            written: PolicySource::Nowhere,
            group: None,
        }
    }
}

/// Notes the objects that a handler takes, the version of the one that it changes, and the ids that it takes
/// without one.
fn add_objects(route: &mut ManifestRoute, Signature { objects, ids, .. }: &Signature) {
    let uses = objects.iter().map(|object| ObjectUse {
        object: object.name.to_owned(),
        action: object.action.to_owned(),
        key: match object.key {
            KeyOrigin::Parameter(name) => ObjectKey::Parameter(name.to_owned()),
            KeyOrigin::Handler => ObjectKey::Handler,
            KeyOrigin::List => ObjectKey::List,
        },
    });
    if !objects.is_empty() {
        route.object.get_or_insert_default().uses = uses.collect();
    }
    let is_of_path = |it: &&ObjectDescription| matches!(it.key, KeyOrigin::Parameter(_));
    let changes = route.methods.iter().any(|method| !is_safe(method));
    if changes && objects.iter().rfind(is_of_path).is_some_and(|it| it.is_versioned) {
        route.handler.takes.push(ArgumentKind::Version);
    }
    let is_checked = objects.iter().any(|it| !is_of_path(&it))
        || route.object.as_ref().is_some_and(|it| it.none.is_some());
    let ids: BTreeSet<_> = ids.iter().flat_map(|ids_of| ids_of()).map(str::to_owned).collect();
    if route.auth != Auth::Public && !is_checked && !ids.is_empty() {
        route.object.get_or_insert_default().fields = ids;
    }
}

fn describe_handler(signature: &Signature) -> HandlerFacts {
    let mut facts = HandlerFacts::default();
    facts.takes.clone_from(&signature.takes);
    let problems = signature.problems.iter();
    facts.problems = problems
        .map(|problem| OwnProblem { status: problem.status, code: problem.code.map(str::to_owned) })
        .collect();
    facts.open = signature.is_open;
    facts
}

fn cors_of(source: &CorsSource, extension: Option<&CorsExtension<'_>>) -> RouteCors {
    let mut cors: RouteCors = match source {
        CorsSource::Policy(policy) => policy.spec().into(),
        CorsSource::Config(config) => config.with_spec(|spec| spec.into()),
    };
    if let Some(CorsExtension { headers, expose }) = extension {
        cors.headers.extend(headers.iter().map(ToString::to_string));
        cors.expose.extend(expose.iter().map(ToString::to_string));
    }
    cors
}

/// Limits, with the defaults for those that no level states.
fn limits(limits: Limits) -> policy_manifest::RouteLimits {
    let stated = Limits::NONE.body(BODY).timeout(TIMEOUT);
    (&limits.or(stated)).into()
}
