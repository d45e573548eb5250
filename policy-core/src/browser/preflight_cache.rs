//! CORS-preflight cache (Fetch, 4.10): methods and names of fields, each for itself.

use std::time::Duration;

use http::Method;
use url::Url;

use super::{Credentials, preflight::Allowed, request::Request};

/// What preflights have allowed.
#[derive(Clone, Debug, Default)]
pub(super) struct PreflightCache {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    /// The site of the window.
    partition: String,
    /// As it was serialised: `null` is one like the others.
    origin: String,
    url: Url,
    with_credentials: bool,
    /// When it is gone; since 1970.
    expires: Duration,
    allowed: Item,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Item {
    Method(String),
    /// In lower case.
    Name(String),
}

/// The entries that match a request.
#[derive(Debug)]
pub(super) struct Matching<'a>(Vec<&'a Item>);

impl PreflightCache {
    /// Drops what has become too old by `now`.
    pub(super) fn expire(&mut self, now: Duration) {
        self.entries.retain(|entry| entry.expires > now);
    }

    pub(super) fn matching(&self, request: &Request) -> Matching<'_> {
        if self.entries.is_empty() {
            return Matching(Vec::new());
        }
        let partition = request.partition();
        let entries = self.entries.iter().filter(|entry| entry.matches(request, &partition));
        Matching(entries.map(|entry| &entry.allowed).collect())
    }

    /// Keeps what a preflight has allowed. Entries that match already live as long as this one.
    pub(super) fn keep(
        &mut self,
        request: &Request,
        allowed: Allowed,
        now: Duration,
        cap: Duration,
    ) {
        let partition = request.partition();
        let expires = now + Duration::from_secs(allowed.max_age).min(cap);
        let methods = allowed.methods.into_iter().map(Item::Method);
        let names = allowed.names.into_iter().map(|name| Item::Name(name.to_ascii_lowercase()));
        for item in methods.chain(names) {
            let mut is_known = false;
            for entry in &mut self.entries {
                if entry.allowed == item && entry.matches(request, &partition) {
                    entry.expires = expires;
                    is_known = true;
                }
            }
            if !is_known && expires > now {
                self.entries.push(Entry {
                    partition: partition.clone(),
                    origin: request.serialized_origin().into_owned(),
                    url: request.url.clone(),
                    with_credentials: request.fetch.credentials == Credentials::Include,
                    expires,
                    allowed: item,
                });
            }
        }
        self.expire(now);
    }

    /// Forgets what it knows of an origin at an address, because a request ended in a network
    /// error.
    pub(super) fn clear(&mut self, request: &Request) {
        if self.entries.is_empty() {
            return;
        }
        let partition = request.partition();
        self.entries.retain(|entry| !entry.is_of(request, &partition));
    }
}

impl Entry {
    fn is_of(&self, request: &Request, partition: &str) -> bool {
        self.url == request.url
            && self.origin == request.serialized_origin()
            && self.partition == partition
    }

    /// Cache entry match: what was allowed with credentials holds without them too.
    fn matches(&self, request: &Request, partition: &str) -> bool {
        (self.with_credentials || request.fetch.credentials != Credentials::Include)
            && self.is_of(request, partition)
    }
}

impl Matching<'_> {
    pub(super) fn has_method(&self, method: &Method) -> bool {
        let allows = |one: &str| one == "*" || one == method.as_str();
        self.0.iter().any(|item| matches!(item, Item::Method(one) if allows(one)))
    }

    /// `by_star`: whether `*` stands for this name.
    pub(super) fn has_name(&self, name: &str, by_star: bool) -> bool {
        let allows = |one: &str| one == name || (by_star && one == "*");
        self.0.iter().any(|item| matches!(item, Item::Name(one) if allows(one)))
    }
}
