//! The meaning of a policy, implemented a second time and differently: nothing here comes from the
//! product, and origins are compared as whole lists of labels.

use std::net::{Ipv4Addr, Ipv6Addr};

use http::HeaderMap;
use policy_core_tests::exchange::Policy;

use crate::fetch::{SAFELISTED_METHODS, is_token};

/// Whether a policy lets a page of this origin read responses.
pub fn grants_origin(policy: &Policy, origin: &[u8]) -> bool {
    policy.origins.iter().any(|entry| entry == "*" || matches(entry, origin))
}

/// Whether a pattern matches the value of an Origin header.
pub fn matches(pattern: &str, origin: &[u8]) -> bool {
    let (Some(pattern), Ok(origin)) = (Parts::parse(pattern), std::str::from_utf8(origin)) else {
        return false;
    };
    let Some(parts) = Parts::parse(origin).filter(Parts::is_serialized) else {
        return false;
    };
    let in_front = parts.labels.len().checked_sub(pattern.labels.len());
    let hosts = match (pattern.labels.split_first(), in_front) {
        // `*` matches one or more labels.
        (Some((&"*", below)), Some(_)) => parts.labels.ends_with(below),
        (Some((first, below)), Some(0)) if first.contains('*') => {
            let middle = first.split_once('*').and_then(|(front, end)| {
                parts.labels.first()?.strip_prefix(front)?.strip_suffix(end)
            });
            parts.labels.get(1..) == Some(below) && middle.is_some_and(|middle| !middle.is_empty())
        }
        _ => parts.labels == pattern.labels,
    };
    let ports = pattern.port == Some("*") || pattern.port == parts.port;
    origin.len() <= 326 && hosts && ports && pattern.scheme == parts.scheme
}

/// Whether one pattern matches everything that another one matches: it does if it matches an
/// example of the other whose label and port occur nowhere else.
pub fn covers(pattern: &str, inner: &str) -> bool {
    let witness = inner.replace("*.", "fresh.").replace("*-", "fresh-").replace(":*", ":60001");
    matches(pattern, witness.as_bytes())
}

/// The names of the headers that a page can see of a response that it may read.
pub fn visible(policy: &Policy, headers: &HeaderMap) -> Vec<String> {
    let safelisted = "cache-control content-language content-length content-type expires \
        last-modified pragma";
    let exposes = |name: &str| {
        let listed = policy.expose.iter().any(|one| one == "*" || one.eq_ignore_ascii_case(name));
        let secret = ["set-cookie", "set-cookie2"].contains(&name);
        safelisted.split_whitespace().any(|one| one == name) || (listed && !secret)
    };
    let mut names: Vec<String> = headers.keys().map(ToString::to_string).collect();
    names.retain(|name| exposes(name));
    names.sort();
    names
}

/// Whether this is how a browser serializes a tuple origin.
pub fn is_serialized_origin(text: &str) -> bool {
    Parts::parse(text).is_some_and(|parts| parts.is_serialized())
}

/// Whether two policies may share their preflights.
pub fn declare_alike(one: &Policy, two: &Policy) -> bool {
    let set = |list: &[String]| {
        let mut list: Vec<String> = list.iter().map(|name| name.to_lowercase()).collect();
        list.sort();
        list.dedup();
        list
    };
    let methods = |policy: &Policy| {
        let mut list: Vec<_> =
            policy.methods.as_ref()?.iter().map(|name| normalized(name)).collect();
        list.sort();
        list.dedup();
        Some(list)
    };
    let grants_all = |one: &Policy, two: &Policy| {
        let grants = |inner: &String| one.origins.iter().any(|it| it == inner || covers(it, inner));
        two.origins.iter().all(grants)
    };
    grants_all(one, two)
        && grants_all(two, one)
        && one.credentials == two.credentials
        && set(&one.headers) == set(&two.headers)
        && methods(one) == methods(two)
}

/// Whether a script's page may read the response to its fetch of a route that serves these methods
/// under this declaration.
pub fn grants(policy: &Policy, served: &[&str], wanted: &CorsRequest<'_>) -> bool {
    let grants_page = grants_origin(policy, wanted.origin.as_bytes())
        && (!wanted.includes_credentials || policy.credentials);
    let may_ask = || {
        allows_method(policy, served, wanted.method)
            && wanted
                .unsafe_names
                .iter()
                .all(|name| allows_header(policy, served, name, wanted.star_allows_authorization))
    };
    grants_page && (!wanted.is_preflighted || may_ask())
}

