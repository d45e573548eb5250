//! The gates of a request, in order: the same code for a server, for the policies before a service,
//! and for the manifest of an app. Every target passes all of them: handler, mount, proxy, tunnel
//! and fallback.
//!
//! | gate | file | asks |
//! |--:|---|---|
//! | 1 | `wire.rs` | whether all parsers read this request alike |
//! | 2 | `own_origin.rs` | whether it is for this server |
//! | 3 | `route.rs` | which route serves it |
//! | 4 | `cors.rs` | which page sent it; preflights end here |
//! | 5 | `fetch_metadata.rs` | how the page loads it, and whether it may be a replay |
//! | 6 | here | whether its address exceeds its rate |
//! | 7 | `authenticate.rs` | which of its credentials counts |
//! | 8 | `csrf.rs` | whether the user intended it |
//! | 9 | `authorize.rs` | whether the caller has the rights |
//! | 10 | the server | whether the caller exceeds a rate, and whether a permit is free |
//! | 11 | `body.rs` | whether its body is too long, or a part only; its head is judged after gate 6 |
//! | 12 | the server | nothing: it runs the target |
//! | 13 | the server | nothing: it writes the policy onto the response |
//!
//! [`check_head`] runs the gates that need only the head of a request, [`check_caller`] runs gates
//! 8 and 9. The server does the asynchronous work: it counts rates, verifies the credential that
//! [`credential`](authenticate::credential) selects, and reads forms.

pub mod authenticate;
mod authorize;
mod body;
mod cors;
mod csrf;
mod fetch_metadata;
mod own_origin;
mod route;
mod wire;

use std::ops::ControlFlow;

use http::{HeaderMap, StatusCode};

use self::route::RouteMatch;
pub use self::{
    authorize::{GatedCaller, Rights},
    csrf::has_ambient_credential,
    csrf::{ExplicitCredential, Sender},
    route::lookup_method,
};
use crate::{
    catalogue::Refusal,
    cors::{Cors, OriginDecision, Preflight},
    csrf::TokenVerdict,
    head::{Head, OwnOrigin},
    path::value_of,
    route::CompiledFacets,
    router::{Path, Router, Values},
};

/// The gates of a request, in their order.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize, serde::Serialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// Whether all parsers read the request alike.
    Wire,
    /// Whether it is for this server.
    OwnOrigin,
    /// Which route serves it.
    Route,
    /// Which page sent it; preflights end here.
    Cors,
    /// How the page loads it.
    FetchMetadata,
    /// The rate of its address.
    AddressRate,
    /// The identity of its sender.
    Authenticate,
    /// Whether the user intended it.
    Csrf,
    /// Whether the caller has the rights.
    Authorize,
    /// The rate of the principal, and a permit.
    Limits,
    /// Whether its body is too long.
    Body,
    /// Whether the target can take it: the media type of QUERY, the function of JSONP.
    Target,
}

impl Gate {
    /// All gates, in their order.
    pub const ALL: [Self; 12] = [
        Self::Wire,
        Self::OwnOrigin,
        Self::Route,
        Self::Cors,
        Self::FetchMetadata,
        Self::AddressRate,
        Self::Authenticate,
        Self::Csrf,
        Self::Authorize,
        Self::Limits,
        Self::Body,
        Self::Target,
    ];

    /// Its name, as in the file name of the gate.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wire => "wire",
            Self::OwnOrigin => "own_origin",
            Self::Route => "route",
            Self::Cors => "cors",
            Self::FetchMetadata => "fetch_metadata",
            Self::AddressRate => "address_rate",
            Self::Authenticate => "authenticate",
            Self::Csrf => "csrf",
            Self::Authorize => "authorize",
            Self::Limits => "limits",
            Self::Body => "body",
            Self::Target => "target",
        }
    }

    /// Its number, as in documents; the first is 1.
    pub const fn number(self) -> u8 {
        self as u8 + 1
    }
}

