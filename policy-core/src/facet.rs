//! The parts of every facet: what a level states about it, which level decides, and the facts about
//! a route that its rules use.
//!
//! The folders of the facets import this module, and the list of facets in [`route`](crate::route)
//! imports them.

#[cfg(feature = "engine")]
use crate::validator::Violation;

/// The statement of a level (route, group or app) about one facet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Facet<T> {
    /// Nothing: the next outer level decides.
    #[default]
    Inherit,
    /// No policy, whatever the outer levels state.
    None,
    /// This policy, instead of those of the outer levels.
    Set(T),
}

impl<T> Facet<T> {
    /// Maps the value.
    pub fn map<U>(self, of: impl FnOnce(T) -> U) -> Facet<U> {
        match self {
            Self::Inherit => Facet::Inherit,
            Self::None => Facet::None,
            Self::Set(value) => Facet::Set(of(value)),
        }
    }
}

/// The level of an app that decided a facet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize, serde::Serialize),
    serde(rename_all = "snake_case")
)]
pub enum Level {
    /// The route's own attribute.
    Route,
    /// The default of the group that contains the route.
    Group,
    /// The default of the app.
    App,
}

impl Level {
    /// The level in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Route => "route",
            Self::Group => "group",
            Self::App => "app",
        }
    }
}

/// The nearest level that states something decides; levels are never merged. Returns its value,
/// which is `None` if it states that there is no policy, and the level.
///
/// ```
/// use policy_core::route::{Facet, Level, nearest};
///
/// let levels = [(Level::Route, Facet::Inherit), (Level::Group, Facet::Set("group's")), (Level::App, Facet::Set("app's"))];
/// assert_eq!(nearest(levels), (Some("group's"), Some(Level::Group)));
/// let levels = [(Level::Route, Facet::None), (Level::App, Facet::Set("app's"))];
/// assert_eq!(nearest(levels), (None, Some(Level::Route)));
/// ```
pub fn nearest<T>(
    levels: impl IntoIterator<Item = (Level, Facet<T>)>,
) -> (Option<T>, Option<Level>) {
    let mut stated = levels.into_iter().filter_map(|(level, facet)| match facet {
        Facet::Inherit => None,
        Facet::None => Some((None, Some(level))),
        Facet::Set(value) => Some((Some(value), Some(level))),
    });
    stated.next().unwrap_or_default()
}

/// A policy that is made from an attribute.
#[cfg(feature = "engine")]
pub trait FromSpec: Sized {
    /// The spec that an attribute states.
    type Spec;

    /// The policy, if it keeps every rule.
    ///
    /// # Errors
    ///
    /// The first violation.
    fn from_spec(spec: Self::Spec) -> Result<Self, Violation<'static, &'static str>>;
}

/// A facet as the start compiles it for one route.
#[cfg(feature = "engine")]
pub trait FacetPolicy: Copy {
    /// The compiled form that serves requests.
    type Compiled;

    /// Whether a route inherits this policy from a level.
    fn applies(&self, _level: Level, _route: RouteFacts<'_>) -> bool {
        true
    }

    /// The rules that it breaks on a route, each with the name of its part.
    fn violations<'a>(&'a self, _route: RouteFacts<'a>) -> Vec<Violation<'a, &'static str>> {
        Vec::new()
    }

    /// The compiled policy.
    fn compile(&self) -> Self::Compiled;
}

/// Facts about a route, its callers and its readers. Macros and the start both fill it by
/// [`RouteFacts::new`], so that they agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteFacts<'a> {
    /// Its methods, each once; empty where they are not known.
    pub methods: &'a [&'a str],
    /// Whether the route takes credentials.
    pub authentication: Authentication,
    /// Whether an argument of the handler is a `Session`, the `Sessions` or a `CsrfToken`.
    pub takes_session: bool,
    /// Whether every page may load its responses as scripts of JSONP.
    pub has_jsonp: bool,
}

/// Whether a route takes credentials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Authentication {
    /// Not known.
    #[default]
    Unknown,
    /// `public`: it takes none.
    Public,
    /// It takes credentials, `optional` or not.
    Asked,
}

impl RouteFacts<'static> {
    /// A route of which nothing is known: every policy agrees with it.
    pub const UNKNOWN: Self = Self {
        methods: &[],
        authentication: Authentication::Unknown,
        takes_session: false,
        has_jsonp: false,
    };

    /// A public route.
    pub const PUBLIC: Self = Self { authentication: Authentication::Public, ..Self::UNKNOWN };
}

impl RouteFacts<'_> {
    /// Whether the route takes credentials.
    pub const fn asks_caller(&self) -> bool {
        matches!(self.authentication, Authentication::Asked)
    }

    /// Whether it is `public`, so that it never has a principal.
    pub const fn is_public(&self) -> bool {
        matches!(self.authentication, Authentication::Public)
    }

    /// Whether its responses may depend on the caller: it takes credentials, or its handler takes a
    /// session.
    pub const fn is_personal(&self) -> bool {
        self.asks_caller() || self.takes_session
    }
}
