//! Runs the example as its documentation says: `cargo run -p accounts`.

use std::{io, net::SocketAddr, process::Command};

use policy_tests::{example::Example, folder::Folder};

/// The running example.
#[derive(Debug)]
pub(crate) struct Accounts(Example);

impl Accounts {
    /// The command that starts it on free ports.
    pub(crate) fn command(folder: &Folder) -> Command {
        let mut command = Example::command(env!("CARGO_BIN_EXE_accounts"));
        command.env("POLICY_ACCOUNTS_PORTS", "0,0,0").env("POLICY_ACCOUNTS_FOLDER", folder.path());
        command
    }

    pub(crate) fn start(folder: &Folder) -> io::Result<Self> {
        Example::start(&mut Self::command(folder), &["service", "page", "other"]).map(Self)
    }

    /// The origin of the service: `http://localhost:` and a port.
    pub(crate) fn service(&self) -> &str {
        self.0.printed("service")
    }

    pub(crate) fn service_address(&self) -> SocketAddr {
        self.0.address("service")
    }

    /// The origin of the page.
    pub(crate) fn page(&self) -> &str {
        self.0.printed("page")
    }

    /// The origin of the page of another site: `http://127.0.0.1:` and a port.
    pub(crate) fn other_site(&self) -> &str {
        self.0.printed("other")
    }

    pub(crate) fn page_address(&self) -> SocketAddr {
        self.0.address("page")
    }

    pub(crate) fn stop(self) -> io::Result<()> {
        self.0.stop()
    }
}
