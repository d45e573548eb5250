//! The gates of the server, for the routes of a manifest.

use std::{borrow::Cow, ops::ControlFlow};

use http::{
    HeaderMap,
    header::{
        ACCESS_CONTROL_ALLOW_ORIGIN, AUTHORIZATION, CONTENT_TYPE, COOKIE, PROXY_AUTHORIZATION,
    },
};
use policy_core::{
    Refusal,
    auth::{OWN_ISSUER, is_page_load},
    cookie::{PresentedCookie, presented},
    cors::{Cors, OriginDecision},
    csrf::TokenVerdict,
    gates::{
        self, EndResponse, ExplicitCredential, Gate, GatedApp, GatedRoute, PolicyOf, RequestEnd,
        RequestView, Rights, Sender, Steps,
        authenticate::{Credential, CredentialKinds, credential},
    },
    head::{Head, NormalPath, OwnOrigin},
    jsonp::{Callback, Grammar},
    route::CompiledFacets,
    router::Router,
};

use super::{
    CompiledRoute, CredentialState, CsrfTokenState, Decision, Engine, Login, Outcome,
    RequestCredentials, Step, Verdict,
};
use crate::facets::{ManifestRoute, RouteKind, RouteRequirement, enforced};

mod inspect;

pub(super) use inspect::inspect;
pub(crate) use inspect::{AmbientCredential, CallerFacts, Inspection, SenderFacts};

/// An engine, as the app that the gates check.
struct GatedEngine<'a>(&'a Engine);

impl<'a> GatedApp<'a> for GatedEngine<'a> {
    type Route = &'a CompiledRoute;
    /// No rate is ever exceeded.
    type Rate = ();

    fn own_origin(&self) -> &'a OwnOrigin {
        &self.0.own
    }

    fn tunnel(&self) -> Option<&'a CompiledRoute> {
        self.0.routes.get(self.0.tunnel?)
    }

    fn router(&self) -> Option<&'a Router> {
        Some(&self.0.router)
    }

    fn route(&self, index: usize) -> Option<&'a CompiledRoute> {
        self.0.routes.get(index)
    }

    fn fallback(&self) -> Option<&'a CompiledRoute> {
        self.0.elsewhere_route().filter(|compiled| compiled.route.kind == RouteKind::Fallback)
    }

    fn not_found_cors(&self) -> Option<&'a Cors> {
        self.0.elsewhere_route()?.cors.as_deref()
    }

    fn serves_trace(&self) -> bool {
        self.0.serves_trace
    }

    fn take_rate(&self, _route: &'a CompiledRoute) -> Result<(), ()> {
        Ok(())
    }
}

impl GatedRoute for &CompiledRoute {
    fn template(&self) -> &str {
        &self.route.path
    }

    fn cors(&self) -> Option<&Cors> {
        self.cors.as_deref()
    }

    fn facets(&self) -> CompiledFacets<'_> {
        enforced(&self.route)
    }

    fn has_jsonp(&self) -> bool {
        self.route.jsonp.is_some()
    }

    fn has_rate(&self) -> bool {
        self.route.limits.rate.is_some()
    }

    fn body_limit(&self) -> Option<u64> {
        self.route.limits.body
    }

    fn needs_caller(&self) -> bool {
        self.needs_caller
    }

    fn is_handler(&self) -> bool {
        self.route.kind == RouteKind::Handler
    }

    fn is_proxy(&self) -> bool {
        self.route.kind == RouteKind::Proxy
    }

    fn is_probe(&self) -> bool {
        self.route.kind == RouteKind::Probe
    }
}

pub(super) fn decide<'c>(
    engine: &Engine,
    head: Head<'_>,
    headers: &HeaderMap,
    caller: impl FnOnce(&ManifestRoute) -> Cow<'c, RequestCredentials>,
) -> Decision {
    let loads_page = is_page_load(head.method, headers);
    with_view(engine, head, headers, |request| {
        let mut steps = RecordedSteps(Vec::with_capacity(Gate::ALL.len()));
        match gates::check_head(&GatedEngine(engine), &request, &mut steps) {
            ControlFlow::Continue(admitted) => {
                let compiled = admitted.route;
                let caller = caller(&compiled.route);
                let run = CallerGates::new(engine, compiled, &request, &admitted.grant, &caller);
                let (is_authenticated, ended) = run.check(&mut steps);
                let mut decision =
                    decision(engine, compiled, admitted.grant, steps, is_authenticated, ended);
                if loads_page && is_sent_to_login(engine, compiled, &decision) {
                    decision.status = Some(303);
                }
                decision
            }
            ControlFlow::Break(end) => ended_early(engine, end, steps),
        }
    })
}

