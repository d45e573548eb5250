//! The paths and methods on which two apps can differ.

use std::collections::{BTreeMap, BTreeSet};

use policy_core::{
    method,
    path::{PathTemplate, TrailingSlash},
};

use super::{error::DiffError, side::Side};
use crate::{
    RouteKind,
    changes::USUAL,
    example_paths::ExamplePaths,
    templates::{Segment, Template, crossings, most_crossings},
};

/// Paths that are alike for both apps: each serves all of them by one path of its own, or by none.
#[derive(Clone, Debug)]
pub(super) struct Region {
    /// The numbers of the paths that serve it, before and after.
    pub(super) found: (Option<usize>, Option<usize>),
    /// An example path of the region.
    pub(super) path: String,
    /// The whole region as a template; `*` if neither app has a path.
    pub(super) template: String,
    /// The path has an encoded slash.
    pub(super) has_slash: bool,
}

/// One method of a region.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum RequestedMethod {
    Method(String),
    /// Every method that neither app names.
    Other,
}

/// The name of a method that no app serves.
pub(super) const OTHER: &str = "X-OTHER";

impl RequestedMethod {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Method(name) => name,
            Self::Other => OTHER,
        }
    }
}

/// The class of methods that are decided alike if the same route serves them.
pub(crate) fn class_of(method: &str) -> &str {
    match method {
        "GET" | "HEAD" | "PUT" | "QUERY" | "OPTIONS" | "TRACE" | "CONNECT" => method,
        safe if method::is_safe(safe) => "safe",
        _ => "unsafe",
    }
}

/// The methods that either app may serve in a region.
pub(super) fn methods(region: &Region, sides: (&Side, &Side)) -> BTreeSet<RequestedMethod> {
    let (old, new) = sides;
    let mut found = BTreeSet::new();
    let mut serves_all = false;
    for (side, path) in [(old, region.found.0), (new, region.found.1)] {
        match path {
            Some(path) => found
                .extend(side.engine.methods_of(path).iter().map(|served| served.method.as_str())),
            None => serves_all |= side.elsewhere_kind() == Some(RouteKind::Fallback),
        }
    }
    if serves_all {
        found.extend(USUAL);
    } else if found.contains("GET") {
        found.insert("HEAD");
    }
    let methods = found.into_iter().map(|name| RequestedMethod::Method(name.to_owned()));
    methods.chain(serves_all.then_some(RequestedMethod::Other)).collect()
}

/// All regions of the paths of two apps.
pub(super) fn regions(old: &Side, new: &Side) -> Result<Vec<Region>, DiffError> {
    let (of_old, of_new) = (templates(old), templates(new));
    let mut regions = Regions {
        sides: (old, new),
        found: BTreeMap::new(),
        example_paths: ExamplePaths::new(old.manifest.routes.iter().chain(&new.manifest.routes)),
    };
    for template in of_old.iter().chain(&of_new) {
        regions.add(template);
    }
    let most = most_crossings(&of_old, &of_new);
    for (.., both) in crossings(&of_old, &of_new, most).ok_or(DiffError::Crossings { most })? {
        regions.add(&both);
    }
    let unserved = [vec![Segment::Any], vec![Segment::Any, Segment::Rest]];
    for segments in unserved {
        regions.add(&Template { segments, has_slash: false });
    }
    regions.add(&Template { segments: Vec::new(), has_slash: true });
    regions.add_slashes();
    Ok(regions.found.into_values().flatten().collect())
}

struct Regions<'a> {
    sides: (&'a Side, &'a Side),
    found: BTreeMap<(Option<usize>, Option<usize>), Vec<Region>>,
    example_paths: ExamplePaths,
}

impl Regions<'_> {
    /// Adds the regions of the most general paths of a template: any path that neither app names
    /// otherwise, with the shortest possible rest, and with one that is longer than every template.
    fn add(&mut self, template: &Template) {
        let text = template.text();
        for path in [self.example_paths.short_path_of(&text), self.example_paths.path_of(&text)] {
            self.add_path(path, &text, false);
        }
    }

    fn numbers(&self, path: &str) -> (Option<usize>, Option<usize>) {
        (self.sides.0.engine.path_number(path), self.sides.1.engine.path_number(path))
    }

    fn add_path(&mut self, path: String, text: &str, has_slash: bool) {
        let found = self.numbers(&path);
        let template = match found {
            (None, None) => "*".to_owned(),
            _ => self.path_text(text, found),
        };
        let known = self.found.entry(found).or_default();
        if has_slash || known.is_empty() {
            known.push(Region { found, path, template, has_slash });
        }
    }

    /// The template with the names of its parameters, as one of the apps writes it.
    fn path_text(&self, form: &str, (old, new): (Option<usize>, Option<usize>)) -> String {
        let old = old.and_then(|path| self.sides.0.path_texts.get(&path));
        let new = new.and_then(|path| self.sides.1.path_texts.get(&path));
        let texts = old
            .into_iter()
            .chain(new)
            .filter(|text| PathTemplate::parse(text).is_ok_and(|parsed| parsed.form() == form));
        texts.min().cloned().unwrap_or_else(|| form.to_owned())
    }

    /// Adds the paths with encoded slashes that a parameter takes, unless they would hide another
    /// path.
    fn add_slashes(&mut self) {
        let plain: Vec<Region> = self.found.values().flatten().cloned().collect();
        for region in &plain {
            let (same, longer) = self.example_paths.with_slashes(&region.path);
            for path in longer {
                if self.numbers(&path) == region.found {
                    self.add_path(path, &region.template, true);
                }
            }
            // They decode to a path that may be the path of another route.
            for path in same {
                let found = self.numbers(&path);
                let Some(around) = self.found.get(&found).and_then(|known| known.first()) else {
                    continue;
                };
                // If one app alone has the other route, these are spellings of its path.
                let is_path_of_one = (found.0 == region.found.0) != (found.1 == region.found.1);
                let template = if is_path_of_one { &region.template } else { &around.template };
                let template = template.clone();
                self.add_path(path, &template, true);
            }
        }
    }
}

fn templates(side: &Side) -> Vec<Template> {
    let forms = side.engine.path_forms();
    let mut all: Vec<Template> = forms.map(|(form, _)| Template::parse(form)).collect();
    if side.engine.trailing_slash() != TrailingSlash::Strict {
        let fixed = all.iter().filter(|known| !known.segments.contains(&Segment::Rest));
        let others = fixed.map(|known| Template { has_slash: !known.has_slash, ..known.clone() });
        all.extend(others.collect::<Vec<_>>());
    }
    all
}
