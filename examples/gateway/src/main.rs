//! A service behind a proxy, which also opens tunnels to another service.
//!
//! Run `cargo run -p gateway`. You are the proxy, with curl:
//!
//! - `curl http://127.0.0.1:8080/whoami` is a direct request.
//! - `curl -H 'X-Forwarded-For: 198.51.100.9, 192.0.2.7' http://127.0.0.1:8080/whoami` is a request
//!   forwarded for 192.0.2.7. The address before that was written by the client.
//! - `curl --haproxy-protocol http://127.0.0.1:8082/whoami` sends the address before HTTP begins;
//!   without `--haproxy-protocol` the connection is closed.
//!
//! As a client of the tunnel:
//!
//! - `curl -p -x http://ada:lovelace@127.0.0.1:8080 http://127.0.0.1:8081/` goes through the tunnel.
//! - Without `ada:lovelace@` it gets 407, and with another port than 8081 it gets 403.

use policy_server::{
    AuthError, AuthRequirement, Proxies, Scheme, SchemeRequest, Tunnel,
    http::{HeaderValue, header::AUTHORIZATION},
    prelude::*,
};

/// Only a proxy on this machine is trusted.
const PROXIES: [&str; 2] = ["127.0.0.1", "::1"];

#[get("/whoami")]
#[auth(public)]
async fn whoami(client: Option<ClientAddr>) -> String {
    match client {
        Some(ClientAddr(address)) => format!("you are {address}\n"),
        None => "you are a test\n".to_owned(),
    }
}

#[get("/")]
#[auth(public)]
async fn inside() -> &'static str {
    "you are inside\n"
}

/// Name and password (RFC 7617); in a tunnel, from `Proxy-Authorization`.
struct Basic;

impl Scheme for Basic {
    const AMBIENT: bool = true;

    fn challenge(&self) -> Option<HeaderValue> {
        Some(HeaderValue::from_static("Basic realm=\"tunnel\""))
    }

    async fn authenticate(
        &self,
        request: &mut SchemeRequest<'_>,
    ) -> Result<Option<Identity>, AuthError> {
        match request.headers().get(AUTHORIZATION) {
            None => Ok(None),
            // `ada:lovelace`; a real implementation looks up a hash of the password.
            Some(shown) if shown == "Basic YWRhOmxvdmVsYWNl" => Ok(Some(Identity::new("ada"))),
            Some(_) => Err(AuthError::Invalid),
        }
    }
}

fn gateway() -> App<()> {
    // Loopback has to be listed explicitly, so that no tunnel leads to this machine by accident.
    let tunnel = Tunnel::to(["127.0.0.1:8081"])
        .auth(AuthRequirement::scheme::<Basic>())
        .private(["127.0.0.1"]);
    App::new(())
        .behind(Proxies::new(PROXIES).x_forwarded())
        .scheme(Basic)
        .tunnel(tunnel)
        .routes(routes![whoami])
}

#[tokio::main]
async fn main() -> Result<(), Report> {
    let behind_balancer =
        App::new(()).behind(Proxies::new(PROXIES).proxy_protocol()).routes(routes![whoami]);
    tokio::try_join!(
        gateway().serve("127.0.0.1:8080"),
        App::new(()).routes(routes![inside]).serve("127.0.0.1:8081"),
        behind_balancer.serve("127.0.0.1:8082"),
    )?;
    Ok(())
}

// `cargo test -p gateway` runs these.
#[cfg(test)]
policy_server::policy_tests!(gateway());
