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
        circuit::{Circuit, random},
        history::Known,
    },
};

/// The shortest and the longest time after which a call is made again that found its keys elsewhere. It
/// doubles each time, and is random by half. The first time it is made at once.
const SHORTEST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_millis(200);

/// How long a start waits for replicas, which may be at their first copy of everything.
const FIRST_COPY: Duration = Duration::from_secs(10);

/// The scripts of one store, over one connection: the server does one thing at a time in any case.
pub(super) struct Database {
    address: Arc<Address>,
    circuit: Circuit,
    connection: Connection,
    /// For calls that replicas confirm: the server answers nothing else on it until they have.
    confirmed: Connection,
    /// The primary of late, or where a node of a cluster said that the keys are.
    last: ArcSwapOption<Host>,
}

/// A connection that is opened again when it has ended.
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

/// A connection that hears what is told.
pub(super) struct Subscription {
    pub(super) host: Host,
    pub(super) connection: PubSub,
}

/// What a server is asked, as often as it takes.
trait Question: Sync {
    type Answer;

    fn ask(&self, link: &Link) -> impl Future<Output = Result<Self::Answer, Failure>> + Send;

    /// Why there is no answer within the deadline.
    fn overdue(&self) -> Failure {
        Failure::NoAnswer
    }
}

/// A script whose change replicas confirm.
struct Confirmed<'a>(&'a Call, Copies);

