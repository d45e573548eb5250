//! The gates that need only the head of a request.

use std::sync::Arc;

use axum_core::response::{IntoResponse, Response};
use http::{
    HeaderMap, HeaderValue, Method, StatusCode, Version,
    header::{ALLOW, CONNECTION},
};
use policy_core::{
    Refusal,
    cache::Happened,
    cors::Grant,
    gate::{Head, Single},
    isolation::FetchMetadata,
    method,
};

use crate::{
    auth::RequestAuth,
    base::problem::Problem,
    client::Client,
    gateway::trace,
    pipeline::compiled_app::CompiledApp,
    pipeline::{
        dispatch::Answerer,
        respond::{Finish, without_content},
    },
    route::{limits::RateLimit, route_policy::Rules, router::Path},
};

/// What the gates before the handler say.
pub(crate) enum Admission {
    /// Let this answer, if whoever asks may, and write the policy onto it.
    Admitted(Admitted),
    /// A gate has answered, with the policy.
    Answered(Response),
}

/// A request that came as far as its head brings it.
pub(crate) struct Admitted {
    pub(crate) answerer: Answerer,
    pub(crate) finish: Finish,
    /// Where anybody will ask who sent it.
    pub(crate) auth: Option<Arc<RequestAuth>>,
}

/// Gates 1 to 6, the part of 11 that a head decides, and 10 where nobody is asked who they are.
pub(crate) fn admit(
    app: &CompiledApp,
    head: &Head<'_>,
    headers: &HeaderMap,
    client: &Client,
    has_content: bool,
) -> Admission {
    let request = Received { app, head, headers, client };
    if let Err(refusal) = head.well_formed() {
        return request.misunderstood(refusal);
    }
    if head.is_tunnel()
        && let Some(tunnel) = &app.tunnel
    {
        return request.tunnel(&tunnel.rules);
    }
    let admitted = head.target().and_then(|()| request.host());
    if let Err(refusal) = admitted.and_then(|()| client.admit(&app.own_origin)) {
        return request.misunderstood(refusal);
    }
    if head.is_asterisk() {
        return Admission::Answered(StatusCode::NO_CONTENT.into_response());
    }
    if *head.method == Method::TRACE && app.traces {
        return request.trace(has_content);
    }
    if head.protocol.is_some() && !head.is_extended_websocket() {
        return request.refuse(Refusal::ProtocolUnknown, &app.outside, Grant::Unasked);
    }
    let Some((path, values)) = app.router.find(head.path) else {
        return request.unknown_path();
    };
    if head.is_preflight() {
        return request.preflight(path);
    }
    // RFC 8441 5: what GET with `Upgrade` is over HTTP/1.1.
    let method = if head.is_extended_websocket() { &Method::GET } else { head.method };
    match path.served(method) {
        Some(served) => request.admit(Answerer::Route(served.route, values), &served.rules),
        None => request.not_served(path),
    }
}

/// The head of a request at the gates.
struct Received<'a> {
    app: &'a CompiledApp,
    head: &'a Head<'a>,
    headers: &'a HeaderMap,
    client: &'a Client,
}

