//! The same rules, behind names: checked while the compiler evaluates constants.
use policy_server::{
    policy::{
        // The words of a Content-Security-Policy.
        csp::{Directive, Name, Source},
    },
    prelude::*,
};

const OWN: HeadersPolicy = HeadersPolicy::builder().corp("same-origin").build();
const PARTNERS: CorsPolicy = CorsPolicy::origins(&["https://a.example"]).build();

#[get("/shared")]
#[auth(public)]
#[jsonp(callback = "cb")]
#[headers(OWN)]
async fn shared() {}

const TWO: HeadersPolicy = HeadersPolicy::builder()
    .csp(&[
        Directive(Name::ImgSrc, &[Source::SelfOrigin]),
        Directive(Name::ImgSrc, &[Source::Scheme("data:")]),
    ])
    .build();

#[get("/two")]
#[auth(public)]
#[headers(TWO)]
async fn two() {}

const SPLIT: HeadersPolicy = HeadersPolicy::builder()
    .csp(&[Directive(Name::ImgSrc, &[Source::Host("a.example; script-src *")])])
    .build();

#[get("/split")]
#[auth(public)]
#[headers(SPLIT)]
async fn split() {}

#[get("/other-type")]
#[auth(public)]
#[headers(PARTNERS)]
async fn other_type() {}

fn main() {}
