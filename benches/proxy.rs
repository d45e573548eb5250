//! The proxy that is compared with nginx, on one thread like one worker of nginx.
//!
//! `proxy PORT UPSTREAM [--http2]`

use std::env::args;

use policy_server::{App, ReverseProxy, prelude::*};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Report> {
    let arguments: Vec<String> = args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (port, upstream, is_http2) = match *words.as_slice() {
        [port, upstream] => (port, upstream, false),
        [port, upstream, "--http2"] => (port, upstream, true),
        _ => ("8080", "http://127.0.0.1:9000", false),
    };
    let proxy = ReverseProxy::new("/api", upstream)
        .public()
        .strip_prefix()
        .policies(Policies::new().no_headers());
    let proxy = if is_http2 { proxy.http2() } else { proxy };
    // Unlimited, like nginx with `client_max_body_size 0`.
    let proxy = proxy.policies(Policies::new().limits(Limits::NONE.body(1 << 40)));
    App::new(()).proxy(proxy).serve(format!("127.0.0.1:{port}")).await?;
    Ok(())
}
