//! Relays bytes between two streams in both directions.

use std::{
    io,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::Duration,
};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};

/// The buffer of each direction: the size of an HTTP/2 data frame.
const BUFFER: usize = 16 * 1024;

/// Relays bytes until both sides have ended, one has failed, `ended` completes, or nothing has
/// moved for the idle time (up to a quarter longer). When one side ends, its end is passed on, and
/// the other may continue (RFC 9110 9.3.6). Each direction buffers at most one frame: a side that
/// does not read makes the other wait.
pub(crate) async fn relay<A, B>(
    one: A,
    other: B,
    idle: Option<Duration>,
    ended: impl Future<Output = ()>,
) where
    A: AsyncRead + AsyncWrite,
    B: AsyncRead + AsyncWrite,
{
    let moved = AtomicU32::new(0);
    let ((read_one, write_one), (read_other, write_other)) = (split(one), split(other));
    let both = async {
        tokio::try_join!(pump(read_one, write_other, &moved), pump(read_other, write_one, &moved))
    };
    tokio::select! {
        passed = both => {
            if let Err(error) = passed {
                tracing::debug!(%error, "a stream broke off");
            }
        }
        () = quiet(idle, &moved) => tracing::debug!("a stream was idle"),
        () = ended => tracing::debug!("a stream was ended"),
    }
}

async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    moved: &AtomicU32,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        let len = from.read(&mut buffer).await?;
        moved.fetch_add(1, Relaxed);
        if len == 0 {
            return to.shutdown().await;
        }
        to.write_all(buffer.get(..len).unwrap_or_default()).await?;
        to.flush().await?;
        moved.fetch_add(1, Relaxed);
    }
}

/// A stream is idle after this many checks without progress.
const LOOKS: u32 = 4;

/// Completes when nothing has moved for this time.
async fn quiet(idle: Option<Duration>, moved: &AtomicU32) {
    let Some(idle) = idle else { return std::future::pending().await };
    let (mut seen, mut quiet_looks) = (moved.load(Relaxed), 0);
    while quiet_looks < LOOKS {
        tokio::time::sleep(idle / LOOKS).await;
        let now = moved.load(Relaxed);
        quiet_looks = if now == seen { quiet_looks + 1 } else { 0 };
        seen = now;
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::io::{DuplexStream, duplex};

    use super::*;

    fn streams() -> [DuplexStream; 4] {
        let ((client, one), (other, target)) = (duplex(64), duplex(64));
        [client, one, other, target]
    }

    #[tokio::test]
    async fn a_reader_that_stops_blocks_the_writer() {
        let [mut client, one, other, target] = streams();
        let relay = tokio::spawn(relay(one, other, None, pending()));
        let chunk = [7; 64];
        let mut written = 0;
        let limit = Duration::from_millis(200);
        while tokio::time::timeout(limit, client.write_all(&chunk)).await.is_ok() {
            written += chunk.len();
            assert!(written <= BUFFER + 3 * 64, "{written} bytes are held");
        }
        assert!(written >= 64);
        drop((client, target));
        relay.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_relay_ends_when_it_is_idle_or_cancelled() {
        let [mut client, one, other, mut target] = streams();
        let idle = Duration::from_secs(60);
        let relay_ended = tokio::spawn(relay(one, other, Some(idle), pending()));
        for _ in 0..5 {
            tokio::time::sleep(idle - Duration::from_secs(1)).await;
            client.write_all(b"x").await.unwrap();
            target.read_u8().await.unwrap();
            assert!(!relay_ended.is_finished());
        }
        let since = tokio::time::Instant::now();
        relay_ended.await.unwrap();
        assert!((60..=75).contains(&since.elapsed().as_secs()), "{:?}", since.elapsed());

        let [_client, one, other, _target] = streams();
        relay(one, other, None, tokio::time::sleep(idle)).await;
    }
}
