//! Caches: a stored response equals the one that the app would have sent.

use std::collections::HashMap;

use http::{HeaderMap, HeaderValue, Method, header};

use super::{Fault, Law, LawSpec, Verdict};
use crate::testing::prove::{
    explorer::PathExplorer,
    probe::HandlerBehavior,
    server::{ProbeRequest, Reply},
    tally::Tallies,
};

/// Statuses that caches keep without explicit permission (RFC 9110 15.1).
const KEPT: [u16; 12] = [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501];

/// The properties that distinguish responses: which origins may read one, and its principal.
type View = (Vec<Option<String>>, Option<Box<str>>);

/// The headers of a `Vary`, and their values in a request.
type Key<'a> = (&'a [String], Vec<Option<&'a HeaderValue>>);

pub(super) const LAW: LawSpec = LawSpec {
    text: "a cache reuses a response only for requests that would get an equal one",
    help: "keep the `Vary` and `Cache-Control` that the app writes, and only add to them",
    silence: |app| app.routes.is_empty().then_some("there is no handler or mounted service"),
    judge_path: vary,
    ..LawSpec::NONE
};

/// A stored response is reused only for requests that agree in every header of its `Vary`; so the
/// app must send the same response to those (RFC 9111 4.1).
fn vary(explorer: &mut PathExplorer<'_, '_>, tallies: &mut Tallies) {
    if explorer.path.route_for("GET").is_none() && !explorer.path.routes.is_empty() {
        return;
    }
    let method = Method::GET;
    let mut origins: Vec<_> = explorer
        .pages
        .iter()
        .filter(|page| page.stands_for_others)
        .map(|page| Some(page.origin.clone()))
        .collect();
    origins.push(None);
    let callers = explorer.callers.clone();
    let mut stored: Vec<(ProbeRequest, Reply, bool)> = Vec::new();
    for caller in &callers {
        for origin in &origins {
            let request = explorer.by(caller, &method, origin.as_deref());
            let Some(reply) = explorer.ask(&request, HandlerBehavior::Answers) else { continue };
            let is_shared = is_shared(&request, &reply);
            stored.push((request, reply, is_shared));
        }
    }
    let lists: Vec<Vec<String>> = stored.iter().map(|(_, reply, _)| varies(reply)).collect();
    // For each `Vary`, the responses to all requests that agree in it.
    let mut groups: HashMap<Key<'_>, Vec<usize>> = HashMap::new();
    let mut distinct: Vec<&[String]> = lists.iter().map(Vec::as_slice).collect();
    distinct.sort_unstable();
    distinct.dedup();
    for names in distinct {
        for (index, (request, ..)) in stored.iter().enumerate() {
            groups.entry((names, key(&request.headers, names))).or_default().push(index);
        }
    }
    for (index, (request, reply, is_shared)) in stored.iter().enumerate() {
        let Some(names) = lists.get(index) else { continue };
        if !is_reused(reply) || names.iter().any(|name| name == "*") {
            continue;
        }
        let others = groups.get(&(names.as_slice(), key(&request.headers, names)));
        let others = others.into_iter().flatten().filter_map(|index| stored.get(*index));
        let other =
            others.clone().find(|(_, other, _)| view(reply, *is_shared) != view(other, *is_shared));
        let verdict = match other {
            None => Verdict::Holds,
            Some((_, other, _)) => Verdict::Broken(Fault {
                expected: format!(
                    "no cache reuses the first response for the second request, by `Vary` or \
                     `Cache-Control`: they get {} and {}",
                    describe(reply),
                    describe(other)
                ),
                seen: format!(
                    "vary: {}, cache-control: {}",
                    if names.is_empty() { "none".to_owned() } else { names.join(", ") },
                    reply.field("cache-control").unwrap_or("none")
                ),
                attribute: "cache",
            }),
        };
        let both = [Some(request), other.map(|(request, ..)| request)];
        let both: Vec<_> = both.into_iter().flatten().collect();
        tallies.requests(Law::VarySoundness, explorer.path, "GET", &both, verdict);
    }
}

fn key<'h>(headers: &'h HeaderMap, names: &[String]) -> Vec<Option<&'h HeaderValue>> {
    names.iter().map(|name| headers.get(name.as_str())).collect()
}