pub(super) fn login(
    engine: &Engine,
    head: Head<'_>,
    headers: &HeaderMap,
    caller: &RequestCredentials,
) -> Option<Login> {
    with_view(engine, head, headers, |request| {
        let admitted =
            gates::check_head(&GatedEngine(engine), &request, &mut RecordedSteps(Vec::new()));
        let admitted = admitted.continue_value()?;
        let run = CallerGates::new(engine, admitted.route, &request, &admitted.grant, caller);
        let known = run.authenticate().ok()??;
        // Only tokens and tickets have issuers.
        let issuer = known.login.issuer.clone().filter(|_| known.explicit.is_some());
        Some(Login { issuer, ..known.login.clone() })
    })
}

/// Reads the head of a request for the gates.
fn with_view<T>(
    engine: &Engine,
    head: Head<'_>,
    headers: &HeaderMap,
    then: impl FnOnce(RequestView<'_>) -> T,
) -> T {
    let presented = (head.is_tunnel() && engine.tunnel.is_some()).then(|| to_proxy(headers));
    // `*`, and the authority of CONNECT, have no path.
    let normal = head.path.starts_with('/').then(|| NormalPath::parse(head.path)).transpose();
    let path = match &normal {
        Ok(normal) => Ok(normal.as_ref().is_some_and(NormalPath::has_encoded_slash)),
        Err(refusal) => Err(*refusal),
    };
    let mut head = head;
    if let Ok(Some(normal)) = &normal {
        head.path = normal.as_str();
    }
    then(RequestView { head: &head, headers: presented.as_ref().unwrap_or(headers), path })
}

/// The headers of a request for a tunnel, as the gates read them: the credential for this server is
/// `Proxy-Authorization`, and the others are for the server behind the tunnel (RFC 9110 11.7.2).
fn to_proxy(headers: &HeaderMap) -> HeaderMap {
    let mut presented = headers.clone();
    presented.remove(AUTHORIZATION);
    presented.remove(COOKIE);
    for value in headers.get_all(PROXY_AUTHORIZATION) {
        presented.append(AUTHORIZATION, value.clone());
    }
    presented
}

/// The steps of a decision.
struct RecordedSteps(Vec<Step>);

impl Steps for RecordedSteps {
    fn on_pass(&mut self, gate: Gate, is_asked: bool) {
        let verdict = if is_asked { Verdict::Passed } else { Verdict::NotAsked };
        self.0.push(Step { gate, verdict });
    }
}

/// A caller that was identified.
struct IdentifiedCaller<'a> {
    login: &'a Login,
    is_ambient: bool,
    /// The credential, unless browsers may send it automatically.
    explicit: Option<ExplicitCredential>,
    is_session: bool,
    is_scheme: bool,
}

impl gates::GatedCaller for IdentifiedCaller<'_> {
    fn is_ambient(&self) -> bool {
        self.is_ambient
    }

    fn has_scope(&self, scope: &str) -> bool {
        self.login.scopes.iter().any(|held| held == scope)
    }

    fn has_role(&self, role: &str) -> bool {
        self.login.roles.iter().any(|held| held == role)
    }

    fn is_fresh(&self, seconds: u32) -> bool {
        self.is_scheme || self.login.age.is_some_and(|age| age < seconds)
    }
}

impl RouteRequirement {
    fn accepted_credentials(&self) -> CredentialKinds {
        let Self { session, token, ticket, .. } = *self;
        CredentialKinds { session, token, ticket, scheme: self.scheme.is_some() }
    }

    fn rights(&self) -> Rights<'_, String> {
        let Self { optional, scopes, roles, fresh, .. } = self;
        Rights { optional: *optional, scopes, roles, fresh: *fresh }
    }
}

