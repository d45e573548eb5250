//! Whether the time of a 404 distinguishes another user's object from a missing one.
//!
//! The test compares medians of alternating requests, so that a busy machine slows both alike.
//! Without a network, an existing object adds about a tenth to the time of a request: a third of
//! that is the load by the app, the rest its rules.

use std::{
    collections::BTreeMap,
    env,
    hint::black_box,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use policy_server::{prelude::*, testing::TestClient};
use policy_tests::caller_scheme::CallerScheme;

use super::alone;

/// The share of its time by which a request may take longer.
const TOLERANCE: f64 = 0.15;

#[derive(Clone)]
struct Orders {
    orders: Arc<BTreeMap<u64, Order>>,
    /// Rounds of work for an existing object: an artificial leak that the test must find.
    leak: Arc<AtomicUsize>,
}

#[derive(Clone, Object)]
#[rule(View = owner | same(tenant) & role("lead") | member(readers))]
#[rule(Edit = owner)]
struct Order {
    #[object(key)]
    id: u64,
    #[object(owner)]
    customer: String,
    #[object(tenant)]
    company: String,
    #[object(members)]
    readers: Vec<String>,
}

impl Load for Order {
    type Source = Orders;

    async fn load(id: &u64, _: &(), stored: &Orders) -> Result<Option<Self>, Problem> {
        let order = stored.orders.get(id).cloned();
        if order.is_some() {
            let rounds = stored.leak.load(Ordering::Relaxed);
            (0..rounds).fold(0, |sum, round| black_box(sum + round));
        }
        Ok(order)
    }
}

#[get("/orders/{id}")]
#[auth(scheme = CallerScheme)]
async fn show(order: Allowed<Order>) -> String {
    order.id.to_string()
}

#[put("/orders/{id}")]
#[auth(scheme = CallerScheme)]
async fn change(order: Allowed<Order, Edit>) -> String {
    order.id.to_string()
}

async fn time_of(client: &TestClient, method: &str, id: u64) -> Duration {
    let method = method.parse().expect("a method");
    let request = client.request(method, &format!("/orders/{id}")).header("x-caller", "eve");
    let begun = Instant::now();
    let response = request.send().await;
    let time = begun.elapsed();
    assert_eq!(response.status(), 404);
    time
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64()
}

/// How much longer a request takes for another user's object, as a share of its time.
async fn measured(client: &TestClient, method: &str, rounds: u64) -> f64 {
    let (mut strangers, mut none) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        // The keys have the same length, and neither is always first.
        let [taken, free] = [100 + round % 100, 300 + round % 100];
        let order = if round % 2 == 0 { [taken, free] } else { [free, taken] };
        for id in order {
            let time = time_of(client, method, id).await;
            if id == taken { strangers.push(time) } else { none.push(time) }
        }
    }
    median(strangers) / median(none) - 1.0
}

#[tokio::test]
async fn the_time_of_a_404_does_not_tell() {
    let _alone = alone().await;
    let rounds =
        env::var("POLICY_TIMING_ROUNDS").map_or(2_000, |text| text.parse().expect("a number"));
    let order = |id| Order {
        id,
        customer: "ada".to_owned(),
        company: "acme".to_owned(),
        readers: vec!["rita".to_owned(), "bob".to_owned()],
    };
    let orders = Arc::new((100..200).map(|id| (id, order(id))).collect());
    let leak = Arc::new(AtomicUsize::new(0));
    let state = Orders { orders, leak: Arc::clone(&leak) };
    let client = App::new(state).scheme(CallerScheme).routes(routes![show, change]).test();
    for method in ["GET", "PUT"] {
        leak.store(0, Ordering::Relaxed);
        let found = measured(&client, method, rounds).await;
        leak.store(20_000, Ordering::Relaxed);
        let planted = measured(&client, method, rounds).await;
        println!("{method}: {found:.3}; with a planted leak {planted:.3}");
        assert!(found.abs() < TOLERANCE, "{method}: {found}");
        assert!(planted > TOLERANCE, "{method}: the test sees no leak: {planted}");
    }
}