/// The facts about an app that the gates need for one request.
pub trait GatedApp<'a> {
    /// A route, or a reference to one.
    type Route: GatedRoute + Copy;
    /// The state of the rate after a request, for its response.
    type Rate;

    /// The names under which the app serves.
    fn own_origin(&self) -> &'a OwnOrigin;

    /// Gate 2: checks whether the request is for this app.
    ///
    /// # Errors
    ///
    /// The reason to refuse it.
    fn admit_host(&self, head: &Head<'_>) -> Result<(), Refusal> {
        self.own_origin().admit(head)
    }

    /// Gate 2: checks whether the statements of proxies about the client can be true.
    ///
    /// # Errors
    ///
    /// The reason to refuse the request.
    fn admit_client(&self) -> Result<(), Refusal> {
        Ok(())
    }

    /// The target that serves CONNECT to other hosts.
    fn tunnel(&self) -> Option<Self::Route> {
        None
    }

    /// The one route of an app without paths, and its response to preflights, without which
    /// they are refused.
    fn sole_route(&self) -> Option<(Self::Route, Option<&'a Preflight>)> {
        None
    }

    /// The paths; `None` for an app with a sole route.
    fn router(&self) -> Option<&'a Router>;

    /// A route, by its index.
    fn route(&self, index: usize) -> Option<Self::Route>;

    /// The target that serves paths without a route.
    fn fallback(&self) -> Option<Self::Route> {
        None
    }

    /// The CORS policy of responses to paths without a route.
    fn not_found_cors(&self) -> Option<&'a Cors> {
        None
    }

    /// Whether the app responds to TRACE.
    fn serves_trace(&self) -> bool {
        false
    }

    /// Gate 6: takes the request from the rate of its address.
    ///
    /// # Errors
    ///
    /// The rate is exceeded.
    fn take_rate(&self, route: Self::Route) -> Result<Self::Rate, Self::Rate>;
}

/// The facts about a route that the gates need.
pub trait GatedRoute {
    /// The template of its path.
    fn template(&self) -> &str;
    /// Its CORS policy.
    fn cors(&self) -> Option<&Cors>;
    /// Its other policies, for those gates that enforce them.
    fn facets(&self) -> CompiledFacets<'_>;
    /// Whether its responses are scripts of JSONP, which every page may load.
    fn has_jsonp(&self) -> bool;
    /// Whether it has a rate per address.
    fn has_rate(&self) -> bool;
    /// The maximum size of a body in bytes.
    fn body_limit(&self) -> Option<u64>;
    /// Whether the route or an argument of its handler may need the caller.
    fn needs_caller(&self) -> bool;

    /// Whether a handler serves it, which would store a partial body as the whole.
    fn is_handler(&self) -> bool {
        false
    }

    /// Whether a proxy serves it.
    fn is_proxy(&self) -> bool {
        false
    }

    /// Whether it is a health probe, which an orchestrator requests under any host name.
    fn is_probe(&self) -> bool {
        false
    }

    /// Of an app without paths: whether preflights end at gate 4, with or without a CORS policy.
    /// Otherwise the target gets them.
    fn judges_preflights(&self) -> bool {
        true
    }

    /// Whether the origin of a WebSocket is judged.
    fn judges_upgrades(&self) -> bool {
        true
    }
}

/// A request as the gates of the head see it.
#[derive(Clone, Copy, Debug)]
pub struct RequestView<'a> {
    /// Its head, with the normal form of its path.
    pub head: &'a Head<'a>,
    /// Its fields.
    pub headers: &'a HeaderMap,
    /// Whether the path has encoded slashes, or why it has no normal form.
    pub path: Result<bool, Refusal>,
}