/// Gates 7 to 12 of one request.
struct CallerGates<'a> {
    engine: &'a Engine,
    compiled: &'a CompiledRoute,
    request: &'a RequestView<'a>,
    sender: Sender,
    caller: &'a RequestCredentials,
}

impl<'a> CallerGates<'a> {
    fn new(
        engine: &'a Engine,
        compiled: &'a CompiledRoute,
        request: &'a RequestView<'a>,
        grant: &OriginDecision,
        caller: &'a RequestCredentials,
    ) -> Self {
        let (head, headers) = (request.head, request.headers);
        let (cors, csrf) = (compiled.cors.as_deref(), compiled.csrf);
        let checks = compiled.checks_anonymous;
        let sender = Sender::new(&engine.own, head, headers, cors, grant, csrf, checks);
        Self { engine, compiled, request, sender, caller }
    }

    /// Whether a caller is known, and the gate at which the request ends.
    fn check(&self, steps: &mut RecordedSteps) -> (bool, Result<(), (Gate, Refusal)>) {
        let known = match self.authenticate() {
            Ok(known) => known,
            Err(refused) => return (false, Err(refused)),
        };
        let requirement = self.requirement();
        steps.on_pass(Gate::Authenticate, requirement.is_some());
        let is_ambient = known.as_ref().is_some_and(|known| known.is_ambient);
        let judged = [
            (Gate::Csrf, is_ambient || self.compiled.checks_anonymous),
            (Gate::Authorize, requirement.is_some()),
        ];
        let checked = self.check_rights(known.as_ref());
        let end = checked.err().map(|(gate, _)| gate);
        for (gate, is_asked) in judged.into_iter().take_while(|(gate, _)| Some(*gate) != end) {
            steps.on_pass(gate, is_asked);
        }
        let ended = checked.and_then(|()| {
            steps.on_pass(Gate::Limits, self.compiled.route.limits.concurrency.is_some());
            self.target()?;
            steps.on_pass(Gate::Target, self.compiled.route.jsonp.is_some());
            self.admit_session(known.as_ref())
        });
        (known.is_some(), ended)
    }

