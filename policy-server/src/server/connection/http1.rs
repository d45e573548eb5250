//! An HTTP/1.1 connection, which releases its buffers while its client is quiet.

use std::{
    mem,
    pin::Pin,
    task::{Context, Poll, ready},
};

use hyper::{rt::Write as _, server::conn::http1};
use hyper_util::rt::TokioIo;

use super::{Graceful, service::ConnectionService};
use crate::{auth::LastCredential, server::monitor::MonitoredIo};

/// hyper's connection keeps a read buffer of 8 KiB for its whole life. Between two requests only
/// the socket is needed, so hyper's connection is created again for the next request.
pub(super) enum Http1 {
    Serving(Box<Connection>),
    Resting(Io, Box<ConnectionService>),
    Ended,
}

type Io = TokioIo<MonitoredIo>;
type Connection = http1::UpgradeableConnection<Io, ConnectionService>;

/// All of it is `#[inline]`, so that hyper's code is compiled with the task that runs it.
impl Http1 {
    #[inline]
    pub(super) fn new(io: Io, service: ConnectionService) -> Self {
        let settings = &service.app.app().settings;
        let mut builder = http1::Builder::new();
        builder.keep_alive(settings.keep_alive).max_buf_size(settings.header_limit);
        // Our own timer has no cost per request.
        builder.header_read_timeout(None);
        Self::Serving(Box::new(builder.serve_connection(io, service).with_upgrades()))
    }

    #[inline]
    fn resume(&mut self) {
        if let Self::Resting(io, service) = mem::replace(self, Self::Ended) {
            *self = Self::new(io, *service);
        }
    }
}

impl Future for Http1 {
    type Output = hyper::Result<()>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            match &mut *self {
                Self::Serving(connection) => return Pin::new(&mut **connection).poll(context),
                Self::Resting(io, _) => {
                    // hyper reads the error, if it is one.
                    let _ = ready!(io.inner().get_ref().poll_read_ready(context));
                    self.resume();
                }
                Self::Ended => return Poll::Ready(Ok(())),
            }
        }
    }
}

impl Graceful for Http1 {
    const TELLS: bool = false;

    #[inline]
    fn end(mut self: Pin<&mut Self>) {
        match &mut *self {
            Self::Serving(connection) => Pin::new(&mut **connection).graceful_shutdown(),
            Self::Resting(..) | Self::Ended => *self = Self::Ended,
        }
    }

    #[inline]
    fn rest(mut self: Pin<&mut Self>, context: &mut Context<'_>) {
        let connection = match mem::replace(&mut *self, Self::Ended) {
            Self::Serving(connection) => connection,
            other => return *self = other,
        };
        let Some(http1::Parts { mut io, read_buf, mut service, .. }) = connection.into_parts()
        else {
            return;
        };
        // A client that sent a part of a head long ago is late.
        if !read_buf.is_empty() {
            return;
        }
        *self = if Pin::new(&mut io).poll_flush(context).is_ready() {
            tracing::trace!("connection rests");
            service.last = LastCredential::default();
            Self::Resting(io, Box::new(service))
        } else {
            Self::new(io, service)
        };
    }
}
