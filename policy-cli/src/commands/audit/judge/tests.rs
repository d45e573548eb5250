//! A network that changes nothing has no findings, and each change has its own.

mod static_files;

use std::collections::BTreeSet;

use http::{HeaderName, HeaderValue, Method, header};
use policy_manifest::{
    Auth, Cache, Headers, Manifest, ManifestRoute, RouteCors, RouteKind, RouteOrigins,
    RouteRequirement, SessionFacts, TokenFacts, engine::Outcome,
};

use super::*;
use crate::commands::audit::plan::{Options, PathForm, plan, tests::options};

const APP: &str = "https://app.shop.example";

fn shop() -> Manifest {
    let mut manifest = Manifest::new();
    manifest.app.public_origin = Some("https://api.shop.example".to_owned());
    manifest.app.sessions = Some(SessionFacts::new("memory", "__Host-sid", "lax"));
    let mut tokens = TokenFacts::default();
    tokens.issuer = Some("https://api.shop.example".to_owned());
    manifest.app.tokens = Some(tokens);
    let mut fields = Headers::default();
    for (name, value) in
        [("x-content-type-options", "nosniff"), ("strict-transport-security", "max-age=60")]
    {
        fields.every.insert(name.to_owned(), value.to_owned());
    }
    fields.pages.insert(
        "content-security-policy".to_owned(),
        "script-src 'nonce'; frame-ancestors 'self'".to_owned(),
    );
    let headers = manifest.add_headers(fields);
    let cors = RouteCors {
        credentials: true,
        expose: vec!["x-total".to_owned()],
        max_age: Some(600),
        ..RouteCors::new(RouteOrigins::Listed(vec![APP.to_owned()]))
    };
    let mut prices = ManifestRoute::handler("/prices", ["GET"], Auth::Public);
    prices.cors = Some(cors);
    let mut kept = Cache::default();
    (kept.audience, kept.max_age) = (policy_core::cache::Audience::Public, Some(60));
    prices.cache = Some(kept);
    let token = Auth::Required(RouteRequirement { token: true, ..RouteRequirement::default() });
    let orders = ManifestRoute::handler("/orders/{id}", ["GET", "PUT"], token);
    let mut page = ManifestRoute::handler("/page", ["GET"], Auth::Public);
    page.isolation = Some(policy_core::isolation::Isolation::SameOrigin);
    let missing = ManifestRoute::new(RouteKind::NotFound, "*", [""; 0], Auth::Public);
    for mut route in [prices, orders, page, missing] {
        route.headers = Some(headers.clone());
        manifest.routes.push(route);
    }
    manifest.normal()
}

/// The trials of a manifest with the responses of the app to them.
fn exchanges(manifest: &Manifest, engine: &Engine) -> Vec<(Trial, Vec<Exchange>)> {
    let options = Options { has_token: true, sends_unsafe_methods: true, ..options() };
    let trials = plan(manifest, engine, &options).trials.into_iter();
    let mut count = 0;
    trials
        .map(|trial| {
            let exchanges = trial.probes.iter().map(|probe| {
                count += 1;
                app(engine, probe, count)
            });
            let exchanges = exchanges.collect();
            (trial, exchanges)
        })
        .collect()
}

