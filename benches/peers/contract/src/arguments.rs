use std::{
    env, io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
};

use socket2::{Domain, Socket, Type};
use tokio::runtime::{Builder, Runtime};

/// `PEER PORT [--threads N] [--FLAG ..]`
#[derive(Debug)]
pub struct Arguments {
    port: u16,
    threads: usize,
    flags: Vec<String>,
}

impl Arguments {
    /// Reads the command line of this process.
    ///
    /// # Errors
    ///
    /// The port is missing, or a number is invalid.
    pub fn parse() -> io::Result<Self> {
        let (mut port, mut threads, mut flags) = (None, Some(1), Vec::new());
        let mut words = env::args().skip(1);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--threads" => threads = words.next().and_then(|number| number.parse().ok()),
                flag if flag.starts_with("--") => flags.push(word),
                number => port = number.parse().ok(),
            }
        }
        let usage = || io::Error::other("usage: PEER PORT [--threads N] [--FLAG ..]");
        let (port, threads) = port.zip(threads).ok_or_else(usage)?;
        Ok(Self { port, threads, flags })
    }

    /// The number of threads that serve requests.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Whether a flag was given, as in `--http2`.
    pub fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|other| other == flag)
    }

    /// A non-blocking listener on a loopback port, which several threads may share.
    ///
    /// # Errors
    ///
    /// The port is taken.
    pub fn listen(&self) -> io::Result<TcpListener> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.set_reuse_address(true)?;
        socket.set_reuse_port(self.has("--per-core"))?;
        socket.set_nonblocking(true)?;
        socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, self.port)).into())?;
        socket.listen(4096)?;
        Ok(socket.into())
    }

    /// One work-stealing runtime.
    ///
    /// # Errors
    ///
    /// The system cannot create a thread.
    pub fn runtime(&self) -> io::Result<Runtime> {
        Builder::new_multi_thread().worker_threads(self.threads).enable_all().build()
    }
}
