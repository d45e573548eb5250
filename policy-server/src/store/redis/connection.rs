//! The connection to the server, and calls that wait a bounded time.

use std::{
    sync::{Arc, LazyLock},
    time::{Duration, Instant},
};

use arc_swap::ArcSwapOption;
use redis::{Cmd, Script, ScriptInvocation, ToRedisArgs, Value, aio::PubSub};
use tokio::{select, sync::Mutex};

use super::{
    DEADLINE,
    copies::Copies,
    failure::Failure,
    link::{Link, Replies, subscribe, within_deadline},
    primary,
    reply::number,
    sentinel,
    url::{Address, Host, Servers},
};
use crate::{
    base::timers,
    store::{
        StoreError,
        history::MarkedNumber,
        shared::circuit::{Circuit, random},
    },
};

/// Backoff of retries after errors such as MOVED and ASK: exponential with 50 % jitter. The first retry is
/// immediate.
const MIN_BACKOFF: Duration = Duration::from_millis(10);
const MAX_BACKOFF: Duration = Duration::from_millis(200);

/// How long a start waits for replicas, which may still be in their initial synchronisation.
const FIRST_COPY: Duration = Duration::from_secs(10);

/// Runs the scripts of one store over one connection: the server runs one script at a time in any case.
pub(super) struct Database {
    address: Arc<Address>,
    circuit: Circuit,
    connection: Connection,
    /// For calls that replicas confirm. `WAIT` blocks the connection until they have.
    confirmed: Connection,
    /// The last known primary, or the node of a cluster to which a call was redirected.
    last: ArcSwapOption<Host>,
}

/// A connection that reconnects.
#[derive(Default)]
struct Connection {
    link: ArcSwapOption<Link>,
    /// Held by the call that connects.
    opening: Mutex<()>,
}

/// One run of a script.
pub(super) struct Call {
    script: ScriptInvocation<'static>,
    is_confirmed: bool,
}

/// A connection that is subscribed to the news.
pub(super) struct Subscription {
    pub(super) host: Host,
    pub(super) connection: PubSub,
}

/// Commands that may be sent several times, until a server runs them.
trait Command: Sync {
    type Reply;

    fn send(&self, link: &Link) -> impl Future<Output = Result<Self::Reply, Failure>> + Send;

    /// The failure at the deadline.
    fn timeout(&self) -> Failure {
        Failure::NoAnswer
    }
}

/// A script whose change replicas confirm.
struct ConfirmedScript<'a>(&'a Call, Copies);

/// The number of commands, and a function that appends them.
struct Commands<W>(usize, W);

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

script!(SESSIONS, END_OF_SESSIONS, "sessions/sessions.lua");
script!(TOKENS, END_OF_TOKENS, "tokens.lua");

static LIMITS: LazyLock<Script> =
    LazyLock::new(|| Script::new(concat!(include_str!("common.lua"), include_str!("limits.lua"))));

static VALUES: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(include_str!("common.lua"), include_str!("values/values.lua")))
});

impl Call {
    /// A call of the script for sessions.
    pub(super) fn sessions(name: &str) -> Self {
        Self::new(&SESSIONS, name)
    }

    /// A call that ends sessions, which is allowed while the memory is full.
    pub(super) fn to_end_sessions(name: &str) -> Self {
        Self::new(&END_OF_SESSIONS, name).confirmed()
    }

    /// A call of the script for refresh tokens, revocations and tickets.
    pub(super) fn tokens(name: &str) -> Self {
        Self::new(&TOKENS, name)
    }

    /// A call that ends tokens, which is allowed while the memory is full.
    pub(super) fn to_end_tokens(name: &str) -> Self {
        Self::new(&END_OF_TOKENS, name).confirmed()
    }

    /// A call of the script for rates and permits.
    pub(super) fn limits(name: &str) -> Self {
        Self::new(&LIMITS, name)
    }

    /// A call of the script for named values.
    pub(super) fn values(name: &str) -> Self {
        Self::new(&VALUES, name)
    }

    fn new(script: &'static Script, name: &str) -> Self {
        let mut script = script.prepare_invoke();
        script.arg(name);
        Self { script, is_confirmed: false }
    }

    /// Waits for the replicas that the URL asks for, as each change of rights does.
    pub(super) fn confirmed(mut self) -> Self {
        self.is_confirmed = true;
        self
    }

    /// Adds a number and its mark, or an empty argument if there is no mark.
    pub(super) fn marked_number(self, known: MarkedNumber) -> Self {
        let mark = known.mark.map(|mark| mark.to_string());
        self.arg(number(known.number)).arg(mark.unwrap_or_default())
    }

