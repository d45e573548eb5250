//! An app as a `tower` service.

use std::{
    convert::Infallible,
    sync::Arc,
    task::{Context, Poll},
};

use axum_core::{body::Body, extract::Request};
use policy_core::{forwarded::ProxyReport, head::OwnOrigin};
use tower_service::Service;

use crate::{
    auth::sent_credentials::SentCredentials,
    base::body::MessageBody,
    client::{Client, peer::Peer},
    handler::{
        extract::PeerAddr,
        service::{SharedService, Wrap},
    },
    pipeline::compiled_app::CompiledApp,
    pipeline::{
        dispatch::{Connection, dispatch},
        normal_form::{normalize, remove_connection_fields},
        response_future::ResponseFuture,
    },
};

/// A compiled app: a `tower::Service` for any HTTP server, and for axum's
/// `Router::fallback_service` and `nest_service`.
///
/// It contains all gates, the check of the host included: a request must name the host of the
/// public origin, or a loopback host in the development profile.
///
/// A server other than [`App::serve`](crate::App::serve) reports the address at the other end of a
/// connection by a [`PeerAddr`] in the extensions of the request.
#[derive(Clone, Debug)]
pub struct AppService {
    app: Arc<CompiledApp>,
    /// The app inside its layers, if it has any.
    layered: Option<SharedService>,
}

impl AppService {
    pub(crate) fn new(app: CompiledApp, layers: Vec<Wrap>) -> Self {
        let app = Arc::new(app);
        if layers.is_empty() {
            return Self { app, layered: None };
        }
        let inner = Arc::clone(&app);
        let inner = SharedService::from_fn(move |mut request: Request| {
            SentCredentials::restore(&mut request);
            let client = request.extensions().get::<Client>().cloned();
            let client = client.unwrap_or_else(|| Client::new(None));
            dispatch(&inner, request, client, Connection::default())
        });
        let layered = layers.into_iter().fold(inner, |inner, layer| layer.around(inner));
        Self { app, layered: Some(layered) }
    }

    pub(crate) fn app(&self) -> &Arc<CompiledApp> {
        &self.app
    }

    /// The service without its layers.
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

    /// Responds to one request.
    pub(crate) fn respond<B>(
        &self,
        request: http::Request<B>,
        connection: Connection<'_>,
    ) -> ResponseFuture
    where
        B: MessageBody,
    {
        #[cfg(feature = "testing")]
        let request = super::explain::RouteTrace::fill(&self.app, request);
        match &self.layered {
            None => dispatch(&self.app, request, Client::new(connection.peer), connection),
            Some(layered) => {
                ResponseFuture::boxed(layered.run(self.for_layers(request, connection.peer)))
            }
        }
    }

    /// The request as the layers around the app get it.
    fn for_layers<B>(&self, mut request: http::Request<B>, peer: Option<Peer>) -> Request
    where
        B: MessageBody,
    {
        remove_connection_fields(&self.app, &mut request);
        // Layers see the path that the router sees. Gate 1 refuses a path without a normal form.
        let _ = normalize(&mut request);
        let proxies = self.app.proxies.as_ref();
        let client = Client::new(peer).with_forwarded(request.headers_mut(), proxies);
        request.extensions_mut().insert(client);
        let sent = SentCredentials::from_request(&request);
        request.extensions_mut().insert(sent);
        request.map(Body::new)
    }
}

impl<B> Service<http::Request<B>> for AppService
where
    B: MessageBody,
{
    type Response = axum_core::response::Response;
    type Error = Infallible;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: http::Request<B>) -> ResponseFuture {
        // The client of an app inside another one is the service around it. What a client sent to
        // the outer app is no credential here.
        request.extensions_mut().remove::<SentCredentials>();
        // Behind another server, the app takes the scheme from its public origin.
        let is_tls = self.app.own_origin != OwnOrigin::Development;
        let peer = request.extensions().get::<PeerAddr>();
        let client = ProxyReport::Nothing;
        let peer = peer.map(|PeerAddr(address)| Peer { address: Some(*address), client, is_tls });
        self.respond(request, Connection { peer, ..Connection::default() })
    }
}