/// The response of the app of [`shop`], written out.
fn app(engine: &Engine, probe: &Probe, count: usize) -> Exchange {
    let mut request = probe.request.clone();
    // A proxy replaces the forwarding headers of its client.
    for name in ["x-forwarded-proto", "x-forwarded-for", "x-forwarded-host", "forwarded"] {
        request.headers_mut().remove(name);
    }
    let decision = engine.decide(&request, &probe.caller);
    let mut response = Response { headers: decision.cors.clone(), ..Response::default() };
    let mut set = |name: HeaderName, value: &str| {
        response.headers.insert(name, HeaderValue::from_str(value).unwrap());
    };
    let path = request.uri().path().to_owned();
    let allow = match path.starts_with("/orders") {
        true => "GET, HEAD, OPTIONS, PUT",
        false => "GET, HEAD, OPTIONS",
    };
    let is_declared = engine.route(&decision).is_some_and(|route| route.cache.is_some());
    response.status = decision.status.unwrap_or(200);
    if decision.outcome != Outcome::PreflightGranted {
        set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
        set(header::STRICT_TRANSPORT_SECURITY, "max-age=60");
    }
    match decision.outcome {
        Outcome::Reached if path == "/page" => {
            set(header::CONTENT_TYPE, "text/html");
            let csp = format!("script-src 'nonce-{count}'; frame-ancestors 'self'");
            set(header::CONTENT_SECURITY_POLICY, &csp);
            set(
                header::SET_COOKIE,
                &format!("__Host-sid={count}; Path=/; HttpOnly; Secure; SameSite=Lax"),
            );
        }
        Outcome::Reached if path == "/prices" => {
            set(header::CACHE_CONTROL, "public, max-age=60");
            set(header::ETAG, "\"1\"");
        }
        Outcome::Reached => set(header::CACHE_CONTROL, "private, no-cache"),
        Outcome::Automatic => set(header::ALLOW, allow),
        Outcome::PreflightGranted => (),
        Outcome::Refused(refusal) => {
            set(header::CONTENT_TYPE, "application/problem+json");
            if refusal.status() == 405 {
                set(header::ALLOW, allow);
            }
            if matches!(refusal.status(), 401 | 403) {
                set(header::CACHE_CONTROL, "no-store");
            }
            response.body = format!("{{\"code\":\"{}\"}}", refusal.code()).into_bytes();
        }
    }
    if is_declared && matches!(decision.outcome, Outcome::Automatic | Outcome::Refused(_)) {
        response.headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    let mut vary: Vec<_> = response.headers.get(header::VARY).cloned().into_iter().collect();
    if path == "/page" && decision.outcome != Outcome::PreflightGranted && decision.route.is_some()
    {
        vary = vec![HeaderValue::from_static(
            "Sec-Fetch-Site, sec-fetch-mode, sec-fetch-dest, origin",
        )];
    }
    if decision.refusal().is_some() {
        vary.push(HeaderValue::from_static("accept"));
    }
    response.headers.remove(header::VARY);
    for line in vary {
        response.headers.append(header::VARY, line);
    }
    if request.method() == Method::HEAD {
        response.body.clear();
    }
    Exchange { request: probe.request.clone(), response }
}

/// The codes of the findings about an app if a network changes exchanges.
fn codes(
    manifest: &Manifest,
    change: impl Fn(&Trial, usize, &mut Exchange),
) -> BTreeSet<&'static str> {
    let engine = Engine::new(manifest).unwrap();
    let mut codes = BTreeSet::new();
    for (trial, mut exchanges) in exchanges(manifest, &engine) {
        for (index, exchange) in exchanges.iter_mut().enumerate() {
            change(&trial, index, exchange);
        }
        let found = judge(manifest, &engine, &trial, &exchanges);
        codes.extend(found.iter().map(|finding| finding.code.code()));
    }
    codes
}

fn set(exchange: &mut Exchange, name: HeaderName, value: &'static str) {
    exchange.response.headers.insert(name, HeaderValue::from_static(value));
}

fn finds(codes: &[&'static str], change: impl Fn(&Trial, usize, &mut Exchange)) {
    assert_eq!(self::codes(&shop(), change), codes.iter().copied().collect::<BTreeSet<_>>());
}

#[test]
fn a_network_that_changes_nothing_has_no_findings() {
    finds(&[], |_, _, _| ());
}

#[test]
fn inconclusive_responses_are_no_findings() {
    for status in [429, 502] {
        finds(&[], |_, _, exchange| {
            exchange.response = Response { status, ..Response::default() };
        });
    }
    // A proxy may add headers of its own, and names in another case.
    finds(&[], |_, _, exchange| {
        set(exchange, header::SERVER, "proxy");
        set(exchange, header::DATE, "now");
        if let Some(allow) = exchange.response.headers.get_mut(header::ALLOW) {
            let text = allow.to_str().unwrap().to_lowercase();
            *allow = HeaderValue::from_str(&text).unwrap();
        }
    });
}

#[test]
fn plain_http_is_redirected_to_the_own_origin_or_refused() {
    let manifest = shop();
    let engine = Engine::new(&manifest).unwrap();
    let (baseline, mut sent) = exchanges(&manifest, &engine).remove(0);
    let trial = Trial { purpose: Purpose::PlainHttp, ..baseline };
    for (status, location, is_found) in [
        (301, "https://api.shop.example", false),
        (308, "https://api.shop.example/orders", false),
        (301, "https://api.shop.example.evil.example/", true),
        (301, "http://api.shop.example/", true),
        (200, "", true),
        (403, "", false),
        (503, "", false),
    ] {
        sent[0].response = Response { status, ..Response::default() };
        set(&mut sent[0], header::LOCATION, location);
        let found = judge(&manifest, &engine, &trial, &sent);
        assert_eq!(!found.is_empty(), is_found, "{status} {location}: {found:?}");
    }
}

#[test]
fn a_header_that_is_missing_is_found() {
    for (name, code) in [
        (header::VARY, "audit.vary-missing"),
        (header::X_CONTENT_TYPE_OPTIONS, "audit.security-header-missing"),
        (header::CONTENT_SECURITY_POLICY, "audit.security-header-missing"),
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, "audit.cors-missing"),
        (header::ACCESS_CONTROL_ALLOW_CREDENTIALS, "audit.cors-changed"),
        (header::ACCESS_CONTROL_EXPOSE_HEADERS, "audit.cors-changed"),
        (header::CACHE_CONTROL, "audit.cache-control-changed"),
    ] {
        finds(&[code], |_, _, exchange| {
            exchange.response.headers.remove(&name);
        });
    }
}

