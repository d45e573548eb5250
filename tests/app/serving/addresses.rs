//! The address on which a server listens.

use super::*;

#[tokio::test]
async fn addresses_have_port_80_by_default() {
    // A missing permission or an address in use is reported.
    match app().bind("127.0.0.1").await {
        Ok(server) => assert_eq!(server.local_addr().port(), 80),
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains("\n- listener: `127.0.0.1`: "), "{text}");
        }
    }
}

#[tokio::test]
async fn addresses_that_are_taken_or_none_are_named_in_the_error() {
    let server = Running::start(app()).await;
    let taken = server.address.to_string();
    for address in [&*taken, "127.0.0.1:99999", "[::1", "", "no such host:80", "192.0.2.1:0"] {
        let error = app().bind(address).await.unwrap_err().to_string();
        assert!(error.contains(&format!("\n- listener: `{address}`: ")), "{error}");
    }
}

#[tokio::test]
async fn addresses_may_be_typed_or_bound_by_others() {
    let bound = || std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let of_tokio = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let typed = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    let addresses: [ListenAddress; 4] =
        [typed.into(), (std::net::Ipv4Addr::LOCALHOST, 0).into(), bound().into(), of_tokio.into()];
    for address in addresses {
        let text = address.to_string();
        let server = Running::serve(app().bind(address).await.expect("an app that starts"));
        let address = server.address;
        assert!(text.ends_with(":0") || text == address.to_string(), "{text} {address}");
        assert_hello(&mut server.connect().await).await;
        soon(server.stop()).await.unwrap();
    }
    // The rules about addresses apply to existing listeners, too.
    let Ok(open) = std::net::TcpListener::bind("0.0.0.0:0") else { return };
    let error = app().bind(open).await.unwrap_err().to_string();
    assert!(error.contains("(app.public-origin-missing)"), "{error}");
}

/// As systemd keeps the socket of a service that is restarted.
#[tokio::test]
async fn a_listener_that_others_keep_serves_after_a_stop() {
    let kept = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    for _ in 0..2 {
        let passed = kept.try_clone().expect("a listener");
        let server = Running::serve(app().bind(passed).await.expect("an app that starts"));
        assert_hello(&mut server.connect().await).await;
        soon(server.stop()).await.unwrap();
    }
}

#[tokio::test]
async fn addresses_of_version_6_are_served_too() {
    // Not every machine has IPv6.
    let Ok(server) = app().bind("[::1]:0").await else { return };
    let address = server.local_addr();
    tokio::spawn(server.run_until(pending()));
    let mut connection = Connection::open(address).await;
    let host = format!("host: {address}");
    connection.send(format!("GET /peer HTTP/1.1\r\n{host}\r\n\r\n")).await;
    assert!(connection.response().await.text().starts_with("[::1]:"));
}
