//! Routing by path and method. Paths are matched only here, for servers and for manifests.

use std::{collections::BTreeMap, sync::Arc};

use http::{HeaderValue, Method};
use rustc_hash::FxHashMap;

use crate::{
    catalogue::Rule,
    cors::{Cors, Preflight},
    head::lookup_path,
    method,
    path::{PathTemplate, Segment, TrailingSlash},
    route::MAX_PARAMETERS,
};

/// The paths of an app.
///
/// ```
/// use http::Method;
/// use policy_core::{path::TrailingSlash, router::{RouterBuilder, Sharing}};
///
/// let mut builder = RouterBuilder::new(TrailingSlash::Strict);
/// builder.add("/orders/{id}", &[Method::GET], 0, &Sharing::default())?;
/// let router = builder.finish();
/// let (path, values) = router.find("/orders/7").unwrap();
/// assert_eq!(path.route_for(&Method::HEAD).unwrap().route, 0);
/// assert_eq!(values.iter("/orders/7").collect::<Vec<_>>(), ["7"]);
/// # Ok::<(), policy_core::router::AddError>(())
/// ```
#[derive(Debug, Default)]
pub struct Router {
    trailing_slash: TrailingSlash,
    /// Paths without parameters, which need no tree walk. The hash is unkeyed: only paths of the
    /// app are stored, so clients cannot force collisions.
    fixed: FxHashMap<Box<str>, usize>,
    /// All paths, by [`TrailingSlash::key`].
    tree: matchit::Router<usize>,
    paths: Vec<Path>,
    /// The index of each path by its form, in which parameters are named by position.
    indices: BTreeMap<String, usize>,
}

/// One path and its routes.
#[derive(Debug, Default)]
pub struct Path {
    /// Its index among the paths of the app.
    index: usize,
    /// The first of its routes, which may have no methods.
    first: usize,
    methods: Vec<PathMethod>,
    /// How many segments are before each of its parameters.
    parameters: Vec<usize>,
    /// Whether the last parameter is the rest of the path.
    has_rest: bool,
    allow: Option<HeaderValue>,
    /// Whether its routes have a trailing slash.
    has_slash: bool,
    /// Whether its other spelling is redirected to it.
    is_redirected: bool,
}

/// One method of a path.
#[derive(Debug)]
pub struct PathMethod {
    /// The method.
    pub method: Method,
    /// The index of the route in the app.
    pub route: usize,
    /// The response to preflights, if the route is shared.
    pub preflight: Option<Preflight>,
    /// Which parameters of the path take encoded slashes, one bit each.
    takes_slashes: u8,
}

impl PathMethod {
    /// Whether each of these values that has an encoded slash belongs to a parameter that takes
    /// them.
    fn takes_slashes<'v>(&self, values: impl Iterator<Item = &'v str>) -> bool {
        values.enumerate().all(|(index, value)| {
            self.takes_slashes & (1 << index) != 0
                || !(value.contains("%2F") || value.contains("%5C"))
        })
    }
}

/// The values of the path parameters, as ranges in the request path.
#[derive(Clone, Copy, Debug, Default)]
pub struct Values {
    /// A path is shorter than 64 KiB, the limit of `Uri`.
    ranges: [(u16, u16); MAX_PARAMETERS],
    len: u8,
}

impl Values {
    /// The values, still encoded, in the order of the path.
    pub fn iter<'a>(&self, path: &'a str) -> impl Iterator<Item = &'a str> {
        let ranges = self.ranges.iter().take(self.len.into());
        ranges.filter_map(move |(start, end)| path.get(*start as usize..*end as usize))
    }

    /// One of the values, still encoded.
    pub fn get<'a>(&self, index: usize, path: &'a str) -> Option<&'a str> {
        let (start, end) = *self.ranges.get(index)?;
        path.get(usize::from(start)..usize::from(end))
    }
}

