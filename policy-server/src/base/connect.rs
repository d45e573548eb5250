//! TCP connections to a host, which may have several addresses.

use std::{future::pending, io, net::SocketAddr, time::Duration};

use tokio::{
    net::{TcpStream, lookup_host},
    select,
    task::JoinSet,
};

use super::timers;

/// How long an attempt is the only one before the next address is tried, too (RFC 8305 5).
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

/// How many attempts run at once: the owner of a name may list thousands of addresses.
const MAX_ATTEMPTS: usize = 8;

/// Connects to the first address of a host that accepts; see [`connect_to_any`].
pub(crate) async fn connect_to_host(
    host: &str,
    port: u16,
    patience: Duration,
) -> io::Result<TcpStream> {
    let addresses: Vec<_> = lookup_host((host, port)).await?.collect();
    connect_to_any(&addresses, patience).await
}

/// Connects to the first of these addresses that accepts. `patience` is how long the caller waits,
/// after which it drops the future.
///
/// The addresses are tried in their order, each beside those that have not responded yet, of which
/// there are few: one that drops packets would otherwise use up the time for the others (RFC 8305 5).
///
/// # Errors
///
/// The error of the last attempt, once all have failed.
pub(crate) async fn connect_to_any(
    addresses: &[SocketAddr],
    patience: Duration,
) -> io::Result<TcpStream> {
    let delay = attempt_delay(addresses.len(), patience);
    let (mut untried, mut attempts) = (addresses, JoinSet::new());
    let mut failure = io::Error::new(io::ErrorKind::InvalidInput, "the host has no address");
    loop {
        if let Some((address, others)) = untried.split_first() {
            attempts.spawn(TcpStream::connect(*address));
            untried = others;
        }
        let may_add = !untried.is_empty() && attempts.len() < MAX_ATTEMPTS;
        let next = async { if may_add { timers::sleep(delay).await } else { pending().await } };
        select! {
            attempt = attempts.join_next() => match attempt {
                Some(Ok(Ok(stream))) => return Ok(stream),
                Some(Ok(Err(error))) => failure = error,
                Some(Err(error)) => failure = error.into(),
                None => return Err(failure),
            },
            () = next => (),
        }
    }
}

/// How long to wait before the next of this many addresses is tried: each gets a share of the time.
fn attempt_delay(addresses: usize, patience: Duration) -> Duration {
    let count = u32::try_from(addresses).unwrap_or(u32::MAX);
    ATTEMPT_DELAY.min(patience / count.max(1))
}

#[cfg(test)]
mod tests {
    use tokio::{
        net::{TcpListener, TcpSocket},
        time::timeout,
    };

    use super::*;

    const LOOPBACK: &str = "127.0.0.1:0";
    const LONG: Duration = Duration::from_secs(60);

    /// An address that neither accepts nor refuses connections for as long as the rest is held: the
    /// queue of its listener is full.
    async fn silent_address() -> (SocketAddr, (TcpListener, [TcpStream; 2])) {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(LOOPBACK.parse().unwrap()).unwrap();
        let listener = socket.listen(1).unwrap();
        let address = listener.local_addr().unwrap();
        let connect = async || TcpStream::connect(address).await.unwrap();
        let queue = [connect().await, connect().await];
        (address, (listener, queue))
    }

    /// Whether a connection leads to the address.
    async fn reaches(address: SocketAddr, addresses: &[SocketAddr]) -> bool {
        let connected = timeout(LONG, connect_to_any(addresses, LONG)).await.expect("an end");
        connected.unwrap().peer_addr().unwrap() == address
    }

    #[tokio::test]
    async fn an_address_that_never_responds_leaves_time_for_the_others() {
        let (silent, _queue) = silent_address().await;
        let listener = TcpListener::bind(LOOPBACK).await.unwrap();
        let live = listener.local_addr().unwrap();
        assert!(reaches(live, &[silent, live]).await);
        assert!(reaches(live, &[silent, silent, live]).await);
        assert!(reaches(live, &[live, silent]).await);
    }

    #[tokio::test]
    async fn few_attempts_wait_at_once() {
        let (silent, _queue) = silent_address().await;
        let listener = TcpListener::bind(LOOPBACK).await.unwrap();
        let live = listener.local_addr().unwrap();
        let behind = async |count: usize, wait| {
            let mut addresses = vec![silent; count];
            addresses.push(live);
            timeout(wait, connect_to_any(&addresses, Duration::from_millis(9))).await
        };
        assert!(behind(MAX_ATTEMPTS - 1, LONG).await.expect("an end").is_ok());
        assert!(behind(MAX_ATTEMPTS, Duration::from_millis(300)).await.is_err());
    }

    #[tokio::test]
    async fn a_refusal_is_the_result_only_where_no_address_accepts() {
        // Bound, and no listener.
        let closed = TcpSocket::new_v4().unwrap();
        closed.bind(LOOPBACK.parse().unwrap()).unwrap();
        let refused = closed.local_addr().unwrap();
        let listener = TcpListener::bind(LOOPBACK).await.unwrap();
        let live = listener.local_addr().unwrap();
        assert!(reaches(live, &[refused, refused, live]).await);
        for (addresses, kind) in [
            (&[refused, refused][..], io::ErrorKind::ConnectionRefused),
            (&[], io::ErrorKind::InvalidInput),
        ] {
            let ended = timeout(LONG, connect_to_any(addresses, LONG)).await.expect("an end");
            assert_eq!(ended.unwrap_err().kind(), kind);
        }
    }

    #[test]
    fn every_address_is_tried_while_the_caller_waits() {
        assert_eq!(attempt_delay(2, Duration::from_secs(5)), ATTEMPT_DELAY);
        for count in 1..200 {
            for patience in [Duration::from_millis(200), Duration::from_secs(5), Duration::MAX] {
                let delay = attempt_delay(count as usize, patience);
                assert!(delay * (count - 1) < patience, "{count} in {patience:?}");
            }
        }
    }
}
