//! Explains the decision about a request, and which change would let the request through.

mod edit;
mod nearest;
mod objects;

use http::{HeaderMap, HeaderValue, Method, Request, header};
use policy_core::{Refusal, conditional::one_range, method};

use crate::{
    FacetSource, Manifest, Outcomes, Sources,
    engine::{
        Decision, Engine, EngineError, Gate, Outcome, Protocol, RequestCredentials, Step, Verdict,
    },
    facets,
};

pub use edit::SuggestedEdit;
pub use nearest::Nearest;
pub use objects::{LeftCondition, ObjectFinding};

/// Why a request is decided as it is.
#[derive(Debug)]
#[non_exhaustive]
pub struct Explanation {
    /// The decision of the server about the request, from a browser or a program.
    pub decision: Decision,
    /// Why a browser does not send the request, if a page of another origin asks it to.
    pub unsent: Option<Unsent>,
    /// The path template and the methods of the route, if one serves the request.
    pub route: Option<(String, Vec<String>)>,
    /// What the route can respond with instead of serving a request of this method.
    pub outcomes: Option<Outcomes>,
    /// The result of each gate, in order.
    pub gates: Vec<GateFinding>,
    /// The rules that the objects of the route have to satisfy, if the request reaches its handler.
    pub objects: Vec<ObjectFinding>,
    /// The view of the page that sent the request, if that page is of another origin.
    pub page: Option<&'static str>,
    /// The most similar request that is let through, if this one, or its preflight, is not.
    pub nearest: Option<Nearest>,
    /// The smallest edit of the policy by which this request and its preflight are let through; `None`
    /// if the request only has to present a credential.
    pub edit: Option<SuggestedEdit>,
}

/// Why a browser does not send a request of a page (Fetch, 4.9). CORS binds browsers only: a program
/// sends the request without a preflight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsent {
    /// Its preflight is refused.
    PreflightRefused(Refusal),
    /// The response to its preflight allows no cookies, and it has some.
    CookiesNotAllowed,
    /// The response to its preflight does not list its method.
    MethodNotListed,
    /// The response to its preflight does not list one of its headers.
    HeaderNotListed,
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
    let unsent = preflight_of(request, own).and_then(|preflight| {
        let decision = engine.decide(&preflight, &RequestCredentials::default());
        match decision.refusal() {
            Some(refusal) => Some(Unsent::PreflightRefused(refusal)),
            None => unlisted(request, &decision.cors),
        }
    });
    let decision = engine.decide(request, caller);
    let method = method_of(request);
    // A request that is refused before routing is explained by the route that would serve it.
    let route = engine.route(&decision).or_else(|| engine.serving(&method, request.uri().path()));
    let place = route.map(|route| (route.path.clone(), route.methods.clone()));
    let outcomes = route.map(|route| manifest.outcomes(route, &method));
    let gates = Gate::ALL.into_iter().map(|gate| {
        // Gate 8 is checked again if the handler takes the session itself.
        let step = decision.steps.iter().rfind(|step| step.gate == gate);
        let facet =
            facets::enforced_by(gate).filter(|_| !step.is_some_and(is_of_the_request_alone));
        let source = place.as_ref().zip(facet).and_then(|((path, methods), facet)| {
            let served = methods.iter().find(|known| **known == method).or(methods.first());
            let served = served.map_or("*", String::as_str);
            sources.get(served, path, facet).cloned()
        });
        GateFinding { gate, verdict: step.map(|step| step.verdict.clone()), source }
    });
    let gates = gates.collect();
    let reached = route.filter(|_| decision.outcome == Outcome::Reached);
    let objects = reached.map_or_else(Vec::new, |route| {
        objects::evaluate(manifest, route, engine.login(request, caller).as_ref())
    });
    let is_let_through =
        decision.refusal().is_none() && !matches!(unsent, Some(Unsent::PreflightRefused(_)));
    let (mut nearest, mut edit) = (None, None);
    if !is_let_through {
        let (found, needs_credential) = nearest::find(manifest, &engine, request, caller);
        nearest = found;
        // An edit would open the route to callers without that credential.
        if !needs_credential {
            edit = edit::find(manifest, sources, request, caller);
        }
    }
    let page = seen_by_page(request, own, &decision, unsent);
    Ok(Explanation {
        decision,
        unsent,
        route: place,
        outcomes,
        gates,
        objects,
        page,
        nearest,
        edit,
    })
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
    let opens_websocket =
        Protocol::from_request(request).is_some_and(|of| of.as_str() == "websocket");
    if opens_websocket { "GET" } else { request.method().as_str() }
}

