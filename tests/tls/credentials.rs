//! Sessions and tokens require TLS.

use policy_server::{Error, TrustedProxies};

use super::*;

fn with_sessions() -> App<()> {
    app().public_origin("https://api.example").sessions(Sessions::memory())
}

#[tokio::test]
async fn credentials_do_not_start_over_plain_http_that_others_can_reach() {
    let error = with_sessions().bind("0.0.0.0:0").await.expect_err("refused");
    let text = error.to_string();
    let Error::Start(problems) = error else { panic!("{text}") };
    assert_eq!(problems.len(), 1, "{text}");
    assert_eq!(problems[0].code(), "app.plain-credentials");
    assert!(
        text.contains("`0.0.0.0:0`: this address can be reached") && text.contains("App::tls("),
        "{text}"
    );
}

#[tokio::test]
async fn credentials_start_over_tls_behind_proxies_on_loopback_and_where_there_are_none() {
    let (authority, folder) = (Authority::new(), folder("credentials"));
    let (certificate, key) = authority.issue(&["api.example"]).write(&folder);
    let tls = Tls::files(certificate, key);
    assert!(with_sessions().tls(tls).bind("0.0.0.0:0").await.is_ok());
    let proxies = TrustedProxies::new(["10.0.0.0/8"]).forwarded();
    assert!(with_sessions().behind(proxies).bind("0.0.0.0:0").await.is_ok());
    assert!(with_sessions().bind("127.0.0.1:0").await.is_ok());
    assert!(app().public_origin("https://api.example").bind("0.0.0.0:0").await.is_ok());
}

/// A page of a development server has an `https` origin when it was loaded over TLS.
#[tokio::test]
async fn credentials_of_a_page_over_tls_are_its_own_in_development() {
    #[post("/counted")]
    #[auth(public)]
    async fn counted(session: Session) -> Result<String, Problem> {
        let count = session.get::<u32>("count")?.unwrap_or(0) + 1;
        session.set("count", count)?;
        Ok(count.to_string())
    }

    let (tls, authority) = identity("own-origin");
    let app = app().sessions(Sessions::memory()).routes(routes![counted]).tls(tls);
    let server = Secure::start(app).await;
    let (client, port) = (Client::trusting(authority.certificate()), server.address.port());
    for (origin, status) in [
        (format!("https://localhost:{port}"), 200),
        (format!("http://localhost:{port}"), 403),
        ("https://localhost".to_owned(), 403),
    ] {
        let mut stream = client.connect(server.address).await;
        let request = format!(
            "POST /counted HTTP/1.1\r\nhost: localhost:{port}\r\norigin: {origin}\r\n\
             content-length: 0\r\nconnection: close\r\n\r\n"
        );
        let response = client::exchange(&mut stream, &request).await;
        assert!(response.starts_with(&format!("HTTP/1.1 {status} ")), "{origin}: {response}");
    }
}
