//! Visitors who use the cluster while its parts are killed, stopped and paused; what they noticed, as
//! a table, as a CSV with every request, and as a picture.

use std::{
    env, fs, io,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde::Deserialize;
use tokio::{task::JoinSet, time::sleep};

use crate::{
    client::{Received, exchange},
    front::Front,
    parts::{Action, Cluster, NAMES},
    plot,
    store::Kind,
};

/// The number of visitors who use the cluster all the time.
const VISITORS: usize = 30;

/// The number of visitors who log out before the first fault, and must stay logged out.
const GONE: usize = 10;

/// How long a visitor rests between two requests.
const REST: Duration = Duration::from_millis(100);

/// How long each state lasts.
const WHILE: Duration = Duration::from_secs(6);

/// One request of a visitor.
#[derive(Clone, Debug)]
pub(crate) struct VisitorRequest {
    /// When it was sent, since the beginning.
    pub(crate) at: Duration,
    pub(crate) took: Duration,
    pub(crate) visitor: usize,
    pub(crate) request: &'static str,
    /// 0 if there was no response.
    pub(crate) status: u16,
    pub(crate) instance: String,
}

/// A time in which something was broken, or nothing.
#[derive(Clone, Debug)]
pub(crate) struct Phase {
    pub(crate) name: &'static str,
    pub(crate) is_fault: bool,
    pub(crate) from: Duration,
    pub(crate) to: Duration,
}

/// Runs all of it, and fails if anything was lost.
#[expect(clippy::print_stdout, reason = "an example speaks to the person who started it")]
pub(crate) async fn run(kind: Kind) -> io::Result<()> {
    let cluster = Cluster::prepare(kind)?;
    let front = Front::listen(0, cluster.addresses()).await?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, front.port()));
    cluster.start("").await?;
    let front = tokio::spawn(front.run());
    println!("{VISITORS} visitors, {}", cluster.store_name());

    let mut visitors = Vec::new();
    for number in 0..VISITORS + GONE {
        visitors.push(Visitor::login(address, number).await?);
    }
    let gone = visitors.split_off(VISITORS);
    for visitor in &gone {
        visitor.ask("POST", "/logout").await?;
    }
    let record = Arc::new(Record { begun: Instant::now(), sent: Mutex::default() });
    let is_over = Arc::new(AtomicBool::new(false));
    let mut visits = JoinSet::new();
    for visitor in visitors {
        visits.spawn(visitor.visit(Arc::clone(&record), Arc::clone(&is_over)));
    }
    let phases = break_things(&cluster, &record).await?;
    is_over.store(true, Ordering::Relaxed);
    let visitors = visits.join_all().await;

    let sent = record.sent.lock().unwrap_or_else(PoisonError::into_inner).clone();
    println!("\n{}", table(&phases, &sent));
    for path in write(&phases, &sent)? {
        println!("{}", path.display());
    }
    let lost = find_losses(visitors, gone).await?;
    front.abort();
    if lost.is_empty() {
        println!(
            "\nAll {VISITORS} visitors are still logged in, and every change that was acknowledged is \
             there.\nThe {GONE} who had logged out are still logged out."
        );
        return Ok(());
    }
    Err(io::Error::other(lost.join("\n")))
}

/// One fault after the other, with some rest behind each.
#[expect(clippy::print_stdout, reason = "an example speaks to the person who started it")]
async fn break_things(cluster: &Cluster, record: &Record) -> io::Result<Vec<Phase>> {
    let mut phases: Vec<Phase> = Vec::new();
    let mut begin = |name: &'static str, is_fault| {
        let now = record.begun.elapsed();
        if let Some(last) = phases.last_mut() {
            last.to = now;
        }
        println!("{:5.1} s  {name}", now.as_secs_f64());
        phases.push(Phase { name, is_fault, from: now, to: now + WHILE });
    };
    begin("nothing is broken", false);
    sleep(WHILE).await;
    begin("an instance is killed", true);
    cluster.act("two", Action::Kill).await?;
    sleep(WHILE).await;
    begin("it is back", false);
    cluster.act("two", Action::Start).await?;
    sleep(WHILE).await;
    begin("a new release: each instance stops and starts", true);
    for name in NAMES {
        cluster.act(name, Action::Restart).await?;
        // As a rollout waits for the readiness of one before it stops the next.
        sleep(Duration::from_secs(1)).await;
    }
    begin("all are back", false);
    sleep(WHILE).await;
    if cluster.has_own_store() {
        begin("the store is killed", true);
        cluster.act("store", Action::Kill).await?;
        sleep(WHILE).await;
        cluster.act("store", Action::Start).await?;
        begin("the store is back", false);
        sleep(WHILE).await;
        begin("the store hangs", true);
        cluster.act("store", Action::Pause).await?;
        sleep(WHILE).await;
        cluster.act("store", Action::Resume).await?;
        begin("the store continues", false);
        sleep(WHILE).await;
    }
    if let Some(last) = phases.last_mut() {
        last.to = record.begun.elapsed();
    }
    Ok(phases)
}

/// Requests of all visitors.
struct Record {
    begun: Instant,
    sent: Mutex<Vec<VisitorRequest>>,
}

/// A visitor who is logged in.
struct Visitor {
    front: SocketAddr,
    number: usize,
    cookie: String,
    csrf: String,
    /// The number of acknowledged changes, and of those with an unknown outcome.
    counted: i64,
    unknown: i64,
}

/// The app's response about a session.
#[derive(Deserialize)]
struct Visit {
    count: i64,
}

#[derive(Deserialize)]
struct Csrf {
    token: String,
}

