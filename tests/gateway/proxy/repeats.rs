//! Requests that an upstream of HTTP/2 ends without a response: which of them are sent once more.

use std::net::SocketAddr;

use policy_server::ReverseProxy;
use policy_tests::frames::{
    END_HEADERS, END_STREAM, GOAWAY, HEADERS, NO_ERROR, RST_STREAM, SETTINGS, frame,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
};

use super::{
    Running,
    http::{RawResponse, request, soon},
    start,
};

const PROTOCOL_ERROR: u32 = 1;
const INTERNAL_ERROR: u32 = 2;
const REFUSED_STREAM: u32 = 7;
const CANCEL: u32 = 8;
const ENHANCE_YOUR_CALM: u32 = 11;

/// What an upstream does with a request.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Responds,
    Resets(u32),
    /// GOAWAY whose last stream is the one before.
    GoesAwayBefore,
    /// GOAWAY whose last stream is this one, and then the end.
    GoesAwayAfter,
    Closes,
}

/// An upstream that does one of these with each request, and says how many it got.
struct Upstream {
    address: SocketAddr,
    arrived: mpsc::UnboundedReceiver<()>,
}

impl Upstream {
    async fn start(deeds: &'static [Deed]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (tell, arrived) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut deeds = deeds.iter().copied();
            loop {
                let (stream, _) = listener.accept().await.expect("a connection");
                serve(stream, &mut deeds, &tell).await;
            }
        });
        Self { address, arrived }
    }

    async fn proxied(&self) -> Running {
        start(ReverseProxy::new("/api", format!("http://{}", self.address)).public().http2()).await
    }

    fn count(&mut self) -> usize {
        let mut count = 0;
        while self.arrived.try_recv().is_ok() {
            count += 1;
        }
        count
    }
}

/// Serves one connection to its end.
async fn serve(
    mut stream: TcpStream,
    deeds: &mut impl Iterator<Item = Deed>,
    tell: &mpsc::UnboundedSender<()>,
) {
    let mut preface = [0; 24];
    // At its end, a test closes the connections that it opened.
    if stream.read_exact(&mut preface).await.is_err() {
        return;
    }
    send(&mut stream, frame(SETTINGS, 0, 0, b"")).await;
    let mut before = 0_u32;
    let mut head = [0; 9];
    while stream.read_exact(&mut head).await.is_ok() {
        let [high, middle, low, kind, _, id @ ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, high, middle, low]) as usize];
        stream.read_exact(&mut payload).await.expect("a frame");
        if kind != HEADERS {
            continue;
        }
        let id = u32::from_be_bytes(id);
        tell.send(()).expect("a test that listens");
        match deeds.next().expect("a request that is expected") {
            Deed::Responds => {
                // `:status: 204` in the static table (RFC 7541 appendix A).
                send(&mut stream, frame(HEADERS, END_HEADERS | END_STREAM, id, &[0x89])).await;
            }
            Deed::Resets(code) => {
                send(&mut stream, frame(RST_STREAM, 0, id, &code.to_be_bytes())).await;
            }
            Deed::GoesAwayBefore => {
                send(&mut stream, goaway(before)).await;
                return drain(stream).await;
            }
            Deed::GoesAwayAfter => return send(&mut stream, goaway(id)).await,
            Deed::Closes => return,
        }
        before = id;
    }
}

fn goaway(last: u32) -> Vec<u8> {
    frame(GOAWAY, 0, 0, &[last.to_be_bytes(), NO_ERROR.to_be_bytes()].concat())
}

async fn send(stream: &mut TcpStream, bytes: Vec<u8>) {
    stream.write_all(&bytes).await.expect("a proxy that takes bytes");
}

/// Reads until the proxy has closed the connection.
async fn drain(mut stream: TcpStream) {
    let _ = stream.read_to_end(&mut Vec::new()).await;
}

/// Sends a request, after another one if the connection is to be a pooled one. Returns the
/// response, and how often the request arrived.
async fn exchange(deeds: &'static [Deed], method: &str, is_pooled: bool) -> (RawResponse, usize) {
    let mut upstream = Upstream::start(deeds).await;
    let server = upstream.proxied().await;
    if is_pooled {
        assert_eq!(server.response(request("GET /api", &[])).await.status, 204);
        assert_eq!(upstream.count(), 1);
    }
    let response = soon(server.response(request(&format!("{method} /api"), &[]))).await;
    (response, upstream.count())
}

/// RFC 9113 8.7: the upstream says that nothing was processed.
#[tokio::test]
async fn a_refused_request_of_any_method_is_repeated_once() {
    for method in ["GET", "DELETE", "POST", "PATCH"] {
        for deeds in [
            &[Deed::Resets(REFUSED_STREAM), Deed::Responds][..],
            &[Deed::GoesAwayBefore, Deed::Responds],
        ] {
            let (response, count) = exchange(deeds, method, false).await;
            assert_eq!((response.status, count), (204, 2), "{method} {deeds:?}");
        }
        let twice = &[Deed::Resets(REFUSED_STREAM), Deed::Resets(REFUSED_STREAM)];
        let (response, count) = exchange(twice, method, false).await;
        assert_eq!(response.problem(), (502, "proxy.bad-answer".to_owned()));
        assert_eq!(count, 2, "{method}");
    }
}

#[tokio::test]
async fn a_request_whose_stream_ended_in_another_way_is_sent_once() {
    for method in ["GET", "DELETE", "POST"] {
        for deeds in [
            &[Deed::Responds, Deed::Resets(INTERNAL_ERROR)],
            &[Deed::Responds, Deed::Resets(CANCEL)],
            &[Deed::Responds, Deed::Resets(ENHANCE_YOUR_CALM)],
            &[Deed::Responds, Deed::Resets(PROTOCOL_ERROR)],
        ] {
            let (response, count) = exchange(deeds, method, true).await;
            assert_eq!(response.problem(), (502, "proxy.bad-answer".to_owned()));
            assert_eq!(count, 1, "{method} {deeds:?}");
        }
    }
}

/// RFC 9110 9.2.2: an upstream may have processed it, which does no harm twice.
#[tokio::test]
async fn idempotent_requests_are_repeated_after_a_pooled_connection_ended() {
    for deeds in [
        &[Deed::Responds, Deed::Closes, Deed::Responds],
        &[Deed::Responds, Deed::GoesAwayAfter, Deed::Responds],
    ] {
        for (method, outcome) in
            [("GET", (204, 2)), ("DELETE", (204, 2)), ("QUERY", (204, 2)), ("POST", (502, 1))]
        {
            let (response, count) = exchange(deeds, method, true).await;
            assert_eq!((response.status, count), outcome, "{method} {deeds:?}");
        }
    }
    // A new connection that ends is no pooled one.
    let (response, count) = exchange(&[Deed::Closes], "GET", false).await;
    assert_eq!((response.status, count), (502, 1));
}
