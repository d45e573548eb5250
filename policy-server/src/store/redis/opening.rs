//! Checks a server before the store uses it.

use std::collections::HashMap;

use redis::{ErrorKind, RedisError, ServerErrorKind, Value, cmd};

use super::{
    connection::{Call, Database, Subscription},
    failure::Failure,
    reply::{Items, as_number, as_text},
    url::{Address, Servers},
};
use crate::store::StoreError;

/// The version of the keys and what they contain.
const VERSION: u64 = 1;

/// Checks the server and the version of its keys, and subscribes to the news.
pub(super) async fn prepare(database: &Database) -> Result<Subscription, StoreError> {
    let mut problems = Vec::new();
    let mut lacking = Vec::new();
    let info = match database.command(&cmd("INFO")).await {
        Ok(info) => as_text(info)?,
        Err(failure) if failure.is_of_rights() => {
            lacking.push(failure.to_string());
            String::new()
        }
        // No other command would succeed.
        Err(failure) => return Err(StoreError::new(explained(database, &failure))),
    };
    if !info.is_empty() {
        let info = read(&info);
        problems.extend(server_problems(&info, database.address()));
        if !database.address().may_forget && info.get("aof_enabled") != Some(&"1") {
            problems.extend(snapshot_problem(database).await);
        }
    }
    let subscribed = database.subscribe().await;
    let subscribed = subscribed.map_err(|failure| match failure {
        failure if failure.is_of_rights() => lacking.push(failure.to_string()),
        failure => problems.push(explained(database, &failure)),
    });
    match database.run(Call::sessions("lacking")).await {
        Ok(commands) => {
            let commands = Items::new(commands)?.rest().map(as_text);
            let commands = commands.collect::<Result<Vec<_>, _>>()?;
            if !commands.is_empty() {
                let prefix = database.address().prefix();
                lacking.push(format!("`{}` on the keys `{prefix}*`", commands.join("`, `")));
            }
        }
        Err(failure) if failure.is_of_rights() => lacking.push(failure.to_string()),
        Err(failure) => problems.push(explained(database, &failure)),
    }
    if !lacking.is_empty() {
        problems.push(format!(
            "the user of the URL lacks rights: {}; {}",
            lacking.join("; "),
            grant(database)
        ));
    }
    let subscribed = match subscribed {
        Ok(subscribed) if problems.is_empty() => subscribed,
        _ => return Err(StoreError::new(problems.join("; "))),
    };
    let version = as_number(&database.call(Call::sessions("version").arg(VERSION)).await?)?;
    if version > VERSION {
        return Err(StoreError::new(format!(
            "the keys `{}*` have version {version}, and this release of the app knows versions up to \
             {VERSION}: start the newer release",
            database.address().prefix(),
        )));
    }
    Ok(subscribed)
}

/// `name:value`, a line each.
fn read(info: &str) -> HashMap<&str, &str> {
    info.lines().filter_map(|line| line.trim_end().split_once(':')).collect()
}

/// The problems of the server itself.
fn server_problems(info: &HashMap<&str, &str>, address: &Address) -> Vec<String> {
    let mut problems = Vec::new();
    let value = |name: &str| info.get(name).copied().unwrap_or_default();
    let version = value("redis_version");
    let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
    if major.is_some_and(|major| major < 7) {
        problems.push(format!("the server is Redis {version}, older than 7"));
    }
    let wanted = address.copies.map_or(0, |copies| copies.replicas);
    if let Ok(replicas) = value("connected_slaves").parse::<u32>()
        && replicas < wanted
    {
        problems.push(format!(
            "`wait={wanted}` asks for more replicas than the server has, {replicas}: no change would be \
             acknowledged; connect more, or write a lower number"
        ));
    }
    let policy = value("maxmemory_policy");
    if value("maxmemory") != "0" && policy != "noeviction" {
        problems.push(format!(
            "`maxmemory-policy` is `{policy}`: the server would drop sessions and revocations when \
             its memory is full; set `maxmemory-policy noeviction`"
        ));
    }
    problems
}

