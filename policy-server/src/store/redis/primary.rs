//! Finds the server that has the keys and can write.

use std::{collections::VecDeque, time::Duration};

use futures_util::{StreamExt, stream::FuturesUnordered};
use redis::{Pipeline, Value};
use tokio::select;

use super::{
    failure::Failure,
    link::{Link, within_deadline},
    sentinel,
    url::{Address, Host, Servers},
};
use crate::base::timers;

/// How long one server may take before the next is asked as well.
const HEAD_START: Duration = Duration::from_millis(200);

/// Connects to the primary. `last` is where it probably is.
pub(super) async fn find(address: &Address, last: Option<Host>) -> Result<Link, Failure> {
    let mut waiting: VecDeque<Host> = match &address.servers {
        Servers::Named(hosts) => last.into_iter().chain(hosts.iter().cloned()).collect(),
        Servers::Sentinels(sentinels) => sentinel::primary(sentinels).await?.into(),
    };
    let mut asked: Vec<Host> = Vec::new();
    let mut under_way = FuturesUnordered::new();
    let mut failures = Vec::new();
    loop {
        while let Some(host) = waiting.pop_front() {
            if !asked.contains(&host) {
                asked.push(host.clone());
                under_way.push(async move { (host.clone(), probe(address, host).await) });
                break;
            }
        }
        select! {
            Some((host, probed)) = under_way.next() => match probed {
                Ok(link) => return Ok(link),
                Err(failure) => {
                    if let Some(owner) = failure.moved_to(&host) {
                        waiting.push_front(owner);
                    }
                    failures.push((host, failure));
                }
            },
            () = timers::sleep(HEAD_START), if !waiting.is_empty() => (),
            else => return Err(summary(failures)),
        }
    }
}

fn summary(mut failures: Vec<(Host, Failure)>) -> Failure {
    match failures.pop() {
        Some((_, only)) if failures.is_empty() => only,
        Some(last) => {
            failures.push(last);
            Failure::Several(failures)
        }
        None => Failure::NoAnswer,
    }
}

/// Connects to one server, and asks whether it is the primary of these keys.
async fn probe(address: &Address, host: Host) -> Result<Link, Failure> {
    within_deadline(async {
        let link = Link::open(host, &address.access).await?;
        // Of a key that is never there: a node of a cluster says whether it would have it.
        let mut questions = Pipeline::with_capacity(2);
        questions.cmd("EXISTS").arg(address.prefix()).cmd("INFO").arg("replication");
        for answer in link.both(&questions).await? {
            match answer.map_err(Failure::Redis) {
                Ok(Value::BulkString(info)) if !is_primary(&info) => {
                    return Err(Failure::Replica);
                }
                Ok(_) => (),
                // The start says which rights are missing.
                Err(failure) if failure.is_of_rights() => (),
                // The keys are about to move, and this server still has the slot.
                Err(failure) if failure.is_asking() => (),
                Err(failure) => return Err(failure),
            }
        }
        Ok(link)
    })
    .await
}

fn is_primary(info: &[u8]) -> bool {
    info.split(|byte| *byte == b'\n').any(|line| line.trim_ascii() == b"role:master")
}
