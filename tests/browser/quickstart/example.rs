//! The quickstart example, started as a user does: `cargo run --example quickstart`.

use std::{
    env,
    io::{Read, Write},
    net::TcpStream,
    process::Command,
    time::Duration,
};

use policy_tests::{example::Example, webdriver::Failure};

/// How long the example may take to respond.
const LIMIT: Duration = Duration::from_secs(60);

/// The running example.
#[derive(Debug)]
pub(crate) struct Quickstart(Example);

impl Quickstart {
    /// Starts the example on free ports.
    pub(crate) fn start() -> Result<Self, Failure> {
        Self::on("0,0,0")
    }

    /// Starts it on the ports that users see, or on free ones in place of those that are taken.
    pub(crate) fn on_its_ports() -> Result<Self, Failure> {
        Self::on("")
    }

    fn on(ports: &str) -> Result<Self, Failure> {
        let mut command = command();
        command.env("POLICY_QUICKSTART_PORTS", ports);
        Ok(Self(Example::start(&mut command, &["granted page", "refused page"])?))
    }

    /// The page that the API grants, without a slash at the end.
    pub(crate) fn granted_page(&self) -> &str {
        self.0.printed("granted page")
    }

    /// The page that the API does not grant.
    pub(crate) fn refused_page(&self) -> &str {
        self.0.printed("refused page")
    }

    /// The response of the refused page's server to a client that is not a browser.
    pub(crate) fn response(&self) -> Result<String, Failure> {
        let host = self.refused_page().strip_prefix("http://").ok_or("no address")?;
        let mut stream = TcpStream::connect(host)?;
        stream.set_read_timeout(Some(LIMIT))?;
        write!(stream, "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
        let mut response = String::new();
        stream.read_to_string(&mut response)?;
        Ok(response)
    }

    pub(crate) fn stop(self) -> Result<(), Failure> {
        Ok(self.0.stop()?)
    }
}

fn command() -> Command {
    // `cargo xtask test` has just built all examples.
    let is_built = env::var_os("POLICY_EXAMPLES").is_some_and(|what| what == "built");
    if is_built {
        let test = env::current_exe().expect("the path of this test");
        let profile = test.ancestors().nth(2).expect("the folder of all that was built");
        return Example::command(profile.join("examples/quickstart"));
    }
    let mut cargo = Example::command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["run", "--quiet", "--example", "quickstart"]);
    cargo.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    cargo
}
