//! A server on its own socket, and clients that send and receive bytes. Of HTTP, this module knows
//! only where a message ends.

use std::{
    cell::Cell,
    fmt,
    future::pending,
    io,
    net::{IpAddr, SocketAddr},
    panic::{self, Location},
    sync::{Once, mpsc},
    time::Duration,
};

use policy_server::{App, Server, testing::TestResponse};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    sync::oneshot,
    task::{JoinHandle, spawn_blocking, yield_now},
    time::{Instant, advance, pause, sleep, timeout},
};

/// The longest that a step may take before the test fails, generous for a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(30);

thread_local! {
    static PANICS: Cell<usize> = const { Cell::new(0) };
}

/// Waits for a future, and fails if it takes longer than [`PATIENCE`]: the message names the line of the
/// test that waits.
#[track_caller]
pub fn soon<F: Future>(future: F) -> impl Future<Output = F::Output> {
    within(PATIENCE, future)
}

/// Lets the tasks of this runtime run that are due.
pub async fn settle() {
    for _ in 0..100 {
        yield_now().await;
    }
}

/// Waits until something is so, twice as long as [`soon`]: a store may have to fail over before.
#[track_caller]
pub fn until(mut is_so: impl AsyncFnMut() -> bool) -> impl Future<Output = ()> {
    within(2 * PATIENCE, async move {
        while !is_so().await {
            sleep(Duration::from_millis(10)).await;
        }
    })
}

#[track_caller]
fn within<F: Future>(patience: Duration, future: F) -> impl Future<Output = F::Output> {
    let line = Location::caller();
    async move {
        let done = timeout(patience, future).await;
        done.unwrap_or_else(|_| panic!("what {line} waits for took longer than {patience:?}"))
    }
}

/// A paused clock for a test and its server. Time advances only when the test says so, so that a
/// busy machine makes nothing late.
pub struct StoppedTime {
    _running: mpsc::Sender<()>,
}

impl StoppedTime {
    /// Pauses the clock of this single-threaded runtime.
    pub fn begin() -> Self {
        pause();
        // Tokio advances a paused clock automatically when every task is idle, except while a
        // blocking task runs. This one lasts as long as the test; if the test hangs, the clock
        // starts to advance and the time-outs of the test fail it.
        let (running, ended) = mpsc::channel();
        spawn_blocking(move || ended.recv_timeout(PATIENCE));
        Self { _running: running }
    }

    /// Advances the clock in small steps and runs the tasks that are due.
    pub async fn pass(&self, duration: Duration) {
        const STEPS: u32 = 100;
        for _ in 0..STEPS {
            advance(duration / STEPS).await;
            for _ in 0..4 {
                yield_now().await;
            }
        }
    }

    /// Advances the clock until the future completes.
    pub async fn until<T>(&self, future: impl Future<Output = T>) -> T {
        tokio::select! {
            output = future => output,
            () = async { loop { self.pass(Duration::from_millis(100)).await } } => unreachable!(),
        }
    }
}

/// An app that listens, on the runtime and the thread of its test.
pub struct Running {
    pub address: SocketAddr,
    stop: oneshot::Sender<()>,
    stopped: JoinHandle<()>,
    panics_before: usize,
}

impl Running {
    pub async fn start<S: Send + Sync + 'static>(app: App<S>) -> Self {
        crate::log::listen();
        Self::serve(app.bind("127.0.0.1:0").await.expect("an app that starts"))
    }

    /// Serves on the runtime and the thread of this test what an app has bound.
    pub fn serve(server: Server) -> Self {
        count_panics();
        crate::log::listen();
        let address = server.local_addr();
        let (stop, stopping) = oneshot::channel();
        let stopped = tokio::spawn(server.run_until(async {
            if stopping.await.is_err() {
                // The test ended without stopping the server; the runtime drops it.
                pending::<()>().await;
            }
        }));
        Self { address, stop, stopped, panics_before: PANICS.get() }
    }

    pub async fn connect(&self) -> Connection {
        Connection::open(self.address).await
    }

    /// Sends one request on its own connection.
    pub async fn response(&self, request: impl AsRef<[u8]>) -> RawResponse {
        let mut connection = self.connect().await;
        connection.send(request).await;
        connection.response().await
    }

    /// Asks the server to stop, as a signal would. The handle completes when it has stopped.
    pub fn stop(self) -> JoinHandle<()> {
        self.stop.send(()).expect("a server that runs");
        self.stopped
    }

    /// How many panics there were on this thread since the server started. Server and test share
    /// the thread, so these are the panics of the server's tasks, which tokio otherwise hides.
    pub fn panics(&self) -> usize {
        PANICS.get() - self.panics_before
    }

    /// Sends one request and returns the status of its response, without reading the body.
    pub async fn response_status(&self, bytes: impl AsRef<[u8]>) -> u16 {
        let mut connection = self.connect().await;
        connection.send(bytes).await;
        connection.head().await.status
    }
}

