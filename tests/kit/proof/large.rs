//! An app of a hundred routes.

use policy_server::{CorsConfig, prelude::*, session::SameSite, tokens::SecretKey};

#[get("/list")]
#[auth(public)]
#[cache(public, max_age = 60)]
async fn list() {}

#[get("/items/{id}")]
#[auth(session | token, scopes = ["items:read"])]
#[object(none = "a test of something else")]
async fn item(id: u64) {
    panic!("handlers do not run in proofs: {id}")
}

#[post("/items")]
#[auth(session)]
async fn create() {}

#[put("/items/{id}")]
#[auth(token, scopes = ["items:write"])]
#[object(none = "a test of something else")]
async fn replace(id: u64) {
    panic!("handlers do not run in proofs: {id}")
}

#[delete("/items/{id}")]
#[auth(session, roles = ["admin"])]
#[object(none = "a test of something else")]
async fn remove(id: u64) {
    panic!("handlers do not run in proofs: {id}")
}

/// A hundred routes with this many different policies.
fn app(policies: usize) -> App<()> {
    let secret = SecretKey::from_bytes(*b"\x8f0123456789abcdef0123456789abcde");
    let app = App::new(())
        .public_origin("https://api.shop.example")
        .sessions(Sessions::memory().same_site(SameSite::None))
        .tokens(Tokens::hs256([("k1", secret)]).expect("a key"));
    (0..100).fold(app, |app, number| {
        let policy = number % policies;
        let mut cors = CorsConfig::new([
            format!("https://app{policy}.shop.example"),
            format!("https://*.partner{policy}.example"),
        ]);
        cors.credentials = true;
        cors.headers = vec!["x-request-id".to_owned()];
        cors.expose = vec!["x-total".to_owned()];
        let route = match number % 5 {
            0 => routes![list],
            1 => routes![item],
            2 => routes![create],
            3 => routes![replace],
            _ => routes![remove],
        };
        app.group(
            format!("/area{number}"),
            Group::new().policies(Policies::new().cors(cors)).routes(route),
        )
    })
}

// A path to the app is resolved where the macro is called.
policy_server::policy_tests!(large_app: self::app(20));
