#[policy_server::auth(public)]
#[policy_server::cors(origins = ["*"])]
#[policy_server::get("/")]
async fn home() {}