/// So many commands, which this writes.
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
    /// A call of the script of sessions.
    pub(super) fn of_sessions(name: &str) -> Self {
        Self::of(&SESSIONS, name)
    }

    /// One that ends sessions: what it writes is little.
    pub(super) fn to_end_sessions(name: &str) -> Self {
        Self::of(&END_OF_SESSIONS, name).confirmed()
    }

    /// A call of the script of refresh tokens, revocations and tickets.
    pub(super) fn of_tokens(name: &str) -> Self {
        Self::of(&TOKENS, name)
    }

    /// One that ends tokens: what it writes is little.
    pub(super) fn to_end_tokens(name: &str) -> Self {
        Self::of(&END_OF_TOKENS, name).confirmed()
    }

    /// A call of the script of rates and permits.
    pub(super) fn of_limits(name: &str) -> Self {
        Self::of(&LIMITS, name)
    }

    /// A call of the script of named values.
    pub(super) fn of_values(name: &str) -> Self {
        Self::of(&VALUES, name)
    }

    fn of(script: &'static Script, name: &str) -> Self {
        let mut script = script.prepare_invoke();
        script.arg(name);
        Self { script, is_confirmed: false }
    }

    /// Grants a right or takes one away, so it is done when as many replicas have it as the URL says.
    pub(super) fn confirmed(mut self) -> Self {
        self.is_confirmed = true;
        self
    }

    /// Adds a number and its mark, nothing if there is none.
    pub(super) fn known(self, known: Known) -> Self {
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
            circuit: Circuit::default(),
            connection: Connection::default(),
            confirmed: Connection::default(),
            last: ArcSwapOption::empty(),
        }
    }

    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    /// Where news are told.
    fn channel(&self) -> String {
        format!("{}news", self.address.prefix())
    }

    /// Whether the server answered of late.
    pub(super) fn is_there(&self) -> bool {
        !self.circuit.is_open()
    }

    /// The result of one script.
    pub(super) async fn call(&self, call: Call) -> Result<Value, StoreError> {
        self.counted(self.run(call)).await
    }

    /// The replies to the commands that `write` appends, so many. They only read, and other calls may run
    /// in between.
    pub(super) async fn read(
        &self,
        count: usize,
        write: impl Fn(&mut Vec<u8>) + Send + Sync,
    ) -> Result<Replies, Failure> {
        self.bounded(&self.connection, Commands(count, write)).await
    }

    /// The result of one call, unless the server is away.
    pub(super) async fn counted<T>(
        &self,
        call: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, StoreError> {
        let Some(admission) = self.circuit.admits(Instant::now()) else {
            return Err(StoreError::new(Failure::IsAway));
        };
        let outcome = call.await;
        let failure = outcome.as_ref().err().filter(|failure| failure.is_of_the_server());
        self.circuit.ended(&admission, failure.map(|failure| failure as _));
        outcome.map_err(StoreError::new)
    }

    /// The same, also while the server is away.
    pub(super) async fn run(&self, mut call: Call) -> Result<Value, Failure> {
        call.script.key(self.address.prefix());
        match self.address.copies.filter(|_| call.is_confirmed) {
            Some(copies) => self.bounded(&self.confirmed, Confirmed(&call, copies)).await,
            None => self.bounded(&self.connection, &call).await,
        }
    }

    /// The result of a script of which it does not matter how often it runs. A start needs it, so it
    /// waits longer for replicas than a request does.
    pub(super) async fn run_until_copied(
        &self,
        call: impl Fn() -> Call + Send,
    ) -> Result<Value, StoreError> {
        let end = Instant::now() + FIRST_COPY;
        loop {
            match self.run(call()).await {
                Err(Failure::NotCopied(_)) if Instant::now() < end => timers::sleep(LONGEST).await,
                outcome => return outcome.map_err(StoreError::new),
            }
        }
    }

    /// The result of one command, besides the calls of the store.
    pub(super) async fn command(&self, command: &Cmd) -> Result<Value, Failure> {
        self.bounded(&self.connection, command).await
    }

    /// Asks the primary, and asks again where the keys are elsewhere or on their way.
    async fn bounded<Q: Question>(
        &self,
        connection: &Connection,
        question: Q,
    ) -> Result<Q::Answer, Failure> {
        let deadline = timers::sleep(DEADLINE);
        tokio::pin!(deadline);
        let mut pause = Duration::ZERO;
        loop {
            let link = select! {
                link = self.link(connection) => link,
                () = &mut deadline => return Err(Failure::NoAnswer),
            };
            let answer = match link {
                Ok(link) => {
                    let answer = select! {
                        answer = question.ask(&link) => answer,
                        () = &mut deadline => Err(question.overdue()),
                    };
                    if let Err(failure) = &answer {
                        self.note(failure, connection, &link);
                    }
                    answer
                }
                Err(failure) => Err(failure),
            };
            if !answer.as_ref().is_err_and(Failure::is_passing) {
                return answer;
            }
            select! {
                () = timers::sleep(pause.mul_f64(0.5 + random())) => (),
                () = &mut deadline => return answer,
            }
            pause = (pause * 2).clamp(SHORTEST, LONGEST);
        }
    }

    fn note(&self, failure: &Failure, connection: &Connection, link: &Arc<Link>) {
        if let Some(host) = failure.moved_to(&link.host) {
            self.last.store(Some(Arc::new(host)));
        }
        if failure.spoils_the_connection() {
            connection.leave(link);
            if failure.is_of_another_primary() {
                self.leave_server(|host| *host == link.host);
            }
        }
    }

    /// Leaves a server that is not the primary any more. Without this, reads would stay at a replica
    /// after the changes have left it, or at an old primary with changes that nobody keeps.
    fn leave_server(&self, is_wrong: impl Fn(&Host) -> bool) {
        for connection in [&self.connection, &self.confirmed] {
            if let Some(link) = connection.open_link()
                && is_wrong(&link.host)
            {
                connection.leave(&link);
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
        self.leave_server(|host| *host != link.host);
        self.last.store(Some(Arc::new(link.host.clone())));
        connection.link.store(Some(Arc::clone(&link)));
        Ok(link)
    }

    /// Leaves a server that the sentinels do not call the primary any more. It may be cut off from them
    /// and its replicas, and not know that another one has taken over.
    pub(super) async fn look_again(&self) {
        let Servers::Sentinels(sentinels) = &self.address.servers else { return };
        let Ok(primaries) = sentinel::primary(sentinels).await else { return };
        self.leave_server(|host| !primaries.contains(host));
    }

    /// Whether calls go to no other server.
    pub(super) fn is_at(&self, host: &Host) -> bool {
        self.connection.open_link().is_none_or(|link| link.host == *host)
    }

    /// Begins to hear what is told. In a cluster, each node passes it on to all others.
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
    /// The connection, unless the server has closed it.
    fn open_link(&self) -> Option<Arc<Link>> {
        self.link.load_full().filter(|link| link.is_open())
    }

    /// Leaves a connection that is of no more use, unless another call has replaced it already.
    fn leave(&self, link: &Arc<Link>) {
        self.link.compare_and_swap(link, None);
    }
}

impl Question for &Call {
    type Answer = Value;

    async fn ask(&self, link: &Link) -> Result<Value, Failure> {
        Ok(self.script.invoke_async(&mut link.connection()).await?)
    }
}

impl Question for Confirmed<'_> {
    type Answer = Value;

    async fn ask(&self, link: &Link) -> Result<Value, Failure> {
        let Self(call, copies) = self;
        copies.confirm(&call.script, link).await
    }

    fn overdue(&self) -> Failure {
        let Self(_, copies) = self;
        Failure::NotCopied(copies.short(0))
    }
}

impl Question for &Cmd {
    type Answer = Value;

    async fn ask(&self, link: &Link) -> Result<Value, Failure> {
        Ok(link.command(self).await?)
    }
}

impl<W: Fn(&mut Vec<u8>) + Send + Sync> Question for Commands<W> {
    type Answer = Replies;

    async fn ask(&self, link: &Link) -> Result<Replies, Failure> {
        let Self(count, write) = self;
        Ok(link.replies(*count, write).await?)
    }
}
