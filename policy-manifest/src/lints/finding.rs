//! The findings of lints.

use std::{cmp::Reverse, fmt, hash::Hash};

use policy_core::{Confidence, Lint};

use super::{Gain, ManifestRoute};
use crate::{FacetSource, FindingSeverity, Sources};

/// A finding of a lint.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The lint.
    pub lint: Lint,
    /// The routes, such as `GET /orders/{id}`; `app`; or the rule of an object, such as `Order.edit`.
    pub routes: Vec<String>,
    /// The facet that it is about, as [`Sources`] names it.
    pub facet: &'static str,
    /// The gain, if there is any. Findings without a gain are about useless or broken policies.
    pub gain: Option<Gain>,
    /// The part of the policy that it is about, such as `` `https://*.github.io` ``.
    pub about: String,
    /// An origin or a request that shows it.
    pub witness: Option<String>,
}

impl Finding {
    pub(super) fn for_route(lint: Lint, route: &ManifestRoute, facet: &'static str) -> Self {
        Self::new(lint, name(route), facet)
    }

    pub(super) fn for_app(lint: Lint) -> Self {
        Self::new(lint, "app".to_owned(), "app")
    }

    pub(super) fn new(lint: Lint, route: String, facet: &'static str) -> Self {
        let routes = vec![route];
        Self { lint, routes, facet, gain: None, about: String::new(), witness: None }
    }

    #[must_use]
    pub(super) fn gain(self, gain: Gain) -> Self {
        Self { gain: Some(gain), ..self }
    }

    #[must_use]
    pub(super) fn about(self, about: impl Into<String>) -> Self {
        Self { about: about.into(), ..self }
    }

    #[must_use]
    pub(super) fn witness(self, witness: Option<impl ToString>) -> Self {
        Self { witness: witness.map(|witness| witness.to_string()), ..self }
    }

    /// Its severity: that of [`Gain::severity`], or [`FindingSeverity::Info`] without a gain.
    pub fn severity(&self) -> FindingSeverity {
        self.gain.map_or(FindingSeverity::Info, Gain::severity)
    }

    /// Whether it must be corrected or suppressed: it is sure and of medium severity or worse, or
    /// about an invalid suppression.
    pub fn is_error(&self) -> bool {
        let is_grave = self.severity() >= FindingSeverity::Medium;
        let of_suppression =
            self.lint.is_about_suppressions() && self.lint != Lint::SuppressionEndsSoon;
        (is_grave && self.lint.confidence() == Confidence::Sure) || of_suppression
    }

    /// The source line that decided, for the first of the routes that has one.
    pub fn source<'s>(&self, sources: &'s Sources) -> Option<&'s FacetSource> {
        source_of(&self.routes, self.facet, sources)
    }

    /// The worst first.
    pub(super) fn order(&self) -> impl Ord + use<> {
        let parts = (self.lint.code(), self.about.clone(), self.routes.clone());
        (Reverse(self.is_error()), Reverse(self.severity()), parts)
    }

    /// The part that is equal for the same finding at different routes, with a witness that is
    /// valid for all.
    pub(super) fn without_routes(&self) -> impl Eq + Hash + use<> {
        let Self { lint, routes: _, facet, gain, about, witness } = self;
        (lint.code(), *facet, *gain, about.clone(), witness.clone())
    }
}

/// The source line that decided a facet, for the first of some routes that has one.
pub(crate) fn source_of<'s>(
    routes: &[String],
    facet: &str,
    sources: &'s Sources,
) -> Option<&'s FacetSource> {
    routes.iter().find_map(|route| {
        let (methods, path) = route.split_once(' ').unwrap_or(("*", route));
        methods.split(',').find_map(|method| sources.get(method, path, facet))
    })
}

/// The finding in a few lines: severity, code and message, then what it is about, who gains, and
/// the fix.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {} ({})", self.severity(), self.lint.message(), self.lint.code())?;
        if !self.about.is_empty() {
            writeln!(f, "  about    {}", self.about)?;
        }
        writeln!(f, "  at       {}", self.routes.join("; "))?;
        if let Some(gain) = self.gain {
            writeln!(f, "  gain     {gain}")?;
        }
        if let Some(witness) = &self.witness {
            writeln!(f, "  witness  {witness}")?;
        }
        write!(f, "  help     {}", self.lint.help())
    }
}

/// The name of a route, as acceptances have it.
pub(crate) fn name(route: &ManifestRoute) -> String {
    match (route.methods.as_slice(), route.path.as_str()) {
        ([], path) => path.to_owned(),
        (methods, "") => methods.join(","),
        (methods, path) => format!("{} {path}", methods.join(",")),
    }
}
