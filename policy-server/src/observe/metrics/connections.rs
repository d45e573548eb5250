//! Connections, by the version of their protocol.

use http::Version;
use metrics::{Counter, Gauge, Recorder};

use super::names;

/// The major versions: HTTP/1.0 and HTTP/1.1 share connections.
const VERSIONS: [(&str, Version); 3] =
    [("1", Version::HTTP_11), ("2", Version::HTTP_2), ("3", Version::HTTP_3)];

pub(crate) struct Connections([(Version, Counter, Gauge); VERSIONS.len()]);

impl Connections {
    pub(super) fn new(to: &dyn Recorder) -> Self {
        Self(VERSIONS.map(|(name, version)| {
            let attributes = [(names::VERSION, name)];
            let accepted = names::ACCEPTED.counter(to, &attributes);
            (version, accepted, names::OPEN.gauge(to, &attributes))
        }))
    }

    /// Counts a connection, which is open until the guard is dropped.
    pub(crate) fn count(&self, version: Version) -> Option<OpenConnection> {
        let (_, accepted, open) = self.0.iter().find(|(one, ..)| *one == version)?;
        accepted.increment(1);
        open.increment(1.0);
        Some(OpenConnection(open.clone()))
    }
}

/// A connection that is counted.
#[derive(Debug)]
pub(crate) struct OpenConnection(Gauge);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.decrement(1.0);
    }
}
