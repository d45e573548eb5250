//! A second reading of a manifest: a naive interpreter of its JSON value, written from the
//! documentation. Except for the form of an origin it shares no code with the engine, splits texts and
//! walks through lists, and compiles nothing.

mod asked;
mod caller;
mod origins;
mod paths;
mod sharing;

use std::collections::BTreeMap;

use http::Request;
use policy_manifest::engine::RequestCredentials;
use serde_json::Value;

use self::asked::{Asked, is_safe, is_standard};

/// The present entries of the run-time lists of origins.
pub(crate) type Lists = BTreeMap<String, Vec<String>>;

/// The outcome of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// `reached`, `preflight`, `automatic`, or the code of the refusal.
    pub(crate) outcome: String,
    /// `None` where the handler decides.
    pub(crate) status: Option<u16>,
    /// The CORS headers of the response and `Vary`, sorted.
    pub(crate) cors: Vec<(String, String)>,
}

/// A request that ends before its handler: the outcome, and the CORS headers of its response.
struct End {
    outcome: &'static str,
    cors: Vec<(String, String)>,
}

/// Decides about a request.
pub(crate) fn decide(
    manifest: &Value,
    lists: &Lists,
    request: &Request<()>,
    sender: &RequestCredentials,
) -> Verdict {
    let app = App { manifest, lists };
    let request = Asked::new(request);
    let (outcome, cors) = match app.all(&request, sender) {
        Ok(route) => ("reached", app.shared(route, &request)),
        Err(End { outcome, cors }) => (outcome, cors),
    };
    let status = match outcome {
        "automatic" if request.method == "TRACE" => Some(200),
        "reached" => None,
        "preflight" | "automatic" => Some(204),
        "redirect" => Some(308),
        code => Some(status_of(code)),
    };
    let outcome = if outcome == "redirect" { "automatic" } else { outcome };
    Verdict { outcome: outcome.to_owned(), status, cors }
}

/// The status of a refusal, from the list of codes in the documentation.
fn status_of(code: &str) -> u16 {
    match code {
        "auth.authorization-malformed"
        | "cookie.request-too-large"
        | "jsonp.callback-invalid"
        | "request.content-range"
        | "wire.connection-field"
        | "wire.content-length-malformed"
        | "wire.host-malformed"
        | "wire.host-missing"
        | "wire.host-repeated"
        | "wire.path-dot-segment"
        | "wire.path-empty-segment"
        | "wire.path-encoded-slash"
        | "wire.path-encoding"
        | "wire.scheme-unknown"
        | "wire.target-form"
        | "wire.transfer-encoding-malformed" => 400,
        "auth.credential-invalid"
        | "auth.credentials-missing"
        | "auth.login-too-old"
        | "auth.ticket-invalid"
        | "auth.token-expired"
        | "auth.token-invalid" => 401,
        "auth.rights-missing"
        | "cors.origin-not-granted"
        | "cors.preflight-origin-repeated"
        | "cors.request-method-malformed"
        | "cors.websocket-origin-not-granted"
        | "csrf.origin"
        | "csrf.token"
        | "isolation.cross-site"
        | "tunnel.origin" => 403,
        "route.not-found" => 404,
        "route.method-not-allowed" => 405,
        "tunnel.credentials" => 407,
        "request.body-too-large" => 413,
        "request.media-type" => 415,
        "wire.expectation-unknown" => 417,
        "origin.forwarded-in-development" | "origin.host-not-loopback" | "origin.host-unknown" => {
            421
        }
        "wire.too-early" => 425,
        "route.method-unknown" | "route.protocol-unknown" | "wire.transfer-coding" => 501,
        "auth.credentials-unchecked" => 503,
        other => panic!("no documentation lists `{other}`"),
    }
}

/// An app as its manifest states it.
struct App<'a> {
    manifest: &'a Value,
    lists: &'a Lists,
}

/// A route, by its number in the manifest.
#[derive(Clone, Copy)]
struct Route<'a> {
    index: usize,
    value: &'a Value,
}

impl<'a> Route<'a> {
    fn is(self, kind: &str) -> bool {
        self.value["kind"].as_str().unwrap_or("handler") == kind
    }

    /// A mount or a proxy, which also serves every path below its own.
    fn is_prefix(self) -> bool {
        self.is("mount") || self.is("proxy")
    }

