//! Objects as arguments, over sockets: which callers get them, and what other callers learn.

mod agreement;
mod arguments;
mod callers;
mod conditions;
pub(super) mod engine;
mod fields;
mod lists;
mod loading;
mod names;
mod races;
mod strangers;
mod streams;
mod tuples;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use policy_server::{
    object::{Action, Lookup, Object},
    response::ByteRanges,
};
use policy_tests::{
    caller_scheme::{CallerScheme, identity},
    http::RawResponse,
};

use super::*;

/// Stops payments for an order.
pub(super) enum Refund {}

impl Action for Refund {
    const NAME: &'static str = "refund";
}

#[derive(Clone, Debug, Object)]
#[rule(View = published | owner | same(tenant) | member(readers))]
#[rule(Edit = owner | same(tenant) & role("lead"))]
#[rule(Delete = anyone)]
#[rule(Refund = with(is_refundable) & scope("refund"))]
pub(super) struct Order {
    #[object(key)]
    id: u64,
    #[object(owner)]
    customer: Option<String>,
    #[object(tenant)]
    company: String,
    #[object(members, table = "readers", object = "order_id", user = "person")]
    readers: Vec<String>,
    #[object(flag)]
    published: bool,
    #[object(version)]
    version: u64,
    note: String,
}

fn is_refundable(order: &Order, caller: &Principal) -> bool {
    order.note == "returned" && caller.subject() != "mallory"
}

/// The stored orders, and the number of loads.
#[derive(Clone)]
pub(super) struct Orders {
    orders: Arc<BTreeMap<u64, Order>>,
    loaded: Arc<AtomicUsize>,
}

impl Orders {
    pub(super) fn sample() -> Self {
        let order = |id: u64, customer: &str, company: &str| Order {
            id,
            customer: Some(customer.to_owned()),
            company: company.to_owned(),
            readers: vec!["rita".to_owned()],
            published: false,
            version: 3,
            note: "lamp".to_owned(),
        };
        let stored = [
            order(1, "ada", "acme"),
            Order { published: true, ..order(2, "ada", "acme") },
            Order { note: "returned".to_owned(), ..order(3, "ada", "acme") },
            // A row without an owner, and with an empty company and reader.
            Order { customer: None, readers: vec![String::new()], ..order(4, "", "") },
            order(5, "", "globex"),
        ];
        let orders = stored.into_iter().map(|order| (order.id, order)).collect();
        Self { orders: Arc::new(orders), loaded: Arc::default() }
    }

    fn loads(&self) -> usize {
        self.loaded.load(Ordering::Relaxed)
    }
}

impl Load for Order {
    type Source = Orders;

    async fn load(id: &u64, _: &(), orders: &Orders) -> Result<Option<Self>, Problem> {
        orders.loaded.fetch_add(1, Ordering::Relaxed);
        Ok(orders.orders.get(id).cloned())
    }
}

#[get("/orders/{id}")]
#[auth(scheme = CallerScheme)]
async fn show(order: Allowed<Order>) -> (Option<ETag>, ByteRanges, String) {
    (order.etag(), ByteRanges, order.note.clone())
}

/// The tag of the response differs from the order's.
#[get("/summaries/{id}")]
#[auth(scheme = CallerScheme)]
async fn summary(order: Allowed<Order>) -> (ETag, String) {
    (ETag::version(order.version + 6), order.note.clone())
}

#[put("/orders/{id}")]
#[auth(scheme = CallerScheme)]
async fn change(order: Allowed<Order, Edit>, Json(note): Json<String>) -> String {
    format!("{} becomes {note}", order.into_inner().note)
}

#[delete("/orders/{id}")]
#[auth(scheme = CallerScheme)]
async fn delete(order: Allowed<Order, Delete>) -> String {
    format!("{} is gone", order.id)
}

#[post("/orders/{id}/refund")]
#[auth(scheme = CallerScheme)]
async fn refund(order: Allowed<Order, Refund>) -> String {
    format!("{} is paid back", order.id)
}

#[get("/maybe/{id}")]
#[auth(scheme = CallerScheme, optional)]
async fn maybe(order: Allowed<Order>, me: Option<Principal>) -> String {
    format!("{} for {}", order.id, me.map_or("nobody".to_owned(), |me| me.subject().to_owned()))
}

#[get("/open/{id}")]
#[auth(public)]
async fn open(order: Allowed<Order>) -> String {
    order.id.to_string()
}

#[delete("/open/{id}")]
#[auth(public)]
async fn open_delete(order: Allowed<Order, Delete>) -> String {
    order.id.to_string()
}

#[get("/orders")]
#[auth(scheme = CallerScheme, optional)]
async fn list(orders: Scope<Order>, State(stored): State<Orders>) -> String {
    ids(stored.orders.values().filter(|order| orders.contains(order)))
}

#[get("/editable")]
#[auth(scheme = CallerScheme)]
async fn editable(orders: Scope<Order, Edit>, State(stored): State<Orders>) -> String {
    ids(stored.orders.values().filter(|order| orders.contains(order)))
}

#[post("/copies")]
#[auth(scheme = CallerScheme)]
async fn copy(orders: Lookup<Order, Edit>, Json(id): Json<u64>) -> Result<String, Problem> {
    Ok(orders.get(&id).await?.note.clone())
}

fn ids<'a>(orders: impl Iterator<Item = &'a Order>) -> String {
    orders.map(|order| order.id.to_string()).collect::<Vec<_>>().join(" ")
}

pub(super) fn app(orders: &Orders) -> App<Orders> {
    let routes = routes![
        show,
        summary,
        change,
        delete,
        refund,
        maybe,
        open,
        open_delete,
        list,
        editable,
        copy
    ];
    App::new(orders.clone()).scheme(CallerScheme).routes(routes)
}

/// A server, and the orders that it serves.
async fn serving() -> (Running, Orders) {
    let orders = Orders::sample();
    (Running::start(app(&orders)).await, orders)
}

/// Sends the request of a caller, and returns the response.
async fn send(server: &Running, what: &str, caller: Option<&str>, fields: &[&str]) -> RawResponse {
    let caller = caller.map(|caller| format!("x-caller: {caller}"));
    let fields: Vec<_> = caller.as_deref().into_iter().chain(fields.iter().copied()).collect();
    let mut connection = server.connect().await;
    connection.send(request(what, &fields)).await;
    match what.starts_with("HEAD") {
        true => connection.head().await,
        false => connection.response().await,
    }
}

/// A body of JSON in a request.
fn with_body(what: &str, fields: &[&str], body: &str) -> String {
    let length = format!("content-length: {}", body.len());
    request(what, &[fields, &[&length]].concat()) + body
}
