//! The shop: a page on its own origin, `http://localhost:8081`, which calls the service at
//! `http://localhost:8080`. They are the same site, so the cookie is sent, but different origins,
//! so the service has to grant access.

use std::{
    env,
    sync::{Arc, OnceLock},
    time::Duration,
};

use example_look::{Example, STYLE, free};
use policy_server::{ServerSettings, prelude::*};

const EXAMPLE: Example = Example {
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

/// The origin of the service, known once it listens.
type Service = Arc<OnceLock<String>>;

/// Serves the service and the page until ctrl-c.
pub(crate) async fn serve_beside<S>(service: App<S>) -> Result<(), Error>
where
    S: Send + Sync + 'static,
{
    let [service_port, page_port] = ports();
    let known = Service::default();
    let page = App::new(Arc::clone(&known)).routes(routes![page, script, style]);
    let page = page.bind(free(page_port)?).await?;
    let page_origin = format!("http://localhost:{}", page.local_addr().port());
    let service = service
        .origins("shop", [&page_origin])
        // Open event streams are cut off after this.
        .settings(ServerSettings::default().shutdown_timeout(Duration::from_secs(1)))
        .bind(free(service_port)?)
        .await?;
    let service_origin = format!("http://localhost:{}", service.local_addr().port());
    introduce(known.get_or_init(|| service_origin), &page_origin);
    tokio::try_join!(service.run(), page.run())?;
    Ok(())
}

/// 8080 and 8081, or the two ports in `POLICY_ACCOUNTS_PORTS`, separated by a comma.
fn ports() -> [u16; 2] {
    let wanted = env::var("POLICY_ACCOUNTS_PORTS").unwrap_or_default();
    let mut wanted = wanted.split(',').map(|port| port.trim().parse().ok());
    [8080, 8081].map(|usual| wanted.next().flatten().unwrap_or(usual))
}

/// Prints the addresses and what to try.
#[expect(clippy::print_stdout, reason = "an example speaks to the person who started it")]
fn introduce(service: &str, page: &str) {
    println!(
        "
service: {service}
page:    {page}

Open the page, sign up, and open it once more in another browser or a private window.
Or get tokens, as a program would:

  curl {service}/token -H 'content-type: application/json' \\
       -d '{{\"name\": \"ada\", \"password\": \"correct horse\"}}'

Accounts, sessions and the key of the tokens are kept in target/accounts, or where the variable
POLICY_ACCOUNTS_FOLDER says. Ctrl-C ends it; start again, and whoever was logged in still is.
"
    );
}

#[get("/")]
#[auth(public)]
async fn page(State(service): State<Service>) -> impl IntoResponse {
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
