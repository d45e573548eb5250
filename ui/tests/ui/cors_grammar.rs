//! Arguments that `#[cors]` does not have.
use policy_server::prelude::*;

const PARTNERS: CorsPolicy = CorsPolicy::origins(&["https://a.example"]).build();

#[get("/unknown")]
#[auth(public)]
#[cors(origin = ["https://a.example"], allow_credentials, origins = ["null"])]
async fn unknown() {}

#[get("/values")]
#[auth(public)]
#[cors(origins = "https://a.example", credentials = true, headers = "x-a", methods, max_age = "10m")]
async fn values() {}

#[get("/twice")]
#[auth(public)]
#[cors(origins = ["https://a.example"], credentials, max_age = 1, credentials, max_age = 2, origins = ["*"])]
async fn twice() {}

#[get("/whole")]
#[auth(public)]
#[cors(PARTNERS, credentials)]
async fn whole() {}

#[get("/none")]
#[auth(public)]
#[cors(none, origins = ["https://a.example"])]
async fn none() {}

#[get("/config")]
#[auth(public)]
#[cors(origins = config())]
async fn config() {}

#[get("/within")]
#[auth(public)]
#[cors(origins = config("partners", within = "https://*.a.example", bound = ["https://a.example"]))]
async fn within() {}

#[get("/commas")]
#[auth(public)]
#[cors(origins = ["https://a.example"] credentials, max_age = )]
async fn commas() {}

#[get("/equals")]
#[auth(public)]
#[cors = "*"]
async fn equals() {}

#[get("/second")]
#[auth(public)]
#[cors(origins = ["https://a.example"])]
#[cors(origins = ["https://b.example"])]
async fn second() {}

fn main() {
    let _ = App::new(()).routes(routes![
        unknown, values, twice, whole, none, config, within, commas, equals, second
    ]);
}
