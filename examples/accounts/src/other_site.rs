//! A page of another site, `http://127.0.0.1:8082`: browsers keep the cookie of `http://localhost:8080` from
//! it, so it uses tokens.

use example_logins::beside::ServiceOrigin;
use policy_server::prelude::*;

use super::shop::EXAMPLE;

/// The app of the page, which calls the service at the origin that becomes known.
pub(crate) fn page(service: ServiceOrigin) -> App<ServiceOrigin> {
    App::new(service).routes(routes![other_site])
}

#[get("/")]
#[headers(csp = "default-src 'none'; script-src 'nonce'; style-src 'nonce'; img-src data:; connect-src http://localhost:*; base-uri 'none'; form-action 'none'", frame = none)]
#[cache(no_store)]
#[auth(public)]
async fn other_site(nonce: CspNonce, State(service): State<ServiceOrigin>) -> impl IntoResponse {
    let service = service.get().map_or("", String::as_str);
    let html = include_str!("other_site.html").replace("{{nonce}}", nonce.as_str());
    let html = html.replace("{{service}}", service);
    ([("content-type", "text/html; charset=utf-8")], EXAMPLE.page(&html))
}
