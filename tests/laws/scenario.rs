//! A server with generated policies, whose handlers work against them in every way they can.

use std::{
    convert::Infallible,
    net::SocketAddr,
    panic::resume_unwind,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::stream;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use policy_browser::{SentRequest, ServerResponse};
use policy_server::{
    App, AppService, Body, CachePolicy, CorsPolicy, CsrfPolicy, Isolation, Limits, Mount, Policies,
    extract::PeerAddr,
};
use tower::service_fn;

use crate::{
    exchange::{Policy, Request},
    local::{self, Reply, build_request, within},
    oracle,
};

/// The origin of the server.
pub(crate) const OWN: &str = "https://api.shop.example";
/// The path of its handlers.
pub(crate) const ROUTE: &str = "/r";
/// The target of their redirects.
pub(crate) const END: &str = "/r/end";

/// What is served, by which policies, and what the handlers do.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scenario {
    /// What is served at [`ROUTE`], in the order of registration.
    pub(crate) groups: Vec<Group>,
    /// The app's policy, for routes without their own.
    pub(crate) default: Option<Policy>,
    pub(crate) plan: Plan,
}

/// Some methods with one policy.
#[derive(Clone, Debug, Default)]
pub(crate) struct Group {
    pub(crate) methods: Vec<&'static str>,
    pub(crate) policy: Option<Policy>,
    /// Replaces the policy by one with a run-time list of origins.
    pub(crate) at_run_time: Option<CorsPolicy>,
    pub(crate) cache: Option<CachePolicy>,
    pub(crate) isolation: Option<Isolation>,
}

/// What every handler does.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, &'static str)>,
    pub(crate) ending: Ending,
}

/// How a handler ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Whole,
    Stream,
    Panic,
    /// It never ends.
    Never,
}

impl Default for Plan {
    fn default() -> Self {
        Self { status: 200, headers: Vec::new(), ending: Ending::Whole }
    }
}

impl Scenario {
    /// The nearest policy of a method at a path. If no route serves the method, a route with a
    /// policy applies: one with a safe method first, then the first by name.
    pub(crate) fn policy(&self, path: &str, method: &str) -> Option<&Policy> {
        if !is_routed(path) {
            return self.default.as_ref();
        }
        let shared = || {
            let shared = self.groups.iter().filter(|group| self.policy_of(group).is_some());
            shared.min_by_key(|group| {
                let reads = ["GET", "HEAD", "OPTIONS", "QUERY", "TRACE"];
                let is_unsafe = |method: &str| !reads.contains(&method);
                group.methods.iter().map(|method| (is_unsafe(method), method)).min()
            })
        };
        self.policy_of(self.serving(method).or_else(shared)?)
    }

    fn policy_of<'a>(&'a self, group: &'a Group) -> Option<&'a Policy> {
        group.policy.as_ref().or(self.default.as_ref())
    }

    /// HEAD is served wherever GET is (RFC 9110 9.3.2).
    pub(crate) fn serving(&self, method: &str) -> Option<&Group> {
        let of = |name: &str| self.groups.iter().find(|group| group.methods.contains(&name));
        of(method).or_else(|| if method == "HEAD" { of("GET") } else { None })
    }

    /// The methods that are served under this declaration.
    pub(crate) fn served_alike(&self, policy: &Policy) -> Vec<&'static str> {
        let alike = self.groups.iter().filter(|group| {
            self.policy_of(group).is_some_and(|own| oracle::declare_alike(own, policy))
        });
        alike.flat_map(|group| group.methods.clone()).collect()
    }

    /// Whether a script's page may read the response to its fetch.
    pub(crate) fn grants(&self, path: &str, wanted: &oracle::CorsRequest<'_>) -> bool {
        const STANDARD: [&str; 8] =
            ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "QUERY", "OPTIONS"];
        let Some(policy) = self.policy(path, wanted.method) else { return false };
        let is_served = is_routed(path) && self.serving(wanted.method).is_some();
        // A preflight for what no route serves allows the method that it names, and credentials.
        if !is_served && policy.methods.is_none() && STANDARD.contains(&wanted.method) {
            let is_of_credentials = |name: &str| {
                name == "authorization" || (name == "x-csrf-token" && policy.credentials)
            };
            let others = wanted.unsafe_names.iter().filter(|name| !is_of_credentials(name));
            let others: Vec<_> = others.cloned().collect();
            let wanted = oracle::CorsRequest { unsafe_names: &others, ..wanted.clone() };
            return oracle::grants(policy, &[wanted.method], &wanted);
        }
        // Any other preflight for a path without a route gets 404, which no browser accepts.
        (is_routed(path) || !wanted.is_preflighted)
            && oracle::grants(policy, &self.served_alike(policy), wanted)
    }

    /// All of its policies.
    pub(crate) fn policies(&self) -> impl Iterator<Item = &Policy> {
        self.groups.iter().filter_map(|group| group.policy.as_ref()).chain(&self.default)
    }

    /// All of their origins and patterns.
    pub(crate) fn origins(&self) -> Vec<&str> {
        self.policies().flat_map(|policy| &policy.origins).map(String::as_str).collect()
    }
}

