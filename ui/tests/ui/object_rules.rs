//! Parameters that nothing checks, and reasons.
use policy_server::prelude::*;

struct Order;

type Fields = std::collections::BTreeMap<String, String>;

/// A route with two parameters, of which one is no object.
#[get("/{company}/orders/{order}")]
#[auth(session, optional)]
async fn half(company: String, order: Allowed<Order>) {}

#[get("/group/{id}")]
#[auth(group)]
async fn of_group(id: u64) {}

#[get("/{a}/{b}")]
#[auth(session)]
#[object(none = "  ")]
async fn reason(a: u64, b: u64) {}

#[get("/none")]
#[auth(session)]
#[object(none = "there is no parameter")]
async fn unused() {}

#[get("/none-public")]
#[auth(public)]
#[object(none = "nobody has to be known")]
async fn unused_of_public(query: Query<Fields>) {}

/// No error: the name may be one of an object.
#[get("/none-of-a-query")]
#[auth(session)]
#[object(none = "names are only compared")]
async fn used_by_a_query(query: Query<Fields>) {}

#[get("/{order}")]
#[auth(session)]
#[object(none = "the object is checked")]
async fn unused_beside(order: Allowed<Order>) {}

#[get("/{a}/twice")]
#[auth(session)]
#[object(none = "one")]
#[object(none = "two")]
async fn twice(a: u64) {}

#[get("/{a}/words")]
#[auth(session)]
#[object(none = true, some = "x")]
async fn words(a: u64) {}

#[get("/two/{order}")]
#[auth(session)]
async fn two(order: Allowed<Order>, other: Allowed<Order, Edit>) {}

#[get("/second/{id}")]
#[auth(session)]
async fn second(id: u64, order: Allowed<Order>) {}

#[get("/recheck-without-unit/{order}")]
#[auth(session)]
#[object(recheck = "10")]
async fn malformed(order: Allowed<Order>) {}

#[get("/recheck-never/{order}")]
#[auth(session)]
#[object(recheck = "0s")]
async fn zero(order: Allowed<Order>) {}

#[get("/recheck-next-week/{order}")]
#[auth(session)]
#[object(recheck = "10080m")]
async fn week(order: Allowed<Order>) {}

#[get("/recheck-of-nothing")]
#[auth(session)]
#[object(recheck = "10s")]
async fn nothing(orders: Scope<Order>) {}

#[get("/recheck-beside-none/{a}")]
#[auth(session)]
#[object(none = "everybody may read it", recheck = "10s")]
async fn beside_none(a: u64) {}

#[get("/recheck-is-no-reason/{a}/{order}")]
#[auth(session)]
#[object(recheck = "10s")]
async fn no_reason(a: u64, order: Allowed<Order>) {}

fn main() {}
