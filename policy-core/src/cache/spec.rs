//! A caching policy as written, before validation.

use crate::{facet::RouteFacts, validator::parts};

/// Which caches may keep a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize, serde::Serialize),
    serde(rename_all = "snake_case")
)]
pub enum Audience {
    /// Not stated.
    #[default]
    Unstated,
    /// `private`: the cache of one user.
    Private,
    /// `public`: caches that serve many users, too.
    Public,
}

/// The directives of a caching policy (RFC 9111 5.2.2, RFC 5861, RFC 8246) before validation, with
/// the facts about the route that they must fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSpec<'a> {
    /// `no_store`
    pub no_store: bool,
    /// `no_cache`: revalidate before each use.
    pub no_cache: bool,
    /// `private` or `public`
    pub audience: Audience,
    /// `private` and `public` both
    pub is_twofold: bool,
    /// Seconds.
    pub max_age: Option<i64>,
    /// Seconds, for caches that serve many users.
    pub s_maxage: Option<i64>,
    /// Seconds.
    pub stale_while_revalidate: Option<i64>,
    /// Seconds.
    pub stale_if_error: Option<i64>,
    /// `must_revalidate`
    pub must_revalidate: bool,
    /// `immutable`
    pub immutable: bool,
    /// The request headers that the response depends on.
    pub vary: &'a [&'a str],
    /// The route.
    pub route: RouteFacts<'a>,
}

impl CacheSpec<'static> {
    /// An empty spec.
    pub const NOTHING: Self = Self {
        no_store: false,
        no_cache: false,
        audience: Audience::Unstated,
        is_twofold: false,
        max_age: None,
        s_maxage: None,
        stale_while_revalidate: None,
        stale_if_error: None,
        must_revalidate: false,
        immutable: false,
        vary: &[],
        route: RouteFacts::UNKNOWN,
    };
}

/// The longest age in seconds, which every cache understands (RFC 9111 1.2.2).
pub(super) const LONGEST_AGE: u32 = 0x7FFF_FFFF;

parts! {
    /// A part of a caching policy, or a fact about the route that it must fit.
    CachePart: "cache" {
        /// The policy as a whole
        Whole = "cache",
        /// `no_store`
        NoStore = "no_store",
        /// `no_cache`
        NoCache = "no_cache",
        /// `private`
        Private = "private",
        /// `public`
        Public = "public",
        /// `max_age`
        MaxAge = "max_age",
        /// `s_maxage`
        SMaxage = "s_maxage",
        /// `stale_while_revalidate`
        StaleWhileRevalidate = "stale_while_revalidate",
        /// `stale_if_error`
        StaleIfError = "stale_if_error",
        /// `must_revalidate`
        MustRevalidate = "must_revalidate",
        /// `immutable`
        Immutable = "immutable",
        /// `vary`
        Vary = "vary"[..],
        /// The methods of the route
        Methods = "method"[..],
    }
}