#[test]
fn a_header_that_is_there_twice_is_found() {
    for (name, codes) in [
        (header::X_CONTENT_TYPE_OPTIONS, &["audit.security-header-duplicated"][..]),
        (header::CACHE_CONTROL, &["audit.cache-control-changed"]),
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, &["audit.cors-duplicated"]),
    ] {
        finds(codes, |_, _, exchange| {
            if let Some(value) = exchange.response.headers.get(&name).cloned() {
                exchange.response.headers.append(&name, value);
            }
        });
    }
}

#[test]
fn a_header_with_another_value_is_found() {
    for (name, value, codes) in [
        (header::X_CONTENT_TYPE_OPTIONS, "sniff", &["audit.security-header-changed"][..]),
        (header::ACCESS_CONTROL_MAX_AGE, "86400", &["audit.cors-changed"]),
        (header::CACHE_CONTROL, "public, max-age=600", &["audit.cache-control-changed"]),
        (header::CACHE_CONTROL, "max-age=60, s-maxage=61", &["audit.cache-control-changed"]),
        (header::ALLOW, "GET", &["audit.allow-changed"]),
        (
            header::SET_COOKIE,
            "__Host-sid=1; Path=/; Secure; SameSite=Lax",
            &["audit.set-cookie-changed", "audit.cache-shares-users"],
        ),
    ] {
        finds(codes, |_, _, exchange| {
            let is_there = exchange.response.headers.contains_key(&name);
            if is_there {
                set(exchange, name.clone(), value);
            }
        });
    }
}

#[test]
fn a_cache_control_that_lets_caches_do_more_is_found_and_a_stricter_one_is_not() {
    let changed = &["audit.cache-control-changed"][..];
    for (value, codes) in [
        ("public", changed),
        ("public, max-age=60, stale-while-revalidate=60", changed),
        ("public, max-age=60, stale-if-error=60", changed),
        ("public, max-age=18446744073709551616", changed),
        ("private, max-age=30", &[]),
    ] {
        finds(codes, |_, _, exchange| {
            let kept = exchange.response.headers.get(header::CACHE_CONTROL);
            if kept.is_some_and(|kept| kept == "public, max-age=60") {
                set(exchange, header::CACHE_CONTROL, value);
            }
        });
    }
}

/// A browser keeps them for two accounts.
#[test]
fn responses_to_tokens_that_are_kept_need_vary() {
    let mut manifest = shop();
    for route in manifest.routes.iter_mut().filter(|route| route.path.starts_with("/orders")) {
        let mut kept = Cache::default();
        (kept.audience, kept.max_age) = (policy_core::cache::Audience::Private, Some(60));
        route.cache = Some(kept);
    }
    for (cache_control, vary, expected) in [
        ("private, max-age=60", "", &["audit.vary-missing"][..]),
        ("private, max-age=60", "authorization", &[]),
        ("private, no-cache", "", &[]),
    ] {
        let found = codes(&manifest, |_, _, exchange| {
            let kept = exchange.response.headers.get(header::CACHE_CONTROL);
            if kept.is_some_and(|kept| kept == "private, no-cache")
                && exchange.request.uri().path().starts_with("/orders")
            {
                set(exchange, header::CACHE_CONTROL, cache_control);
                set(exchange, header::VARY, vary);
            }
        });
        let expected: BTreeSet<_> = expected.iter().copied().collect();
        assert_eq!(found, expected, "{cache_control} {vary}");
    }
}

