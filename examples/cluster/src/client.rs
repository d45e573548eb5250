//! An HTTP/1.1 client with a connection for each request. The front asks the instances with it, and
//! the visitors of `chaos` use it.

use std::{io, net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

/// How long a client waits for a response.
const PATIENCE: Duration = Duration::from_secs(5);

/// A response of an instance.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Received {
    /// The value of the first field of this name, in any case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let fields = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        let mut found = fields.filter(|(field, _)| field.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.trim())
    }
}

/// The status of a GET, or `None` without a response.
pub(crate) async fn get(address: SocketAddr, path: &str) -> Option<u16> {
    exchange(address, "GET", path, &[], "").await.ok().map(|received| received.status)
}

/// Sends a request, and reads the response to its end.
pub(crate) async fn exchange(
    address: SocketAddr,
    method: &str,
    path: &str,
    fields: &[(&str, &str)],
    body: &str,
) -> io::Result<Received> {
    let mut request = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost:{}\r\nconnection: close\r\ncontent-length: {}\r\n",
        address.port(),
        body.len()
    );
    for (name, value) in fields {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str("\r\n");
    request.push_str(body);
    let exchanged = timeout(PATIENCE, async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await?;
        received(&bytes).ok_or_else(|| io::Error::other("a response that was cut off"))
    });
    exchanged.await.map_err(io::Error::from)?
}

/// A whole response; every response here states its length.
fn received(bytes: &[u8]) -> Option<Received> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let received = Received { status, head: head.to_owned(), body: body.to_owned() };
    let length = received.header("content-length").and_then(|length| length.parse().ok());
    (length.unwrap_or(0) == body.len()).then_some(received)
}
