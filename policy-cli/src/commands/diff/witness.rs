//! A witness as a script or command that can be run.

use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, header};
use policy_manifest::{
    diff::Case,
    engine::{Decision, Outcome},
};

use crate::shell;

/// The outcome of a request, in words.
pub(super) fn outcome(decision: &Decision) -> String {
    let listed = decision.if_listed.as_deref();
    let listed = listed.map(|list| format!("if the list `{list}` names the origin"));
    let outcome = match decision.outcome {
        Outcome::Reached => "reaches the handler".to_owned(),
        Outcome::PreflightGranted => "preflight granted".to_owned(),
        Outcome::Automatic => {
            format!("answered by the server itself: {}", decision.status.unwrap_or_default())
        }
        Outcome::Refused(refusal) => format!("{} {}", refusal.status(), refusal.code()),
    };
    match (listed, decision.outcome) {
        (Some(listed), Outcome::PreflightGranted) => format!("{outcome} {listed}"),
        (Some(listed), _) => format!("{outcome}, granted {listed}"),
        (None, _) => outcome,
    }
}

/// The client that runs the script.
pub(super) fn runner(case: &Case) -> String {
    let headers = case.witness.request.headers();
    match value(headers, "origin") {
        Some(origin) => format!("a page of {origin}"),
        None if headers.contains_key("sec-fetch-site") => "a page of another site".to_owned(),
        None => "a program".to_owned(),
    }
}

/// The origin of an app in development.
const DEVELOPMENT: &str = "http://localhost";

/// The request of a witness to the app, with the URL that it has there.
fn url(request: &Request<()>, own: Option<&str>) -> String {
    match request.uri().scheme() {
        None if *request.method() != Method::CONNECT => {
            format!("{}{}", own.unwrap_or(DEVELOPMENT), request.uri())
        }
        _ => request.uri().to_string(),
    }
}

/// The host of a URL.
fn host_of(url: &str) -> &str {
    let (_, rest) = url.split_once("://").unwrap_or_default();
    rest.split('/').next().unwrap_or_default()
}

/// The request as a script sends it. For a preflight, the request which the preflight announces.
pub(super) fn fetch(case: &Case, own: Option<&str>) -> String {
    let request = &case.witness.request;
    let headers = request.headers();
    let mut url = url(request, own);
    if let Some(other) = value(headers, "host").filter(|_| case.senders.other_host) {
        url = url.replacen(host_of(&url), &other, 1);
    }
    if headers.contains_key(header::UPGRADE) {
        return format!("new WebSocket({})", quote(&url.replacen("http", "ws", 1)));
    }
    let method = value(headers, "access-control-request-method")
        .unwrap_or_else(|| request.method().as_str().to_owned());
    let mut options = Vec::new();
    if method != "GET" {
        options.push(format!("method: {}", quote(&method)));
    }
    let has_cookie = headers.contains_key(header::COOKIE)
        || case.gains.sends_credentials
        || case.gains.reads == Some(policy_manifest::diff::PageRead::WithCredentials);
    if has_cookie {
        options.push("credentials: \"include\"".to_owned());
    }
    let is_embedded = !headers.contains_key(header::ORIGIN)
        && value(headers, "sec-fetch-site").is_some_and(|site| site != "same-origin");
    if is_embedded {
        options.push("mode: \"no-cors\"".to_owned());
    }
    let by_browser = |name: &str| {
        matches!(name, "host" | "origin" | "cookie" | "referer" | "early-data" | "max-forwards")
            || name.starts_with("sec-")
            || name.starts_with("access-control-")
    };
    let fields = headers.iter().filter(|(name, _)| !by_browser(name.as_str()));
    let mut fields: Vec<String> = fields
        .map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            format!("{}: {}", quote(name.as_str()), quote(&value))
        })
        .collect();
    if case.is_preflight() {
        let sent = case.gains.sends_headers.first().filter(|name| *name != "*");
        fields.extend(sent.map(|name| {
            let value = if name == "content-type" { "application/json" } else { "1" };
            format!("{}: {}", quote(name), quote(value))
        }));
    }
    if !fields.is_empty() {
        options.push(format!("headers: {{{}}}", fields.join(", ")));
    }
    match options.is_empty() {
        true => format!("fetch({})", quote(&url)),
        false => format!("fetch({}, {{{}}})", quote(&url), options.join(", ")),
    }
}

/// The request as a line for a shell.
pub(in crate::commands) fn curl(request: &Request<()>, own: Option<&str>) -> String {
    let url = url(request, own);
    let is_in_url = |name: &HeaderName, value: &HeaderValue| {
        name == header::HOST && (host_of(&url) == value || *request.method() == Method::CONNECT)
    };
    let headers = request.headers().iter().filter(|(name, value)| !is_in_url(name, value));
    let headers = headers.map(|(name, value)| (name, String::from_utf8_lossy(value.as_bytes())));
    shell::curl("-i", request.method(), &url, headers)
}

fn value(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}

/// A string of JavaScript.
fn quote(text: &str) -> String {
    // Every JSON string is a JavaScript string.
    serde_json::to_string(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use policy_manifest::{Auth, Manifest, ManifestRoute, RouteKind, diff::diff};

    use super::*;

    #[test]
    fn a_witness_under_another_host_name_states_it() {
        let of = |kind| {
            let mut manifest = Manifest::new();
            manifest.app.public_origin = Some("https://api.shop.example".to_owned());
            manifest.routes.push(ManifestRoute::new(kind, "/health", ["GET"], Auth::Public));
            manifest
        };
        let found = diff(&of(RouteKind::Handler), &of(RouteKind::Probe)).unwrap();
        let case = &found.findings[0].cases[0];
        let own = Some("https://api.shop.example");
        assert_eq!(fetch(case, own), r#"fetch("https://other.invalid/health")"#);
        let line = "curl -i https://api.shop.example/health -H 'host: other.invalid'";
        assert_eq!(curl(&case.witness.request, own), line);
        let plain = Request::get("/health").header("host", "api.shop.example").body(()).unwrap();
        assert_eq!(curl(&plain, own), "curl -i https://api.shop.example/health");
    }
}