impl Received<'_> {
    /// Refuses what may mean something else to whoever sent or forwarded it: in HTTP/1.1 nothing
    /// behind it is read (RFC 9112 9.6, 11.2).
    fn misunderstood(&self, refusal: Refusal) -> Admission {
        let mut response = self.problem(refusal);
        if self.head.version < Version::HTTP_2 {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        self.answered(response, &self.app.outside, Grant::Unasked)
    }

    /// Gate 2. An orchestrator asks by address, and learns nothing that is worth a name.
    fn host(&self) -> Result<(), Refusal> {
        let Self { app, head, .. } = *self;
        app.own_origin.admit(head).or_else(|refusal| {
            let is_probe = || {
                let route = app.router.find(head.path)?.0.served(head.method)?.route;
                Some(app.route(route)?.is_probe)
            };
            if refusal.status() == 421 && is_probe() == Some(true) { Ok(()) } else { Err(refusal) }
        })
    }

    /// The gates behind the router, the same for routes and the fallback.
    #[inline]
    fn admit(&self, answerer: Answerer, rules: &Arc<Rules>) -> Admission {
        let Self { app, head, headers, client } = *self;
        let grant = self.grant(rules);
        let refusal = if head.is_upgrade() && !self.may_upgrade(rules, &grant) {
            Some(Refusal::WebSocketOrigin)
        } else if head.is_early && !self.may_be_early(&answerer) {
            Some(Refusal::TooEarly)
        } else {
            self.isolated(rules, &grant).err()
        };
        if let Some(refusal) = refusal {
            return self.refuse(refusal, rules, grant);
        }
        let guard = answerer.guard(app);
        let mut granted = None;
        // Where nobody is asked who they are, a client is its address.
        let is_counted = |limit: &&Arc<RateLimit>| limit.is_by_address() || guard.is_none();
        if let Some(limit) = rules.rate.as_ref().filter(is_counted) {
            match limit.take_address(client.address()) {
                Ok(taken) => granted = Some(taken),
                Err(refused) => {
                    let mut response = self.problem(Refusal::RateExceeded);
                    limit.write(&Err(refused), response.headers_mut());
                    return self.answered(response, rules, grant);
                }
            }
        }
        if content_length(head).is_some_and(|length| length > rules.body) {
            return self.refuse(Refusal::BodyTooLarge, rules, grant);
        }
        let mut permit = None;
        if let Some(concurrency) = rules.concurrency.as_ref().filter(|_| guard.is_none()) {
            permit = concurrency.enter();
            if permit.is_none() {
                return self.refuse(Refusal::ConcurrencyExceeded, rules, grant);
            }
        }
        let auth = guard.map(|guard| {
            let cors = rules.cors.as_deref();
            let own = &app.own_origin;
            Arc::new(RequestAuth::new(&app.guard, guard, own, head, headers, cors, &grant))
        });
        let mut finish = Finish::new(head, headers, rules, grant).within(granted, permit);
        if auth.is_none() && app.guard.sessions.is_some() {
            finish = finish.keeping_cookie(&app.guard);
        }
        Admission::Admitted(Admitted { answerer, finish, auth })
    }

    /// Whether this may be answered before it is sure that nobody sends it a second time (RFC 8470
    /// 4): what is safe, and does not act for whoever sent it first.
    fn may_be_early(&self, answerer: &Answerer) -> bool {
        method::is_safe(self.head.method.as_str()) && answerer.guard(self.app).is_none()
    }

    /// A CONNECT for a tunnel: it names the host that it leads to, not this server.
    fn tunnel(&self, rules: &Arc<Rules>) -> Admission {
        let Self { app, head, client, .. } = *self;
        let admitted = head.authority().and_then(|_| client.admit(&app.own_origin));
        match admitted {
            // Pages cannot send CONNECT (Fetch 2.2.1): this pretends to be one.
            Ok(()) if head.origin != Single::Absent => self.misunderstood(Refusal::TunnelOrigin),
            Ok(()) => self.admit(Answerer::Tunnel, rules),
            Err(refusal) => self.misunderstood(refusal),
        }
    }

    /// The request itself, for nobody to share.
    fn trace(&self, has_content: bool) -> Admission {
        match trace::answer(self.head, self.headers, has_content) {
            Ok(response) => self.answered(response, &self.app.outside, Grant::Unasked),
            Err(refusal) => self.misunderstood(refusal),
        }
    }

    /// Gate 5, as far as it asks which page loads something.
    fn isolated(&self, rules: &Rules, grant: &Grant) -> Result<(), Refusal> {
        let Some(isolation) = rules.isolation else { return Ok(()) };
        let shares_with_all = rules.cors.as_ref().is_some_and(|cors| cors.is_any_origin());
        let is_granted = matches!(grant, Grant::Origin(_))
            || (shares_with_all && self.head.origin != Single::Absent)
            || rules.jsonp.is_some();
        isolation.admit(&FetchMetadata::read(self.headers), self.head.method, is_granted)
    }

    /// Gate 4: the answer to a preflight. No handler, no extractor, no body.
    fn preflight(&self, path: &Path) -> Admission {
        let Self { app, head, .. } = *self;
        let served = match head.request_method {
            Single::One(method) => path.asked(method.as_bytes()),
            Single::Absent | Single::Repeated => None,
        };
        let shared = served.or(path.shared()).and_then(|served| {
            Some((&served.rules, served.rules.cors.as_ref()?, served.preflight.as_ref()?))
        });
        let Some((rules, cors, preflight)) = shared else {
            return self.refuse(Refusal::PreflightOrigin, &app.outside, Grant::Unasked);
        };
        match preflight.answer(cors, head.origin, head.request_method) {
            Ok((status, headers)) => Admission::Answered(without_content(status, headers)),
            Err(refusal) => self.refuse(refusal, rules, Grant::Refused),
        }
    }

    /// A path that no route has: the app's default policy holds.
    fn unknown_path(&self) -> Admission {
        let Self { app, head, .. } = *self;
        let rules = &app.unknown;
        if let Some(service) = &app.fallback
            && !head.is_preflight()
        {
            return self.admit(Answerer::Fallback(service.clone()), rules);
        }
        let grant = self.grant(rules);
        let refusal = if head.is_preflight() && grant == Grant::Refused {
            Refusal::PreflightOrigin
        } else if self.is_method_known() {
            Refusal::RouteNotFound
        } else {
            Refusal::MethodUnknown
        };
        self.refuse(refusal, rules, grant)
    }

    /// A path without a route for the method: automatic OPTIONS, 405 for a method that is known,
    /// 501 for one that is not (RFC 9110 9.1, 9.3.7, 15.5.6, 15.6.2).
    fn not_served(&self, path: &Path) -> Admission {
        let Self { app, head, .. } = *self;
        let rules = path.shared().map_or(&app.outside, |served| &served.rules);
        let grant = self.grant(rules);
        let mut response = if head.method == Method::OPTIONS {
            StatusCode::NO_CONTENT.into_response()
        } else if self.is_method_known() {
            self.problem(Refusal::MethodNotAllowed)
        } else {
            return self.refuse(Refusal::MethodUnknown, rules, grant);
        };
        let allow = path.allow.clone().unwrap_or(HeaderValue::from_static("OPTIONS"));
        response.headers_mut().insert(ALLOW, allow);
        self.answered(response, rules, grant)
    }

    /// Whether the standard knows the method, or the app has it somewhere.
    fn is_method_known(&self) -> bool {
        method::is_known(self.head.method.as_str()) || self.app.router.serves(self.head.method)
    }

    fn grant(&self, rules: &Rules) -> Grant {
        rules.cors.as_ref().map_or(Grant::Unasked, |cors| cors.grant(self.head.origin))
    }

    fn refuse(&self, refusal: Refusal, rules: &Arc<Rules>, grant: Grant) -> Admission {
        self.answered(self.problem(refusal), rules, grant)
    }

    /// A refusal, logged.
    fn problem(&self, refusal: Refusal) -> Response {
        let Self { app, head, .. } = *self;
        app.guard.refusals.refused(refusal, None, head.method, head.path, head.origin);
        Problem::from(refusal).into_response()
    }

    fn answered(&self, response: Response, rules: &Arc<Rules>, grant: Grant) -> Admission {
        let finish = Finish::new(self.head, self.headers, rules, grant);
        Admission::Answered(finish.apply(response, Happened::default()))
    }

    /// RFC 6455 10.2: a browser opens a WebSocket to anybody, so the server checks who asks: the
    /// origins that may read the route, and its own.
    fn may_upgrade(&self, rules: &Rules, grant: &Grant) -> bool {
        match (self.head.origin, grant) {
            (Single::Absent, _) | (_, Grant::Origin(_)) => true,
            (Single::Repeated, _) => false,
            (Single::One(origin), _) => {
                rules.cors.as_ref().is_some_and(|cors| cors.is_any_origin())
                    || self.app.own_origin.is_own(self.head, origin.as_bytes())
            }
        }
    }
}

fn content_length(head: &Head<'_>) -> Option<u64> {
    match head.content_length {
        Single::One(length) => length.to_str().ok()?.parse().ok(),
        Single::Absent | Single::Repeated => None,
    }
}