    fn requirement(&self) -> Option<&'a RouteRequirement> {
        self.compiled.route.auth.requirement()
    }

    fn authenticate(&self) -> Result<Option<IdentifiedCaller<'a>>, (Gate, Refusal)> {
        self.requirement().map_or(Ok(None), |requirement| self.identify(requirement))
    }

    fn check_rights(&self, known: Option<&IdentifiedCaller<'_>>) -> Result<(), (Gate, Refusal)> {
        let rights = self.requirement().map(RouteRequirement::rights);
        let token = || csrf_token(self.caller, known.is_some_and(|known| known.is_session));
        gates::check_caller(rights.as_ref(), known, &self.sender, self.request.headers, token)
    }

    /// Identifies the caller by the deciding credential.
    fn identify(
        &self,
        requirement: &RouteRequirement,
    ) -> Result<Option<IdentifiedCaller<'a>>, (Gate, Refusal)> {
        let RequestView { head, headers, .. } = *self.request;
        let taken = requirement.accepted_credentials();
        let counts = credential(taken, head.method, head.uri.query(), headers, &self.sender)?;
        let (state, invalid) = match counts {
            Credential::None => return Ok(None),
            Credential::Session => {
                return self.session().map_err(|refusal| (Gate::Authenticate, refusal));
            }
            Credential::Bearer(_) => (&self.caller.token, Refusal::TokenInvalid),
            Credential::Ticket(_) => (&self.caller.ticket, Refusal::TicketInvalid),
            Credential::Scheme => (&self.caller.scheme, Refusal::CredentialInvalid),
        };
        let scheme = requirement.scheme.as_ref().filter(|_| counts == Credential::Scheme);
        let explicit = match counts {
            Credential::Bearer(_) => Some(ExplicitCredential::Token),
            Credential::Ticket(_) => Some(ExplicitCredential::Ticket),
            _ => None,
        };
        let refusal = match state {
            CredentialState::Valid(login)
                if scheme.is_some() || self.takes(login, explicit, &requirement.issuers) =>
            {
                return Ok(Some(IdentifiedCaller {
                    login,
                    is_ambient: scheme.is_some_and(|scheme| scheme.ambient),
                    explicit,
                    is_session: false,
                    is_scheme: scheme.is_some(),
                }));
            }
            CredentialState::Absent if scheme.is_some() => return Ok(None),
            CredentialState::Expired if explicit == Some(ExplicitCredential::Token) => {
                Refusal::TokenExpired
            }
            CredentialState::Unchecked => Refusal::CredentialsUnchecked,
            _ => invalid,
        };
        Err((Gate::Authenticate, refusal))
    }

    /// Whether a route that names these issuers takes this login. If it names none, it takes those
    /// of the app, or, in an app that signs no tokens, those of its only issuer. Tickets are issued from
    /// sessions, too.
    fn takes(
        &self,
        login: &Login,
        explicit: Option<ExplicitCredential>,
        issuers: &[String],
    ) -> bool {
        let Engine { own_issuer, only_issuer, has_sessions, .. } = self.engine;
        let is_of_session = explicit == Some(ExplicitCredential::Ticket) && *has_sessions;
        match (&login.issuer, issuers) {
            (None, []) => own_issuer.is_some() || is_of_session,
            (Some(_), []) => login.issuer == *only_issuer,
            (None, named) => {
                named.iter().any(|name| name == OWN_ISSUER || Some(name) == own_issuer.as_ref())
            }
            (Some(issuer), named) => named.contains(issuer),
        }
    }

    /// The caller of the session that the cookie names.
    fn session(&self) -> Result<Option<IdentifiedCaller<'a>>, Refusal> {
        let presented = presented(self.request.headers, &self.engine.cookie);
        let presented = presented.map_err(|_limit| Refusal::CookiesTooLarge)?;
        // If there are several, another host of the site planted one, and none is used.
        if matches!(presented, PresentedCookie::Absent | PresentedCookie::Ambiguous) {
            return Ok(None);
        }
        match &self.caller.session {
            CredentialState::Valid(login) => Ok(Some(IdentifiedCaller {
                login,
                is_ambient: true,
                explicit: None,
                is_session: true,
                is_scheme: false,
            })),
            CredentialState::Unchecked => Err(Refusal::CredentialsUnchecked),
            _ => Ok(None),
        }
    }

    /// A handler that takes the session itself gets it only if the request may use it.
    fn admit_session(&self, known: Option<&IdentifiedCaller<'_>>) -> Result<(), (Gate, Refusal)> {
        if !self.compiled.route.takes_session {
            return Ok(());
        }
        let explicit = known.and_then(|known| known.explicit);
        let has_session = match explicit {
            Some(_) => Ok(false),
            None => self.session().map(|session| session.is_some()),
        };
        let admitted = has_session.and_then(|has_session| {
            self.sender.admit_session(explicit, || csrf_token(self.caller, has_session))
        });
        admitted.map_err(|refusal| (Gate::Csrf, refusal))
    }

    /// The refusals of the handler's extractors.
    fn target(&self) -> Result<(), (Gate, Refusal)> {
        let RequestView { head, headers, .. } = *self.request;
        let route = &self.compiled.route;
        let refused = |refusal| Err((Gate::Target, refusal));
        let is_untyped = head.method.as_str() == "QUERY" && !headers.contains_key(CONTENT_TYPE);
        if is_untyped && route.kind == RouteKind::Handler {
            return refused(Refusal::MediaType);
        }
        if let Some(jsonp) = &route.jsonp {
            let grammar = if jsonp.dotted { Grammar::Dotted } else { Grammar::Identifier };
            let query = head.uri.query().unwrap_or_default();
            let callback = Callback::from_query(query, &jsonp.callback, grammar);
            callback.map_err(|refusal| (Gate::Target, refusal))?;
        }
        Ok(())
    }
}

