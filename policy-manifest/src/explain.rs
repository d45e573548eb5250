//! Explains the decision about a request, and which change would let the request through.

mod edit;
mod nearest;

use http::{HeaderMap, HeaderValue, Method, Request, header};
use policy_core::{Refusal, method};

use crate::{
    Change, FacetSource, Manifest, Sources,
    engine::{
        Decision, Engine, EngineError, Gate, Outcome, Protocol, RequestCredentials, Step, Verdict,
    },
};

pub use edit::Edit;
pub use nearest::Nearest;

/// Why a request is decided as it is.
#[derive(Debug)]
#[non_exhaustive]
pub struct Explanation {
    /// The decision. If a browser sends a preflight first and that one is refused, this is the
    /// decision about the preflight.
    pub decision: Decision,
    /// Whether the decision is about the preflight of the request.
    pub is_of_preflight: bool,
    /// The path template and the methods of the route, if one serves the request.
    pub route: Option<(String, Vec<String>)>,
    /// The result of each gate, in order.
    pub gates: Vec<GateFinding>,
    /// The view of the page that sent the request, if that page is of another origin.
    pub page: Option<&'static str>,
    /// The most similar request that is let through, if this one is not.
    pub nearest: Option<Nearest>,
    /// The smallest edit of the policy by which this request is let through.
    pub edit: Option<Edit>,
}

/// The result of one gate.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GateFinding {
    /// The gate.
    pub gate: Gate,
    /// The verdict; `None` if the request ended before the gate.
    pub verdict: Option<Verdict>,
    /// Where the deciding facet is written; `None` if only the request is at fault.
    pub source: Option<FacetSource>,
}

/// Explains the decision about a request.
///
/// ```
/// use http::Request;
/// use policy_manifest::{Auth, Manifest, ManifestRoute, Sources, engine::RequestCredentials, explain};
///
/// let mut manifest = Manifest::new();
/// manifest.routes.push(ManifestRoute::handler("/orders", ["GET"], Auth::Public));
/// let request = Request::put("http://localhost/orders").header("host", "localhost");
/// let request = request.body(()).unwrap();
/// let explanation = explain(&manifest, &Sources::default(), &request, &RequestCredentials::default()).unwrap();
/// assert_eq!(explanation.decision.refusal().map(|refusal| refusal.code()), Some("route.method-not-allowed"));
/// assert_eq!(explanation.nearest.unwrap().steps, ["use GET"]);
/// ```
///
/// # Errors
///
/// The manifest is not a policy that the engine accepts.
pub fn explain(
    manifest: &Manifest,
    sources: &Sources,
    request: &Request<()>,
    caller: &RequestCredentials,
) -> Result<Explanation, EngineError> {
    let engine = Engine::new(manifest)?;
    let own = manifest.app.public_origin.as_deref();
    let asked = preflight_of(request, own).map(|preflight| {
        let decision = engine.decide(&preflight, &RequestCredentials::default());
        (preflight, decision)
    });
    let granted = asked.as_ref().map(|(_, decision)| &decision.cors);
    let unsent = granted.and_then(|granted| unsent(request, granted));
    let refused = asked.filter(|(_, decision)| decision.outcome != Outcome::PreflightGranted);
    let (decision, is_of_preflight) = match refused {
        Some((_, decision)) => (decision, true),
        None => (engine.decide(request, caller), false),
    };
    let method = method_of(request);
    // If no policy answers a preflight, the decision is about the request that it announces.
    let route = engine.route(&decision).or_else(|| engine.serving(&method, request.uri().path()));
    let place = route.map(|route| (route.path.clone(), route.methods.clone()));
    let gates = Gate::ALL.into_iter().map(|gate| {
        // Gate 8 is checked again if the handler takes the session itself.
        let step = decision.steps.iter().rfind(|step| step.gate == gate);
        let facet = gate.facet().filter(|_| !step.is_some_and(is_of_the_request_alone));
        let source = place.as_ref().zip(facet).and_then(|((path, methods), facet)| {
            let served = methods.iter().find(|known| **known == method).or(methods.first());
            let served = served.map_or("*", String::as_str);
            sources.of(served, path, facet).cloned()
        });
        GateFinding { gate, verdict: step.map(|step| step.verdict.clone()), source }
    });
    let gates = gates.collect();
    let is_let_through = !matches!(decision.outcome, Outcome::Refused(_));
    let (nearest, edit) = match is_let_through {
        true => (None, None),
        false => (
            nearest::of(manifest, &engine, request, caller),
            edit::of(manifest, sources, request, caller),
        ),
    };
    let page = seen_by_page(request, own, &decision, is_of_preflight, unsent);
    Ok(Explanation { decision, is_of_preflight, route: place, gates, page, nearest, edit })
}

