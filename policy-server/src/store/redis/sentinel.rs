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

/// How long the others are waited for, once one has answered.
const STRAGGLERS: Duration = Duration::from_millis(300);

/// What one sentinel says.
struct Word {
    /// Of two sentinels, the one with the higher number knows of the later failover.
    epoch: u64,
    primary: Host,
}

/// The primary, by those who know of the last failover. They may still disagree where their settings
/// are wrong.
pub(super) async fn primary(sentinels: &Sentinels) -> Result<Vec<Host>, Failure> {
    let hosts = sentinels.hosts.iter().cloned();
    let mut asked: FuturesUnordered<_> =
        hosts.map(async |host| (host.clone(), ask(sentinels, host).await)).collect();
    let mut words: Vec<Word> = Vec::new();
    let mut failures = Vec::new();
    loop {
        select! {
            answer = asked.next() => match answer {
                None => break,
                Some((_, Ok(word))) => words.push(word),
                Some((host, Err(failure))) => failures.push((host, failure)),
            },
            () = timers::sleep(STRAGGLERS), if !words.is_empty() => break,
        }
    }
    match latest(words) {
        hosts if hosts.is_empty() => Err(Failure::Sentinels(failures)),
        hosts => Ok(hosts),
    }
}

fn latest(words: Vec<Word>) -> Vec<Host> {
    let last = words.iter().map(|word| word.epoch).max();
    let of_last = words.into_iter().filter(|word| Some(word.epoch) == last);
    of_last.map(|word| word.primary).collect()
}

async fn ask(sentinels: &Sentinels, host: Host) -> Result<Word, Failure> {
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
            (Some(name), Some(port)) => Ok(Word {
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

    /// The old primary may still answer, and call itself one.
    #[test]
    fn a_sentinel_that_missed_a_failover_is_outvoted_by_one_that_did_not() {
        let host = |port| Host { name: "one".to_owned(), port };
        let words = |all: &[(u64, u16)]| {
            all.iter().map(|(epoch, port)| Word { epoch: *epoch, primary: host(*port) }).collect()
        };
        assert_eq!(latest(words(&[(3, 1), (4, 2), (3, 1)])), [host(2)]);
        assert_eq!(latest(words(&[(4, 2), (4, 3)])), [host(2), host(3)]);
        assert_eq!(latest(words(&[])), []);
    }
}
