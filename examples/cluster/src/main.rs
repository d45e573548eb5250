//! Three instances of an app that share a store, and a front that distributes connections among them.
//!
//! - `cargo run -p cluster` starts all of it, PostgreSQL included, and prints the address of a page.
//! - `cargo run -p cluster -- redis` does the same with Redis, and a URL in place of the word names a
//!   store that runs already.
//! - `cargo run -p cluster -- chaos` kills and pauses parts while visitors stay logged in, and draws
//!   what they noticed.
//! - `cargo run -p cluster -- instance` is one instance, configured by the environment, as a container
//!   runs it.

mod chaos;
mod client;
mod front;
mod instance;
#[cfg(test)]
mod manifests;
mod operator;
mod parts;
mod plot;
mod process;
mod store;

use std::{env, io, sync::Arc};

use front::Front;
use parts::Cluster;
use policy_server::prelude::*;
use store::Kind;

const USAGE: &str = "write `cluster [postgres | redis | URL]`, `cluster chaos [postgres | redis | URL]` or \
                     `cluster instance`";

#[tokio::main]
async fn main() -> Result<(), Report> {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match *words {
        ["instance"] => Ok(instance::serve().await?),
        ["chaos"] => Ok(chaos::run(Kind::Postgres).await?),
        ["chaos", store] => Ok(chaos::run(kind(store)?).await?),
        [] => Ok(serve(Kind::Postgres).await?),
        [store] => Ok(serve(kind(store)?).await?),
        _ => Err(io::Error::other(USAGE).into()),
    }
}

fn kind(word: &str) -> io::Result<Kind> {
    match word {
        "postgres" => Ok(Kind::Postgres),
        "redis" => Ok(Kind::Redis),
        url if url.contains("://") => Ok(Kind::Elsewhere(url.to_owned())),
        _ => Err(io::Error::other(format!("`{word}` is no store: {USAGE}"))),
    }
}

/// Runs everything until ctrl-c.
async fn serve(kind: Kind) -> Result<(), Error> {
    let cluster = Arc::new(Cluster::prepare(kind)?);
    let front = Front::listen(port("POLICY_CLUSTER_PORT", 8080), cluster.addresses()).await?;
    let page = format!("http://localhost:{}", front.port());
    let operator = operator::app(Arc::clone(&cluster), front.backends(), &page)
        .bind(format!("127.0.0.1:{}", port("POLICY_CLUSTER_OPERATOR_PORT", 0)))
        .await?;
    let operator_origin = format!("http://localhost:{}", operator.local_addr().port());
    cluster.start(&operator_origin).await?;
    introduce(&page, &operator_origin, &cluster);
    tokio::select! {
        served = operator.run() => served,
        served = front.run() => Ok(served?),
    }
}

#[expect(clippy::print_stdout, reason = "an example speaks to the person who started it")]
fn introduce(page: &str, operator: &str, cluster: &Cluster) {
    println!(
        "
page:     {page}
operator: {operator}
store:    {}

Open the page, log in, count, and kill what you like: you stay logged in. Or as a program:

  curl -X POST {operator}/parts/two/kill

`cargo run -p cluster -- chaos` does it by itself, with visitors. Ctrl-C ends everything.
",
        cluster.store_name()
    );
}

/// The port that a variable names, or the usual one.
fn port(variable: &str, usual: u16) -> u16 {
    env::var(variable).ok().and_then(|port| port.parse().ok()).unwrap_or(usual)
}