/// The decision about a request that ends at a gate of its head.
fn ended_early(
    engine: &Engine,
    end: RequestEnd<'_, &CompiledRoute, ()>,
    mut steps: RecordedSteps,
) -> Decision {
    let RequestEnd { gate, response, policy, grant } = end;
    let compiled = match policy {
        PolicyOf::NoRoute => None,
        PolicyOf::NotFound => engine.elsewhere_route(),
        PolicyOf::Route(compiled) => Some(compiled),
    };
    if gate == Gate::Cors && steps.0.len() == 2 {
        steps.on_pass(Gate::Route, true);
    }
    let automatic = |status| (Verdict::Ended, Outcome::Automatic, status);
    let refused =
        |refusal: Refusal| (Verdict::Refused(refusal), Outcome::Refused(refusal), refusal.status());
    let mut granted = None;
    let (verdict, outcome, status) = match response {
        EndResponse::Malformed(refusal) | EndResponse::Refused(refusal) => refused(refusal),
        EndResponse::RateExceeded(()) => refused(Refusal::RateExceeded),
        EndResponse::MethodNotAllowed(_) => refused(Refusal::MethodNotAllowed),
        EndResponse::PreflightGranted(status, headers) => {
            granted = Some(headers);
            (Verdict::Ended, Outcome::PreflightGranted, status.as_u16())
        }
        EndResponse::Asterisk | EndResponse::Options(_) => automatic(204),
        EndResponse::Trace => automatic(200),
        EndResponse::Redirect => automatic(308),
    };
    steps.0.push(Step { gate, verdict });
    let cors = granted.unwrap_or_else(|| cors_headers(compiled, grant));
    let route = compiled.map(|compiled| compiled.index);
    let if_listed = assumed_list(compiled, &cors);
    let steps = steps.0;
    let status = Some(status);
    Decision { outcome, status, route, steps, is_authenticated: false, cors, if_listed }
}

fn decision(
    engine: &Engine,
    compiled: &CompiledRoute,
    grant: OriginDecision,
    mut steps: RecordedSteps,
    is_authenticated: bool,
    ended: Result<(), (Gate, Refusal)>,
) -> Decision {
    let (outcome, status) = match ended {
        Ok(()) => (Outcome::Reached, None),
        Err((gate, refusal)) => {
            let refusal = match refusal.status() {
                401 if Some(compiled.index) == engine.tunnel => Refusal::TunnelCredentials,
                _ => refusal,
            };
            steps.0.push(Step { gate, verdict: Verdict::Refused(refusal) });
            (Outcome::Refused(refusal), Some(refusal.status()))
        }
    };
    let (route, cors) = (Some(compiled.index), cors_headers(Some(compiled), grant));
    let if_listed = assumed_list(Some(compiled), &cors);
    Decision { outcome, status, route, steps: steps.0, is_authenticated, cors, if_listed }
}

/// Whether a navigation that is refused gets the address of the login page instead.
fn is_sent_to_login(engine: &Engine, compiled: &CompiledRoute, decision: &Decision) -> bool {
    engine.has_login_page
        && compiled.route.auth.requirement().is_some_and(|requirement| requirement.session)
        && decision.refusal() == Some(Refusal::CredentialsMissing)
        && decision.steps.last().is_some_and(|step| step.gate == Gate::Authorize)
}

/// The CORS headers of a response.
fn cors_headers(compiled: Option<&CompiledRoute>, grant: OriginDecision) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Some(cors) = compiled.and_then(|compiled| compiled.cors.as_deref()) {
        cors.apply(grant, &mut headers);
    }
    headers
}

/// The list that is assumed to name the origin, if the response is shared with it for that.
fn assumed_list(compiled: Option<&CompiledRoute>, cors: &HeaderMap) -> Option<String> {
    let list = compiled?.assumed_list.as_ref();
    list.filter(|_| cors.contains_key(ACCESS_CONTROL_ALLOW_ORIGIN)).cloned()
}

/// The CSRF token of a request; `None` if there is no session that it could be bound to.
fn csrf_token(caller: &RequestCredentials, has_session: bool) -> Option<TokenVerdict> {
    has_session.then_some(match caller.csrf {
        CsrfTokenState::Valid => TokenVerdict::Valid,
        CsrfTokenState::Absent | CsrfTokenState::Invalid => TokenVerdict::Invalid,
    })
}