impl RequestView<'_> {
    /// Whether the policy of a route shares its responses with the origin of this request.
    pub fn grant(&self, route: &impl GatedRoute) -> OriginDecision {
        route.cors().map_or(OriginDecision::Unasked, |cors| {
            cors.decide_origin_of(self.key(cors, route), self.head.origin)
        })
    }

    /// The value of the path parameter that selects the origins of a route.
    fn key(&self, cors: &Cors, route: &impl GatedRoute) -> Option<&str> {
        value_of(route.template(), cors.key()?, self.head.path)
    }
}

/// A request that passed the gates that need only its head.
#[derive(Debug)]
pub struct AdmittedHead<R, Rate> {
    /// The target that serves it.
    pub route: R,
    /// The values of its path parameters.
    pub values: Values,
    /// Whether its response is shared with the page that sent it.
    pub grant: OriginDecision,
    /// The state of the rate of its address after this request.
    pub rate: Rate,
}

/// The end of a request at a gate that needs only its head.
#[derive(Debug)]
pub struct RequestEnd<'a, R, Rate> {
    /// The gate.
    pub gate: Gate,
    /// The response.
    pub response: EndResponse<'a, Rate>,
    /// Which policy the response carries.
    pub policy: PolicyOf<R>,
    /// Whether the response is shared with the page that sent the request.
    pub grant: OriginDecision,
}

/// The response to a request that ends at a gate.
#[derive(Debug)]
pub enum EndResponse<'a, Rate> {
    /// Other parsers may read the request differently, or it is for another server: nothing after it is
    /// read from an HTTP/1.1 connection (RFC 9112 9.6, 11.2).
    Malformed(Refusal),
    /// The request is refused.
    Refused(Refusal),
    /// The rate of its address is exceeded.
    RateExceeded(Rate),
    /// It is a preflight, and the request that it announces may be sent.
    PreflightGranted(StatusCode, HeaderMap),
    /// `OPTIONS *`
    Asterisk,
    /// TRACE returns the request.
    Trace,
    /// The path differs from its route in the trailing slash.
    Redirect,
    /// OPTIONS, to which the server responds automatically.
    Options(&'a Path),
    /// The path has no route for the method.
    MethodNotAllowed(&'a Path),
}

/// Which policy a response carries.
#[derive(Clone, Copy, Debug)]
pub enum PolicyOf<R> {
    /// No route is known: no page may read the response.
    NoRoute,
    /// The policy of paths without a route.
    NotFound,
    /// A route.
    Route(R),
}

impl<'a, R, Rate> RequestEnd<'a, R, Rate> {
    /// A response that no page may read, and that carries no policy of a route.
    fn without_route(gate: Gate, response: EndResponse<'a, Rate>) -> Self {
        Self { gate, response, policy: PolicyOf::NoRoute, grant: OriginDecision::Unasked }
    }

    fn malformed(gate: Gate, refusal: Refusal) -> Self {
        Self::without_route(gate, EndResponse::Malformed(refusal))
    }

    fn from_refusal(gate: Gate, refusal: Refusal, route: R, grant: OriginDecision) -> Self {
        Self {
            gate,
            response: EndResponse::Refused(refusal),
            policy: PolicyOf::Route(route),
            grant,
        }
    }
}

/// The end of a request of this app.
pub type EndOf<'a, A> = RequestEnd<'a, <A as GatedApp<'a>>::Route, <A as GatedApp<'a>>::Rate>;

/// Follows a request through the gates of its head.
pub trait Steps {
    /// The request passed a gate; `is_asked` is whether the gate had anything to check.
    fn on_pass(&mut self, gate: Gate, is_asked: bool);

    /// A gate refuses the request, which ends there by default. To compare two policies, continue:
    /// then the next gate is asked, too, and [`AdmittedHead`] no longer means that all gates admit the
    /// request. Gates 1, 3 and 6 always end a request, and so does a preflight.
    ///
    /// # Errors
    ///
    /// The end of the request.
    #[inline(always)]
    fn on_refusal<'a, R, Rate>(
        &mut self,
        end: RequestEnd<'a, R, Rate>,
    ) -> ControlFlow<RequestEnd<'a, R, Rate>> {
        ControlFlow::Break(end)
    }
}

