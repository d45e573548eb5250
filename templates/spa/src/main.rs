use std::env;

use policy_server::{TrustedProxies, Report, Sessions};
use {{crate_name}}::{User, app};

#[tokio::main]
async fn main() -> Result<(), Report> {
    tracing_subscriber::fmt::init();
    let store = env::var("SESSION_STORE").unwrap_or("redb:sessions.redb".to_owned());
    let mut app = app(User::from_env()?, Sessions::from_url(store));
    if let Ok(origin) = env::var("PUBLIC_ORIGIN") {
        app = app.public_origin(origin);
    }
    if let Ok(networks) = env::var("TRUSTED_PROXIES") {
        app = app.behind(TrustedProxies::new(networks.split(',')).x_forwarded());
    }
    app.serve(env::var("LISTEN").unwrap_or("127.0.0.1:8080".to_owned())).await?;
    Ok(())
}
