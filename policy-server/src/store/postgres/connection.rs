//! Connections to the database, and calls that wait a bounded time.

use std::{error::Error, fmt, pin::Pin, sync::Arc, time::Instant};

use deadpool_postgres::{Connect, Manager, ManagerConfig, Object, Pool, RecyclingMethod};
use tokio::{select, task::JoinHandle};
use tokio_postgres::{AsyncMessage, Client, Config, Row, error::SqlState, types::ToSql};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{DEADLINE, STATEMENT, url::Address};
use crate::{
    base::timers,
    store::{StoreError, shared::circuit::Circuit},
};

/// Runs the statements of one store over a pool of connections.
pub(super) struct Database {
    pool: Pool,
    connector: Connector,
    config: Config,
    circuit: Circuit,
    schema: String,
}

/// Why a call failed.
#[derive(Clone, Debug)]
pub(super) enum Failure {
    /// The circuit is open.
    IsAway,
    NoAnswer,
    Pool(String),
    Postgres(Arc<tokio_postgres::Error>),
}

#[derive(Clone)]
struct Connector(MakeRustlsConnect);

type Connecting<'a> = Pin<
    Box<dyn Future<Output = Result<(Client, JoinHandle<()>), tokio_postgres::Error>> + Send + 'a>,
>;

impl Connector {
    /// Connects, and passes on notifications.
    fn open(
        &self,
        config: &Config,
        hear: impl Fn(AsyncMessage) + Send + 'static,
    ) -> Connecting<'static> {
        let (tls, config) = (self.0.clone(), config.clone());
        Box::pin(timers::beside_requests(async move {
            let (client, mut connection) = config.connect(tls).await?;
            let task = tokio::spawn(async move {
                let mut next =
                    async || std::future::poll_fn(|context| connection.poll_message(context)).await;
                // An error fails the pending calls, which report it.
                while let Some(Ok(message)) = next().await {
                    hear(message);
                }
            });
            Ok((client, task))
        }))
    }
}

impl Connect for Connector {
    fn connect(&self, config: &Config) -> Connecting<'_> {
        self.open(config, |_| ())
    }
}

impl Database {
    pub(super) fn new(address: Address) -> Result<Self, String> {
        let Address { mut config, tls, schema, connections } = address;
        let own = config.get_options().unwrap_or_default().to_owned();
        // The functions of the schema take a lock, then look at what others have committed meanwhile. The last
        // setting wins, so that neither the URL nor the role nor the database changes the isolation level.
        config.options(format!(
            "-c statement_timeout={} {own} -c default_transaction_isolation=read\\ committed",
            STATEMENT.as_millis()
        ));
        let connector = Connector(MakeRustlsConnect::new(tls));
        let settings = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_connect(config.clone(), connector.clone(), settings);
        let pool = Pool::builder(manager).max_size(connections).build();
        let pool = pool.map_err(|error| error.to_string())?;
        Ok(Self { pool, connector, config, circuit: Circuit::new("postgres"), schema })
    }

    pub(super) fn schema(&self) -> &str {
        &self.schema
    }

    /// A statement with the name of the schema.
    pub(super) fn statement(&self, text: &str) -> String {
        text.replace("policy.", &format!("\"{}\".", self.schema))
            .replace("channel of policy", &self.channel())
    }

    pub(super) fn channel(&self) -> String {
        format!("policy:{}", self.schema)
    }

    /// Whether calls reach the server: the circuit is closed.
    pub(super) fn is_there(&self) -> bool {
        !self.circuit.is_open()
    }

    /// A connection for longer work, outside the pool.
    pub(super) async fn connect(
        &self,
        hear: impl Fn(AsyncMessage) + Send + 'static,
    ) -> Result<(Client, JoinHandle<()>), Failure> {
        select! {
            connected = self.connector.open(&self.config, hear) => Ok(connected?),
            () = timers::sleep(DEADLINE) => Err(Failure::NoAnswer),
        }
    }

    /// Makes a call, unless the circuit is open.
    pub(super) async fn call<T>(
        &self,
        call: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, StoreError> {
        let Some(admission) = self.circuit.admits(Instant::now()) else {
            return Err(StoreError::new(Failure::IsAway));
        };
        let outcome = call.await;
        let failure = outcome.as_ref().err().filter(|failure| failure.is_of_the_server());
        if failure.is_some() && admission.is_attempt() {
            // The other connections may lead to a server that no longer responds, too. They are kept at the
            // first failures, since the server may only be slow.
            self.pool.retain(|_, _| false);
        }
        self.circuit.record(&admission, failure.map(|failure| failure as _));
        outcome.map_err(StoreError::new)
    }

    /// The rows of one statement, within the deadline.
    pub(super) async fn query(
        &self,
        statement: &str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Failure> {
        let deadline = timers::sleep(DEADLINE);
        tokio::pin!(deadline);
        select! {
            connection = self.pool.get() => match connection {
                Ok(connection) => {
                    let answer = select! {
                        answer = query(&connection, statement, parameters) => answer,
                        () = &mut deadline => Err(Failure::NoAnswer),
                    };
                    if answer.as_ref().is_err_and(Failure::spoils_the_connection) {
                        drop(Object::take(connection));
                    }
                    answer
                }
                Err(deadpool_postgres::PoolError::Backend(error)) => Err(error.into()),
                Err(error) => Err(Failure::Pool(error.to_string())),
            },
            () = &mut deadline => Err(Failure::NoAnswer),
        }
    }
}

async fn query(
    connection: &Object,
    statement: &str,
    parameters: &[&(dyn ToSql + Sync)],
) -> Result<Vec<Row>, Failure> {
    let statement = connection.prepare_cached(statement).await?;
    Ok(connection.query(&statement, parameters).await?)
}

impl Failure {
    /// Whether the server failed, independently of the call.
    fn is_of_the_server(&self) -> bool {
        match self {
            Self::IsAway => false,
            Self::NoAnswer | Self::Pool(_) => true,
            Self::Postgres(error) => match error.code() {
                None => true,
                // Connection exceptions, insufficient resources, operator intervention (which
                // includes a statement timeout), system errors; and a read-only server, as after a
                // failover.
                Some(code) => {
                    ["08", "53", "57", "58"].iter().any(|class| code.code().starts_with(class))
                        || *code == SqlState::READ_ONLY_SQL_TRANSACTION
                }
            },
        }
    }

    /// Whether the connection has to be dropped: it may still be busy, or its prepared statements may be of an
    /// older schema.
    fn spoils_the_connection(&self) -> bool {
        match self {
            Self::Postgres(error) => {
                self.is_of_the_server() || {
                    error.code().is_some_and(|code| {
                        *code == SqlState::FEATURE_NOT_SUPPORTED
                            || *code == SqlState::INVALID_SQL_STATEMENT_NAME
                            || *code == SqlState::UNDEFINED_OBJECT
                    })
                }
            }
            _ => true,
        }
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Postgres(Arc::new(error))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IsAway => f.write_str("the database did not respond of late"),
            Self::NoAnswer => write!(f, "the database did not respond within {DEADLINE:?}"),
            Self::Pool(error) => f.write_str(error),
            // `Display` of the library writes only "db error" for an error of the server.
            Self::Postgres(error) => match (error.as_db_error(), error.source()) {
                (Some(of_server), _) => write!(f, "{}", of_server.message()),
                (None, Some(source)) => write!(f, "{error}: {source}"),
                (None, None) => write!(f, "{error}"),
            },
        }
    }
}

impl Error for Failure {}
