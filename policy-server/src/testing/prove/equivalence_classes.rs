//! Equivalence classes: finitely many pages, methods and headers for each path, such that every
//! other request of a browser is decided like one of these.

use http::Method;
use policy_browser::{Credentials, Fetch, Mode, Page, PageOrigin, ReferrerPolicy, Url};
use policy_core::csrf;

use super::{
    caller::Caller,
    declared::{Declaration, DeclaredApp, Effective, Routes},
    laws::Law,
    sharing::{Sharing, parts},
};

/// A header that no policy names.
const FRESH_HEADER: &str = "x-policy-fresh";
/// A method that no route serves.
const UNKNOWN_METHOD: &str = "BREW";
/// The credentials modes, in the order in which the request cases of each set of headers use them.
pub(super) const MODES: [Credentials; 3] =
    [Credentials::SameOrigin, Credentials::Include, Credentials::Omit];
/// The path of all paths without a route.
const UNKNOWN_PATH: &str = "/policy-probe-no-such-path";
/// A site that no policy grants.
pub(super) const STRANGER: &str = "https://stranger.example";

/// The class of a path: its methods with all their policies.
type PathKind<'a> = Vec<(&'a Method, &'a Effective)>;

/// One path with all its routes. Equivalent paths are checked once.
#[derive(Debug)]
pub(super) struct Path<'a> {
    /// The template; for unknown paths, one that no route has.
    pub(super) template: &'a str,
    /// A path that it matches.
    pub(super) sample: String,
    /// For unknown paths those of the fallback, if there is one.
    pub(super) routes: Vec<&'a Declaration>,
    /// The origins that may read responses that belong to no route of the path.
    shared: Option<&'a Sharing>,
    has_sessions: bool,
    /// The number of equivalent paths of the app.
    pub(super) count: usize,
}

impl<'a> Path<'a> {
    /// The paths of an app, one of each kind, and one unknown path.
    pub(super) fn all(declared: &'a DeclaredApp) -> Vec<Self> {
        let mut paths: Vec<(&str, Vec<&Declaration>)> = Vec::new();
        for route in declared.routes.iter().filter(|route| !route.is_fallback()) {
            match paths.iter_mut().find(|(path, _)| is_same(path, route.path())) {
                Some((_, routes)) => routes.push(route),
                None => paths.push((route.path(), vec![route])),
            }
        }
        let mut kinds: Vec<(PathKind<'_>, Self)> = Vec::new();
        for (template, routes) in paths {
            let kind: PathKind<'_> =
                routes.iter().map(|route| (&route.method, &*route.effective)).collect();
            if let Some((_, path)) = kinds.iter_mut().find(|(known, _)| *known == kind) {
                path.count += 1;
                continue;
            }
            // The policy of a safe method takes precedence, then that of the first method by name.
            let mut sorted = routes.clone();
            sorted.sort_by_key(|route| (!route.is_safe(), route.method.as_str()));
            let shared = sorted.into_iter().find_map(|route| route.sharing.as_deref());
            let has_sessions = declared.has_sessions;
            let sample = declared.example_paths.path_of(template);
            let path = Self { template, sample, routes, shared, has_sessions, count: 1 };
            kinds.push((kind, path));
        }
        let unknown = Self {
            template: UNKNOWN_PATH,
            sample: UNKNOWN_PATH.to_owned(),
            routes: declared.routes.iter().filter(|route| route.is_fallback()).collect(),
            shared: declared.unknown.as_deref(),
            has_sessions: declared.has_sessions,
            count: 1,
        };
        kinds.into_iter().map(|(_, path)| path).chain([unknown]).collect()
    }

    /// The paths of a sample, if there are more kinds than this: first one for each law, then those
    /// with a policy of a route that no other path of the sample has, then as many of the others,
    /// evenly spread. The unknown path is always among them.
    pub(super) fn sampled(all: Vec<Self>, most: usize, has_layers: bool) -> Vec<Self> {
        if all.len() <= most {
            return all;
        }
        let of_paths = all.iter().map(|path| Routes { has_layers, routes: path.routes.clone() });
        let of_paths: Vec<Routes<'_>> = of_paths.collect();
        let mut is_chosen = vec![false; all.len()];
        for law in Law::ALL {
            let first = of_paths.iter().position(|routes| (law.spec().silence)(routes).is_none());
            if let Some(is_chosen) = first.and_then(|index| is_chosen.get_mut(index)) {
                *is_chosen = true;
            }
        }
        let mut known: Vec<&Effective> = Vec::new();
        for is_for_law in [true, false] {
            let paths = all.iter().zip(&mut is_chosen);
            for (path, is_chosen) in paths.filter(|(_, is_chosen)| **is_chosen == is_for_law) {
                let policies = path.routes.iter().map(|route| &*route.effective);
                let new: Vec<_> = policies.filter(|policy| !known.contains(policy)).collect();
                *is_chosen |= path.is_unknown() || (!new.is_empty() && known.len() + 1 < most);
                known.extend(new);
            }
        }
        let chosen = is_chosen.iter().filter(|it| **it).count();
        let rest = all.len() - chosen;
        let step = rest.div_ceil(most.saturating_sub(chosen).max(1));
        let others = is_chosen.iter_mut().filter(|is_chosen| !**is_chosen).step_by(step.max(1));
        others.take(most.saturating_sub(chosen)).for_each(|is_chosen| *is_chosen = true);
        all.into_iter().zip(is_chosen).filter(|(_, it)| *it).map(|(path, _)| path).collect()
    }

    /// Whether it stands for all paths without a route.
    pub(super) fn is_unknown(&self) -> bool {
        self.template == UNKNOWN_PATH
    }

    /// Whether the preflight for a request may be granted. One for a request to the fallback never is.
    fn answers_preflights(&self) -> bool {
        !self.is_unknown() || self.routes.is_empty()
    }

    /// The route that serves a method; for HEAD without its own route, that of GET.
    pub(super) fn route_for(&self, method: &str) -> Option<&'a Declaration> {
        let of = |name: &str| self.routes.iter().find(|route| route.method.as_str() == name);
        of(method).or_else(|| if method == "HEAD" { of("GET") } else { None }).copied()
    }

