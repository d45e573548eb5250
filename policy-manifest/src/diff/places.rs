//! The paths and methods on which two apps can differ.

use std::collections::{BTreeMap, BTreeSet};

use policy_core::{
    method,
    path::{PathTemplate, TrailingSlash},
};

use super::{error::DiffError, side::Side};
use crate::RouteKind;

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

/// The methods with which every fallback is tested.
pub(super) const USUAL: [&str; 9] =
    ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "QUERY", "OPTIONS", "TRACE"];

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
        let mut methods: BTreeSet<RequestedMethod> =
            USUAL.iter().map(|name| RequestedMethod::Method((*name).to_owned())).collect();
        methods.extend(found.iter().map(|name| RequestedMethod::Method((*name).to_owned())));
        methods.insert(RequestedMethod::Other);
        return methods;
    }
    let mut methods: BTreeSet<RequestedMethod> =
        found.iter().map(|name| RequestedMethod::Method((*name).to_owned())).collect();
    if found.iter().any(|name| *name == "GET") {
        methods.insert(RequestedMethod::Method("HEAD".to_owned()));
    }
    methods
}

/// All regions of the paths of two apps.
pub(super) fn regions(old: &Side, new: &Side) -> Result<Vec<Region>, DiffError> {
    let (of_old, of_new) = (templates(old), templates(new));
    let fixed: BTreeSet<&str> = of_old.iter().chain(&of_new).flat_map(Template::fixed).collect();
    let mut numbers = (1..).map(|number: u32| number.to_string());
    let mut regions = Regions {
        sides: (old, new),
        found: BTreeMap::new(),
        fresh: numbers.find(|text| !fixed.contains(&**text)).unwrap_or_default(),
        depth: of_old.iter().chain(&of_new).map(|known| known.segments.len()).max().unwrap_or(0),
    };
    for template in of_old.iter().chain(&of_new) {
        regions.add(template);
    }
    for both in meetings(&of_old, &of_new)? {
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
    /// A segment that no template names.
    fresh: String,
    /// The number of segments of the longest template.
    depth: usize,
}

impl Regions<'_> {
    /// Adds the regions of the most general paths of a template: any path that neither app names
    /// otherwise, with the shortest possible rest, and with one that is longer than every template.
    fn add(&mut self, template: &Template) {
        for depth in [1, self.depth + 1] {
            let path = self.sample(template, depth);
            let text = template.text();
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

    /// A path of a template, whose parameters have values that no template names.
    fn sample(&self, template: &Template, depth: usize) -> String {
        let fresh = self.fresh.as_str();
        let mut path = String::new();
        for segment in &template.segments {
            path.push('/');
            match segment {
                Segment::Fixed(text) => path.push_str(text),
                Segment::Any => path.push_str(fresh),
                Segment::Rest => path.push_str(&vec![fresh; depth].join("/")),
            }
        }
        if template.has_slash || path.is_empty() {
            path.push('/');
        }
        path
    }

    /// Adds the paths with encoded slashes that a parameter takes, unless they would hide another
    /// path.
    fn add_slashes(&mut self) {
        let takes = |side: &Side| {
            let routes = side.manifest.routes.iter();
            routes.clone().any(|route| route.takes_slashes || route.path.contains(":slashes"))
        };
        if !takes(self.sides.0) && !takes(self.sides.1) {
            return;
        }
        let plain: Vec<Region> = self.found.values().flatten().cloned().collect();
        for region in &plain {
            let segments: Vec<&str> = region.path.split('/').collect();
            for index in 1..segments.len() {
                let coded = |text: String| {
                    let mut coded: Vec<&str> = segments.clone();
                    if let Some(segment) = coded.get_mut(index) {
                        *segment = &text;
                    }
                    coded.join("/")
                };
                let Some(segment) = segments.get(index).filter(|text| !text.is_empty()) else {
                    continue;
                };
                let longer = coded(format!("{segment}%2F{segment}"));
                if self.numbers(&longer) == region.found {
                    self.add_path(longer, &region.template, true);
                }
                // A path that decodes to the path of another route.
                let (before, after) = segments.split_at(index);
                if index > 1 {
                    let joined = format!("{}%2F{}", before.join("/"), after.join("/"));
                    if let Some(around) =
                        self.found.get(&self.numbers(&joined)).and_then(|known| known.first())
                    {
                        let template = around.template.clone();
                        self.add_path(joined, &template, true);
                    }
                }
            }
        }
    }
}

/// A path template as `matchit` reads it.
#[derive(Clone, Debug)]
struct Template {
    segments: Vec<Segment>,
    has_slash: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Fixed(String),
    Any,
    /// The rest of the path, at least one byte.
    Rest,
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

impl Template {
    fn parse(form: &str) -> Self {
        let segments = form.split('/').filter(|text| !text.is_empty()).map(|text| {
            match (text.starts_with("{*"), text.starts_with('{')) {
                (true, _) => Segment::Rest,
                (false, true) => Segment::Any,
                (false, false) => Segment::Fixed(text.to_owned()),
            }
        });
        Self { segments: segments.collect(), has_slash: form.ends_with('/') }
    }

    fn fixed(&self) -> impl Iterator<Item = &str> {
        self.segments.iter().filter_map(|segment| match segment {
            Segment::Fixed(text) => Some(text.as_str()),
            Segment::Any | Segment::Rest => None,
        })
    }

    /// As [`PathTemplate::form`] writes it.
    fn text(&self) -> String {
        let segments = self.segments.iter().enumerate().map(|(index, segment)| match segment {
            Segment::Fixed(text) => format!("/{text}"),
            Segment::Any => format!("/{{p{index}}}"),
            Segment::Rest => format!("/{{*p{index}}}"),
        });
        let mut text: String = segments.collect();
        if self.has_slash || text.is_empty() {
            text.push('/');
        }
        text
    }

    /// The paths that both match.
    fn meet(&self, other: &Self) -> Option<Self> {
        let mut segments = Vec::new();
        let mut index = 0;
        loop {
            let (one, another) = (self.segments.get(index), other.segments.get(index));
            let rest = |of: &Self| -> Option<Self> {
                let behind = of.segments.get(index..).unwrap_or_default();
                let segments = segments.iter().chain(behind).cloned().collect::<Vec<_>>();
                // A rest has at least one byte.
                (!behind.is_empty()).then_some(Self { segments, has_slash: of.has_slash })
            };
            segments.push(match (one, another) {
                (None, None) => {
                    let both = Self { segments, has_slash: self.has_slash };
                    return (self.has_slash == other.has_slash).then_some(both);
                }
                (Some(Segment::Rest), _) => return rest(other),
                (_, Some(Segment::Rest)) => return rest(self),
                (None, _) | (_, None) => return None,
                (Some(Segment::Any), Some(segment)) | (Some(segment), Some(Segment::Any)) => {
                    segment.clone()
                }
                (Some(one), Some(another)) => match one == another {
                    true => one.clone(),
                    false => return None,
                },
            });
            index += 1;
        }
    }
}

/// The most pairs of templates that match the same paths: these, and some for each template.
/// Without a bound, each template like `/{a}/x1` crosses each one like `/y1/{b}`.
const MEETINGS: usize = 65_536;
const MEETINGS_OF_ONE: usize = 16;

/// The paths that a template of each of two lists matches.
fn meetings(of_old: &[Template], of_new: &[Template]) -> Result<Vec<Template>, DiffError> {
    let most = MEETINGS + MEETINGS_OF_ONE * (of_old.len() + of_new.len());
    let [old, new] = [of_old, of_new].map(Tree::new);
    let mut found = BTreeSet::new();
    old.meet(&new, most, &mut found);
    if found.len() > most {
        return Err(DiffError::Crossings { most });
    }
    let template = |(one, other): (usize, usize)| of_old.get(one)?.meet(of_new.get(other)?);
    Ok(found.into_iter().filter_map(template).collect())
}

/// Templates by their segments, so that only those are compared that can match the same paths.
#[derive(Debug, Default)]
struct Tree<'t> {
    /// The numbers of the templates that end here.
    ends: Vec<usize>,
    /// The numbers of those that take the rest of the path from here.
    rests: Vec<usize>,
    any: Option<Box<Self>>,
    fixed: BTreeMap<&'t str, Self>,
}

impl<'t> Tree<'t> {
    fn new(templates: &'t [Template]) -> Self {
        let mut root = Self::default();
        for (number, template) in templates.iter().enumerate() {
            root.add(&template.segments, number);
        }
        root
    }

    fn add(&mut self, segments: &'t [Segment], number: usize) {
        match segments.split_first() {
            None => self.ends.push(number),
            Some((Segment::Rest, _)) => self.rests.push(number),
            Some((Segment::Any, behind)) => self.any.get_or_insert_default().add(behind, number),
            Some((Segment::Fixed(text), behind)) => {
                self.fixed.entry(text).or_default().add(behind, number);
            }
        }
    }

    fn below(&self) -> impl Iterator<Item = &Self> {
        self.any.as_deref().into_iter().chain(self.fixed.values())
    }

    /// The templates with at least one segment more.
    fn longer(&self) -> Vec<usize> {
        let mut found = self.rests.clone();
        let mut left: Vec<&Self> = self.below().collect();
        while let Some(tree) = left.pop() {
            found.extend(tree.ends.iter().chain(&tree.rests));
            left.extend(tree.below());
        }
        found
    }

    /// Finds the pairs of templates of two trees that may match the same paths, and stops above
    /// `most`.
    fn meet(&self, other: &Self, most: usize, found: &mut BTreeSet<(usize, usize)>) {
        if found.len() > most {
            return;
        }
        let mut pairs = |ones: &[usize], others: &[usize]| {
            for one in ones {
                found.extend(others.iter().map(|other| (*one, *other)));
            }
        };
        pairs(&self.ends, &other.ends);
        if !self.rests.is_empty() {
            pairs(&self.rests, &other.longer());
        }
        if !other.rests.is_empty() {
            pairs(&self.longer(), &other.rests);
        }
        if let (Some(one), Some(other)) = (&self.any, &other.any) {
            one.meet(other, most, found);
        }
        if let Some(any) = &self.any {
            other.fixed.values().for_each(|other| any.meet(other, most, found));
        }
        if let Some(any) = &other.any {
            self.fixed.values().for_each(|one| one.meet(any, most, found));
        }
        let is_less = self.fixed.len() <= other.fixed.len();
        let (few, many) =
            if is_less { (&self.fixed, &other.fixed) } else { (&other.fixed, &self.fixed) };
        for text in few.keys().filter(|text| many.contains_key(*text)) {
            if let (Some(one), Some(other)) = (self.fixed.get(text), other.fixed.get(text)) {
                one.meet(other, most, found);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every template of up to three segments of an alphabet that has one of each kind and two fixed
    /// ones.
    fn every_template() -> Vec<Template> {
        let mut texts = vec![String::new()];
        for _ in 0..3 {
            let longer = texts.iter().flat_map(|text| {
                ["", "/a", "/b", "/{p}", "/{*p}"].map(|segment| format!("{text}{segment}"))
            });
            texts = longer.collect();
        }
        let texts = texts.iter().filter(|text| !text.trim_end_matches("/{*p}").contains('*'));
        let texts: BTreeSet<String> =
            texts.flat_map(|text| [text.clone(), format!("{text}/")]).collect();
        texts.iter().map(|text| Template::parse(text)).collect()
    }

    #[test]
    fn a_tree_finds_the_templates_that_meet() {
        let all = every_template();
        let expected: Vec<String> = all
            .iter()
            .flat_map(|one| all.iter().filter_map(|other| one.meet(other)))
            .map(|both| both.text())
            .collect();
        let found: Vec<String> = meetings(&all, &all).unwrap().iter().map(Template::text).collect();
        assert!(found.len() > 1_000, "{}", found.len());
        assert_eq!(found, expected);
    }

    #[test]
    fn templates_that_do_not_meet_are_not_compared() {
        let texts = (0..1_000).map(|number| format!("/{number}/{{p}}"));
        let mut templates: Vec<Template> = texts.map(|text| Template::parse(&text)).collect();
        templates.push(Template::parse("/{p}/edit"));
        templates.push(Template::parse("/files/{*p}"));
        let tree = Tree::new(&templates);
        let mut found = BTreeSet::new();
        tree.meet(&tree, usize::MAX, &mut found);
        // Each with itself, and `/{p}/edit` with each of the others.
        assert_eq!(found.len(), 1_002 + 2 * 1_001);
    }

    #[test]
    fn templates_intersect_in_their_common_paths() {
        let meet = |one: &str, other: &str| {
            let [one, other] = [one, other].map(Template::parse);
            let text = one.meet(&other).map(|both| both.text());
            assert_eq!(other.meet(&one).map(|both| both.text()), text);
            text
        };
        for (one, other, both) in [
            ("/a", "/a", Some("/a")),
            ("/a", "/b", None),
            ("/a", "/a/", None),
            ("/a/{p1}", "/{p0}/b", Some("/a/b")),
            ("/a/{*p1}", "/a/{p1}/c", Some("/a/{p1}/c")),
            ("/a/{*p1}", "/a/b/", Some("/a/b/")),
            ("/a/{*p1}", "/a/", None),
            ("/a/{*p1}", "/{*p0}", Some("/a/{*p1}")),
            ("/", "/{*p0}", None),
        ] {
            assert_eq!(meet(one, other).as_deref(), both, "{one} {other}");
        }
    }
}
