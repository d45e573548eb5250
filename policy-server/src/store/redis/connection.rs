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
    failure::Failure,
    link::{Link, subscribe, within_deadline},
    primary, sentinel,
    url::{Address, Host, Servers},
};
use crate::{
    base::timers,
    store::{
        StoreError,
        circuit::{Circuit, random},
    },
};

/// The shortest and the longest time after which a call is made again that found its keys elsewhere. It
/// doubles each time, and is random by half. The first time it is made at once.
const SHORTEST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_millis(200);

/// The scripts of one store, over one connection: the server does one thing at a time in any case.
pub(super) struct Database {
    address: Arc<Address>,
    circuit: Circuit,
    link: ArcSwapOption<Link>,
    /// Held by the call that connects.
    connecting: Mutex<()>,
    /// The primary of late, or where a node of a cluster said that the keys are.
    last: ArcSwapOption<Host>,
}

/// One run of a script.
pub(super) struct Call(ScriptInvocation<'static>);

/// A connection that hears what is told.
pub(super) struct Subscription {
    pub(super) host: Host,
    pub(super) connection: PubSub,
}

/// What a server is asked.
enum Question<'a> {
    Script(&'a Call),
    Command(&'a Cmd),
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
        call.0.key(self.address.prefix());
        self.bounded(Question::Script(&call)).await
    }

    /// The result of one command, besides the calls of the store.
    pub(super) async fn command(&self, command: &Cmd) -> Result<Value, Failure> {
        self.bounded(Question::Command(command)).await
    }

    /// Asks the primary, and asks again where the keys are elsewhere or on their way.
    async fn bounded(&self, question: Question<'_>) -> Result<Value, Failure> {
        let deadline = timers::sleep(DEADLINE);
        tokio::pin!(deadline);
        let mut pause = Duration::ZERO;
        loop {
            let link = select! {
                link = self.link() => link,
                () = &mut deadline => return Err(Failure::NoAnswer),
            };
            let answer = match link {
                Ok(link) => {
                    let answer = select! {
                        answer = question.ask(&link) => answer,
                        () = &mut deadline => Err(Failure::NoAnswer),
                    };
                    if let Err(failure) = &answer {
                        self.note(failure, &link);
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

    /// Leaves a connection that is of no more use, unless another call has replaced it already.
    fn note(&self, failure: &Failure, link: &Arc<Link>) {
        if let Some(host) = failure.moved_to(&link.host) {
            self.last.store(Some(Arc::new(host)));
        }
        if failure.spoils_the_connection() {
            self.link.compare_and_swap(link, None);
        }
    }

    async fn link(&self) -> Result<Arc<Link>, Failure> {
        if let Some(link) = self.open_link() {
            return Ok(link);
        }
        let _one_at_a_time = self.connecting.lock().await;
        if let Some(link) = self.open_link() {
            return Ok(link);
        }
        let (address, last) = (Arc::clone(&self.address), self.last.load_full());
        let find = async move { primary::find(&address, last.map(|host| (*host).clone())).await };
        let link = Arc::new(timers::beside_requests(find).await?);
        self.last.store(Some(Arc::new(link.host.clone())));
        self.link.store(Some(Arc::clone(&link)));
        Ok(link)
    }

    fn open_link(&self) -> Option<Arc<Link>> {
        self.link.load_full().filter(|link| link.is_open())
    }

    /// Leaves a server that the sentinels do not call the primary any more. It may be cut off from them
    /// and its replicas, and not know that another one has taken over.
    pub(super) async fn look_again(&self) {
        if let Servers::Sentinels(sentinels) = &self.address.servers
            && let Some(link) = self.open_link()
            && let Ok(primaries) = sentinel::primary(sentinels).await
            && !primaries.contains(&link.host)
        {
            self.link.compare_and_swap(&link, None);
        }
    }

    /// Whether calls go to no other server.
    pub(super) fn is_at(&self, host: &Host) -> bool {
        self.open_link().is_none_or(|link| link.host == *host)
    }

    /// Begins to hear what is told. In a cluster, each node passes it on to all others.
    pub(super) async fn subscribe(&self) -> Result<Subscription, Failure> {
        let host = within_deadline(self.link()).await?.host.clone();
        let (address, channel) = (Arc::clone(&self.address), self.channel());
        let subscribe = async move {
            let connection = subscribe(&host, &address.access, &channel).await?;
            Ok(Subscription { host, connection })
        };
        within_deadline(timers::beside_requests(subscribe)).await
    }
}

impl Question<'_> {
    async fn ask(&self, link: &Link) -> Result<Value, Failure> {
        let answer = match self {
            Self::Script(Call(script)) => script.invoke_async(&mut link.connection()).await,
            Self::Command(command) => link.command(command).await,
        };
        Ok(answer?)
    }
}
