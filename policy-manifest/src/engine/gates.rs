//! The gates, in the order in which the server runs them.

use std::borrow::Cow;

use http::{
    HeaderMap, Method,
    header::{AUTHORIZATION, CONTENT_RANGE, CONTENT_TYPE, COOKIE, PROXY_AUTHORIZATION},
};

use super::{
    Caller, CompiledRoute, CredentialState, CsrfToken, Decision, Engine, Gate, Login, Outcome,
    Step, Verdict,
};
use crate::{
    facets::{Auth, Requirement},
    route::{Route, RouteKind},
};
use policy_core::{
    Refusal,
    auth::{Authorization, OWN_ISSUER, authorization},
    cookie::{Presented, presented},
    cors::{Cors, OriginDecision, Preflight},
    csrf::{OriginFacts, Provenance, TokenVerdict},
    gate::{Head, NormalPath, Single},
    isolation::{FetchMetadata, StatedOrigin},
    jsonp::{Callback, Grammar},
    method,
    path::value_of,
    reverse_proxy::is_last_hop,
};

mod inspect;

pub(super) use inspect::inspect;
pub(crate) use inspect::{CallerFacts, Inspection, SenderFacts};

pub(super) fn decide<'c>(
    engine: &Engine,
    head: Head<'_>,
    headers: &HeaderMap,
    caller: impl FnOnce(&Route) -> Cow<'c, Caller>,
) -> Decision {
    with_run(engine, head, headers, |mut run, path| {
        let ended = run.of_the_head(path).and_then(|compiled| {
            let caller = caller(&compiled.route);
            run.of_the_caller(compiled, &caller)
        });
        run.decision(ended)
    })
}

/// Reads the head of a request for the gates. `then` gets whether its path has encoded slashes, or what
/// is wrong with it.
fn with_run<T>(
    engine: &Engine,
    head: Head<'_>,
    headers: &HeaderMap,
    then: impl FnOnce(Run<'_>, Result<bool, Refusal>) -> T,
) -> T {
    let is_tunnel = head.is_tunnel() && engine.tunnel.is_some();
    let presented = is_tunnel.then(|| to_proxy(headers));
    let normal = NormalPath::of(head.path);
    let path = match &normal {
        Ok(normal) if head.path.starts_with('/') => normal.as_str(),
        _ => head.path,
    };
    let mut head = head;
    head.path = path;
    let run = Run {
        engine,
        head: &head,
        headers: presented.as_ref().unwrap_or(headers),
        is_tunnel,
        steps: Vec::with_capacity(Gate::ALL.len()),
        route: None,
        grant: OriginDecision::Unasked,
        is_authenticated: false,
    };
    then(run, normal.as_ref().map(NormalPath::has_encoded_slash).map_err(|refusal| *refusal))
}

/// The method by which a route is found: a WebSocket over HTTP/2 is GET.
pub(super) fn method_of<'a>(head: &Head<'a>) -> &'a str {
    if head.is_extended_websocket() { "GET" } else { head.method.as_str() }
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

/// How a request ends before its handler.
enum End {
    Refused(Gate, Refusal),
    /// With a response of the server.
    Responded(Gate, u16, Outcome, HeaderMap),
}

/// The gates of one request.
struct Run<'a> {
    engine: &'a Engine,
    head: &'a Head<'a>,
    headers: &'a HeaderMap,
    is_tunnel: bool,
    steps: Vec<Step>,
    /// The route whose policy the response carries.
    route: Option<usize>,
    grant: OriginDecision,
    is_authenticated: bool,
}

/// A caller that is known.
struct Known<'a> {
    login: &'a Login,
    is_ambient: bool,
    /// A token or a ticket, which no browser sends by itself.
    is_explicit: bool,
    has_ticket: bool,
    is_session: bool,
    is_scheme: bool,
}

impl<'a> Run<'a> {
    fn passed(&mut self, gate: Gate, is_asked: bool) {
        let verdict = if is_asked { Verdict::Passed } else { Verdict::NotAsked };
        self.steps.push(Step { gate, verdict });
    }

