//! Servers with which an app does not start, and what it says.

use super::*;
use crate::{
    records::{read_without_tenant, write_without_tenant},
    site::{says, start_at_the_same_time, start_error},
};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn url_errors_do_not_contain_the_password() {
    let server = Redis::shared().await;
    let url = server.url();
    let wrong = url.replace(":secret", ":wrong-password");
    says(&start_error(&wrong).await, &["correct the user and the password"]);
    let wrong = url.replace(":secret", "nobody:secret");
    says(&start_error(&wrong).await, &["correct the user and the password"]);
    let wrong = url.replace(":secret@", "");
    says(&start_error(&wrong).await, &["NOAUTH", "write the user and the password into the URL"]);
    let port = policy_tests::port::Port::reserve();
    says(&start_error(&format!("redis://:secret@{}", port.address)).await, &["refused"]);
    let other = policy_tests::port::Port::reserve();
    let ports = [&port, &other].map(|port| port.address.port().to_string());
    let several = format!("redis://:secret@{},{}", port.address, other.address);
    says(&start_error(&several).await, &["refused", &ports[0], &ports[1]]);
    says(&start_error(&format!("{url}?wait=2")).await, &["`wait=2`", "than the server has, 0"]);
    let wrong = url.replace("redis:", "rediss:");
    says(&start_error(&wrong).await, &["write `redis://` if the server does not use TLS"]);
    let wrong = format!("{url}99");
    says(&start_error(&wrong).await, &["DB index is out of range", "correct the number"]);
    let wrong = format!("{url}?prefix=A&persistence=some&sslrootcert=/no/such/file");
    says(&start_error(&wrong).await, &["prefix=A", "persistence=some", "/no/such/file"]);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn keys_of_a_newer_release_are_refused_and_left_alone() {
    let server = Redis::shared().await;
    let url = server.prefix();
    let prefix = url.split_once("prefix=").unwrap().1;
    let meta = format!("{{{prefix}}}:meta");
    Instance::start(&url).await;
    server.command(&["HSET", &meta, "version", "9"]).await;
    says(&start_error(&url).await, &[prefix, "version 9", "start the newer release"]);
    server.command(&["HSET", &meta, "version", "1"]).await;
    Instance::start(&url).await;
}

/// Keys of a user without a tenant have the fields that a release without tenants wrote.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn keys_of_a_release_without_tenants_are_read() {
    let server = Redis::shared().await;
    let url = server.prefix();
    let prefix = url.split_once("prefix=").unwrap().1;
    write_without_tenant(&RedisStore::new(&*url)).await;
    for (kind, id, expected) in [
        (
            "s",
            &key(1).0[..],
            "absolute_deadline binding created data epoch handle idle idle_deadline is_remembered \
             last_seen roles rotated scopes user version",
        ),
        ("f", &[1; 16], "authenticated expires position refreshes roles scopes user"),
    ] {
        let name = [format!("{{{prefix}}}:{kind}:").as_bytes(), id].concat();
        let fields = server.run(&[&b"HKEYS"[..], &name]).await.unwrap();
        let mut fields: Vec<String> = redis::from_redis_value(fields).unwrap();
        fields.sort_unstable();
        assert_eq!(fields.join(" "), expected);
    }
    read_without_tenant(&RedisStore::new(&*url)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn missing_rights_are_named_with_the_command_that_grants_them() {
    let server = Redis::shared().await;
    let own = server.prefix();
    let prefix = own.split_once("prefix=").unwrap().1;
    let url = own.replace(":secret", "guest:secret");
    let grant = async |words: &str| {
        let words: Vec<&str> = words.split_whitespace().collect();
        let set = [&["ACL", "SETUSER", "guest"], &words[..]].concat();
        assert_eq!(server.command(&set).await, redis::Value::Okay);
    };
    grant("reset on >secret").await;
    says(&start_error(&url).await, &["'info'", "'subscribe'", "'evalsha'", "ACL SETUSER", prefix]);
    grant("+info +subscribe &* +@scripting +hget +zadd ~other:*").await;
    says(&start_error(&url).await, &["access one of the keys", "ACL SETUSER"]);
    grant(&format!("~{{{prefix}}}:*")).await;
    let text = start_error(&url).await;
    says(&text, &["`HSET`", "`ZREM`", "`PUBLISH`", "on the keys", "ACL SETUSER"]);
    assert!(!text.contains("`HGET`") && !text.contains("`ZADD`"), "{text}");
    // Applies the fix that the error names.
    let words = text.split_once("ACL SETUSER ..").unwrap().1.split_once('`').unwrap().0;
    grant("reset on >secret").await;
    grant(words).await;
    let instance = Instance::start(&url).await;
    let ada = instance.login("ada").await;
    assert_eq!(ada.status(&instance).await, 200);
    let others = url.replace(prefix, "others");
    says(&start_error(&others).await, &["{others}:*"]);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn a_server_that_loses_acknowledged_writes_is_refused() {
    let server = Redis::start(&["appendonly=no", "maxmemory=100mb"]).await;
    server.command(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]).await;
    let url = server.url();
    says(
        &start_error(&url).await,
        &["`maxmemory-policy` is `allkeys-lru`", "`appendonly`", "`save`"],
    );
    let accepted = format!("{url}?persistence=none");
    says(&start_error(&accepted).await, &["`maxmemory-policy` is `allkeys-lru`"]);
    server.command(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]).await;
    says(&start_error(&url).await, &["nothing to the disk", "persistence=none"]);
    Instance::start(&accepted).await;
    SessionStore::open(&RedisStore::new(&*url).without_persistence()).await.unwrap();
    // A user who may not read the settings of persistence.
    let words = ["on", ">secret", "~*", "&*", "+@all", "-config"];
    server.command(&[&["ACL", "SETUSER", "app"], &words[..]].concat()).await;
    let app = url.replace(":secret", "app:secret");
    says(&start_error(&app).await, &["cannot be seen", "'config|get'", "persistence=none"]);
    server.command(&["CONFIG", "SET", "save", "3600 1"]).await;
    Instance::start(&url).await;
    server.command(&["CONFIG", "SET", "save", "", "appendonly", "yes"]).await;
    Instance::start(&app).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn a_replica_is_refused() {
    let server = Redis::start(&[]).await;
    let port = policy_tests::port::Port::reserve();
    let port = port.address.port().to_string();
    server.command(&["REPLICAOF", "127.0.0.1", &port]).await;
    says(&start_error(&server.url()).await, &["a replica", "the host of the primary"]);
    server.command(&["REPLICAOF", "NO", "ONE"]).await;
    Instance::start(&server.url()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn instances_may_start_at_the_same_time_on_an_empty_server() {
    let server = Redis::shared().await;
    start_at_the_same_time(|| server.prefix()).await;
}
