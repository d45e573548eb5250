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
    let mut stored: Vec<(ProbeRequest, Reply, Reuse)> = Vec::new();
    for caller in &callers {
        for origin in &origins {
            let request = explorer.by(caller, &method, origin.as_deref());
            let Some(reply) = explorer.ask(&request, HandlerBehavior::Answers) else { continue };
            let reuse = Reuse::from_response(reply.status, &reply.headers);
            stored.push((request, reply, reuse));
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
    for (index, (request, reply, reuse)) in stored.iter().enumerate() {
        let Some(names) = lists.get(index) else { continue };
        if !reuse.is_reused() || names.iter().any(|name| name == "*") {
            continue;
        }
        let others = groups.get(&(names.as_slice(), key(&request.headers, names)));
        let others = others.into_iter().flatten().filter_map(|index| stored.get(*index));
        let is_shared = is_shared(request, reuse);
        let other =
            others.clone().find(|(_, other, _)| view(reply, is_shared) != view(other, is_shared));
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

/// The permissions of caches for a response (RFC 9111 3, 4.2 and 5.2.2, RFC 5861); times are in
/// seconds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Reuse {
    is_stored: bool,
    /// Whether a shared cache may store it.
    is_shared: bool,
    /// Whether a shared cache may store responses to requests with `Authorization` (RFC 9111 3.5).
    is_public: bool,
    /// Whether a private cache need not revalidate it when the user reloads (RFC 8246).
    is_immutable: bool,
    /// The time for which a private cache reuses it without validation.
    own: u64,
    /// The same for a shared cache.
    shared: u64,
    /// The time after that for which it may be reused stale.
    stale: u64,
}

impl Reuse {
    /// Reads a response as the most lenient cache does: `private="x-a"` is about one field, some
    /// browsers ignore `no-cache="x-a"`, and of several ages some take the last.
    pub(super) fn from_response(status: u16, headers: &HeaderMap) -> Self {
        let lines = headers.get_all(header::CACHE_CONTROL).iter();
        let lines: Vec<_> = lines.map(|line| String::from_utf8_lossy(line.as_bytes())).collect();
        let list = lines.join(",").to_ascii_lowercase();
        let pairs = list.split(',').map(|part| match part.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim().trim_matches('"'))),
            None => (part.trim(), None),
        });
        let pairs: Vec<(&str, Option<&str>)> = pairs.collect();
        let restricts = |directive: &str| pairs.contains(&(directive, None));
        let permits = |directive: &str| pairs.iter().any(|(name, _)| *name == directive);
        // What is no number leaves the time up to the cache, as if it were too large.
        let seconds = |directive: &str| {
            let values = pairs.iter().filter(|(name, _)| *name == directive);
            let numbers =
                values.map(|(_, value)| value.and_then(|value| value.parse::<u64>().ok()));
            numbers.map(|number| number.unwrap_or(u64::MAX)).max()
        };
        let (age, shared_age) = (seconds("max-age"), seconds("s-maxage"));
        let is_opened = permits("public") || shared_age.is_some();
        let is_kept = KEPT.contains(&status) || is_opened || age.is_some();
        if restricts("no-store") || !is_kept {
            return Self::default();
        }
        // Without `max-age`, the freshness lifetime is up to the cache.
        let own = age.unwrap_or(u64::MAX);
        let later = ["stale-while-revalidate", "stale-if-error"].map(seconds);
        let later = later.into_iter().flatten().fold(1, u64::saturating_add);
        let is_private = restricts("private") && !permits("public");
        let kept = Self {
            is_stored: true,
            is_shared: !is_private,
            is_public: !is_private && (is_opened || permits("must-revalidate")),
            is_immutable: permits("immutable"),
            own,
            shared: if is_private { 0 } else { shared_age.unwrap_or(own) },
            stale: if restricts("must-revalidate") { 0 } else { later },
        };
        match restricts("no-cache") {
            // Each reuse is validated, so `must-revalidate` adds nothing.
            true => Self {
                is_public: kept.is_public && is_opened,
                is_immutable: false,
                own: 0,
                shared: 0,
                stale: 0,
                ..kept
            },
            false => kept,
        }
    }

    /// Whether caches may do no more with this response than with the other.
    pub(super) fn is_within(&self, other: &Self) -> bool {
        self.is_stored <= other.is_stored
            && self.is_shared <= other.is_shared
            && self.is_public <= other.is_public
            && self.is_immutable <= other.is_immutable
            && self.own <= other.own
            && self.shared <= other.shared
            && self.stale <= other.stale
    }

    /// Whether a cache may reuse the response without validation.
    fn is_reused(&self) -> bool {
        self.own > 0 || self.shared > 0 || self.stale > 0
    }
}

/// Whether a shared cache may reuse the response to a request without validation.
fn is_shared(request: &ProbeRequest, reuse: &Reuse) -> bool {
    let has_token = request.headers.contains_key(header::AUTHORIZATION);
    reuse.is_reused() && reuse.is_shared && (!has_token || reuse.is_public)
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
