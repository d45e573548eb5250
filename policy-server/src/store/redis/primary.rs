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

/// How long to wait for one server before the next is probed as well.
const HEAD_START: Duration = Duration::from_millis(200);

/// Connects to the primary, and tries `last` first.
pub(super) async fn find(address: &Address, last: Option<Host>) -> Result<Link, Failure> {
    let mut waiting: VecDeque<Host> = match &address.servers {
        Servers::Named(hosts) => last.into_iter().chain(hosts.iter().cloned()).collect(),
        Servers::Sentinels(sentinels) => sentinel::primary(sentinels).await?.into(),
    };
    let mut visited: Vec<Host> = Vec::new();
    let mut under_way = FuturesUnordered::new();
    let mut failures = Vec::new();
    loop {
        while let Some(host) = waiting.pop_front() {
            if !visited.contains(&host) {
                visited.push(host.clone());
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

/// Connects to one server, and checks that it is the primary of these keys.
async fn probe(address: &Address, host: Host) -> Result<Link, Failure> {
    within_deadline(async {
        let link = Link::open(host, &address.access).await?;
        // The key never exists: a node of a cluster still redirects if it does not have the slot.
        let mut commands = Pipeline::with_capacity(2);
        commands.cmd("EXISTS").arg(address.prefix()).cmd("INFO").arg("replication");
        for reply in link.both(&commands).await? {
            match reply.map_err(Failure::Redis) {
                Ok(Value::BulkString(info)) if !is_primary(&info) => {
                    return Err(Failure::Replica);
                }
                Ok(_) => (),
                // The start reports which rights are missing.
                Err(failure) if failure.is_of_rights() => (),
                // The slot is moving, and this server still owns it.
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
