//! The pages that call the API: one service at two origins, of which the API grants one.

use std::sync::{Arc, OnceLock};

use example_look::{Example, free, ports};
use policy_server::prelude::*;
use serde::Deserialize;

use super::arrivals::{Arrival, Arrivals};

const EXAMPLE: Example = Example {
    name: "quickstart",
    file: "examples/quickstart/main.rs",
    code: include_str!("main.rs"),
    next: "cargo run -p catalogue",
};

/// The addresses of the three services: on one machine, but with three origins.
#[derive(Clone, Debug)]
struct Addresses {
    api: String,
    granted: String,
    refused: String,
}

/// The state of the handlers below.
#[derive(Clone)]
struct Site {
    arrivals: Arrivals,
    /// Set once all three listen.
    addresses: Arc<OnceLock<Addresses>>,
}

/// Serves the API and its two pages until ctrl-c.
pub(crate) async fn serve_beside<S>(api: App<S>, arrivals: Arrivals) -> Result<(), Error>
where
    S: Send + Sync + 'static,
{
    let site = Site { arrivals, addresses: Arc::default() };
    let page = || App::new(site.clone()).routes(routes![page, script, arrivals]);
    let [api_port, granted_port, refused_port] =
        ports("POLICY_QUICKSTART_PORTS", [8080, 8081, 8082]);
    let api = api.bind(free(api_port)?).await?;
    let granted = page().bind(free(granted_port)?).await?;
    let refused = page().bind(free(refused_port)?).await?;
    let addresses = site.addresses.get_or_init(|| Addresses {
        api: format!("http://{}", api.local_addr()),
        granted: format!("http://localhost:{}", granted.local_addr().port()),
        refused: format!("http://{}", refused.local_addr()),
    });
    introduce(addresses);
    tokio::try_join!(api.run(), granted.run(), refused.run())?;
    Ok(())
}

/// Prints the addresses and what to try.
#[expect(clippy::print_stdout, reason = "an example speaks to the person who started it")]
fn introduce(Addresses { api, granted, refused }: &Addresses) {
    println!(
        "
API:          {api}
granted page: {granted}
refused page: {refused}

Open both pages: they make the same calls, and show what the browser let them see, and why.
Or ask as a browser does before a PUT, for the granted page (204) and for the refused one (403):

  curl -i -X OPTIONS {api}/notes/1 -H 'Origin: {granted}' \\
       -H 'Access-Control-Request-Method: PUT' -H 'Access-Control-Request-Headers: x-editor'

  curl -i -X OPTIONS {api}/notes/1 -H 'Origin: {refused}' \\
       -H 'Access-Control-Request-Method: PUT' -H 'Access-Control-Request-Headers: x-editor'

Then change an attribute in examples/quickstart/main.rs and start again. Ctrl-C ends it.
"
    );
}

#[get("/")]
#[auth(public)]
async fn page(State(site): State<Site>) -> impl IntoResponse {
    let mut html = include_str!("page.html").to_owned();
    if let Some(Addresses { api, granted, refused }) = site.addresses.get() {
        html = html.replace("{{api}}", api).replace("{{granted}}", granted);
        html = html.replace("{{refused}}", refused);
    }
    ([("content-type", "text/html; charset=utf-8")], EXAMPLE.page(&html))
}

#[get("/page.js")]
#[auth(public)]
async fn script() -> impl IntoResponse {
    ([("content-type", "text/javascript; charset=utf-8")], include_str!("page.js"))
}

#[derive(Deserialize)]
struct ArrivalFilter {
    query: String,
}

/// The requests that arrived at the API with a query: a page requests this from its own origin,
/// where no grant is needed.
#[get("/arrivals")]
#[auth(public)]
async fn arrivals(
    State(site): State<Site>,
    Query(filter): Query<ArrivalFilter>,
) -> Json<Vec<Arrival>> {
    Json(site.arrivals.with_query(&filter.query))
}
