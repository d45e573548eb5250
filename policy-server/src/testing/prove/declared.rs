//! The declarations of an app as text: the lists of its attributes, compared in the simplest way.
//! The laws judge only by these, independently of the engine.

use std::sync::Arc;

use http::Method;
use policy_core::{
    auth::{AuthPolicy, Requirement},
    cors::{CorsSpec, Origins},
    csrf::{self, CsrfPolicy},
    isolation::Isolation,
    manifest::{Manifest, engine::Engine},
    route::{Facet, RoutePolicy},
};

use crate::{
    app::{AppParts, access::Access, cors_source::CorsSource, defaults::Defaults, mount::Mount},
    build::{self, origin_lists::NamedLists},
    handler::Description,
};

/// The own origin of an app that states none: that of the development profile.
const DEVELOPMENT: &str = "http://localhost";

/// An app, as it is written.
#[derive(Debug)]
pub(super) struct Declared {
    /// Under which origin browsers reach it.
    pub(super) own: String,
    pub(super) has_sessions: bool,
    /// Whether there are layers around the app.
    pub(super) has_layers: bool,
    /// In the order in which the app registers them.
    pub(super) routes: Vec<Declaration>,
    /// Which origins may read responses for unknown paths.
    pub(super) unknown: Option<Arc<Sharing>>,
    /// The engine that is made of the manifest, with the present lists of origins.
    pub(super) engine: Option<Engine>,
}

/// One method of one path.
#[derive(Clone, Debug)]
pub(super) struct Declaration {
    pub(super) method: Method,
    /// The template, prefix included.
    pub(super) path: String,
    pub(super) sharing: Option<Arc<Sharing>>,
    pub(super) auth: AuthPolicy,
    pub(super) csrf: CsrfPolicy,
    /// From which pages it keeps its responses.
    pub(super) isolation: Option<Isolation>,
    /// Whether it states that it has no isolation.
    pub(super) is_open: bool,
    /// Whether the handler takes the session itself.
    pub(super) takes_session: bool,
    /// Nothing for a mounted service.
    pub(super) description: Option<Description>,
    /// All policies of the route as text: routes with the same text are equivalent.
    pub(super) effective: Arc<str>,
}

/// A `#[cors]`, or the default of a group or the app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sharing {
    /// Origins and patterns; `*` for every origin.
    pub(super) origins: Vec<String>,
    /// The name of a run-time list.
    list: Option<String>,
    pub(super) credentials: bool,
    methods: Option<Vec<String>>,
    headers: Vec<String>,
    pub(super) expose: Vec<String>,
    /// The risks that it states.
    pub(super) dangers: Vec<&'static str>,
    /// Its source: `#[cors]`, `group /admin` or `App::cors`.
    pub(super) said_by: String,
}

impl Declared {
    /// Reads an app before it is built.
    pub(super) fn read(app: &AppParts) -> Self {
        let reader = Reader::new(app);
        let mut routes = Vec::new();
        for route in &app.routes {
            reader.handler(&route.description, "", None, app.access.csrf, &mut routes);
        }
        for (prefix, group) in &app.groups {
            let outer = group.access.or(app.access);
            for route in &group.routes {
                let group = Some((prefix.as_str(), &group.defaults));
                let csrf = outer.csrf;
                reader.handler(&route.description, prefix, group, csrf, &mut routes);
            }
            for (below, mount) in &group.mounts {
                let access = mount.access.or(outer);
                let group = Some((prefix.as_str(), &group.defaults));
                reader.mount(&format!("{prefix}{below}"), mount, group, access, &mut routes);
            }
        }
        for (prefix, mount) in &app.mounts {
            reader.mount(prefix, mount, None, mount.access.or(app.access), &mut routes);
        }
        let unknown = match &app.fallback {
            Some(fallback) => ("App::fallback", &fallback.defaults.policies.cors),
            None => ("App::cors", &Facet::Inherit),
        };
        Self {
            own: app.public_origin.clone().unwrap_or_else(|| DEVELOPMENT.to_owned()),
            has_sessions: app.sessions.is_some(),
            has_layers: !app.layers.is_empty(),
            routes,
            unknown: reader.sharing(unknown, None),
            engine: engine(app),
        }
    }

