//! Requests of HTTP/2, which arrive while earlier responses of their connection are unread.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use http::{Request, Response};
use hyper::{body::Incoming, service::Service};

use crate::server::{
    connection::service::{ConnectionService, OpenResponse},
    outgoing::OutgoingBody,
    unsent::Turn,
};

/// The app as the service of one connection. A request begins when the client has read enough of the
/// earlier responses: until then it has no permit, and its credential is not checked.
pub(super) struct StreamService(Arc<ConnectionService>);

impl StreamService {
    pub(super) fn new(service: ConnectionService) -> Self {
        Self(Arc::new(service))
    }
}

impl Service<Request<Incoming>> for StreamService {
    type Response = Response<OutgoingBody>;
    type Error = Infallible;
    type Future = StreamResponse;

    fn call(&self, request: Request<Incoming>) -> StreamResponse {
        let service = Arc::clone(&self.0);
        StreamResponse::Waiting(WaitingRequest { service, request: Some(request), room: None })
    }
}

/// The future of a response.
pub(super) enum StreamResponse {
    Waiting(WaitingRequest),
    /// The turn of a request that had to wait is held until its response is counted.
    Begun(OpenResponse, Option<Turn>),
}

impl Future for StreamResponse {
    type Output = Result<Response<OutgoingBody>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Self::Waiting(waiting) = &mut *self {
            let (begun, turn) = ready!(waiting.poll_begun(context));
            *self = Self::Begun(begun, turn);
        }
        let Self::Begun(response, turn) = &mut *self else { return Poll::Pending };
        let response = ready!(Pin::new(response).poll(context));
        drop(turn.take());
        Poll::Ready(response)
    }
}

/// A request that has not begun.
pub(super) struct WaitingRequest {
    service: Arc<ConnectionService>,
    /// `None` once it has begun.
    request: Option<Request<Incoming>>,
    /// The wait for the client, if one is necessary.
    room: Option<Room>,
}

type Room = Pin<Box<dyn Future<Output = Turn> + Send>>;

impl WaitingRequest {
    /// Begins the request when the client has read enough of the earlier responses. The check comes
    /// last, so that each of several requests that arrive together counts the responses to the others
    /// before it.
    fn poll_begun(&mut self, context: &mut Context<'_>) -> Poll<(OpenResponse, Option<Turn>)> {
        let Self { service, request, room } = self;
        let unsent = service.activity.unsent();
        let mut turn = None;
        if room.is_some() || unsent.is_full() {
            // The client has unread responses meanwhile, so the time-out for slow readers applies.
            let room = room.get_or_insert_with(|| {
                let unsent = Arc::clone(unsent);
                Box::pin(async move { unsent.room().await })
            });
            turn = Some(ready!(room.as_mut().poll(context)));
        }
        match request.take() {
            Some(request) => Poll::Ready((service.call(request), turn)),
            None => Poll::Pending,
        }
    }
}

impl Drop for WaitingRequest {
    fn drop(&mut self) {
        if self.request.is_some() {
            self.service.activity.gave_up();
        }
    }
}
