//! Lists of origins that three instances share, on real servers.
//!
//! Covers: a change x the other instances, a restart, an outage; two changes at once; the rules
//! of named values x every store of the crate.

use std::time::{Duration, Instant};

use policy_server::{
    StoredOrigins, StoredOriginsError,
    prelude::*,
    store::{EmbeddedStore, MemoryStore, PostgresStore, RedisStore, conformance},
    testing::TestClient,
};
use policy_tests::{folder::Folder, postgres::Postgres, redis::Redis};
use tokio::task::JoinSet;

use super::{outages::Server, site::until};

const A: &str = "https://a.customer.example";
const B: &str = "https://b.customer.example";

#[get("/prices")]
#[cors(origins = config("customers", within = ["https://*.customer.example"]))]
#[auth(public)]
async fn prices() {}

pub(crate) struct Instance {
    client: TestClient,
    pub(crate) customers: StoredOrigins,
}

impl Instance {
    pub(crate) async fn start(store: &str) -> Self {
        let customers = StoredOrigins::new([A]);
        let app = App::new(())
            .public_origin("https://api.example")
            .sessions(Sessions::from_url(store))
            .origins("customers", &customers)
            .routes(routes![prices]);
        let client = TestClient::new(app.open().await.unwrap(), "api.example");
        Self { client, customers }
    }

    pub(crate) async fn grants(&self, origin: &str) -> bool {
        let response = self.client.get("/prices").origin(origin).send().await;
        response.header("access-control-allow-origin").is_some()
    }
}

async fn a_list_is_shared(server: &impl Server, store: &str) {
    let start = || Instance::start(store);
    let instances: [Instance; 3] = tokio::join!(start(), start(), start()).into();
    let mut longest = Duration::ZERO;
    for round in 0..20 {
        let begun = Instant::now();
        let origin = format!("https://c{round}.customer.example");
        assert!(instances[round % 3].customers.add(&origin).await.unwrap());
        assert!(instances[round % 3].grants(&origin).await, "at once where it is made");
        for instance in &instances {
            until(async || instance.grants(&origin).await).await;
        }
        longest = longest.max(begun.elapsed());
    }
    println!("a change held at three instances after {longest:?} at the latest of 20");
    // Changes at once: none is lost.
    let mut changes = JoinSet::new();
    for (number, instance) in instances.iter().enumerate() {
        let customers = instance.customers.clone();
        changes.spawn(async move {
            customers.add(&format!("https://d{number}.customer.example")).await.unwrap()
        });
    }
    assert_eq!(changes.join_all().await, [true; 3]);
    for instance in &instances {
        until(async || instance.customers.patterns().len() == 24).await;
    }
    server.kill().await;
    until(async || {
        let failed = instances[0].customers.add(B).await;
        matches!(failed, Err(StoredOriginsError::Store(_)))
    })
    .await;
    for instance in &instances {
        assert!(instance.grants(A).await, "the last list holds");
    }
    server.begin().await;
    until(async || instances[1].customers.replace(&[B]).await.is_ok()).await;
    for instance in &instances {
        until(async || instance.customers.patterns() == [B]).await;
    }
    assert_eq!(Instance::start(store).await.customers.patterns(), [B]);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn a_list_in_postgres_is_shared() {
    let server = Postgres::start(&[]).await;
    a_list_is_shared(&server, &server.schema()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn a_list_in_redis_is_shared() {
    let server = Redis::start(&[]).await;
    a_list_is_shared(&server, &server.prefix()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL and Redis: `cargo xtask test` runs it"]
async fn the_shared_stores_keep_all_rules_of_values() {
    let (postgres, redis) = (Postgres::shared().await, Redis::shared().await);
    conformance::values(|| PostgresStore::new(postgres.schema())).await;
    conformance::values(|| RedisStore::new(redis.prefix())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stores_of_one_process_keep_all_rules_of_values() {
    conformance::values(MemoryStore::new).await;
    let folder = Folder::new().unwrap();
    conformance::values(|| EmbeddedStore::new(folder.path().join("values.redb"))).await;
}