fn count_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let default = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            PANICS.set(PANICS.get() + 1);
            default(info);
        }));
    });
}

/// Everything received on one connection.
pub struct Received {
    pub bytes: Vec<u8>,
    /// Whether the connection was reset, so that bytes in transit were lost.
    pub was_reset: bool,
}

/// Sends these bytes on their own connection and reads until the server closes it.
pub async fn exchange(address: SocketAddr, bytes: &[u8]) -> Received {
    let stream = TcpStream::connect(address).await.expect("a server that listens");
    let (mut reader, mut writer) = stream.into_split();
    let write = async {
        // The server may close before it has read everything.
        writer.write_all(bytes).await.is_ok() && writer.shutdown().await.is_ok()
    };
    let mut received = Vec::new();
    let both = async { tokio::join!(write, reader.read_to_end(&mut received)) };
    let (is_taken, read) = soon(both).await;
    Received { bytes: received, was_reset: !is_taken || read.is_err() }
}

/// One connection, of a client or of a server that a test plays.
pub struct Connection {
    pub stream: TcpStream,
    /// Bytes that were received and not yet consumed.
    received: Vec<u8>,
}

impl Connection {
    pub async fn open(address: SocketAddr) -> Self {
        Self::over(soon(TcpStream::connect(address)).await.expect("a server that listens"))
    }

    /// From another address of this machine.
    pub async fn open_from(local: impl Into<IpAddr>, address: SocketAddr) -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(SocketAddr::new(local.into(), 0)).expect("an address of this machine");
        Self::over(soon(socket.connect(address)).await.expect("a server that listens"))
    }

    pub fn over(stream: TcpStream) -> Self {
        stream.set_nodelay(true).expect("a socket");
        Self { stream, received: Vec::new() }
    }

    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        soon(self.stream.write_all(bytes.as_ref())).await.expect("a server that takes bytes");
    }

    /// Sends as much as the server accepts; it may close before the end.
    pub async fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        soon(self.stream.write_all(bytes.as_ref())).await.is_ok()
    }

    /// Reads the response to a request of any method but HEAD.
    pub async fn response(&mut self) -> RawResponse {
        let mut response = self.head().await;
        response.body = self.body_of(&response).await;
        response
    }

    /// Reads the head of a response: the whole response to HEAD, or the beginning of a stream.
    pub async fn head(&mut self) -> RawResponse {
        RawResponse::parse(&self.next_head().await.expect("a head, and not the end"))
    }

    /// Reads the head of a request, where the test is the server.
    pub async fn request(&mut self) -> RawRequest {
        self.next_request().await.expect("a request, and not the end")
    }

    /// The same, or `None` at the end of the connection.
    pub async fn next_request(&mut self) -> Option<RawRequest> {
        let (line, headers) = parse_head(&self.next_head().await?);
        Some(RawRequest { line, headers, body: Vec::new() })
    }

    /// The next head, or `None` at the end of the connection.
    async fn next_head(&mut self) -> Option<String> {
        let end = loop {
            if let Some(end) = find(&self.received, b"\r\n\r\n") {
                break end;
            }
            let before = self.received.len();
            self.receive().await;
            if self.received.len() == before {
                let so_far = self.received.escape_ascii();
                assert!(before == 0, "closed within a head: `{so_far}`");
                return None;
            }
        };
        let head = self.received.drain(..end + 4).collect();
        Some(String::from_utf8(head).expect("a head in ASCII"))
    }

    async fn body_of(&mut self, response: &RawResponse) -> Vec<u8> {
        if matches!(response.status, 100..200 | 204 | 304) {
            return Vec::new();
        }
        if response.header("transfer-encoding") == Some("chunked") {
            let mut body = Vec::new();
            while let Some(chunk) = self.chunk().await {
                body.extend(chunk);
            }
            return body;
        }
        let length = response.header("content-length").expect("a body with a length");
        let length = length.parse().expect("a length");
        self.exactly(length).await
    }

    /// The next chunk of a chunked body, or `None` at its end.
    pub async fn chunk(&mut self) -> Option<Vec<u8>> {
        let line = loop {
            if let Some(end) = find(&self.received, b"\r\n") {
                break self.exactly(end + 2).await;
            }
            let before = self.received.len();
            self.receive().await;
            assert!(self.received.len() > before, "closed within a chunked body");
        };
        let size = String::from_utf8(line).expect("a chunk size");
        let size = usize::from_str_radix(size.trim_end(), 16).expect("a chunk size");
        let mut chunk = self.exactly(size + 2).await;
        chunk.truncate(size);
        (size > 0).then_some(chunk)
    }

    /// The last chunk of a chunked body.
    pub async fn last_chunk(&mut self) -> Vec<u8> {
        let mut last = Vec::new();
        while let Some(chunk) = self.chunk().await {
            last = chunk;
        }
        last
    }

    /// Reads this many bytes.
    pub async fn exactly(&mut self, length: usize) -> Vec<u8> {
        while self.received.len() < length {
            let before = self.received.len();
            self.receive().await;
            assert!(self.received.len() > before, "closed after {before} of {length} bytes");
        }
        self.received.drain(..length).collect()
    }

    /// Everything until the connection is closed or reset.
    pub async fn rest(&mut self) -> Vec<u8> {
        loop {
            let before = self.received.len();
            self.receive().await;
            if self.received.len() == before {
                return std::mem::take(&mut self.received);
            }
        }
    }

    /// Waits until the server closes without sending anything, and returns how long that took.
    pub async fn wait_for_close(&mut self) -> Duration {
        let begun = Instant::now();
        let rest = self.rest().await;
        assert!(rest.is_empty(), "before it closed: `{}`", rest.escape_ascii());
        begun.elapsed()
    }

    /// Appends the next bytes to the buffer; none at the end of the connection.
    async fn receive(&mut self) {
        let mut bytes = [0; 16 * 1024];
        let len = match soon(self.stream.read(&mut bytes)).await {
            Ok(len) => len,
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => 0,
            Err(error) => panic!("the socket failed: {error}"),
        };
        self.received.extend_from_slice(&bytes[..len]);
    }
}

