//! `#[cache]`: which caches may keep responses.

use policy_core::cache::{Audience, CachePolicy, CacheSpec, Caching};
use serde::{Deserialize, Serialize};

use super::{
    Auth, Cell, Column, Direction, FacetEntry, FromPolicy, ManifestRoute, ShownRoute, Side,
    is_default, is_false, lower, texts,
};
use crate::Manifest;

/// Which caches may keep responses: the directives of `Cache-Control`, times in seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Cache {
    /// `no-store`
    #[serde(skip_serializing_if = "is_false")]
    pub no_store: bool,
    /// `no-cache`
    #[serde(skip_serializing_if = "is_false")]
    pub no_cache: bool,
    /// `private` or `public`
    #[serde(skip_serializing_if = "is_default")]
    pub audience: Audience,
    /// `max-age`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_age: Option<i64>,
    /// `s-maxage`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub s_maxage: Option<i64>,
    /// `stale-while-revalidate`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale_while_revalidate: Option<i64>,
    /// `stale-if-error`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale_if_error: Option<i64>,
    /// `must-revalidate`
    #[serde(skip_serializing_if = "is_false")]
    pub must_revalidate: bool,
    /// `immutable`
    #[serde(skip_serializing_if = "is_false")]
    pub immutable: bool,
    /// The request headers that responses depend on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub vary: Vec<String>,
}

impl Cache {
    /// The value of `Cache-Control`, followed by the fields of `vary`.
    pub fn control(&self) -> String {
        let mut text = self.directives().join(", ");
        if !self.vary.is_empty() {
            text += &format!("; vary {}", self.vary.join(" "));
        }
        text
    }

    /// The directives of `Cache-Control`.
    fn directives(&self) -> Vec<String> {
        let flag = |is: bool, name: &str| is.then(|| name.to_owned());
        let seconds = |value: Option<i64>, name: &str| value.map(|value| format!("{name}={value}"));
        let directives = [
            flag(self.no_store, "no-store"),
            flag(self.no_cache, "no-cache"),
            flag(self.audience == Audience::Private, "private"),
            flag(self.audience == Audience::Public, "public"),
            seconds(self.max_age, "max-age"),
            seconds(self.s_maxage, "s-maxage"),
            seconds(self.stale_while_revalidate, "stale-while-revalidate"),
            seconds(self.stale_if_error, "stale-if-error"),
            flag(self.must_revalidate, "must-revalidate"),
            flag(self.immutable, "immutable"),
        ];
        directives.into_iter().flatten().collect()
    }

    /// Whether caches may keep no more responses by it than by another policy, and reuse them for no
    /// longer and for no more requests.
    ///
    /// ```
    /// use policy_core::cache::Audience;
    /// use policy_manifest::Cache;
    ///
    /// let kept = |max_age| Cache { audience: Audience::Public, max_age, ..Cache::default() };
    /// assert!(kept(Some(30)).is_within(&kept(Some(60))));
    /// // Without an age, each cache chooses one (RFC 9111 4.2.2).
    /// assert!(!kept(None).is_within(&kept(Some(60))));
    /// ```
    pub fn is_within(&self, other: &Self) -> bool {
        let is_as_short =
            lifetimes(self).into_iter().zip(lifetimes(other)).all(|(own, most)| own <= most);
        let varies = other.vary.iter().all(|name| self.vary.contains(name));
        self.storers() <= other.storers() && (self.no_store || (is_as_short && varies))
    }

    /// The caches that may keep a response (RFC 9111 3, 3.5): none, private ones, also shared ones if
    /// its request has no `Authorization`, or all.
    fn storers(&self) -> u8 {
        match self.audience {
            _ if self.no_store => 0,
            Audience::Private => PRIVATE_CACHES,
            Audience::Public => ALL_CACHES,
            _ if self.s_maxage.is_some() || self.must_revalidate => ALL_CACHES,
            _ => 2,
        }
    }
}

impl From<&CachePolicy> for Cache {
    fn from(policy: &CachePolicy) -> Self {
        policy.spec().into()
    }
}

impl Cache {
    /// The compiled form, which writes it onto responses.
    ///
    /// ```
    /// use http::{HeaderMap, Method, StatusCode, header::CACHE_CONTROL};
    /// use policy_core::cache::{CacheExchange, ResponseFacts, apply};
    /// use policy_manifest::Cache;
    ///
    /// let caching = Cache { no_store: true, ..Cache::default() }.compile();
    /// let (method, facts) = (&Method::GET, ResponseFacts::default());
    /// let mut headers = HeaderMap::new();
    /// apply(Some(&caching), CacheExchange { method, status: StatusCode::OK, facts }, &mut headers);
    /// assert_eq!(headers[CACHE_CONTROL], "no-store");
    /// ```
    pub fn compile(&self) -> Caching {
        let vary: Vec<_> = self.vary.iter().map(String::as_str).collect();
        Caching::from_spec(&CacheSpec {
            no_store: self.no_store,
            no_cache: self.no_cache,
            audience: self.audience,
            max_age: self.max_age,
            s_maxage: self.s_maxage,
            stale_while_revalidate: self.stale_while_revalidate,
            stale_if_error: self.stale_if_error,
            must_revalidate: self.must_revalidate,
            immutable: self.immutable,
            vary: &vary,
            ..CacheSpec::NOTHING
        })
    }
}

