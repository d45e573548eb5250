//! The page: a folder of files on its own origin, which calls the service on another one of the same
//! site, so that the cookie is sent and the service has to grant access.

use std::{
    env,
    sync::{Arc, OnceLock},
    time::Duration,
};

use example_look::{Example, STYLE, free};
use policy_server::{Files, ServerSettings, prelude::*};

const EXAMPLE: Example = Example {
    name: "tasks",
    file: "examples/tasks/src/tasks.rs",
    code: include_str!("tasks.rs"),
    next: "cargo run -p accounts",
};

/// The origin of the service, known once it listens.
type Known = Arc<OnceLock<String>>;

/// Serves the service and the page until ctrl-c.
///
/// # Errors
///
/// The app cannot start, or a port cannot be used.
pub async fn serve_beside<S>(service: App<S>) -> Result<(), Error>
where
    S: Send + Sync + 'static,
{
    let [service_port, page_port] = ports();
    let known = Known::default();
    let files = Files::new(concat!(env!("CARGO_MANIFEST_DIR"), "/page"));
    let page = App::new(Arc::clone(&known))
        .headers(HeadersPolicy::PAGES)
        .routes(routes![index, look])
        .fallback(Fallback::files(files).public());
    let page = page.bind(free(page_port)?).await?;
    let page_origin = format!("http://localhost:{}", page.local_addr().port());
    let service = service
        .origins("apps", [&page_origin])
        // Open event streams are cut off after this.
        .settings(ServerSettings::default().shutdown_timeout(Duration::from_secs(1)))
        .bind(free(service_port)?)
        .await?;
    let service_origin = format!("http://localhost:{}", service.local_addr().port());
    introduce(known.get_or_init(|| service_origin), &page_origin);
    tokio::try_join!(service.run(), page.run())?;
    Ok(())
}

/// 8080 and 8081, or the two ports in `POLICY_TASKS_PORTS`, separated by a comma.
fn ports() -> [u16; 2] {
    let wanted = env::var("POLICY_TASKS_PORTS").unwrap_or_default();
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

Open the page and sign up. Invite somebody, and open the link in another browser or a private window:
both pages show at once what either does. Under `Team`, make tokens for a script, and then:

  curl {service}/tasks -H 'authorization: Bearer ..'

Everything is kept in target/tasks, or where the variable POLICY_TASKS_FOLDER says; with DATABASE_URL
set to postgres://user:password@host/database, there. Ctrl-C ends it.
"
    );
}

#[get("/")]
#[auth(public)]
async fn index(State(service): State<Known>) -> impl IntoResponse {
    let service = service.get().map_or("", String::as_str);
    // Only scripts and styles of this origin, and requests to the service; a WebSocket is one of them.
    let socket = service.replacen("http", "ws", 1);
    let csp = format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; \
         connect-src {service} {socket}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let html = include_str!("index.html").replace("{{service}}", service);
    (
        [("content-type", "text/html; charset=utf-8".to_owned()), ("content-security-policy", csp)],
        EXAMPLE.page(&html),
    )
}

#[get("/look.css")]
#[auth(public)]
async fn look() -> impl IntoResponse {
    ([("content-type", "text/css; charset=utf-8")], STYLE)
}
