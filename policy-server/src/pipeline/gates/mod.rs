//! The gates of a request, as the server runs them. Their order and their decisions are those of
//! [`policy_core::gates`]; this module counts, verifies, loads and waits for them, and responds where
//! they end a request. A check that a route does not need is left out when the app is built.
//!
//! | gates | file | does |
//! |--:|---|---|
//! | 1 to 6, 11 | [`head`] | responds where the head of a request is refused |
//! | 6 | [`address_rate`] | asks other instances for a rate that they share |
//! | 7 | [`authenticate`] | verifies the credential, or loads the session |
//! | 8 | [`csrf`] | reads a form with a token |
//! | 9 | [`authorize`] | explains a refusal |
//! | 10 | [`limits`] | takes a rate and a permit |
//! | 11 | [`body`] | cuts a body that is longer than its limit |
//! | 12 | [`target`] | runs the target |
//! | 13 | [`respond`](super::respond) | writes the response headers |

pub(crate) mod address_rate;
pub(crate) mod authenticate;
pub(crate) mod authorize;
pub(crate) mod body;
pub(crate) mod csrf;
pub(crate) mod head;
pub(crate) mod limits;
pub(crate) mod target;

use std::{ops::ControlFlow, sync::Arc};

use axum_core::{body::Body, response::Response};
use http::{Request, request::Parts};
#[cfg(feature = "metrics")]
use policy_core::gates::PolicyOf;
use policy_core::{
    auth::{AuthPolicy, Requirement},
    gates::{self, Gate, RequestView, Rights, Sender},
    method::is_safe,
    router::Values,
};

use self::{
    authenticate::{AuthView, AuthenticatedCaller, KnownCaller},
    head::SharedRoute,
};
use super::{compiled_app::CompiledRoute, request_head::RequestHead, respond::ResponsePolicy};
use crate::auth::{Denial, LastCredential, RequestAuth, RouteAuth, principal::Principal};

/// A request that passed the gates that need only its head.
pub(crate) struct AdmittedRequest {
    pub(crate) route: Arc<CompiledRoute>,
    /// The values of its path parameters.
    pub(crate) values: Values,
    /// What its response will carry.
    pub(crate) policy: ResponsePolicy,
    /// Present where the route or an argument needs the caller.
    pub(crate) auth: Option<Arc<RequestAuth>>,
}

/// The response to a request that ended at a gate of its head.
pub(crate) struct GateResponse {
    pub(crate) response: Response,
    /// The index of its route, if that serves its method.
    #[cfg(feature = "metrics")]
    pub(crate) route: usize,
}

/// Runs gates 1 to 6, and gate 11 for a declared length.
pub(crate) fn check_head(request: &RequestHead<'_>) -> ControlFlow<GateResponse, AdmittedRequest> {
    let RequestHead { app, head, headers, path, .. } = *request;
    let view = RequestView { head, headers, path };
    let admitted = match gates::check_head(request, &view, &mut ()) {
        ControlFlow::Continue(admitted) => admitted,
        ControlFlow::Break(end) => {
            #[cfg(feature = "metrics")]
            let route = match end.policy {
                PolicyOf::Route(SharedRoute(route)) if route.takes(head) => route.index,
                _ => usize::MAX,
            };
            return ControlFlow::Break(GateResponse {
                response: head::respond(request, end),
                #[cfg(feature = "metrics")]
                route,
            });
        }
    };
    let gates::AdmittedHead { route: SharedRoute(route), values, grant, rate } = admitted;
    let checks_anonymous = || route.auth.checks_anonymous && !is_safe(head.method.as_str());
    let auth = (route.asks_caller || checks_anonymous()).then(|| {
        let (cors, csrf) = (route.rules.cors.as_deref(), route.auth.csrf);
        let checks = route.auth.checks_anonymous;
        let sender = Sender::new(&app.own_origin, head, headers, cors, &grant, csrf, checks);
        Arc::new(RequestAuth::new(&app.auth, &route.auth, head.method, sender))
    });
    let mut policy = ResponsePolicy::new(head, headers, &route.rules, grant);
    policy.note_rate(rate);
    if auth.is_none() && app.auth.sessions.is_some() {
        policy.keep_session_cookie(&app.auth);
    }
    let route = Arc::clone(route);
    ControlFlow::Continue(AdmittedRequest { route, values, policy, auth })
}

/// Runs gates 7 to 9; `None` if a store, a scheme or a body has to be awaited.
pub(crate) fn check_caller(
    auth: &mut RequestAuth,
    route: &RouteAuth,
    request: &Request<Body>,
    last: Option<&LastCredential>,
) -> Option<Result<(), Denial>> {
    if auth.form(request.headers()).is_some() {
        return None;
    }
    let AuthPolicy::Required(policy) = &route.auth else {
        return Some(auth.check_anonymous(request.headers()));
    };
    let view = AuthView::new(request);
    let caller = authenticate::check_now(auth, policy, view, last)?;
    Some(
        csrf_and_rights(auth, route, policy, view, caller)
            .map(|principal| auth.set_principal(principal)),
    )
}

/// Runs gates 7 to 9, waiting where needed.
pub(crate) async fn check_caller_later(
    auth: &RequestAuth,
    route: &RouteAuth,
    parts: &Parts,
    body: &mut Body,
) -> Result<(), Denial> {
    let AuthPolicy::Required(policy) = &route.auth else {
        auth.check_anonymous(&parts.headers)?;
        return csrf::read_form(auth, parts, body).await;
    };
    let caller = authenticate::check_later(auth, route, policy, parts, body).await;
    let reads_form = match &caller {
        Ok(Some(caller)) => caller.is_ambient,
        Ok(None) => policy.optional,
        Err(_) => false,
    };
    if reads_form {
        csrf::read_form(auth, parts, body).await?;
    }
    if let Some(principal) =
        csrf_and_rights(auth, route, policy, AuthView::from_parts(parts), caller)?
    {
        auth.know(principal);
    }
    Ok(())
}

/// Runs gates 8 and 9, and completes the response where gate 7, 8 or 9 refuses.
fn csrf_and_rights(
    auth: &RequestAuth,
    route: &RouteAuth,
    policy: &Requirement,
    view: AuthView<'_>,
    caller: Result<Option<AuthenticatedCaller>, Denial>,
) -> Result<Option<Principal>, Denial> {
    let admitted = caller.and_then(|caller| {
        let rights = Rights {
            optional: policy.optional,
            scopes: policy.scopes,
            roles: policy.roles,
            fresh: policy.fresh,
        };
        let known = caller.as_ref().map(|caller| KnownCaller { caller, auth });
        let token = || {
            let session = caller.as_ref().and_then(|caller| caller.principal.record())?;
            auth.csrf_token(view.headers, session)
        };
        match gates::check_caller(Some(&rights), known.as_ref(), auth.sender(), view.headers, token)
        {
            Ok(()) => Ok(caller.map(|caller| caller.principal)),
            Err((gate, refusal)) => {
                let denied = match gate {
                    Gate::Authorize => {
                        authorize::denied(auth, policy, view, caller.as_ref(), refusal)
                    }
                    _ => auth.forged(refusal),
                };
                #[cfg(feature = "manifest")]
                auth.note_turned_away(caller.map(|caller| caller.principal));
                Err(denied)
            }
        }
    });
    admitted.map_err(|denied| {
        let challenge = route.challenge(denied.refusal());
        denied.challenge(challenge)
    })
}
