//! Path templates, and the paths that two of them match.

use std::collections::{BTreeMap, BTreeSet};

/// A path template as `matchit` reads it.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    pub(crate) segments: Vec<Segment>,
    pub(crate) has_slash: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    Fixed(String),
    Any,
    /// The rest of the path, at least one byte.
    Rest,
}

impl Template {
    /// Reads a form as `PathTemplate::form` writes it.
    pub(crate) fn parse(form: &str) -> Self {
        let segments = form.split('/').filter(|text| !text.is_empty()).map(|text| {
            match (text.starts_with("{*"), text.starts_with('{')) {
                (true, _) => Segment::Rest,
                (false, true) => Segment::Any,
                (false, false) => Segment::Fixed(text.to_owned()),
            }
        });
        Self { segments: segments.collect(), has_slash: form.ends_with('/') }
    }

    /// As `PathTemplate::form` writes it.
    pub(crate) fn text(&self) -> String {
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

/// The most crossings of two lists of templates that are compared.
pub(crate) fn most_crossings(ones: &[Template], others: &[Template]) -> usize {
    MEETINGS + MEETINGS_OF_ONE * (ones.len() + others.len())
}

/// The pairs of templates of two lists that match the same paths, and these; `None` if they are more than
/// `most`.
pub(crate) fn crossings<'t>(
    ones: &'t [Template],
    others: &'t [Template],
    most: usize,
) -> Option<Vec<(&'t Template, &'t Template, Template)>> {
    let [tree, other] = [ones, others].map(Tree::new);
    let mut found = BTreeSet::new();
    tree.meet(&other, most, &mut found);
    let pair = |(one, other): (usize, usize)| {
        let (one, other) = (ones.get(one)?, others.get(other)?);
        Some((one, other, one.meet(other)?))
    };
    (found.len() <= most).then(|| found.into_iter().filter_map(pair).collect())
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
        let found: Vec<String> = crossings(&all, &all, usize::MAX)
            .unwrap()
            .iter()
            .map(|(.., both)| both.text())
            .collect();
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
