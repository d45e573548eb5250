use std::{env, io};

use policy_server::{Error, Report, TrustedProxies};
use {{crate_name}}::{ApiKeys, app};

/// The variables that state what start errors ask for, by their codes.
const VARIABLES: &[(&str, &str)] = &[
    ("app.public-origin-missing", "PUBLIC_ORIGIN=https://shop.example, the address in browsers"),
    ("app.plain-credentials", "TRUSTED_PROXIES=172.16.0.0/12, the networks of the proxies"),
    ("app.listen", "LISTEN=127.0.0.1:8081, an address of this machine"),
];

#[tokio::main]
async fn main() -> Result<(), Report> {
    tracing_subscriber::fmt::init();
    let mut app = app(ApiKeys::from_env()?);
    if let Ok(origin) = env::var("PUBLIC_ORIGIN") {
        app = app.public_origin(origin);
    }
    if let Ok(networks) = env::var("TRUSTED_PROXIES") {
        app = app.behind(TrustedProxies::new(networks.split(',')).x_forwarded());
    }
    let listen = env::var("LISTEN").unwrap_or("127.0.0.1:8080".to_owned());
    app.serve(listen).await.map_err(with_variables)
}

/// The error, with the variables by which this program is told.
fn with_variables(error: Error) -> Report {
    let Error::Start(problems) = &error else { return error.into() };
    let is_asked = |code: &str| problems.iter().any(|problem| problem.code() == code);
    let variables = VARIABLES.iter().filter(|(code, _)| is_asked(code));
    let lines: String = variables.map(|(_, variable)| format!("\n- {variable}")).collect();
    if lines.is_empty() {
        return error.into();
    }
    io::Error::other(format!("{error}\nset these in the environment:{lines}")).into()
}
