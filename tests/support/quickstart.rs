//! The quickstart example: `cargo run --example quickstart`.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use crate::{
    example::{Example, LIMIT},
    webdriver::Failure,
};

/// The running example. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Quickstart {
    example: Example,
    granted: String,
    refused: String,
}

impl Quickstart {
    /// Starts the example on free ports.
    pub(crate) fn start() -> Result<Self, Failure> {
        let ports = [("POLICY_QUICKSTART_PORTS", "0,0,0")];
        let labels = ["granted page:", "refused page:"];
        let (example, [granted, refused]) = Example::start("quickstart", &ports, labels)?;
        Ok(Self { example, granted, refused })
    }

    /// The page that the API grants, without a slash at the end.
    pub(crate) fn granted(&self) -> &str {
        &self.granted
    }

    /// The page that the API does not grant.
    pub(crate) fn refused(&self) -> &str {
        &self.refused
    }

    /// What the refused page's server answers to somebody who opens it without a browser.
    pub(crate) fn answer(&self) -> Result<String, Failure> {
        let host = self.refused.strip_prefix("http://").ok_or("no address")?;
        let mut stream = TcpStream::connect(host)?;
        stream.set_read_timeout(Some(LIMIT))?;
        write!(stream, "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    /// Asks it to end, as a supervisor does, and waits until it did.
    pub(crate) fn stop(self) -> Result<(), Failure> {
        self.example.stop()
    }
}
