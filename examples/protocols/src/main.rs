//! One app over TLS and QUIC, and a page that shows the protocol over which it was loaded.
//!
//! Run `cargo run -p protocols` and do what it prints.

use policy_server::{Tls, http::Version, prelude::*};

/// The version of the request; nothing else in the app depends on it.
#[get("/")]
#[cache(no_store)]
#[auth(public)]
async fn page(version: Version, nonce: CspNonce) -> impl IntoResponse {
    let page = include_str!("page.html")
        .replace("{{version}}", &format!("{version:?}"))
        .replace("{{nonce}}", nonce.as_str());
    ([("content-type", "text/html; charset=utf-8")], page)
}

/// For the page's own request, and for curl.
#[get("/version")]
#[cache(no_store)]
#[auth(public)]
async fn version(version: Version) -> String {
    format!("{version:?}\n")
}

fn app() -> App<()> {
    App::new(()).headers(HeadersPolicy::PAGES).routes(routes![page, version])
}

/// Creates a certificate on the first run. In production use `Tls::files("cert.pem", "key.pem")`.
fn tls() -> Tls {
    Tls::development("target/development-certificate").redirect_http("127.0.0.1:8080").http3()
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "an example speaks to the person who started it")]
async fn main() -> Result<(), Report> {
    println!(
        "
Open https://localhost:8443/ and accept its certificate, or trust its authority first:
target/development-certificate/authority.pem. http://localhost:8080/ leads there.

  curl --cacert target/development-certificate/authority.pem https://localhost:8443/version
  curl --http1.1 --cacert target/development-certificate/authority.pem https://localhost:8443/version
"
    );
    app().tls(tls()).serve("127.0.0.1:8443").await?;
    Ok(())
}

// `cargo test -p protocols` runs these.
#[cfg(test)]
policy_server::policy_tests!(app());
