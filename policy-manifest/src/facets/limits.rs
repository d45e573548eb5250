//! `#[limit]`: sizes, times, rates and concurrency.

use http::header;
use policy_core::{
    Refusal,
    gates::Gate,
    limits::{self, RateKey},
};
use serde::{Deserialize, Serialize};

use super::{
    Cell, Column, Direction, Effects, FacetEntry, MethodRequests, ObjectKey, ObjectUse,
    RefusedRequest, RouteKind, ShownRoute, Side,
    facts::order::more,
    is_default,
    words::{bytes_in_words, millis, millis_in_words, rate_in_words},
};

/// The limits on sizes, times, rates and concurrency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct RouteLimits {
    /// The maximum size of a body in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<u64>,
    /// The maximum time until a response is ready, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// How often a client may call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<RouteRate>,
    /// The maximum number of concurrent requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// The maximum size in bytes of a message that a client sends over a WebSocket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<u64>,
    /// How long a client of a WebSocket may be silent, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silence_ms: Option<u64>,
    /// The maximum number of open WebSockets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sockets: Option<u32>,
    /// The maximum number of open WebSockets per caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sockets_per_caller: Option<u32>,
    /// How often a caller may ask for objects that are not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub misses: Option<RouteRate>,
}

/// At most `count` requests of one client within any `per_ms` milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RouteRate {
    /// The maximum number of requests in one period.
    pub count: u32,
    /// The period in milliseconds.
    pub per_ms: u64,
    /// The property by which clients are distinguished.
    #[serde(default, skip_serializing_if = "is_default")]
    pub by: RateKey,
}

impl From<&limits::Limits> for RouteLimits {
    fn from(limits: &limits::Limits) -> Self {
        let rate = |rate: limits::Rate| RouteRate {
            count: rate.count,
            per_ms: millis(rate.per),
            by: rate.by,
        };
        Self {
            body: limits.body,
            timeout_ms: limits.timeout.map(millis),
            rate: limits.rate.map(rate),
            concurrency: limits.concurrency,
            message: limits.message,
            silence_ms: limits.silence.map(millis),
            sockets: limits.sockets,
            sockets_per_caller: limits.sockets_per_caller,
            misses: limits.misses.map(rate),
        }
    }
}

const COLUMN: Column = Column { position: 5, is_secondary: true, ..Column::new("Limits") };

pub(super) const FACET: FacetEntry = FacetEntry {
    name: "limits",
    attribute: "limit",
    about: "sizes, times, rates and concurrency",
    gates: &[Gate::AddressRate, Gate::Limits, Gate::Body],
    why: "Without a limit, one client can use up the memory, the time or the quota of all \
         others. A limit that is zero, or that counts nobody, is a mistake.",
    links: &[("RFC 6585, 429 Too Many Requests", "https://www.rfc-editor.org/rfc/rfc6585")],
    columns: &[(COLUMN, cell)],
    decides_access: false,
    refusals,
    relax: |route, RefusedRequest { refusal, request, .. }| {
        let length = request.headers().get(header::CONTENT_LENGTH)?.to_str().ok()?;
        (refusal == Refusal::BodyTooLarge).then(|| {
            route.limits.body = length.parse().ok();
            format!("limit: `body = \"{length} B\"`")
        })
    },
    change,
    ..FacetEntry::NONE
};

fn refusals(MethodRequests { route, .. }: MethodRequests<'_>, found: &mut Vec<Refusal>) {
    // Nothing runs for a path without a route.
    if route.kind == RouteKind::NotFound {
        return;
    }
    let limits = &route.limits;
    if limits.rate.is_some() {
        found.push(Refusal::RateExceeded);
    }
    if limits.concurrency.is_some() {
        found.push(Refusal::ConcurrencyExceeded);
    }
    if limits.timeout_ms.is_some() {
        found.push(Refusal::HandlerTimedOut);
    }
    let has_key = |object: &ObjectUse| object.key != ObjectKey::List;
    let loads = route.object.as_ref().is_some_and(|it| it.uses.iter().any(has_key));
    if limits.misses.is_some() && loads {
        found.push(Refusal::ObjectMissesExceeded);
    }
}

