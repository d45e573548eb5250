//! WebSockets, once both sides agreed to one.

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::{io::copy_bidirectional, try_join};

/// Passes bytes both ways until both sides have ended, or one fails. What one side does not take
/// is not read from the other.
pub(super) fn join(client: OnUpgrade, upstream: OnUpgrade) {
    tokio::spawn(async move {
        let Ok((client, upstream)) = try_join!(client, upstream) else { return };
        let (mut client, mut upstream) = (TokioIo::new(client), TokioIo::new(upstream));
        if let Err(error) = copy_bidirectional(&mut client, &mut upstream).await {
            tracing::debug!(%error, "a WebSocket broke off");
        }
    });
}
