//! A quiet connection over TLS releases its buffers, as one without TLS does.

use policy_tests::{http::StoppedTime, log::Log};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::rustls::version;

use super::{client::exchange, *};

const IDLE: Duration = Duration::from_secs(4);

#[tokio::test]
async fn resting_connections_keep_their_keys() {
    let time = StoppedTime::begin();
    let (log, _guard) = Log::start("policy_server::server::connection");
    let (tls, authority) = identity("rests");
    let settings = ServerSettings::default().idle_timeout(IDLE);
    let server = http::Running::start(app().tls(tls).settings(settings)).await;
    for version in [&version::TLS12, &version::TLS13] {
        let before = log.with("connection rests").len();
        let client = Client::with(authority.certificate(), &[version], &["http/1.1"]);
        let mut stream = client.connect(server.address).await;
        for _ in 0..2 {
            let get = "GET /hello HTTP/1.1\r\nhost: localhost\r\n\r\n";
            soon(stream.write_all(get.as_bytes())).await.expect("a server that reads");
            let mut response = Vec::new();
            while !response.ends_with(b"\r\n\r\nhello") {
                let read =
                    soon(stream.read_buf(&mut response)).await.expect("a server that writes");
                assert!(read > 0, "closed after `{}`", response.escape_ascii());
            }
            time.pass(IDLE * 21 / 40).await;
        }
        assert_eq!(log.with("connection rests").len(), before + 2);
        let last = "GET /hello HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        assert!(exchange(&mut stream, last).await.ends_with("\r\n\r\nhello"));
    }
}
