//! One app over TLS and QUIC, and a page that shows the protocol over which it was loaded.
//!
//! Run `cargo run -p protocols` and do what it prints.

use example_look::{Example, free, ports};
use policy_server::{Tls, http::Version, prelude::*};

const EXAMPLE: Example = Example {
    name: "protocols",
    file: "examples/protocols/src/main.rs",
    code: include_str!("main.rs"),
    next: "cargo run -p gateway",
};

/// The name in the standards: HTTP/2 and HTTP/3 have no minor number.
fn name(version: Version) -> String {
    match version {
        Version::HTTP_2 => "HTTP/2".to_owned(),
        Version::HTTP_3 => "HTTP/3".to_owned(),
        older => format!("{older:?}"),
    }
}

/// The version of the request; nothing else in the app depends on it.
#[get("/")]
#[cache(no_store)]
#[auth(public)]
async fn page(version: Version, nonce: CspNonce) -> impl IntoResponse {
    let page = include_str!("page.html")
        .replace("{{version}}", &name(version))
        .replace("{{nonce}}", nonce.as_str());
    let page = EXAMPLE.page(&page);
    ([("content-type", "text/html; charset=utf-8")], page)
}

/// For the page's own request, and for curl.
#[get("/version")]
#[cache(no_store)]
#[auth(public)]
async fn version(version: Version) -> String {
    format!("{}\n", name(version))
}

fn app() -> App<()> {
    App::new(())
        .policies(Policies::new().headers(HeadersPolicy::PAGES))
        .routes(routes![page, version])
}

/// Creates a certificate on the first run. In production use `Tls::files("cert.pem", "key.pem")`.
fn tls(redirected: &str) -> Tls {
    Tls::development("target/development-certificate").redirect_http(redirected).http3()
}

#[tokio::main]
async fn main() -> Result<(), Report> {
    let [port, redirected_port] = ports("POLICY_PROTOCOLS_PORTS", [8443, 8080]);
    let redirected = free(redirected_port)?;
    let server = app().tls(tls(&redirected)).bind(free(port)?).await?;
    introduce(server.local_addr().port());
    server.run().await?;
    Ok(())
}

#[expect(clippy::print_stdout, reason = "an example speaks to the person who started it")]
fn introduce(port: u16) {
    println!(
        "
Open https://localhost:{port}/ and accept its certificate, or trust its authority first:
target/development-certificate/authority.pem. The address that serves plain HTTP leads there.

  curl --cacert target/development-certificate/authority.pem https://localhost:{port}/version
  curl --http1.1 --cacert target/development-certificate/authority.pem https://localhost:{port}/version
"
    );
}

// `cargo test -p protocols` runs these.
#[cfg(test)]
policy_server::policy_tests!(app());