    fn path(self) -> &'a str {
        self.value["path"].as_str().expect("a path")
    }

    fn methods(self) -> Vec<String> {
        texts(&self.value["methods"])
    }

    /// The templates of the paths that it serves.
    fn templates(self) -> Vec<String> {
        let path = self.path();
        let rest = if self.says("takes_slashes") { "{*path:slashes}" } else { "{*path}" };
        match self.is_prefix() {
            true => vec![path.to_owned(), format!("{path}/"), format!("{path}/{rest}")],
            false => vec![path.to_owned()],
        }
    }

    /// Whether it is in the table of paths.
    fn has_path(self) -> bool {
        !["tunnel", "fallback", "not_found"].iter().any(|kind| self.is(kind))
    }

    fn says(self, name: &str) -> bool {
        self.value[name] == true
    }

    /// What is required of its callers; `None` if it is public.
    fn required(self) -> Option<&'a Value> {
        self.value["auth"].get("required")
    }

    /// `token`, `origin_else_token`, `origin` or `exempt`.
    fn csrf(self) -> &'a str {
        let csrf = &self.value["csrf"];
        if csrf.get("exempt").is_some() { "exempt" } else { csrf.as_str().unwrap_or("token") }
    }
}

/// The result of looking up a path.
struct Found<'a> {
    /// The routes of the path, by their methods.
    methods: BTreeMap<String, Route<'a>>,
    /// The templates that matched, by the number of the route.
    takes_slashes: BTreeMap<usize, bool>,
}

impl<'a> Found<'a> {
    fn route(&self, method: &str) -> Option<Route<'a>> {
        let own = self.methods.get(method);
        let of_get = self.methods.get("GET").filter(|_| method == "HEAD");
        own.or(of_get).copied()
    }

    /// The route that responds for the whole path: one with CORS first, then one with a safe
    /// method.
    fn first(&self) -> Option<Route<'a>> {
        let of = |is_shared: bool, is_safe: bool| {
            self.methods.iter().find(|(method, route)| {
                let reads = ["GET", "HEAD", "OPTIONS", "QUERY", "TRACE"].contains(&method.as_str());
                route.value.get("cors").is_some() == is_shared && reads == is_safe
            })
        };
        let kinds = [(true, true), (true, false), (false, true), (false, false)];
        kinds
            .into_iter()
            .find_map(|(is_shared, is_safe)| of(is_shared, is_safe))
            .map(|(_, route)| *route)
    }
}

