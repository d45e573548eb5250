//! `Strict-Transport-Security` (RFC 6797 7.2).

use super::*;

const FIELD: &str = "\r\nstrict-transport-security: max-age=31536000\r\n";

async fn over_tls(test: &str, host: &str, app: App<()>) -> String {
    let (authority, folder) = (Authority::new(), folder(test));
    let (certificate, key) = authority.issue(&[host]).write(&folder);
    let server = Secure::start(app.tls(Tls::files(certificate, key))).await;
    Client::trusting(authority.certificate()).get(server.address, host, "/hello").await
}

#[tokio::test]
async fn hsts_goes_out_over_tls_with_a_public_origin() {
    let response =
        over_tls("hsts", "api.example", app().public_origin("https://api.example")).await;
    assert!(response.contains(FIELD), "{response}");
}

#[tokio::test]
async fn hsts_never_goes_out_over_plain_http() {
    let server = http::Running::start(app().public_origin("https://api.example")).await;
    for path in ["/hello", "/nowhere"] {
        let request = format!("GET {path} HTTP/1.1\r\nhost: api.example\r\n\r\n");
        let response = server.response(request).await;
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"), "{response:?}");
        assert_eq!(response.header("strict-transport-security"), None, "{path}");
    }
}

/// HSTS would apply to every port of the machine.
#[tokio::test]
async fn hsts_never_goes_out_for_loopback() {
    for app in [app(), app().public_origin("https://localhost")] {
        let response = over_tls("hsts-loopback", "localhost", app).await;
        assert!(response.ends_with("hello"), "{response}");
        assert!(!response.contains("strict-transport-security"), "{response}");
    }
}
