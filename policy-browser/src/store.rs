//! The HTTP cache of a browser: a private cache (RFC 9111) as Fetch uses it (Fetch, 4.6).

use std::time::Duration;

use http::{
    HeaderMap, HeaderName, HeaderValue, Method,
    header::{AUTHORIZATION, RANGE, SET_COOKIE},
};

use crate::{
    CacheMode, Profile, SentRequest, ServerResponse,
    cache_partition::Partition,
    freshness::{CacheControl, has_pragma},
    headers::CONDITIONS,
    invalidation::invalidated,
    profile::Variants,
    stored::{Entry, Use, is_storable},
};

/// The maximum number of responses; the least recently used one is dropped first.
const MOST: usize = 1000;
/// The maximum size of all contents together, in bytes.
const ROOM: usize = 64 << 20;

/// The stored responses, the most recently used at the end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Store {
    entries: Vec<Entry>,
}

/// The result of a lookup for a request.
#[derive(Clone, Debug)]
pub(crate) enum Lookup {
    /// No usable response.
    Miss,
    /// A response that needs no revalidation.
    Fresh(ServerResponse),
    /// A response that may be used now, while it is revalidated with these conditions.
    Refresh(ServerResponse, HeaderMap),
    /// A response that must be revalidated, with these conditions.
    Stale(HeaderMap),
}

impl Store {
    /// Looks up a response for a request that is about to be sent.
    pub(crate) fn lookup(
        &mut self,
        profile: &Profile,
        now: Duration,
        key: &Partition,
        mode: CacheMode,
        request: &SentRequest,
    ) -> Lookup {
        let is_head = request.method == Method::HEAD;
        if !is_head && request.method != Method::GET || goes_past(profile, mode, request) {
            return Lookup::Miss;
        }
        let has_own = has_conditions(request);
        let cache_control = CacheControl::parse(profile, &request.headers);
        let Some((index, is_match)) = self.find(profile, key, request) else {
            return Lookup::Miss;
        };
        let entry = self.entries.remove(index);
        let conditions = entry.conditions(profile, is_match);
        let is_authorized = entry.has_authorization
            || !profile.authorization_revalidates
            || !request.headers.contains_key(AUTHORIZATION);
        let is_usable = is_match && is_authorized && (!has_own || mode == CacheMode::ForceCache);
        let use_of = entry.use_of(now, mode, cache_control).filter(|_| is_usable);
        let mut response = entry.response.clone();
        if is_head {
            response.body.clear();
        }
        self.entries.push(entry);
        match use_of {
            Some(Use::Fresh) => Lookup::Fresh(response),
            Some(Use::InGrace) if !is_head => Lookup::Refresh(response, conditions),
            _ if has_own || conditions.is_empty() => Lookup::Miss,
            _ => Lookup::Stale(conditions),
        }
    }

    /// Handles a response that came from a server: stores it if allowed, and drops what it
    /// invalidates. Returns whether it is stored.
    pub(crate) fn keep(
        &mut self,
        profile: &Profile,
        now: Duration,
        key: &Partition,
        mode: CacheMode,
        request: &SentRequest,
        response: &ServerResponse,
    ) -> bool {
        if !request.method.is_safe() {
            let urls = invalidated(profile, mode, request, response);
            self.entries.retain(|entry| !entry.is_dropped(key, &urls));
            return false;
        }
        let is_head = request.method == Method::HEAD;
        let is_asked_about = is_head && !goes_past(profile, mode, request);
        if is_asked_about && profile.head_drops && response.status != 401 {
            self.forget(profile, key, request);
        }
        let is_kept = request.method == Method::GET || is_head && !profile.head_uses_get;
        if !is_kept || key.is_transient || effective(profile, mode, request) == CacheMode::NoStore {
            return false;
        }
        self.entries.retain(|entry| {
            let is_other = profile.variants == Variants::Kept && !entry.is_chosen_by(request);
            is_other || !entry.is_for(profile, key, request)
        });
        if !is_storable(profile, request, response) {
            return false;
        }
        let mut response = response.clone();
        response.headers.remove(SET_COOKIE);
        if profile.drops_empty_lines {
            drop_empty(&mut response.headers);
        }
        self.entries.push(Entry::new(profile, now, key, request, response));
        self.drop_excess();
        true
    }