#[test]
fn distinguishes_any_origin_and_a_reflected_origin() {
    let is_stranger = |exchange: &Exchange| {
        let origin = exchange.request.headers().get(header::ORIGIN);
        origin.is_some_and(|origin| origin == "https://policy-audit.invalid")
            && exchange.request.method() == Method::GET
    };
    finds(&["audit.cors-any-origin"], |_, _, exchange| {
        if is_stranger(exchange) {
            set(exchange, header::ACCESS_CONTROL_ALLOW_ORIGIN, "*");
        }
    });
    finds(&["audit.cors-origin-reflected"], |_, _, exchange| {
        if is_stranger(exchange) {
            set(exchange, header::ACCESS_CONTROL_ALLOW_ORIGIN, "https://policy-audit.invalid");
        }
    });
    // The client gets the response to the previous page.
    finds(&["audit.cache-shares-origins"], |trial, _, exchange| {
        if is_stranger(exchange) && trial.route == "GET /prices" {
            set(exchange, header::ACCESS_CONTROL_ALLOW_ORIGIN, APP);
        }
    });
}

#[test]
fn finds_responses_that_the_app_did_not_send() {
    let page = |status| Response { status, body: b"<p>sorry".to_vec(), ..Response::default() };
    for (purpose, status, code) in [
        (Purpose::Options, 200, "audit.options-answered-elsewhere"),
        (Purpose::Preflight, 200, "audit.preflight-answered-elsewhere"),
        (Purpose::Baseline, 404, "audit.error-replaced"),
        (Purpose::Baseline, 200, "audit.answered-elsewhere"),
        (Purpose::Baseline, 301, "audit.redirected"),
        (Purpose::Method, 400, "audit.method-blocked"),
        (Purpose::Trace, 200, "audit.trace-served"),
    ] {
        finds(&[code], |trial, _, exchange| {
            if trial.purpose == purpose {
                exchange.response = page(status);
            }
        });
    }
    finds(&["audit.origin-dropped"], |trial, _, exchange| {
        if trial.purpose == Purpose::Preflight {
            exchange.response = Response { status: 204, ..Response::default() };
            set(exchange, header::ALLOW, "GET, HEAD, OPTIONS");
        }
    });
    finds(&["audit.head-differs"], |_, _, exchange| {
        if exchange.request.method() == Method::HEAD {
            exchange.response = page(200);
        }
    });
}

/// A problem document of the app with this code.
fn problem(exchange: &mut Exchange, status: u16, code: &str) {
    exchange.response.status = status;
    set(exchange, header::CONTENT_TYPE, "application/problem+json");
    exchange.response.body = format!("{{\"code\":\"{code}\"}}").into_bytes();
}

/// The ids in the paths of an audit are made up, and its user may be one of another issuer.
#[test]
fn an_object_that_is_not_there_is_a_response_of_its_route() {
    for (status, code) in [
        (404, "object.not-found"),
        (403, "object.denied"),
        (400, "request.parameter-invalid"),
        (403, "auth.caller-foreign"),
    ] {
        finds(&[], |trial, index, exchange| {
            let has_credential = trial.probes[index].credential.is_some();
            if has_credential && exchange.response.status == 200 {
                problem(exchange, status, code);
                set(exchange, header::VARY, "accept");
            }
        });
    }
}

#[test]
fn refusals_by_the_app_name_the_changed_part_of_a_request() {
    for (purpose, status, refusal, code) in [
        (Purpose::Baseline, 421, "origin.plain-http", "audit.scheme-not-reported"),
        (Purpose::Baseline, 421, "origin.host-unknown", "audit.host-rewritten"),
        (Purpose::Baseline, 403, "csrf.origin", "audit.other-policy"),
        (Purpose::Forwarded, 421, "origin.plain-http", "audit.forwarded-passed"),
        (Purpose::Forwarded, 400, "wire.forwarded-malformed", "audit.forwarded-passed"),
        (Purpose::Host, 404, "route.not-found", "audit.host-rewritten"),
        (Purpose::Path(PathForm::DotSegments), 404, "route.not-found", "audit.path-dot-segments"),
        (Purpose::Path(PathForm::Slashes), 401, "auth.token-invalid", "audit.path-slashes"),
        (Purpose::Path(PathForm::Coded), 401, "auth.token-invalid", "audit.path-decoded"),
    ] {
        finds(&[code], |trial, _, exchange| {
            if trial.purpose == purpose {
                problem(exchange, status, refusal);
            }
        });
    }
    finds(&["audit.credential-dropped"], |_, _, exchange| {
        if exchange.request.headers().contains_key(header::AUTHORIZATION) {
            problem(exchange, 401, "auth.credentials-missing");
            set(exchange, header::CACHE_CONTROL, "no-store");
            set(exchange, header::VARY, "accept");
        }
    });
}

