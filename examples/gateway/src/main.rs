//! A service behind a proxy, which also opens tunnels to another service.
//!
//! Run `cargo run -p gateway`. You are the proxy, and a client of the tunnel, with curl: it prints the
//! commands.

use example_look::free;
use policy_server::{
    AuthError, AuthRequirement, Scheme, SchemeRequest, TrustedProxies, Tunnel,
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
            Some(credentials) if credentials == "Basic YWRhOmxvdmVsYWNl" => {
                Ok(Some(Identity::new("ada")))
            }
            Some(_) => Err(AuthError::Invalid),
        }
    }
}

/// The tunnel leads to this port of this machine.
fn gateway(inside: u16) -> App<()> {
    // Loopback has to be listed explicitly, so that no tunnel leads to this machine by accident.
    let tunnel = Tunnel::to([format!("127.0.0.1:{inside}")])
        .auth(AuthRequirement::scheme::<Basic>())
        .private(["127.0.0.1"]);
    App::new(())
        .behind(TrustedProxies::new(PROXIES).x_forwarded())
        .scheme(Basic)
        .tunnel(tunnel)
        .routes(routes![whoami])
}

#[tokio::main]
async fn main() -> Result<(), Report> {
    let inside = App::new(()).routes(routes![inside]).bind(free(8081)?).await?;
    let inside_port = inside.local_addr().port();
    let direct = gateway(inside_port).bind(free(8080)?).await?;
    let balanced =
        App::new(()).behind(TrustedProxies::new(PROXIES).proxy_protocol()).routes(routes![whoami]);
    let balanced = balanced.bind(free(8082)?).await?;
    introduce(direct.local_addr().port(), inside_port, balanced.local_addr().port());
    tokio::try_join!(direct.run(), inside.run(), balanced.run())?;
    Ok(())
}

#[expect(clippy::print_stdout, reason = "an example speaks to the person who started it")]
fn introduce(direct: u16, inside: u16, balanced: u16) {
    println!(
        "
You are the proxy. A direct request; one forwarded for 192.0.2.7, where the address before that was
written by the client; and one whose address is sent before HTTP begins (without
`--haproxy-protocol` the connection is closed):

  curl http://127.0.0.1:{direct}/whoami
  curl -H 'X-Forwarded-For: 198.51.100.9, 192.0.2.7' http://127.0.0.1:{direct}/whoami
  curl --haproxy-protocol http://127.0.0.1:{balanced}/whoami

You are a client of the tunnel. Without `ada:lovelace@` it gets 407, and with another port 403:

  curl -p -x http://ada:lovelace@127.0.0.1:{direct} http://127.0.0.1:{inside}/

Ctrl-C ends it.
"
    );
}

// `cargo test -p gateway` runs these.
#[cfg(test)]
policy_server::policy_tests!(gateway(8081));