    /// The origins that may read a response to a method.
    pub(super) fn sharing(&self, method: &str) -> Option<&'a Sharing> {
        match self.route_for(method) {
            Some(route) => route.sharing.as_deref(),
            None => self.shared,
        }
    }

    /// Whether the policy allows a page to send this request and read its response.
    pub(super) fn grants(&self, page_case: &PageCase, request_case: &RequestCase) -> bool {
        let method = request_case.fetch.method.as_str();
        let Some(sharing) = self.sharing(method) else { return false };
        let with_credentials = request_case.fetch.credentials == Credentials::Include;
        let is_asked_first = request_case.is_asked_first();
        sharing.names(&page_case.origin)
            && (!with_credentials || sharing.has_credentials())
            && (!is_asked_first || self.answers_preflights())
            && sharing.allows(method, &request_case.unsafe_headers, &self.routes, self.has_sessions)
    }

    /// All CORS policies of the path.
    fn sharings(&self) -> Vec<&'a Sharing> {
        let mut all: Vec<&Sharing> = Vec::new();
        let of_routes = self.routes.iter().filter_map(|route| route.sharing.as_deref());
        for sharing in of_routes.chain(self.shared) {
            if !all.contains(&sharing) {
                all.push(sharing);
            }
        }
        all
    }

    /// The methods to try: those that are served, some that are not, an unknown one, and OPTIONS.
    pub(super) fn methods(&self) -> Vec<&'a str> {
        let mut methods: Vec<&str> =
            self.routes.iter().map(|route| route.method.as_str()).collect();
        if methods.contains(&"GET") && !methods.contains(&"HEAD") {
            methods.push("HEAD");
        }
        let unserved = ["GET", "POST", "DELETE", "PATCH", "PUT"];
        let simple = unserved.iter().take(2).find(|method| !methods.contains(method));
        let other = unserved.iter().skip(2).find(|method| !methods.contains(method));
        methods.extend(simple.into_iter().chain(other));
        for method in ["OPTIONS", UNKNOWN_METHOD] {
            if !methods.contains(&method) {
                methods.push(method);
            }
        }
        methods
    }

    /// A request header that a policy of the path allows explicitly.
    pub(super) fn granted_header(&self) -> Option<&'a str> {
        let mut names = self.sharings().into_iter().flat_map(Sharing::headers).map(String::as_str);
        names.find(|name| !matches!(*name, "*" | "authorization" | "content-type"))
    }

    /// The pages to try, the simplest first: one for each entry of each list, and pages with
    /// similar origins. The first of each kind represents the others.
    pub(super) fn pages(&self, declared: &DeclaredApp) -> Vec<PageCase> {
        let sharings = self.sharings();
        let mut cases = vec![PageCase::new("a page of the app's own origin", &declared.own)];
        let mut add = |why, origin: &str| cases.push(PageCase::new(why, origin));
        let (_, mut near) = examples(&declared.own);
        let patterns = || sharings.iter().flat_map(|sharing| &sharing.origins);
        for pattern in patterns().filter(|pattern| *pattern != "*") {
            let (origin, others) = examples(pattern);
            add("a page that the policy names", &origin);
            near.extend(others);
        }
        add("a page of a stranger", STRANGER);
        if let Some(neighbour) = neighbour(&declared.own) {
            add("a page of the same site", &neighbour);
        }
        let elsewhere = declared.sharings().flat_map(|sharing| &sharing.origins);
        let elsewhere =
            elsewhere.filter(|pattern| *pattern != "*").map(|pattern| examples(pattern).0);
        let mut elsewhere =
            elsewhere.filter(|origin| !sharings.iter().any(|all| all.names(origin)));
        if let Some(origin) = elsewhere.next() {
            add("a page that another route names", &origin);
        }
        near.iter().for_each(|origin| add("a page of nearly such a name", origin));
        cases.push(PageCase::opaque());
        let mut cases: Vec<_> = cases.into_iter().flatten().collect();
        let mut seen = Vec::new();
        cases.retain(|page_case| {
            let is_new = !seen.contains(&page_case.origin);
            seen.push(page_case.origin.clone());
            is_new
        });
        for page_case in &mut cases {
            page_case.is_own = page_case.origin == declared.own;
            page_case.granted = sharings.iter().map(|all| all.names(&page_case.origin)).collect();
        }
        let mut kinds = Vec::new();
        for page_case in &mut cases {
            let kind = (page_case.granted.clone(), page_case.why);
            page_case.stands_for_others = !kinds.contains(&kind);
            kinds.push(kind);
        }
        cases
    }
}