/// Whether a preflight allows a method.
pub fn allows_method(policy: &Policy, served: &[&str], method: &str) -> bool {
    let is_served = |name: &str| served.contains(&name);
    SAFELISTED_METHODS.contains(&method)
        || match &policy.methods {
            None => is_served(method) || (method == "HEAD" && is_served("GET")),
            Some(list) => list.iter().any(|entry| entry == "*" || normalized(entry) == method),
        }
}

/// Whether a preflight allows a header. A route with bodies allows `Content-Type` unless its policy
/// lists its headers itself.
pub fn allows_header(
    policy: &Policy,
    served: &[&str],
    name: &str,
    star_allows_authorization: bool,
) -> bool {
    let takes_bodies =
        ["POST", "PUT", "PATCH", "DELETE", "QUERY"].iter().any(|method| served.contains(method));
    let derived = policy.methods.is_none() && takes_bodies;
    let listed = policy.headers.iter().any(|entry| entry.eq_ignore_ascii_case(name));
    let star = policy.headers.iter().any(|entry| entry == "*");
    listed
        || (star && (name != "authorization" || star_allows_authorization))
        || (derived && name == "content-type")
}

/// The CORS request of a page's fetch, which a policy grants or refuses.
#[derive(Clone, Debug)]
pub struct CorsRequest<'a> {
    pub origin: &'a str,
    pub includes_credentials: bool,
    /// As the browser sends it.
    pub method: &'a str,
    /// CORS-unsafe request-header names, lower case.
    pub unsafe_names: &'a [String],
    pub is_preflighted: bool,
    /// A behaviour of engines that deviates from the standard.
    pub star_allows_authorization: bool,
}

/// Fetch, 2.2.2: CORS-unsafe request-header names, among the headers that a script can set.
pub fn unsafe_names<'a>(headers: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let sent = headers.into_iter().filter(|(name, _)| !is_forbidden(name));
    let (safe, mut names): (Vec<_>, Vec<_>) =
        sent.partition(|(name, value)| is_safelisted(name, value));
    if safe.iter().map(|(_, value)| value.len()).sum::<usize>() > 1024 {
        names.extend(safe);
    }
    let mut names: Vec<String> = names.iter().map(|(name, _)| name.to_lowercase()).collect();
    names.sort();
    names.dedup();
    names
}

/// Fetch, 2.2.2: request headers that no script can set, next to the prefixes `proxy-` and `sec-`.
pub const FORBIDDEN_HEADERS: &str = "accept-charset accept-encoding access-control-request-headers \
    access-control-request-method connection content-length cookie cookie2 date dnt expect host \
    keep-alive origin referer set-cookie te trailer transfer-encoding upgrade via";

/// Fetch, 3.3.3, the response headers of the protocol.
pub const CORS_RESPONSE_HEADERS: &str = "access-control-allow-origin \
    access-control-allow-credentials access-control-allow-methods access-control-allow-headers \
    access-control-max-age access-control-expose-headers";

/// Response headers that a policy cannot expose: those that no script reads (Fetch, 2.2.2), and those
/// of requests and preflights.
pub const UNEXPOSABLE_HEADERS: &str = "set-cookie set-cookie2 origin access-control-request-method \
    access-control-request-headers access-control-allow-methods access-control-allow-headers \
    access-control-max-age";

/// Fetch, 2.2.1.
pub const NORMALIZED_METHODS: [&str; 6] = ["DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT"];

/// Fetch, 2.2.1.
pub const FORBIDDEN_METHODS: [&str; 3] = ["CONNECT", "TRACE", "TRACK"];

fn is_forbidden(name: &str) -> bool {
    let name = name.to_lowercase();
    FORBIDDEN_HEADERS.split_whitespace().any(|forbidden| forbidden == name)
        || name.starts_with("proxy-")
        || name.starts_with("sec-")
}

/// Fetch, 2.2.2: CORS-safelisted request-header.
fn is_safelisted(name: &str, value: &str) -> bool {
    let is_unsafe = |byte: u8| {
        (byte < 0x20 && byte != b'\t') || b"\"():<>?@[\\]{}".contains(&byte) || byte == 0x7f
    };
    let in_language = |byte: u8| byte.is_ascii_alphanumeric() || b" *,-.;=".contains(&byte);
    let clean = !value.bytes().any(is_unsafe);
    value.len() <= 128
        && match &*name.to_lowercase() {
            "accept" => clean,
            "accept-language" | "content-language" => value.bytes().all(in_language),
            "content-type" => clean && is_form_type(value),
            "range" => is_simple_range(value),
            _ => false,
        }
}

