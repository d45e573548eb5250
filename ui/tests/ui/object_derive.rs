//! `derive(Object)`: marks of fields, and functions of rules.
use policy_server::prelude::*;

#[derive(Object)]
#[rule(View = published)]
struct Pair(u64);

#[derive(Object)]
#[rule(View = anyone)]
struct Generic<T> {
    #[object(key)]
    id: T,
}

#[derive(Object)]
#[rule(View = anyone)]
struct TwoKeys {
    #[object(key)]
    id: u64,
    #[object(key)]
    other: u64,
}

#[derive(Object)]
#[rule(View = anyone)]
struct TwoMarks {
    #[object(key)]
    id: u64,
    #[object(owner, tenant)]
    user: String,
}

#[derive(Object)]
#[rule(View = anyone)]
struct Repeated {
    #[object(key, column = "a", column = "b")]
    id: u64,
}

/// As conditions, these words mean something else.
#[derive(Object)]
#[rule(View = owner | anyone)]
struct Words {
    #[object(key)]
    id: u64,
    #[object(flag)]
    owner: bool,
    #[object(flag)]
    anyone: bool,
}

#[derive(Object)]
#[rule(View = member(readers))]
struct Relations {
    #[object(key)]
    id: u64,
    #[object(members, table = "readers")]
    readers: Vec<String>,
    #[object(owner, table = "a", object = "b", user = "c")]
    user: String,
    #[object(column = "author")]
    author: String,
}

#[derive(Object)]
#[rule(View)]
#[rule]
#[object(names = "Order")]
struct Arguments {
    #[object(key)]
    id: u64,
}

#[derive(Object)]
#[rule(View = owner)]
#[rule(Edit = owner(editor) | with(fn))]
#[rule(Delete = with(a:b) | role(lead))]
struct Conditions {
    #[object(key)]
    id: u64,
    #[object(owner)]
    user: String,
    #[object(owner)]
    author: String,
}

#[derive(Object)]
#[rule(View = engine(policies) | owner)]
struct Engines {
    #[object(key)]
    id: u64,
    #[object(flag)]
    engine: bool,
}

/// A rule names it without `r#`.
#[derive(Object)]
#[rule(View = anyone)]
struct Raw {
    #[object(key)]
    id: u64,
    #[object(flag)]
    r#anyone: bool,
}

fn main() {}
