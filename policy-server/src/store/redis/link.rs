//! A connection to one server.

use std::{io, sync::Arc, time::Duration};

use redis::{
    AsyncConnectionConfig, Cmd, Pipeline, RedisConnectionInfo, RedisResult, Value,
    aio::{MultiplexedConnection, PubSub},
};
use socket2::{SockRef, TcpKeepalive};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    select,
    task::AbortHandle,
};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{ClientConfig, pki_types::ServerName},
};

use super::{DEADLINE, failure::Failure, url::Host};
use crate::base::{task::BackgroundTask, timers};

/// A connection, and the task that reads and writes it.
pub(super) struct Link {
    pub(super) host: Host,
    connection: MultiplexedConnection,
    state: AbortHandle,
    _task: BackgroundTask,
}

/// How to log in to servers.
#[derive(Clone)]
pub(super) struct Access {
    /// Who connects, and the number of the database.
    pub(super) login: RedisConnectionInfo,
    pub(super) tls: Option<Arc<ClientConfig>>,
}

enum Dialled {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Link {
    pub(super) async fn open(host: Host, access: &Access) -> Result<Self, Failure> {
        let (connection, state) = match dial(&host, access).await? {
            Dialled::Plain(stream) => connect(access, stream).await,
            Dialled::Tls(stream) => connect(access, stream).await,
        }?;
        Ok(Self { host, connection, _task: BackgroundTask::new(state.clone()), state })
    }

    /// Whether the server has not closed it, as some do where nothing happens for long.
    pub(super) fn is_open(&self) -> bool {
        !self.state.is_finished()
    }

    /// The connection, for commands.
    pub(super) fn connection(&self) -> MultiplexedConnection {
        self.connection.clone()
    }

    /// The result of one command.
    pub(super) async fn command(&self, command: &Cmd) -> RedisResult<Value> {
        command.query_async(&mut self.connection()).await
    }

    /// The results of two commands in one round trip.
    pub(super) async fn both(&self, commands: &Pipeline) -> RedisResult<[RedisResult<Value>; 2]> {
        let results = self.connection().send_packed_commands(commands, 0, 2).await?;
        let mut results = results.into_iter();
        let mut next = || results.next().unwrap_or(Value::Nil).extract_error();
        Ok([next(), next()])
    }
}

/// A connection that hears what is told.
pub(super) async fn subscribe(
    host: &Host,
    access: &Access,
    channel: &str,
) -> Result<PubSub, Failure> {
    within_deadline(async {
        let mut connection = match dial(host, access).await? {
            Dialled::Plain(stream) => PubSub::new(&access.login, stream).await,
            Dialled::Tls(stream) => PubSub::new(&access.login, stream).await,
        }?;
        connection.subscribe(channel).await?;
        Ok(connection)
    })
    .await
}

pub(super) async fn within_deadline<T>(
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    select! {
        done = work => done,
        () = timers::sleep(DEADLINE) => Err(Failure::NoAnswer),
    }
}

async fn connect(
    access: &Access,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> Result<(MultiplexedConnection, AbortHandle), Failure> {
    // The calls have their own deadline.
    let config = AsyncConnectionConfig::new().set_response_timeout(None);
    let opened = MultiplexedConnection::new_with_config(&access.login, stream, config).await;
    let (connection, driver) = opened?;
    Ok((connection, tokio::spawn(driver).abort_handle()))
}

async fn dial(host: &Host, access: &Access) -> Result<Dialled, Failure> {
    let dial = async {
        let stream = TcpStream::connect((&*host.name, host.port)).await?;
        stream.set_nodelay(true)?;
        let pulse = Duration::from_secs(10);
        let keepalive = TcpKeepalive::new().with_time(pulse).with_interval(pulse);
        SockRef::from(&stream).set_tcp_keepalive(&keepalive)?;
        let Some(tls) = &access.tls else { return Ok(Dialled::Plain(stream)) };
        let name = ServerName::try_from(host.name.clone()).map_err(io::Error::other)?;
        let stream = TlsConnector::from(Arc::clone(tls)).connect(name, stream).await?;
        Ok(Dialled::Tls(Box::new(stream)))
    };
    dial.await.map_err(|error: io::Error| Failure::Connect(host.clone(), error.to_string()))
}
