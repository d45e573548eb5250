//! A socket that records when bytes move.

use std::{
    io,
    sync::Arc,
    task::{Context, Poll},
};

use tokio::sync::OwnedSemaphorePermit;

use super::{
    activity::{Activity, Side},
    h2_frames::Frames,
    socket::Socket,
};
use crate::base::observed_io::{IoObserver, ObservedIo};

/// The socket of a connection.
pub(super) type MonitoredIo = ObservedIo<Socket, Monitor>;

/// Records what moves on a connection. It holds the connection's permit, so that an upgraded
/// connection, which outlives its task, still counts.
#[derive(Debug)]
pub(super) struct Monitor {
    activity: Arc<Activity>,
    /// For HTTP/2, where not all bytes belong to requests.
    frames: Option<Box<Frames>>,
    _permit: OwnedSemaphorePermit,
}

impl Monitor {
    pub(super) fn new(activity: Arc<Activity>, permit: OwnedSemaphorePermit) -> Self {
        Self { activity, frames: None, _permit: permit }
    }

    /// The same, for an HTTP/2 connection.
    pub(super) fn in_frames(self) -> Self {
        Self { frames: Some(Box::new(Frames::new())), ..self }
    }

    #[inline]
    fn unless_cut(&self, side: Side, context: &Context<'_>) -> io::Result<()> {
        if self.activity.is_cut(side, context) { Err(ended()) } else { Ok(()) }
    }
}

impl IoObserver for Monitor {
    #[inline]
    fn before_read(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        self.unless_cut(Side::Read, context)
    }

    fn after_read(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(frames) = &mut self.frames else {
            self.activity.read();
            return Ok(());
        };
        let weight = frames.read(bytes);
        if frames.are_too_many() {
            return Err(flooded("too many frames that belong to no request"));
        }
        if self.activity.gives_up_too_much() {
            return Err(flooded("too many requests that the client gave up"));
        }
        if weight.useful > 0 {
            self.activity.read();
        }
        self.activity.owes(weight.overhead);
        Ok(())
    }

    #[inline]
    fn before_write(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        self.unless_cut(Side::Write, context)
    }

    fn before_shutdown(&mut self) {
        self.activity.ends();
    }

    fn after_write(&mut self, written: &Poll<io::Result<usize>>) {
        match written {
            Poll::Pending => self.activity.waits_to_write(),
            Poll::Ready(written) => {
                let written = *written.as_ref().unwrap_or(&0);
                self.activity.wrote(written);
                if let Some(frames) = &mut self.frames {
                    frames.wrote(written);
                }
            }
        }
    }
}

/// Closes a connection whose client floods it (RFC 9113 10.5).
fn flooded(by: &'static str) -> io::Error {
    io::Error::other(by)
}

/// The read error of an upgraded connection whose credential has ended.
fn ended() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "the credential of this connection ended")
}
