//! The response policy: what the gates collect for the response, and the order in which it is
//! written.

use std::sync::Arc;

use axum_core::response::{IntoResponse, Response};
use http::{
    Extensions, HeaderMap, HeaderName, Method, StatusCode,
    header::{ACCEPT, AUTHORIZATION, CONTENT_SECURITY_POLICY},
};
use policy_core::{
    Refusal,
    cache::{self, CacheExchange, ResponseFacts},
    conditional::Conditions,
    cors::{OriginDecision, remove_cors},
    head::Head,
    headers::{Nonce, SecurityHeaders},
    limits::{RateGrant, RateRefusal},
    vary,
};

use super::head::without_body;
#[cfg(feature = "gateway")]
use crate::gateway::tunnel;
use crate::{
    auth::AuthService,
    base::{
        clock::{Random, RandomError},
        event::count::{Count, count},
        problem::{self, Problem},
    },
    handler::{RouteInfo, extract::MatchedRoute},
    pipeline::{
        gates::limits::TakenLimits,
        sockets::{PendingSocket, upgrades},
    },
    route::{compiled_policy::CompiledRoutePolicy, conditional},
};

/// What the response to one request carries: the policy of its route, and what the gates collected.
#[derive(Debug)]
pub(crate) struct ResponsePolicy {
    rules: Arc<CompiledRoutePolicy>,
    grant: OriginDecision,
    method: Method,
    is_secure: bool,
    /// Whether the request has `Authorization`, if the route has a caching policy.
    has_authorization: bool,
    /// Whether a gate refused the request.
    is_refused: bool,
    /// Whether facets without a policy are left to the service behind the layer.
    is_of_layer: bool,
    /// Present where no session is committed for the request but a handler could set the session
    /// cookie.
    guard: Option<Arc<AuthService>>,
    taken: TakenLimits,
    /// The preferred formats of a problem: the lines of `Accept`, one after another. It is a copy,
    /// since a clone would keep the connection from reading into its buffer again.
    accept: Vec<u8>,
    /// What only few requests need.
    optional: Option<Box<OptionalContext>>,
}

/// What a request asks of its response, and what a gate recorded for it.
#[derive(Debug, Default)]
struct OptionalContext {
    conditions: Option<Box<Conditions>>,
    nonce: Option<Nonce>,
    /// The route, for the layers around the app.
    route: Option<Arc<RouteInfo>>,
    #[cfg(feature = "gateway")]
    is_of_tunnel: bool,
}

impl OptionalContext {
    fn is_of_tunnel(&self) -> bool {
        #[cfg(feature = "gateway")]
        return self.is_of_tunnel;
        #[cfg(not(feature = "gateway"))]
        false
    }
}

impl ResponsePolicy {
    pub(crate) fn new(
        head: &Head<'_>,
        headers: &HeaderMap,
        rules: &Arc<CompiledRoutePolicy>,
        grant: OriginDecision,
    ) -> Self {
        let mut optional = None;
        // Unsafe methods evaluate their conditions in the handler, before they change anything.
        if head.is_conditional && matches!(*head.method, Method::GET | Method::HEAD) {
            let conditions = Conditions::read(head.method, headers);
            optional = Some(Box::new(OptionalContext { conditions, ..OptionalContext::default() }));
        }
        let accept = if head.has_preference { problem::formats(headers) } else { Vec::new() };
        Self {
            rules: Arc::clone(rules),
            grant,
            method: head.method.clone(),
            is_secure: head.is_secure,
            has_authorization: rules.cache.is_some() && headers.contains_key(AUTHORIZATION),
            is_refused: false,
            is_of_layer: false,
            guard: None,
            taken: TakenLimits::default(),
            accept,
            optional,
        }
    }

    fn optional(&mut self) -> &mut OptionalContext {
        self.optional.get_or_insert_default()
    }

    /// Removes a session cookie that a handler sets.
    pub(crate) fn keep_session_cookie(&mut self, guard: &Arc<AuthService>) {
        self.guard = Some(Arc::clone(guard));
    }

    /// Leaves conditions to the service, and caching if the policy says nothing about it. A page
    /// that gets a nonce is still kept out of shared caches.
    pub(crate) fn leave_to_service(&mut self) {
        self.is_of_layer = true;
        if let Some(optional) = &mut self.optional {
            optional.conditions = None;
        }
    }

    /// Draws the nonce of the page if the policy asks for one, and passes it to the handler, too.
    #[inline(always)]
    pub(crate) fn draw_nonce(
        &mut self,
        random: &Random,
        extensions: &mut Extensions,
    ) -> Result<(), RandomError> {
        if self.rules.headers.as_ref().is_some_and(SecurityHeaders::takes_nonce) {
            let nonce = Nonce::from_bytes(random.draw()?);
            extensions.insert(nonce.clone());
            self.optional().nonce = Some(nonce);
        }
        Ok(())
    }

    /// States the route to the layers around the app.
    pub(crate) fn state_route(&mut self, route: &Arc<RouteInfo>) {
        self.optional().route = Some(Arc::clone(route));
    }

    /// Asks for credentials as a proxy does.
    #[cfg(feature = "gateway")]
    pub(crate) fn speak_as_proxy(&mut self) {
        self.optional().is_of_tunnel = true;
    }

    /// States the remaining quota of a rate.
    pub(crate) fn note_rate(&mut self, rate: Option<Result<RateGrant, RateRefusal>>) {
        if let Some(decision) = &rate {
            count(Count::Rate { is_granted: decision.is_ok() });
            self.taken.rate = rate;
        }
    }