/// Whether a page that sent it opens a WebSocket, over HTTP/1.1 or HTTP/2.
fn is_websocket(request: &Request<()>) -> bool {
    request.headers().contains_key(header::UPGRADE) || Protocol::from_request(request).is_some()
}

/// Whether the whole request is let through, with the preflight that a browser would send.
fn is_let_through(
    engine: &Engine,
    own: Option<&str>,
    request: &Request<()>,
    caller: &RequestCredentials,
) -> Result<(), Refusal> {
    let preflight = preflight_of(request, own)
        .map(|preflight| engine.decide(&preflight, &RequestCredentials::default()));
    let decisions = preflight.into_iter().chain([engine.decide(request, caller)]);
    decisions.filter_map(|decision| decision.refusal()).next().map_or(Ok(()), Err)
}

/// The preflight that a browser sends before a request of a page of another origin (Fetch, 4.9).
fn preflight_of(request: &Request<()>, own: Option<&str>) -> Option<Request<()>> {
    let origin = foreign_origin(request, own)?;
    let is_upgrade = request.headers().contains_key(header::UPGRADE);
    if is_upgrade || is_forbidden(request.method()) || *request.method() == Method::OPTIONS {
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
    let method = HeaderValue::from_str(request.method().as_str()).ok()?;
    headers.insert(header::ACCESS_CONTROL_REQUEST_METHOD, method);
    let mut preflight = Request::new(());
    *preflight.method_mut() = Method::OPTIONS;
    *preflight.uri_mut() = request.uri().clone();
    *preflight.headers_mut() = headers;
    Some(preflight)
}

/// The part of a request that the response to its preflight does not allow (Fetch, 4.9).
fn unlisted(request: &Request<()>, granted: &HeaderMap) -> Option<Unsent> {
    let has_cookies = request.headers().contains_key(header::COOKIE);
    let is_listed = |list: header::HeaderName, name: &str| {
        let lists = granted.get_all(list).into_iter().filter_map(|list| list.to_str().ok());
        let mut names = lists.flat_map(|list| list.split(',')).map(str::trim);
        // With credentials, `*` is a name like any other.
        let is_any = !has_cookies && name != "authorization";
        names.any(|listed| listed.eq_ignore_ascii_case(name) || (listed == "*" && is_any))
    };
    let allows_cookies = is_listed(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, "true");
    if has_cookies && !allows_cookies {
        return Some(Unsent::CookiesNotAllowed);
    }
    let method = request.method();
    let is_simple = matches!(*method, Method::GET | Method::HEAD | Method::POST);
    if !is_simple && !is_listed(header::ACCESS_CONTROL_ALLOW_METHODS, method.as_str()) {
        return Some(Unsent::MethodNotListed);
    }
    let mut unsafe_headers =
        request.headers().iter().filter(|(name, value)| is_unsafe(name, value));
    let is_refused = unsafe_headers
        .any(|(name, _)| !is_listed(header::ACCESS_CONTROL_ALLOW_HEADERS, name.as_str()));
    is_refused.then_some(Unsent::HeaderNotListed)
}

impl Unsent {
    /// The view of the page.
    fn page(self) -> &'static str {
        match self {
            Self::PreflightRefused(_) => {
                "`TypeError: Failed to fetch`: the browser does not send the request, since its \
                 preflight is refused"
            }
            Self::CookiesNotAllowed => {
                "`TypeError: Failed to fetch`: the browser does not send the request, since the \
                 answer to its preflight allows no cookies"
            }
            Self::MethodNotListed => {
                "`TypeError: Failed to fetch`: the browser does not send the request, since the \
                 answer to its preflight does not list its method"
            }
            Self::HeaderNotListed => {
                "`TypeError: Failed to fetch`: the browser does not send the request, since the \
                 answer to its preflight does not list one of its headers"
            }
        }
    }
}