/// The problem of a server without an append-only file, if it saves no snapshots either.
async fn snapshot_problem(database: &Database) -> Option<String> {
    const ADVICE: &str = "set `appendonly yes`, or write `persistence=none` into the URL if everybody \
                          may be logged out by a restart";
    let answer = database.command(cmd("CONFIG").arg("GET").arg("save")).await;
    match answer {
        Ok(answer) if has_snapshots(&answer) => None,
        Ok(_) => Some(format!(
            "the server writes nothing to the disk, `appendonly` and `save` are off: after a restart, \
             sessions and revocations would be gone; {ADVICE}"
        )),
        Err(failure) => Some(format!(
            "`appendonly` is off, and whether the server saves to the disk otherwise cannot be seen \
             ({failure}); {ADVICE}"
        )),
    }
}

/// The reply is the name of the setting and its value.
fn has_snapshots(answer: &Value) -> bool {
    let Value::Array(all) = answer else { return false };
    matches!(all.as_slice(), [_, Value::BulkString(save)] if !save.is_empty())
}

/// A failure, and what to do about it.
fn explained(database: &Database, failure: &Failure) -> String {
    match advice(database.address(), failure) {
        Some(advice) => format!("{failure}; {advice}"),
        None => failure.to_string(),
    }
}

fn advice(address: &Address, failure: &Failure) -> Option<&'static str> {
    let uses_tls = address.access.tls.is_some();
    Some(match failure {
        Failure::Sentinels(all) => {
            return all.iter().find_map(|(_, failure)| match failure {
                Failure::UnknownPrimary { .. } => {
                    Some("write the name that they know into the URL, behind their hosts")
                }
                Failure::Redis(error) if asks_for_login(error) => Some(
                    "write `sentinel_password=` into the URL, and `sentinel_user=` if there is one",
                ),
                failure => advice(address, failure),
            });
        }
        Failure::Several(all) => return all.iter().find_map(|(_, one)| advice(address, one)),
        Failure::Replica if matches!(address.servers, Servers::Named(_)) => {
            "write the host of the primary into the URL"
        }
        Failure::Redis(error) => match (error.kind(), error.code()) {
            (_, Some("NOAUTH")) => {
                "write the user and the password into the URL, `redis://user:password@host/`"
            }
            _ if asks_for_login(error) => "correct the user and the password in the URL",
            (ErrorKind::Io, _) if !uses_tls => "write `rediss://` if the server uses TLS",
            (ErrorKind::Server(ServerErrorKind::ClusterDown), _) => return None,
            _ if address.access.login.db() != 0 => "correct the number of the database in the URL",
            _ => return None,
        },
        Failure::Connect(_, error) if error.contains("certificate") => {
            "write `sslrootcert=` with the authority of the server into the URL, and the name that its \
             certificate states"
        }
        Failure::Connect(..) | Failure::NoAnswer if uses_tls => {
            "write `redis://` if the server does not use TLS and nobody else can read the network"
        }
        _ => return None,
    })
}

fn asks_for_login(error: &RedisError) -> bool {
    error.kind() == ErrorKind::AuthenticationFailed
        || matches!(error.code(), Some("NOAUTH" | "WRONGPASS"))
}

/// The rights that a user of the store needs.
fn grant(database: &Database) -> String {
    let prefix = database.address().prefix();
    format!(
        "write `ACL SETUSER .. ~{prefix}* &{prefix}* +@read +@write +@pubsub +@scripting +@connection \
         -@dangerous +info +config|get +time`"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_problem_of_a_server_is_reported() {
        let fine = "# Server\r\nredis_version:7.0.15\r\nmaxmemory:0\r\n\
                    maxmemory_policy:allkeys-lru\r\nconnected_slaves:1\r\n";
        let address =
            |wait: u32| Address::parse(&format!("redis://localhost?wait={wait}")).unwrap();
        assert_eq!(server_problems(&read(fine), &address(1)), [""; 0]);
        let wrong = fine.replace("7.0.15", "6.2.1").replace("maxmemory:0", "maxmemory:1000");
        let problems = server_problems(&read(&wrong), &address(2)).join("; ");
        for part in ["6.2.1", "`allkeys-lru`", "than the server has, 1"] {
            assert!(problems.contains(part), "{part}: {problems}");
        }
    }
}
