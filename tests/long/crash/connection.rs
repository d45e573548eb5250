//! A connection to a server that may be killed at any moment.

use std::{io, net::SocketAddr};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
};

pub(super) struct Connection {
    stream: BufReader<TcpStream>,
    address: SocketAddr,
}

pub(super) struct RawResponse {
    pub(super) status: u16,
    /// `name=value` of the cookie that it sets.
    pub(super) cookie: Option<String>,
    pub(super) body: String,
}

/// The connection ended before the response: it is unknown whether the request was processed.
#[derive(Debug)]
pub(super) struct Lost;

impl From<io::Error> for Lost {
    fn from(_: io::Error) -> Self {
        Self
    }
}

impl Connection {
    pub(super) async fn open(address: SocketAddr) -> Result<Self, Lost> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream), address })
    }

    /// Sends `POST /path` with one more field, and waits for the whole response.
    pub(super) async fn ask(&mut self, what: &str, field: &str) -> Result<RawResponse, Lost> {
        let Self { stream, address } = self;
        let length = if what.starts_with("POST") { "content-length: 0\r\n" } else { "" };
        let request = format!(
            "{what} HTTP/1.1\r\nhost: {address}\r\norigin: http://{address}\r\n{length}{field}\r\n"
        );
        stream.get_mut().write_all(request.as_bytes()).await?;
        let mut response = RawResponse { status: 0, cookie: None, body: String::new() };
        let mut length = 0;
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).await? == 0 || !line.ends_with("\r\n") {
                return Err(Lost);
            }
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            match line.split_once(": ") {
                None => response.status = line[9..12].parse().expect("a status"),
                Some(("content-length", text)) => length = text.parse().expect("a length"),
                Some(("set-cookie", text)) => {
                    response.cookie = text.split(';').next().map(str::to_owned);
                }
                Some(_) => (),
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await?;
        response.body = String::from_utf8(body).expect("a text");
        Ok(response)
    }
}
