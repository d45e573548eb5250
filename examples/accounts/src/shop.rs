//! The shop: a page on its own origin, `http://localhost:8081`, which calls the service at
//! `http://localhost:8080`. They are the same site, so the cookie is sent, but different origins,
//! so the service has to grant access. Beside it stands a page of another site.

use std::sync::Arc;

use example_logins::beside::{ServiceOrigin, serve_beside};
use example_look::{Example, STYLE, free, ports};
use policy_server::prelude::*;

use super::other_site;

pub(crate) const EXAMPLE: Example = Example {
    name: "accounts",
    file: "examples/accounts/src",
    code: concat!(
        include_str!("main.rs"),
        "\n",
        include_str!("by_password.rs"),
        "\n",
        include_str!("tokens.rs")
    ),
    next: "cargo run -p cluster",
};

/// Serves the service and both pages until ctrl-c.
pub(crate) async fn serve<S>(service: App<S>) -> Result<(), Error>
where
    S: Send + Sync + 'static,
{
    let [service_port, shop_port, other_port] = ports("POLICY_ACCOUNTS_PORTS", [8080, 8081, 8082]);
    let known = ServiceOrigin::default();
    let other = other_site::page(Arc::clone(&known)).bind(free(other_port)?).await?;
    let other_origin = format!("http://{}", other.local_addr());
    let shop = |known| App::new(known).routes(routes![page, script, style]);
    let introduce = |service: &str, page: &str| {
        introduce(known.get_or_init(|| service.to_owned()), page, &other_origin);
    };
    let beside = serve_beside(service, "shop", [service_port, shop_port], shop, introduce);
    tokio::try_join!(beside, other.run())?;
    Ok(())
}

/// Prints the addresses and what to try.
#[expect(clippy::print_stdout, reason = "an example speaks to the person who started it")]
fn introduce(service: &str, page: &str, other: &str) {
    println!(
        "
service: {service}
page:    {page}
other:   {other}

Open the page, sign up, and open it once more in another browser or a private window. Then open the
other, which is of another site: it gets no cookie, and works with a token. Or get tokens, as a
program would:

  curl {service}/token -H 'content-type: application/json' \\
       -d '{{\"name\": \"ada\", \"password\": \"correct horse\"}}'

Accounts, sessions and the key of the tokens are kept in target/accounts, or where the variable
POLICY_ACCOUNTS_FOLDER says. Ctrl-C ends it; start again, and whoever was logged in still is.
"
    );
}

#[get("/")]
#[auth(public)]
async fn page(State(service): State<ServiceOrigin>) -> impl IntoResponse {
    let service = service.get().map_or("", String::as_str);
    // Only scripts and styles of this origin, and requests to the service.
    let csp = format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; \
         connect-src {service}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let html = include_str!("page.html").replace("{{service}}", service);
    (
        [("content-type", "text/html; charset=utf-8".to_owned()), ("content-security-policy", csp)],
        EXAMPLE.page(&html),
    )
}

#[get("/page.js")]
#[auth(public)]
async fn script() -> impl IntoResponse {
    ([("content-type", "text/javascript; charset=utf-8")], include_str!("page.js"))
}

#[get("/page.css")]
#[auth(public)]
async fn style() -> impl IntoResponse {
    let style = format!("{STYLE}{}", include_str!("page.css"));
    ([("content-type", "text/css; charset=utf-8")], style)
}
