//! The quickstart example as its reader starts it: `cargo run --example quickstart`.

#[path = "example.rs"]
mod started;

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

use crate::webdriver::Failure;
use started::Example;

/// How long the example may take to answer.
const LIMIT: Duration = Duration::from_secs(60);

/// The running example.
#[derive(Debug)]
pub(crate) struct Quickstart(Example);

impl Quickstart {
    /// Starts the example on free ports.
    pub(crate) fn start() -> Result<Self, Failure> {
        let mut command = Example::command("quickstart");
        command.env("POLICY_QUICKSTART_PORTS", "0,0,0");
        Ok(Self(Example::start(&mut command, &["granted page", "refused page"])?))
    }

    /// The page that the API grants, without a slash at the end.
    pub(crate) fn granted(&self) -> &str {
        self.0.printed("granted page")
    }

    /// The page that the API does not grant.
    pub(crate) fn refused(&self) -> &str {
        self.0.printed("refused page")
    }

    /// What the refused page's server answers to somebody who opens it without a browser.
    pub(crate) fn answer(&self) -> Result<String, Failure> {
        let host = self.refused().strip_prefix("http://").ok_or("no address")?;
        let mut stream = TcpStream::connect(host)?;
        stream.set_read_timeout(Some(LIMIT))?;
        write!(stream, "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    pub(crate) fn stop(self) -> Result<(), Failure> {
        Ok(self.0.stop()?)
    }
}
