//! Example paths of routes.

use std::collections::HashSet;

use policy_core::path::{PathTemplate, Segment};

use crate::facets::{ManifestRoute, RouteKind};

/// Example paths of the routes of an app. The values of their parameters occur in no path of these
/// routes, so that no route with such a value in its path serves them instead.
///
/// ```
/// use policy_manifest::{Auth, ExamplePaths, ManifestRoute};
///
/// let routes = ["/orders/{id}", "/orders/1"].map(|path| ManifestRoute::handler(path, ["GET"], Auth::Public));
/// let paths = ExamplePaths::new(&routes);
/// assert_eq!(paths.path(&routes[0]).as_deref(), Some("/orders/2"));
/// ```
#[derive(Clone, Debug)]
pub struct ExamplePaths {
    /// A number that is part of no path.
    value: String,
    /// The number of segments of the longest path.
    depth: usize,
    /// Whether some parameter takes encoded slashes.
    take_slashes: bool,
}

impl ExamplePaths {
    /// For the routes of one app, or of all apps that get the same requests.
    pub fn new<'r>(routes: impl IntoIterator<Item = &'r ManifestRoute, IntoIter: Clone>) -> Self {
        let routes = routes.into_iter();
        let take_slashes =
            routes.clone().any(|route| route.takes_slashes || route.path.contains(":slashes}"));
        let paths = routes.map(|route| route.path.as_str());
        let depth = paths.clone().map(|path| path.matches('/').count()).max().unwrap_or_default();
        Self { value: number_in_no_path(&paths), depth, take_slashes }
    }

    /// A path that the route serves: the template of a handler with values for its parameters, or the
    /// prefix of a mount or a proxy with a slash. `None` for a route without paths or for all other
    /// paths.
    ///
    /// ```
    /// use policy_manifest::{Auth, ExamplePaths, ManifestRoute};
    ///
    /// let route = ManifestRoute::handler("/orders/{id}/lines", ["GET"], Auth::Public);
    /// let paths = ExamplePaths::new([&route]);
    /// assert_eq!(paths.path(&route).as_deref(), Some("/orders/1/lines"));
    /// ```
    pub fn path(&self, route: &ManifestRoute) -> Option<String> {
        match route.kind {
            RouteKind::Handler | RouteKind::Probe => Some(self.path_of(&route.path)),
            RouteKind::Mount | RouteKind::Proxy => Some(self.path_of(&format!("{}/", route.path))),
            RouteKind::Tunnel | RouteKind::Fallback | RouteKind::NotFound => None,
        }
    }

    /// A request of the route, such as `GET /orders/1`.
    pub(crate) fn request(&self, method: &str, route: &ManifestRoute) -> Option<String> {
        self.path(route).map(|path| format!("{method} {path}"))
    }

    /// A path that a template matches. If it ends with a rest, the path is longer than every template
    /// without one.
    pub fn path_of(&self, template: &str) -> String {
        self.fill(template, &self.longest())
    }

    /// The same with a rest of one segment: another template may have a rest behind a parameter.
    pub(crate) fn short_path_of(&self, template: &str) -> String {
        self.fill(template, &self.value)
    }

    fn fill(&self, template: &str, rest: &str) -> String {
        let Ok(parsed) = PathTemplate::parse(template) else { return template.to_owned() };
        parsed.filled(|segment| match segment {
            Segment::Rest(_) => rest.to_owned(),
            Segment::Fixed(_) | Segment::Parameter(_) => self.value.clone(),
        })
    }

    /// The spellings of a path with one encoded slash: those that decode to the path, if empty segments are left
    /// out, and those that decode to a path of one segment more. None if no parameter of the routes takes them.
    pub(crate) fn with_slashes(&self, path: &str) -> (Vec<String>, Vec<String>) {
        let (mut same, mut longer) = (Vec::new(), Vec::new());
        let segments: Vec<&str> = path.split('/').collect();
        for index in (1..segments.len()).filter(|_| self.take_slashes) {
            let (before, behind) = segments.split_at(index);
            let segment = behind.first().filter(|segment| !segment.is_empty());
            let [before, behind] = [before, behind].map(|part| part.join("/"));
            same.push(format!("{before}/%2F{behind}"));
            if index > 1 {
                same.push(format!("{before}%2F{behind}"));
            }
            if let Some(segment) = segment {
                longer.push(format!("{before}/{segment}%2F{behind}"));
            }
        }
        (same, longer)
    }

    /// A segment that no route names.
    pub(crate) fn value(&self) -> &str {
        &self.value
    }

    /// More segments than every template without a rest has.
    pub(crate) fn longest(&self) -> String {
        vec![self.value(); self.depth + 1].join("/")
    }
}

/// The first number of the fewest digits that is in no path, not even as a part of a segment.
fn number_in_no_path<'p>(paths: &(impl Iterator<Item = &'p str> + Clone)) -> String {
    let numbers = (1..=u32::MAX).map(|number| number.to_string());
    let mut parts: HashSet<&[u8]> = HashSet::new();
    let mut width = 0;
    let mut is_new = |number: &String| {
        if number.len() > width {
            width = number.len();
            parts = paths.clone().flat_map(|path| path.as_bytes().windows(width)).collect();
        }
        !parts.contains(number.as_bytes())
    };
    numbers.into_iter().find(|number| is_new(number)).unwrap_or_default()
}
