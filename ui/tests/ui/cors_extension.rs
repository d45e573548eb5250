//! What an extension of the nearest policy can say.
use policy_server::prelude::*;

#[get("/origins")]
#[cors(extend, origins = ["https://a.example"], headers = ["x-a"])]
#[auth(public)]
async fn origins() {}

#[get("/list")]
#[cors(extend, origins = config("partners"), credentials, methods = ["PUT"], max_age = 600)]
#[auth(public)]
async fn list() {}

#[get("/nothing")]
#[cors(extend)]
#[auth(public)]
async fn nothing() {}

#[get("/any")]
#[cors(extend, headers = ["*", "cookie"], expose = ["set-cookie"])]
#[auth(public)]
async fn any() {}

#[get("/none")]
#[cors(extend, none)]
#[auth(public)]
async fn none() {}

fn main() {
    let _ = App::new(()).routes(routes![origins, list, nothing, any, none]);
}