/// A page that sends requests.
#[derive(Clone, Debug)]
pub(super) struct PageCase {
    /// A description.
    pub(super) why: &'static str,
    /// Its origin, as browsers serialise it.
    pub(super) origin: String,
    pub(super) page: Page,
    pub(super) is_own: bool,
    /// Whether its browser sends no Fetch Metadata.
    pub(super) lacks_fetch_metadata: bool,
    /// For each policy of the path, whether it names the page.
    granted: Vec<bool>,
    /// Whether it is the first of its kind.
    pub(super) stands_for_others: bool,
}

impl PageCase {
    /// `None` if no page can have such an origin.
    fn new(why: &'static str, origin: &str) -> Option<Self> {
        let mut page = Page::at(Url::parse(origin).ok()?);
        page.origin = PageOrigin::Tuple(origin.to_owned());
        let origin = origin.to_owned();
        Some(Self {
            why,
            origin,
            page,
            is_own: false,
            lacks_fetch_metadata: false,
            granted: Vec::new(),
            stands_for_others: true,
        })
    }

    /// The same page with the referrer policy `no-referrer`: its forms have the origin `null`
    /// (Fetch, 3.2: append a request `Origin` header).
    pub(super) fn no_referrer(&self) -> Self {
        let mut case = self.clone();
        case.page.referrer_policy = ReferrerPolicy::NoReferrer;
        case
    }

    /// The same page in a browser without Fetch Metadata.
    pub(super) fn without_fetch_metadata(&self) -> Self {
        Self { lacks_fetch_metadata: true, ..self.clone() }
    }

    /// A sandboxed frame in a page of another site.
    fn opaque() -> Option<Self> {
        let mut case = Self::new("a sandboxed frame", STRANGER)?;
        case.page.origin = PageOrigin::Opaque;
        Some(Self { origin: "null".to_owned(), ..case })
    }
}

/// Something that a page loads.
#[derive(Clone, Debug)]
pub(super) struct RequestCase {
    pub(super) fetch: Fetch,
    /// A text that identifies it among all request cases.
    pub(super) key: String,
    /// The names, lower case, of headers that need a preflight.
    pub(super) unsafe_headers: Vec<String>,
}

