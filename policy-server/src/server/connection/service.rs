//! The app as the service of one connection, and its responses until they are sent.

use std::{
    convert::Infallible,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use axum_core::body::Body;
#[cfg(feature = "http3")]
use http::header::ALT_SVC;
use http::{
    HeaderValue, Method, Request, Response, StatusCode, Version,
    header::{CONNECTION, SERVER},
};
use hyper::{
    body::{Body as _, Incoming},
    service::Service,
};
use tokio::runtime::Handle;

#[cfg(feature = "http2")]
use super::http2::Stream;
use crate::{
    auth::{LastCredential, RevocationSignal},
    base::{
        body::{BodyObserver, ObservedBody, Polled},
        task, timers,
    },
    client::peer::Peer,
    pipeline::{
        response_future::{FirstPoll, ResponseFuture},
        service::AppService,
    },
    route::limits::UpgradePermit,
    server::{
        activity::{Activity, OpenRequest},
        listen::Role,
        shutdown::{Phase, Shutdown},
        unsent::CountedBody,
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
}

impl Service<Request<Incoming>> for ConnectionService {
    type Response = Response<OpenBody>;
    type Error = Infallible;
    type Future = OpenResponse;

    #[cfg_attr(
        not(feature = "http2"),
        expect(unused_mut, reason = "only a stream changes its request")
    )]
    fn call(&self, mut request: Request<Incoming>) -> OpenResponse {
        let (open, activity) = (Some(self.activity.begin_request()), Arc::clone(&self.activity));
        let is_http1 = request.version() < Version::HTTP_2;
        let is_connect = request.method() == Method::CONNECT;
        let is_tunnel = is_connect && is_http1;
        let is_last = is_http1 && self.shutdown.phase() != Phase::Serve;
        #[cfg(feature = "http2")]
        let stream = if is_connect {
            Stream::intercept(&mut request, &self.activity, &self.shutdown)
        } else {
            None
        };
        // Over HTTP/2 this question takes a lock, and nobody needs the answer.
        self.activity.has_body(is_http1 && !request.body().is_end_stream());
        // hyper reads a request of HTTP/1.1 when the responses before it are written. Those of
        // HTTP/2 wait for their client in the executor of their connection.
        let first_poll = if is_http1 { FirstPoll::InCall } else { FirstPoll::Later };
        let mut response = match &*self.role {
            #[cfg(feature = "tls")]
            Role::Redirect(redirect) => ResponseFuture::ready(redirect.response(&request)),
            _ => self.app.respond(request, Some(self.peer), Some(&self.last), first_poll),
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
            is_admitted: is_http1,
            room: None,
            #[cfg(feature = "http2")]
            stream,
            is_tunnel,
            server: self.app.app().settings.server_header.clone(),
            is_last,
            #[cfg(feature = "http3")]
            alternative,
        }
    }
}

/// A response that keeps its request open, first by itself and then by its body.
pub(super) struct OpenResponse {
    response: ResponseFuture,
    open: Option<OpenRequest>,
    activity: Arc<Activity>,
    /// Whether the handler may run.
    is_admitted: bool,
    /// Completes when the client has read enough of earlier responses, if the request had to wait.
    room: Option<Room>,
    /// The `Alt-Svc` value that announces HTTP/3.
    #[cfg(feature = "http3")]
    alternative: Option<HeaderValue>,
    #[cfg(feature = "http2")]
    stream: Option<Box<Stream>>,
    /// Whether the connection itself was to become a tunnel.
    is_tunnel: bool,
    /// The `Server` value of a response that has none.
    server: Option<HeaderValue>,
    /// Whether the request began after the server had stopped, and its connection ends with it.
    is_last: bool,
}

type Room = Pin<Box<dyn Future<Output = ()> + Send>>;

