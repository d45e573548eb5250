//! An instance in a process of its own, which tests kill, and what it leaves behind.

use std::{
    iter,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use policy_server::{Body, Clock, Request, Response, Sessions, testing::TestClient};
use policy_tests::{
    http::soon,
    process::{ServerProcess, again, role},
};
use tokio::{net::TcpStream, task::JoinSet};
use tower::{service_fn, util::BoxCloneSyncService};

use crate::site::{Counted, HOST, Instance, NO_RESPONSE, app, until};

/// The process. The role is the URL of its store.
#[tokio::test(flavor = "multi_thread")]
async fn as_an_instance() {
    let Some(store) = role() else { return };
    let app = app(Sessions::from_url(&store), None, Clock::system());
    let server = app.bind("127.0.0.1:0").await.unwrap();
    // With a public origin, the launch report is an event of the log.
    eprintln!("listening on http://{}", server.local_addr());
    server.run().await.unwrap();
}

/// A process, and the connections to it.
#[derive(Clone)]
pub(crate) struct KillableInstance {
    pub(crate) instance: Instance,
    store: Arc<str>,
    process: Arc<Mutex<Option<ServerProcess>>>,
}

impl KillableInstance {
    pub(crate) async fn start(store: &str) -> Self {
        let process = Arc::new(Mutex::new(None));
        let connections = Connections { process: Arc::clone(&process), idle: Arc::default() };
        let service = service_fn(move |request| {
            let connections = connections.clone();
            async move { Ok(connections.response(request).await) }
        });
        let instance = Instance {
            client: TestClient::new(service.clone(), HOST),
            service: BoxCloneSyncService::new(service),
        };
        let this = Self { instance, store: store.into(), process };
        this.begin().await;
        this
    }

    /// Starts it again, after [`kill`](Self::kill).
    pub(crate) async fn begin(&self) {
        let mut command = again("killed::as_an_instance", &self.store);
        let started = tokio::task::spawn_blocking(move || ServerProcess::start(&mut command));
        *self.process.lock().unwrap() = Some(started.await.unwrap());
    }

    /// Sends SIGKILL, whatever the process does.
    pub(crate) fn kill(&self) {
        assert!(self.process.lock().unwrap().take().is_some(), "it runs");
    }
}

/// Connections to a process, which requests use one after the other.
#[derive(Clone)]
struct Connections {
    process: Arc<Mutex<Option<ServerProcess>>>,
    idle: Arc<Mutex<Vec<SendRequest<Body>>>>,
}

impl Connections {
    /// The response of the process, or one that says that there was none.
    async fn response(&self, request: Request) -> Response {
        self.exchange(request).await.unwrap_or_else(|_no_response| {
            let mut response = Response::default();
            *response.status_mut() = NO_RESPONSE;
            response
        })
    }

    async fn exchange(&self, request: Request) -> Result<Response, Box<dyn std::error::Error>> {
        let mut sender = match self.idle() {
            Some(sender) => sender,
            None => self.connect().await?,
        };
        let response = sender.send_request(request);
        // hyper may keep a request that is sent as its connection ends until the sender is dropped
        // (`docs/upstream/hyper-lost-request.md`).
        let sender = Some(sender).filter(|sender| !sender.is_closed());
        let response = response.await?;
        self.idle.lock().unwrap().extend(sender);
        Ok(response.map(Body::new))
    }

    /// A connection whose last response is complete. Others end with their response.
    fn idle(&self) -> Option<SendRequest<Body>> {
        let mut idle = self.idle.lock().unwrap();
        iter::from_fn(|| idle.pop()).find(SendRequest::is_ready)
    }

    fn address(&self) -> Option<SocketAddr> {
        self.process.lock().unwrap().as_ref().map(|process| process.address)
    }

    async fn connect(&self) -> Result<SendRequest<Body>, Box<dyn std::error::Error>> {
        let stream = TcpStream::connect(self.address().ok_or("it was killed")?).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(sender)
    }
}

/// A process dies with sessions, permits and requests in flight: its permits become free after a
/// while, and no acknowledged change is lost.
pub(crate) async fn frees_permits_and_keeps_writes(store: &str) {
    let killable = KillableInstance::start(store).await;
    let killed = &killable.instance;
    let others = [Instance::start(store).await, Instance::start(store).await];
    let (ada, eve) = (killed.login("ada").await, killed.login("eve").await);
    eve.logs_out(killed).await;
    let stream = ada.open(&others[0]).await;
    let mut counting = JoinSet::new();
    for number in 0..20 {
        let (visitor, instance) =
            (killed.login(&format!("visitor-{number}")).await, killed.clone());
        counting.spawn(async move {
            let mut counted = Counted::default();
            while counted.takes(&visitor.post(&instance, "/count").await) {}
            (visitor, counted)
        });
    }
    let mut waiting = JoinSet::new();
    for _ in 0..3 {
        let instance = killed.clone();
        waiting.spawn(async move {
            loop {
                let status = instance.status("/crowded/waits").await;
                if status != 503 {
                    return status;
                }
            }
        });
    }
    until(async || killed.status("/crowded/no").await == 503).await;
    for other in &others {
        until(async || other.status("/crowded/no").await == 503).await;
    }

    killable.kill();
    assert_eq!(soon(waiting.join_all()).await, [NO_RESPONSE.as_u16(); 3]);
    assert_eq!(ada.status(&others[0]).await, 200);
    assert_eq!(eve.status(&others[1]).await, 401);
    for (number, (visitor, mut counted)) in soon(counting.join_all()).await.into_iter().enumerate()
    {
        // The outcome of the change that was in flight is unknown.
        counted.on(&visitor, &others[number % 2]).await;
    }
    // Notifications arrive as before.
    ada.logs_out(&others[1]).await;
    assert!(soon(stream).await.unwrap());
    for other in &others {
        until(async || other.status("/crowded/no").await == 200).await;
    }
    killable.begin().await;
    assert_eq!(ada.status(killed).await, 401);
    assert_eq!(killed.status("/crowded/no").await, 200);
}

/// No client is granted the block that a killed process had reserved: one hundredth of the rate.
pub(crate) async fn block_of_a_rate(store: &str) {
    const RATE: usize = 300;
    const BLOCK: usize = 3;
    let others = [Instance::start(store).await, Instance::start(store).await];
    let killable = KillableInstance::start(store).await;
    let mut visitors = Vec::new();
    // A store that is too slow counts as unavailable, and each instance then counts separately: the
    // test is repeated with another visitor.
    for number in 0..5 {
        let visitor = killable.instance.login(&format!("visitor-{number}")).await;
        assert_eq!(visitor.get(&killable.instance, "/plenty").await.status(), 200);
        visitors.push(visitor);
    }
    killable.kill();
    let mut wrong = Vec::new();
    for visitor in &visitors {
        let mut granted = 0;
        for other in &others {
            loop {
                let response = visitor.get(other, "/plenty").await;
                if response.status() == 429 {
                    break;
                }
                granted += usize::from(response.status() == 200);
            }
        }
        if granted == RATE - BLOCK {
            return;
        }
        wrong.push(granted);
    }
    panic!("{wrong:?}");
}
