//! The manifest of an app, read from its declarations: each facet from the nearest level that states
//! it. Errors of a declaration are reported at start.

use std::panic::Location;

use policy_core::{
    auth::{AuthPolicy, AuthSpec},
    cors::CorsExtension,
    csrf::CsrfPolicy,
    head::{OwnOrigin, PublicOrigin},
    headers::{HeadersPolicy, SecurityHeaders},
    jsonp::JsonpPolicy,
    limits::Limits,
    route::{Facet, FacetPolicy as _, FromSpec as _, Level, LevelPolicy, RouteFacts, nearest},
};
use policy_manifest::{
    AppFacts, Cors, Csrf, Manifest, Place, RouteKind, Source, Sources, TokenFacts,
};

use super::{origin_lists::NamedLists, own_text};
use crate::{
    app::{AppParts, access::Access, cors_source::CorsSource, policies::Policies},
    client::trusted_proxies::TrustedProxies,
    handler::Description,
    route::limits::{BODY, TIMEOUT},
};

/// The manifest of an app, and where its policies are written.
pub(crate) fn read(app: &AppParts) -> (Manifest, Sources) {
    let own = app.public_origin.as_deref().and_then(|text| PublicOrigin::parse(text).ok());
    let is_https = own.as_ref().is_some_and(|own| !own.is_loopback());
    let own = own.map_or(OwnOrigin::Development, OwnOrigin::Public);
    let mut manifest = Manifest::new();
    manifest.app = facts(app, &own);
    let mut sources = Sources::default();
    // Errors of a list are reported at start.
    let named = NamedLists::read(app.origins.clone(), &mut Vec::new());
    named.fill().for_each(drop);
    sources.lists =
        named.lists.iter().map(|(name, list)| (name.to_owned(), list.patterns())).collect();
    let mut reader = Reader { app, is_https, manifest, sources };
    reader.routes();
    let Reader { manifest, sources, .. } = reader;
    (manifest.normal(), sources)
}

fn facts(app: &AppParts, own: &OwnOrigin) -> AppFacts {
    let mut facts = AppFacts::default();
    facts.public_origin = app.public_origin.clone();
    facts.sessions = app.sessions.as_ref().and_then(|sessions| sessions.facts(own));
    facts.tokens = app.tokens.as_ref().map(|tokens| {
        let mut facts = TokenFacts::default();
        facts.issuer = tokens.own_issuer(own_text(own)).map(str::to_owned);
        facts.accepts = tokens.external_issuers().map(str::to_owned).collect();
        facts.websocket_protocol = tokens.is_from_websocket_protocol;
        facts
    });
    facts.trailing_slash = app.trailing_slash;
    facts.proxies = app.proxies.as_ref().map(TrustedProxies::facts).unwrap_or_default();
    #[cfg(feature = "gateway")]
    {
        facts.trace = app.gateway.traces;
    }
    facts
}

/// The target of a route, and its own policies.
struct Declared<'a> {
    kind: RouteKind,
    path: String,
    methods: Vec<String>,
    auth: AuthPolicy,
    /// The CSRF protection, and the level that states it.
    csrf: (CsrfPolicy, Option<Level>),
    policies: LevelPolicy<CorsSource>,
    extension: CorsExtension<'a>,
    jsonp: Option<JsonpPolicy>,
    facts: RouteFacts<'a>,
    takes_session: bool,
    /// The source of the level itself: a handler, or the calls of a mount.
    written: Written<'a>,
    group: Option<&'a Policies>,
}

/// The source of the policies of a route.
#[derive(Clone, Copy)]
enum Written<'a> {
    Handler(&'a Description),
    Calls(&'a Policies),
    Nowhere,
}

struct Reader<'a> {
    app: &'a AppParts,
    is_https: bool,
    manifest: Manifest,
    sources: Sources,
}