impl Explanation {
    /// The changes of the edit beyond this request.
    pub fn also_opened(&self) -> impl Iterator<Item = &Change> {
        self.edit.iter().flat_map(|edit| &edit.changes).filter(|change| change.direction.opens())
    }
}

/// Whether no edit of a facet of a route could make the gate let the request through.
fn is_of_the_request_alone(step: &Step) -> bool {
    let Verdict::Refused(refusal) = step.verdict else { return false };
    matches!(
        refusal,
        Refusal::TunnelOrigin
            | Refusal::PreflightOriginRepeated
            | Refusal::PreflightMethod
            | Refusal::TooEarly
            | Refusal::ContentRange
            | Refusal::MediaType
            | Refusal::CookiesTooLarge
            | Refusal::CredentialsUnchecked
    )
}

/// The method whose policy counts: for a preflight, the one that it announces.
fn method_of(request: &Request<()>) -> String {
    let announced = request.headers().get(header::ACCESS_CONTROL_REQUEST_METHOD);
    let announced = announced.filter(|_| *request.method() == Method::OPTIONS);
    let announced = announced.and_then(|method| method.to_str().ok());
    announced.unwrap_or(served_as(request)).to_owned()
}

/// The method by which a request finds its route: an extended CONNECT takes the place of GET (RFC 8441
/// 5).
fn served_as(request: &Request<()>) -> &str {
    let opens_websocket = Protocol::of(request).is_some_and(|of| of.as_str() == "websocket");
    if opens_websocket { "GET" } else { request.method().as_str() }
}

/// Whether a page that sent it opens a WebSocket, over HTTP/1.1 or HTTP/2.
fn is_websocket(request: &Request<()>) -> bool {
    request.headers().contains_key(header::UPGRADE) || Protocol::of(request).is_some()
}

/// Whether the whole request is let through, with the preflight that a browser would send.
fn is_let_through(
    engine: &Engine,
    own: Option<&str>,
    request: &Request<()>,
    caller: &RequestCredentials,
) -> Result<(), Refusal> {
    let asked = preflight_of(request, own)
        .map(|asked| engine.decide(&asked, &RequestCredentials::default()));
    let decisions = asked.into_iter().chain([engine.decide(request, caller)]);
    decisions.filter_map(|decision| decision.refusal()).next().map_or(Ok(()), Err)
}

/// The preflight that a browser sends before a request of a page of another origin (Fetch, 4.9).
fn preflight_of(request: &Request<()>, own: Option<&str>) -> Option<Request<()>> {
    let origin = request.headers().get(header::ORIGIN)?;
    let own = own.map_or_else(|| development_origin(request), |own| Some(own.to_owned()))?;
    let is_own = origin.as_bytes() == own.as_bytes();
    let is_upgrade = request.headers().contains_key(header::UPGRADE);
    if is_own
        || is_upgrade
        || is_forbidden(request.method())
        || *request.method() == Method::OPTIONS
    {
        return None;
    }
    let simple = matches!(*request.method(), Method::GET | Method::HEAD | Method::POST);
    let names = request.headers().iter().filter(|(name, value)| is_unsafe(name, value));
    let names: Vec<_> = names.map(|(name, _)| name.as_str()).collect();
    if simple && names.is_empty() {
        return None;
    }
    let mut headers = HeaderMap::new();
    headers.insert(header::ORIGIN, origin.clone());
    for host in request.headers().get_all(header::HOST) {
        headers.append(header::HOST, host.clone());
    }
    let asked = HeaderValue::from_str(request.method().as_str()).ok()?;
    headers.insert(header::ACCESS_CONTROL_REQUEST_METHOD, asked);
    let mut preflight = Request::new(());
    *preflight.method_mut() = Method::OPTIONS;
    *preflight.uri_mut() = request.uri().clone();
    *preflight.headers_mut() = headers;
    Some(preflight)
}

