use std::env;

use policy_server::{TrustedProxies, Report};
use {{crate_name}}::{ApiKeys, app};

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
    app.serve(env::var("LISTEN").unwrap_or("127.0.0.1:8080".to_owned())).await?;
    Ok(())
}