impl Path {
    /// Its index among the paths of the app.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The values of its parameters in a path that it matches.
    fn values(&self, path: &str) -> Values {
        let end_of_segment = |start: usize| {
            let rest = path.as_bytes().get(start..).unwrap_or_default();
            rest.iter().position(|byte| *byte == b'/').map_or(path.len(), |len| start + len)
        };
        let mut values = Values::default();
        let (mut before, mut start) = (0, 1);
        let mut end = end_of_segment(start);
        for (range, segments) in values.ranges.iter_mut().zip(&self.parameters) {
            while before < *segments {
                start = end + 1;
                end = end_of_segment(start);
                before += 1;
            }
            if self.has_rest && usize::from(values.len) + 1 == self.parameters.len() {
                end = path.len();
            }
            *range = (start as u16, end as u16);
            values.len += 1;
        }
        values
    }

    /// Its methods, in alphabetical order.
    pub fn methods(&self) -> &[PathMethod] {
        &self.methods
    }

    /// The value of `Allow` (RFC 9110 10.2.1).
    pub fn allow(&self) -> HeaderValue {
        self.allow.clone().unwrap_or(HeaderValue::from_static("OPTIONS"))
    }

    /// Whether a path that was found here must be redirected to the spelling of the routes.
    pub fn redirects(&self, path: &str) -> bool {
        self.is_redirected && path.ends_with('/') != self.has_slash
    }

    /// The route for a method; for HEAD the route of GET, unless HEAD has its own.
    pub fn route_for(&self, method: &Method) -> Option<&PathMethod> {
        let of = |method: &Method| self.methods.iter().find(|served| served.method == *method);
        of(method).or_else(|| if *method == Method::HEAD { of(&Method::GET) } else { None })
    }

    /// The route for the method that a preflight names.
    pub fn route_for_name(&self, name: &[u8]) -> Option<&PathMethod> {
        let of = |name: &[u8]| {
            self.methods.iter().find(|served| served.method.as_str().as_bytes() == name)
        };
        of(name).or_else(|| if name == b"HEAD" { of(b"GET") } else { None })
    }

    /// The route whose policy the 405 and automatic OPTIONS responses of this path carry. The
    /// routes of a path usually have one policy; if they differ, the policy is that of a shared
    /// route, preferably with a safe method, and among several that of the first by name. The order
    /// in which routes are listed does not matter.
    pub fn shared(&self) -> Option<&PathMethod> {
        self.methods.iter().min_by(|one, other| {
            let key = |served: &PathMethod| {
                (served.preflight.is_none(), !method::is_safe(served.method.as_str()))
            };
            let by_key = key(one).cmp(&key(other));
            by_key.then_with(|| one.method.as_str().cmp(other.method.as_str()))
        })
    }
}

impl Router {
    /// Whether any path has a route for this method.
    pub fn serves(&self, method: &Method) -> bool {
        self.paths.iter().any(|path| path.route_for(method).is_some())
    }

    /// How a path that differs in the trailing slash is treated.
    pub fn trailing_slash(&self) -> TrailingSlash {
        self.trailing_slash
    }

    /// All paths, in the order in which they were added.
    pub fn paths(&self) -> &[Path] {
        &self.paths
    }

    /// The form of a template under which [`forms`](Self::forms) lists its path.
    pub fn form(&self, template: &PathTemplate<'_>) -> String {
        self.trailing_slash.key(&template.form()).to_owned()
    }

    /// The templates as [`PathTemplate::form`] writes them, with the index of each path.
    pub fn forms(&self) -> impl Iterator<Item = (&str, usize)> {
        self.indices.iter().map(|(form, index)| (form.as_str(), *index))
    }

    /// Finds a path in its normal form. The values of its parameters are still percent-encoded.
    pub fn find(&self, path: &str) -> Option<(&Path, Values)> {
        if self.trailing_slash == TrailingSlash::Strict {
            return self.look_up(path);
        }
        let key = self.trailing_slash.key(path);
        let found = self.look_up(key)?;
        // `{*rest}` keeps its trailing slash.
        if key.len() < path.len() && found.0.has_rest { self.look_up(path) } else { Some(found) }
    }

