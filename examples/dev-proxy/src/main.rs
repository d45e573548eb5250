//! A front end, and an API that does not know it, behind one origin; and the same page without the
//! proxy, where the browser blocks the API's responses.
//!
//! Run `cargo run -p dev-proxy` and open the address that it prints.

mod api;

use example_look::{Example, free, ports};
use policy_server::{ReverseProxy, prelude::*};
use tokio::net::TcpListener;

const EXAMPLE: Example = Example {
    name: "dev-proxy",
    file: "examples/dev-proxy/src/main.rs",
    code: include_str!("main.rs"),
    next: "cargo run -p protocols",
};

/// The address of the API.
#[derive(Clone, Debug)]
struct Api(String);

/// The page gets both addresses: its own, below which the API is, and that of the API itself.
#[get("/")]
#[auth(public)]
async fn page(State(Api(origin)): State<Api>) -> impl IntoResponse {
    let html = EXAMPLE.page(&include_str!("page.html").replace("{{api}}", &origin));
    ([("content-type", "text/html; charset=utf-8")], html)
}

#[get("/page.js")]
#[auth(public)]
async fn script() -> impl IntoResponse {
    ([("content-type", "text/javascript; charset=utf-8")], include_str!("page.js"))
}

/// Forwards everything below `/api` to the API, without the prefix. CORS is not needed, since for
/// the browser there is one origin.
fn front_end(api: Api) -> App<Api> {
    let proxy = ReverseProxy::new("/api", &api.0).public().strip_prefix();
    App::new(api).proxy(proxy).routes(routes![page, script])
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "an example speaks to the person who started it")]
async fn main() -> Result<(), Report> {
    let [page_port, api_port] = ports("POLICY_DEV_PROXY_PORTS", [8080, 9000]);
    let listener = TcpListener::bind(free(api_port)?).await?;
    let api = Api(format!("http://{}", listener.local_addr()?));
    let server = front_end(api.clone()).bind(free(page_port)?).await?;
    let page_port = server.local_addr().port();
    println!(
        "
API:  {}
page: http://localhost:{page_port}

Open the page: it asks the API twice for everything, at its own address and below `/api`, and shows
what the browser let it see. Ctrl-C ends it.

  curl -i http://localhost:{page_port}/api/seen
",
        api.0
    );
    tokio::select! {
        served = server.run() => Ok(served?),
        served = axum::serve(listener, api::router()) => Ok(served?),
    }
}

// `cargo test -p dev-proxy` runs these.
#[cfg(test)]
policy_server::policy_tests!(front_end(Api("http://127.0.0.1:9000".to_owned())));