impl<'a> App<'a> {
    fn routes(&self) -> Vec<Route<'a>> {
        let routes = self.manifest["routes"].as_array().expect("routes");
        routes.iter().enumerate().map(|(index, value)| Route { index, value }).collect()
    }

    fn route_of_kind(&self, kind: &str) -> Option<Route<'a>> {
        self.routes().into_iter().find(|route| route.is(kind))
    }

    fn fact(&self, name: &str) -> Option<&'a Value> {
        self.manifest["app"].get(name)
    }

    /// The most specific template that matches a path, and its routes.
    fn find(&self, path: &str) -> Option<Found<'a>> {
        let (mut all, key) = (Vec::new(), paths::key(path));
        for route in self.routes().into_iter().filter(|route| route.has_path()) {
            for template in route.templates() {
                let takes_rest = template.contains("{*");
                let (template, key) = match self.merges_slashes() && !takes_rest {
                    true => (without_slash(&template), without_slash(&key)),
                    false => (&*template, &*key),
                };
                all.extend(paths::match_template(template, key).map(|found| (route, found)));
            }
        }
        let best = all.iter().map(|(_, found)| found.rank.clone()).min()?;
        all.retain(|(_, found)| found.rank == best);
        let takes_slashes =
            all.iter().map(|(route, found)| (route.index, found.takes_slashes)).collect();
        let methods = all
            .iter()
            .flat_map(|(route, _)| route.methods().into_iter().map(|method| (method, *route)));
        Some(Found { methods: methods.collect(), takes_slashes })
    }

    /// The gates, in the order of the documentation.
    fn all(&self, request: &Asked, sender: &RequestCredentials) -> Result<Route<'a>, End> {
        let bare = |outcome| End { outcome, cors: Vec::new() };
        let tunnel = self.route_of_kind("tunnel").filter(|_| request.is_tunnel());
        let (path, hides_slash) = wire(request, tunnel.is_some()).map_err(bare)?;
        if let Some(tunnel) = tunnel {
            return self.tunnel(tunnel, request, sender).map_err(bare);
        }
        self.own_host(request, &path).map_err(bare)?;
        let route = self.route(request, &path, hides_slash)?;
        self.gates(route, request, sender)
            .map_err(|outcome| End { outcome, cors: self.shared(route, request) })?;
        Ok(route)
    }

    /// Pages cannot send CONNECT. A proxy reads its credential from a separate field.
    fn tunnel(
        &self,
        route: Route<'a>,
        request: &Asked,
        sender: &RequestCredentials,
    ) -> Result<Route<'a>, &'static str> {
        if request.has("origin") {
            return Err("tunnel.origin");
        }
        match self.gates(route, &request.to_proxy(), sender) {
            Ok(()) => Ok(route),
            Err(code) if status_of(code) == 401 => Err("tunnel.credentials"),
            Err(code) => Err(code),
        }
    }

    /// Whether the request is for this server. Health probes may name any host.
    fn own_host(&self, request: &Asked, path: &str) -> Result<(), &'static str> {
        let Err(refusal) = self.named_host(request) else { return Ok(()) };
        let is_forbidden = match refusal {
            "wire.host-repeated" => true,
            "wire.host-missing" => request.is_http1_1,
            _ => false,
        };
        let probe = self.find(path).and_then(|found| found.route(&request.method));
        let is_probe = probe.is_some_and(|route| route.is("probe"));
        if is_probe && !is_forbidden { Ok(()) } else { Err(refusal) }
    }

    fn named_host(&self, request: &Asked) -> Result<(), &'static str> {
        let host = request.host()?;
        let own = self.fact("public_origin").map(|own| own.as_str().expect("an origin"));
        let refusal = match own.and_then(|own| own.strip_prefix("https://")) {
            Some(own) if host.eq_ignore_ascii_case(own) => return Ok(()),
            Some(own) => {
                let (name, port) = host_and_port(&host)?;
                if port == Some(443) && name.eq_ignore_ascii_case(own) {
                    return Ok(());
                }
                "origin.host-unknown"
            }
            None => {
                let (name, _) = host_and_port(&host)?;
                let is_forwarded = request
                    .names()
                    .any(|name| name == "forwarded" || name.starts_with("x-forwarded-"));
                // Which peers are trusted proxies is a fact of the connection.
                match (is_forwarded && self.fact("proxies").is_none(), is_this_machine(name)) {
                    (true, _) => "origin.forwarded-in-development",
                    (false, true) => return Ok(()),
                    (false, false) => "origin.host-not-loopback",
                }
            }
        };
        Err(refusal)
    }

    /// The route of a request. What ends here carries the policy of the path.
    fn route(&self, request: &Asked, path: &str, hides_slash: bool) -> Result<Route<'a>, End> {
        let automatic = |cors| End { outcome: "automatic", cors };
        if request.path == "*" || (request.method == "TRACE" && self.serves_trace()) {
            return Err(automatic(Vec::new()));
        }
        if request.protocol.as_ref().is_some_and(|protocol| protocol != "websocket") {
            return Err(End { outcome: "route.protocol-unknown", cors: Vec::new() });
        }
        let Some(found) = self.find(path) else { return self.elsewhere(request, hides_slash) };
        if request.is_preflight() {
            return Err(self.preflight(&found, request));
        }
        if self.redirects(&found, path) {
            let route = found.route(request.found_by()).or(found.first());
            let cors = route.map(|route| self.shared(route, request)).unwrap_or_default();
            return Err(End {
                outcome: if is_safe(&request.method) { "redirect" } else { "route.not-found" },
                cors,
            });
        }
        let method = request.found_by();
        let Some(route) = found.route(method).filter(|route| !is_last_hop(*route, request)) else {
            let cors = found.first().map(|route| self.shared(route, request)).unwrap_or_default();
            return Err(match request.method.as_str() {
                "OPTIONS" => automatic(cors),
                _ if self.knows(&request.method) => {
                    End { outcome: "route.method-not-allowed", cors }
                }
                _ => End { outcome: "route.method-unknown", cors },
            });
        };
        let takes_slashes = found.takes_slashes[&route.index]
            && !(takes_rest(route) && self.hides_other(path, method, route));
        if hides_slash && !takes_slashes {
            let cors = self.shared(route, request);
            return Err(End { outcome: "wire.path-encoded-slash", cors });
        }
        Ok(route)
    }

    /// A path without a route.
    fn elsewhere(&self, request: &Asked, hides_slash: bool) -> Result<Route<'a>, End> {
        let fallback = self.route_of_kind("fallback");
        let route = fallback.or(self.route_of_kind("not_found"));
        let cors = route.map(|route| self.shared(route, request)).unwrap_or_default();
        let end = |outcome| End { outcome, cors: cors.clone() };
        let shared = route.filter(|_| fallback.is_none()).and_then(|route| route.value.get("cors"));
        if request.is_preflight()
            && let Some(cors) = shared
            && let Some(method) = sharing::unserved_method(cors, request)
        {
            return Err(self.unserved(cors, method, request));
        }
        if request.is_preflight() {
            let is_refused = route.is_some_and(|route| self.refuses_origin(route, request));
            return Err(end(match is_refused {
                true => "cors.origin-not-granted",
                false => "route.not-found",
            }));
        }
        match fallback {
            _ if hides_slash => Err(end("wire.path-encoded-slash")),
            Some(fallback) => Ok(fallback),
            None if self.knows(&request.method) => Err(end("route.not-found")),
            None => Err(end("route.method-unknown")),
        }
    }

    /// Whether two paths that differ only in the trailing slash are the same path.
    fn merges_slashes(&self) -> bool {
        self.fact("trailing_slash").is_some_and(|stated| *stated != "strict")
    }

    /// Whether a path is redirected, since its routes have the other spelling. A mount has both.
    fn redirects(&self, found: &Found<'_>, path: &str) -> bool {
        let redirects = self.fact("trailing_slash").is_some_and(|stated| *stated == "redirect");
        let has_slash = |route: &Route<'_>| route.path().ends_with('/');
        let mut routes = found.methods.values();
        redirects
            && routes.all(|route| {
                !route.is_prefix()
                    && !route.path().contains("{*")
                    && has_slash(route) != path.ends_with('/')
            })
    }

    fn serves_trace(&self) -> bool {
        self.fact("trace").is_some_and(|trace| *trace == true)
    }

    /// Whether a standard or a route knows the method.
    fn knows(&self, method: &str) -> bool {
        let serves =
            |route: &Route<'_>| route.has_path() && route.methods().iter().any(|own| own == method);
        is_standard(method) || self.routes().iter().any(serves)
    }

    /// Whether the path, read without encoded slashes, is that of another route.
    fn hides_other(&self, path: &str, method: &str, route: Route<'_>) -> bool {
        let other = self.find(&paths::unhidden(path));
        other
            .is_some_and(|found| found.route(method).is_none_or(|other| other.index != route.index))
    }

    /// The checks of a route: gates 4 to 11, for requests that are no preflights.
    fn gates(
        &self,
        route: Route<'a>,
        request: &Asked,
        sender: &RequestCredentials,
    ) -> Result<(), &'static str> {
        let is_granted = self.grants(route, request);
        let is_own = request.once("origin").is_some_and(|origin| self.is_own(request, origin));
        let is_tunnel = route.is("tunnel");
        // The credentials of a WebSocket reach a service, which may know them.
        let is_lent = !route.is("handler") && caller::has_ambient(request);
        let may_open = is_own || self.trusts(route, request) || (is_granted && !is_lent);
        if request.is_upgrade() && !is_tunnel && request.has("origin") && !may_open {
            return Err("cors.websocket-origin-not-granted");
        }
        let takes_rate = !route.value["limits"]["rate"].is_null();
        let may_be_replayed =
            is_safe(&request.method) && !self.may_ask_caller(route) && !takes_rate;
        if request.has("early-data") && !may_be_replayed {
            return Err("wire.too-early");
        }
        let may_load = is_granted || route.value.get("jsonp").is_some();
        isolated(route, request, may_load, is_own)?;
        body(route, request)?;
        caller::check(self, route, request, sender)?;
        target(route, request)?;
        caller::session_of_handler(self, route, request, sender)
    }

    /// Whether the route may need its caller: because of its policy, or because a service may ask.
    fn may_ask_caller(&self, route: Route<'_>) -> bool {
        let knows_callers = self.fact("sessions").is_some() || self.fact("tokens").is_some();
        let may_extract = route.is("mount") || route.is("fallback") || route.says("takes_session");
        route.required().is_some() || (may_extract && knows_callers)
    }

    /// Whether an origin is the server's own: in development, the requested host.
    fn is_own(&self, request: &Asked, origin: &[u8]) -> bool {
        match self.fact("public_origin") {
            Some(own) => own.as_str().is_some_and(|own| own.as_bytes() == origin),
            None => request.host().is_ok_and(|host| format!("http://{host}").as_bytes() == origin),
        }
    }
}