fn is_form_type(value: &str) -> bool {
    let essence = value.split(';').next().unwrap_or_default().trim().to_lowercase();
    let forms = ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"];
    forms.contains(&&*essence)
}

/// Fetch, 2.2.2: parse a single range header value; a start is required.
fn is_simple_range(value: &str) -> bool {
    let Some((start, end)) = value.strip_prefix("bytes=").and_then(|rest| rest.split_once('-'))
    else {
        return false;
    };
    let (Ok(start), true) = (start.parse::<u64>(), is_token(start)) else { return false };
    end.is_empty() || end.parse::<u64>().is_ok_and(|end| start <= end)
}

/// Fetch, 2.2.1: normalize a method.
pub fn normalized(method: &str) -> String {
    let upper = method.to_ascii_uppercase();
    if NORMALIZED_METHODS.contains(&&*upper) { upper } else { method.to_owned() }
}

/// Whether a policy breaks no rule.
pub fn is_valid(policy: &Policy) -> bool {
    let anonymous = !policy.credentials;
    let star_or = |list: &[String], valid: &dyn Fn(&str) -> bool| {
        list.iter().all(|entry| if entry == "*" { anonymous } else { valid(entry) })
    };
    let origin = |entry: &str| {
        is_pattern(entry)
            && (anonymous || policy.allow_insecure || !is_insecure(entry))
            && (anonymous || policy.allow_public_suffix || !is_of_public_suffix(entry))
    };
    let stars = policy.origins.iter().filter(|entry| *entry == "*").count();
    !policy.origins.is_empty()
        && (stars == 0 || policy.origins.len() == 1)
        && star_or(&policy.origins, &origin)
        && star_or(policy.methods.as_deref().unwrap_or_default(), &is_method_for_pages)
        && star_or(&policy.headers, &is_header_for_pages)
        && star_or(&policy.expose, &is_exposable)
        && policy.max_age.is_none_or(|seconds| (-1..=86400).contains(&seconds))
}

/// Whether a text is valid in a list of origins.
pub fn is_pattern(text: &str) -> bool {
    let Some(parts) = Parts::parse(text) else { return false };
    if let Some((label, below)) = parts.labels.split_first()
        && let Some((front, end)) = label.split_once('*')
        && *label != "*"
    {
        // It is valid if it is valid with a character in place of the `*`, and the host can have
        // subdomains.
        let filled = format!("{front}x{end}");
        let host = [&[&*filled], below].concat();
        let with_label = Parts { labels: host, ..parts.clone() };
        let fixed = end.strip_prefix('-').is_some_and(|end| !end.is_empty());
        let is_name = !below.is_empty() && below.first() != Some(&"*") && below != [""];
        let rest = format!("{}://{}", parts.scheme, with_label.labels.join("."));
        let text_with_port = match parts.port {
            Some(port) => format!("{rest}:{port}"),
            None => rest,
        };
        return text.len() <= 326
            && fixed
            && is_name
            && !front.starts_with("xn--")
            && is_pattern(&format!("{}://*.{}", parts.scheme, below.join(".")))
            && is_pattern(&text_with_port);
    }
    let wildcard = parts.labels.first() == Some(&"*");
    let concrete =
        Parts { labels: parts.labels.iter().skip(wildcard.into()).copied().collect(), ..parts };
    let port = match (concrete.scheme, concrete.port) {
        (_, Some("*")) => None,
        ("https", Some("443")) | ("http", Some("80")) => return false,
        (_, port) => port,
    };
    let room = if wildcard { 251 } else { 253 };
    text.len() <= 326
        && concrete.scheme.len() <= 64
        && concrete.scheme != "file"
        && Parts { port, ..concrete.clone() }.is_serialized()
        && concrete.has_canonical_host(wildcard, room)
}

/// Whether an attacker on the network can, or may, change a script of a matching origin. Of schemes
/// other than those of the web, it knows only the ones that tests use.
fn is_insecure(pattern: &str) -> bool {
    let Some(parts) = Parts::parse(pattern) else { return true };
    let host = parts.labels.join(".");
    let loopback = host.trim_end_matches('.').split('.').next_back() == Some("localhost")
        || host == "[::1]"
        || host.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback());
    !(parts.scheme == "https" || (parts.scheme == "http" && loopback) || parts.scheme == "tauri")
}

