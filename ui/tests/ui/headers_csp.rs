//! A policy for contents that browsers would not understand, or that does not hold.
use policy_server::prelude::*;

#[get("/empty")]
#[auth(public)]
#[headers(csp = " ; ")]
async fn empty() {}

#[get("/directives")]
#[auth(public)]
#[headers(csp = "default 'self'; img-src 'self'; img-src data:; font-src")]
async fn directives() {}

#[get("/unknown")]
#[auth(public)]
#[headers(csp = "scripts 'self'")]
async fn unknown() {}

#[get("/sources")]
#[auth(public)]
#[headers(csp = "img-src self https://; script-src 'nonce-r4nd0m' 'sha256-short' 'https://cdn.example'")]
async fn sources() {}

#[get("/places")]
#[auth(public)]
#[headers(csp = "img-src 'nonce'; style-src 'none' 'self'; script-src 'strict-dynamic' 'self'")]
async fn places() {}

#[get("/frames")]
#[auth(public)]
#[headers(csp = "default-src 'self'; frame-ancestors 'self'", frame = same_origin)]
async fn frames() {}

fn main() {}
