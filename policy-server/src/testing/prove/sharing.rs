//! Which responses a CORS policy shares with which pages, by a simple comparison of its lists. The
//! laws judge by this, and not by the sets of the engine.

use policy_core::{csrf, method, route::Level};
use policy_manifest::{FacetSource, RouteCors, RouteOrigins, Sources};

use super::declared::Declaration;

/// The methods whose requests usually have a body.
const WITH_BODY: [&str; 5] = ["POST", "PUT", "PATCH", "DELETE", "QUERY"];

/// A CORS policy, with the present entries of its list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sharing {
    /// Origins and patterns; `*` for every origin.
    pub(super) origins: Vec<String>,
    cors: RouteCors,
    /// Its source: `#[cors]`, or a level around the route with its line.
    pub(super) said_by: String,
}

impl Sharing {
    /// Creates it from a policy. `source` decided it; `own` is its name if that is the route itself.
    pub(super) fn new(
        cors: &RouteCors,
        sources: &Sources,
        source: Option<&FacetSource>,
        own: &str,
    ) -> Self {
        let origins = match &cors.origins {
            RouteOrigins::Listed(origins) => origins.clone(),
            RouteOrigins::AtRunTime(list) => {
                sources.lists.get(&list.list).cloned().unwrap_or_default()
            }
        };
        let said_by = match source {
            Some(FacetSource { level: Level::Group, file, line }) => {
                format!("Group::policies ({file}:{line})")
            }
            Some(FacetSource { level: Level::App, file, line }) => {
                format!("App::policies ({file}:{line})")
            }
            _ => own.to_owned(),
        };
        Self { origins, cors: cors.clone(), said_by }
    }

    /// Whether requests may include credentials.
    pub(super) fn has_credentials(&self) -> bool {
        self.cors.credentials
    }

    /// The response headers that it exposes.
    pub(super) fn expose(&self) -> &[String] {
        &self.cors.expose
    }

    /// The risks that it states.
    pub(super) fn dangers(&self) -> impl Iterator<Item = &'static str> {
        let dangers = [
            (self.cors.dangers.insecure_origins, "dangerous_insecure_origins"),
            (self.cors.dangers.public_suffix, "dangerous_public_suffix"),
        ];
        dangers.into_iter().filter_map(|(is, name)| is.then_some(name))
    }

    /// The name of a list that is given at run time.
    fn list(&self) -> Option<&str> {
        match &self.cors.origins {
            RouteOrigins::Listed(_) => None,
            RouteOrigins::AtRunTime(list) => Some(&list.list),
        }
    }

    /// Whether it names an origin.
    pub(super) fn names(&self, origin: &str) -> bool {
        self.origins.iter().any(|pattern| pattern == "*" || covers(pattern, origin))
    }

    /// Whether every origin may read responses.
    pub(super) fn is_for_all(&self) -> bool {
        self.origins == ["*"]
    }

    /// The request headers that it names.
    pub(super) fn headers(&self) -> &[String] {
        &self.cors.headers
    }

    /// Whether both agree, apart from their source.
    fn agrees(&self, other: &Self) -> bool {
        (&self.origins, self.list(), self.cors.credentials, &self.cors.headers)
            == (&other.origins, other.list(), other.cors.credentials, &other.cors.headers)
    }

    /// Whether a page may use this method, where `path` is all that is served there.
    fn allows_method(&self, method: &str, path: &[&Declaration]) -> bool {
        let served = || {
            let alike = self.alike(path);
            let serves = |name: &str| alike.iter().any(|route| route.method.as_str() == name);
            serves(method) || (method == "HEAD" && serves("GET"))
        };
        match &self.cors.methods {
            Some(listed) => listed.iter().any(|listed| listed == method || listed == "*"),
            None => served(),
        }
    }

    /// Whether a page may send this header.
    fn allows_header(&self, name: &str, path: &[&Declaration], has_sessions: bool) -> bool {
        let alike = self.alike(path);
        let by_credentials = alike
            .iter()
            .flat_map(|route| route.credential_headers(has_sessions))
            .any(|needed| needed == name && (self.cors.credentials || name != csrf::HEADER));
        let by_body = name == "content-type"
            && self.cors.methods.is_none()
            && alike.iter().any(|route| WITH_BODY.contains(&route.method.as_str()));
        by_credentials || by_body || self.names_header(name)
    }

    /// Whether the preflight is granted although no route serves the method, so that the page can read
    /// the router's 404 or 405: for each standard method, unless the policy names its methods.
    fn is_unserved(&self, method: &str, path: &[&Declaration]) -> bool {
        let serves = |name: &str| path.iter().any(|route| route.method.as_str() == name);
        self.cors.methods.is_none()
            && !(serves(method) || (method == "HEAD" && serves("GET")))
            && method::is_known(method)
    }

    /// Whether a page may send this header with a method that no route serves.
    fn allows_unserved_header(&self, name: &str, method: &str) -> bool {
        match name {
            "authorization" => true,
            csrf::HEADER if self.cors.credentials => true,
            "content-type" if WITH_BODY.contains(&method) => true,
            _ => self.names_header(name),
        }
    }

    fn names_header(&self, name: &str) -> bool {
        let any = self.cors.headers.iter().any(|listed| listed == "*") && name != "authorization";
        any || self.cors.headers.iter().any(|listed| listed == name)
    }

    /// The routes of a path that have the same policy.
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
        if self.is_unserved(method, path) {
            return headers.iter().all(|name| self.allows_unserved_header(name, method));
        }
        let is_simple = matches!(method, "GET" | "HEAD" | "POST");
        (is_simple || self.allows_method(method, path))
            && headers.iter().all(|name| self.allows_header(name, path, has_sessions))
    }
}

/// Whether a pattern matches an origin: `*.` before a name matches one or more labels, another `*` a
/// part of one, `:*` any port.
fn covers(pattern: &str, origin: &str) -> bool {
    let (Some(pattern), Some(origin)) = (parts(pattern), parts(origin)) else { return false };
    let host = match pattern.host.strip_prefix("*.") {
        Some(parent) => {
            let label = origin.host.strip_suffix(parent).and_then(|host| host.strip_suffix('.'));
            label.is_some_and(|label| !label.is_empty())
        }
        None => match pattern.host.split_once('*') {
            Some((front, end)) => {
                let rest = origin.host.strip_prefix(front);
                let middle = rest.and_then(|rest| rest.strip_suffix(end));
                middle.is_some_and(|middle| !middle.is_empty() && !middle.contains('.'))
            }
            None => pattern.host == origin.host,
        },
    };
    pattern.scheme == origin.scheme && host && (pattern.port == "*" || pattern.port == origin.port)
}

/// The parts of an origin or a pattern.
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