/// A response, with its head as the bytes say it.
pub struct RawResponse {
    /// `HTTP/1.1 200 OK`
    pub line: String,
    pub status: u16,
    /// In the order in which they were sent.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl RawResponse {
    fn parse(head: &str) -> Self {
        let (line, headers) = parse_head(head);
        let status = line.split(' ').nth(1).expect("a status").parse().expect("a status");
        Self { line, status, headers, body: Vec::new() }
    }

    /// A response of another version, whose head a library has read.
    pub fn from_parts(head: &http::response::Parts, body: Vec<u8>) -> Self {
        let headers = head
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_str().expect("a text").to_owned()));
        Self {
            line: format!("{:?} {}", head.version, head.status),
            status: head.status.as_u16(),
            headers: headers.collect(),
            body,
        }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        only(&self.headers, name)
    }

    /// All headers except the date, as sorted lines.
    pub fn lines(&self) -> Vec<String> {
        let lasting = self.headers.iter().filter(|header| header.0 != "date");
        let mut lines: Vec<_> = lasting.map(|(name, value)| format!("{name}: {value}")).collect();
        lines.sort_unstable();
        lines
    }

    /// The CORS headers, sorted.
    pub fn sharing(&self) -> Vec<String> {
        let mut lines = self.lines();
        lines.retain(|line| line.starts_with("access-control-"));
        lines
    }

    pub fn text(&self) -> &str {
        str::from_utf8(&self.body).expect("a text")
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }

    /// Status and code of a problem; checks that its body repeats the status.
    pub fn problem(&self) -> (u16, String) {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let problem = self.json();
        assert_eq!(problem["status"], self.status);
        (self.status, problem["code"].as_str().expect("a code").to_owned())
    }
}

/// A request, with its head as the bytes say it.
#[derive(Debug)]
pub struct RawRequest {
    /// `GET / HTTP/1.1`
    pub line: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl RawRequest {
    pub fn path(&self) -> &str {
        self.line.split(' ').nth(1).expect("a target")
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        only(&self.headers, name)
    }
}

/// The first line of a head, and its fields.
fn parse_head(head: &str) -> (String, Vec<(String, String)>) {
    let mut lines = head.trim_end().split("\r\n");
    let line = lines.next().expect("a first line").to_owned();
    let headers = lines.map(|line| {
        let (name, value) = line.split_once(": ").expect("a header");
        (name.to_owned(), value.to_owned())
    });
    (line, headers.collect())
}

/// The value of the header of this name, which is there once at most.
fn only<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let mut named = headers.iter().filter(|header| header.0 == name);
    let value = named.next().map(|header| header.1.as_str());
    assert!(named.next().is_none(), "`{name}` twice in {headers:?}");
    value
}

/// Status and code of a problem; checks that its body repeats the status.
#[track_caller]
pub fn problem(response: &TestResponse) -> (u16, String) {
    assert_eq!(response.header("content-type"), Some("application/problem+json"), "{response:?}");
    let problem: Value = response.json();
    assert_eq!(problem["status"], response.status().as_u16());
    (response.status().as_u16(), problem["code"].as_str().expect("a code").to_owned())
}

impl fmt::Debug for RawResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?} `{}`", self.line, self.headers, self.body.escape_ascii())
    }
}

/// A request for `localhost` without a body: `GET /` and more header lines.
pub fn request(what: &str, fields: &[&str]) -> String {
    let mut text = format!("{what} HTTP/1.1\r\nhost: localhost\r\n");
    for field in fields {
        text.push_str(field);
        text.push_str("\r\n");
    }
    text + "\r\n"
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}