/// Whether a pattern matches names of different owners; knows only the names that tests use.
fn is_of_public_suffix(pattern: &str) -> bool {
    let Some(parts) = Parts::parse(pattern) else { return false };
    let below = parts.labels.join(".");
    let in_label = || below.split_once('.').filter(|(label, _)| label.contains('*'));
    let (below, is_label) = match (below.strip_prefix("*."), in_label()) {
        (Some(below), _) => (below, false),
        (None, Some((_, below))) => (below, true),
        (None, None) => return false,
    };
    let below = below.trim_end_matches('.');
    let top_level = !below.contains('.') && below != "localhost";
    top_level || below == "co.uk" || (below == "github.io" && !is_label)
}

fn is_method_for_pages(name: &str) -> bool {
    is_token(name) && !FORBIDDEN_METHODS.contains(&&*name.to_ascii_uppercase())
}

fn is_header_for_pages(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let listed = |names: &str| names.split_whitespace().any(|forbidden| forbidden == lower);
    is_token(name) && !is_forbidden(name) && !listed(CORS_RESPONSE_HEADERS)
}

fn is_exposable(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    is_token(name) && !UNEXPOSABLE_HEADERS.split_whitespace().any(|forbidden| forbidden == lower)
}

/// Scheme, host and port of a text, split at their delimiters.
#[derive(Clone, Debug)]
struct Parts<'a> {
    scheme: &'a str,
    /// The labels of a name, the numbers of an IPv4 address, or one IPv6 address in brackets.
    labels: Vec<&'a str>,
    port: Option<&'a str>,
}

impl<'a> Parts<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let host_end = rest.rfind(']').map_or(0, |bracket| bracket + 1);
        let colon = rest.get(host_end..)?.find(':').map(|at| host_end + at);
        let (host, port) = match colon {
            Some(at) => (rest.get(..at)?, Some(rest.get(at + 1..)?)),
            None => (rest, None),
        };
        let labels = if host.starts_with('[') { vec![host] } else { host.split('.').collect() };
        Some(Self { scheme, labels, port })
    }

    /// Whether a browser could have written it (HTML, serialization of an origin).
    fn is_serialized(&self) -> bool {
        let small = |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit();
        let scheme = self.scheme.starts_with(|sign: char| sign.is_ascii_lowercase())
            && self.scheme.chars().all(|sign| small(sign) || "+-.".contains(sign));
        let host = match &*self.labels {
            [address] if address.starts_with('[') => {
                let inner = address.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
                inner.is_some_and(|inner| inner.parse::<Ipv6Addr>().is_ok())
            }
            // A name may end in a dot, which gives an empty label.
            [labels @ .., ""] if !labels.is_empty() => are_labels(labels),
            labels => are_labels(labels),
        };
        let port = self.port.is_none_or(|port| {
            port.parse::<u16>().is_ok_and(|number| number > 0 && number.to_string() == port)
        });
        scheme && host && port
    }

    /// Whether the host is in the one form that browsers send.
    fn has_canonical_host(&self, wildcard: bool, room: usize) -> bool {
        let host = self.labels.join(".");
        if let Some(inner) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let address = inner.parse::<Ipv6Addr>();
            let mapped = |address: &Ipv6Addr| address.to_ipv4_mapped().is_some();
            return !wildcard && address.is_ok_and(|one| one.to_string() == inner && !mapped(&one));
        }
        let name = host.strip_suffix('.').unwrap_or(&host);
        let last = name.rsplit('.').next().unwrap_or_default();
        if last.starts_with(|sign: char| sign.is_ascii_digit()) {
            let address = host.parse::<Ipv4Addr>();
            return !wildcard && address.is_ok_and(|one| one.to_string() == host);
        }
        let fits = |label: &str| {
            let punycode = label.strip_prefix("xn--");
            label.len() <= 63 && punycode.is_none_or(|encoded| encoded.len() > 1)
        };
        name.len() <= room && name.split('.').all(fits)
    }
}

fn are_labels(labels: &[&str]) -> bool {
    let sign =
        |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || "-_".contains(sign);
    !labels.is_empty() && labels.iter().all(|label| !label.is_empty() && label.chars().all(sign))
}