impl Visitor {
    async fn login(front: SocketAddr, number: usize) -> io::Result<Self> {
        let origin = format!("http://localhost:{}", front.port());
        let fields = [("content-type", "application/json"), ("origin", &*origin)];
        let body = format!("{{\"name\": \"visitor {number}\"}}");
        let response = exchange(front, "POST", "/login", &fields, &body).await?;
        let cookie = response.header("set-cookie").and_then(|line| line.split(';').next());
        let cookie = cookie.ok_or_else(|| io::Error::other(format!("no login: {response:?}")))?;
        let cookie = cookie.to_owned();
        let response = exchange(front, "GET", "/csrf", &[("cookie", &*cookie)], "").await?;
        let Csrf { token: csrf } = serde_json::from_str(&response.body)?;
        Ok(Self { front, number, cookie, csrf, counted: 0, unknown: 0 })
    }

    async fn ask(&self, method: &str, path: &str) -> io::Result<Received> {
        let origin = format!("http://localhost:{}", self.front.port());
        let fields =
            [("cookie", &*self.cookie), ("x-csrf-token", &*self.csrf), ("origin", &*origin)];
        exchange(self.front, method, path, &fields, "").await
    }

    /// Asks and counts until it is over.
    async fn visit(mut self, record: Arc<Record>, is_over: Arc<AtomicBool>) -> Self {
        // Not all at the same moment.
        sleep(REST * (self.number as u32) / (VISITORS as u32)).await;
        for turn in 0_usize.. {
            if is_over.load(Ordering::Relaxed) {
                break;
            }
            let (method, path, request) = match (turn + self.number) % 4 {
                0 => ("POST", "/count", "POST /count"),
                _ => ("GET", "/me", "GET /me"),
            };
            let at = record.begun.elapsed();
            let response = self.ask(method, path).await;
            let took = record.begun.elapsed() - at;
            let (status, instance) = match &response {
                Ok(received) => {
                    (received.status, received.header("x-instance").unwrap_or_default().to_owned())
                }
                Err(_cut_off) => (0, String::new()),
            };
            if method == "POST" {
                let done = status == 200;
                self.counted += i64::from(done);
                self.unknown += i64::from(!done);
            }
            let visitor = self.number;
            let sent = VisitorRequest { at, took, visitor, request, status, instance };
            record.sent.lock().unwrap_or_else(PoisonError::into_inner).push(sent);
            sleep(REST).await;
        }
        self
    }
}

/// Finds what should not have happened: visitors who were logged out, changes that were lost,
/// sessions that came back.
async fn find_losses(visitors: Vec<Visitor>, gone: Vec<Visitor>) -> io::Result<Vec<String>> {
    let mut lost = Vec::new();
    for visitor in visitors {
        let response = visitor.ask("GET", "/me").await?;
        let Visitor { number, counted, unknown, .. } = visitor;
        let count = serde_json::from_str(&response.body).map(|Visit { count }| count);
        match count {
            Ok(count) if (counted..=counted + unknown).contains(&count) => (),
            Ok(count) => lost.push(format!(
                "visitor {number} counted {counted} times and perhaps {unknown} more, and sees {count}"
            )),
            Err(_) => lost.push(format!("visitor {number} is not logged in: {response:?}")),
        }
    }
    for visitor in gone {
        let response = visitor.ask("GET", "/me").await?;
        if response.status != 401 {
            lost.push(format!("visitor {} is logged in again: {response:?}", visitor.number));
        }
    }
    Ok(lost)
}

/// What was noticed in each phase, in Markdown.
fn table(phases: &[Phase], sent: &[VisitorRequest]) -> String {
    let mut text = "| | requests | 200 | 503 | no response | longest without a 200 | slowest |\n\
                    |---|--:|--:|--:|--:|--:|--:|\n"
        .to_owned();
    for phase in phases {
        let of_phase: Vec<&VisitorRequest> =
            sent.iter().filter(|sent| (phase.from..phase.to).contains(&sent.at)).collect();
        let with = |status| of_phase.iter().filter(|sent| sent.status == status).count();
        let mut good: Vec<Duration> = of_phase
            .iter()
            .filter(|sent| sent.status == 200)
            .map(|sent| sent.at + sent.took)
            .collect();
        good.extend([phase.from, phase.to]);
        good.sort_unstable();
        let gaps = good.iter().zip(good.iter().skip(1)).map(|(one, next)| *next - *one);
        let slowest = of_phase.iter().map(|sent| sent.took).max().unwrap_or_default();
        text.push_str(&format!(
            "| {} | {} | {} | {} | {} | {:.1} s | {:.1} s |\n",
            phase.name,
            of_phase.len(),
            with(200),
            with(503),
            with(0),
            gaps.max().unwrap_or_default().as_secs_f64(),
            slowest.as_secs_f64(),
        ));
    }
    text
}

/// Writes `chaos.csv` and `chaos.svg` to `target/cluster`, or to the folder that
/// `POLICY_CLUSTER_RESULTS` names.
fn write(phases: &[Phase], sent: &[VisitorRequest]) -> io::Result<[PathBuf; 2]> {
    let folder = env::var_os("POLICY_CLUSTER_RESULTS").unwrap_or("target/cluster".into());
    let folder = PathBuf::from(folder);
    fs::create_dir_all(&folder)?;
    let paths = ["chaos.csv", "chaos.svg"].map(|name| folder.join(name));
    let [csv, svg] = &paths;
    let mut lines = "milliseconds,visitor,request,instance,status,took_milliseconds\n".to_owned();
    for VisitorRequest { at, took, visitor, request, status, instance } in sent {
        let (at, took) = (at.as_millis(), took.as_millis());
        lines.push_str(&format!("{at},{visitor},{request},{instance},{status},{took}\n"));
    }
    fs::write(csv, lines)?;
    fs::write(svg, plot::draw(phases, sent))?;
    Ok(paths)
}