/// The view of a page whose preflight is granted, but not for its method or its headers (Fetch,
/// 4.9).
fn unsent(request: &Request<()>, granted: &HeaderMap) -> Option<&'static str> {
    let is_listed = |list: header::HeaderName, name: &str| {
        let lists = granted.get_all(list).into_iter().filter_map(|list| list.to_str().ok());
        let mut names = lists.flat_map(|list| list.split(',')).map(str::trim);
        names.any(|listed| listed.eq_ignore_ascii_case(name))
    };
    let method = request.method();
    let is_simple = matches!(*method, Method::GET | Method::HEAD | Method::POST);
    if !is_simple && !is_listed(header::ACCESS_CONTROL_ALLOW_METHODS, method.as_str()) {
        return Some(
            "`TypeError: Failed to fetch`: the browser does not send the request, since the answer \
             to its preflight does not list its method",
        );
    }
    let mut asked = request.headers().iter().filter(|(name, value)| is_unsafe(name, value));
    let is_refused =
        asked.any(|(name, _)| !is_listed(header::ACCESS_CONTROL_ALLOW_HEADERS, name.as_str()));
    is_refused.then_some(
        "`TypeError: Failed to fetch`: the browser does not send the request, since the answer to \
         its preflight does not list one of its headers",
    )
}

/// Whether no browser sends this method for a page (Fetch, forbidden methods).
fn is_forbidden(method: &Method) -> bool {
    matches!(*method, Method::CONNECT | Method::TRACE) || method.as_str() == "TRACK"
}

/// Whether a script's header needs a preflight (Fetch, CORS-unsafe request-header names). Headers
/// that browsers set themselves do not.
fn is_unsafe(name: &header::HeaderName, value: &HeaderValue) -> bool {
    let name = name.as_str();
    if name.starts_with("sec-") || name.starts_with("access-control-") {
        return false;
    }
    match name {
        "content-type" => {
            let value = value.to_str().unwrap_or_default();
            let media_type = value.split(';').next().unwrap_or_default().trim();
            let simple = ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"];
            !simple.contains(&media_type.to_ascii_lowercase().as_str())
        }
        "accept" | "accept-language" | "content-language" | "origin" | "host" | "cookie"
        | "user-agent" | "referer" | "content-length" | "connection" | "accept-encoding" => false,
        _ => true,
    }
}

/// The own origin of an app without a public one, as this request names it.
fn development_origin(request: &Request<()>) -> Option<String> {
    let host = request.headers().get(header::HOST)?.to_str().ok()?;
    Some(format!("http://{host}"))
}