    /// Drops the response that has just been stored for a request.
    pub(crate) fn forget(&mut self, profile: &Profile, key: &Partition, request: &SentRequest) {
        self.entries.retain(|entry| !entry.is_for(profile, key, request));
    }

    /// Handles the status 304 to the conditions of [`Lookup::Stale`]: returns the stored response,
    /// updated with the fields of this one (RFC 9111, 4.3.4). `None` if it is no longer stored.
    pub(crate) fn revalidated(
        &mut self,
        profile: &Profile,
        now: Duration,
        key: &Partition,
        request: &SentRequest,
        response: &ServerResponse,
    ) -> Option<ServerResponse> {
        let (index, _) = self.find(profile, key, request)?;
        let mut updated = self.entries.remove(index).updated(profile, response);
        if profile.drops_empty_lines {
            drop_empty(&mut updated.headers);
        }
        if !CacheControl::parse(profile, &updated.headers).no_store {
            self.entries.push(Entry::new(profile, now, key, request, updated.clone()));
        }
        if request.method == Method::HEAD {
            updated.body.clear();
        }
        Some(updated)
    }

    /// Makes room for the newest response.
    fn drop_excess(&mut self) {
        let mut room = ROOM;
        let kept = self.entries.iter().rev().take(MOST).take_while(|entry| {
            let is_kept = entry.response.body.len() <= room;
            room = room.saturating_sub(entry.response.body.len());
            is_kept
        });
        let excess = self.entries.len() - kept.count();
        self.entries.drain(..excess);
    }

    /// The index of the selected response, of several the newest, and whether its `Vary` allows its
    /// use (RFC 9111, 4.1).
    fn find(
        &self,
        profile: &Profile,
        key: &Partition,
        request: &SentRequest,
    ) -> Option<(usize, bool)> {
        self.entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| entry.is_for(profile, key, request))
            .map(|(index, entry)| (entry.is_chosen_by(request), entry.freshness.received(), index))
            .filter(|(is_match, ..)| *is_match || profile.variants == Variants::AskedByTag)
            .max()
            .map(|(is_match, _, index)| (index, is_match))
    }
}

/// Whether a request does not read the cache.
fn goes_past(profile: &Profile, mode: CacheMode, request: &SentRequest) -> bool {
    let is_told = || {
        let cache_control = CacheControl::parse(profile, &request.headers);
        cache_control.no_cache || has_pragma(&request.headers)
    };
    matches!(effective(profile, mode, request), CacheMode::NoStore | CacheMode::Reload)
        || profile.no_cache_goes_past && is_told()
}

/// A request with a range bypasses the cache, and in some engines one with its own conditions.
fn effective(profile: &Profile, mode: CacheMode, request: &SentRequest) -> CacheMode {
    let goes_past = request.headers.contains_key(RANGE)
        || profile.own_conditions_go_past && has_conditions(request);
    if goes_past { CacheMode::NoStore } else { mode }
}

/// Whether a script has written the conditions of a request.
fn has_conditions(request: &SentRequest) -> bool {
    CONDITIONS.iter().any(|name| request.headers.contains_key(name))
}

/// Drops fields with an empty value, which some engines do not store.
fn drop_empty(headers: &mut HeaderMap) {
    let is_empty = |(_, value): &(&HeaderName, &HeaderValue)| value.is_empty();
    let names: Vec<HeaderName> =
        headers.iter().filter(is_empty).map(|(name, _)| name.clone()).collect();
    for name in names {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests;