    fn look_up(&self, path: &str) -> Option<(&Path, Values)> {
        if let Some(index) = self.fixed.get(path) {
            return Some((self.paths.get(*index)?, Values::default()));
        }
        let index = *self.tree.at(&lookup_path(path)).ok()?.value;
        let found = self.paths.get(index)?;
        Some((found, found.values(path)))
    }

    /// Whether the route that serves a path takes the encoded slashes in it. `found` and `values` are what
    /// [`find`](Self::find) returns for the path.
    pub fn takes_slashes(
        &self,
        path: &str,
        (found, values): (&Path, Values),
        served: &PathMethod,
    ) -> bool {
        served.takes_slashes(values.iter(path))
            && !(found.has_rest && self.hides_other(path, served))
    }

    /// Whether a path matches another route once its encoded slashes are decoded: a service that
    /// decodes them would confuse the two routes.
    fn hides_other(&self, path: &str, served: &PathMethod) -> bool {
        let decoded = path.replace("%2F", "/").replace("%5C", "/");
        let segments = decoded.split('/').filter(|segment| !segment.is_empty());
        let mut decoded_path: String = segments.flat_map(|segment| ["/", segment]).collect();
        if decoded.ends_with('/') {
            decoded_path.push('/');
        }
        self.find(&decoded_path).is_some_and(|(path, _)| {
            path.route_for(&served.method).is_none_or(|other| other.route != served.route)
        })
    }
}

/// How a route shares its responses, which decides about the preflights of its path.
#[derive(Clone, Debug, Default)]
pub struct Sharing {
    /// Its CORS policy.
    pub cors: Option<Arc<Cors>>,
    /// The request headers that a page needs to send its credentials.
    pub by_credentials: Vec<&'static str>,
}

/// Collects the routes of an app.
#[derive(Debug, Default)]
pub struct RouterBuilder {
    router: Router,
    /// The sharing of each method, by the index of its path.
    sharing: Vec<Vec<Sharing>>,
}

impl RouterBuilder {
    /// No paths.
    pub fn new(trailing_slash: TrailingSlash) -> Self {
        let router = Router { trailing_slash, ..Router::default() };
        Self { router, ..Self::default() }
    }

    /// Adds a route for some methods of a complete path.
    ///
    /// # Errors
    ///
    /// The rule that the path breaks, or the route that already has it.
    pub fn add(
        &mut self,
        template: &str,
        methods: &[Method],
        route: usize,
        sharing: &Sharing,
    ) -> Result<(), AddError> {
        let parsed = PathTemplate::parse(template).map_err(AddError::Rule)?;
        let has_slash = template.ends_with('/');
        let index = self.path(&parsed, route)?;
        let takes_slashes = (parsed.segments().filter_map(Segment::parameter).enumerate())
            .filter(|(_, parameter)| parameter.takes_slashes)
            .fold(0, |bits, (index, _)| bits | 1 << index);
        let (Some(path), Some(shared)) =
            (self.router.paths.get_mut(index), self.sharing.get_mut(index))
        else {
            return Ok(());
        };
        if path.has_slash != has_slash {
            // A mount serves both spellings of its prefix.
            if path.first == route || path.methods.iter().any(|served| served.route == route) {
                path.is_redirected = false;
                return Ok(());
            }
            return Err(AddError::Taken(path.first));
        }
        if let Some(taken) = path.methods.iter().find(|served| methods.contains(&served.method)) {
            return Err(AddError::Taken(taken.route));
        }
        for method in methods {
            let method = method.clone();
            let served = PathMethod { method, route, preflight: None, takes_slashes };
            let at = path
                .methods
                .partition_point(|known| known.method.as_str() < served.method.as_str());
            path.methods.insert(at, served);
            shared.insert(at, sharing.clone());
        }
        Ok(())
    }