/// The common form of both spellings of a path or template.
fn without_slash(path: &str) -> &str {
    if path.len() > 1 { path.strip_suffix('/').unwrap_or(path) } else { path }
}

/// Gate 1. Returns the path in its normal form, and whether a segment has an encoded slash.
fn wire(request: &Asked, is_tunnel: bool) -> Result<(String, bool), &'static str> {
    let of_connection =
        ["connection", "upgrade", "transfer-encoding", "keep-alive", "proxy-connection"];
    if request.is_http2 {
        let is_te = request.lines("te").iter().any(|value| *value != b"trailers");
        if is_te || of_connection.iter().any(|name| request.has(name)) {
            return Err("wire.connection-field");
        }
    }
    if request.is_other("transfer-encoding", |coding| coding.eq_ignore_ascii_case("chunked")) {
        let codings = request.lines("transfer-encoding");
        let in_one = String::from_utf8_lossy(codings[0]).to_lowercase();
        let chunked = in_one.split(',').filter(|coding| coding.trim() == "chunked").count();
        return Err(match codings.len() > 1 || chunked > 1 {
            true => "wire.transfer-encoding-malformed",
            false => "wire.transfer-coding",
        });
    }
    let is_length =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u64>().is_ok();
    if request.is_other("content-length", is_length) {
        return Err("wire.content-length-malformed");
    }
    if request.is_other("expect", |text| text.eq_ignore_ascii_case("100-continue")) {
        return Err("wire.expectation-unknown");
    }
    if is_tunnel {
        return request.host().map(|_host| (String::new(), false));
    }
    if let Some(scheme) = &request.scheme
        && !["http", "https"].contains(&scheme.to_lowercase().as_str())
    {
        return Err("wire.scheme-unknown");
    }
    match request.path.as_str() {
        "*" if request.method == "OPTIONS" => Ok((String::new(), false)),
        path if !path.starts_with('/') => Err("wire.target-form"),
        _ if request.method == "CONNECT" && request.scheme.is_none() => Err("wire.target-form"),
        path => paths::normalized(path),
    }
}

