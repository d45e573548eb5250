//! A socket that records when bytes move.

use std::{io, sync::Arc, task::Poll};

use tokio::sync::OwnedSemaphorePermit;

#[cfg(feature = "http2")]
use super::connection::Frames;
use super::{activity::Activity, socket::Socket};
use crate::base::observed_io::{IoObserver, ObservedIo};

/// The socket of a connection.
pub(super) type MonitoredIo = ObservedIo<Socket, Monitor>;

/// Records the traffic of a connection. It holds the connection's permit, so that an upgraded
/// connection, which outlives its task, still counts.
#[derive(Debug)]
pub(super) struct Monitor {
    activity: Arc<Activity>,
    /// For HTTP/2, where not all bytes belong to requests.
    #[cfg(feature = "http2")]
    frames: Option<Box<Frames>>,
    _permit: OwnedSemaphorePermit,
}

impl Monitor {
    pub(super) fn new(activity: Arc<Activity>, permit: OwnedSemaphorePermit) -> Self {
        Self {
            activity,
            #[cfg(feature = "http2")]
            frames: None,
            _permit: permit,
        }
    }

    /// The same, for an HTTP/2 connection.
    #[cfg(feature = "http2")]
    pub(super) fn in_frames(self) -> Self {
        Self { frames: Some(Box::new(Frames::new())), ..self }
    }
}

impl IoObserver for Monitor {
    #[cfg_attr(
        not(feature = "http2"),
        expect(unused_variables, reason = "only frames have to be read")
    )]
    #[inline]
    fn after_read(&mut self, bytes: &[u8]) -> io::Result<()> {
        #[cfg(feature = "http2")]
        if let Some(frames) = &mut self.frames {
            return frames.count(bytes, &self.activity);
        }
        self.activity.read();
        Ok(())
    }

    fn before_shutdown(&mut self) {
        self.activity.ends();
    }

    #[inline]
    fn after_write(&mut self, written: &Poll<io::Result<usize>>) {
        match written {
            Poll::Pending => self.activity.waits_to_write(),
            Poll::Ready(written) => {
                let written = *written.as_ref().unwrap_or(&0);
                self.activity.wrote(written);
                #[cfg(feature = "http2")]
                if let Some(frames) = &mut self.frames {
                    frames.wrote(written);
                }
            }
        }
    }
}