impl From<&CacheSpec<'_>> for Cache {
    fn from(spec: &CacheSpec<'_>) -> Self {
        Self {
            no_store: spec.no_store,
            no_cache: spec.no_cache,
            audience: spec.audience,
            max_age: spec.max_age,
            s_maxage: spec.s_maxage,
            stale_while_revalidate: spec.stale_while_revalidate,
            stale_if_error: spec.stale_if_error,
            must_revalidate: spec.must_revalidate,
            immutable: spec.immutable,
            vary: texts(spec.vary),
        }
    }
}

impl FromPolicy<CachePolicy> for Cache {
    fn from_policy(policy: &CachePolicy, _: &mut Manifest) -> Self {
        policy.into()
    }
}

const COLUMN: Column = Column {
    position: 4,
    is_secondary: true,
    absent: Some("as handlers say"),
    is_code: true,
    ..Column::new("Cache")
};

pub(super) const FACET: FacetEntry = FacetEntry {
    name: "cache",
    attribute: "cache",
    about: "which caches may keep responses",
    why: "A cache that keeps a response to one user serves it to the next one. Each cache \
         resolves contradictory directives in its own way, so they are refused.",
    links: &[("RFC 9111, HTTP Caching", "https://www.rfc-editor.org/rfc/rfc9111")],
    columns: &[(COLUMN, cell)],
    decides_access: false,
    normalize,
    change,
    ..FacetEntry::NONE
};

fn normalize(route: &mut ManifestRoute) {
    if let Some(cache) = &mut route.cache {
        lower(&mut cache.vary);
    }
}

fn change(old: Side<'_>, new: Side<'_>) -> Option<(Direction, String)> {
    let (old, new) = (old.route, new.route);
    if old.cache == new.cache {
        return None;
    }
    let direction =
        Direction::from_effects(exceeds(new, old), exceeds(old, new)).unwrap_or(Direction::Shifts);
    let words = |route: &ManifestRoute| {
        route.cache.as_ref().map_or_else(|| "none".to_owned(), Cache::control)
    };
    Some((direction, format!("was `{}`, is `{}`", words(old), words(new))))
}

/// Whether the policy of `one` lets more caches keep responses than the policy of `other`, or lets them
/// keep responses for longer or for more requests.
fn exceeds(one: &ManifestRoute, other: &ManifestRoute) -> bool {
    match (&one.cache, &other.cache) {
        (Some(one), Some(other)) => !one.is_within(other),
        // Handlers that decide themselves may have let no shared cache keep anything.
        (_, other) => storers(one) > other.as_ref().map_or(PRIVATE_CACHES, Cache::storers),
    }
}

const PRIVATE_CACHES: u8 = 1;
const ALL_CACHES: u8 = 3;

/// The caches that may keep a response, as [`Cache::storers`].
pub(crate) fn storers(route: &ManifestRoute) -> u8 {
    match (&route.cache, &route.auth) {
        (Some(cache), _) => cache.storers(),
        // Without a policy, handlers and services decide, but responses to a caller stay private.
        (None, Auth::Required(requirement)) if !requirement.optional => PRIVATE_CACHES,
        (None, _) => ALL_CACHES,
    }
}

/// How long caches serve a response, in seconds: private ones, shared ones, during revalidation,
/// after an error; and whether they may skip revalidation. Unstated lifetimes are heuristic (RFC
/// 9111 4.2.2).
fn lifetimes(cache: &Cache) -> [i64; 5] {
    let asks = |age: i64| if cache.no_cache { 0 } else { age };
    let own = cache.max_age.unwrap_or(i64::MAX);
    let shared = match cache.audience {
        Audience::Private => 0,
        _ => cache.s_maxage.unwrap_or(own),
    };
    [
        asks(own),
        asks(shared),
        asks(cache.stale_while_revalidate.unwrap_or(0)),
        asks(cache.stale_if_error.unwrap_or(0)),
        asks(i64::from(!cache.must_revalidate)),
    ]
}

/// The directives of `Cache-Control`.
fn cell(ShownRoute { route, .. }: ShownRoute<'_>) -> Cell {
    let Some(cache) = &route.cache else { return Cell::nothing() };
    let vary = (!cache.vary.is_empty()).then(|| format!("vary {}", cache.vary.join(" ")));
    Cell::list(cache.directives().into_iter().chain(vary))
}