    pub(super) fn arg(mut self, value: impl ToRedisArgs) -> Self {
        self.script.arg(value);
        self
    }
}

impl Database {
    pub(super) fn new(address: Address) -> Self {
        Self {
            address: Arc::new(address),
            circuit: Circuit::new("redis"),
            connection: Connection::default(),
            confirmed: Connection::default(),
            last: ArcSwapOption::empty(),
        }
    }

    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    /// The channel of the news.
    fn channel(&self) -> String {
        format!("{}news", self.address.prefix())
    }

    /// Whether calls reach the server: the circuit is closed.
    pub(super) fn is_there(&self) -> bool {
        !self.circuit.is_open()
    }

    /// The result of one script.
    pub(super) async fn call(&self, call: Call) -> Result<Value, StoreError> {
        self.guard(self.run(call)).await
    }

    /// The `count` replies to the commands that `write` appends. They only read, and other calls may run
    /// between them.
    pub(super) async fn read(
        &self,
        count: usize,
        write: impl Fn(&mut Vec<u8>) + Send + Sync,
    ) -> Result<Replies, Failure> {
        self.send(&self.connection, Commands(count, write)).await
    }

    /// Makes a call, unless the circuit is open.
    pub(super) async fn guard<T>(
        &self,
        call: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, StoreError> {
        let Some(admission) = self.circuit.admits(Instant::now()) else {
            return Err(StoreError::new(Failure::IsAway));
        };
        let outcome = call.await;
        match &outcome {
            Err(Failure::NotConfirmed) => self.circuit.record_unclear(&admission),
            Err(failure) if failure.is_of_the_server() => {
                self.circuit.record(&admission, Some(failure));
            }
            _ => self.circuit.record(&admission, None),
        }
        outcome.map_err(StoreError::new)
    }

    /// Runs a script, also while the circuit is open.
    pub(super) async fn run(&self, mut call: Call) -> Result<Value, Failure> {
        call.script.key(self.address.prefix());
        match self.address.copies.filter(|_| call.is_confirmed) {
            Some(copies) => self.send(&self.confirmed, ConfirmedScript(&call, copies)).await,
            None => self.send(&self.connection, &call).await,
        }
    }

    /// The result of an idempotent script. A start needs it, so it waits longer for replicas than a request
    /// does.
    pub(super) async fn run_until_copied(
        &self,
        call: impl Fn() -> Call + Send,
    ) -> Result<Value, StoreError> {
        let end = Instant::now() + FIRST_COPY;
        loop {
            match self.run(call()).await {
                Err(failure) if failure.is_without_replicas() && Instant::now() < end => {
                    timers::sleep(MAX_BACKOFF).await;
                }
                outcome => return outcome.map_err(StoreError::new),
            }
        }
    }

    /// The result of one command that is no call of the store.
    pub(super) async fn command(&self, command: &Cmd) -> Result<Value, Failure> {
        self.send(&self.connection, command).await
    }

    /// Sends commands to the primary within the deadline. Retries after errors that will pass, such as MOVED
    /// and ASK.
    async fn send<C: Command>(
        &self,
        connection: &Connection,
        command: C,
    ) -> Result<C::Reply, Failure> {
        let deadline = timers::sleep(DEADLINE);
        tokio::pin!(deadline);
        let mut pause = Duration::ZERO;
        loop {
            let link = select! {
                link = self.link(connection) => link,
                () = &mut deadline => return Err(Failure::NoAnswer),
            };
            let reply = match link {
                Ok(link) => {
                    let reply = select! {
                        reply = command.send(&link) => reply,
                        () = &mut deadline => Err(command.timeout()),
                    };
                    if let Err(failure) = &reply {
                        self.record_failure(failure, connection, &link);
                    }
                    reply
                }
                Err(failure) => Err(failure),
            };
            if !reply.as_ref().is_err_and(Failure::is_passing) {
                return reply;
            }
            select! {
                () = timers::sleep(pause.mul_f64(0.5 + random())) => (),
                () = &mut deadline => return reply,
            }
            pause = (pause * 2).clamp(MIN_BACKOFF, MAX_BACKOFF);
        }
    }

    fn record_failure(&self, failure: &Failure, connection: &Connection, link: &Arc<Link>) {
        if let Some(host) = failure.moved_to(&link.host) {
            self.last.store(Some(Arc::new(host)));
        }
        if failure.spoils_the_connection() {
            connection.drop_link(link);
            if failure.is_of_another_primary() {
                self.drop_links(|host| *host == link.host);
            }
        }
    }

    /// Drops the connections to servers that are no longer the primary. Without this, reads would continue at
    /// a replica, or at an old primary whose changes will be discarded.
    fn drop_links(&self, matches: impl Fn(&Host) -> bool) {
        for connection in [&self.connection, &self.confirmed] {
            if let Some(link) = connection.open_link()
                && matches(&link.host)
            {
                connection.drop_link(&link);
            }
        }
    }

    async fn link(&self, connection: &Connection) -> Result<Arc<Link>, Failure> {
        if let Some(link) = connection.open_link() {
            return Ok(link);
        }
        let _one_at_a_time = connection.opening.lock().await;
        if let Some(link) = connection.open_link() {
            return Ok(link);
        }
        let (address, last) = (Arc::clone(&self.address), self.last.load_full());
        let find = async move { primary::find(&address, last.map(|host| (*host).clone())).await };
        let link = Arc::new(timers::beside_requests(find).await?);
        self.drop_links(|host| *host != link.host);
        self.last.store(Some(Arc::new(link.host.clone())));
        connection.link.store(Some(Arc::clone(&link)));
        Ok(link)
    }

    /// Drops the connections to a server that the sentinels no longer name as the primary. It may be cut off
    /// from them and its replicas, and not know of the failover.
    pub(super) async fn follow_sentinels(&self) {
        let Servers::Sentinels(sentinels) = &self.address.servers else { return };
        let Ok(primaries) = sentinel::primary(sentinels).await else { return };
        self.drop_links(|host| !primaries.contains(host));
    }

    /// Whether calls go to this server.
    pub(super) fn is_at(&self, host: &Host) -> bool {
        self.connection.open_link().is_none_or(|link| link.host == *host)
    }

    /// Subscribes to the news. In a cluster, each node passes them on to all others.
    pub(super) async fn subscribe(&self) -> Result<Subscription, Failure> {
        let host = within_deadline(self.link(&self.connection)).await?.host.clone();
        let (address, channel) = (Arc::clone(&self.address), self.channel());
        let subscribe = async move {
            let connection = subscribe(&host, &address.access, &channel).await?;
            Ok(Subscription { host, connection })
        };
        within_deadline(timers::beside_requests(subscribe)).await
    }
}

impl Connection {
    /// The connection, if it is open.
    fn open_link(&self) -> Option<Arc<Link>> {
        self.link.load_full().filter(|link| link.is_open())
    }