    /// All CORS policies of the app.
    pub(super) fn sharings(&self) -> impl Iterator<Item = &Arc<Sharing>> {
        self.routes.iter().filter_map(|route| route.sharing.as_ref()).chain(&self.unknown)
    }
}

/// The engine that is made of the manifest of an app, read back from its text.
fn engine(app: &AppParts) -> Option<Engine> {
    let (manifest, sources) = build::manifest::read(app);
    let manifest = Manifest::parse(&manifest.to_json()).ok()?;
    Engine::with_lists(&manifest, |name| sources.lists.get(name).map(Vec::as_slice)).ok()
}

/// The context for reading the parts of an app.
struct Reader<'a> {
    app: &'a Defaults,
    lists: Vec<(String, Vec<String>)>,
}

impl<'a> Reader<'a> {
    fn new(app: &'a AppParts) -> Self {
        // Errors of a list are reported at start.
        let named =
            NamedLists::read(app.origins.clone(), app.config_file.as_deref(), &mut Vec::new());
        named.fill().for_each(drop);
        let lists = named.lists.iter();
        let lists = lists.map(|(name, list)| (name.to_owned(), list.patterns()));
        Self { app: &app.defaults, lists: lists.collect() }
    }

    /// The nearest level that states something decides.
    fn sharing(
        &self,
        (said_by, route): (&str, &Facet<CorsSource>),
        group: Option<(&str, &Defaults)>,
    ) -> Option<Arc<Sharing>> {
        let group =
            group.map(|(prefix, defaults)| (format!("group {prefix}"), &defaults.policies.cors));
        let levels = [Some((said_by.to_owned(), route)), group];
        let app = ("App::cors".to_owned(), &self.app.policies.cors);
        for (said_by, facet) in levels.into_iter().flatten().chain([app]) {
            match facet {
                Facet::Inherit => (),
                Facet::None => return None,
                Facet::Set(source) => return Some(Arc::new(self.sharing_of(source, said_by))),
            }
        }
        None
    }

    /// The nearest level that states something about isolation.
    fn isolation(&self, own: Facet<Isolation>, group: Option<&Defaults>) -> Facet<Isolation> {
        let levels = [
            Some(own),
            group.map(|group| group.policies.isolation),
            Some(self.app.policies.isolation),
        ];
        let said = levels.into_iter().flatten().find(|facet| *facet != Facet::Inherit);
        said.unwrap_or(Facet::Inherit)
    }

    fn sharing_of(&self, source: &CorsSource, said_by: String) -> Sharing {
        match source {
            CorsSource::Policy(policy) => self.sharing_by(policy.spec(), said_by),
            CorsSource::Config(config) => config.with_spec(|spec| self.sharing_by(spec, said_by)),
        }
    }

    fn sharing_by(&self, spec: &CorsSpec<'_>, said_by: String) -> Sharing {
        let (mut origins, list) = match spec.origins {
            Origins::Listed(origins) => (texts(origins), None),
            Origins::AtRunTime { name, .. } => {
                let given = self.lists.iter().find(|(given, _)| given == name);
                (given.map(|(_, list)| list.clone()).unwrap_or_default(), Some(name.to_owned()))
            }
        };
        origins.sort_unstable();
        origins.dedup();
        let lower = |names: &[&str]| names.iter().map(|name| name.to_ascii_lowercase()).collect();
        let mut headers: Vec<String> = lower(spec.headers);
        headers.sort_unstable();
        let dangers = [
            (spec.dangerous_insecure_origins, "dangerous_insecure_origins"),
            (spec.dangerous_public_suffix, "dangerous_public_suffix"),
        ];
        Sharing {
            origins,
            list,
            credentials: spec.credentials,
            methods: spec.methods.map(texts),
            headers,
            expose: lower(spec.expose),
            dangers: dangers.into_iter().filter_map(|(is, name)| is.then_some(name)).collect(),
            said_by,
        }
    }

