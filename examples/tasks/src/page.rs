//! The page: a folder of files on its own origin, which calls the service on another one of the same
//! site, so that the cookie is sent and the service has to grant access.

use example_logins::beside::{ServiceOrigin, serve_beside};
use example_look::{Example, STYLE, ports};
use policy_server::{Files, prelude::*};

const EXAMPLE: Example = Example {
    name: "tasks",
    file: "examples/tasks/src/tasks.rs",
    code: include_str!("tasks.rs"),
    next: "cargo run -p accounts",
};

/// Serves the service and the page until ctrl-c.
///
/// # Errors
///
/// The app cannot start, or a port cannot be used.
pub async fn serve<S>(service: App<S>) -> Result<(), Error>
where
    S: Send + Sync + 'static,
{
    let page = |known| {
        let files = Files::new(concat!(env!("CARGO_MANIFEST_DIR"), "/page"));
        App::new(known)
            .policies(Policies::new().headers(HeadersPolicy::PAGES))
            .routes(routes![index, look])
            .fallback(Fallback::files(files).public())
    };
    serve_beside(service, "apps", ports("POLICY_TASKS_PORTS", [8080, 8081]), page, introduce).await
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
async fn index(State(service): State<ServiceOrigin>) -> impl IntoResponse {
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