fn change(old: Side<'_>, new: Side<'_>) -> Option<(Direction, String)> {
    let [old, new] = [old, new].map(|side| &side.route.limits);
    let mut found = Effects::default();
    for (name, before, after) in [("rate", old.rate, new.rate), ("misses", old.misses, new.misses)]
    {
        if before != after {
            found.opens |= exceeds(after, before);
            found.narrows |= exceeds(before, after);
            let [before, after] = [before, after].map(rate_words);
            found.words.push(format!("{name} was {before}, is {after}"));
        }
    }
    for (name, before, after) in [
        ("concurrency", old.concurrency.map(u64::from), new.concurrency.map(u64::from)),
        ("body", old.body, new.body),
        ("timeout in ms", old.timeout_ms, new.timeout_ms),
    ]
    .into_iter()
    .chain(socket_limits(old, new))
    {
        if let Some((direction, words)) = more(&before, &after) {
            found.add(direction, format!("{name} {words}"));
        }
    }
    found.change(", ")
}

/// Whether some client may send requests by one rate that the other refuses: more at once, more in
/// the long run, or counted by another property.
pub(crate) fn exceeds(one: Option<RouteRate>, other: Option<RouteRate>) -> bool {
    let (Some(one), Some(other)) = (one, other) else { return other.is_some() };
    let speed = |rate: RouteRate, per: RouteRate| u128::from(rate.count) * u128::from(per.per_ms);
    one.by != other.by || one.count > other.count || speed(one, other) > speed(other, one)
}

/// The limits of WebSockets. A manifest lists only those that are stated; the others have defaults.
fn socket_limits(
    old: &RouteLimits,
    new: &RouteLimits,
) -> impl Iterator<Item = (&'static str, Option<u64>, Option<u64>)> {
    let values = |limits: &RouteLimits| {
        let sockets = [limits.sockets, limits.sockets_per_caller].map(|most| most.map(u64::from));
        let [in_all, per_caller] = sockets;
        [limits.message, limits.silence_ms, in_all, per_caller]
    };
    let default = values(&RouteLimits::from(&limits::Limits::OF_SOCKETS));
    let names = ["message", "silence in ms", "sockets", "sockets per caller"];
    let pairs = values(old).into_iter().zip(values(new)).zip(default);
    names
        .into_iter()
        .zip(pairs)
        .map(|(name, ((before, after), default))| (name, before.or(default), after.or(default)))
}

fn rate_words(rate: Option<RouteRate>) -> String {
    rate.map_or_else(
        || "none".to_owned(),
        |rate| {
            let by = format!("{:?}", rate.by).to_lowercase();
            format!("{} in {} ms by {by}", rate.count, rate.per_ms)
        },
    )
}

/// A rate as its attribute has it, such as `5/min per address`.
pub(crate) fn shown_rate(rate: RouteRate) -> String {
    let by = match rate.by {
        RateKey::Address => "address",
        RateKey::Principal => "principal",
        _ => "client",
    };
    format!("{} per {by}", rate_in_words(rate.count, rate.per_ms))
}

fn cell(ShownRoute { route, .. }: ShownRoute<'_>) -> Cell {
    let RouteLimits { body, timeout_ms, rate, concurrency, message, silence_ms, .. } = route.limits;
    let RouteLimits { sockets, sockets_per_caller, misses, .. } = route.limits;
    let rate = rate.map(shown_rate);
    let words = [
        body.map(|bytes| format!("body {}", bytes_in_words(bytes))),
        timeout_ms.map(|millis| format!("timeout {}", millis_in_words(millis))),
        rate,
        concurrency.map(|most| format!("concurrency {most}")),
        message.map(|bytes| format!("message {}", bytes_in_words(bytes))),
        silence_ms.map(|millis| format!("silence {}", millis_in_words(millis))),
        sockets.map(|most| format!("sockets {most}")),
        sockets_per_caller.map(|most| format!("sockets per caller {most}")),
        misses.map(|rate| format!("misses {}", rate_in_words(rate.count, rate.per_ms))),
    ];
    Cell::list(words.into_iter().flatten())
}
