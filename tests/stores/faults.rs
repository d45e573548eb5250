//! Faults of the network, of the store and of an instance while visitors use three instances: what they
//! notice, and that nothing which was acknowledged is lost, nothing comes back, and nobody is logged
//! out.

use std::{
    env,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use policy_server::Clock;
use policy_tests::{
    disk::Disk,
    relay::{Network, Relay},
};
use tokio::{task::JoinSet, time::sleep};

use crate::{
    killed::KillableInstance,
    outages::{Process, Server},
    site::{Counted, Instance, NO_RESPONSE, Visitor, is_away, until},
};

/// How many requests a visitor sends in a second, if it does not have to wait.
const RATE: f64 = 5.0;

/// How many times a visitor counts before logging out.
const COUNTS: u64 = 12;

const GONE: u16 = NO_RESPONSE.as_u16();

const HOUR: Duration = Duration::from_secs(3600);

/// When a response was complete, and its status.
type Noticed = Arc<Mutex<Vec<(Instant, u16)>>>;

/// A session that was ended, with its acknowledgement.
type Ended = Arc<Mutex<Vec<Visitor>>>;

/// A user who logs in, counts, and logs out, at any instance, over and over.
struct Client {
    number: usize,
    instances: [Instance; 3],
    noticed: Noticed,
    ended: Ended,
    is_over: Arc<AtomicBool>,
    /// The pause between two requests.
    rest: Duration,
}

impl Client {
    /// The next instance, another one each time.
    fn instance(&self, step: u64) -> &Instance {
        &self.instances[(self.number + step as usize) % 3]
    }

    async fn notice(&self, status: u16) {
        self.noticed.lock().unwrap().push((Instant::now(), status));
        sleep(self.rest).await;
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Runs until the crowd ends. Returns the session that is left, with the changes that were
    /// acknowledged, and those whose outcome is unknown.
    async fn visits(self) -> Option<(Visitor, Counted)> {
        for round in 0.. {
            if self.is_over() {
                break;
            }
            let user = format!("visitor-{}", self.number);
            let login = self.instance(round).try_to_login(&user).await;
            self.notice(login.as_ref().err().copied().unwrap_or(200)).await;
            let visitor = match login {
                Ok(visitor) => visitor,
                Err(503 | GONE) => continue,
                Err(status) => panic!("a login: {status}"),
            };
            let counted = self.counts(&visitor).await;
            if self.is_over() {
                return Some((visitor, counted));
            }
            let response = visitor.post(self.instance(round), "/logout").await;
            self.notice(response.status().as_u16()).await;
            // The outcome of a logout without an acknowledgement is unknown.
            if response.status() == 200 {
                self.ended.lock().unwrap().push(visitor);
            } else {
                assert!(is_away(&response), "a logout: {response:?}");
            }
        }
        None
    }

    /// Counts in a session, and asks for its user. Returns the counts.
    async fn counts(&self, visitor: &Visitor) -> Counted {
        let mut counted = Counted::default();
        for step in 0.. {
            if self.is_over() || counted.done >= COUNTS {
                break;
            }
            let me = visitor.get(self.instance(step), "/me").await;
            self.notice(me.status().as_u16()).await;
            // Nobody is logged out by a fault.
            assert!(me.status() == 200 || is_away(&me), "{me:?}");
            let response = visitor.post(self.instance(step + 1), "/count").await;
            self.notice(response.status().as_u16()).await;
            counted.takes(&response);
        }
        counted
    }
}

/// What happens to a server, to the network in front of it, or to one of the instances.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    Network(Network),
    Killed,
    Paused,
    InstanceKilled,
    /// From an hour ahead to an hour behind.
    ClockMoved,
}

impl Fault {
    fn name(self) -> &'static str {
        match self {
            Self::Network(Network::Well) => "nothing",
            Self::Network(Network::Slow(..)) => "the network is slow: 10 ms each way, 1 MB/s",
            Self::Network(Network::Cut) => "the network is cut",
            Self::Network(Network::Silent) => "the network swallows everything",
            Self::Killed => "the store is killed",
            Self::Paused => "the store hangs",
            Self::InstanceKilled => "one of the instances is killed",
            Self::ClockMoved => {
                "the clock of an instance goes back from an hour ahead to an hour behind"
            }
        }
    }

    /// The status that visitors get because of the fault, if any.
    fn leads_to(self) -> Option<u16> {
        match self {
            Self::Network(Network::Well | Network::Slow(..)) | Self::ClockMoved => None,
            Self::Network(Network::Cut | Network::Silent) | Self::Killed | Self::Paused => {
                Some(503)
            }
            Self::InstanceKilled => Some(GONE),
        }
    }

    async fn begin(self, relay: &Relay, server: &(impl Server + Process), crowd: &Crowd) {
        match self {
            Self::Network(network) => relay.set(network).await,
            Self::Killed => server.kill().await,
            Self::Paused => server.signal("STOP"),
            Self::InstanceKilled => crowd.killable.kill(),
            Self::ClockMoved => crowd.clock.turn_back(2 * HOUR),
        }
    }

    async fn end(self, relay: &Relay, server: &(impl Server + Process), crowd: &Crowd) {
        match self {
            Self::Network(_) => relay.set(Network::Well).await,
            Self::Killed => server.begin().await,
            Self::Paused => server.signal("CONT"),
            Self::InstanceKilled => crowd.killable.begin().await,
            // The clock stays as it is.
            Self::ClockMoved => (),
        }
    }
}

