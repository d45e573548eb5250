//! A response in the HTTP cache: whether it may be stored, for which requests, and how it is used.

use std::time::Duration;

use http::{
    HeaderMap, HeaderName, HeaderValue, Method,
    header::{
        AUTHORIZATION, ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED, SET_COOKIE, VARY,
    },
};
use url::Url;

use crate::{
    CacheMode, Profile, SentRequest, ServerResponse,
    cache_partition::Partition,
    freshness::{CacheControl, Freshness, elements, is_explicit},
};

/// The maximum size of a stored content.
pub(crate) const LONGEST: usize = 8 << 20;

/// A stored response.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    partition: Partition,
    method: Method,
    url: Url,
    /// The request fields that its `Vary` names.
    chosen_by: Vec<(HeaderName, Vec<HeaderValue>)>,
    /// Whether its `Vary` is `*`, which matches no request.
    is_unique: bool,
    /// Whether its request had `Authorization`.
    pub(crate) has_authorization: bool,
    pub(crate) response: ServerResponse,
    pub(crate) freshness: Freshness,
}

/// How a stored response may be used without waiting for revalidation.
#[derive(Clone, Copy)]
pub(crate) enum Use {
    Fresh,
    InGrace,
}

impl Entry {
    pub(crate) fn new(
        profile: &Profile,
        now: Duration,
        partition: &Partition,
        request: &SentRequest,
        response: ServerResponse,
    ) -> Self {
        let value = |name| {
            let name = HeaderName::from_bytes(str::as_bytes(name)).ok()?;
            let values = request.headers.get_all(&name).iter().cloned().collect();
            Some((name, values))
        };
        let chosen_by = elements(&response.headers, &VARY).filter_map(value).collect();
        let is_unique = elements(&response.headers, &VARY).any(|name| name == "*");
        Self {
            partition: partition.clone(),
            method: request.method.clone(),
            url: request.url.clone(),
            chosen_by,
            is_unique,
            has_authorization: request.headers.contains_key(AUTHORIZATION),
            freshness: Freshness::new(profile, now, &response),
            response,
        }
    }

    fn is_of(&self, key: &Partition, request: &SentRequest) -> bool {
        self.partition == *key && self.url == request.url
    }

    /// Whether an unsafe request that concerns these URLs drops it. If responses to HEAD are stored
    /// separately, they stay, and so do responses that scripts fetched from other sites.
    pub(crate) fn is_dropped(&self, key: &Partition, urls: &[Url]) -> bool {
        self.method == Method::GET
            && self.partition == key.for_elements()
            && urls.contains(&self.url)
    }

    /// Whether it can be the response to this request, apart from `Vary`.
    pub(crate) fn is_for(&self, profile: &Profile, key: &Partition, request: &SentRequest) -> bool {
        let is_of_method = self.method == request.method || profile.head_uses_get;
        is_of_method && self.is_of(key, request)
    }

    pub(crate) fn is_chosen_by(&self, request: &SentRequest) -> bool {
        let is_same = |(name, values): &(HeaderName, Vec<HeaderValue>)| {
            request.headers.get_all(name).iter().eq(values)
        };
        !self.is_unique && self.chosen_by.iter().all(is_same)
    }

    pub(crate) fn use_of(
        &self,
        now: Duration,
        mode: CacheMode,
        cache_control: CacheControl,
    ) -> Option<Use> {
        // A response received at this moment has an age of 0 seconds, and browsers still revalidate
        // it.
        let is_young = cache_control
            .max_age
            .is_none_or(|age| !age.is_zero() && self.freshness.age(now) <= age);
        match mode {
            CacheMode::ForceCache => Some(Use::Fresh),
            CacheMode::Default if cache_control.no_cache || !is_young => None,
            CacheMode::Default if self.freshness.is_fresh(now) => Some(Use::Fresh),
            CacheMode::Default if self.freshness.is_in_grace(now) => Some(Use::InGrace),
            _ => None,
        }
    }

    /// The stored response, updated with the fields of a 304 (RFC 9111, 3.2).
    pub(crate) fn updated(self, profile: &Profile, by: &ServerResponse) -> ServerResponse {
        let mut response = self.response;
        for name in by.headers.keys().filter(|name| is_updated(profile, name)) {
            response.headers.remove(name);
            for value in by.headers.get_all(name) {
                response.headers.append(name, value.clone());
            }
        }
        response
    }

    /// The conditions that revalidate it (RFC 9111, 4.3.1). A date cannot select another variant.
    pub(crate) fn conditions(&self, profile: &Profile, is_match: bool) -> HeaderMap {
        let mut conditions = HeaderMap::new();
        let is_asked = |statuses: &[u16]| statuses.contains(&self.response.status);
        if !profile.validated_statuses.is_none_or(is_asked) {
            return conditions;
        }
        let is_there = |value: &&HeaderValue| !value.is_empty();
        if let Some(tag) = self.response.headers.get(ETAG).filter(is_there) {
            conditions.insert(IF_NONE_MATCH, tag.clone());
        }
        if let Some(date) =
            self.response.headers.get(LAST_MODIFIED).filter(|date| is_match && is_there(date))
        {
            conditions.insert(IF_MODIFIED_SINCE, date.clone());
        }
        conditions
    }
}

/// Whether a response may be stored (RFC 9111, 3).
pub(crate) fn is_storable(
    profile: &Profile,
    request: &SentRequest,
    response: &ServerResponse,
) -> bool {
    let control = CacheControl::parse(profile, &response.headers);
    let is_final = (200..600).contains(&response.status) && !matches!(response.status, 206 | 304);
    let is_allowed = profile.stores_all
        || control.allows_storing
        || is_explicit(control, response)
        || profile.heuristic_statuses.contains(&response.status)
        || profile.permanent_statuses.contains(&response.status);
    is_final
        && is_allowed
        && !control.no_store
        && !CacheControl::parse(profile, &request.headers).no_store
        && response.body.len() <= LONGEST
}

/// RFC 9111, 3.2.
fn is_updated(profile: &Profile, name: &HeaderName) -> bool {
    let is_kept = |kept: &&str| match kept.ends_with('-') {
        true => name.as_str().starts_with(kept),
        false => name == kept,
    };
    name != SET_COOKIE && !profile.kept_by_304.iter().any(is_kept)
}
