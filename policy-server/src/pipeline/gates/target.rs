//! Gate 12: runs the target of a request that passed all other gates.

#[cfg(feature = "gateway")]
use std::mem;
use std::{future::ready, sync::Arc};

use axum_core::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{
    HeaderValue, Method, Request, Uri,
    header::{ACCEPT, CONTENT_TYPE},
};
use policy_core::{Refusal, jsonp::JsonpPolicy, router::Values};

use super::body::excess;
#[cfg(feature = "gateway")]
use crate::gateway::proxy;
use crate::{
    auth::RequestAuth,
    base::{body::limit_again, problem::Problem},
    client::Client,
    handler::{BoxFuture, Call, service::SharedService},
    pipeline::{
        compiled_app::{CompiledApp, CompiledRoute, Target},
        sockets::{self, Watching},
    },
    route::{conditional, jsonp},
};

/// Completes when the session or token that a tunnel depends on ends.
#[cfg(feature = "gateway")]
type BoxedEnd = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

/// The target of a request that passed the earlier gates.
#[derive(Clone, Copy)]
pub(crate) struct RequestTarget<'a> {
    pub(crate) app: &'a Arc<CompiledApp>,
    pub(crate) route: &'a Arc<CompiledRoute>,
}

impl RequestTarget<'_> {
    /// Starts the target. When this returns, no code of a handler has run except the parsing of
    /// path parameters.
    #[inline(always)]
    pub(crate) fn start(self, call: &mut Call) -> BoxFuture {
        match sockets::asks_for_stream(&call.request) {
            false => self.serve(call),
            true => self.serve_stream(call),
        }
    }

    /// Serves a request that may upgrade its connection, which few do.
    #[inline(never)]
    fn serve_stream(self, call: &mut Call) -> BoxFuture {
        let watching = Watching {
            limits: &self.route.rules.sockets,
            bus: Some(&self.app.auth.revocation_bus),
            min_read_rate: self.app.settings.min_read_rate,
        };
        let principal = call.auth.as_ref().and_then(|auth| auth.principal());
        let client = call.client.address();
        match sockets::intercept(watching, &mut call.request, principal, client) {
            Ok(None) => self.serve(call),
            Ok(Some(socket)) => socket.with(self.serve(call)),
            Err(refusal) => ready_response(self.app.auth.refuse(refusal, &call.request)),
        }
    }

    #[inline(always)]
    fn serve(self, call: &mut Call) -> BoxFuture {
        match self.route.rules.jsonp {
            Some(policy) => self.script(policy, call),
            None => self.run(call),
        }
    }

    /// Starts a JSONP script on a route without authentication.
    fn script(self, policy: JsonpPolicy, call: &mut Call) -> BoxFuture {
        let callback = match jsonp::callback(&policy, &mut call.request) {
            Ok(callback) => callback,
            Err(refusal) => return ready_response(self.app.auth.refuse(refusal, &call.request)),
        };
        // Any page may load the script: it has neither a session nor a user.
        call.auth = None;
        let response = self.run(call);
        match callback {
            None => response,
            Some(callback) => {
                Box::pin(async move { jsonp::script(&callback, response.await).await })
            }
        }
    }

    #[inline(always)]
    fn run(self, call: &mut Call) -> BoxFuture {
        if self.route.layers.is_empty() {
            return self.answer(call);
        }
        let behind = BehindLayers {
            app: Arc::clone(self.app),
            route: Arc::clone(self.route),
            values: call.values,
            client: call.client.clone(),
            auth: call.auth.clone(),
            method: call.request.method().clone(),
            uri: call.request.uri().clone(),
            passed: 0,
        };
        // Extractors work in layers, too.
        behind.run(call.hand_over())
    }

    #[inline(always)]
    fn answer(self, call: &mut Call) -> BoxFuture {
        match &self.route.target {
            Target::Handler(_) if lacks_media_type(&call.request) => {
                let mut response = self.app.auth.refuse(Refusal::MediaType, &call.request);
                if let Some(media_type) = self.route.reads {
                    let media_type = HeaderValue::from_static(media_type);
                    response.headers_mut().insert(ACCEPT, media_type);
                }
                ready_response(response)
            }
            Target::Handler(handler) => handler(call),
            Target::Service(service) => {
                conditional::simplify_range(&mut call.request);
                service.run(call.hand_over())
            }
            #[cfg(feature = "gateway")]
            Target::Proxy(gateway) => {
                let CompiledApp { auth, own_origin, random, .. } = &**self.app;
                let serving = proxy::Serving { auth, own_origin, random };
                proxy::forward(&serving, gateway, mem::take(&mut call.request), &call.client)
            }
            #[cfg(feature = "gateway")]
            Target::Tunnel(opens) => {
                let ended: BoxedEnd = match &call.auth {
                    Some(auth) => Box::pin(auth.until_ended()),
                    None => Box::pin(self.app.auth.revocation_bus.end_of_service()),
                };
                Box::pin(Arc::clone(opens).open(mem::take(&mut call.request), ended))
            }
        }
    }
}

/// What is behind the layers of a route; an extension of the request while it is in them.
#[derive(Clone)]
struct BehindLayers {
    app: Arc<CompiledApp>,
    route: Arc<CompiledRoute>,
    values: Values,
    client: Client,
    auth: Option<Arc<RequestAuth>>,
    /// The method and the URI on which the gates decided.
    method: Method,
    uri: Uri,
    /// How many of the layers the request has passed.
    passed: usize,
}

impl BehindLayers {
    /// Runs the next layer, or the target.
    fn run(mut self, mut request: Request<Body>) -> BoxFuture {
        let route = Arc::clone(&self.route);
        match route.layers.get(self.passed) {
            Some(layer) => {
                self.passed += 1;
                request.extensions_mut().insert(self);
                layer.run(request)
            }
            None => {
                // Another method or path would have passed other gates.
                *request.method_mut() = self.method;
                *request.uri_mut() = self.uri;
                let body_limit = route.rules.body;
                let (parts, mut body) = request.into_parts();
                limit_again(&mut body, body_limit, excess(&route.target, &parts.headers));
                let request = Request::from_parts(parts, body);
                let Self { app, values, client, auth, .. } = self;
                let mut call = Call {
                    request,
                    values,
                    client,
                    route: Arc::clone(&route.info),
                    auth,
                    body_limit,
                    is_behind_layers: true,
                };
                RequestTarget { app: &app, route: &route }.answer(&mut call)
            }
        }
    }
}

/// The innermost service of layers: runs what is behind them for the request.
pub(crate) fn behind_layers() -> SharedService {
    SharedService::boxed(|mut request| match request.extensions_mut().remove::<BehindLayers>() {
        Some(behind) => behind.run(request),
        None => ready_response(Problem::internal(
            "a layer made a request of its own: it has to keep the extensions of the one it got",
        )),
    })
}

/// Whether a QUERY does not state the media type of its content (RFC 10008 2.1).
fn lacks_media_type(request: &Request<Body>) -> bool {
    *request.method() == Method::QUERY && !request.headers().contains_key(CONTENT_TYPE)
}

/// A response that is ready.
pub(crate) fn ready_response(response: impl IntoResponse) -> BoxFuture {
    let response: Response = response.into_response();
    Box::pin(ready(response))
}