impl<'a> Reader<'a> {
    fn routes(&mut self) {
        let app = self.app;
        for route in &app.routes {
            self.handler(&route.description, "", None, Access::default());
        }
        for (prefix, group) in &app.groups {
            let defaults = Some(&group.policies);
            for route in &group.routes {
                self.handler(&route.description, prefix, defaults, group.access);
            }
            for (below, mount) in &group.mounts {
                let methods = mount.methods.iter();
                let mounted = Mounted {
                    kind: RouteKind::Mount,
                    path: format!("{prefix}{below}"),
                    methods: methods.map(ToString::to_string).collect(),
                    access: mount.access,
                    defaults: &mount.policies,
                    extracts: true,
                    takes_slashes: mount.paths.take_slashes,
                };
                self.mounted(mounted, defaults, group.access);
            }
            #[cfg(feature = "gateway")]
            for proxy in &group.upstreams {
                self.proxied(proxy, prefix, defaults, group.access);
            }
        }
        for (prefix, mount) in &app.mounts {
            let mounted = Mounted {
                kind: RouteKind::Mount,
                path: prefix.clone(),
                methods: mount.methods.iter().map(ToString::to_string).collect(),
                access: mount.access,
                defaults: &mount.policies,
                extracts: true,
                takes_slashes: mount.paths.take_slashes,
            };
            self.mounted(mounted, None, Access::default());
        }
        #[cfg(feature = "gateway")]
        for proxy in &app.gateway.upstreams {
            self.proxied(proxy, "", None, Access::default());
        }
        for (path, _) in &app.probes {
            self.probe(path);
        }
        #[cfg(feature = "gateway")]
        if let Some(tunnel) = &app.gateway.tunnel {
            self.tunnel(tunnel);
        }
        match &app.fallback {
            Some(fallback) => self.mounted(
                Mounted {
                    kind: RouteKind::Fallback,
                    path: "*".to_owned(),
                    methods: Vec::new(),
                    access: fallback.access,
                    defaults: &fallback.policies,
                    extracts: true,
                    takes_slashes: false,
                },
                None,
                Access::default(),
            ),
            None => self.add(&Declared {
                facts: RouteFacts { methods: &["GET"], ..RouteFacts::PUBLIC },
                ..Declared::public(RouteKind::NotFound, "*".to_owned())
            }),
        }
    }

    fn handler(
        &mut self,
        description: &'a Description,
        prefix: &str,
        group: Option<&'a Policies>,
        access: Access,
    ) {
        let policy = &description.policy;
        let levels = [(Level::Route, policy.csrf), (Level::Group, access.csrf)];
        let (own, _) = policy.level();
        let methods: Vec<_> = description.routes.iter().map(|(method, _)| *method).collect();
        let spec = AuthSpec {
            takes_session: description.takes_session,
            ..AuthSpec::of(&policy.auth, policy.csrf.as_ref())
        };
        for (method, path) in description.routes {
            let path = match *path {
                "/" if !prefix.is_empty() => prefix.to_owned(),
                path => format!("{prefix}{path}"),
            };
            let key = format!("{method} {path}");
            let place = Place { file: description.file.to_owned(), line: description.line };
            self.sources.handlers.insert(key.clone(), description.handler.to_owned());
            self.sources.places.insert(key, place);
            self.add(&Declared {
                methods: vec![(*method).to_owned()],
                auth: policy.auth,
                csrf: self.csrf(levels),
                policies: own.map_cors(|cors| cors.map(CorsSource::Policy)),
                extension: policy.cors_extension,
                jsonp: policy.jsonp.and_then(|spec| JsonpPolicy::from_spec(spec).ok()),
                facts: RouteFacts::of(&spec, &methods, false),
                takes_session: description.takes_session,
                written: Written::Handler(description),
                group,
                ..Declared::public(RouteKind::Handler, path)
            });
        }
    }

    /// The CSRF protection of the nearest level that states one.
    fn csrf(&self, levels: [(Level, Option<CsrfPolicy>); 2]) -> (CsrfPolicy, Option<Level>) {
        let levels = levels.into_iter().chain([(Level::App, self.app.access.csrf)]);
        let stated = levels.filter_map(|(level, csrf)| Some((csrf?, Some(level)))).next();
        stated.unwrap_or_default()
    }