/// Whether no browser sends this method for a page (Fetch, forbidden methods).
fn is_forbidden(method: &Method) -> bool {
    matches!(*method, Method::CONNECT | Method::TRACE) || method.as_str() == "TRACK"
}

/// Whether a script's header needs a preflight (Fetch, CORS-unsafe request-header names). Headers
/// that browsers set themselves do not.
fn is_unsafe(name: &header::HeaderName, value: &HeaderValue) -> bool {
    let name = name.as_str();
    if ["sec-", "proxy-", "access-control-"].iter().any(|prefix| name.starts_with(prefix)) {
        return false;
    }
    match name {
        "content-type" => {
            let value = value.to_str().unwrap_or_default();
            let media_type = value.split(';').next().unwrap_or_default().trim();
            let simple = ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"];
            !simple.contains(&media_type.to_ascii_lowercase().as_str())
        }
        "accept" | "accept-language" | "content-language" => false,
        "range" => !is_simple_range(value),
        name => !BY_BROWSERS.split_ascii_whitespace().any(|own| own == name),
    }
}

/// The headers that browsers write themselves: forbidden request-headers, and those of navigations, of
/// reloads, of alternative services (RFC 7838 5) and of data savers, which a recorded request has.
const BY_BROWSERS: &str =
    "accept-charset accept-encoding alt-used cache-control connection content-length cookie date dnt
     expect host keep-alive origin pragma priority referer save-data te trailer transfer-encoding
     upgrade-insecure-requests user-agent via";

/// Whether it is one range with a beginning, as media elements send it (Fetch, simple range header value).
/// A server reads more: lists, white space (RFC 9110 14.1.2) and units in any case.
fn is_simple_range(value: &HeaderValue) -> bool {
    let range = value.as_bytes().strip_prefix(b"bytes=").unwrap_or_default();
    range.first().is_some_and(u8::is_ascii_digit)
        && range.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-')
        && one_range(&HeaderMap::from_iter([(header::RANGE, value.clone())])).is_some()
}

/// The own origin of an app without a public one, as this request names it.
fn development_origin(request: &Request<()>) -> Option<String> {
    let host = request.headers().get(header::HOST)?.to_str().ok()?;
    Some(format!("http://{host}"))
}

/// The origin of the page that sends a request, unless it is the app's own.
fn foreign_origin<'r>(request: &'r Request<()>, own: Option<&str>) -> Option<&'r HeaderValue> {
    let origin = request.headers().get(header::ORIGIN)?;
    let own = own.map_or_else(|| development_origin(request), |own| Some(own.to_owned()))?;
    (origin.as_bytes() != own.as_bytes()).then_some(origin)
}

/// The view of a page of another origin.
fn seen_by_page(
    request: &Request<()>,
    own: Option<&str>,
    decision: &Decision,
    unsent: Option<Unsent>,
) -> Option<&'static str> {
    let origin = foreign_origin(request, own)?;
    if is_websocket(request) {
        return Some(match decision.outcome {
            Outcome::Reached => "the WebSocket opens, if the service of the route accepts it",
            _ => "`WebSocket connection failed`: the page gets an `error` event, and not why",
        });
    }
    if is_forbidden(request.method()) {
        return Some("`TypeError`: no browser sends this method for a page");
    }
    if let Some(unsent) = unsent {
        return Some(unsent.page());
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
mod tests;
