#[get("/orders")]
#[auth(public)]
#[isolation(same_site)]
#[headers(
    csp = "default-src 'self'; script-src 'nonce' https://cdn.example; img-src * data:; sandbox allow-forms",
    frame = ["https://app.example"],
    referrer = "no-referrer",
    permissions = ["camera=()"],
    hsts = 63072000,
    include_subdomains,
    every_response
)]
async fn orders() {}

#[get("/shared")]
#[auth(public)]
#[cors(PARTNERS)]
#[isolation(none)]
#[headers(crate::PAGES)]
async fn shared() {}

#[get("/bare")]
#[auth(public)]
#[headers(none)]
async fn bare() {}
