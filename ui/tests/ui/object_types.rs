//! `derive(Object)`: types of fields, actions and functions.
use policy_server::prelude::*;

#[derive(Object)]
#[rule(View = with(missing))]
#[rule(Edit = with(other) & role("lead"))]
struct Functions {
    #[object(key)]
    id: u64,
}

fn other(_: &Functions) -> bool {
    true
}

struct Opaque;

#[derive(Object)]
#[rule(View = owner | member(readers) | draft)]
struct Types {
    #[object(key)]
    id: Opaque,
    #[object(owner)]
    user: Opaque,
    #[object(members, table = "a", object = "b", user = "c")]
    readers: Opaque,
    #[object(flag)]
    draft: String,
    #[object(version)]
    version: String,
}

#[derive(Object)]
#[rule(View = anyone)]
#[rule(Publish = anyone)]
struct Actions {
    #[object(key)]
    id: u64,
}

#[derive(Object)]
#[rule(View = anyone)]
#[rule(policy_server::object::View = anyone)]
struct SameAction {
    #[object(key)]
    id: u64,
}

fn main() {}
