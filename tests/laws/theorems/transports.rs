//! What a request claims about its proxies, and how it was sent, change nothing.

use std::{net::SocketAddr, time::Duration};

use http::{HeaderMap, HeaderName, HeaderValue, Method, Version, header::HOST};
use policy_server::{App, Body, Clock, Limits, Policies, Rate, TrustedProxies};
use proptest::{collection::vec, prelude::*, sample::subsequence};

use super::met_if;
use crate::{
    exchange::Request,
    generate,
    law::{Judged, holds},
    local::{Reply, build_request},
    scenario::{Call, OWN, Plan, Scenario, Site, is_routed},
};

/// Fields that proxies set for the requests that they forward.
const FORWARDED: &[(&str, &str)] = &[
    ("forwarded", "for=192.0.2.1;host=evil.test;proto=http"),
    ("x-forwarded-for", "192.0.2.1"),
    ("x-forwarded-for", "192.0.2.2, 198.51.100.7"),
    ("x-forwarded-host", "evil.test"),
    ("x-forwarded-proto", "http"),
    ("x-forwarded-port", "8443"),
    ("x-forwarded-prefix", "/r"),
    ("x-forwarded-server", "evil.test"),
    ("x-real-ip", "192.0.2.3"),
    ("x-original-url", "/r"),
    ("x-rewrite-url", "/r"),
    ("x-http-method-override", "PUT"),
    ("cf-connecting-ip", "192.0.2.4"),
    ("true-client-ip", "192.0.2.5"),
    ("via", "1.1 evil.test"),
];

/// The proxies of an app, if any, and a peer that is none of them.
#[derive(Clone, Copy, Debug)]
enum Front {
    None,
    Forwarded,
    XForwarded,
    XForwardedWithHost,
    ProxyProtocol,
}

const STRANGER: &str = "192.0.2.200:4711";

impl Front {
    fn apply(self, app: App<()>) -> App<()> {
        let proxies = TrustedProxies::new(["10.0.0.0/8", "192.0.2.128/26", "2001:db8::/32", "::1"]);
        match self {
            Self::None => app,
            Self::Forwarded => app.behind(proxies.forwarded()),
            Self::XForwarded => app.behind(proxies.x_forwarded()),
            Self::XForwardedWithHost => app.behind(proxies.x_forwarded_with_host()),
            Self::ProxyProtocol => app.behind(proxies.proxy_protocol()),
        }
    }
}

fn any_front() -> impl Strategy<Value = Front> {
    prop::sample::select(vec![
        Front::None,
        Front::Forwarded,
        Front::XForwarded,
        Front::XForwardedWithHost,
        Front::ProxyProtocol,
    ])
}

fn is_forwarding(name: &str) -> bool {
    name.starts_with("x-forwarded-") || name == "forwarded"
}

/// What a handler saw of a request, without the `X-Forwarded-*` fields and their like, which it may
/// read.
fn observe(mut call: Call) -> (Method, String, HeaderMap) {
    for (name, _) in FORWARDED.iter().filter(|(name, _)| !is_forwarding(name)) {
        call.headers.remove(*name);
    }
    (call.method, call.path, call.headers)
}

/// T20, no forgery of proxies. What a peer claims in fields that only a proxy should set changes
/// nothing: not the host, not the own origin, not the address that rates count, not what a handler
/// sees, for any configured proxies as long as the peer is none of them. In development, where a
/// proxy in front cannot be known, such a request is refused with 421.
#[test]
fn t20_forwarding_fields_of_untrusted_peers_change_nothing() {
    let forged = vec(subsequence(FORWARDED, 1..4), 3);
    let cases = (generate::exchange(), forged, any_front(), prop::bool::weighted(0.2));
    holds("T20", 77, cases, |((scenario, mut request), forged, front, is_development)| {
        // The law is about the fields that are added.
        request.headers.remove("x-forwarded-host");
        request.headers.remove("forwarded");
        if is_development {
            return refused_in_development(&scenario, request, &forged[0], front);
        }
        let clock = Clock::at(1_800_000_000);
        let limits = Limits::NONE.rate(Rate::per_minute(2));
        let app = App::new(()).clock(clock.clone()).policies(Policies::new().limits(limits));
        let site = Site::with(&scenario, front.apply(app.public_origin(OWN)));
        let responses = |is_forged: bool| -> (Vec<Reply>, Vec<_>) {
            // Lets all rate counters expire.
            clock.advance(Duration::from_secs(600));
            let sent = forged.iter().map(|fields| {
                let mut request = request.clone();
                for (name, value) in fields.iter().filter(|_| is_forged) {
                    request.headers.append(*name, HeaderValue::from_static(value));
                }
                site.ask_from(STRANGER.parse::<SocketAddr>().expect("an address"), &request)
            });
            (sent.collect(), site.calls().into_iter().map(observe).collect())
        };
        let honest = responses(false);
        prop_assert_eq!(&responses(true), &honest);
        let is_counted = honest.0.last().is_some_and(|reply| reply.status == 429);
        met_if(is_counted || request.is_preflight())
    });
}

fn refused_in_development(
    scenario: &Scenario,
    mut request: Request,
    forged: &[(&'static str, &'static str)],
    front: Front,
) -> Judged {
    let site = Site::with(scenario, front.apply(App::new(())));
    request.headers.insert(HOST, HeaderValue::from_static("localhost"));
    for (name, value) in forged {
        request.headers.append(*name, HeaderValue::from_static(value));
    }
    let is_due = forged.iter().any(|(name, _)| is_forwarding(name));
    let response = site.ask_from(STRANGER.parse().expect("an address"), &request);
    prop_assert_eq!(response.status == 421, is_due, "{:?}", response);
    prop_assert!(!is_due || site.calls().is_empty());
    met_if(is_due)
}

