//! The gates of a request, in order. Every target passes all of them: handler, mount, proxy, tunnel
//! and fallback. A check that a route does not need is left out when the app is built.
//!
//! | gate | file | asks |
//! |--:|---|---|
//! | 1 | [`wire`] | whether all parsers read this request alike |
//! | 2 | [`own_origin`] | whether it is for this server, and what proxies report about it |
//! | 3 | [`route`] | which route serves it |
//! | 4 | [`cors`] | which page sent it; preflights end here |
//! | 5 | [`fetch_metadata`] | how the page loads it, and whether it may be a replay |
//! | 6 | [`address_rate`] | whether its address exceeds its rate |
//! | 7 | [`authenticate`] | who sent it |
//! | 8 | [`csrf`] | whether the user intended it |
//! | 9 | [`authorize`] | whether they have the rights |
//! | 10 | [`limits`] | whether they exceed their rate, and whether a permit is free |
//! | 11 | [`body`] | whether its body is too long, or a part only |
//! | 12 | [`target`] | nothing: it runs the target |
//! | 13 | [`respond`](super::respond) | nothing: it writes the response headers |

pub(crate) mod address_rate;
pub(crate) mod authenticate;
pub(crate) mod authorize;
pub(crate) mod body;
pub(crate) mod cors;
pub(crate) mod csrf;
pub(crate) mod fetch_metadata;
pub(crate) mod limits;
pub(crate) mod own_origin;
pub(crate) mod route;
pub(crate) mod target;
pub(crate) mod wire;

use std::{ops::ControlFlow, sync::Arc};

use axum_core::{body::Body, response::Response};
use http::{Request, request::Parts};
use policy_core::{
    auth::{AuthPolicy, Requirement},
    method::is_safe,
};

use self::authenticate::{Authenticated, RequestView};
use super::{compiled_app::CompiledRoute, request_head::RequestHead, respond::ResponsePolicy};
use crate::{
    auth::{Denied, LastCredential, RequestAuth, RouteAuth, principal::Principal},
    handler::parameters::Values,
};

/// The result of a gate: continue with a value, or end with a response.
pub(crate) type Gate<T> = ControlFlow<Response, T>;

/// A request that passed the gates that need only its head.
pub(crate) struct Admitted {
    pub(crate) route: Arc<CompiledRoute>,
    /// The values of its path parameters.
    pub(crate) values: Values,
    /// What its response will carry.
    pub(crate) policy: ResponsePolicy,
    /// Present where the route or an argument needs the caller.
    pub(crate) auth: Option<Arc<RequestAuth>>,
}

/// Runs gates 1 to 6, and gate 11 for a declared length.
pub(crate) fn of_the_head(request: &RequestHead<'_>) -> Gate<Admitted> {
    wire::check(request)?;
    own_origin::check(request)?;
    let found = route::find(request)?;
    let (found, grant) = cors::check(request, found)?;
    let route = found.route;
    fetch_metadata::check(request, route, &grant)?;
    let granted = address_rate::check(request, &route.rules, &grant)?;
    body::check(request, route, &grant)?;
    let judges_anonymous = || route.auth.judges_anonymous && !is_safe(request.head.method.as_str());
    let auth = (route.asks_caller || judges_anonymous()).then(|| {
        let RequestHead { app, head, headers, .. } = *request;
        let cors = route.rules.cors.as_deref();
        let (auth, own) = (&route.auth, &app.own_origin);
        Arc::new(RequestAuth::new(&app.auth, auth, own, head, headers, cors, &grant))
    });
    let mut policy = ResponsePolicy::new(request.head, request.headers, &route.rules, grant);
    policy.note_rate(granted.map(Ok));
    if auth.is_none() && request.app.auth.sessions.is_some() {
        policy.keep_session_cookie(&request.app.auth);
    }
    let (route, values) = (Arc::clone(route), found.values);
    ControlFlow::Continue(Admitted { route, values, policy, auth })
}

/// Runs gates 7 to 9; `None` if a store, a scheme or a body has to be awaited.
pub(crate) fn of_the_caller(
    auth: &mut RequestAuth,
    route: &RouteAuth,
    request: &Request<Body>,
    last: Option<&LastCredential>,
) -> Option<Result<(), Denied>> {
    if auth.form(request.headers()).is_some() {
        return None;
    }
    let AuthPolicy::Required(policy) = &route.auth else {
        return Some(auth.check_anonymous(request.headers()));
    };
    let view = RequestView::new(request);
    let caller = authenticate::at_once(auth, policy, view, last)?;
    Some(
        csrf_and_rights(auth, route, policy, view, caller)
            .map(|principal| auth.set_principal(principal)),
    )
}

/// Runs gates 7 to 9, waiting where needed.
pub(crate) async fn of_the_caller_later(
    auth: &RequestAuth,
    route: &RouteAuth,
    parts: &Parts,
    body: &mut Body,
) -> Result<(), Denied> {
    let AuthPolicy::Required(policy) = &route.auth else {
        auth.check_anonymous(&parts.headers)?;
        return csrf::read_form(auth, parts, body).await;
    };
    let caller = authenticate::later(auth, route, policy, parts, body).await;
    let reads_form = match &caller {
        Ok(Some(caller)) => caller.is_ambient,
        Ok(None) => policy.optional,
        Err(_) => false,
    };
    if reads_form {
        csrf::read_form(auth, parts, body).await?;
    }
    if let Some(principal) =
        csrf_and_rights(auth, route, policy, RequestView::from_parts(parts), caller)?
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
    view: RequestView<'_>,
    caller: Result<Option<Authenticated>, Denied>,
) -> Result<Option<Principal>, Denied> {
    let admitted = caller.and_then(|caller| {
        let checked = csrf::check(auth, view, caller.as_ref())
            .and_then(|()| authorize::check(auth, policy, view, caller.as_ref()))
            .and_then(|()| match &caller {
                Some(_) => Ok(()),
                None => auth.check_anonymous(view.headers),
            });
        let principal = caller.map(|caller| caller.principal);
        match checked {
            Ok(()) => Ok(principal),
            Err(denied) => {
                #[cfg(feature = "manifest")]
                auth.note_turned_away(principal);
                Err(denied)
            }
        }
    });
    admitted.map_err(|denied| {
        let challenge = route.challenge(denied.refusal());
        denied.challenge(challenge)
    })
}
