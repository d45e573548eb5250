//! What cannot be combined with credentials.
use policy_server::prelude::*;

#[get("/any")]
#[auth(public)]
#[cors(origins = ["https://ok.example", "*"], methods = ["*"], headers = ["*"], expose = ["*"], credentials)]
async fn any() {}

#[get("/insecure")]
#[cors(credentials, origins = ["http://localhost:3000", "http://app.example.com", "shop://home"])]
#[auth(public)]
async fn insecure() {}

#[get("/suffix")]
#[cors(credentials, origins = ["https://*.co.uk", "https://*.github.io", "https://*.shop.example"])]
#[auth(public)]
async fn suffix() {}

#[get("/unbound")]
#[cors(credentials, origins = config("partners"))]
#[auth(public)]
async fn unbound() {}

#[get("/bound")]
#[cors(credentials, origins = config("partners", within = ["*", "https://*.com"]))]
#[auth(public)]
async fn bound() {}

fn main() {
    let _ = App::new(()).routes(routes![any, insecure, suffix, unbound, bound]);
}