/// The same fields from a configured proxy do change something, one format at a time, so the law
/// above is about fields that are read.
#[test]
fn fields_of_a_configured_proxy_count() {
    let scenario = Scenario::default();
    let request = Request::new(Method::GET, "/nowhere");
    for (front, field, value, is_heard) in [
        (Front::Forwarded, "forwarded", "for=192.0.2.1;proto=http", true),
        (Front::Forwarded, "forwarded", "for=192.0.2.1;host=evil.test", true),
        (Front::Forwarded, "x-forwarded-proto", "http", false),
        (Front::XForwarded, "x-forwarded-proto", "http", true),
        (Front::XForwarded, "x-forwarded-host", "evil.test", false),
        (Front::XForwarded, "forwarded", "for=192.0.2.1;proto=http", false),
        (Front::XForwardedWithHost, "x-forwarded-host", "evil.test", true),
        (Front::ProxyProtocol, "x-forwarded-proto", "http", false),
        (Front::None, "x-forwarded-proto", "http", false),
    ] {
        let site = Site::with(&scenario, front.apply(App::new(()).public_origin(OWN)));
        let mut request = request.clone();
        request.headers.insert(field, HeaderValue::from_static(value));
        for (peer, is_proxy) in
            [("10.1.2.3:1", true), ("[::ffff:10.1.2.3]:1", true), (STRANGER, false)]
        {
            let status = site.ask_from(peer.parse().expect("an address"), &request).status;
            let want = if is_heard && is_proxy { 421 } else { 404 };
            assert_eq!(status, want, "{front:?} {field} from {peer}");
        }
    }
}

/// Lists that a client may send as one line or as several.
const LISTS: &[(&str, &[&str], &str)] = &[
    ("accept", &["text/html", "application/json;q=0.9", "*/*;q=0.1"], ", "),
    ("access-control-request-headers", &["content-type", "x-a", "x-b"], ","),
    ("if-none-match", &["\"0\"", "\"1\"", "W/\"2\""], ", "),
    ("accept-language", &["de", "en;q=0.5"], ", "),
    // HTTP/2 splits it (RFC 9113 8.2.3).
    ("cookie", &["a=1", "__Host-sid=AAAA", "b=2"], "; "),
    ("cache-control", &["no-cache", "max-age=0"], ", "),
];

/// T21, independence of the transport. A response is the same over HTTP/1.1 with `Host` and over
/// HTTP/2 with `:authority`, for any order of the fields, and for lists in one line or several.
/// (The case of names, chunks and frames is gone before the first gate.)
#[test]
fn t21_how_a_request_was_sent_changes_nothing() {
    let lists = subsequence(LISTS, 0..=LISTS.len());
    let order = Just((0..12_usize).collect::<Vec<_>>()).prop_shuffle();
    let cases = (generate::exchange(), lists, order, any::<(bool, bool, bool)>());
    holds("T21", 46, cases, |((mut scenario, mut request), lists, order, bits)| {
        let (is_cut, is_http2, is_read) = bits;
        if is_read {
            // Conditions apply to GET.
            request.method = Method::GET;
            scenario.plan = Plan { headers: vec![("etag", "\"1\"")], ..Plan::default() };
        }
        let mut fields: Vec<(HeaderName, HeaderValue)> = Vec::new();
        for (name, value) in &request.headers {
            if name != "access-control-request-headers" {
                fields.push((name.clone(), value.clone()));
            }
        }
        let plain = fields.clone();
        let line = |name: &&'static str, value: &str| {
            (HeaderName::from_static(name), value.parse().expect("a value"))
        };
        let whole = lists.iter().map(|(name, parts, glue)| line(name, &parts.join(glue)));
        let whole: Vec<_> = plain.into_iter().chain(whole).collect();
        for (name, parts, glue) in &lists {
            if is_cut {
                fields.extend(parts.iter().map(|part| line(name, part)));
            } else {
                fields.push(line(name, &parts.join(glue)));
            }
        }
        // Lines of one field keep their order, which has a meaning.
        let place = |name: &HeaderName| {
            let first = fields.iter().position(|(other, _)| other == name);
            order.iter().position(|place| Some(*place) == first)
        };
        let mut shuffled = fields.clone();
        shuffled.sort_by_key(|(name, _)| place(name));
        let (one, other) = (
            send(&scenario, &request, whole, false),
            send(&scenario, &request, shuffled, is_http2),
        );
        prop_assert_eq!(one, other);
        met_if((is_cut || is_http2) && lists.len() > 1 && is_routed(&request.path))
    });
}

fn send(
    scenario: &Scenario,
    request: &Request,
    fields: Vec<(HeaderName, HeaderValue)>,
    is_http2: bool,
) -> Reply {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        headers.append(name, value);
    }
    let target = format!("{}{}", if is_http2 { OWN } else { "" }, request.path);
    let mut sent = build_request(&request.method, &target, &headers, Body::empty());
    if is_http2 {
        *sent.version_mut() = Version::HTTP_2;
        sent.headers_mut().remove(HOST);
    }
    Site::new(scenario).send(sent)
}
