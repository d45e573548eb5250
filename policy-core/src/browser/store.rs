//! The HTTP cache of a browser: a private cache (RFC 9111) as Fetch uses it (Fetch, 4.6).

use std::time::Duration;

use http::{
    HeaderMap, HeaderName, HeaderValue, Method,
    header::{
        ETAG, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE,
        LAST_MODIFIED, RANGE, SET_COOKIE, VARY,
    },
};
use url::Url;

use super::{
    Answer, CacheMode, Page, Profile, Sent, Variants,
    freshness::{CacheControl, Freshness, elements, is_explicit},
    site::site,
};

/// The most answers that are kept; the one that was used the longest ago goes first.
const MOST: usize = 1000;
/// The longest content that is kept.
const LONGEST: usize = 8 << 20;

/// What is cached, the last used at the end.
#[derive(Clone, Debug, Default)]
pub(super) struct Store {
    entries: Vec<Entry>,
}

/// For whom something is cached (Fetch, "network partition key"): nobody can tell by it what
/// another site's page has loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Partition {
    top_level: String,
    frame: Option<String>,
    has_credentials: bool,
}

/// What the cache has for a request.
#[derive(Clone, Debug)]
pub(super) enum Lookup {
    /// Nothing of use.
    Miss,
    /// An answer that needs no question.
    Fresh(Answer),
    /// An answer that may be used now, while it is asked for anew with these conditions.
    Refresh(Answer, HeaderMap),
    /// An answer to ask for anew, with these conditions.
    Stale(HeaderMap),
}

#[derive(Clone, Debug)]
struct Entry {
    partition: Partition,
    url: Url,
    /// The fields of the request that its `Vary` names.
    chosen_by: Vec<(HeaderName, Vec<HeaderValue>)>,
    /// Whether its `Vary` is `*`: no request is like another.
    is_unique: bool,
    answer: Answer,
    freshness: Freshness,
}

impl Partition {
    /// That of a load. `page` is who asks; a load that leaves the page belongs to `url`.
    pub(super) fn of(
        profile: &Profile,
        page: Option<&Page>,
        is_frame: bool,
        url: &Url,
        has_credentials: bool,
    ) -> Self {
        let frame = match page {
            Some(page) if !is_frame => &page.url,
            _ => url,
        };
        Self {
            top_level: site(page.map_or(url, |page| &page.top_level)),
            frame: profile.caches_by_frame.then(|| site(frame)),
            has_credentials: has_credentials || !profile.caches_by_credentials,
        }
    }
}

impl Store {
    /// What there is for a request that is about to be sent.
    pub(super) fn lookup(
        &mut self,
        profile: &Profile,
        now: Duration,
        key: &Partition,
        mode: CacheMode,
        request: &Sent,
    ) -> Lookup {
        let mode = effective(mode, request);
        let is_head = request.method == Method::HEAD;
        if matches!(mode, CacheMode::NoStore | CacheMode::Reload)
            || !is_head && request.method != Method::GET
        {
            return Lookup::Miss;
        }
        let Some((place, is_match)) = self.find(profile, key, request) else {
            return Lookup::Miss;
        };
        let entry = self.entries.remove(place);
        let conditions = entry.conditions(is_match);
        let use_of = entry.use_of(now, mode, request).filter(|_| is_match);
        let mut answer = entry.answer.clone();
        if is_head {
            answer.body.clear();
        }
        self.entries.push(entry);
        match use_of {
            Some(Use::Fresh) => Lookup::Fresh(answer),
            Some(Use::InGrace) if !is_head => Lookup::Refresh(answer, conditions),
            _ if is_head || conditions.is_empty() => Lookup::Miss,
            _ => Lookup::Stale(conditions),
        }
    }

    /// Takes an answer that came from a server: stores it if it may, and forgets what it shows to
    /// be out of date.
    pub(super) fn keep(
        &mut self,
        profile: &Profile,
        now: Duration,
        key: &Partition,
        mode: CacheMode,
        request: &Sent,
        answer: &Answer,
    ) {
        if !request.method.is_safe() {
            // RFC 9111, 4.4
            if (200..400).contains(&answer.status) {
                self.entries.retain(|entry| !entry.is_of(key, request));
            }
            return;
        }
        if request.method != Method::GET || effective(mode, request) == CacheMode::NoStore {
            return;
        }
        self.entries.retain(|entry| {
            let is_other = profile.variants == Variants::Kept && !entry.is_chosen_by(request);
            is_other || !entry.is_of(key, request)
        });
        if is_storable(profile, request, answer) {
            let mut answer = answer.clone();
            answer.headers.remove(SET_COOKIE);
            self.entries.push(Entry::of(profile, now, key, request, answer));
            let excess = self.entries.len().saturating_sub(MOST);
            self.entries.drain(..excess);
        }
    }