    fn handler(
        &self,
        description: &Description,
        prefix: &str,
        group: Option<(&str, &Defaults)>,
        csrf: Option<CsrfPolicy>,
        routes: &mut Vec<Declaration>,
    ) {
        let RoutePolicy { auth, csrf: own_csrf, .. } = description.policy;
        let csrf = own_csrf.or(csrf).unwrap_or_default();
        // What is wrong with a policy, the start says.
        let (own, _) = description.policy.level();
        let sharing = self.sharing(("#[cors]", &own.cors.map(CorsSource::Policy)), group);
        let group = group.map(|(_, defaults)| defaults);
        let isolation = self.isolation(own.isolation, group);
        let group = group.map(|group| &group.policies);
        let is_script = description.policy.jsonp.is_some();
        let effective: Arc<str> = format!(
            "{:?} {:?} {csrf} {:?} {} {} {group:?}",
            sharing.as_deref().map(Sharing::text),
            description.policy,
            description.scheme.map(|id| id()),
            description.takes_session,
            description.extracts,
        )
        .into();
        for (method, path) in description.routes {
            let Ok(method) = Method::from_bytes(method.as_bytes()) else { continue };
            let path = match *path {
                "/" if !prefix.is_empty() => prefix.to_owned(),
                path => format!("{prefix}{path}"),
            };
            routes.push(Declaration {
                method,
                path,
                sharing: sharing.clone(),
                auth,
                csrf,
                // Every page may load a script of JSONP.
                isolation: set(isolation).filter(|_| !is_script),
                is_open: isolation == Facet::None,
                takes_session: description.takes_session,
                description: Some(*description),
                effective: Arc::clone(&effective),
            });
        }
    }

    fn mount(
        &self,
        prefix: &str,
        mount: &Mount,
        group: Option<(&str, &Defaults)>,
        access: Access,
        routes: &mut Vec<Declaration>,
    ) {
        let stated = format!("mount {prefix}");
        let sharing = self.sharing((&stated, &mount.defaults.policies.cors), group);
        // An app in which nobody says who may call does not start.
        let isolation =
            self.isolation(mount.defaults.policies.isolation, group.map(|(_, defaults)| defaults));
        let auth = access.callers.map_or(AuthPolicy::Public, |callers| callers.policy());
        let csrf = access.csrf.unwrap_or_default();
        let group = group.map(|(prefix, group)| (prefix, &group.policies));
        let effective: Arc<str> = format!(
            "{:?} {:?} {group:?} {access:?}",
            sharing.as_deref().map(Sharing::text),
            mount.defaults.policies
        )
        .into();
        for method in &mount.methods {
            routes.push(Declaration {
                method: method.clone(),
                path: prefix.to_owned(),
                sharing: sharing.clone(),
                auth,
                csrf,
                isolation: set(isolation),
                is_open: isolation == Facet::None,
                takes_session: false,
                description: None,
                effective: Arc::clone(&effective),
            });
        }
    }
}

impl Declaration {
    /// The requirement for callers, if there is one.
    pub(super) fn requirement(&self) -> Option<&Requirement> {
        match &self.auth {
            AuthPolicy::Required(requirement) => Some(requirement),
            _ => None,
        }
    }

    /// Whether it accepts ambient credentials.
    pub(super) fn is_ambient(&self) -> bool {
        self.takes_session || self.requirement().is_some_and(Requirement::is_ambient)
    }

    /// Whether it changes nothing, by its method (RFC 9110 9.2.1).
    pub(super) fn is_safe(&self) -> bool {
        is_safe(&self.method)
    }

    /// The request headers that its credentials need.
    fn credential_headers(&self, has_sessions: bool) -> Vec<&'static str> {
        let mut names = Vec::new();
        let (token, ambient) = match self.requirement() {
            Some(requirement) => (requirement.token, requirement.is_ambient()),
            // A handler or a mounted service may take the session itself.
            None => (false, has_sessions),
        };
        if token {
            names.push("authorization");
        }
        if ambient && self.csrf == CsrfPolicy::Token && !self.is_safe() {
            names.push(csrf::HEADER);
        }
        names
    }
}

fn set<T>(facet: Facet<T>) -> Option<T> {
    match facet {
        Facet::Set(value) => Some(value),
        Facet::None | Facet::Inherit => None,
    }
}

pub(super) fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::QUERY | Method::OPTIONS | Method::TRACE)
}

