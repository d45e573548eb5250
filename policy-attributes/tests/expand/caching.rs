#[get("/lists")]
#[cache(public, max_age = 60, s_maxage = 600, stale_while_revalidate = 30, vary = ["accept"])]
#[auth(public)]
async fn lists() {}

#[get("/assets")]
#[cache(shop::ASSETS)]
#[auth(session)]
async fn assets() {}

#[get("/live")]
#[cache(none)]
#[auth(public)]
async fn live() {}