/// Name and port of a `Host`.
fn host_and_port(host: &str) -> Result<(&str, Option<u16>), &'static str> {
    let malformed = "wire.host-malformed";
    let end = match host.starts_with('[') {
        true => host.find(']').ok_or(malformed)? + 1,
        false => host.find(':').unwrap_or(host.len()),
    };
    let (name, port) = host.split_at(end);
    let inner = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    let is_sign = |sign: char| sign.is_ascii_alphanumeric() || "-._".contains(sign);
    let is_name = match inner {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => !name.is_empty() && name.chars().all(is_sign),
    };
    if !is_name {
        return Err(malformed);
    }
    if port.is_empty() {
        return Ok((name, None));
    }
    let digits = port.strip_prefix(':').unwrap_or("x");
    let is_number = !digits.is_empty() && digits.chars().all(|digit| digit.is_ascii_digit());
    match digits.parse::<u16>() {
        Ok(number) if is_number => Ok((name, Some(number))),
        _ => Err(malformed),
    }
}

/// `localhost` and names below it, 127.0.0.0/8 and ::1.
fn is_this_machine(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let labels: Vec<&str> = name.strip_suffix('.').unwrap_or(&name).split('.').collect();
    let is_four = name.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.is_loopback());
    labels.last() == Some(&"localhost") || is_four || name == "[::1]"
}

