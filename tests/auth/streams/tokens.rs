//! Streams that a token opened end with it.

use super::*;

#[tokio::test]
async fn a_stream_of_a_token_ends_a_minute_after_revocations_could_last_be_read() {
    let site = Site::new().await;
    let token = site.token().await;
    let mut events = site.events("/events", &token).await;
    site.store.fail();
    for _ in 0..2 {
        site.clock.advance(Duration::from_secs(20));
        site.assert_ticks(&mut events).await;
    }
    site.clock.advance(Duration::from_secs(21));
    assert_ended(events).await;
}

/// `ends::each_carrier_tells_each_reason` shows what ends it.
#[tokio::test]
async fn a_revoked_token_ends_only_its_own_streams() {
    let site = Site::new().await;
    let (one, other) = (site.token().await, site.token().await);
    let events = site.events("/events", &one).await;
    let mut of_other = site.events("/events", &other).await;
    site.post("/revoke", &[one], "").await;
    assert_ended(events).await;
    site.assert_ticks(&mut of_other).await;
}

#[tokio::test]
async fn the_end_of_a_family_ends_streams_of_its_access_tokens() {
    let site = Site::new().await;
    let pair: Value = serde_json::from_str(site.post("/family", &[], "").await.text()).unwrap();
    let field = format!("authorization: Bearer {}", pair["access_token"].as_str().unwrap());
    let events = site.events("/events", &field).await;
    let ticket = site.post("/ticket", std::slice::from_ref(&field), "").await;
    let by_ticket =
        site.socket(&format!("/socket/ticket?ticket={}", ticket.text()), "x-a: b").await;
    site.post("/family/end", &[], pair["refresh_token"].as_str().unwrap()).await;
    assert_ended(events).await;
    assert_closed(by_ticket).await;
}

/// `new WebSocket(url, ["bearer", token])`
#[tokio::test]
async fn a_token_in_the_protocols_opens_a_websocket_where_the_app_takes_it_there() {
    let own = "origin: https://api.example";
    for is_taken in [true, false] {
        let site = Site::with(|app| {
            let tokens = tokens_on(&FaultyStore::default());
            // An app with a proxy removes what `Connection` names.
            let proxy = policy_server::ReverseProxy::new("/elsewhere", "http://127.0.0.1:9");
            let tokens = if is_taken { tokens.from_websocket_protocol() } else { tokens };
            app.proxy(proxy.public()).tokens(tokens)
        })
        .await;
        let token = site.token().await;
        let token = token.strip_prefix("authorization: Bearer ").unwrap();
        let both =
            format!("sec-websocket-protocol: bearer, {token}\r\nauthorization: Bearer {token}");
        for (fields, origin, status) in [
            (format!("sec-websocket-protocol: bearer, {token}"), own, 101),
            (format!("sec-websocket-protocol: chat, bearer, {token}"), own, 101),
            (
                format!("sec-websocket-protocol: bearer, {token}\r\nconnection: authorization"),
                own,
                101,
            ),
            (
                format!("sec-websocket-protocol: bearer, {token}"),
                "origin: https://evil.example",
                403,
            ),
            (format!("sec-websocket-protocol: bearer, {token}x"), own, 401),
            ("sec-websocket-protocol: bearer".to_owned(), own, 401),
            (both, own, 400),
        ] {
            let mut connection = site.server.connect().await;
            let all = [&HANDSHAKE[..], &[origin, &fields]].concat();
            connection.send(raw("GET /socket", &all)).await;
            let head = connection.head().await;
            let expected = match (is_taken, status) {
                (false, 101) => 401,
                (false, 400) => 101,
                (_, status) => status,
            };
            assert_eq!(head.status, expected, "{fields} {head:?}");
            if is_taken && status == 101 {
                assert_eq!(head.header("sec-websocket-protocol"), Some("bearer"));
                assert!(!format!("{head:?}").contains(token), "it is repeated");
                assert_echo(&mut connection).await;
                // No other request may carry its token there.
                let plain = [own, &fields];
                assert_eq!(site.send("GET /events", &plain).await.status, 401);
            }
        }
        if is_taken {
            let field = format!("sec-websocket-protocol: bearer, {token}");
            let socket = site.socket("/socket", &field).await;
            site.post("/revoke", &[format!("authorization: Bearer {token}")], "").await;
            assert_closed(socket).await;
        }
    }
}