    /// Drops a connection, unless another call has already replaced it.
    fn drop_link(&self, link: &Arc<Link>) {
        self.link.compare_and_swap(link, None);
    }
}

impl Command for &Call {
    type Reply = Value;

    async fn send(&self, link: &Link) -> Result<Value, Failure> {
        Ok(self.script.invoke_async(&mut link.connection()).await?)
    }
}

impl Command for ConfirmedScript<'_> {
    type Reply = Value;

    async fn send(&self, link: &Link) -> Result<Value, Failure> {
        let Self(call, copies) = self;
        copies.confirm(&call.script, link).await
    }

    fn timeout(&self) -> Failure {
        Failure::NotConfirmed
    }
}

impl Command for &Cmd {
    type Reply = Value;

    async fn send(&self, link: &Link) -> Result<Value, Failure> {
        Ok(link.command(self).await?)
    }
}

impl<W: Fn(&mut Vec<u8>) + Send + Sync> Command for Commands<W> {
    type Reply = Replies;

    async fn send(&self, link: &Link) -> Result<Replies, Failure> {
        let Self(count, write) = self;
        Ok(link.replies(*count, write).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It may be in the queue behind others that wait for slow replicas.
    #[tokio::test]
    async fn a_confirmed_call_without_an_answer_says_nothing_about_the_server() {
        let database = Database::new(Address::parse("redis://one/?wait=1").unwrap());
        let call = Call::values("value").confirmed();
        let copies = database.address.copies.unwrap();
        let unanswered = ConfirmedScript(&call, copies).timeout();
        let end = async |failure: &Failure| {
            assert!(database.guard(async { Err::<(), _>(failure.clone()) }).await.is_err());
            database.is_there()
        };
        for _ in 0..5 {
            assert!(end(&unanswered).await);
        }
        // Three without an answer are an outage, whatever came between them.
        assert!(end(&Failure::NoAnswer).await && end(&Failure::NoAnswer).await);
        assert!(end(&unanswered).await);
        assert!(!end(&Failure::NoAnswer).await);
    }
}
