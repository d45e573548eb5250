//! Start, load, kill, start, check.

use std::{
    env, fs,
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{
    client::{Acknowledged, Client, Progress},
    connection::Connection,
    server::{FILE, serve},
};
use crate::crash::{
    process::{ServerProcess, again, role},
    random::Random,
};

const CLIENTS: usize = 200;

/// How long anything may take before the test gives up.
const PATIENCE: Duration = Duration::from_secs(120);

fn number(variable: &str) -> Option<u64> {
    env::var(variable).ok().map(|text| text.parse().expect("a number"))
}

#[test]
fn acknowledged_writes_survive_a_killed_server() {
    if role().is_some() {
        return serve();
    }
    let rounds = number("POLICY_CRASH_ROUNDS").unwrap_or(3);
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_secs();
    let seed = number("POLICY_CRASH_SEED").unwrap_or_else(clock);
    println!("crash: {rounds} rounds, {CLIENTS} clients, seed {seed}");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("crash");
    fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join(format!("{}.redb", std::process::id()));
    let mut command = again("crash::rounds::acknowledged_writes_survive_a_killed_server", "serve");
    command.env(FILE, &file);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(killed(&mut command, rounds, seed));
    fs::remove_file(&file).expect("a file");
}

/// Waits until this many operations are counted.
async fn reach(counted: &AtomicU64, enough: u64) {
    let is_enough = async {
        while counted.load(Relaxed) < enough {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(PATIENCE, is_enough).await.expect("a server that answers");
}

async fn killed(command: &mut Command, rounds: u64, seed: u64) {
    let _machine = crate::alone().await;
    let begun = Instant::now();
    let mut random = Random(seed);
    let name = |number| format!("user-{number}");
    let mut clients: Vec<Client> =
        (0..CLIENTS).map(|number| Client::new(name(number), random.draw())).collect();
    let mut checked = 0;
    for round in 1..=rounds {
        let server = ServerProcess::start(command);
        let address = server.address;
        let progress = Arc::new(Progress::default());
        let mut working = JoinSet::new();
        for mut client in clients.drain(..) {
            let progress = Arc::clone(&progress);
            working.spawn(async move {
                if let Ok(mut connection) = Connection::open(address).await {
                    client.work(&mut connection, &progress).await;
                }
                client
            });
        }
        // At a random time after this many operations, so that fast and slow machines do as much.
        let enough = 300 + random.below(1200) as u64;
        reach(&progress.done, enough).await;
        if round % 2 == 0 {
            // The first page alone is written in place.
            server.limit_files(Some(4096));
            reach(&progress.refused, 1).await;
            sleep(Duration::from_millis(random.below(300) as u64)).await;
            // Killed before it could heal, while it does, or after.
            if random.below(3) > 0 {
                server.limit_files(None);
                sleep(Duration::from_millis(random.below(300) as u64)).await;
            }
        }
        sleep(Duration::from_micros(random.below(20_000) as u64)).await;
        // SIGKILL.
        drop(server);
        clients = working.join_all().await;

        let server = ServerProcess::start(command);
        let address = server.address;
        let mut checking = JoinSet::new();
        for mut client in clients.drain(..) {
            checking.spawn(async move {
                let mut connection = Connection::open(address).await.expect("a server");
                let (count, wrong) = client.check(&mut connection).await.expect("a server");
                (client, count, wrong)
            });
        }
        for (client, count, wrong) in checking.join_all().await {
            assert!(wrong.is_empty(), "round {round}, seed {seed}: {wrong:#?}");
            checked += count;
            clients.push(client);
        }
    }
    let mut all = Acknowledged::default();
    clients.iter().for_each(|client| all.add(client.acknowledged));
    let seconds = begun.elapsed().as_secs();
    println!("crash: {rounds} rounds in {seconds} s, acknowledged {all:?}, {checked} checks");
    // Each kind of operation occurred; otherwise nothing is shown.
    let least = all.logins.min(all.logouts).min(all.writes).min(all.revocations);
    assert!(least >= rounds * 10, "{all:?}");
}