pub(crate) fn is_routed(path: &str) -> bool {
    path == ROUTE || path == END
}

/// The server of a scenario.
pub(crate) struct Site {
    service: AppService,
    calls: Arc<Mutex<Vec<Call>>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
}

impl Site {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        Self::with(scenario, App::new(()).public_origin(OWN))
    }

    /// The server of a scenario within this app.
    pub(crate) fn with(scenario: &Scenario, mut app: App<()>) -> Self {
        let calls = Arc::default();
        for group in &scenario.groups {
            let (plan, calls) = (scenario.plan.clone(), Arc::clone(&calls));
            let service =
                service_fn(move |request| handle(plan.clone(), Arc::clone(&calls), request));
            let methods = group.methods.iter().map(|name| name.parse().expect("a method"));
            let mut mount = Mount::new(service)
                .public()
                .csrf(CsrfPolicy::Exempt("this law is about something else"))
                .methods(methods);
            if scenario.plan.ending == Ending::Never {
                mount = mount.policies(
                    Policies::new().limits(Limits::NONE.timeout(Duration::from_millis(1))),
                );
            }
            if let Some(policy) = &group.policy {
                mount = mount.policies(Policies::new().cors(policy.config()));
            }
            if let Some(policy) = group.at_run_time {
                mount = mount.policies(Policies::new().cors(policy));
            }
            if let Some(cache) = group.cache {
                mount = mount.policies(Policies::new().cache(cache));
            }
            if let Some(isolation) = group.isolation {
                mount = mount.policies(Policies::new().isolation(isolation));
            }
            app = app.mount(ROUTE, mount);
        }
        if let Some(policy) = &scenario.default {
            app = app.policies(Policies::new().cors(policy.config()));
        }
        Self { service: within(|| app.into_service()), calls }
    }

    /// The calls of handlers since the last call of this function.
    pub(crate) fn calls(&self) -> Vec<Call> {
        std::mem::take(&mut self.calls.lock().expect("no panic"))
    }

    pub(crate) fn send(&self, request: http::Request<Body>) -> Reply {
        local::send(&self.service, request)
    }

    /// Sends a request that need not come from a browser.
    pub(crate) fn ask(&self, request: &Request) -> Reply {
        self.send(build_request(&request.method, &request.path, &request.headers, Body::empty()))
    }

    /// Sends it over a connection from this address.
    pub(crate) fn ask_from(&self, peer: SocketAddr, request: &Request) -> Reply {
        let mut sent =
            build_request(&request.method, &request.path, &request.headers, Body::empty());
        sent.extensions_mut().insert(PeerAddr(peer));
        self.send(sent)
    }

    /// Responds to a browser.
    pub(crate) fn serve(&self, request: &SentRequest) -> ServerResponse {
        if request.url.origin().ascii_serialization() != OWN {
            return redirect("https://api.shop.example/r/end", request);
        }
        let target = match request.url.query() {
            Some(query) => format!("{}?{query}", request.url.path()),
            None => request.url.path().to_owned(),
        };
        let body = Body::from(request.body.clone().unwrap_or_default());
        self.send(build_request(&request.method, &target, &request.headers, body)).into()
    }
}

/// Another server, which shares with everyone and redirects.
pub(crate) fn redirect(location: &str, sent: &SentRequest) -> ServerResponse {
    let status = if sent.is_preflight { 204 } else { 307 };
    let mut response = ServerResponse::new(status, HeaderMap::new(), Vec::new());
    let mut write = |name: &'static str, value: HeaderValue| response.headers.insert(name, value);
    write("location", location.parse().expect("a value"));
    write("access-control-allow-credentials", HeaderValue::from_static("true"));
    for (requested, allowed) in [
        ("origin", "access-control-allow-origin"),
        ("access-control-request-method", "access-control-allow-methods"),
        ("access-control-request-headers", "access-control-allow-headers"),
    ] {
        if let Some(value) = sent.headers.get(requested) {
            write(allowed, value.clone());
        }
    }
    response
}

async fn handle(
    plan: Plan,
    calls: Arc<Mutex<Vec<Call>>>,
    request: http::Request<Body>,
) -> Result<Response<Body>, Infallible> {
    let (parts, _body) = request.into_parts();
    let path = parts.uri.path().to_owned();
    let is_end = path == END;
    calls.lock().expect("no panic").push(Call {
        method: parts.method,
        path,
        headers: parts.headers,
    });
    let body = match plan.ending {
        Ending::Whole => Body::from("content"),
        Ending::Stream => Body::from_stream(stream::iter(["con", "tent"].map(Ok::<_, Infallible>))),
        // A panic without its message on standard error.
        Ending::Panic => resume_unwind(Box::new("the handler panics")),
        Ending::Never => std::future::pending().await,
    };
    let mut response = Response::new(body);
    let status = if is_end { 200 } else { plan.status };
    *response.status_mut() = StatusCode::from_u16(status).expect("a status");
    for (name, value) in &plan.headers {
        if !is_end || *name != "location" {
            let value = HeaderValue::from_static(value);
            response.headers_mut().append(HeaderName::from_static(name), value);
        }
    }
    Ok(response)
}
