//! One HTTP/3 connection: its handshake, its requests, and its shutdown.

use std::{
    future::poll_fn,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use bytes::Bytes;
use h3::error::Code;
#[cfg(feature = "metrics")]
use http::Version;
use quinn::ConnectionError;
use tokio::{sync::OwnedSemaphorePermit, task::JoinSet, time::timeout};

use super::{
    exchange::Common,
    quic::{Transport, code},
};
use crate::{
    app::settings::ServerSettings,
    auth::LastCredential,
    server::{
        Serving, activity::Activity, connection::Timer, shutdown::Phase, tls::HandshakeOutcome,
    },
};

/// How many round trips a connection lingers after its last response. Its client decides how long
/// they take, so there is a limit.
const LINGER: u32 = 3;
const LONGEST_LINGER: Duration = Duration::from_millis(500);

/// How long GOAWAY may wait for room at the client. Neither this wait nor the linger notices a stop,
/// so both together are shorter than `LAST_TASKS`.
const GOAWAY: Duration = Duration::from_millis(300);

/// Counts a handshake in progress.
#[derive(Debug)]
pub(super) struct Handshake(Arc<AtomicUsize>);

impl Handshake {
    pub(super) fn begin(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Handshake {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// HTTP/3 on a connection, unless the client is too slow or breaks the protocol: then it is closed.
async fn open(
    quic: &quinn::Connection,
    settings: &ServerSettings,
) -> Option<h3::server::Connection<Transport, Bytes>> {
    let transport = Transport::new(quic.clone(), settings.header_limit);
    let mut builder = h3::server::builder();
    // The library panics at a number that QUIC cannot send.
    let limit = u32::try_from(settings.header_limit).unwrap_or(u32::MAX);
    builder.max_field_section_size(limit.into()).send_grease(false);
    let opened = timeout(settings.header_timeout, builder.build(transport)).await;
    let opened = opened.ok().and_then(Result::ok);
    if opened.is_none() {
        quic.close(code(Code::H3_NO_ERROR), b"");
    }
    opened
}

/// Serves one connection to its end, which drops `permit`.
pub(super) async fn serve(
    incoming: quinn::Incoming,
    serving: Serving,
    handshake: Handshake,
    _permit: OwnedSemaphorePermit,
) {
    // Only the handshake proves that the client receives at its address: a later packet moves the
    // connection to its source before that is proved (RFC 9000 8.2, 9.3).
    let address = incoming.remote_address();
    let mut outcome = HandshakeOutcome::default();
    // A returning client may send requests in its first packets.
    let Ok(Ok((quic, confirmed))) = incoming.accept().map(quinn::Connecting::into_0rtt) else {
        return;
    };
    let settings = serving.service.app().settings.clone();
    let Some(mut connection) = open(&quic, &settings).await else { return };
    #[cfg(feature = "metrics")]
    let meter = serving.service.app().meter.clone();
    #[cfg(feature = "metrics")]
    let _open = meter.and_then(|meter| meter.connections.count(Version::HTTP_3));
    let activity = Arc::new(Activity::new(&serving.unsent));
    let mut timer = Timer::new(&settings, None);
    let shutdown = serving.shutdown.clone();
    let common = Arc::new(Common {
        serving,
        address,
        activity: Arc::clone(&activity),
        last: LastCredential::default(),
        client_limit: Arc::clone(&connection.inner.conn.client_limit),
    });
    // The requests end with the connection.
    let mut requests = JoinSet::new();
    let mut confirmed = pin!(timeout(settings.header_timeout, confirmed));
    let mut handshake = Some(handshake);
    let mut phase = Phase::Serve;
    let mut next_phase = pin!(shutdown.wait_while(phase));
    let mut is_closing = false;
    let mut takes_requests = true;
    loop {
        let mut is_last = false;
        tokio::select! {
            accepted = connection.accept(), if takes_requests => match accepted {
                Ok(Some(resolver)) => {
                    let Some(accepted) = connection.inner.conn.accepted.take() else { break };
                    // A task is moved often, and this one is large.
                    requests.spawn(Box::pin(Arc::clone(&common).exchange(resolver, accepted)));
                    while requests.try_join_next().is_some() {}
                    is_last = !settings.keep_alive;
                    if activity.gives_up_too_much() {
                        quic.close(code(Code::H3_EXCESSIVE_LOAD), b"requests given up");
                        break;
                    }
                }
                // The client sent GOAWAY (RFC 9114 5.2), and the library replied with its own. Requests
                // from before it are completed.
                Ok(None) => {
                    takes_requests = false;
                    is_closing = true;
                }
                Err(error) => {
                    tracing::debug!(%error, "connection ended");
                    break;
                }
            },
            in_time = &mut confirmed, if handshake.is_some() => {
                handshake = None;
                // It is also over if the client refused the certificate.
                if in_time.is_err() || quic.close_reason().is_some() {
                    break;
                }
                outcome.complete();
            }
            () = poll_fn(|context| timer.poll(&activity, context)) => break,
            () = poll_fn(|context| activity.unsent().poll_evicted(context)) => {
                quic.close(code(Code::H3_EXCESSIVE_LOAD), b"responses not read");
                break;
            }
            () = &mut next_phase => {
                phase = shutdown.phase();
                if phase == Phase::Cut {
                    break;
                }
                next_phase.set(shutdown.wait_while(phase));
                is_last = true;
            }
            Some(_ended) = requests.join_next(), if is_closing => (),
        }
        if is_last && !is_closing {
            is_closing = true;
            connection.inner.conn.close_for_requests();
            // GOAWAY: requests from the next number on are not served. A client without room for it
            // learns that when they are rejected.
            if let Ok(Err(_closed)) = timeout(GOAWAY, connection.shutdown(1)).await {
                break;
            }
        }
        if is_closing && requests.is_empty() {
            // Data in flight arrives, with a retransmission if needed, within the limit.
            let linger = LONGEST_LINGER.min(quic.rtt() * LINGER);
            let _ = timeout(linger, quic.closed()).await;
            break;
        }
    }
    // A client that races protocols may close at once. Its application can do so only after the
    // handshake (RFC 9000 10.2.3), whichever of both was noticed first.
    if let Some(ConnectionError::ApplicationClosed(_)) = quic.close_reason() {
        outcome.complete();
    }
    activity.unsent().close();
}