impl OpenResponse {
    /// Whether the handler may run. This is asked when it would: requests that arrived together
    /// run one after the other, and see each other's responses.
    fn poll_admitted(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.room.is_none() && !self.activity.unsent().is_full() {
            self.is_admitted = true;
            return Poll::Ready(());
        }
        // Meanwhile the client has something to read, so that the connection waits for the client.
        let unsent = self.activity.unsent();
        let room = self.room.get_or_insert_with(|| {
            let unsent = Arc::clone(unsent);
            Box::pin(async move { unsent.room().await })
        });
        ready!(room.as_mut().poll(context));
        self.is_admitted = true;
        Poll::Ready(())
    }
}

impl Drop for OpenResponse {
    fn drop(&mut self) {
        // Otherwise the response has it.
        if self.open.is_some() {
            self.activity.gave_up();
        }
    }
}

impl Future for OpenResponse {
    type Output = Result<Response<OpenBody>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if !self.is_admitted {
            ready!(self.poll_admitted(context));
        }
        let Ok(response) = ready!(Pin::new(&mut self.response).poll(context));
        let this = &mut *self;
        if let Some(timer) = this.response.timer().filter(|timer| timer.is_set()) {
            this.activity.swap_timer(timer);
        }
        #[cfg(feature = "http3")]
        let response = announced(response, self.alternative.take());
        let mut response = response;
        if let Some(server) = self.server.take() {
            response.headers_mut().entry(SERVER).or_insert(server);
        }
        // What follows a refused CONNECT may be meant for the target, sent without waiting for the
        // response (RFC 9931): it must not be read as requests.
        let is_refused_tunnel = self.is_tunnel && !response.status().is_success();
        let is_upgrade = response.status() == StatusCode::SWITCHING_PROTOCOLS;
        if is_refused_tunnel || (self.is_last && !self.is_tunnel && !is_upgrade) {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if is_upgrade {
            end_with_credential(&response, &self.activity);
        }
        if (is_upgrade || self.is_tunnel)
            && let Some(permit) = UpgradePermit::take(&response)
        {
            self.activity.hold(permit);
        }
        #[cfg(feature = "http2")]
        if let Some(stream) = self.stream.take().filter(|_| response.status().is_success()) {
            stream.begin(&response);
        }
        self.activity.completed();
        let (open, activity) = (self.open.take(), Arc::clone(&self.activity));
        let has_waited = self.room.is_some();
        Poll::Ready(Ok(response.map(|body| {
            let body = CountedBody::new(body, activity.unsent(), context);
            if has_waited {
                activity.unsent().admit_next();
            }
            let open = open.filter(|_| !body.is_begun());
            ObservedBody::new(body, OpenWhileAsked { open, activity })
        })))
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

/// Closes an upgraded connection when the credential that opened it ends.
fn end_with_credential(response: &Response<Body>, activity: &Arc<Activity>) {
    let Some(ended) =
        response.extensions().get::<RevocationSignal>().and_then(RevocationSignal::take)
    else {
        return;
    };
    activity.upgrade();
    // The socket holds the activity; once it is gone there is nothing to close.
    let activity = Arc::downgrade(activity);
    task::spawn(&Handle::current(), async move {
        let mut ended = pin!(ended);
        loop {
            tokio::select! {
                () = &mut ended => break,
                () = timers::sleep(Duration::from_secs(10)) => {
                    if activity.strong_count() == 0 {
                        return;
                    }
                }
            }
        }
        if let Some(activity) = activity.upgrade() {
            activity.cut();
        }
    });
}

/// A body that keeps its request open.
type OpenBody = ObservedBody<CountedBody, OpenWhileAsked>;

/// Keeps a request open while the source of its body is waited for. While the client has to read,
/// the connection waits for the client.
pub(super) struct OpenWhileAsked {
    open: Option<OpenRequest>,
    activity: Arc<Activity>,
}

impl BodyObserver<CountedBody> for OpenWhileAsked {
    fn after(
        &mut self,
        polled: &mut Polled<CountedBody>,
        _body: &CountedBody,
        _context: &mut Context<'_>,
    ) {
        if polled.is_ready() {
            self.open = None;
        } else if self.open.is_none() {
            self.open = Some(self.activity.begin_request());
        }
    }
}