impl RequestCase {
    fn new(fetch: Fetch, unsafe_headers: Vec<String>) -> Self {
        let key = format!(
            "{} {} {:?} {:?} {:?} {}",
            fetch.method,
            fetch.body.is_some(),
            fetch.mode,
            fetch.credentials,
            fetch.destination,
            fetch
                .headers
                .iter()
                .map(|(name, value)| format!("{name}={value};"))
                .collect::<String>(),
        );
        Self { fetch, key, unsafe_headers }
    }

    /// The same request by a script that has the caller's credentials. Their values are filled in
    /// after the browser has decided.
    pub(super) fn with(&self, caller: &Caller) -> Self {
        let (mut fetch, mut names) = (self.fetch.clone(), self.unsafe_headers.clone());
        let token = caller.authorization.as_ref().map(|_| "authorization");
        let csrf = caller.csrf.as_ref().map(|_| csrf::HEADER);
        let is_new = |name: &&str| !self.unsafe_headers.iter().any(|known| known == name);
        for name in [token, csrf].into_iter().flatten().filter(is_new) {
            fetch = fetch.header(name, "policy-probe");
            names.push(name.to_owned());
        }
        Self::new(fetch, names)
    }

    /// Whether browsers send a preflight before it (Fetch, 4.1: CORS-preflight).
    pub(super) fn is_asked_first(&self) -> bool {
        let is_simple = matches!(self.fetch.method.as_str(), "GET" | "HEAD" | "POST");
        self.fetch.mode == Mode::Cors && (!is_simple || !self.unsafe_headers.is_empty())
    }
}

/// Whether two templates match the same paths.
fn is_same(one: &str, other: &str) -> bool {
    let form = |template: &str| -> Vec<String> {
        let of = |segment: &str| match segment.strip_prefix('{') {
            Some(name) if name.starts_with('*') => "{*}".to_owned(),
            Some(_) => "{}".to_owned(),
            None => segment.to_owned(),
        };
        template.split('/').map(of).collect()
    };
    one == other || form(one) == form(other)
}

/// The requests of elements, forms, links and WebSockets, which need no preflight.
pub(super) fn loads(path: &Path<'_>, url: &str) -> Vec<RequestCase> {
    let of_get = [Fetch::image, Fetch::script, Fetch::frame, Fetch::navigate, Fetch::websocket];
    let of_get =
        of_get.into_iter().filter(|_| path.route_for("GET").is_some()).map(|load| load(url));
    let plain = Fetch::post(url).mode(Mode::NoCors).credentials(Credentials::Include);
    let of_post =
        [Fetch::form(url, [("a", "b")]), plain.header("content-type", "text/plain").body("{}")];
    let of_post = of_post.into_iter().filter(|_| path.route_for("POST").is_some());
    of_post.chain(of_get).map(|fetch| RequestCase::new(fetch, Vec::new())).collect()
}

/// An origin that a pattern matches.
pub(super) fn example(pattern: &str) -> String {
    examples(pattern).0
}

/// An origin that a pattern matches, and similar ones.
fn examples(pattern: &str) -> (String, Vec<String>) {
    let Some(parts) = parts(pattern) else { return (pattern.to_owned(), Vec::new()) };
    let of = |scheme: &str, host: &str, port: &str| match port {
        "" => format!("{scheme}://{host}"),
        port => format!("{scheme}://{host}:{port}"),
    };
    let parent = parts.host.strip_prefix("*.");
    let host = match parent {
        Some(parent) => format!("a.{parent}"),
        None => parts.host.replacen('*', "a", 1),
    };
    let port = if parts.port == "*" { "" } else { parts.port };
    let other_port = if port == "8443" { "9443" } else { "8443" };
    let other_scheme = if parts.scheme == "https" { "http" } else { "https" };
    let mut near = vec![
        of(parts.scheme, &host, other_port),
        of(other_scheme, &host, port),
        of(parts.scheme, &format!("{host}.stranger.example"), port),
        of(parts.scheme, &format!("stranger-{host}"), port),
    ];
    if let Some(parent) = parent {
        near.push(of(parts.scheme, parent, port));
        near.push(of(parts.scheme, &format!("stranger{parent}"), port));
        near.push(of(parts.scheme, &format!("a.b.{parent}"), port));
    } else if let Some((front, end)) = parts.host.split_once('*') {
        for middle in ["", "a.b", "a.", "b-"] {
            near.push(of(parts.scheme, &format!("{front}{middle}{end}"), port));
        }
        let (label, parent) = end.split_once('.').unwrap_or((end, ""));
        near.push(of(parts.scheme, &format!("{front}a{label}-stranger.{parent}"), port));
    } else {
        near.push(of(parts.scheme, &format!("a.{host}"), port));
    }
    (of(parts.scheme, &host, port), near)
}