impl Sharing {
    /// Whether it names an origin.
    pub(super) fn names(&self, origin: &str) -> bool {
        self.origins.iter().any(|pattern| pattern == "*" || covers(pattern, origin))
    }

    /// Whether every origin may read.
    pub(super) fn is_for_all(&self) -> bool {
        self.origins == ["*"]
    }

    /// The request headers that it names.
    pub(super) fn headers(&self) -> &[String] {
        &self.headers
    }

    /// Everything except its source.
    fn text(&self) -> String {
        let nobody = Self { said_by: String::new(), ..self.clone() };
        format!("{nobody:?}")
    }

    /// Whether both agree, apart from their source.
    fn agrees(&self, other: &Self) -> bool {
        (&self.origins, &self.list, self.credentials, &self.headers)
            == (&other.origins, &other.list, other.credentials, &other.headers)
    }

    /// Whether a page may use this method, where `path` is all that is served there.
    fn allows_method(&self, method: &str, path: &[&Declaration]) -> bool {
        let served = || {
            let alike = self.alike(path);
            let serves = |name: &str| alike.iter().any(|route| route.method.as_str() == name);
            serves(method) || (method == "HEAD" && serves("GET"))
        };
        match &self.methods {
            Some(listed) => listed.iter().any(|listed| listed == method || listed == "*"),
            None => served(),
        }
    }

    /// Whether a page may send this header.
    fn allows_header(&self, name: &str, path: &[&Declaration], has_sessions: bool) -> bool {
        const WITH_BODY: [&str; 5] = ["POST", "PUT", "PATCH", "DELETE", "QUERY"];
        let alike = self.alike(path);
        let by_credentials = alike
            .iter()
            .flat_map(|route| route.credential_headers(has_sessions))
            .any(|needed| needed == name && (self.credentials || name != csrf::HEADER));
        let by_body = name == "content-type"
            && self.methods.is_none()
            && alike.iter().any(|route| WITH_BODY.contains(&route.method.as_str()));
        let any = self.headers.iter().any(|listed| listed == "*") && name != "authorization";
        by_credentials || by_body || any || self.headers.iter().any(|listed| listed == name)
    }

    /// The routes of a path that share it in the same way.
    fn alike<'p>(&self, path: &[&'p Declaration]) -> Vec<&'p Declaration> {
        let is_alike = |route: &&&Declaration| {
            route.sharing.as_ref().is_some_and(|sharing| sharing.agrees(self))
        };
        path.iter().filter(is_alike).copied().collect()
    }

    /// Whether a page of `origin` may send a request that needs a preflight.
    pub(super) fn allows(
        &self,
        method: &str,
        headers: &[String],
        path: &[&Declaration],
        has_sessions: bool,
    ) -> bool {
        let is_simple = matches!(method, "GET" | "HEAD" | "POST");
        (is_simple || self.allows_method(method, path))
            && headers.iter().all(|name| self.allows_header(name, path, has_sessions))
    }
}

/// Whether a pattern matches an origin: `*.` before a name matches one or more labels, `:*` any
/// port.
fn covers(pattern: &str, origin: &str) -> bool {
    let (Some(pattern), Some(origin)) = (parts(pattern), parts(origin)) else { return false };
    let host = match pattern.host.strip_prefix("*.") {
        Some(parent) => {
            let label = origin.host.strip_suffix(parent).and_then(|host| host.strip_suffix('.'));
            label.is_some_and(|label| !label.is_empty())
        }
        None => pattern.host == origin.host,
    };
    pattern.scheme == origin.scheme && host && (pattern.port == "*" || pattern.port == origin.port)
}

/// An origin or a pattern, taken apart.
pub(super) struct Parts<'a> {
    pub(super) scheme: &'a str,
    pub(super) host: &'a str,
    /// Empty for the default port.
    pub(super) port: &'a str,
}

pub(super) fn parts(text: &str) -> Option<Parts<'_>> {
    let (scheme, rest) = text.split_once("://")?;
    let (host, port) = match rest.rsplit_once(':') {
        // The colons of an IPv6 address are in brackets.
        Some((host, port)) if !port.ends_with(']') => (host, port),
        _ => (rest, ""),
    };
    Some(Parts { scheme, host, port })
}

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}
