//! Many idle connections, and a tenth as many busy ones.

use std::{process::Stdio, time::Instant};

use super::*;
use crate::attack::process::succeeds;

const NAME: &str = "attack::crowd::a_crowd_of_idle_and_busy_connections_is_served";

/// The numbers of idle and of busy connections.
fn crowd() -> (usize, usize) {
    if env::var_os(SECONDS).is_some() { (10_000, 1_000) } else { (1_000, 100) }
}

#[tokio::test]
async fn a_crowd_of_idle_and_busy_connections_is_served() {
    let _machine = crate::alone().await;
    match role().as_deref() {
        // Prints its figures.
        None => succeeds(again(NAME, "clients").stdout(Stdio::inherit())),
        Some("clients") => be_clients().await,
        Some(_) => {
            let settings = ServerSettings::default().idle_timeout(length() + http::PATIENCE * 4);
            let app = App::new(()).settings(settings).routes(routes![hello]);
            app.serve("127.0.0.1:0").await.expect("a server");
        }
    }
}

async fn open_used(server: &ServerProcess) -> Connection {
    let mut connection = Connection::open(server.address).await;
    ask(&mut connection).await;
    connection
}

async fn be_clients() {
    let server = ServerProcess::start(&mut again(NAME, "server"));
    let (idle_count, busy_count) = crowd();
    let mut busy = Vec::new();
    for _ in 0..busy_count {
        busy.push(open_used(&server).await);
    }
    let before = server.memory();
    let mut idle = Vec::new();
    for _ in 0..idle_count {
        idle.push(open_used(&server).await);
    }
    let each = server.memory().saturating_sub(before) / idle_count;
    println!("{each} bytes for each of {idle_count} idle connections");
    // Each busy connection sends ten requests a second.
    let until = Instant::now() + length();
    let asking = busy.into_iter().map(|mut connection| {
        tokio::spawn(async move {
            let mut times = Vec::new();
            while Instant::now() < until {
                let begun = Instant::now();
                ask(&mut connection).await;
                times.push(begun.elapsed());
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            times
        })
    });
    let mut times = Vec::new();
    for client in asking.collect::<Vec<_>>() {
        times.extend(client.await.expect("answers"));
    }
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    let (half, p99) = (at(0.5), at(0.99));
    println!("{} answers over {busy_count} more, p50 {half:?}, p99 {p99:?}", times.len());
    // All idle connections are still open.
    for connection in idle.iter_mut().step_by(100) {
        ask(connection).await;
    }
}
