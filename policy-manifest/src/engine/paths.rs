//! Which routes serve a path.

use super::EngineError;
use crate::route::{Route, RouteKind};
use policy_core::{
    gate::lookup_path,
    path::{PathTemplate, Segment, TrailingSlash},
};

/// The paths of a manifest, in the tree that the server uses.
#[derive(Debug, Default)]
pub(super) struct Paths {
    trailing_slash: TrailingSlash,
    tree: matchit::Router<usize>,
    forms: std::collections::BTreeMap<String, usize>,
    served: Vec<ServedPath>,
}

/// The routes of one path.
#[derive(Debug, Default)]
pub(super) struct ServedPath {
    /// Method and index of the route, in the order of the methods.
    pub(super) methods: Vec<(String, usize)>,
    /// Which parameters take encoded slashes, by method and route.
    takes_slashes: Vec<(usize, Vec<bool>)>,
    /// Whether its routes have it with a slash at its end.
    has_slash: bool,
    /// Whether it is redirected where it is spelled otherwise.
    is_redirected: bool,
    has_rest: bool,
}

/// A path that was found, with the values of its parameters.
pub(super) struct FoundPath<'a> {
    /// Its number among the paths of the manifest.
    pub(super) index: usize,
    pub(super) path: &'a ServedPath,
    values: Vec<String>,
    /// Whether it is redirected to the spelling of the routes.
    pub(super) is_redirected: bool,
}

impl Paths {
    pub(super) fn new(trailing_slash: TrailingSlash) -> Self {
        Self { trailing_slash, ..Self::default() }
    }

    pub(super) fn add(&mut self, route: &Route, index: usize) -> Result<(), EngineError> {
        match route.kind {
            RouteKind::Mount | RouteKind::Proxy => {
                let prefix = &route.path;
                let rest = if route.takes_slashes { "{*path:slashes}" } else { "{*path}" };
                for path in [prefix.clone(), format!("{prefix}/"), format!("{prefix}/{rest}")] {
                    self.add_path(&path, route, index)?;
                }
                Ok(())
            }
            _ => self.add_path(&route.path, route, index),
        }
    }

    fn add_path(&mut self, path: &str, route: &Route, index: usize) -> Result<(), EngineError> {
        let template = PathTemplate::parse(path)
            .map_err(|rule| EngineError::Path { path: path.to_owned(), rule })?;
        let has_slash = path.ends_with('/');
        let has_rest = template.segments().any(|segment| matches!(segment, Segment::Rest(_)));
        let form = self.form(&template);
        let at = match self.forms.get(&form) {
            Some(at) => *at,
            None => {
                let at = self.served.len();
                self.tree
                    .insert(&form, at)
                    .map_err(|_conflict| EngineError::Overlap { path: path.to_owned() })?;
                let is_redirected = self.trailing_slash == TrailingSlash::Redirect;
                let served =
                    ServedPath { has_slash, is_redirected, has_rest, ..ServedPath::default() };
                self.served.push(served);
                self.forms.insert(form, at);
                at
            }
        };
        let Some(served) = self.served.get_mut(at) else { return Ok(()) };
        // What is below a path decides about its own slashes.
        served.is_redirected &= !has_rest && path != "/";
        if served.has_slash != has_slash && !served.methods.is_empty() {
            // A mount has both spellings of its prefix.
            if served.methods.iter().any(|(_, known)| *known == index) {
                served.is_redirected = false;
                return Ok(());
            }
            return Err(EngineError::Overlap { path: path.to_owned() });
        }
        for method in &route.methods {
            if served.methods.iter().any(|(known, _)| known == method) {
                return Err(EngineError::Overlap { path: path.to_owned() });
            }
            served.methods.push((method.clone(), index));
        }
        served.methods.sort_unstable();
        let parameters = template.segments().filter_map(Segment::parameter);
        served.takes_slashes.push((index, parameters.map(|found| found.takes_slashes).collect()));
        Ok(())
    }

    /// How many paths there are.
    pub(super) fn len(&self) -> usize {
        self.served.len()
    }

    pub(super) fn methods(&self, index: usize) -> &[(String, usize)] {
        self.served.get(index).map_or(&[], |served| &served.methods)
    }

    pub(super) fn find(&self, path: &str) -> Option<FoundPath<'_>> {
        let key = self.trailing_slash.key(path);
        let found = self.look_up(key)?;
        if key.len() < path.len() && found.path.has_rest {
            return self.look_up(path);
        }
        let ServedPath { has_slash, is_redirected, .. } = *found.path;
        let is_redirected = is_redirected && path.ends_with('/') != has_slash;
        Some(FoundPath { is_redirected, ..found })
    }

    fn look_up(&self, path: &str) -> Option<FoundPath<'_>> {
        let key = lookup_path(path);
        let found = self.tree.at(&key).ok()?;
        let values = found.params.iter().map(|(_, value)| value.to_owned()).collect();
        let (index, path) = (*found.value, self.served.get(*found.value)?);
        Some(FoundPath { index, path, values, is_redirected: false })
    }

    pub(super) fn trailing_slash(&self) -> TrailingSlash {
        self.trailing_slash
    }

    /// The form of a template by which its path is known.
    pub(super) fn form(&self, template: &PathTemplate<'_>) -> String {
        self.trailing_slash.key(&template.form()).to_owned()
    }

    /// The templates as [`PathTemplate::form`] writes them, with the number of each.
    pub(super) fn forms(&self) -> impl Iterator<Item = (&str, usize)> {
        self.forms.iter().map(|(form, index)| (form.as_str(), *index))
    }

    /// Whether a path with its encoded slashes decoded is one of another route.
    pub(super) fn hides_other(&self, path: &str, method: &str, route: usize) -> bool {
        let decoded = path.replace("%2F", "/").replace("%5C", "/");
        let segments = decoded.split('/').filter(|segment| !segment.is_empty());
        let mut seen: String = segments.flat_map(|segment| ["/", segment]).collect();
        if decoded.ends_with('/') {
            seen.push('/');
        }
        self.find(&seen).is_some_and(|found| found.path.route(method) != Some(route))
    }

    /// Whether any path has a route for this method.
    pub(super) fn serves(&self, method: &str) -> bool {
        self.served.iter().any(|path| path.route(method).is_some())
    }
}

impl ServedPath {
    /// The route for a method; that of GET for HEAD, unless HEAD has its own.
    pub(super) fn route(&self, method: &str) -> Option<usize> {
        let of = |name: &str| self.methods.iter().find(|(known, _)| known == name);
        let found = of(method).or_else(|| if method == "HEAD" { of("GET") } else { None });
        found.map(|(_, route)| *route)
    }
}

impl FoundPath<'_> {
    /// Whether each parameter with an encoded slash takes them.
    pub(super) fn takes_slashes(&self, route: usize) -> bool {
        let takes = self.path.takes_slashes.iter().find(|(of, _)| *of == route);
        let takes = takes.map_or(&[][..], |(_, takes)| takes);
        self.values.iter().enumerate().all(|(index, value)| {
            let is_coded = value.contains("%2F") || value.contains("%5C");
            !is_coded || takes.get(index) == Some(&true)
        })
    }
}