#[test]
fn refusals_that_a_proxy_may_send_are_no_findings() {
    finds(&[], |trial, _, exchange| {
        if may_be_refused_early(trial.purpose) {
            exchange.response = Response { status: 400, ..Response::default() };
        }
    });
}

#[test]
fn a_response_for_another_caller_is_found() {
    finds(&["audit.cache-shares-users"], |trial, index, exchange| {
        let is_of_token = trial.purpose == Purpose::Callers && trial.route.contains("orders");
        let has_token = trial.probes[0].credential.is_some();
        if is_of_token && has_token && index == 1 {
            exchange.response = Response { status: 200, ..Response::default() };
        }
    });
    finds(&["audit.nonce-reused"], |_, _, exchange| {
        if exchange.response.headers.contains_key(header::CONTENT_SECURITY_POLICY) {
            let same = "script-src 'nonce-1'; frame-ancestors 'self'";
            set(exchange, header::CONTENT_SECURITY_POLICY, same);
        }
    });
    finds(&["audit.no-store-kept"], |trial, _, exchange| {
        if trial.route.contains("orders") && trial.purpose == Purpose::Callers {
            set(exchange, header::AGE, "7");
        }
    });
}

#[test]
fn compressed_responses_need_vary_and_own_tags() {
    let is_coded = |exchange: &Exchange| {
        exchange.request.headers().contains_key(header::ACCEPT_ENCODING)
            && exchange.response.status == 200
    };
    finds(&["audit.encoding-without-vary", "audit.etag-shared"], |_, _, exchange| {
        if is_coded(exchange) {
            set(exchange, header::CONTENT_ENCODING, "gzip");
        }
    });
    finds(&[], |_, _, exchange| {
        if is_coded(exchange) {
            set(exchange, header::CONTENT_ENCODING, "gzip");
            exchange
                .response
                .headers
                .append(header::VARY, HeaderValue::from_static("Accept-Encoding"));
            if exchange.response.headers.contains_key(header::ETAG) {
                set(exchange, header::ETAG, "W/\"1\"");
            }
        }
    });
}

#[test]
fn a_weaker_security_header_is_found_and_a_stricter_one_is_not() {
    let page_of = |value: &'static str| {
        move |_: &Trial, _: usize, exchange: &mut Exchange| {
            if exchange.response.headers.contains_key(header::CONTENT_SECURITY_POLICY) {
                set(exchange, header::CONTENT_SECURITY_POLICY, value);
            }
        }
    };
    for value in ["default-src 'self'; frame-ancestors *", "frame-ancestors 'self'", "nothing"] {
        finds(&["audit.security-header-weakened"], page_of(value));
    }
    finds(&[], page_of("script-src 'none'; frame-ancestors 'none'"));
    // Browsers enforce both policies.
    finds(&[], |_, _, exchange| {
        if exchange.response.headers.contains_key(header::CONTENT_SECURITY_POLICY) {
            let more = HeaderValue::from_static("default-src *");
            exchange.response.headers.append(header::CONTENT_SECURITY_POLICY, more);
        }
    });
}

#[test]
fn cookies_of_any_response_are_judged() {
    let on = |purpose: Purpose, line: &'static str| {
        move |trial: &Trial, _: usize, exchange: &mut Exchange| {
            if trial.purpose == purpose {
                set(exchange, header::SET_COOKIE, line);
            }
        }
    };
    for purpose in [Purpose::Host, Purpose::Preflight, Purpose::Options] {
        for line in [
            "__Host-sid=1; Path=/; HttpOnly; Secure; SameSite=None",
            "__Host-other=1; Path=/app; Secure",
            "__Secure-other=1",
        ] {
            finds(&["audit.set-cookie-changed"], on(purpose, line));
        }
        for line in ["balancer=1", "__Host-other=1; Path=/; Secure", "__Secure-other=1; Secure"] {
            finds(&[], on(purpose, line));
        }
    }
}

#[test]
fn an_app_that_does_not_see_fetch_metadata_is_found() {
    finds(&["audit.fetch-metadata-dropped"], |trial, _, exchange| {
        if trial.purpose == Purpose::FetchMetadata {
            exchange.response = Response { status: 200, ..Response::default() };
        }
    });
    finds(&["audit.fetch-metadata-dropped"], |trial, _, exchange| {
        if trial.purpose == Purpose::FetchMetadata {
            problem(exchange, 401, "auth.credentials-missing");
        }
    });
}
