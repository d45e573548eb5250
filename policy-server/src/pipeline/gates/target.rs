//! Gate 12: runs the target of a request that passed all other gates.

use std::{future::ready, sync::Arc};

use axum_core::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{
    HeaderValue, Method, Request, Uri,
    header::{ACCEPT, CONTENT_TYPE},
};
use policy_core::{Refusal, jsonp::JsonpPolicy};

#[cfg(feature = "gateway")]
use crate::gateway::proxy;
use crate::{
    auth::RequestAuth,
    base::problem::Problem,
    client::Client,
    handler::{BoxFuture, Call, parameters::Values, service::SharedService},
    pipeline::compiled_app::{CompiledApp, CompiledRoute, Target},
    route::{conditional, jsonp},
};

/// Completes when the session or token that a tunnel depends on ends.
#[cfg(feature = "gateway")]
type BoxedEnd = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

/// A request for the target of its route.
#[derive(Clone)]
pub(crate) struct TargetRequest {
    pub(crate) app: Arc<CompiledApp>,
    pub(crate) route: Arc<CompiledRoute>,
    pub(crate) values: Values,
    pub(crate) client: Client,
}

impl TargetRequest {
    /// Starts the target. When this returns, no code of a handler has run except the parsing of
    /// path parameters.
    #[inline(always)]
    pub(crate) fn start(
        self,
        request: Request<Body>,
        auth: Option<&Arc<RequestAuth>>,
    ) -> BoxFuture {
        match self.route.rules.jsonp {
            Some(policy) => self.script(policy, request),
            None => self.run(request, auth),
        }
    }

    /// Starts a JSONP script on a route without authentication.
    fn script(self, policy: JsonpPolicy, mut request: Request<Body>) -> BoxFuture {
        let callback = match jsonp::callback(&policy, &mut request) {
            Ok(callback) => callback,
            Err(refusal) => return answered(self.app.auth.refuse(refusal, &request)),
        };
        let response = self.run(request, None);
        match callback {
            None => response,
            Some(callback) => {
                Box::pin(async move { jsonp::script(&callback, response.await).await })
            }
        }
    }

    #[inline(always)]
    fn run(self, request: Request<Body>, auth: Option<&Arc<RequestAuth>>) -> BoxFuture {
        if self.route.layers.is_empty() {
            return self.answer(request, auth);
        }
        let (route, auth) = (Arc::clone(&self.route.info), auth.map(Arc::clone));
        let (values, client) = (self.values, self.client.clone());
        let (method, uri) = (request.method().clone(), request.uri().clone());
        let behind = BehindLayers { target: self, auth: auth.clone(), method, uri, passed: 0 };
        // Extractors work in layers, too.
        behind.run(Call { request, values, client, route, auth }.into_request())
    }

    #[inline(always)]
    fn answer(self, request: Request<Body>, auth: Option<&Arc<RequestAuth>>) -> BoxFuture {
        let Self { route, values, client, .. } = self;
        match &route.target {
            Target::Handler(_) if lacks_media_type(&request) => {
                let mut response = self.app.auth.refuse(Refusal::MediaType, &request);
                if let Some(media_type) = route.reads {
                    let media_type = HeaderValue::from_static(media_type);
                    response.headers_mut().insert(ACCEPT, media_type);
                }
                answered(response)
            }
            Target::Handler(call) => {
                let (route, auth) = (Arc::clone(&route.info), auth.map(Arc::clone));
                call(Call { request, values, client, route, auth })
            }
            Target::Service(service) => {
                let (route, auth) = (Arc::clone(&route.info), auth.map(Arc::clone));
                let request = conditional::whole(request);
                service.run(Call { request, values, client, route, auth }.into_request())
            }
            #[cfg(feature = "gateway")]
            Target::Proxy(gateway) => {
                let CompiledApp { auth, own_origin, random, .. } = &*self.app;
                let serving = proxy::Serving { auth, own_origin, random };
                proxy::forward(&serving, gateway, request, &client)
            }
            #[cfg(feature = "gateway")]
            Target::Tunnel(opens) => {
                let ended: BoxedEnd = match auth {
                    Some(auth) => Box::pin(auth.until_ended()),
                    None => Box::pin(self.app.auth.revocation_bus.end_of_service()),
                };
                Box::pin(Arc::clone(opens).open(request, ended))
            }
        }
    }
}

/// What is behind the layers of a route; an extension of the request while it is in them.
#[derive(Clone)]
struct BehindLayers {
    target: TargetRequest,
    auth: Option<Arc<RequestAuth>>,
    /// What the gates decided about.
    method: Method,
    uri: Uri,
    /// How many of the layers the request has passed.
    passed: usize,
}

impl BehindLayers {
    /// Runs the next layer, or the target.
    fn run(mut self, mut request: Request<Body>) -> BoxFuture {
        let route = Arc::clone(&self.target.route);
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
                self.target.answer(request, self.auth.as_ref())
            }
        }
    }
}

/// The innermost service of layers: whatever is behind them for the request that arrives.
pub(crate) fn behind_layers() -> SharedService {
    SharedService::boxed(|mut request| match request.extensions_mut().remove::<BehindLayers>() {
        Some(behind) => behind.run(request),
        None => answered(Problem::internal(
            "a layer made a request of its own: it has to keep the extensions of the one it got",
        )),
    })
}

/// Whether the request does not state what its query is written in (RFC 10008 2.1).
fn lacks_media_type(request: &Request<Body>) -> bool {
    *request.method() == Method::QUERY && !request.headers().contains_key(CONTENT_TYPE)
}

/// A response that is ready.
pub(crate) fn answered(response: impl IntoResponse) -> BoxFuture {
    let response: Response = response.into_response();
    Box::pin(ready(response))
}
