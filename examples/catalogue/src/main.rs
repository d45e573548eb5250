//! A catalogue of products: who keeps its answers, and for how long; how two people who change the
//! same product do not overwrite each other; what a limit looks like from outside; and a page that
//! shows which of its requests went to the network.
//!
//! Run `cargo run -p catalogue` and open the addresses that it prints.

mod arrivals;
mod partner;
mod products;

use std::time::Duration;

use arrivals::{Arrival, Arrivals};
use axum::{
    http::{HeaderMap, HeaderValue, header},
    middleware::from_fn_with_state,
};
use policy_server::{
    prelude::*,
    response::{ByteRanges, TaggedJson},
};
use products::{Change, Product, Products};
use serde::Deserialize;
use tower::{Layer, util::MapResponse};
use tower_http::{compression::CompressionLayer, services::ServeDir};

/// Whose pages may read products. To a browser `http://127.0.0.1:8081` is another site than
/// `http://localhost:8080`, though both are this machine.
const PARTNERS: &[&str] = &["http://127.0.0.1:*"];

/// For 5 seconds nobody asks for the list again. After that a browser shows the tag of what it
/// has, and gets 304 and no body if nothing changed: `etag` computes the tag from the JSON.
///
/// `Accept` decides between data and a page. A cache learns by `Vary` that these are two answers:
/// nobody has to think of it.
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

/// What is to be changed has to be shown as it is: it is kept, and asked about before each use.
/// The products count their changes, so the tag costs nothing.
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

/// Who changes a product says which version they saw (`If-Match`). Without it the answer is 428;
/// if somebody else was faster it is 412, and nothing is lost. A body that is no JSON is refused,
/// and one that breaks a rule is told all that is wrong with it.
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

/// 204 for the first, 404 for the second. That is idempotent all the same: after one DELETE the
/// product is gone, and after two it is not more so (RFC 9110 9.2.2). A client that saw no answer
/// may send it again.
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

/// A search costs more than it looks like: one address gets 20 a minute (429 and `Retry-After`),
/// and not more than two run at once (503). Everybody asks something else, so nobody keeps it.
#[get("/search")]
#[limit(rate = "20/min", concurrency = 2, timeout = "2s")]
#[cache(no_store)]
#[auth(public)]
async fn search(
    Query(Search { q }): Query<Search>,
    State(products): State<Products>,
) -> Json<Vec<Product>> {
    // Stands for an index that takes its time.
    tokio::time::sleep(Duration::from_millis(100)).await;
    Json(products.all().into_iter().filter(|product| product.is_named(&q)).collect())
}

/// A file to download. A download that broke off goes on where it was (`Range`), unless the file
/// has changed since (`If-Range`). The handler gives the whole; the parts are cut from it.
#[get("/price-list.csv")]
#[cache(public, max_age = 60, must_revalidate)]
#[auth(public)]
async fn price_list(State(products): State<Products>) -> impl IntoResponse {
    let file = products::as_csv(&products.all());
    let fields = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"price-list.csv\""),
    ];
    (ByteRanges, ETag::of_content(file.as_bytes()), fields, file)
}

/// For partners from before CORS: `/prices?callback=show` is a script that calls `show`. Everybody
/// may load it, so it holds nothing that is not public; with a credential it would not compile.
#[get("/prices")]
#[jsonp(callback = "callback")]
#[cache(public, max_age = 60, stale_while_revalidate = 600)]
#[auth(public)]
async fn prices(State(products): State<Products>) -> TaggedJson<Vec<Product>> {
    Json(products.all()).etag()
}

/// The page. Scripts run by the nonce of this one answer, so what somebody smuggles into the page
/// does not; an answer with a nonce is for one use, and nobody keeps it.
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
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], html)
}

#[derive(Deserialize)]
struct Asked {
    target: String,
}

/// What arrived here, for the page to compare with what its browser says.
#[get("/arrivals")]
#[cache(no_store)]
#[auth(public)]
async fn arrived(
    State(arrivals): State<Arrivals>,
    Query(asked): Query<Asked>,
) -> Json<Vec<Arrival>> {
    Json(arrivals.of(&asked.target))
}

/// Files, under the same policies as everything else.
///
/// The order: files, compression, policy. What compresses stands next to what is compressed, so
/// the policy is written onto the answer as it leaves: its `Vary` fields are added to the
/// `accept-encoding` of the compression, and none replaces the other. That one is stated here once
/// more for 304 and HEAD, which have nothing to compress, and still depend on it.
///
/// Around the whole app, `App::layer(CompressionLayer::new())` compresses the handlers' answers,
/// too, after the policy. Then each route that it compresses needs this `vary`, and a weak tag.
fn files() -> Mount {
    let files = ServeDir::new(env!("CARGO_MANIFEST_DIR"));
    let compressed = CompressionLayer::new().layer(files);
    Mount::new(MapResponse::new(compressed, |mut response: axum::http::Response<_>| {
        weaken(response.headers_mut());
        response
    }))
    .cache(CachePolicy::public().max_age(3600).vary(&["accept-encoding"]).build())
}

/// A file and the same compressed are not the same bytes, so one strong tag cannot name both
/// (RFC 9110 8.8.3.3).
fn weaken(headers: &mut HeaderMap) {
    if headers.contains_key(header::CONTENT_ENCODING)
        && let Some(tag) =
            headers.get(header::ETAG).filter(|tag| !tag.as_bytes().starts_with(b"W/"))
        && let Ok(weak) = HeaderValue::from_bytes(&[b"W/", tag.as_bytes()].concat())
    {
        headers.insert(header::ETAG, weak);
    }
}

/// Routes that say nothing else answer with data that no browser shows as a page of ours
/// (`HeadersPolicy::API`), and only to pages of this origin: not as an image, a script or a frame
/// of another site. What CORS grants, scripts for partners and links are let in.
fn catalogue(state: Shop) -> App<Shop> {
    let arrivals = state.arrivals.clone();
    App::new(state)
        .headers(HeadersPolicy::API)
        .isolation(Isolation::SameOrigin)
        .limits(Limits::NONE.timeout(Duration::from_secs(5)))
        .routes(routes![page, list, product, change, remove, search, price_list, prices, arrived])
        .mount("/static", files())
        .layer(from_fn_with_state(arrivals, arrivals::note))
}

#[tokio::main]
async fn main() -> Result<(), Report> {
    // For the catalogue alone: `catalogue(Shop::default()).serve("127.0.0.1:8080").await`.
    partner::serve_beside(catalogue(Shop::default())).await?;
    Ok(())
}

/// What the handlers share.
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