const SLOW: Network = Network::Slow(Duration::from_millis(10), 1_000_000);

/// Visitors at work.
struct Crowd {
    /// A plain instance, one whose clock is an hour ahead, and one in its own process.
    instances: [Instance; 3],
    clock: Clock,
    killable: KillableInstance,
    noticed: Noticed,
    ended: Ended,
    is_over: Arc<AtomicBool>,
    visits: JoinSet<Option<(Visitor, Counted)>>,
}

impl Crowd {
    async fn begin(store: &str, visitors: usize) -> Self {
        let clock = Clock::at(Clock::system().now().after(HOUR).seconds());
        let (usual, ahead, killable) = tokio::join!(
            Instance::start(store),
            Instance::start_at(store, &clock),
            KillableInstance::start(store),
        );
        let instances = [usual, ahead, killable.instance.clone()];
        let (noticed, ended, is_over) = (Noticed::default(), Ended::default(), Arc::default());
        let mut visits = JoinSet::new();
        for number in 0..visitors {
            let client = Client {
                number,
                instances: instances.clone(),
                noticed: Arc::clone(&noticed),
                ended: Arc::clone(&ended),
                is_over: Arc::clone(&is_over),
                rest: Duration::from_secs_f64(RATE.recip()),
            };
            visits.spawn(client.visits());
        }
        Self { instances, clock, killable, noticed, ended, is_over, visits }
    }

    fn has_noticed(&self, status: u16) -> bool {
        self.noticed.lock().unwrap().iter().any(|(_, of)| *of == status)
    }

    /// Waits until every instance serves again without a restart.
    async fn recovers(&self) {
        for instance in &self.instances {
            until(async || instance.status("/ready").await == 200).await;
            until(async || instance.try_to_login("somebody").await.is_ok()).await;
        }
    }

    /// Asserts that no acknowledged change is lost, and that no ended session is valid.
    async fn end(self) {
        self.is_over.store(true, Ordering::Relaxed);
        for (visitor, mut counted) in self.visits.join_all().await.into_iter().flatten() {
            counted.on(&visitor, &self.instances[0]).await;
        }
        let ended = self.ended.lock().unwrap().clone();
        assert!(!ended.is_empty());
        for (number, visitor) in ended.iter().enumerate() {
            assert_eq!(visitor.status(&self.instances[number % 3]).await, 401);
        }
    }
}

