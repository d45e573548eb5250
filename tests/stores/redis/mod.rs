//! The store in Redis.
//!
//! Covers: the rules of stores x one instance and two; several instances x their start;
//! logins, changes, logouts, cut-offs x other instances; tokens, tickets, streams x news; an outage x
//! routes with and without a session, readiness, what was acknowledged; anonymous sessions x their
//! limit; wrong settings x the words of the error; sentinels and a cluster x another primary, keys that
//! move, replicas that confirm.

mod cluster;
mod failover;
mod losses;
mod outages;
mod rollback;
mod sentinel;
mod starts;
mod tls;

use policy_core::session::Identity;
use policy_server::store::{
    AnonymousLimit, Cas, CreateFamily, CreateSession, Family, Limit, LimitPolicy, RedisStore,
    Refresh, RefreshOutcome, Revocation, RevokeUser, RotateSession, SessionStore, Ticket,
    TokenHash, TokenStore, UpdateSession, conformance,
};
use policy_tests::redis::Redis;

use super::{
    histories::are_in_order,
    pair::Pair,
    records::{NOW, create, key, races, record},
    site::Instance,
};

mod instances {
    use super::Redis;

    crate::instances::on! {
        "needs Redis: `cargo xtask test` runs it", Redis::shared().await.prefix()
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn clocks_that_are_wrong_by_an_hour_end_no_session() {
    let store = Redis::shared().await.prefix();
    crate::instances::clocks_that_are_wrong_by_an_hour_end_no_session(&store).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn forged_news_end_no_stream() {
    let server = Redis::shared().await;
    let store = server.prefix();
    let (_, prefix) = store.split_once("prefix=").expect("a prefix");
    let channel = format!("{{{prefix}}}:news");
    let forge = async |news: &str| {
        server.command(&["PUBLISH", &channel, news]).await;
    };
    crate::instances::forged_news_end_no_stream(&store, RedisStore::new(&*store), forge).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn the_store_keeps_all_rules_of_sessions() {
    let server = Redis::shared().await;
    conformance::sessions(|| RedisStore::new(server.prefix())).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn the_store_keeps_all_rules_of_tokens() {
    let server = Redis::shared().await;
    conformance::tokens(|| RedisStore::new(server.prefix())).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn the_store_keeps_all_rules_of_limits() {
    let server = Redis::shared().await;
    conformance::limits(|| RedisStore::new(server.prefix())).await;
}

/// The calls of each test go to two instances in turn.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn two_instances_keep_all_rules_together() {
    let server = Redis::shared().await;
    two_instances(|| server.prefix()).await;
}

async fn two_instances(url: impl Fn() -> String) {
    let pair = || {
        let url = url();
        Pair::new([&*url, &*url].map(RedisStore::new))
    };
    conformance::sessions(pair).await;
    conformance::tokens(pair).await;
    conformance::limits(pair).await;
}

/// The rules of one instance and of two.
async fn all_rules(url: impl Fn() -> String) {
    conformance::sessions(|| RedisStore::new(url())).await;
    conformance::tokens(|| RedisStore::new(url())).await;
    two_instances(url).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn nothing_brings_a_deleted_session_back() {
    let server = Redis::shared().await;
    let url = server.prefix();
    races([&*url, &*url].map(RedisStore::new)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn histories_of_clients_are_linearizable() {
    let server = Redis::start(&[]).await;
    let url = server.prefix();
    are_in_order(&server, [&*url, &*url, &*url].map(RedisStore::new)).await;
}

/// The store counts them all, so the limit is exact.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn anonymous_sessions_are_bounded_whichever_instance_began_them() {
    let server = Redis::shared().await;
    let url = server.prefix();
    let make = || RedisStore::new(&*url).anonymous_limit(AnonymousLimit::new(200, 1000));
    let stores = [make(), make()];
    for store in &stores {
        SessionStore::open(store).await.unwrap();
    }
    // Sessions of users are not counted.
    create(&stores[0], 1000, record(0, Some("ada"))).await;
    for number in 0..600 {
        let store = &stores[number as usize % 2];
        create(store, number, record(number, None)).await;
    }
    let living = async || {
        let mut living = Vec::new();
        for number in 0..600 {
            if stores[0].load(&key(number), NOW).await.unwrap().is_some() {
                living.push(number);
            }
        }
        living
    };
    assert_eq!(living().await, Vec::from_iter(400..600));
    for number in 500..600 {
        let update = UpdateSession::new(key(number), 1, vec![b'x'; 50].into(), NOW);
        stores[number as usize % 2].update(update).await.unwrap();
    }
    // Twenty sessions with 50 bytes each.
    assert_eq!(living().await, Vec::from_iter(580..600));
    // An end of any kind makes room, and a change counts what it adds.
    assert!(stores[0].delete(&key(599)).await.unwrap());
    let update = UpdateSession::new(key(598), 2, vec![b'x'; 100].into(), NOW);
    stores[0].update(update).await.unwrap();
    assert_eq!(living().await, Vec::from_iter(580..599));
    let login = RotateSession::new(key(598), key(2000), 3, record(1, Some("ada")), NOW);
    assert!(matches!(stores[0].rotate(login).await.unwrap(), Cas::Done { .. }));
    for number in [700, 701] {
        let mut large = record(number, None);
        large.data = vec![b'x'; 50].into();
        create(&stores[1], number, large).await;
    }
    assert_eq!(living().await, Vec::from_iter(580..598));
    assert!(stores[1].load(&key(1000), NOW).await.unwrap().is_some());
}

/// Sessions end in every way, then a purge runs: the server keeps only what is needed for ever.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn ended_sessions_leave_no_keys() {
    let server = Redis::shared().await;
    let url = server.prefix();
    let store = RedisStore::new(&*url).anonymous_limit(AnonymousLimit::new(5, 1000));
    SessionStore::open(&store).await.unwrap();
    let at = |seconds| NOW.after(std::time::Duration::from_secs(seconds));
    let limit = Limit::new(3, LimitPolicy::EvictOldest);
    for round in 0..10 {
        let first = 100 * round;
        for number in first..first + 20 {
            let user = [None, Some("ada"), Some("eve"), Some("")][number as usize % 4];
            let mut record = record(number, user);
            record.idle_deadline = at(100);
            record.data = vec![b'x'; number as usize % 7].into();
            store.create(CreateSession::new(key(number), record, NOW).limit(limit)).await.unwrap();
        }
        let renewed = record(first + 17, Some("ada"));
        let renewal = RotateSession::new(key(first + 17), key(first + 50), 1, renewed, NOW);
        store.rotate(renewal.grace(at(10))).await.unwrap();
        store.delete(&key(first + 13)).await.unwrap();
        store.delete_by_handle("eve", record(first + 14, None).handle).await.unwrap();
        if round % 3 == 0 {
            store.revoke_user(RevokeUser::new("ada", NOW)).await.unwrap();
        }
        if round % 4 == 0 {
            store.revoke_everyone(NOW).await.unwrap();
        }
        for number in 0..10 {
            let id = [(first + number) as u8; 16];
            let user = ["ada", "eve"][number as usize % 2];
            let family = Family::new(id, Identity::new(user), NOW, at(100));
            let hash = |step: u64| TokenHash(key(1_000_000 + 1000 * number + first + step).0);
            let began = store.revocations(0).await.unwrap().sequence;
            assert!(store.create_family(CreateFamily::new(family, hash(0), began)).await.unwrap());
            for step in 0..3 {
                let grace = std::time::Duration::from_secs(10);
                let refresh = Refresh::new(hash(step), hash(step + 1), grace, NOW, NOW);
                assert!(matches!(store.refresh(refresh).await.unwrap(), RefreshOutcome::Done(_)));
            }
            store.put_ticket(hash(9), Ticket::new(Identity::new(user), at(30))).await.unwrap();
        }
        if round % 4 == 1 {
            store.revoke(Revocation::Everyone { before: 1 }).await.unwrap();
        }
        if round % 3 == 1 {
            store.revoke(Revocation::User { user: "ada".into(), before: 1 }).await.unwrap();
        }
        store.revoke(Revocation::Token { id: "jti".into(), until: at(50) }).await.unwrap();
    }
    // A purge may have steps of any size.
    while SessionStore::purge(&store, at(1000), 7).await.unwrap() == 7 {}
    assert_eq!(SessionStore::purge(&store, at(1000), 1000).await.unwrap(), 0);
    while TokenStore::purge(&store, at(1000), 7).await.unwrap() == 7 {}
    assert_eq!(TokenStore::purge(&store, at(1000), 1000).await.unwrap(), 0);
    let prefix = format!("{{{}}}:", url.split_once("prefix=").unwrap().1);
    let keys = server.command(&["KEYS", &format!("{prefix}*")]).await;
    let mut keys: Vec<String> = redis::from_redis_value(keys).unwrap();
    keys.sort_unstable();
    // The last 100,000 marks stay.
    let expected = [
        "epochs",
        "marks:cut_off",
        "marks:revocation",
        "meta",
        "numbers",
        "positions",
        "revocations",
    ];
    assert_eq!(keys, expected.map(|name| format!("{prefix}{name}")));
    let bytes = server.command(&["HGET", &format!("{prefix}numbers"), "anonymous"]).await;
    assert_eq!(bytes, redis::Value::BulkString(b"0".to_vec()));
}
