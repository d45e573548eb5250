//! The policy of one route: its facets, and how levels compose.

mod facts;

pub use facts::{Authentication, RouteFacts};

use crate::{
    auth::AuthPolicy, cache::CachePolicy, catalogue::Rule, cors::CorsPolicy, csrf::CsrfPolicy,
    grammar::is_token, headers::HeadersPolicy, isolation::Isolation, jsonp::JsonpPolicy,
    limits::Limits,
};

/// What a level (route, scope or app) says about one facet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Facet<T> {
    /// Nothing: the next outer level decides.
    #[default]
    Inherit,
    /// None at all, whatever the outer levels say.
    None,
    /// This, in place of whatever the outer levels say.
    Set(T),
}

impl<T> Facet<T> {
    /// The same about another value.
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
pub enum Level {
    /// The route's own attribute.
    Route,
    /// The default of the scope that the route stands in.
    Scope,
    /// The default of the app.
    App,
}

impl Level {
    /// The level in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Route => "route",
            Self::Scope => "scope",
            Self::App => "app",
        }
    }
}

/// The nearest level that says something decides; nothing is ever merged.
///
/// ```
/// use policy_core::route::{Facet, Level, nearest};
///
/// let levels = [(Level::Route, Facet::Inherit), (Level::Scope, Facet::Set("scope's")), (Level::App, Facet::Set("app's"))];
/// assert_eq!(nearest(levels), Some(("scope's", Level::Scope)));
/// assert_eq!(nearest([(Level::Route, Facet::None), (Level::App, Facet::Set("app's"))]), None);
/// ```
pub fn nearest<T>(levels: impl IntoIterator<Item = (Level, Facet<T>)>) -> Option<(T, Level)> {
    levels.into_iter().find(|(_, facet)| !matches!(facet, Facet::Inherit)).and_then(
        |(level, facet)| match facet {
            Facet::Set(value) => Some((value, level)),
            Facet::None | Facet::Inherit => None,
        },
    )
}

/// What the attributes of a handler say, as constant data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoutePolicy {
    /// `#[cors(..)]`
    pub cors: Facet<CorsPolicy>,
    /// `#[auth(..)]`
    pub auth: AuthPolicy,
    /// `#[csrf(..)]`
    pub csrf: CsrfPolicy,
    /// `#[cache(..)]`
    pub cache: Facet<CachePolicy>,
    /// `#[jsonp(..)]`
    pub jsonp: Option<JsonpPolicy>,
    /// `#[limit(..)]`
    pub limits: Limits,
    /// `#[headers(..)]`
    pub headers: Facet<HeadersPolicy>,
    /// `#[isolation(..)]`
    pub isolation: Facet<Isolation>,
}

impl RoutePolicy {
    /// A route that is open to everybody and says nothing else.
    pub const PUBLIC: Self = Self {
        cors: Facet::Inherit,
        auth: AuthPolicy::Public,
        csrf: CsrfPolicy::Token,
        cache: Facet::Inherit,
        jsonp: None,
        limits: Limits::NONE,
        headers: Facet::Inherit,
        isolation: Facet::Inherit,
    };
}

/// Checks the method of a route: a token, and neither CONNECT, which asks for a tunnel, nor
/// TRACE, which asks for an echo (RFC 9110 9.3.6 and 9.3.8): no handler has such a resource.
///
/// # Errors
///
/// [`Rule::RouteMethod`].
///
/// ```
/// use policy_core::{Rule, route::check_method};
///
/// assert_eq!(check_method("PURGE"), Ok(()));
/// assert_eq!(check_method("TRACE"), Err(Rule::RouteMethod));
/// assert_eq!(check_method("NOT A METHOD"), Err(Rule::RouteMethod));
/// ```
pub fn check_method(method: &str) -> Result<(), Rule> {
    let is_served = is_token(method.as_bytes()) && !matches!(method, "CONNECT" | "TRACE");
    if is_served { Ok(()) } else { Err(Rule::RouteMethod) }
}
