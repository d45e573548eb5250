//! Loads a second of the test kit, on one thread: `loads [SECONDS]`. Tests run unoptimised, so
//! measure the debug build.

#![expect(clippy::print_stdout, reason = "its figures are its output")]

use std::time::{Duration, Instant};

use policy_server::{prelude::*, testing::*};
use tokio::runtime::Builder;

#[post("/login")]
#[cors(origins = ["https://app.shop.example"], credentials)]
#[auth(public)]
async fn login(sessions: Sessions) -> Result<StatusCode, Problem> {
    sessions.login("alice").await?;
    Ok(StatusCode::NO_CONTENT)
}

#[get("/public")]
#[cors(origins = ["*"])]
#[auth(public)]
async fn public() -> &'static str {
    "hello"
}

#[get("/me")]
#[cors(origins = ["https://app.shop.example"], credentials)]
#[auth(session)]
async fn me(me: Principal) -> String {
    me.subject().to_owned()
}

/// Its preflight is never cached.
#[put("/orders")]
#[cors(origins = ["https://app.shop.example"], max_age = 0)]
#[auth(public)]
async fn order() -> &'static str {
    "ordered"
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds = std::env::args().nth(1).map_or(Ok(2), |text| text.parse())?;
    let app = App::new(())
        .public_origin("https://api.shop.example")
        .sessions(Sessions::memory())
        .routes(routes![login, public, me, order]);
    let service = app.into_service();
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let url = |path: &str| format!("https://api.shop.example{path}");
    for (name, fetch) in [
        ("simple request", Fetch::get(url("/public"))),
        ("with a session", Fetch::get(url("/me")).credentials(Include)),
        ("preflight and request", Fetch::put(url("/orders"))),
        ("blocked", Fetch::get(url("/nowhere"))),
    ] {
        let net = Network::new().host("https://api.shop.example", service.clone());
        let page = Browser::chromium().open("https://app.shop.example");
        let mut loads = 0;
        let began = Instant::now();
        runtime.block_on(async {
            page.fetch(&net, Fetch::post(url("/login")).credentials(Include)).await;
            while began.elapsed() < Duration::from_secs(seconds) {
                page.fetch(&net, fetch.clone()).await;
                loads += 1;
            }
        });
        println!("{name}: {:.0} a second", f64::from(loads) / began.elapsed().as_secs_f64());
    }
    Ok(())
}
