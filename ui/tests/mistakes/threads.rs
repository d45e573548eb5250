//! Everyday mistakes with what a handler keeps while it waits.
use std::{rc::Rc, sync::Mutex};

use policy_server::prelude::*;

#[get("/a")]
#[auth(public)]
async fn counted_on_one_thread() -> String {
    let text = Rc::new("text".to_owned());
    tokio::task::yield_now().await;
    text.to_string()
}

#[get("/b")]
#[auth(public)]
async fn guard_over_an_await() {
    let counter = Mutex::new(1);
    let guard = counter.lock();
    tokio::task::yield_now().await;
    drop(guard);
}

#[get("/c")]
#[auth(public)]
async fn error_that_is_not_send() -> Result<String, Problem> {
    let read: Result<String, Box<dyn std::error::Error>> = Ok(String::new());
    tokio::task::yield_now().await;
    read.or_internal()
}

fn main() {}