    /// The index of the path that serves a template, which is added if there is none.
    fn path(&mut self, template: &PathTemplate<'_>, route: usize) -> Result<usize, AddError> {
        let router = &mut self.router;
        let form = router.form(template);
        if let Some(index) = router.indices.get(&form) {
            return Ok(*index);
        }
        let parameters: Vec<usize> = (template.segments().enumerate())
            .filter_map(|(before, segment)| segment.name().map(|_| before))
            .collect();
        if parameters.len() > MAX_PARAMETERS {
            return Err(AddError::Rule(Rule::PathParameter));
        }
        let has_rest = template.segments().any(|segment| matches!(segment, Segment::Rest(_)));
        let index = router.paths.len();
        let overlap = |conflict| AddError::Overlap(overlapped(&conflict));
        router.tree.insert(&form, index).map_err(overlap)?;
        if parameters.is_empty() {
            router.fixed.insert(form.as_str().into(), index);
        }
        router.paths.push(Path {
            index,
            first: route,
            parameters,
            has_rest,
            has_slash: template.as_str().ends_with('/'),
            // Mounts and `{*rest}` decide themselves about trailing slashes.
            is_redirected: router.trailing_slash == TrailingSlash::Redirect
                && !has_rest
                && template.as_str() != "/",
            ..Path::default()
        });
        router.indices.insert(form, index);
        self.sharing.push(Vec::new());
        Ok(index)
    }

    /// Completes the parts that depend on all routes of a path: `Allow` and the responses to
    /// preflights.
    pub fn finish(mut self) -> Router {
        for (path, sharing) in self.router.paths.iter_mut().zip(&self.sharing) {
            path.allow = allow(&path.methods);
            let preflights: Vec<_> =
                sharing.iter().map(|own| preflight(own, &path.methods, sharing)).collect();
            for (served, preflight) in path.methods.iter_mut().zip(preflights) {
                served.preflight = preflight;
            }
        }
        self.router
    }
}

/// The response to preflights for one method of a path. It allows all methods of the path that
/// share the same policy, with the headers that they need. It may be cached only if every other
/// method of the path is safe, since a cached preflight would let a page send them.
fn preflight(own: &Sharing, methods: &[PathMethod], sharing: &[Sharing]) -> Option<Preflight> {
    let cors = own.cors.as_ref()?;
    let (mut shared, mut by_credentials, mut may_be_kept) = (Vec::new(), Vec::new(), true);
    for (served, other) in methods.iter().zip(sharing) {
        if other.cors.as_ref().is_some_and(|other| other.shares_preflight(cors)) {
            shared.push(served.method.clone());
            by_credentials.extend_from_slice(&other.by_credentials);
        } else {
            may_be_kept &= method::is_safe(served.method.as_str());
        }
    }
    let preflight = cors.preflight(&with_head(shared), &by_credentials);
    Some(if may_be_kept { preflight } else { preflight.not_kept() })
}

/// Why a route cannot be added.
#[derive(Debug)]
pub enum AddError {
    /// The path breaks this rule.
    Rule(Rule),
    /// The route with this index already has the path and the method.
    Taken(usize),
    /// Another path matches the same requests.
    Overlap(String),
}

fn overlapped(conflict: &matchit::InsertError) -> String {
    match conflict {
        matchit::InsertError::Conflict { with } => with.clone(),
        other => other.to_string(),
    }
}

fn with_head(mut methods: Vec<Method>) -> Vec<Method> {
    if methods.contains(&Method::GET) && !methods.contains(&Method::HEAD) {
        methods.push(Method::HEAD);
    }
    methods
}

