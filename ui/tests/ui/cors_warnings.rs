//! Legal but odd policies are warnings, here denied to be seen.
#![deny(deprecated)]
use policy_server::prelude::*;

#[get("/odd")]
#[auth(public)]
#[cors(
    origins = ["https://*.a.example", "https://b.a.example", "https://c.example", "https://c.example"],
    headers = ["accept-language"],
    expose = ["content-type"],
    max_age = 7201,
)]
async fn odd() {}

#[get("/previews")]
#[auth(public)]
#[cors(origins = ["https://shop-*-acme.vercel.app"], credentials)]
async fn previews() {}

fn main() {
    let _ = App::new(()).routes(routes![odd, previews]);
}
