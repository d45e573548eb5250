//! Functions that are no handlers.
#![allow(unused_variables)]
use policy_server::prelude::*;
use axum::extract::{MatchedPath, NestedPath, Path, RawPathParams};
use axum::http::Method;

#[get("/1")]
#[auth(public)]
fn blocking() {}

#[get("/2")]
#[auth(public)]
async fn generic<T: Send>(value: Json<T>) {}

#[get("/3")]
#[auth(public)]
async fn bounded(body: String) where String: Sized {}

#[get("/4")]
#[auth(public)]
async unsafe fn dangerous() {}

#[get("/5")]
#[auth(public)]
async fn borrowed(body: &str) {}

#[get("/6")]
#[auth(public)]
async fn some(body: impl Sized) {}

#[get("/7/{id}")]
#[auth(public)]
async fn path(Path(id): Path<u64>) {}

#[get("/8")]
#[auth(public)]
async fn matched(path: Option<MatchedPath>, nested: Result<NestedPath, ()>, raw: RawPathParams) {}

#[get("/tuple")]
#[auth(public)]
async fn tuple((method, (Path(id), _)): (Method, (Path<u64>, Method))) {}

#[get("/9")]
#[auth(public)]
async fn conditional(#[cfg(unix)] body: String) {}

#[get("/10")]
#[auth(public)]
async fn many(
    a: Method, b: Method, c: Method, d: Method, e: Method, f: Method, g: Method,
    h: Method, i: Method, j: Method, k: Method, l: Method, m: Method,
) {}

struct Service;

impl Service {
    #[get("/11")]
    #[auth(public)]
    async fn method(&self) {}
}

#[get("/12")]
#[auth(public)]
#[cors(origins = ["*"])]
struct NoFunction;

#[get("/13")]
#[auth(public)]
const NUMBER: u8 = 1;

fn main() {
    let _ = App::new(()).routes(routes![
        blocking, generic, bounded, dangerous, borrowed, some, path, matched, conditional, many,
        tuple
    ]);
}
