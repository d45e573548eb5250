//! An app as a service.

use std::{
    convert::Infallible,
    sync::Arc,
    task::{Context, Poll},
};

use axum_core::{BoxError, body::Body, extract::Request};
use bytes::Bytes;
use policy_core::gate::{OwnOrigin, join_cookie_lines};
use tower_service::Service;

use crate::{
    client::{Client, peer::Peer},
    handler::{
        extract::PeerAddr,
        service::{SharedService, Wrap},
    },
    pipeline::compiled_app::CompiledApp,
    pipeline::{dispatch::dispatch, response_future::ResponseFuture},
};

/// An app that passed every check: a `tower::Service` for any HTTP server, and for axum's
/// `Router::fallback_service` or `nest_service`.
///
/// Every gate is part of it, the check of the host too: a request must name the public origin's
/// host, or a loopback host in the development profile.
///
/// Another server than [`App::serve`](crate::App::serve) tells who holds the other end of a
/// connection by a [`PeerAddr`] among the extensions of the request.
#[derive(Clone, Debug)]
pub struct AppService {
    app: Arc<CompiledApp>,
    /// The app inside of its layers, if it has any.
    layered: Option<SharedService>,
}

impl AppService {
    pub(crate) fn new(app: CompiledApp, layers: Vec<Wrap>) -> Self {
        let app = Arc::new(app);
        if layers.is_empty() {
            return Self { app, layered: None };
        }
        let inner = Arc::clone(&app);
        let inner = SharedService::from_fn(move |request: Request| {
            let client = request.extensions().get::<Client>().cloned();
            dispatch(&inner, request, client.unwrap_or_else(|| Client::new(None)))
        });
        let layered = layers.into_iter().fold(inner, |inner, layer| layer(inner));
        Self { app, layered: Some(layered) }
    }

    pub(crate) fn app(&self) -> &Arc<CompiledApp> {
        &self.app
    }

    /// The same without its layers, if it has any.
    #[cfg(feature = "testing")]
    pub(crate) fn without_layers(&self) -> Option<Self> {
        self.layered.as_ref()?;
        Some(Self { app: Arc::clone(&self.app), layered: None })
    }

    /// The host of the public origin.
    #[cfg(feature = "testing")]
    pub(crate) fn authority(&self) -> Option<&str> {
        match &self.app.own_origin {
            OwnOrigin::Development => None,
            OwnOrigin::Public(origin) => Some(origin.authority()),
        }
    }

    /// Answers one request; `peer` is known where it came over a connection of ours.
    pub(crate) fn respond<B>(
        &self,
        mut request: http::Request<B>,
        peer: Option<Peer>,
    ) -> ResponseFuture
    where
        B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        join_cookie_lines(&mut request);
        #[cfg(feature = "testing")]
        super::explain::RouteTrace::resolve(&self.app, &request);
        match &self.layered {
            None => dispatch(&self.app, request, Client::new(peer)),
            Some(layered) => {
                let proxies = self.app.proxies.as_ref();
                let client = Client::new(peer).with_forwarded(request.headers_mut(), proxies);
                request.extensions_mut().insert(client);
                ResponseFuture::boxed(layered.run(request.map(Body::new)))
            }
        }
    }
}

impl<B> Service<http::Request<B>> for AppService
where
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    type Response = axum_core::response::Response;
    type Error = Infallible;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> ResponseFuture {
        // Another server that has the app speaks https, if anything is to be right about its origin.
        let is_tls = self.app.own_origin != OwnOrigin::Development;
        let peer = request.extensions().get::<PeerAddr>();
        let peer = peer.map(|PeerAddr(address)| Peer { address: *address, client: None, is_tls });
        self.respond(request, peer)
    }
}