/// The names in `Vary`.
fn varies(reply: &Reply) -> Vec<String> {
    let values = reply.headers.get_all(header::VARY).iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    let names = texts.flat_map(|text| text.split(',')).map(|name| name.trim().to_ascii_lowercase());
    let mut names: Vec<_> = names.filter(|name| !name.is_empty()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn has_directive(reply: &Reply, directive: &str) -> bool {
    value_of(&reply.headers, directive).is_some()
}

/// The value of a directive of `Cache-Control`; empty if the directive has no value.
fn value_of<'h>(headers: &'h HeaderMap, directive: &str) -> Option<&'h str> {
    let lines = headers.get_all(header::CACHE_CONTROL).iter();
    let lines = lines.filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(',')).map(|part| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        (name.trim(), value.trim().trim_matches('"'))
    });
    pairs.find(|(name, _)| name.eq_ignore_ascii_case(directive)).map(|(_, value)| value)
}

/// The permissions of caches for a response (RFC 9111 3, 4.2 and 5.2.2, RFC 5861); times are in
/// seconds.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reuse {
    is_stored: bool,
    /// Whether a shared cache may store responses to requests with `Authorization`.
    is_public: bool,
    /// The time for which a private cache reuses it without validation.
    own: u64,
    /// The same for a shared cache.
    shared: u64,
    /// The time after that for which it may be reused stale.
    stale: u64,
}

impl Reuse {
    const NONE: Self = Self { is_stored: false, is_public: false, own: 0, shared: 0, stale: 0 };

    pub(super) fn from_response(status: u16, headers: &HeaderMap) -> Self {
        let has = |directive: &str| value_of(headers, directive).is_some();
        let seconds = |directive: &str| {
            value_of(headers, directive).map(|value| value.parse::<u64>().unwrap_or_default())
        };
        let (age, shared_age) = (seconds("max-age"), seconds("s-maxage"));
        let is_public = has("public") || shared_age.is_some();
        let is_kept = KEPT.contains(&status) || is_public || age.is_some();
        if has("no-store") || !is_kept {
            return Self::NONE;
        }
        // Without `max-age`, the freshness lifetime is up to the cache.
        let own = age.unwrap_or(u64::MAX);
        let later = ["stale-while-revalidate", "stale-if-error"].map(seconds);
        let later = later.into_iter().flatten().fold(1, u64::saturating_add);
        let is_private = has("private");
        let kept = Self {
            is_stored: true,
            is_public: is_public && !is_private,
            own,
            shared: if is_private { 0 } else { shared_age.unwrap_or(own) },
            stale: if has("must-revalidate") { 0 } else { later },
        };
        match has("no-cache") {
            true => Self { own: 0, shared: 0, stale: 0, ..kept },
            false => kept,
        }
    }

    /// Whether caches may do no more with this response than with the other.
    pub(super) fn is_within(&self, other: &Self) -> bool {
        self.is_stored <= other.is_stored
            && self.is_public <= other.is_public
            && self.own <= other.own
            && self.shared <= other.shared
            && self.stale <= other.stale
    }
}

/// Whether a cache may keep the response and reuse it without revalidation (RFC 9111 3 and 4).
fn is_reused(reply: &Reply) -> bool {
    let has_age = has_directive(reply, "max-age")
        || has_directive(reply, "s-maxage")
        || has_directive(reply, "public");
    let is_kept = has_age || KEPT.contains(&reply.status);
    is_kept && !has_directive(reply, "no-store") && !has_directive(reply, "no-cache")
}

/// Whether a shared cache may do so (RFC 9111 3 and 3.5).
fn is_shared(request: &ProbeRequest, reply: &Reply) -> bool {
    let is_for_many = ["public", "s-maxage", "must-revalidate"]
        .into_iter()
        .any(|name| has_directive(reply, name));
    let has_token = request.headers.contains_key(header::AUTHORIZATION);
    is_reused(reply) && !has_directive(reply, "private") && (!has_token || is_for_many)
}

fn view(reply: &Reply, is_shared: bool) -> View {
    let fields = [
        "access-control-allow-origin",
        "access-control-allow-credentials",
        "access-control-expose-headers",
    ];
    let fields = fields.into_iter().map(|name| reply.field(name).map(str::to_owned)).collect();
    // A private cache keeps the responses of one user only.
    let principal = reply.report.as_ref().and_then(|ran| ran.principal.clone());
    (fields, principal.filter(|_| is_shared))
}

fn describe(reply: &Reply) -> String {
    let named = reply.field("access-control-allow-origin").unwrap_or("none");
    let who = reply.report.as_ref().and_then(|ran| ran.principal.as_deref()).unwrap_or("nobody");
    format!("access-control-allow-origin: {named} for {who}")
}
