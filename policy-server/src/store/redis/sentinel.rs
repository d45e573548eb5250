//! Asks sentinels which server is the primary.

use std::{collections::HashMap, time::Duration};

use futures_util::{StreamExt, stream::FuturesUnordered};
use redis::{RedisError, cmd, from_redis_value};
use tokio::select;

use super::{
    failure::Failure,
    link::{Link, within_deadline},
    url::{Host, Sentinels},
};
use crate::base::timers;

/// How long to wait for the other sentinels after the first reply.
const STRAGGLERS: Duration = Duration::from_millis(300);

/// The primary as one sentinel names it.
struct SentinelReply {
    /// The number of the failover. The sentinel with the highest one knows of the latest.
    epoch: u64,
    primary: Host,
}

/// The primary, as named by the sentinels that know of the latest failover. They may disagree if they are
/// misconfigured.
pub(super) async fn primary(sentinels: &Sentinels) -> Result<Vec<Host>, Failure> {
    let hosts = sentinels.hosts.iter().cloned();
    let mut queries: FuturesUnordered<_> =
        hosts.map(async |host| (host.clone(), ask(sentinels, host).await)).collect();
    let mut replies: Vec<SentinelReply> = Vec::new();
    let mut failures = Vec::new();
    loop {
        select! {
            answer = queries.next() => match answer {
                None => break,
                Some((_, Ok(reply))) => replies.push(reply),
                Some((host, Err(failure))) => failures.push((host, failure)),
            },
            () = timers::sleep(STRAGGLERS), if !replies.is_empty() => break,
        }
    }
    match latest(replies) {
        hosts if hosts.is_empty() => Err(Failure::Sentinels(failures)),
        hosts => Ok(hosts),
    }
}

fn latest(replies: Vec<SentinelReply>) -> Vec<Host> {
    let last = replies.iter().map(|reply| reply.epoch).max();
    let of_last = replies.into_iter().filter(|reply| Some(reply.epoch) == last);
    of_last.map(|reply| reply.primary).collect()
}

async fn ask(sentinels: &Sentinels, host: Host) -> Result<SentinelReply, Failure> {
    let name = &sentinels.primary;
    within_deadline(async {
        let link = Link::open(host, &sentinels.access).await?;
        let fields = match link.command(cmd("SENTINEL").arg("MASTER").arg(name)).await {
            Err(error) if error.detail().is_some_and(|text| text.contains("No such master")) => {
                let all = link.command(cmd("SENTINEL").arg("MASTERS")).await?;
                let all: Vec<HashMap<String, String>> =
                    from_redis_value(all).map_err(RedisError::from)?;
                let known = all.into_iter().filter_map(|mut one| one.remove("name")).collect();
                return Err(Failure::UnknownPrimary { name: name.clone(), known });
            }
            fields => fields?,
        };
        let fields: HashMap<String, String> = from_redis_value(fields).map_err(RedisError::from)?;
        let number = |name: &str| fields.get(name).and_then(|text| text.parse().ok());
        let port = number("port").and_then(|port| u16::try_from(port).ok());
        match (fields.get("ip"), port) {
            (Some(name), Some(port)) => Ok(SentinelReply {
                epoch: number("config-epoch").unwrap_or(0),
                primary: Host { name: name.clone(), port },
            }),
            _ => Err(Failure::NoAddress),
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The old primary may still answer, and call itself primary.
    #[test]
    fn a_sentinel_that_missed_a_failover_is_outvoted_by_one_that_did_not() {
        let host = |port| Host { name: "one".to_owned(), port };
        let replies = |all: &[(u64, u16)]| {
            all.iter()
                .map(|(epoch, port)| SentinelReply { epoch: *epoch, primary: host(*port) })
                .collect()
        };
        assert_eq!(latest(replies(&[(3, 1), (4, 2), (3, 1)])), [host(2)]);
        assert_eq!(latest(replies(&[(4, 2), (4, 3)])), [host(2), host(3)]);
        assert_eq!(latest(replies(&[])), []);
    }
}
