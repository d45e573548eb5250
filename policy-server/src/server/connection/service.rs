//! The app as the service of one connection, and its responses until they are sent.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

#[cfg(feature = "http3")]
use axum_core::body::Body;
#[cfg(feature = "http3")]
use http::header::ALT_SVC;
use http::{HeaderValue, Method, Request, Response, StatusCode, Version, header::CONNECTION};
use hyper::{
    body::{Body as _, Incoming},
    service::Service,
    upgrade::OnUpgrade,
};
use tokio::sync::mpsc;

use crate::{
    auth::LastCredential,
    client::peer::Peer,
    handler::upgrade::OpenStream,
    pipeline::{
        compiled_app::CompiledApp,
        dispatch::Connection,
        response_future::{FirstPoll, ResponseFuture},
        service::AppService,
    },
    server::{
        activity::{Activity, OpenRequest},
        listen::Role,
        outgoing::{OutgoingBody, finish_response},
        shutdown::{Phase, Shutdown},
    },
};

/// The app as the service of one connection.
pub(super) struct ConnectionService {
    pub(super) app: AppService,
    pub(super) role: Arc<Role>,
    pub(super) peer: Peer,
    pub(super) last: LastCredential,
    pub(super) activity: Arc<Activity>,
    pub(super) shutdown: Shutdown,
    /// Kept by tasks that outlive the connection's own task.
    pub(super) alive: mpsc::Sender<()>,
}

impl Service<Request<Incoming>> for ConnectionService {
    type Response = Response<OutgoingBody>;
    type Error = Infallible;
    type Future = OpenResponse;

    fn call(&self, mut request: Request<Incoming>) -> OpenResponse {
        let (open, activity) = (Some(self.activity.begin_request()), Arc::clone(&self.activity));
        let is_http1 = request.version() < Version::HTTP_2;
        let is_connect = request.method() == Method::CONNECT;
        let is_tunnel = is_connect && is_http1;
        let is_last = is_http1 && self.shutdown.phase() != Phase::Serve;
        if request.extensions().get::<OnUpgrade>().is_some() {
            let open = OpenStream::new((self.activity.begin_request(), self.alive.clone()));
            request.extensions_mut().insert(open);
        }
        // `is_end_stream` takes a lock over HTTP/2, and only HTTP/1.1 needs the result.
        self.activity.has_body(is_http1 && !request.body().is_end_stream());
        // hyper reads an HTTP/1.1 request only after the previous responses are written. HTTP/2
        // requests wait for their client before they get here.
        let first_poll = if is_http1 { FirstPoll::InCall } else { FirstPoll::Later };
        let mut response = match &*self.role {
            #[cfg(feature = "tls")]
            Role::Redirect(redirect) => ResponseFuture::ready(redirect.response(&request)),
            #[cfg(feature = "metrics")]
            Role::Metrics(endpoint) => ResponseFuture::ready(endpoint.response(&request)),
            _ => {
                let (peer, last) = (Some(self.peer), Some(&self.last));
                self.app.respond(request, Connection { peer, last, first_poll })
            }
        };
        if let Some(timer) = response.timer() {
            self.activity.swap_timer(timer);
        }
        #[cfg(feature = "http3")]
        let alternative = self.role.alternative().cloned();
        OpenResponse {
            response,
            open,
            activity,
            is_tunnel,
            app: Arc::clone(self.app.app()),
            is_last,
            #[cfg(feature = "http3")]
            alternative,
        }
    }
}

/// The future of a response. Its request is open until the response exists; from then on, the body
/// records which side has to act.
pub(super) struct OpenResponse {
    response: ResponseFuture,
    open: Option<OpenRequest>,
    activity: Arc<Activity>,
    /// The `Alt-Svc` value that announces HTTP/3.
    #[cfg(feature = "http3")]
    alternative: Option<HeaderValue>,
    /// Whether the connection itself was to become a tunnel.
    is_tunnel: bool,
    app: Arc<CompiledApp>,
    /// Whether the request began after the server had stopped, and its connection ends with it.
    is_last: bool,
}

impl Drop for OpenResponse {
    fn drop(&mut self) {
        // `open` is empty once the response exists. A drop before that means that the client gave the
        // request up.
        if self.open.is_some() {
            self.activity.gave_up();
        }
    }
}

impl Future for OpenResponse {
    type Output = Result<Response<OutgoingBody>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Ok(response) = ready!(Pin::new(&mut self.response).poll(context));
        let this = &mut *self;
        if let Some(timer) = this.response.timer().filter(|timer| timer.is_set()) {
            this.activity.swap_timer(timer);
        }
        #[cfg(feature = "http3")]
        let response = announced(response, self.alternative.take());
        let mut response = finish_response(&self.app, &self.activity, response);
        self.open = None;
        // Data after a refused CONNECT may be meant for the target, sent without waiting for the
        // response (RFC 9931): it must not be read as requests.
        let is_refused_tunnel = self.is_tunnel && !response.status().is_success();
        let is_upgrade = response.status() == StatusCode::SWITCHING_PROTOCOLS;
        if is_refused_tunnel || (self.is_last && !self.is_tunnel && !is_upgrade) {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        self.activity.completed();
        Poll::Ready(Ok(response))
    }
}

/// Announces HTTP/3, unless the app sets `Alt-Svc` itself.
#[cfg(feature = "http3")]
fn announced(mut response: Response<Body>, alternative: Option<HeaderValue>) -> Response<Body> {
    if let Some(alternative) = alternative {
        response.headers_mut().entry(ALT_SVC).or_insert(alternative);
    }
    response
}
