//! Clients that disconnect, and those that stop reading or sending.

use super::*;

const CANCELLED: quinn::VarInt = quinn::VarInt::from_u32(0x10c);

#[tokio::test]
async fn a_disconnecting_client_cancels_its_handler() {
    let (site, mut seen) = site();
    let server = Server::start(app_with(&site)).await;
    for path in ["/wait", "/endless"] {
        // Resets the stream, or closes the connection.
        for is_stream in [true, false] {
            let quic = server.raw().await;
            let (mut send, mut receive) = quic.open_bi().await.unwrap();
            send.write_all(&client::head(&client::lines("GET", path))).await.unwrap();
            send.finish().unwrap();
            assert_eq!(soon(seen.recv()).await, Some("begun"), "{path}");
            if is_stream {
                receive.stop(CANCELLED).unwrap();
            } else {
                quic.close(0_u32.into(), b"");
            }
            assert_eq!(soon(seen.recv()).await, Some("dropped"), "{path}");
        }
    }
}

#[tokio::test]
async fn a_body_that_is_reset_is_not_complete() {
    let (site, mut seen) = site();
    let server = Server::start(app_with(&site)).await;
    let quic = server.raw().await;
    let (mut send, mut receive) = quic.open_bi().await.unwrap();
    let head = client::head(&client::lines("POST", "/later"));
    send.write_all(&[&head[..], &client::frame(client::DATA, b"half")].concat()).await.unwrap();
    assert_eq!(soon(seen.recv()).await, Some("begun"));
    send.reset(CANCELLED).unwrap();
    site.gate.add_permits(1);
    let response = soon(receive.read_to_end(4096)).await.unwrap();
    assert_eq!(soon(seen.recv()).await, Some("dropped"));
    // `:status: 400` is entry 67 of the static table.
    assert_eq!(&response[2..6], b"\x00\x00\xff\x04", "{}", response.escape_ascii());
}

#[tokio::test]
async fn a_client_that_does_not_read_is_sent_no_more() {
    let (site, mut seen) = site();
    let server = Server::start(app_with(&site)).await;
    let quic = server.raw().await;
    let (mut send, _receive) = quic.open_bi().await.unwrap();
    send.write_all(&client::head(&client::lines("GET", "/endless"))).await.unwrap();
    assert_eq!(soon(seen.recv()).await, Some("begun"));
    // The window of the client and one megabyte of the server; then nothing more is produced.
    let most = (4 << 20) / CHUNK;
    let mut before = usize::MAX;
    let settled = async {
        loop {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let chunks = site.chunks.load(Ordering::Relaxed);
            assert!(chunks < most, "{chunks} chunks");
            if chunks == before && chunks > 10 {
                return;
            }
            before = chunks;
        }
    };
    soon(settled).await;
}

#[tokio::test]
async fn a_handler_that_reads_nothing_is_sent_no_more() {
    let (site, mut seen) = site();
    let server = Server::start(app_with(&site)).await;
    let quic = server.raw().await;
    let (mut send, mut receive) = quic.open_bi().await.unwrap();
    send.write_all(&client::head(&client::lines("POST", "/later"))).await.unwrap();
    assert_eq!(soon(seen.recv()).await, Some("begun"));
    let part = client::frame(client::DATA, &[0; CHUNK]);
    let mut written = 0;
    while let Ok(sent) =
        tokio::time::timeout(Duration::from_millis(300), send.write_all(&part)).await
    {
        sent.unwrap();
        written += part.len();
        assert!(written < 4 << 20, "{written} bytes");
    }
    // The stream continues once the client reads.
    site.gate.add_permits(1);
    drop(send);
    let _response = soon(receive.read_to_end(4096)).await;
    assert_eq!(soon(seen.recv()).await, Some("dropped"));
}

/// One frame for each byte costs the most work per byte; such frames are not buffered.
#[tokio::test]
async fn many_small_frames_are_one_body() {
    let server = Server::start(app()).await;
    let quic = server.raw().await;
    let parts = b"\x00\x01x".repeat(50_000);
    let bytes = [client::head(&client::lines("POST", "/echo")), parts].concat();
    let response = client::exchange(&quic, &bytes).await.unwrap();
    assert!(response.len() > 50_000 && response.ends_with(&[b'x'; 1000]), "{}", response.len());
}