/// RFC 9110 7.6.2: an OPTIONS that a proxy must not forward.
fn is_last_hop(route: Route<'_>, request: &Asked) -> bool {
    let hops = request.once("max-forwards").and_then(|value| str::from_utf8(value).ok());
    let is_zero = |text: &str| !text.is_empty() && text.chars().all(|digit| digit == '0');
    route.is("proxy") && request.method == "OPTIONS" && hops.is_some_and(is_zero)
}

/// Whether a parameter of the route takes more than one segment.
fn takes_rest(route: Route<'_>) -> bool {
    route.is_prefix() || route.path().contains("{*")
}

/// Which pages may load the response, by Fetch Metadata.
fn isolated(
    route: Route<'_>,
    request: &Asked,
    may_load: bool,
    is_own: bool,
) -> Result<(), &'static str> {
    let Some(isolation) = route.value.get("isolation") else { return Ok(()) };
    let mode = request.lines("sec-fetch-mode");
    // A redirected request from a page of another site, whose `same-origin` is not true.
    let is_tainted =
        request.once("origin") == Some(b"null") && (mode.len() > 1 || mode == [b"cors"]);
    let is_link = mode == [b"navigate"]
        && request.lines("sec-fetch-dest") == [b"document"]
        && ["GET", "HEAD"].contains(&request.method.as_str());
    let sites: Vec<_> =
        request.lines("sec-fetch-site").into_iter().map(String::from_utf8_lossy).collect();
    let is_admitted = match sites.iter().map(AsRef::as_ref).collect::<Vec<&str>>()[..] {
        [] => !request.has("origin") || may_load || is_own,
        ["none"] => true,
        ["same-origin"] => !is_tainted || may_load || is_link,
        ["same-site"] => *isolation == "same-site" || may_load || is_link,
        ["cross-site"] => may_load || is_link,
        _ => false,
    };
    if is_admitted { Ok(()) } else { Err("isolation.cross-site") }
}

/// The body as the head declares it.
fn body(route: Route<'_>, request: &Asked) -> Result<(), &'static str> {
    let length = request.once("content-length").map(|value| String::from_utf8_lossy(value));
    let length = length.and_then(|text| text.parse::<u64>().ok());
    let most = route.value["limits"]["body"].as_u64();
    if length.zip(most).is_some_and(|(length, most)| length > most) {
        return Err("request.body-too-large");
    }
    if request.method == "PUT" && route.is("handler") && request.has("content-range") {
        return Err("request.content-range");
    }
    Ok(())
}

/// Whether the handler can accept the request.
fn target(route: Route<'_>, request: &Asked) -> Result<(), &'static str> {
    if request.method == "QUERY" && route.is("handler") && !request.has("content-type") {
        return Err("request.media-type");
    }
    match route.value.get("jsonp") {
        Some(jsonp) => callback(jsonp, &request.query),
        None => Ok(()),
    }
}

/// The function that a script calls, if the query names one.
fn callback(jsonp: &Value, query: &str) -> Result<(), &'static str> {
    const SOME_RESERVED: &str = "arguments await break case catch class const continue debugger \
        default delete do else enum eval export extends false finally for function if implements \
        import in instanceof interface let new null package private protected public return static \
        super switch this throw true try typeof var void while with yield";
    let text = |coded: &str| {
        let bytes = paths::decoded(coded)?.into_iter().map(|(byte, _)| byte).collect();
        String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
    };
    let mut values = Vec::new();
    for pair in query.split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if text(name).as_deref() == jsonp["callback"].as_str() {
            values.push(text(value));
        }
    }
    let is_word = |word: &str| {
        let is_first = |sign: char| sign.is_ascii_alphabetic() || sign == '_' || sign == '$';
        word.starts_with(is_first)
            && word.chars().all(|sign| is_first(sign) || sign.is_ascii_digit())
            && !SOME_RESERVED.split_whitespace().any(|reserved| reserved == word)
    };
    let most = if jsonp["dotted"] == true { 3 } else { 1 };
    let is_name = |name: &str| {
        let words: Vec<&str> = name.split('.').collect();
        name.len() <= 64 && words.len() <= most && words.into_iter().all(is_word)
    };
    match &values[..] {
        [] => Ok(()),
        [Some(name)] if is_name(name) => Ok(()),
        _ => Err("jsonp.callback-invalid"),
    }
}

/// The texts of a list; none if there is no list.
fn texts(list: &Value) -> Vec<String> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().map(|text| text.as_str().expect("a text").to_owned()).collect()
}