/// Causes all of them, one after the other. `POLICY_STORES_SECONDS` is the duration of all together,
/// and then there are 500 visitors; without it there are 50, for a few seconds each.
pub(crate) async fn visitors_recover(server: &(impl Server + Process), store: &str) {
    let seconds: Option<u64> =
        env::var("POLICY_STORES_SECONDS").ok().map(|text| text.parse().unwrap());
    let (relay, url) = Relay::start(store);
    relay.set(Network::Well).await;
    let crowd = Crowd::begin(&url, seconds.map_or(50, |_| 500)).await;
    let networks = [Network::Well, SLOW, Network::Cut, Network::Silent].map(Fault::Network);
    // Other tests cover these faults with a few visitors.
    let others = [Fault::Killed, Fault::Paused, Fault::InstanceKilled, Fault::ClockMoved];
    let faults = networks.into_iter().chain(others.into_iter().filter(|_| seconds.is_some()));
    // Longer than the 3 seconds that a call waits.
    let lasts = Duration::from_secs(seconds.map_or(4, |seconds| (seconds / 12).max(4)));
    let mut table =
        "| fault | requests | 200 | 503 | no response | longest without a 200 | recovery |\n\
                     |---|--:|--:|--:|--:|--:|--:|\n"
            .to_owned();
    for fault in faults {
        fault.begin(&relay, server, &crowd).await;
        let mut begun;
        let mut stretches = 0;
        loop {
            crowd.noticed.lock().unwrap().clear();
            begun = Instant::now();
            sleep(lasts).await;
            if fault.leads_to() == Some(503) || !crowd.has_noticed(503) {
                break;
            }
            // On a busy machine, a call may take too long in any network.
            stretches += 1;
            assert!(stretches < 10, "{}: nobody is served well", fault.name());
        }
        fault.end(&relay, server, &crowd).await;
        let healed = Instant::now();
        crowd.recovers().await;
        let recovery = healed.elapsed();
        let noticed = crowd.noticed.lock().unwrap().clone();
        table.push_str(&row(fault.name(), begun, healed, recovery, &noticed));
        assert!(crowd.has_noticed(200), "{}", fault.name());
        // A fault that no visitor notices proves nothing.
        assert!(fault.leads_to().is_none_or(|of| crowd.has_noticed(of)), "{}", fault.name());
        assert_eq!(crowd.has_noticed(GONE), fault == Fault::InstanceKilled, "{}", fault.name());
    }
    crowd.end().await;
    println!("{table}");
}

/// The disk of the server is full for a while. Calls that need no space may succeed or fail.
pub(crate) async fn fill_the_disk(
    server: &impl Server,
    store: &str,
    disk: &Disk,
    starts_again: bool,
) {
    let crowd = Crowd::begin(store, 20).await;
    until(async || !crowd.ended.lock().unwrap().is_empty()).await;
    disk.fill();
    until(async || crowd.has_noticed(503)).await;
    disk.free();
    if starts_again {
        server.kill().await;
        server.begin().await;
    }
    crowd.recovers().await;
    crowd.end().await;
}

fn row(
    name: &str,
    begun: Instant,
    healed: Instant,
    recovery: Duration,
    noticed: &[(Instant, u16)],
) -> String {
    let during: Vec<_> = noticed.iter().filter(|(at, _)| *at < healed).collect();
    let with = |status| during.iter().filter(|(_, of)| *of == status).count();
    let mut good: Vec<Instant> =
        noticed.iter().filter(|(_, status)| *status == 200).map(|(at, _)| *at).collect();
    good.push(begun);
    good.sort_unstable();
    let gaps = good.iter().zip(&good[1..]).map(|(one, next)| *next - *one);
    format!(
        "| {name}, for {} s | {} | {} | {} | {} | {:.1} s | {:.1} s |\n",
        (healed - begun).as_secs(),
        during.len(),
        with(200),
        with(503),
        with(GONE),
        gaps.max().unwrap_or_default().as_secs_f64(),
        recovery.as_secs_f64(),
    )
}