/// The value of `Allow` (RFC 9110 10.2.1); OPTIONS is always served.
fn allow(methods: &[PathMethod]) -> Option<HeaderValue> {
    let mut methods = with_head(methods.iter().map(|served| served.method.clone()).collect());
    if !methods.contains(&Method::OPTIONS) {
        methods.push(Method::OPTIONS);
    }
    let mut names: Vec<_> = methods.iter().map(Method::as_str).collect();
    names.sort_unstable();
    HeaderValue::from_str(&names.join(", ")).ok()
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*, sample::select};

    use super::*;
    use crate::{
        cors::{CorsPolicy, OriginLists},
        head::Single,
    };

    /// Templates of an app, to be tried in both spellings.
    const TEMPLATES: [&str; 9] = [
        "/",
        "/a",
        "/a/b",
        "/a/{id}",
        "/a/{id}/b",
        "/{*rest}",
        "/a/{*rest}",
        "/a/b/{*rest}",
        "/c/{id}/{*rest}",
    ];

    proptest! {
        /// Unless slashes are strict, one route object serves both spellings of a path, so one
        /// policy decides about both.
        #[test]
        fn both_spellings_of_a_path_have_one_policy(
            meaning in select(&[TrailingSlash::Redirect, TrailingSlash::Same][..]),
            templates in vec((select(&TEMPLATES[..]), any::<bool>(), any::<bool>()), 1..8),
            segments in vec(select(&["a", "b", "c", "x", "a%2Bb", "%41"][..]), 1..5),
        ) {
            let sharing = Sharing::default();
            let mut router = RouterBuilder::new(meaning);
            for (index, (template, has_slash, is_get)) in templates.into_iter().enumerate() {
                let slash = if has_slash && !template.contains('*') && template != "/" { "/" } else { "" };
                let method = if is_get { Method::GET } else { Method::POST };
                // Two routes for the same requests are an error, and the app does not start.
                let _ = router.add(&format!("{template}{slash}"), &[method], index, &sharing);
            }
            let router = router.finish();
            let path = format!("/{}", segments.join("/"));
            let both = [path.clone(), format!("{path}/")];
            let [one, other] = both.each_ref().map(|path| router.find(path).map(|(found, _)| found));
            match (one, other) {
                (None, None) => (),
                (Some(one), Some(other)) => {
                    prop_assert!(std::ptr::eq(one, other), "{both:?}");
                    let redirected = both.iter().filter(|path| one.redirects(path)).count();
                    prop_assert_eq!(redirected, usize::from(one.is_redirected));
                }
                (one, other) => prop_assert!(false, "{both:?}: {one:?}, {other:?}"),
            }
        }
    }

    #[test]
    fn a_path_has_one_spelling_even_if_its_first_route_has_no_methods() {
        for [one, other] in [["/a", "/a/"], ["/a/", "/a"]] {
            let mut router = RouterBuilder::new(TrailingSlash::Redirect);
            router.add(one, &[], 0, &Sharing::default()).unwrap();
            let second = router.add(other, &[Method::GET], 1, &Sharing::default());
            assert!(matches!(second, Err(AddError::Taken(0))), "{one} {other}");
        }
    }

    /// Paths of up to four segments.
    fn paths() -> Vec<String> {
        let mut paths = vec![String::new()];
        let mut begin = 0;
        for _ in 0..4 {
            let longer: Vec<String> = (paths.iter().skip(begin))
                .flat_map(|path| {
                    ["a", "b", "c", "x", "a%2Bb", "%2F"].map(|text| format!("{path}/{text}"))
                })
                .collect();
            begin = paths.len();
            paths.extend(longer);
        }
        let with_slash: Vec<String> = paths.iter().map(|path| format!("{path}/")).collect();
        paths.extend(with_slash);
        paths
    }

    #[test]
    fn values_are_what_the_tree_matches() {
        let mut matches = 0;
        for template in TEMPLATES {
            let mut router = RouterBuilder::new(TrailingSlash::Strict);
            router.add(template, &[Method::GET], 0, &Sharing::default()).unwrap();
            let router = router.finish();
            let mut tree = matchit::Router::new();
            tree.insert(PathTemplate::parse(template).unwrap().form(), ()).unwrap();
            for path in paths() {
                let key = lookup_path(&path);
                let expected = tree.at(&key).ok().map(|found| {
                    found.params.iter().map(|(_, value)| value.to_owned()).collect::<Vec<_>>()
                });
                let found = router.find(&path).map(|(_, values)| {
                    values.iter(&path).map(|value| lookup_path(value).into_owned()).collect()
                });
                assert_eq!(found, expected, "{path} at {template}");
                matches += found.map_or(0, |values| values.len());
            }
        }
        assert_eq!(matches, 4728);
    }

    #[test]
    fn preflights_allow_the_needs_of_all_shared_routes_of_a_path() {
        const APP: CorsPolicy = CorsPolicy::origins(&["https://a.test"]).credentials().build();
        const OTHER: CorsPolicy = CorsPolicy::origins(&["https://b.test"]).credentials().build();
        let compiled = |policy| Arc::new(Cors::new("a test", policy, &OriginLists::new()).unwrap());
        let (app, other) = (compiled(&APP), compiled(&OTHER));
        let mut router = RouterBuilder::default();
        let routes = [
            (Method::GET, &app, vec!["authorization"]),
            (Method::POST, &app, vec!["x-csrf-token"]),
            (Method::PUT, &app, Vec::new()),
            (Method::DELETE, &other, vec!["x-csrf-token"]),
        ];
        for (route, (method, cors, by_credentials)) in routes.into_iter().enumerate() {
            let sharing = Sharing { cors: Some(Arc::clone(cors)), by_credentials };
            assert!(router.add("/a", &[method], route, &sharing).is_ok());
        }
        let router = router.finish();
        let (path, _) = router.find("/a").unwrap();
        let allowed = |method: &Method, cors: &Cors, origin| {
            let preflight = path.route_for(method).unwrap().preflight.as_ref();
            let (origin, method) =
                (HeaderValue::from_static(origin), HeaderValue::from_str(method.as_str()).unwrap());
            let response =
                preflight.unwrap().answer(cors, Single::One(&origin), Single::One(&method));
            response.unwrap().1.get("access-control-allow-headers").unwrap().clone()
        };
        for method in [Method::GET, Method::HEAD, Method::POST, Method::PUT] {
            let names = allowed(&method, &app, "https://a.test");
            assert_eq!(names, "authorization,content-type,x-csrf-token", "{method}");
        }
        assert_eq!(allowed(&Method::DELETE, &other, "https://b.test"), "content-type,x-csrf-token");
    }

    #[test]
    fn preflights_are_not_cached_if_routes_of_a_path_differ() {
        const APP: CorsPolicy = CorsPolicy::origins(&["https://a.test"])
            .methods(&["PUT", "DELETE"])
            .max_age(600)
            .build();
        let cors = Arc::new(Cors::new("a test", &APP, &OriginLists::new()).unwrap());
        let shared = Sharing { cors: Some(Arc::clone(&cors)), ..Sharing::default() };
        for (other, kept) in [(Method::GET, "600"), (Method::DELETE, "0"), (Method::POST, "0")] {
            let mut router = RouterBuilder::default();
            assert!(router.add("/a", &[Method::PUT], 0, &shared).is_ok());
            let private = Sharing::default();
            assert!(router.add("/a", std::slice::from_ref(&other), 1, &private).is_ok());
            let router = router.finish();
            let (path, _) = router.find("/a").unwrap();
            let preflight = path.route_for(&Method::PUT).unwrap().preflight.as_ref().unwrap();
            let origin = HeaderValue::from_static("https://a.test");
            let method = HeaderValue::from_static("PUT");
            let (_, headers) =
                preflight.answer(&cors, Single::One(&origin), Single::One(&method)).unwrap();
            assert_eq!(headers["access-control-max-age"], kept, "beside {other}");
        }
    }
}
