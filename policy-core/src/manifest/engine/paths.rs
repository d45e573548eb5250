//! Which routes serve a path.

use super::EngineError;
use crate::{
    gate::lookup_path,
    manifest::route::{Route, RouteKind},
    path::{PathTemplate, Segment},
};

/// The paths of a manifest, in the tree that the server uses.
#[derive(Debug, Default)]
pub(super) struct Paths {
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
}

/// A path that was found, with the values of its parameters.
pub(super) struct FoundPath<'a> {
    /// Its number among the paths of the manifest.
    pub(super) index: usize,
    pub(super) path: &'a ServedPath,
    values: Vec<String>,
}

impl Paths {
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
        let form = template.form();
        let at = match self.forms.get(&form) {
            Some(at) => *at,
            None => {
                let at = self.served.len();
                self.tree
                    .insert(&form, at)
                    .map_err(|_conflict| EngineError::Overlap { path: path.to_owned() })?;
                self.served.push(ServedPath::default());
                self.forms.insert(form, at);
                at
            }
        };
        let Some(served) = self.served.get_mut(at) else { return Ok(()) };
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

    pub(super) fn methods(&self, index: usize) -> &[(String, usize)] {
        self.served.get(index).map_or(&[], |served| &served.methods)
    }

    pub(super) fn find(&self, path: &str) -> Option<FoundPath<'_>> {
        let key = lookup_path(path);
        let found = self.tree.at(&key).ok()?;
        let values = found.params.iter().map(|(_, value)| value.to_owned()).collect();
        Some(FoundPath { index: *found.value, path: self.served.get(*found.value)?, values })
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