    fn mounted(&mut self, mounted: Mounted<'a>, group: Option<&'a Policies>, outer: Access) {
        let Mounted { kind, path, methods, access, defaults, extracts, takes_slashes } = mounted;
        // An app in which no level states the callers does not start.
        let callers = access.or(outer).or(self.app.access).callers;
        let auth = callers.map_or(AuthPolicy::Public, |callers| callers.policy());
        let (csrf, level) = self.csrf([(Level::Route, access.csrf), (Level::Group, outer.csrf)]);
        let csrf = match csrf {
            // An upstream has no session of this app, to which a token could be bound.
            CsrfPolicy::Token | CsrfPolicy::OriginElseToken
                if auth == AuthPolicy::Public && !extracts =>
            {
                CsrfPolicy::Origin
            }
            stated => stated,
        };
        let names: Vec<_> = match kind {
            RouteKind::Fallback => vec!["GET"],
            _ => methods.iter().map(String::as_str).collect(),
        };
        let spec = AuthSpec::of(&auth, access.csrf.as_ref());
        self.add(&Declared {
            methods: methods.clone(),
            auth,
            csrf: (csrf, level),
            policies: defaults.level.clone(),
            facts: RouteFacts::of(&spec, &names, false),
            written: Written::Calls(defaults),
            group,
            ..Declared::public(kind, path)
        });
        if let Some(route) = self.manifest.routes.last_mut() {
            route.takes_slashes = takes_slashes;
        }
    }

    #[cfg(feature = "gateway")]
    fn proxied(
        &mut self,
        proxy: &'a crate::app::proxy::ReverseProxy,
        prefix: &str,
        group: Option<&'a Policies>,
        outer: Access,
    ) {
        let mounted = Mounted {
            kind: RouteKind::Proxy,
            path: format!("{prefix}{}", proxy.prefix),
            methods: proxy.methods.iter().map(ToString::to_string).collect(),
            access: proxy.access,
            defaults: &proxy.policies,
            extracts: false,
            takes_slashes: proxy.paths.take_slashes,
        };
        self.mounted(mounted, group, outer);
    }

    /// A probe is exempt from the policies of the app.
    fn probe(&mut self, path: &str) {
        let cache = policy_core::cache::CachePolicy::no_store().build();
        let mut route = policy_manifest::Route::new(
            RouteKind::Probe,
            path,
            ["GET"],
            policy_manifest::Auth::Public,
        );
        route.cache = Some((&cache).into());
        route.limits = limits(Limits::NONE);
        route.headers = Some(self.headers(&HeadersPolicy::DEFAULT));
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
        self.add(&Declared {
            methods: vec!["CONNECT".to_owned()],
            auth,
            csrf: (csrf, None),
            policies: no_cors,
            facts: RouteFacts { methods: &["GET"], ..RouteFacts::PUBLIC },
            ..Declared::public(RouteKind::Tunnel, String::new())
        });
        if let Some(route) = self.manifest.routes.last_mut() {
            route.targets.clone_from(&tunnel.targets);
        }
    }

    /// Resolves the facets of a route.
    fn add(&mut self, declared: &Declared<'_>) {
        let group = declared.group.map(|group| &group.level);
        let app = &self.app.policies.level;
        let own = &declared.policies;
        macro_rules! facet {
            ($name:ident) => {
                nearest([
                    (Level::Route, own.$name.clone()),
                    (Level::Group, group.map_or(Facet::Inherit, |group| group.$name.clone())),
                    (Level::App, app.$name.clone()),
                ])
            };
        }
        // The level that states a facet, even if it states that there is none.
        macro_rules! level {
            ($name:ident) => {
                [
                    (Level::Route, Some(&own.$name)),
                    (Level::Group, group.map(|group| &group.$name)),
                    (Level::App, Some(&app.$name)),
                ]
                .into_iter()
                .find(|(_, facet)| facet.is_some_and(|facet| !matches!(facet, Facet::Inherit)))
                .map(|(level, _)| level)
            };
        }
        let cors = facet!(cors);
        let is_shared = cors.is_some() || declared.jsonp.is_some();
        let facts = RouteFacts { is_shared, ..declared.facts };
        let cache = facet!(cache).filter(|(policy, level)| policy.applies(*level, facts));
        let isolation = facet!(isolation);
        let headers = match (facet!(headers), level!(headers)) {
            (None, None) => Some(HeadersPolicy::DEFAULT),
            (stated, _) => stated.map(|(policy, _)| policy),
        };
        let stated = own.limits.or(group.map_or(Limits::NONE, |group| group.limits)).or(app.limits);
        let auth = policy_manifest::Auth::from(&declared.auth);
        let mut route = policy_manifest::Route::new(
            declared.kind,
            &declared.path,
            declared.methods.clone(),
            auth,
        );
        route.csrf = Csrf::from(&declared.csrf.0);
        route.takes_session = declared.takes_session;
        route.cors = cors.as_ref().map(|(source, _)| cors_of(source, &declared.extension));
        route.isolation = isolation.map(|(isolation, _)| isolation);
        route.cache = cache.as_ref().map(|(policy, _)| policy.into());
        route.jsonp = declared.jsonp.as_ref().map(Into::into);
        route.limits = limits(stated);
        route.headers = headers.as_ref().map(|policy| self.headers(policy));
        let at_route = |is_own: bool| is_own.then_some(Level::Route);
        let limit_level = [
            (Level::Route, own.limits != Limits::NONE),
            (Level::Group, group.is_some_and(|group| group.limits != Limits::NONE)),
            (Level::App, app.limits != Limits::NONE),
        ];
        let decided = [
            ("auth", at_route(declared.kind != RouteKind::NotFound)),
            ("csrf", declared.csrf.1),
            ("cors", level!(cors)),
            ("cache", cache.map(|(_, level)| level)),
            ("isolation", level!(isolation)),
            ("headers", level!(headers)),
            ("jsonp", at_route(declared.jsonp.is_some())),
            (
                "limits",
                limit_level.into_iter().find_map(|(level, is_stated)| is_stated.then_some(level)),
            ),
        ];
        self.note(declared, decided);
        self.manifest.routes.push(route);
    }

