//! The connection to the server, and calls that wait a bounded time.

use std::{
    error::Error,
    fmt,
    sync::{Arc, LazyLock},
    time::{Duration, Instant},
};

use arc_swap::ArcSwapOption;
use redis::{
    AsyncConnectionConfig, Cmd, ErrorKind, RedisError, Script, ScriptInvocation, ServerErrorKind,
    ToRedisArgs, Value,
    aio::{MultiplexedConnection, PubSub},
};
use socket2::{SockRef, TcpKeepalive};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    select,
    sync::Mutex,
    task::AbortHandle,
};
use tokio_rustls::{TlsConnector, rustls::pki_types::ServerName};

use super::{DEADLINE, url::Address};
use crate::{
    base::{task::BackgroundTask, timers},
    store::{StoreError, circuit::Circuit},
};

/// The scripts of one store, over one connection: the server does one thing at a time in any case.
pub(super) struct Database {
    address: Arc<Address>,
    circuit: Circuit,
    link: ArcSwapOption<Link>,
    /// Held by the call that connects.
    connecting: Mutex<()>,
}

/// A connection, and the task that reads and writes it.
struct Link {
    connection: MultiplexedConnection,
    state: AbortHandle,
    _task: BackgroundTask,
}

/// One run of a script.
pub(super) struct Call(ScriptInvocation<'static>);

/// Why a call failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// Another call is made later: the server was away a moment ago.
    IsAway,
    NoAnswer,
    Connect(String),
    Redis(RedisError),
}

/// A script, and the same for calls that must not fail where the memory of the server is full.
macro_rules! script {
    ($name:ident, $name_to_end:ident, $file:literal) => {
        static $name: LazyLock<Script> =
            LazyLock::new(|| Script::new(concat!(include_str!("common.lua"), include_str!($file))));
        static $name_to_end: LazyLock<Script> = LazyLock::new(|| {
            Script::new(concat!(
                "#!lua flags=allow-oom\n",
                include_str!("common.lua"),
                include_str!($file)
            ))
        });
    };
}

script!(SESSIONS, END_OF_SESSIONS, "sessions.lua");
script!(TOKENS, END_OF_TOKENS, "tokens.lua");

static LIMITS: LazyLock<Script> =
    LazyLock::new(|| Script::new(concat!(include_str!("common.lua"), include_str!("limits.lua"))));

impl Call {
    /// A call of the script of sessions.
    pub(super) fn of_sessions(name: &str) -> Self {
        Self::of(&SESSIONS, name)
    }

    /// One that ends sessions: what it writes is little.
    pub(super) fn to_end_sessions(name: &str) -> Self {
        Self::of(&END_OF_SESSIONS, name)
    }

    /// A call of the script of refresh tokens, revocations and tickets.
    pub(super) fn of_tokens(name: &str) -> Self {
        Self::of(&TOKENS, name)
    }

    /// One that ends tokens: what it writes is little.
    pub(super) fn to_end_tokens(name: &str) -> Self {
        Self::of(&END_OF_TOKENS, name)
    }

    /// A call of the script of rates and permits.
    pub(super) fn of_limits(name: &str) -> Self {
        Self::of(&LIMITS, name)
    }

    fn of(script: &'static Script, name: &str) -> Self {
        let mut call = script.prepare_invoke();
        call.arg(name);
        Self(call)
    }

    pub(super) fn arg(mut self, value: impl ToRedisArgs) -> Self {
        self.0.arg(value);
        self
    }
}

impl Database {
    pub(super) fn new(address: Address) -> Self {
        Self {
            address: Arc::new(address),
            circuit: Circuit::default(),
            link: ArcSwapOption::empty(),
            connecting: Mutex::new(()),
        }
    }

    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    /// What all keys begin with.
    pub(super) fn prefix(&self) -> String {
        format!("{{{}}}:", self.address.prefix)
    }

    /// Where news are told.
    fn channel(&self) -> String {
        format!("{}news", self.prefix())
    }

    /// Whether the server answered of late.
    pub(super) fn is_there(&self) -> bool {
        !self.circuit.is_open()
    }

    /// The result of one script.
    pub(super) async fn call(&self, call: Call) -> Result<Value, StoreError> {
        if !self.circuit.admits(Instant::now()) {
            return Err(StoreError::new(Failure::IsAway));
        }
        let outcome = self.run(call).await;
        let failure = outcome.as_ref().err().filter(|failure| failure.is_of_the_server());
        self.circuit.ended(failure.map(|failure| failure as _));
        outcome.map_err(StoreError::new)
    }

    /// The same, also while the server is away.
    pub(super) async fn run(&self, mut call: Call) -> Result<Value, Failure> {
        call.0.key(self.prefix());
        self.bounded(async |connection| call.0.invoke_async(connection).await).await
    }

    /// The result of one command, besides the calls of the store.
    pub(super) async fn command(&self, command: &Cmd) -> Result<Value, Failure> {
        self.bounded(async |connection| command.query_async(connection).await).await
    }

    async fn bounded(
        &self,
        ask: impl AsyncFnOnce(&mut MultiplexedConnection) -> Result<Value, RedisError>,
    ) -> Result<Value, Failure> {
        let deadline = timers::sleep(DEADLINE);
        tokio::pin!(deadline);
        let link = select! {
            link = self.link() => link?,
            () = &mut deadline => return Err(Failure::NoAnswer),
        };
        let mut connection = link.connection.clone();
        let answer = select! {
            answer = ask(&mut connection) => answer.map_err(Failure::Redis),
            () = &mut deadline => Err(Failure::NoAnswer),
        };
        if answer.as_ref().is_err_and(Failure::spoils_the_connection) {
            // Unless another call has replaced it already.
            self.link.compare_and_swap(&link, None);
        }
        answer
    }