    /// States the remaining quota, and holds the permit until the response is sent.
    pub(crate) fn note_taken(&mut self, taken: TakenLimits) {
        self.note_rate(taken.rate);
        self.taken.permit = taken.permit;
    }

    /// Keeps the response out of caches, since a gate refused this request and may admit the next.
    pub(crate) fn note_refusal(&mut self) {
        self.is_refused = true;
    }

    /// Marks a refused preflight: no page may read the response.
    pub(crate) fn note_refused_preflight(&mut self) {
        self.note_refusal();
        self.grant = OriginDecision::Refused;
    }

    /// Writes everything, CORS last.
    pub(crate) fn apply(self, mut response: Response, mut facts: ResponseFacts) -> Response {
        let Self { is_of_layer, is_refused, has_authorization, .. } = self;
        facts.authorization_sent = has_authorization;
        let Self { rules, grant, method, is_secure, guard, taken, accept, optional, .. } = self;
        let optional = optional.as_deref();
        let mut socket = PendingSocket::take(&method, &mut response);
        if method == Method::CONNECT
            && response.status().is_success()
            && !optional.is_some_and(OptionalContext::is_of_tunnel)
            && !(is_of_layer && socket.is_none())
            && !socket.as_mut().is_some_and(PendingSocket::hand_over)
        {
            // A 2xx would state that the WebSocket is open (RFC 8441 5, RFC 9110 9.3.6).
            socket = None;
            response = Problem::from(Refusal::ProtocolNotServed).into_response();
        }
        let is_upgrade = response.status() == StatusCode::SWITCHING_PROTOCOLS
            && method != Method::CONNECT
            && (is_of_layer || socket.is_some());
        if response.status().is_informational() && !is_upgrade {
            // It is not final (RFC 9110 15.2): hyper would replace it without a policy, and HTTP/3
            // would send nothing else.
            socket = None;
            response = Problem::internal("a status of 1xx ends no request").into_response();
        }
        #[cfg(feature = "gateway")]
        if optional.is_some_and(OptionalContext::is_of_tunnel) {
            response = tunnel::as_proxy(response);
        }
        if let Some(guard) = &guard {
            guard.keep_cookie(response.headers_mut());
        }
        let nonce = optional.and_then(|optional| optional.nonce.as_ref());
        // Before the conditions, since a 304 has the `Cache-Control` of its page (RFC 9110 15.4.5).
        facts.nonce_written = nonce
            .zip(rules.headers.as_ref())
            .is_some_and(|(nonce, fields)| fields.shows_nonce(response.headers(), nonce));
        if let Some(conditions) = optional.and_then(|optional| optional.conditions.as_ref()) {
            response = conditional::answer(conditions, response);
            // A layer or the target may have encoded the response that the client has stored.
            if response.status() == StatusCode::NOT_MODIFIED {
                conditions.weaken_known(response.headers_mut());
            }
        }
        if facts.nonce_written && response.status() == StatusCode::NOT_MODIFIED {
            // The page that the cache keeps has the nonce of its own policy.
            response.headers_mut().remove(CONTENT_SECURITY_POLICY);
        }
        facts.refused |=
            is_refused || problem::refusal_of(&response).is_some_and(Refusal::is_uncacheable);
        problem::negotiate(&accept, rules.problem_types.as_deref(), &mut response);
        let status = response.status();
        if rules.tells_codes && !response.extensions().is_empty() {
            problem::tell_code(&mut response);
        }
        let exchange = CacheExchange { method: &method, status, facts };
        let headers = response.headers_mut();
        if rules.fields > 0 {
            headers.reserve(rules.fields);
        }
        if !is_of_layer || rules.cache.is_some() || facts.refused || facts.nonce_written {
            cache::apply(rules.cache.as_ref(), exchange, headers);
        }
        if method == Method::QUERY && status == StatusCode::UNSUPPORTED_MEDIA_TYPE {
            state_accept_query(headers);
        }
        if let Some(security) = &rules.headers {
            security.apply(headers, nonce);
            if is_secure {
                security.apply_secure(headers);
            }
        }
        if rules.isolation.is_some() {
            vary::add(headers, vary::VaryToken::FetchMetadata);
            vary::add(headers, vary::VaryToken::Origin);
        }
        if let (Some(limit), Some(rate)) = (&rules.rate, &taken.rate) {
            limit.write(rate, headers);
        }
        match &rules.cors {
            Some(cors) => cors.apply(grant, headers),
            None if rules.leaves_cors => (),
            None => remove_cors(headers),
        }
        if let Some(route) = optional.and_then(|optional| optional.route.as_ref()) {
            response.extensions_mut().insert(MatchedRoute::new(route));
        }
        if method == Method::HEAD {
            return without_body(response);
        }
        if let Some(mut socket) = socket {
            if method != Method::CONNECT {
                socket.hand_over();
            }
            socket.write(&mut response);
            socket.begin(&response, taken.permit);
            return response;
        }
        match taken.permit {
            Some(permit) if upgrades(&method, &response) => permit.keep_upgraded(response),
            Some(permit) => permit.keep(response),
            None => response,
        }
    }
}

/// Names the media type of the queries that would have been read (RFC 10008 3). A media type
/// without parameters is a token of structured fields, too (RFC 9651 3.3.4).
fn state_accept_query(headers: &mut HeaderMap) {
    if let Some(media_type) = headers.get(ACCEPT).cloned() {
        headers.entry(ACCEPT_QUERY).or_insert(media_type);
    }
}

pub(crate) const ACCEPT_QUERY: HeaderName = HeaderName::from_static("accept-query");
