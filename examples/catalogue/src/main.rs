//! A catalogue of products: caching of its responses, protection from lost updates when two users
//! change the same product, limits as clients see them, and a page that shows which of its requests
//! went to the network.
//!
//! Run `cargo run -p catalogue` and open the addresses that it prints.

mod arrivals;
mod partner;
mod products;

use std::time::Duration;

use arrivals::{Arrival, Arrivals};
use axum::{http::header, middleware::from_fn_with_state};
use example_look::Example;
use policy_server::{
    prelude::*,
    response::{ByteRanges, TaggedJson},
};
use products::{Change, Product, Products};
use serde::Deserialize;
use tower::Layer;
use tower_http::{compression::CompressionLayer, services::ServeDir};

const EXAMPLE: Example = Example {
    name: "catalogue",
    file: "examples/catalogue/src/main.rs",
    code: include_str!("main.rs"),
    next: "cargo run -p accounts",
};

/// The origins whose pages may read products. To a browser `http://127.0.0.1:8081` is another site
/// than `http://localhost:8080`, although both are this machine.
const PARTNERS: &[&str] = &["http://127.0.0.1:*"];

/// Fresh for 5 seconds. After that a browser sends the tag that it has, and gets 304 without a body
/// if nothing changed: `etag` computes the tag from the JSON.
///
/// `Accept` chooses between JSON and HTML, and `Vary` is set automatically, so that caches keep the
/// two responses apart.
#[get("/products")]
#[cors(origins = PARTNERS)]
#[cache(public, max_age = 5)]
#[auth(public)]
async fn list(accept: Accept, State(products): State<Products>) -> Result<Response, Problem> {
    let chosen = accept.best(["application/json", "text/html"])?;
    let all = products.all();
    Ok(match chosen.media_type() {
        "text/html" => (chosen, products::as_html(&all)).into_response(),
        _ => (chosen, Json(all).etag()).into_response(),
    })
}

/// A product that is to be changed must be shown in its current state, so it is cached but
/// revalidated before each use. Products have a version number, so the tag costs nothing.
#[get("/products/{id}")]
#[cors(origins = PARTNERS, expose = ["etag"])]
#[cache(public, no_cache)]
#[auth(public)]
async fn product(
    id: u64,
    State(products): State<Products>,
) -> Result<(ETag, Json<Product>), Problem> {
    let product = products.find(id)?;
    Ok((product.tag(), Json(product)))
}

/// A change must state the version that it is based on (`If-Match`). Without it the response is
/// 428; if another user was faster it is 412, and nothing is overwritten. A body that is not JSON
/// is refused, and one that breaks rules gets all errors listed.
#[put("/products/{id}")]
#[limit(body = "4 KiB")]
#[auth(public)]
async fn change(
    id: u64,
    preconditions: Preconditions,
    State(products): State<Products>,
    Valid(Json(change)): Valid<Json<Change>>,
) -> Result<(ETag, Json<Product>), Problem> {
    preconditions.require_match()?;
    let product = products.change(id, change, |now| preconditions.check(now))?;
    Ok((product.tag(), Json(product)))
}

/// 204 for the first DELETE, 404 for the second. It is still idempotent, since the state afterwards
/// is the same (RFC 9110 9.2.2), so a client without a response may repeat it.
#[delete("/products/{id}")]
#[auth(public)]
async fn remove(id: u64, State(products): State<Products>) -> Result<StatusCode, Problem> {
    products.remove(id)?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize)]
struct Search {
    q: String,
}

/// A search is expensive: one address gets 20 a minute (429 and `Retry-After`), and at most two run
/// at once (503). Searches differ, so they are not cached.
#[get("/search")]
#[limit(rate = "20/min", concurrency = 2, timeout = "2s")]
#[cache(no_store)]
#[auth(public)]
async fn search(
    Query(Search { q }): Query<Search>,
    State(products): State<Products>,
) -> Json<Vec<Product>> {
    // Stands in for a slow index.
    tokio::time::sleep(Duration::from_millis(100)).await;
    Json(products.all().into_iter().filter(|product| product.is_named(&q)).collect())
}