/// Another origin of the same site.
fn neighbour(own: &str) -> Option<String> {
    let parts = parts(own)?;
    let is_name =
        parts.host.contains('.') && !parts.host.ends_with(|last: char| last.is_ascii_digit());
    Some(match parts.host.split_once('.').filter(|_| is_name) {
        Some((_, parent)) if parent.contains('.') => {
            format!("{}://policy-neighbour.{parent}", parts.scheme)
        }
        Some(_) => format!("{}://policy-neighbour.{}", parts.scheme, parts.host),
        None => format!("{}://{}:9876", parts.scheme, parts.host),
    })
}

/// The calls of `fetch()` to try for a method of a path: each set of headers with each credentials
/// mode; those without a header and with a content type come first.
pub(super) fn request_cases(path: &Path<'_>, method: &str, url: &str) -> Vec<RequestCase> {
    let has_body = !matches!(method, "GET" | "HEAD");
    let granted = path.granted_header();
    let mut sets: Vec<Vec<(&str, &str)>> = vec![Vec::new()];
    if has_body {
        sets.push(vec![("content-type", "text/plain")]);
    }
    sets.push(vec![("content-type", "application/json")]);
    sets.extend(granted.map(|name| vec![(name, "1")]));
    // An invalid token: `*` does not cover the name.
    sets.push(vec![("authorization", "policy-probe")]);
    sets.push(vec![(FRESH_HEADER, "1")]);
    sets.extend(granted.map(|name| vec![(name, "1"), (FRESH_HEADER, "1")]));
    let mut request_cases = Vec::new();
    for set in &sets {
        for credentials in MODES {
            let mut fetch = Fetch::new(method, url).credentials(credentials);
            for (name, value) in set {
                fetch = fetch.header(*name, *value);
            }
            if has_body && !set.is_empty() {
                fetch = fetch.body("{}");
            }
            let is_unsafe = |(name, value): &&(&str, &str)| {
                *name != "content-type" || *value == "application/json"
            };
            let unsafe_headers =
                set.iter().filter(is_unsafe).map(|(name, _)| (*name).to_owned()).collect();
            request_cases.push(RequestCase::new(fetch, unsafe_headers));
        }
    }
    request_cases
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CorsConfig, app::App, prelude::*};

    #[get("/read")]
    #[auth(public)]
    async fn read() {}

    #[post("/write")]
    #[auth(public)]
    async fn write() {}

    /// Ten paths with three policies of routes, all of different kinds.
    fn declared() -> DeclaredApp {
        let app = (0..10).fold(App::new(()), |app: App<()>, number| {
            let cors = CorsConfig::new([format!("https://app{}.example", number.min(1))]);
            let policies = Policies::new().cors(cors);
            let group = Group::new().policies(policies).routes(match number {
                9 => routes![write],
                _ => routes![read],
            });
            app.group(format!("/area{number}"), group)
        });
        DeclaredApp::read(&app.parts)
    }

    #[test]
    fn a_sample_has_every_policy_and_the_unknown_path() {
        let declared = declared();
        let all = Path::all(&declared);
        assert_eq!((all.len(), Path::sampled(Path::all(&declared), 4, false).len()), (4, 4));
        let sample = Path::sampled(all, 3, false);
        assert_eq!(sample.len(), 3);
        assert!(sample.iter().any(|path| path.routes.is_empty()));
    }

    #[get("/own")]
    #[auth(session)]
    async fn own() {}

    #[test]
    fn a_sample_has_a_path_for_each_law() {
        let mut declared = declared();
        let app = App::new(()).sessions(Sessions::memory()).routes(routes![own]);
        declared.routes.extend(DeclaredApp::read(&app.parts).routes);
        let sample = Path::sampled(Path::all(&declared), 3, false);
        assert!(sample.iter().any(|path| path.template == "/own"));
    }
}