    fn headers(&mut self, policy: &HeadersPolicy) -> String {
        let headers = SecurityHeaders::new(policy);
        let headers = if self.is_https { headers } else { headers.without_transport() };
        self.manifest.add_headers((&headers).into())
    }

    /// Notes where the facets of a route are written.
    fn note(&mut self, declared: &Declared<'_>, decided: [(&str, Option<Level>); 8]) {
        let mut of_route = std::collections::BTreeMap::new();
        for (facet, level) in decided {
            let Some(level) = level else { continue };
            let location = match (level, declared.written) {
                (Level::Route, Written::Handler(description)) => {
                    let name = if facet == "limits" { "limit" } else { facet };
                    let line =
                        description.attributes.iter().find(|(attribute, _)| *attribute == name);
                    let line = line.map_or(description.line, |(_, line)| *line);
                    Some((level, description.file, line))
                }
                (Level::Route, Written::Calls(defaults)) => {
                    let levels = [
                        (Level::Route, Some(defaults)),
                        (Level::Group, declared.group),
                        (Level::App, Some(&self.app.policies)),
                    ];
                    // The callers of a mount are inherited.
                    levels.into_iter().find_map(|(level, defaults)| {
                        let location = defaults?.written(facet)?;
                        Some((level, location.file(), location.line()))
                    })
                }
                (Level::Route, Written::Nowhere) => None,
                (Level::Group, _) => {
                    place(level, declared.group.and_then(|group| group.written(facet)))
                }
                (Level::App, _) => place(level, self.app.policies.written(facet)),
            };
            if let Some((level, file, line)) = location {
                let source = Source { level, file: file.to_owned(), line };
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

fn place(
    level: Level,
    location: Option<&'static Location<'static>>,
) -> Option<(Level, &'static str, u32)> {
    location.map(|location| (level, location.file(), location.line()))
}

/// A mount, a proxy or the fallback.
struct Mounted<'a> {
    kind: RouteKind,
    path: String,
    methods: Vec<String>,
    access: Access,
    defaults: &'a Policies,
    /// Whether the target may extract the caller.
    extracts: bool,
    takes_slashes: bool,
}

impl Declared<'_> {
    /// A public route that states nothing.
    fn public(kind: RouteKind, path: String) -> Self {
        Self {
            kind,
            path,
            methods: Vec::new(),
            auth: AuthPolicy::Public,
            csrf: (CsrfPolicy::default(), None),
            policies: LevelPolicy::default(),
            extension: CorsExtension::NONE,
            jsonp: None,
            facts: RouteFacts::PUBLIC,
            takes_session: false,
            written: Written::Nowhere,
            group: None,
        }
    }
}

fn cors_of(source: &CorsSource, extension: &CorsExtension<'_>) -> Cors {
    let mut cors: Cors = match source {
        CorsSource::Policy(policy) => policy.spec().into(),
        CorsSource::Config(config) => config.with_spec(|spec| spec.into()),
    };
    cors.headers.extend(extension.headers.iter().map(ToString::to_string));
    cors.expose.extend(extension.expose.iter().map(ToString::to_string));
    cors
}

/// Limits, with the defaults for those that no level states.
fn limits(limits: Limits) -> policy_manifest::Limits {
    let stated = Limits::NONE.body(BODY).timeout(TIMEOUT);
    (&limits.or(stated)).into()
}