/// A file to download. An interrupted download can be resumed (`Range`), unless the file has
/// changed since (`If-Range`). The handler returns the whole file; the app cuts out the range.
#[get("/price-list.csv")]
#[cache(public, max_age = 60, must_revalidate)]
#[auth(public)]
async fn price_list(State(products): State<Products>) -> impl IntoResponse {
    let file = products::as_csv(&products.all());
    let fields = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"price-list.csv\""),
    ];
    (ByteRanges, ETag::from_content(file.as_bytes()), fields, file)
}

/// For partners without CORS: `/prices?callback=show` is a script that calls `show`. Any page may
/// load it, so it contains public data only; with a credential it would not compile.
#[get("/prices")]
#[jsonp(callback = "callback")]
#[cache(public, max_age = 60, stale_while_revalidate = 600)]
#[auth(public)]
async fn prices(State(products): State<Products>) -> TaggedJson<Vec<Product>> {
    Json(products.all()).etag()
}

/// The page. Scripts need the nonce of this response, so injected ones do not run. A response with
/// a nonce is never cached.
#[get("/")]
#[headers(
    csp = "default-src 'none'; script-src 'nonce'; style-src 'self'; img-src 'self' data:; \
           connect-src 'self'; base-uri 'none'; form-action 'none'",
    frame = none,
    coop = "same-origin"
)]
#[cache(no_store)]
#[auth(public)]
async fn page(nonce: CspNonce) -> impl IntoResponse {
    let html = include_str!("page.html").replace("{{nonce}}", nonce.as_str());
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], EXAMPLE.page(&html))
}

#[derive(Deserialize)]
struct ArrivalFilter {
    target: String,
}

/// The requests that arrived here, for the page to compare with the browser's report.
#[get("/arrivals")]
#[cache(no_store)]
#[auth(public)]
async fn arrived(
    State(arrivals): State<Arrivals>,
    Query(filter): Query<ArrivalFilter>,
) -> Json<Vec<Arrival>> {
    Json(arrivals.for_target(&filter.target))
}

/// The caching of the files that `files` serves.
const FILES: CachePolicy = CachePolicy::public().max_age(3600).vary(&["accept-encoding"]).build();

/// Files, under the same policies as everything else.
///
/// The order is files, compression, policy. The compression middleware is directly around the
/// files, so that the policy is written onto the response as it is sent: `Vary` keeps the
/// `accept-encoding` of the compression. It is declared here again for 304 and HEAD, which are not
/// compressed but depend on it as well.
///
/// Around the whole app, `App::layer(CompressionLayer::new())` also compresses the responses of
/// handlers, after the policy. Each route that it compresses then needs this `vary`.
fn files() -> Mount {
    let files = ServeDir::new(env!("CARGO_MANIFEST_DIR"));
    let compressed = CompressionLayer::new().layer(files);
    Mount::new(compressed).public().policies(Policies::new().cache(FILES))
}

/// By default responses are data that browsers never show as pages of ours (`HeadersPolicy::API`),
/// and are isolated to this origin: other sites cannot load them as images, scripts or frames. CORS
/// grants, JSONP and links are still admitted.
fn catalogue(state: Shop) -> App<Shop> {
    let arrivals = state.arrivals.clone();
    App::new(state)
        .policies(
            Policies::new()
                .headers(HeadersPolicy::API)
                .isolation(Isolation::SameOrigin)
                .limits(Limits::NONE.timeout(Duration::from_secs(5))),
        )
        .routes(routes![page, list, product, change, remove, search, price_list, prices, arrived])
        .mount("/static", files())
        .layer(from_fn_with_state(arrivals, arrivals::note))
}

#[tokio::main]
async fn main() -> Result<(), Report> {
    // Without the partner: `catalogue(Shop::default()).serve("127.0.0.1:8080").await`.
    partner::serve_beside(catalogue(Shop::default())).await?;
    Ok(())
}

/// The state of the handlers.
#[derive(Default)]
struct Shop {
    products: Products,
    arrivals: Arrivals,
}

impl FromRef<Shop> for Products {
    fn from_ref(shop: &Shop) -> Self {
        shop.products.clone()
    }
}

impl FromRef<Shop> for Arrivals {
    fn from_ref(shop: &Shop) -> Self {
        shop.arrivals.clone()
    }
}

// `cargo test -p catalogue` runs these.
#[cfg(test)]
policy_server::policy_tests!(catalogue(Shop::default()));
