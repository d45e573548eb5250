//! The PROXY protocol.

use std::io;

use policy_core::forwarded::{
    ProxyReport,
    proxy_protocol::{Malformed, Progress, read},
};
use tokio::io::AsyncReadExt;

use super::stream::Stream;

/// Reads the header of the PROXY protocol from a connection, exactly its bytes, and returns what it
/// states of the client.
///
/// Bytes are peeked at before they are read, so that nothing after the header is consumed.
///
/// # Errors
///
/// There is no header, or the connection ended within it.
pub(super) async fn take(stream: &mut Stream) -> io::Result<ProxyReport> {
    let mut header = Vec::new();
    let mut peeked = [0; 256];
    loop {
        let len = stream.peek(&mut peeked).await?;
        let next = peeked.get(..len).unwrap_or_default();
        if next.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let before = header.len();
        header.extend_from_slice(next);
        let progress = read(&header).map_err(|Malformed| io::ErrorKind::InvalidData)?;
        let end = match progress {
            Progress::Incomplete => header.len(),
            Progress::Complete { length, .. } => length,
        };
        let taken = peeked.get_mut(..end - before).unwrap_or_default();
        stream.read_exact(taken).await?;
        if let Progress::Complete { client, .. } = progress {
            return Ok(client);
        }
    }
}