    async fn link(&self) -> Result<Arc<Link>, Failure> {
        if let Some(link) = self.open_link() {
            return Ok(link);
        }
        let _one_at_a_time = self.connecting.lock().await;
        if let Some(link) = self.open_link() {
            return Ok(link);
        }
        let address = Arc::clone(&self.address);
        let link = timers::beside_requests(async move { Link::open(&address).await }).await?;
        let link = Arc::new(link);
        self.link.store(Some(Arc::clone(&link)));
        Ok(link)
    }

    /// The connection, unless the server has closed it, as some do where nothing happens for long.
    fn open_link(&self) -> Option<Arc<Link>> {
        self.link.load_full().filter(|link| !link.state.is_finished())
    }

    /// A connection that hears what is told.
    pub(super) async fn subscribe(&self) -> Result<PubSub, Failure> {
        let (address, channel) = (Arc::clone(&self.address), self.channel());
        let subscribe = timers::beside_requests(async move {
            let mut connection = match dial(&address).await? {
                Dialled::Plain(stream) => PubSub::new(&address.login, stream).await,
                Dialled::Tls(stream) => PubSub::new(&address.login, stream).await,
            }
            .map_err(Failure::Redis)?;
            connection.subscribe(channel).await.map_err(Failure::Redis)?;
            Ok(connection)
        });
        select! {
            subscribed = subscribe => subscribed,
            () = timers::sleep(DEADLINE) => Err(Failure::NoAnswer),
        }
    }
}

impl Link {
    async fn open(address: &Address) -> Result<Self, Failure> {
        match dial(address).await? {
            Dialled::Plain(stream) => Self::over(address, stream).await,
            Dialled::Tls(stream) => Self::over(address, stream).await,
        }
    }

    async fn over(
        address: &Address,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    ) -> Result<Self, Failure> {
        // The calls have their own deadline.
        let config = AsyncConnectionConfig::new().set_response_timeout(None);
        let opened = MultiplexedConnection::new_with_config(&address.login, stream, config).await;
        let (connection, driver) = opened.map_err(Failure::Redis)?;
        let state = tokio::spawn(driver).abort_handle();
        Ok(Self { connection, _task: BackgroundTask::new(state.clone()), state })
    }
}

enum Dialled {
    Plain(TcpStream),
    Tls(Box<tokio_rustls::client::TlsStream<TcpStream>>),
}

async fn dial(address: &Address) -> Result<Dialled, Failure> {
    let dial = async {
        let stream = TcpStream::connect((&*address.host, address.port)).await?;
        stream.set_nodelay(true)?;
        let pulse = Duration::from_secs(10);
        let keepalive = TcpKeepalive::new().with_time(pulse).with_interval(pulse);
        SockRef::from(&stream).set_tcp_keepalive(&keepalive)?;
        let Some(tls) = &address.tls else { return Ok(Dialled::Plain(stream)) };
        let name = ServerName::try_from(address.host.clone()).map_err(std::io::Error::other)?;
        let stream = TlsConnector::from(Arc::clone(tls)).connect(name, stream).await?;
        Ok(Dialled::Tls(Box::new(stream)))
    };
    let dialled: Result<_, std::io::Error> = select! {
        dialled = dial => dialled,
        () = timers::sleep(DEADLINE) => return Err(Failure::NoAnswer),
    };
    dialled.map_err(|error| Failure::Connect(format!("{}:{}: {error}", address.host, address.port)))
}

impl Failure {
    /// Whether the user of the URL may not do this.
    pub(super) fn is_of_rights(&self) -> bool {
        let denied = ErrorKind::Server(ServerErrorKind::NoPerm);
        matches!(self, Self::Redis(error) if error.kind() == denied)
    }

    /// Whether the server did not do its work, whatever the call was.
    fn is_of_the_server(&self) -> bool {
        match self {
            Self::IsAway => false,
            Self::NoAnswer | Self::Connect(_) => true,
            Self::Redis(error) => match error.kind() {
                ErrorKind::Server(kind) => matches!(
                    kind,
                    ServerErrorKind::BusyLoading
                        | ServerErrorKind::Moved
                        | ServerErrorKind::Ask
                        | ServerErrorKind::TryAgain
                        | ServerErrorKind::ClusterDown
                        | ServerErrorKind::MasterDown
                        | ServerErrorKind::ReadOnly
                ),
                // It works on something else, cannot write to the disk, or has too few replicas.
                ErrorKind::Extension => {
                    matches!(error.code(), Some("BUSY" | "MISCONF" | "NOREPLICAS"))
                }
                _ => true,
            },
        }
    }

    /// Whether the connection may still be busy, or is one to a server that is a replica now: the name
    /// of the host may stand for another by now.
    fn spoils_the_connection(&self) -> bool {
        match self {
            Self::Redis(error) => match error.kind() {
                ErrorKind::Server(kind) => {
                    matches!(kind, ServerErrorKind::ReadOnly | ServerErrorKind::Moved)
                }
                ErrorKind::Extension => false,
                _ => true,
            },
            _ => true,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IsAway => f.write_str("the server did not respond of late"),
            Self::NoAnswer => write!(f, "the server did not respond within {DEADLINE:?}"),
            Self::Connect(error) => f.write_str(error),
            Self::Redis(error) => write!(f, "{error}"),
        }
    }
}

impl Error for Failure {}
