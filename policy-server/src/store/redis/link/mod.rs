//! A connection to one server.

mod pipe;
mod resp;

use std::{io, sync::Arc, time::Duration};

use redis::{
    Cmd, ErrorKind, Pipeline, RedisConnectionInfo, RedisResult, Value,
    aio::{ConnectionLike, PubSub},
    cmd,
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

use self::pipe::Pipe;
pub(super) use self::resp::{Item, Replies, number};
use super::{DEADLINE, failure::Failure, url::Host};
use crate::base::{connect::connect_to_host, task::BackgroundTask, timers};

/// A connection, and the task that reads and writes it.
pub(super) struct Link {
    pub(super) host: Host,
    pipe: Pipe,
    state: AbortHandle,
    _task: BackgroundTask,
}

/// How to log in to servers.
#[derive(Clone)]
pub(super) struct Access {
    /// The user, the password and the number of the database.
    pub(super) login: RedisConnectionInfo,
    pub(super) tls: Option<Arc<ClientConfig>>,
}

enum DialledStream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Link {
    pub(super) async fn open(host: Host, access: &Access) -> Result<Self, Failure> {
        let (pipe, state) = match dial(&host, access).await? {
            DialledStream::Plain(stream) => begin(stream),
            DialledStream::Tls(stream) => begin(stream),
        };
        let link = Self { host, pipe, _task: BackgroundTask::new(state.clone()), state };
        link.log_in(&access.login).await?;
        Ok(link)
    }

    async fn log_in(&self, login: &RedisConnectionInfo) -> RedisResult<()> {
        if let Some(password) = login.password() {
            let result = self.command(cmd("AUTH").arg(login.username()).arg(password)).await;
            result.map_err(|error| match error.code() {
                Some(_) => {
                    (ErrorKind::AuthenticationFailed, "login failed", error.to_string()).into()
                }
                None => error,
            })?;
        }
        if login.db() != 0 {
            self.command(cmd("SELECT").arg(login.db())).await?;
        }
        Ok(())
    }

    /// Whether the connection is open: servers may close idle ones.
    pub(super) fn is_open(&self) -> bool {
        !self.state.is_finished()
    }

    /// The connection, for commands.
    pub(super) fn connection(&self) -> impl ConnectionLike {
        self.pipe.clone()
    }

    /// The result of one command.
    pub(super) async fn command(&self, command: &Cmd) -> RedisResult<Value> {
        command.query_async(&mut self.connection()).await
    }

    /// The results of two commands in one round trip.
    pub(super) async fn both(&self, commands: &Pipeline) -> RedisResult<[RedisResult<Value>; 2]> {
        let write = |unsent: &mut Vec<u8>| unsent.extend(commands.get_packed_pipeline());
        let mut results = self.pipe.ask(2, write).await?.values()?.into_iter();
        let mut next = || results.next().unwrap_or(Value::Nil).extract_error();
        Ok([next(), next()])
    }

    /// The `count` replies to the commands that `write` appends.
    pub(super) async fn replies(
        &self,
        count: usize,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> RedisResult<Replies> {
        let replies = self.pipe.ask(count, write).await?;
        if replies.has_error {
            for value in replies.values()? {
                value.extract_error()?;
            }
        }
        Ok(replies)
    }
}

/// Subscribes to a channel, on a connection of its own.
pub(super) async fn subscribe(
    host: &Host,
    access: &Access,
    channel: &str,
) -> Result<PubSub, Failure> {
    within_deadline(async {
        let mut connection = match dial(host, access).await? {
            DialledStream::Plain(stream) => PubSub::new(&access.login, stream).await,
            DialledStream::Tls(stream) => PubSub::new(&access.login, stream).await,
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

fn begin(stream: impl AsyncRead + AsyncWrite + Send + 'static) -> (Pipe, AbortHandle) {
    let (pipe, task) = Pipe::new(stream);
    (pipe, tokio::spawn(task).abort_handle())
}

async fn dial(host: &Host, access: &Access) -> Result<DialledStream, Failure> {
    let dial = async {
        let stream = connect_to_host(&host.name, host.port, DEADLINE).await?;
        stream.set_nodelay(true)?;
        let pulse = Duration::from_secs(10);
        let keepalive = TcpKeepalive::new().with_time(pulse).with_interval(pulse);
        SockRef::from(&stream).set_tcp_keepalive(&keepalive)?;
        let Some(tls) = &access.tls else { return Ok(DialledStream::Plain(stream)) };
        let name = ServerName::try_from(host.name.clone()).map_err(io::Error::other)?;
        let stream = TlsConnector::from(Arc::clone(tls)).connect(name, stream).await?;
        Ok(DialledStream::Tls(Box::new(stream)))
    };
    dial.await.map_err(|error: io::Error| Failure::Connect(host.clone(), error.to_string()))
}