/// The view of a page of another origin.
fn seen_by_page(
    request: &Request<()>,
    own: Option<&str>,
    decision: &Decision,
    is_of_preflight: bool,
    unsent: Option<&'static str>,
) -> Option<&'static str> {
    let origin = request.headers().get(header::ORIGIN)?;
    let own = own.map_or_else(|| development_origin(request), |own| Some(own.to_owned()))?;
    if origin.as_bytes() == own.as_bytes() {
        return None;
    }
    if is_websocket(request) {
        return Some(match decision.outcome {
            Outcome::Reached => "the WebSocket opens, if the service of the route accepts it",
            _ => "`WebSocket connection failed`: the page gets an `error` event, and not why",
        });
    }
    if is_forbidden(request.method()) {
        return Some("`TypeError`: no browser sends this method for a page");
    }
    if is_of_preflight {
        return Some(
            "`TypeError: Failed to fetch`: the browser does not send the request, since its preflight \
             is refused",
        );
    }
    if unsent.is_some() {
        return unsent;
    }
    let allowed = decision.cors.get(header::ACCESS_CONTROL_ALLOW_ORIGIN);
    let with_cookies = request.headers().contains_key(header::COOKIE);
    let is_readable = match with_cookies {
        true => {
            let credentials = decision.cors.get(header::ACCESS_CONTROL_ALLOW_CREDENTIALS);
            allowed == Some(origin) && credentials.is_some_and(|allowed| allowed == "true")
        }
        false => allowed.is_some_and(|allowed| allowed == "*" || allowed == origin),
    };
    Some(match (is_readable, method::is_safe(request.method().as_str())) {
        (true, _) => "the page can read the response",
        (false, true) => "`TypeError: Failed to fetch`: the page cannot read the response",
        (false, false) => {
            "`TypeError: Failed to fetch`: the page cannot read the response, but the request was sent"
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Auth, Csrf, Dangers, ManifestRoute, RouteCors, RouteOrigins, RouteRequirement,
        RuntimeOrigins, SessionFacts,
        engine::{CredentialState, Login},
    };
    use policy_core::route::Level;

    const APP: &str = "https://app.shop.example";

    /// A shop whose page is on another origin of the same site.
    fn shop() -> Manifest {
        let mut manifest = Manifest::new();
        manifest.app.public_origin = Some("https://api.shop.example".to_owned());
        manifest.app.sessions = Some(SessionFacts::new("memory", "__Host-sid", "lax"));
        let cors = RouteCors {
            origins: RouteOrigins::Listed(vec![APP.to_owned()]),
            credentials: true,
            methods: None,
            headers: Vec::new(),
            expose: Vec::new(),
            max_age: None,
            dangers: Dangers::default(),
        };
        let staff = RouteRequirement {
            session: true,
            roles: vec!["staff".to_owned()],
            fresh: Some(600),
            ..RouteRequirement::default()
        };
        for (path, method) in [("/orders/{id}", "PUT"), ("/orders", "GET"), ("/orders", "POST")] {
            let auth = Auth::Required(staff.clone());
            let route = ManifestRoute {
                cors: Some(cors.clone()),
                ..ManifestRoute::handler(path, [method], auth)
            };
            manifest.routes.push(route);
        }
        manifest.normal()
    }

    fn request(method: &str, path: &str, fields: &[(&str, &str)]) -> Request<()> {
        let mut request = Request::builder().method(method).uri(path);
        request = request.header("host", "api.shop.example");
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap()
    }

    fn explained(request: &Request<()>, caller: &RequestCredentials) -> Explanation {
        explain(&shop(), &Sources::default(), request, caller).unwrap()
    }

    fn user(roles: &[&str], age: u32) -> RequestCredentials {
        let roles = roles.iter().map(|role| (*role).to_owned()).collect();
        let login = Login { roles, age: Some(age), ..Login::default() };
        RequestCredentials {
            session: CredentialState::Valid(login),
            ..RequestCredentials::default()
        }
    }

    const COOKIE: (&str, &str) = ("cookie", "__Host-sid=1");

    #[test]
    fn a_page_of_a_stranger_is_explained_by_its_preflight() {
        let sent = request("PUT", "/orders/1", &[("origin", "https://evil.example"), COOKIE]);
        let found = explained(&sent, &user(&["staff"], 0));
        assert!(found.is_of_preflight);
        assert_eq!(found.decision.refusal().unwrap().code(), "cors.origin-not-granted");
        assert!(found.page.unwrap().contains("does not send the request"));
        let nearest = found.nearest.unwrap();
        assert_eq!(nearest.steps[0], format!("send it from a page of `{APP}`"));
        let edit = found.edit.unwrap();
        assert!(
            edit.steps[0].contains("add \"https://evil.example\" to origins"),
            "{:?}",
            edit.steps
        );
        let opened: Vec<_> = edit.changes.iter().map(Change::route).collect();
        assert_eq!(opened, vec!["PUT /orders/{id}"; opened.len()]);
    }

    #[test]
    fn missing_credentials_are_named_in_order() {
        let found = explained(
            &request("POST", "/orders", &[("origin", APP)]),
            &RequestCredentials::default(),
        );
        let steps = found.nearest.unwrap().steps;
        assert_eq!(
            steps,
            [
                "log in, and send the session cookie with role `staff`",
                "send the CSRF token of the session in `X-CSRF-Token`",
            ]
        );
        let asked: Vec<_> = found
            .gates
            .iter()
            .filter(|gate| gate.verdict.is_some())
            .map(|gate| gate.gate)
            .collect();
        assert!(asked.contains(&Gate::Authorize) && !asked.contains(&Gate::Limits), "{asked:?}");
    }

    #[test]
    fn edits_of_rights_and_age_are_minimal() {
        let sent = request("GET", "/orders", &[COOKIE]);
        let found = explained(&sent, &user(&["guest"], 700));
        let edit = found.edit.as_ref().unwrap();
        assert_eq!(edit.steps, ["auth: with the role \"guest\"", "auth: `fresh = \"701s\"`"]);
        let opened: Vec<_> = found.also_opened().map(ToString::to_string).collect();
        assert_eq!(opened.len(), 1, "{opened:?}");
        assert!(opened[0].starts_with("opens: GET /orders: auth: was"), "{opened:?}");
        let nearest = found.nearest.unwrap();
        assert_eq!(nearest.steps, ["have the role `staff`", "log in again"]);
    }

    #[test]
    fn a_request_that_is_let_through_needs_no_change() {
        let found = explained(&request("GET", "/orders", &[COOKIE]), &user(&["staff"], 0));
        assert!(found.nearest.is_none() && found.edit.is_none());
        assert_eq!(found.decision.outcome, Outcome::Reached);
    }

    #[test]
    fn nothing_that_no_edit_could_allow_is_suggested() {
        for (method, path) in [("GET", "/nowhere"), ("BREW", "/orders"), ("GET", "/a/%2e%00")] {
            let found = explained(&request(method, path, &[]), &RequestCredentials::default());
            assert!(found.edit.is_none(), "{method} {path}");
        }
    }

    #[test]
    fn csrf_exempt_routes_stay_so_in_an_edit() {
        let mut manifest = shop();
        manifest.routes[0].csrf = Csrf::Exempt("a webhook".to_owned());
        let sent = request("GET", "/orders", &[COOKIE]);
        let caller = user(&[], 0);
        let found = explain(&manifest, &Sources::default(), &sent, &caller).unwrap();
        let edit = found.edit.unwrap();
        assert_eq!(edit.steps, ["auth: without roles"]);
        assert!(edit.changes.iter().all(|change| change.facet == "auth"), "{:?}", edit.changes);
    }

    #[test]
    fn a_preflight_that_no_policy_answers_is_about_its_route() {
        let mut manifest = shop();
        manifest.routes.push(ManifestRoute::handler("/closed", ["PUT"], Auth::Public));
        let sent = request("PUT", "/closed", &[("origin", APP)]);
        let found =
            explain(&manifest, &Sources::default(), &sent, &RequestCredentials::default()).unwrap();
        assert!(found.is_of_preflight);
        assert_eq!(found.route, Some(("/closed".to_owned(), vec!["PUT".to_owned()])));
    }

    #[test]
    fn no_page_sends_a_forbidden_method() {
        for origin in [APP, "https://evil.example"] {
            let sent = request("TRACE", "/orders", &[("origin", origin)]);
            let found = explained(&sent, &RequestCredentials::default());
            assert!(!found.is_of_preflight, "{origin}");
            assert_eq!(found.page, Some("`TypeError`: no browser sends this method for a page"));
        }
    }

    #[test]
    fn a_page_whose_preflight_lacks_an_entry_sees_an_error() {
        let page = |method: &str, fields: &[(&str, &str)]| {
            let fields: Vec<_> = [("origin", APP)].iter().chain(fields).copied().collect();
            let found = explained(&request(method, "/orders", &fields), &user(&["staff"], 0));
            found.page.unwrap()
        };
        assert!(page("BREW", &[COOKIE]).ends_with("does not list its method"));
        // The page reads that no route serves the method.
        assert_eq!(page("DELETE", &[COOKIE]), "the page can read the response");
        assert!(page("GET", &[COOKIE, ("x-tenant", "1")]).ends_with("one of its headers"));
        assert_eq!(page("GET", &[COOKIE]), "the page can read the response");
        let mut manifest = shop();
        for route in &mut manifest.routes {
            route.auth = Auth::Public;
            route.cors.iter_mut().for_each(|cors| cors.credentials = false);
        }
        for (fields, is_readable) in
            [(&[("origin", APP)][..], true), (&[("origin", APP), COOKIE], false)]
        {
            let sent = request("GET", "/orders", fields);
            let found =
                explain(&manifest, &Sources::default(), &sent, &RequestCredentials::default())
                    .unwrap();
            let can_read = found.page == Some("the page can read the response");
            assert_eq!(can_read, is_readable, "{:?}", found.page);
        }
    }

    #[test]
    fn a_page_that_sends_cookies_is_granted_credentials_too() {
        let mut manifest = shop();
        manifest.routes.iter_mut().for_each(|route| route.cors = None);
        let sent = request("PUT", "/orders/1", &[("origin", APP), COOKIE]);
        let caller = user(&["staff"], 0);
        let found = explain(&manifest, &Sources::default(), &sent, &caller).unwrap();
        let steps = found.edit.unwrap().steps;
        assert!(steps[0].ends_with("and `credentials`"), "{steps:?}");
    }

    #[test]
    fn no_line_is_named_for_refusals_that_only_the_request_causes() {
        let mut sources = Sources::default();
        let line = FacetSource { level: Level::Route, file: "shop.rs".to_owned(), line: 7 };
        let facets = ["isolation", "auth"].map(|facet| (facet.to_owned(), line.clone()));
        sources.decided.insert("GET /orders".to_owned(), facets.into_iter().collect());
        let source_at = |gate: Gate, fields: &[(&str, &str)]| {
            let sent = request("GET", "/orders", fields);
            let found = explain(&shop(), &sources, &sent, &RequestCredentials::default()).unwrap();
            let of_gate = found.gates.into_iter().find(|found| found.gate == gate);
            of_gate.and_then(|found| found.source)
        };
        assert_eq!(source_at(Gate::FetchMetadata, &[("early-data", "1")]), None);
        assert_eq!(source_at(Gate::FetchMetadata, &[]), Some(line.clone()));
        assert_eq!(source_at(Gate::Authorize, &[]), Some(line));
    }

    #[test]
    fn no_attribute_adds_an_entry_to_a_list_without_a_bound() {
        let mut manifest = shop();
        for route in &mut manifest.routes {
            let Some(cors) = &mut route.cors else { continue };
            // With credentials, a list needs a bound.
            cors.credentials = false;
            cors.origins = RouteOrigins::AtRunTime(RuntimeOrigins {
                list: "partners".to_owned(),
                within: None,
                by: None,
            });
        }
        let sent = request("PUT", "/orders/1", &[("origin", "https://new.example"), COOKIE]);
        let caller = user(&["staff"], 0);
        let found = explain(&manifest, &Sources::default(), &sent, &caller).unwrap();
        assert_eq!(found.decision.refusal(), Some(Refusal::PreflightOrigin));
        assert!(found.edit.is_none());
    }

    #[test]
    fn an_edit_for_head_leaves_a_policy_of_get_alone() {
        let of_staff = shop().routes[0].auth.clone();
        let routes = |head: &[&str]| {
            let mut manifest = shop();
            manifest.routes.push(ManifestRoute::handler("/page", ["GET"], of_staff.clone()));
            if !head.is_empty() {
                manifest.routes.push(ManifestRoute::handler(
                    "/page",
                    head.iter().copied(),
                    of_staff.clone(),
                ));
            }
            let sent = request("HEAD", "/page", &[]);
            let found =
                explain(&manifest, &Sources::default(), &sent, &RequestCredentials::default())
                    .unwrap();
            let changes = found.edit.unwrap().changes;
            changes.into_iter().flat_map(|change| change.methods).collect::<Vec<_>>()
        };
        assert_eq!(routes(&["HEAD"]), ["HEAD"]);
        assert!(routes(&[]).contains(&"GET".to_owned()));
    }

    #[test]
    fn a_websocket_over_http2_finds_the_route_of_get() {
        let mut request = request(
            "CONNECT",
            "https://api.shop.example/orders",
            &[("origin", "https://evil.example"), ("cookie", "__Host-sid=s")],
        );
        request.extensions_mut().insert(Protocol::new("websocket"));
        *request.version_mut() = http::Version::HTTP_2;
        let explanation = explained(&request, &user(&["staff"], 0));
        assert_eq!(explanation.decision.refusal(), Some(Refusal::WebSocketOrigin));
        let (path, methods) = explanation.route.as_ref().unwrap();
        assert!(path == "/orders" && methods.contains(&"GET".to_owned()), "{path} {methods:?}");
        assert!(explanation.page.unwrap().contains("WebSocket connection failed"));
        let nearest = explanation.nearest.unwrap();
        assert_eq!(nearest.steps, [format!("send it from a page of `{APP}`")]);
        assert_eq!(nearest.request.extensions().get(), Some(&Protocol::new("websocket")));
        let edit = explanation.edit.unwrap();
        assert!(edit.steps[0].contains("https://evil.example"), "{:?}", edit.steps);
    }
}
