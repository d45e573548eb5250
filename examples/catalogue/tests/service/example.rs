//! Runs the example as its documentation says: `cargo run -p catalogue`.

use std::{io, net::SocketAddr};

use policy_tests::example::Example;

/// The running example.
#[derive(Debug)]
pub(crate) struct Catalogue(Example);

impl Catalogue {
    /// Starts it on free ports.
    pub(crate) fn start() -> io::Result<Self> {
        let mut command = Example::command(env!("CARGO_BIN_EXE_catalogue"));
        command.env("POLICY_CATALOGUE_PORTS", "0,0");
        Example::start(&mut command, &["catalogue", "partner"]).map(Self)
    }

    /// The origin of the catalogue: `http://localhost:` and a port.
    pub(crate) fn origin(&self) -> &str {
        self.0.printed("catalogue")
    }

    /// The address on which it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.0.address("catalogue")
    }

    /// The origin of the partner's page, which is another site.
    pub(crate) fn partner(&self) -> &str {
        self.0.printed("partner")
    }

    pub(crate) fn stop(self) -> io::Result<()> {
        self.0.stop()
    }
}
