//! Clients that do not read their responses.

use super::*;

/// More than the buffers of client and server hold.
const BLOCK: usize = 4 << 20;

/// How many bodies handlers have made.
type Made = Arc<AtomicUsize>;

#[get("/block")]
#[auth(public)]
async fn block(State(count): State<Made>) -> Bytes {
    count.fetch_add(1, Ordering::SeqCst);
    Bytes::from(vec![b'x'; BLOCK])
}

#[tokio::test]
async fn unread_responses_of_a_connection_make_its_next_requests_wait() {
    const REQUESTS: usize = 6;
    let count = Made::default();
    let settings = ServerSettings::default().max_unsent_per_connection(2 * BLOCK);
    let app = App::new(Arc::clone(&count)).settings(settings).routes(routes![block, hello]);
    let server = Server::start(app).await;
    let quic = server.raw().await;
    let mut streams = Vec::new();
    for _ in 0..REQUESTS {
        let (mut send, receive) = quic.open_bi().await.unwrap();
        send.write_all(&client::head(&client::lines("GET", "/block"))).await.unwrap();
        send.finish().unwrap();
        streams.push(receive);
    }
    let mut first = [0];
    soon(streams[0].read_exact(&mut first)).await.unwrap();
    // Another connection is served at once, and by then the requests of this one have arrived.
    assert_eq!(server.connect().await.response(request("GET", "/hello"), "").await.status, 200);
    assert_eq!(count.load(Ordering::SeqCst), 2);
    let read = streams.into_iter().map(|mut receive| {
        tokio::spawn(async move { soon(receive.read_to_end(BLOCK + 4096)).await.unwrap().len() })
    });
    for length in read.collect::<Vec<_>>() {
        assert!(length.await.unwrap() >= BLOCK);
    }
    assert_eq!(count.load(Ordering::SeqCst), REQUESTS);
}

#[tokio::test]
async fn a_connection_that_reads_nothing_is_closed_for_others() {
    let count = Made::default();
    let settings = ServerSettings::default()
        .max_unsent_total(2 * BLOCK + BLOCK / 2)
        .max_unsent_per_connection(BLOCK);
    let app = App::new(Arc::clone(&count)).settings(settings).routes(routes![block]);
    let server = Server::start(app).await;
    let mut connections = Vec::new();
    for nth in 0..3 {
        let quic = server.raw().await;
        let (mut send, receive) = quic.open_bi().await.unwrap();
        send.write_all(&client::head(&client::lines("GET", "/block"))).await.unwrap();
        send.finish().unwrap();
        let reached = async {
            while count.load(Ordering::SeqCst) <= nth {
                tokio::task::yield_now().await;
            }
        };
        soon(reached).await;
        connections.push((quic, receive));
    }
    let (oldest, _receive) = connections.remove(0);
    soon(oldest.closed()).await;
    assert!(connections.iter().all(|(quic, _)| quic.close_reason().is_none()));
}

#[tokio::test]
async fn further_requests_do_not_keep_a_connection_that_is_not_read() {
    let settings =
        ServerSettings::default().idle_timeout(Duration::from_secs(2)).min_read_rate(1 << 20);
    let server = Server::start(app().settings(settings)).await;
    let quic = server.raw().await;
    let (mut send, _unread) = quic.open_bi().await.unwrap();
    send.write_all(&client::head(&client::lines("GET", "/endless"))).await.unwrap();
    send.finish().unwrap();
    let hello = client::head(&client::lines("GET", "/hello"));
    let ask = async { while client::exchange(&quic, &hello).await.is_ok() {} };
    soon(ask).await;
    soon(quic.closed()).await;
}