/// A server only needs to know where a request ends.
impl Steps for () {
    #[inline(always)]
    fn on_pass(&mut self, _gate: Gate, _is_asked: bool) {}
}

/// The tunnel of an app, if the request is for it.
#[inline(always)]
fn tunnel<'a, A: GatedApp<'a>>(app: &A, head: &Head<'_>) -> Option<A::Route> {
    app.tunnel().filter(|_| head.is_tunnel())
}

/// Runs gates 1 to 6, and the part of gate 11 that needs only the head. Breaks with the end of the request at one
/// of them.
#[inline(always)]
pub fn check_head<'a, A: GatedApp<'a>>(
    app: &A,
    request: &RequestView<'a>,
    steps: &mut impl Steps,
) -> ControlFlow<EndOf<'a, A>, AdmittedHead<A::Route, A::Rate>> {
    wire::check(app, request)?;
    steps.on_pass(Gate::Wire, true);
    match own_origin::check(app, request) {
        ControlFlow::Continue(()) => steps.on_pass(Gate::OwnOrigin, true),
        ControlFlow::Break(end) => steps.on_refusal(end)?,
    }
    let matched = route::find(app, request)?;
    steps.on_pass(Gate::Route, true);
    let RouteMatch { route, values } = cors::end_preflight(app, request, matched)?;
    let grant = match cors::admit_page(app, request, route) {
        ControlFlow::Continue(grant) => {
            steps.on_pass(Gate::Cors, route.cors().is_some());
            grant
        }
        ControlFlow::Break(end) => {
            let grant = end.grant.clone();
            steps.on_refusal(end)?;
            grant
        }
    };
    match fetch_metadata::check(app, request, &route, &grant) {
        Ok(()) => steps.on_pass(Gate::FetchMetadata, route.facets().isolation.is_some()),
        Err(refusal) => {
            steps.on_refusal(RequestEnd::from_refusal(
                Gate::FetchMetadata,
                refusal,
                route,
                grant.clone(),
            ))?;
        }
    }
    let rate = match app.take_rate(route) {
        Ok(rate) => rate,
        Err(rate) => {
            let (gate, response) = (Gate::AddressRate, EndResponse::RateExceeded(rate));
            let policy = PolicyOf::Route(route);
            return ControlFlow::Break(RequestEnd { gate, response, policy, grant });
        }
    };
    steps.on_pass(Gate::AddressRate, route.has_rate());
    match body::check(request, &route) {
        Ok(()) => steps.on_pass(Gate::Body, route.body_limit().is_some()),
        Err(refusal) => {
            steps.on_refusal(RequestEnd::from_refusal(
                Gate::Body,
                refusal,
                route,
                grant.clone(),
            ))?;
        }
    }
    ControlFlow::Continue(AdmittedHead { route, values, grant, rate })
}

/// Runs gates 8 and 9 for the caller that gate 7 has identified, if any. `rights` are the
/// requirements of the route; `None` on a public route. `token` is called only if a CSRF token is
/// needed.
///
/// # Errors
///
/// The gate that refuses, and why.
#[inline(always)]
pub fn check_caller<S: AsRef<str>>(
    rights: Option<&Rights<'_, S>>,
    caller: Option<&impl GatedCaller>,
    sender: &Sender,
    headers: &HeaderMap,
    token: impl FnOnce() -> Option<TokenVerdict>,
) -> Result<(), (Gate, Refusal)> {
    if caller.is_some_and(GatedCaller::is_ambient) {
        sender.admit_ambient(token).map_err(|refusal| (Gate::Csrf, refusal))?;
    }
    if let Some(rights) = rights {
        rights.check(caller).map_err(|refusal| (Gate::Authorize, refusal))?;
    }
    match caller {
        Some(_) => Ok(()),
        None => sender.admit_anonymous(headers).map_err(|refusal| (Gate::Csrf, refusal)),
    }
}