    /// The gates that need only the head: the route that serves the request.
    fn of_the_head(&mut self, path: Result<bool, Refusal>) -> Result<&'a CompiledRoute, End> {
        let index = self.route(path)?;
        self.route = Some(index);
        let not_found = End::Refused(Gate::Route, Refusal::RouteNotFound);
        let compiled = self.engine.routes.get(index).ok_or(not_found)?;
        self.passed(Gate::Route, true);
        self.origin(compiled)?;
        self.isolation(compiled)?;
        let rate = compiled.route.limits.rate;
        self.passed(Gate::AddressRate, rate.is_some());
        self.body(compiled)?;
        Ok(compiled)
    }

    /// The gates behind them.
    fn of_the_caller(&mut self, compiled: &CompiledRoute, caller: &Caller) -> Result<(), End> {
        let provenance = self.provenance(compiled);
        let query = self.head.uri.query();
        let known = self.authenticate(compiled, caller, provenance, query)?;
        self.is_authenticated = known.is_some();
        self.csrf(compiled, caller, provenance, known.as_ref())?;
        self.authorize(compiled, provenance, known.as_ref())?;
        self.passed(Gate::Limits, compiled.route.limits.concurrency.is_some());
        self.target(compiled, query)?;
        self.session_of_handler(compiled, caller, provenance, known.as_ref())?;
        Ok(())
    }

    /// Gates 1 to 3: the index of the route that serves the request.
    fn route(&mut self, path: Result<bool, Refusal>) -> Result<usize, End> {
        self.wire(path)?;
        self.own_origin()?;
        self.find(path == Ok(true))
    }

    fn wire(&mut self, path: Result<bool, Refusal>) -> Result<(), End> {
        let head = self.head;
        let of_wire = head.well_formed().and_then(|()| match self.is_tunnel {
            true => head.authority().map(drop),
            false => head.target().and(match head.path.starts_with('/') {
                true => path.map(drop),
                false => Ok(()),
            }),
        });
        of_wire.map_err(|refusal| End::Refused(Gate::Wire, refusal))?;
        self.passed(Gate::Wire, true);
        Ok(())
    }

    fn own_origin(&mut self) -> Result<(), End> {
        if !self.is_tunnel
            && let Err(refusal) = self.engine.own.admit(self.head)
        {
            let is_probe = || {
                let found = self.engine.paths.find(self.head.path)?;
                let route = self.engine.routes.get(found.path.route(self.head.method.as_str())?)?;
                Some(route.route.kind == RouteKind::Probe)
            };
            if !self.head.admits_probe(refusal) || is_probe() != Some(true) {
                return Err(End::Refused(Gate::OwnOrigin, refusal));
            }
        }
        self.passed(Gate::OwnOrigin, true);
        Ok(())
    }

    /// Gate 3, and gate 4 for preflights.
    fn find(&mut self, has_encoded_slash: bool) -> Result<usize, End> {
        let (engine, head) = (self.engine, self.head);
        if self.is_tunnel
            && let Some(tunnel) = engine.tunnel
        {
            return Ok(tunnel);
        }
        let automatic =
            |gate, status| End::Responded(gate, status, Outcome::Automatic, HeaderMap::new());
        if head.is_asterisk() {
            return Err(automatic(Gate::Route, 204));
        }
        if *head.method == Method::TRACE && engine.serves_trace {
            return Err(automatic(Gate::Route, 200));
        }
        if head.protocol.is_some() && !head.is_extended_websocket() {
            return Err(End::Refused(Gate::Route, Refusal::ProtocolUnknown));
        }
        let Some(found) = engine.paths.find(head.path) else {
            return self.not_found(has_encoded_slash);
        };
        let answers_for_all = || {
            let is_shared =
                |index: &usize| engine.routes.get(*index).is_some_and(|route| route.cors.is_some());
            let methods = found.path.methods.iter();
            let first = methods.min_by_key(|(name, index)| {
                (!is_shared(index), !method::is_safe(name), name.as_str())
            });
            first.map(|(_, index)| *index)
        };
        if head.is_preflight() {
            self.passed(Gate::Route, true);
            let asked = match head.request_method {
                Single::One(method) => std::str::from_utf8(method.as_bytes())
                    .ok()
                    .and_then(|name| found.path.route(name)),
                Single::Absent | Single::Repeated => None,
            };
            let served = asked.or_else(answers_for_all);
            return Err(self.preflight(&found.path.methods, served, asked.is_some()));
        }
        if found.is_redirected {
            self.route = found.path.route(method_of(head)).or_else(answers_for_all);
            self.note_grant();
            return Err(match method::is_safe(head.method.as_str()) {
                true => automatic(Gate::Route, 308),
                false => End::Refused(Gate::Route, Refusal::RouteNotFound),
            });
        }
        match found.path.route(method_of(head)).filter(|index| !self.ends_here(*index)) {
            Some(index) => {
                let is_taken = || {
                    let has_rest = engine.routes.get(index).is_some_and(|compiled| {
                        matches!(compiled.route.kind, RouteKind::Mount | RouteKind::Proxy)
                            || compiled.route.path.contains("{*")
                    });
                    found.takes_slashes(index)
                        && !(has_rest
                            && engine.paths.hides_other(head.path, method_of(head), index))
                };
                if has_encoded_slash && !is_taken() {
                    self.route = Some(index);
                    self.note_grant();
                    return Err(End::Refused(Gate::Route, Refusal::PathEncodedSlash));
                }
                Ok(index)
            }
            None => {
                self.route = answers_for_all();
                self.note_grant();
                if *head.method == Method::OPTIONS {
                    return Err(automatic(Gate::Route, 204));
                }
                let refusal = if self.is_method_known() {
                    Refusal::MethodNotAllowed
                } else {
                    Refusal::MethodUnknown
                };
                Err(End::Refused(Gate::Route, refusal))
            }
        }
    }

    /// Whether a request that a proxy would forward goes no further than this server (RFC 9110 7.6.2).
    fn ends_here(&self, route: usize) -> bool {
        let proxy = self.engine.routes.get(route);
        proxy.is_some_and(|compiled| compiled.route.kind == RouteKind::Proxy)
            && is_last_hop(self.head.method, self.headers)
    }

    fn not_found(&mut self, has_encoded_slash: bool) -> Result<usize, End> {
        let (engine, head) = (self.engine, self.head);
        self.route = engine.elsewhere;
        self.note_grant();
        let refused = |refusal| Err(End::Refused(Gate::Route, refusal));
        if has_encoded_slash && !head.is_preflight() {
            return refused(Refusal::PathEncodedSlash);
        }
        let elsewhere = engine.elsewhere.and_then(|index| Some((index, engine.routes.get(index)?)));
        if let Some((index, compiled)) = elsewhere
            && compiled.route.kind == RouteKind::Fallback
            && !head.is_preflight()
        {
            return Ok(index);
        }
        let unserved = elsewhere.and_then(|(_, compiled)| {
            let cors =
                compiled.cors.as_ref().filter(|_| compiled.route.kind == RouteKind::NotFound)?;
            Some((cors, cors.unserved_preflight(head.request_method)?))
        });
        if head.is_preflight()
            && let Some((cors, preflight)) = unserved
        {
            self.passed(Gate::Route, true);
            return Err(self.answer(cors, &preflight));
        }
        if head.is_preflight() && self.grant == OriginDecision::Refused {
            self.passed(Gate::Route, true);
            return Err(End::Refused(Gate::Cors, Refusal::PreflightOrigin));
        }
        refused(if self.is_method_known() {
            Refusal::RouteNotFound
        } else {
            Refusal::MethodUnknown
        })
    }

    fn is_method_known(&self) -> bool {
        let method = self.head.method.as_str();
        method::is_known(method) || self.engine.paths.serves(method)
    }

    fn compiled(&self) -> Option<&'a CompiledRoute> {
        self.engine.routes.get(self.route?)
    }

    /// Whether the policy of the route shares its responses with the origin of the request.
    fn note_grant(&mut self) {
        let cors = self.compiled().and_then(|compiled| compiled.cors.as_ref());
        self.grant = cors.map_or(OriginDecision::Unasked, |cors| {
            cors.decide_origin_of(self.key(cors), self.head.origin)
        });
    }

    /// The value that chooses the origins of the route.
    fn key(&self, cors: &Cors) -> Option<&'a str> {
        value_of(&self.compiled()?.route.path, cors.key()?, self.head.path)
    }

    fn preflight(
        &mut self,
        methods: &[(String, usize)],
        served: Option<usize>,
        is_asked: bool,
    ) -> End {
        let (engine, head) = (self.engine, self.head);
        let shared = served.and_then(|index| {
            let cors = engine.routes.get(index)?.cors.as_ref()?;
            Some((index, cors, engine.preflight(methods, index)?))
        });
        let Some((index, cors, preflight)) = shared else {
            return End::Refused(Gate::Cors, Refusal::PreflightOrigin);
        };
        self.route = Some(index);
        let unserved = match is_asked {
            true => None,
            false => cors.unserved_preflight(head.request_method),
        };
        self.answer(cors, &unserved.unwrap_or(preflight))
    }

    fn answer(&mut self, cors: &Cors, preflight: &Preflight) -> End {
        let head = self.head;
        match preflight.answer_of(cors, self.key(cors), head.origin, head.request_method) {
            Ok((status, headers)) => {
                End::Responded(Gate::Cors, status.as_u16(), Outcome::PreflightGranted, headers)
            }
            Err(refusal) => {
                self.grant = OriginDecision::Refused;
                End::Refused(Gate::Cors, refusal)
            }
        }
    }

    /// Gate 4 for requests that are no preflights.
    fn origin(&mut self, compiled: &CompiledRoute) -> Result<(), End> {
        let head = self.head;
        if self.is_tunnel && head.origin != Single::Absent {
            return Err(End::Refused(Gate::Cors, Refusal::TunnelOrigin));
        }
        self.note_grant();
        if head.is_upgrade() && !self.is_tunnel {
            let may = match head.origin {
                Single::Absent => true,
                Single::Repeated => false,
                Single::One(origin) => {
                    self.grant.grants(head.origin, compiled.cors.as_ref())
                        || self.engine.own.is_own(head, origin.as_bytes())
                }
            };
            if !may {
                return Err(End::Refused(Gate::Cors, Refusal::WebSocketOrigin));
            }
        }
        self.passed(Gate::Cors, compiled.cors.is_some());
        Ok(())
    }

    fn isolation(&mut self, compiled: &CompiledRoute) -> Result<(), End> {
        let head = self.head;
        let refused = |refusal| End::Refused(Gate::FetchMetadata, refusal);
        if head.is_early && (!method::is_safe(head.method.as_str()) || self.asks_caller(compiled)) {
            return Err(refused(Refusal::TooEarly));
        }
        // Every page may load a script of JSONP.
        if let Some(isolation) = compiled.route.isolation {
            let is_granted = self.grant.grants(head.origin, compiled.cors.as_ref())
                || compiled.route.jsonp.is_some();
            let is_own = match head.origin {
                Single::One(origin) => self.engine.own.is_own(head, origin.as_bytes()),
                Single::Absent | Single::Repeated => false,
            };
            let origin = match (is_granted, is_own) {
                (true, _) => StatedOrigin::Granted,
                (false, true) => StatedOrigin::Own,
                (false, false) => StatedOrigin::Other,
            };
            let metadata = FetchMetadata::read(self.headers);
            isolation.admit(&metadata, head.method, origin).map_err(refused)?;
        }
        self.passed(Gate::FetchMetadata, compiled.route.isolation.is_some());
        Ok(())
    }

    fn asks_caller(&self, compiled: &CompiledRoute) -> bool {
        let is_service = matches!(compiled.route.kind, RouteKind::Mount | RouteKind::Fallback);
        let extracts = is_service || compiled.route.takes_session;
        compiled.route.auth != Auth::Public || (extracts && self.engine.knows_callers)
    }

    fn body(&mut self, compiled: &CompiledRoute) -> Result<(), End> {
        let refusal = match (self.is_too_long(compiled), self.takes_part(compiled)) {
            (true, _) => Some(Refusal::BodyTooLarge),
            (false, false) => Some(Refusal::ContentRange),
            (false, true) => None,
        };
        match refusal {
            Some(refusal) => Err(End::Refused(Gate::Body, refusal)),
            None => {
                self.passed(Gate::Body, compiled.route.limits.body.is_some());
                Ok(())
            }
        }
    }

    fn is_too_long(&self, compiled: &CompiledRoute) -> bool {
        let length = match self.head.content_length {
            Single::One(length) => length.to_str().ok().and_then(|text| text.parse::<u64>().ok()),
            Single::Absent | Single::Repeated => None,
        };
        match (length, compiled.route.limits.body) {
            (Some(length), Some(most)) => length > most,
            _ => false,
        }
    }

    /// Whether it is no part of a body, or what serves the route knows what to do with one.
    fn takes_part(&self, compiled: &CompiledRoute) -> bool {
        *self.head.method != Method::PUT
            || compiled.route.kind != RouteKind::Handler
            || !self.headers.contains_key(CONTENT_RANGE)
    }

    fn provenance(&self, compiled: &CompiledRoute) -> Provenance {
        let is_trusted = |origin: &[u8]| match &self.grant {
            OriginDecision::Origin(granted) => {
                granted.as_bytes() == origin
                    && compiled.cors.as_ref().is_some_and(Cors::allows_credentials)
            }
            OriginDecision::Unasked | OriginDecision::Refused => false,
        };
        let facts = OriginFacts::read(self.head, self.headers);
        Provenance::of(&facts, |origin| self.engine.own.is_own(self.head, origin), is_trusted)
    }

    fn requirement(compiled: &CompiledRoute) -> Option<&Requirement> {
        match &compiled.route.auth {
            Auth::Public => None,
            Auth::Required(requirement) => Some(requirement),
        }
    }

    fn authenticate<'c>(
        &mut self,
        compiled: &CompiledRoute,
        caller: &'c Caller,
        provenance: Provenance,
        query: Option<&str>,
    ) -> Result<Option<Known<'c>>, End> {
        let Some(requirement) = Self::requirement(compiled) else {
            self.passed(Gate::Authenticate, false);
            return Ok(None);
        };
        let known = self.credential((compiled, requirement), caller, provenance, query);
        let known = known.map_err(|(gate, refusal)| End::Refused(gate, refusal))?;
        self.passed(Gate::Authenticate, true);
        Ok(known)
    }

    /// The credential that counts. On a route that takes bearer tokens, a token alone decides.
    fn credential<'c>(
        &self,
        (compiled, requirement): (&CompiledRoute, &Requirement),
        caller: &'c Caller,
        provenance: Provenance,
        query: Option<&str>,
    ) -> Result<Option<Known<'c>>, (Gate, Refusal)> {
        let refused = |refusal| (Gate::Authenticate, refusal);
        let explicit = |login, has_ticket| Known {
            login,
            is_ambient: false,
            is_explicit: true,
            has_ticket,
            is_session: false,
            is_scheme: false,
        };
        if requirement.token {
            match authorization(self.headers) {
                Authorization::None | Authorization::OtherScheme => (),
                Authorization::Invalid => return Err(refused(Refusal::AuthorizationMalformed)),
                Authorization::Bearer(_) => {
                    return match &caller.token {
                        CredentialState::Valid(login)
                            if self.takes(login, &requirement.issuers) =>
                        {
                            Ok(Some(explicit(login, false)))
                        }
                        CredentialState::Expired => Err(refused(Refusal::TokenExpired)),
                        CredentialState::Unchecked => Err(refused(Refusal::CredentialsUnchecked)),
                        _ => Err(refused(Refusal::TokenInvalid)),
                    };
                }
            }
        }
        let tickets = query.unwrap_or_default().split('&');
        let has_ticket = tickets.filter(|part| part.starts_with("ticket=")).count() == 1;
        let reads = matches!(*self.head.method, Method::GET | Method::CONNECT);
        if requirement.ticket && reads && has_ticket {
            provenance.admit_ticket(compiled.csrf).map_err(|refusal| (Gate::Csrf, refusal))?;
            return match &caller.ticket {
                CredentialState::Valid(login) if self.takes(login, &requirement.issuers) => {
                    Ok(Some(explicit(login, true)))
                }
                CredentialState::Unchecked => Err(refused(Refusal::CredentialsUnchecked)),
                _ => Err(refused(Refusal::TicketInvalid)),
            };
        }
        if let Some(scheme) = &requirement.scheme {
            return match &caller.scheme {
                CredentialState::Absent => Ok(None),
                CredentialState::Valid(login) => Ok(Some(Known {
                    login,
                    is_ambient: scheme.ambient,
                    is_explicit: false,
                    has_ticket: false,
                    is_session: false,
                    is_scheme: true,
                })),
                CredentialState::Unchecked => Err(refused(Refusal::CredentialsUnchecked)),
                CredentialState::Invalid | CredentialState::Expired => {
                    Err(refused(Refusal::CredentialInvalid))
                }
            };
        }
        if !requirement.session {
            return Ok(None);
        }
        self.session(caller).map_err(refused)
    }

    /// Whether a route that names these issuers takes this login. Where it names none, it takes those of
    /// the app, or, in an app that signs no tokens, those of its only issuer.
    fn takes(&self, login: &Login, issuers: &[String]) -> bool {
        match (&login.issuer, issuers) {
            (issuer, []) => issuer.is_none() == self.engine.signs_tokens,
            (None, named) => named.iter().any(|name| name == OWN_ISSUER),
            (Some(issuer), named) => named.contains(issuer),
        }
    }

    /// The caller of the session that the cookie names.
    fn session<'c>(&self, caller: &'c Caller) -> Result<Option<Known<'c>>, Refusal> {
        let presented = presented(self.headers, &self.engine.cookie);
        let presented = presented.map_err(|_limit| Refusal::CookiesTooLarge)?;
        // Another host of the site planted one of several, and none is used.
        if matches!(presented, Presented::Absent | Presented::Ambiguous) {
            return Ok(None);
        }
        match &caller.session {
            CredentialState::Valid(login) => Ok(Some(Known {
                login,
                is_ambient: true,
                is_explicit: false,
                has_ticket: false,
                is_session: true,
                is_scheme: false,
            })),
            CredentialState::Unchecked => Err(Refusal::CredentialsUnchecked),
            _ => Ok(None),
        }
    }

    fn csrf(
        &mut self,
        compiled: &CompiledRoute,
        caller: &Caller,
        provenance: Provenance,
        known: Option<&Known<'_>>,
    ) -> Result<(), End> {
        let ambient = known.filter(|known| known.is_ambient);
        if let Some(known) = ambient {
            let token = csrf_token(caller, known.is_session);
            let admitted = provenance.admit(compiled.csrf, || token);
            admitted.map_err(|refusal| End::Refused(Gate::Csrf, refusal))?;
        }
        if known.is_none() && Self::requirement(compiled).is_none() {
            self.anonymous(compiled, provenance)?;
        }
        self.passed(Gate::Csrf, ambient.is_some() || compiled.judges_anonymous);
        Ok(())
    }

    /// What answers without attributes may know cookies of its own.
    fn anonymous(&self, compiled: &CompiledRoute, provenance: Provenance) -> Result<(), End> {
        let cookie = self.headers.get(COOKIE);
        let is_granted = self.grant.grants(self.head.origin, compiled.cors.as_ref());
        if !compiled.judges_anonymous || (is_granted && cookie.is_none()) {
            return Ok(());
        }
        let admitted = provenance.admit_anonymous(compiled.csrf, cookie);
        admitted.map_err(|refusal| End::Refused(Gate::Csrf, refusal))
    }

    fn authorize(
        &mut self,
        compiled: &CompiledRoute,
        provenance: Provenance,
        known: Option<&Known<'_>>,
    ) -> Result<(), End> {
        let Some(requirement) = Self::requirement(compiled) else {
            self.passed(Gate::Authorize, false);
            return Ok(());
        };
        let refused = |refusal| Err(End::Refused(Gate::Authorize, refusal));
        match known {
            None if requirement.optional => self.anonymous(compiled, provenance)?,
            None => return refused(Refusal::CredentialsMissing),
            Some(Known { login, is_scheme, .. }) => {
                let has_scopes =
                    requirement.scopes.iter().all(|scope| login.scopes.contains(scope));
                let has_role = requirement.roles.is_empty()
                    || requirement.roles.iter().any(|role| login.roles.contains(role));
                if !has_scopes || !has_role {
                    return refused(Refusal::RightsMissing);
                }
                let is_fresh = |limit| *is_scheme || login.age.is_some_and(|age| age < limit);
                if !requirement.fresh.is_none_or(is_fresh) {
                    return refused(Refusal::LoginTooOld);
                }
            }
        }
        self.passed(Gate::Authorize, true);
        Ok(())
    }

    /// A handler that takes the session itself gets it only if the request may use it.
    fn session_of_handler(
        &mut self,
        compiled: &CompiledRoute,
        caller: &Caller,
        provenance: Provenance,
        known: Option<&Known<'_>>,
    ) -> Result<(), End> {
        if !compiled.route.takes_session {
            return Ok(());
        }
        let admitted = match known {
            Some(known) if known.has_ticket => provenance.admit_ticket(compiled.csrf),
            Some(known) if known.is_explicit => Ok(()),
            _ => {
                let session = self.session(caller);
                let session = session.map_err(|refusal| End::Refused(Gate::Csrf, refusal))?;
                provenance.admit(compiled.csrf, || csrf_token(caller, session.is_some()))
            }
        };
        admitted.map_err(|refusal| End::Refused(Gate::Csrf, refusal))
    }

    fn target(&mut self, compiled: &CompiledRoute, query: Option<&str>) -> Result<(), End> {
        let is_untyped =
            self.head.method.as_str() == "QUERY" && !self.headers.contains_key(CONTENT_TYPE);
        let is_handler = compiled.route.kind == RouteKind::Handler;
        if is_untyped && is_handler {
            return Err(End::Refused(Gate::Target, Refusal::MediaType));
        }
        if let Some(jsonp) = &compiled.route.jsonp {
            let grammar = if jsonp.dotted { Grammar::Dotted } else { Grammar::Identifier };
            let callback = Callback::of_query(query.unwrap_or_default(), &jsonp.callback, grammar);
            callback.map_err(|refusal| End::Refused(Gate::Target, refusal))?;
        }
        self.passed(Gate::Target, compiled.route.jsonp.is_some());
        Ok(())
    }

    fn decision(mut self, ended: Result<(), End>) -> Decision {
        let (outcome, status, preflight) = match ended {
            Ok(()) => (Outcome::Reached, None, None),
            Err(End::Refused(gate, refusal)) => {
                let refusal = match refusal.status() {
                    401 if self.is_tunnel => Refusal::TunnelCredentials,
                    _ => refusal,
                };
                self.steps.push(Step { gate, verdict: Verdict::Refused(refusal) });
                (Outcome::Refused(refusal), Some(refusal.status()), None)
            }
            Err(End::Responded(gate, status, outcome, headers)) => {
                self.steps.push(Step { gate, verdict: Verdict::Ended });
                (outcome, Some(status), Some(headers))
            }
        };
        let is_preflight = outcome == Outcome::PreflightGranted;
        let cors = match (preflight, self.compiled()) {
            (Some(headers), _) if is_preflight => headers,
            (_, Some(CompiledRoute { cors: Some(cors), .. })) => {
                let mut headers = HeaderMap::new();
                cors.apply(self.grant, &mut headers);
                headers
            }
            _ => HeaderMap::new(),
        };
        Decision {
            outcome,
            status,
            route: self.route,
            steps: self.steps,
            is_authenticated: self.is_authenticated,
            cors,
        }
    }
}

/// The CSRF token of a request; `None` if there is no session that it could be bound to.
fn csrf_token(caller: &Caller, has_session: bool) -> Option<TokenVerdict> {
    has_session.then_some(match caller.csrf {
        CsrfToken::Valid => TokenVerdict::Valid,
        CsrfToken::Absent | CsrfToken::Invalid => TokenVerdict::Invalid,
    })
}