    /// Takes the status 304 to the conditions of [`Lookup::Stale`]: the stored answer, with the
    /// fields of this one (RFC 9111, 4.3.4). `None` where it is no longer stored.
    pub(super) fn revalidated(
        &mut self,
        profile: &Profile,
        now: Duration,
        key: &Partition,
        request: &Sent,
        answer: &Answer,
    ) -> Option<Answer> {
        let (place, _) = self.find(profile, key, request)?;
        let mut updated = self.entries.remove(place).answer;
        let names = answer.headers.keys().filter(|name| is_updated(profile, name));
        for name in names {
            updated.headers.remove(name);
            for value in answer.headers.get_all(name) {
                updated.headers.append(name, value.clone());
            }
        }
        if !CacheControl::of(&updated.headers).no_store {
            self.entries.push(Entry::of(profile, now, key, request, updated.clone()));
        }
        Some(updated)
    }

    /// The place of the answer to choose, of several the newest, and whether its `Vary` lets it be
    /// used (RFC 9111, 4.1).
    fn find(&self, profile: &Profile, key: &Partition, request: &Sent) -> Option<(usize, bool)> {
        self.entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| entry.is_of(key, request))
            .map(|(place, entry)| (entry.is_chosen_by(request), entry.freshness.received(), place))
            .filter(|(is_match, ..)| *is_match || profile.variants == Variants::AskedByTag)
            .max()
            .map(|(is_match, _, place)| (place, is_match))
    }
}

/// How a stored answer may be used without waiting.
#[derive(Clone, Copy)]
enum Use {
    Fresh,
    InGrace,
}

impl Entry {
    fn of(
        profile: &Profile,
        now: Duration,
        partition: &Partition,
        request: &Sent,
        answer: Answer,
    ) -> Self {
        let value = |name| {
            let name = HeaderName::from_bytes(str::as_bytes(name)).ok()?;
            let values = request.headers.get_all(&name).iter().cloned().collect();
            Some((name, values))
        };
        let chosen_by = elements(&answer.headers, &VARY).filter_map(value).collect();
        let is_unique = elements(&answer.headers, &VARY).any(|name| name == "*");
        Self {
            partition: partition.clone(),
            url: request.url.clone(),
            chosen_by,
            is_unique,
            freshness: Freshness::of(profile, now, &answer),
            answer,
        }
    }

    fn is_of(&self, key: &Partition, request: &Sent) -> bool {
        self.partition == *key && self.url == request.url
    }

    fn is_chosen_by(&self, request: &Sent) -> bool {
        let is_same = |(name, values): &(HeaderName, Vec<HeaderValue>)| {
            request.headers.get_all(name).iter().eq(values)
        };
        !self.is_unique && self.chosen_by.iter().all(is_same)
    }

    fn use_of(&self, now: Duration, mode: CacheMode, request: &Sent) -> Option<Use> {
        let asked = CacheControl::of(&request.headers);
        let is_young = asked.max_age.is_none_or(|age| self.freshness.age(now) <= age);
        match mode {
            CacheMode::ForceCache => Some(Use::Fresh),
            CacheMode::Default if asked.no_cache || !is_young => None,
            CacheMode::Default if self.freshness.is_fresh(now) => Some(Use::Fresh),
            CacheMode::Default if self.freshness.is_in_grace(now) => Some(Use::InGrace),
            _ => None,
        }
    }

    /// What asks whether it still holds (RFC 9111, 4.3.1). A date says nothing where another
    /// variant is asked for.
    fn conditions(&self, is_match: bool) -> HeaderMap {
        let mut conditions = HeaderMap::new();
        if let Some(tag) = self.answer.headers.get(ETAG) {
            conditions.insert(IF_NONE_MATCH, tag.clone());
        }
        if let Some(date) = self.answer.headers.get(LAST_MODIFIED).filter(|_| is_match) {
            conditions.insert(IF_MODIFIED_SINCE, date.clone());
        }
        conditions
    }
}

/// A request that has conditions of its own, or wants a part, goes past the cache (Fetch,
/// "HTTP-network-or-cache fetch", step 8.16).
fn effective(mode: CacheMode, request: &Sent) -> CacheMode {
    let own = [IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, RANGE];
    let has_own = own.iter().any(|name| request.headers.contains_key(name));
    if has_own { CacheMode::NoStore } else { mode }
}

/// RFC 9111, 3.
fn is_storable(profile: &Profile, request: &Sent, answer: &Answer) -> bool {
    let control = CacheControl::of(&answer.headers);
    let is_final = (200..600).contains(&answer.status) && !matches!(answer.status, 206 | 304);
    let is_allowed = control.allows_storing
        || is_explicit(answer)
        || profile.heuristic_statuses.contains(&answer.status)
        || profile.permanent_statuses.contains(&answer.status);
    is_final
        && is_allowed
        && !control.no_store
        && !CacheControl::of(&request.headers).no_store
        && answer.body.len() <= LONGEST
}

/// RFC 9111, 3.2. In the list of a profile, a name that ends with `-` stands for all that begin
/// with it.
fn is_updated(profile: &Profile, name: &HeaderName) -> bool {
    let is_kept = |kept: &&str| match kept.ends_with('-') {
        true => name.as_str().starts_with(kept),
        false => name == kept,
    };
    name != SET_COOKIE && !profile.kept_by_304.iter().any(|kept| is_kept(&kept))
}
