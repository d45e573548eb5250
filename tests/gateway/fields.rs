//! Behind proxies that write fields.

use policy_server::tokens::{SecretKey, TokenSettings};

use super::*;

const PROXY: [u8; 4] = [127, 0, 0, 1];

fn deployed(proxies: TrustedProxies) -> App<()> {
    app().public_origin("https://api.example").behind(proxies)
}

fn tokens() -> TokenSettings {
    Tokens::hs256([("k1", SecretKey::from_bytes([7; 32]))]).expect("keys")
}

fn get(path: &str, fields: &[&str]) -> String {
    request(&format!("GET {path}"), fields).replace("host: localhost", "host: api.example")
}

#[tokio::test]
async fn trusted_proxies_state_the_client_in_the_configured_format() {
    let all = [
        "forwarded: for=198.51.100.9;host=evil.example, for=192.0.2.1;proto=https",
        "x-forwarded-for: 198.51.100.9, 192.0.2.2, 10.0.0.1",
        "x-forwarded-proto: https",
    ];
    let proxies = || TrustedProxies::new(PROXIES);
    for (proxies, of_proxy) in [
        (proxies().forwarded(), "192.0.2.1 over 127.0.0.1, forwarded=for=192.0.2.1;proto=https"),
        (
            proxies().x_forwarded(),
            "192.0.2.2 over 127.0.0.1, x-forwarded-for=192.0.2.2 x-forwarded-proto=https",
        ),
        (proxies().proxy_protocol(), ""),
    ] {
        let speaks_first = of_proxy.is_empty();
        let server = Running::start(deployed(proxies)).await;
        // A peer that is no proxy is counted by its own address, and its fields are removed.
        let response = ask_from(STRANGER, &server, &get("/client", &all)).await;
        assert_eq!(response.text(), "127.0.0.2 over 127.0.0.2, ");
        if !speaks_first {
            let response = ask_from(PROXY, &server, &get("/client", &all)).await;
            assert_eq!(response.text(), of_proxy);
            let silent = ask_from(PROXY, &server, &get("/client", &[])).await;
            assert_eq!(silent.text(), "127.0.0.1 over 127.0.0.1, ");
        }
    }
    let server = Running::start(app().public_origin("https://api.example")).await;
    let response = ask_from(PROXY, &server, &get("/client", &all)).await;
    assert_eq!(response.text(), "127.0.0.1 over 127.0.0.1, ");
}

/// A proxy that appends its own entry to what its client sent, as nginx does.
#[tokio::test]
async fn clients_of_a_proxy_cannot_pass_for_the_proxy() {
    let bytes = |client: &[u8], fields: &str| {
        let before = get("/client", &[]);
        let head = before.strip_suffix("\r\n").expect("a head").as_bytes();
        [head, fields.split("CLIENT").next().unwrap_or_default().as_bytes(), client]
            .concat()
            .into_iter()
            .chain(fields.split("CLIENT").nth(1).unwrap_or_default().bytes())
            .chain(*b"\r\n\r\n")
            .collect::<Vec<u8>>()
    };
    let proxies = || TrustedProxies::new(PROXIES);
    let x_forwarded = "x-forwarded-proto: https\r\nx-forwarded-for: CLIENT, 192.0.2.1";
    let forwarded = "forwarded: CLIENT, for=192.0.2.1;proto=https";
    for (proxies, fields) in
        [(proxies().x_forwarded(), x_forwarded), (proxies().forwarded(), forwarded)]
    {
        let server = Running::start(deployed(proxies)).await;
        for client in
            [&b"\xff"[..], "\u{e9}".as_bytes(), b"for=\"", b"\"", b"127.0.0.1", b"unknown", b"\\"]
        {
            let answer = ask_from(PROXY, &server, &bytes(client, fields)).await;
            assert!(
                answer.text().starts_with("192.0.2.1 over 127.0.0.1"),
                "{client:?}: {answer:?}"
            );
        }
    }
    let server = Running::start(deployed(proxies().forwarded())).await;
    let plain = bytes(b"for=\"", "forwarded: CLIENT, for=192.0.2.1;proto=http");
    assert_eq!(ask_from(PROXY, &server, &plain).await.problem().1, "origin.plain-http");
}

#[tokio::test]
async fn reports_that_cannot_be_read_are_refused_and_hidden_clients_have_no_address() {
    let server = Running::start(deployed(TrustedProxies::new(PROXIES).x_forwarded())).await;
    for report in ["192.0.2.1, 1.2.3", "192.0.2.1, [::", "192.0.2.1, 192.0.2.2:x"] {
        let fields = [&*format!("x-forwarded-for: {report}"), "x-forwarded-proto: https"];
        let answer = ask_from(PROXY, &server, &get("/client", &fields)).await;
        assert_eq!(answer.problem(), (400, "wire.forwarded-malformed".to_owned()), "{report}");
        assert_eq!(ask_from(STRANGER, &server, &get("/client", &fields)).await.status, 200);
    }
    let hidden = get("/once", &["x-forwarded-for: unknown", "x-forwarded-proto: https"]);
    assert_eq!(ask_from(PROXY, &server, &hidden).await.status, 200);
    assert_eq!(ask_from(PROXY, &server, &hidden).await.status, 429);
    // The proxy itself is counted separately.
    assert_eq!(ask_from(PROXY, &server, &get("/once", &[])).await.status, 200);
}

#[tokio::test]
async fn proxies_have_each_of_their_clients_counted_alone() {
    let server = Running::start(deployed(TrustedProxies::new(PROXIES).x_forwarded())).await;
    let ask = async |from, client: &str| {
        let fields = [&*format!("x-forwarded-for: {client}"), "x-forwarded-proto: https"];
        ask_from(from, &server, &get("/once", &fields)).await.status
    };
    assert_eq!(ask(PROXY, "192.0.2.1").await, 200);
    assert_eq!(ask(PROXY, "192.0.2.1").await, 429);
    assert_eq!(ask(PROXY, "192.0.2.2").await, 200);
    // Writing another address in front changes nothing.
    assert_eq!(ask(PROXY, "192.0.2.3, 192.0.2.2").await, 429);
    assert_eq!(ask(STRANGER, "192.0.2.4").await, 200);
    assert_eq!(ask(STRANGER, "192.0.2.5").await, 429);
}

#[tokio::test]
async fn proxies_pass_on_nothing_that_came_without_https() {
    let app = || deployed(TrustedProxies::new(PROXIES).forwarded());
    // Peers of this machine need no report, even if they could send credentials.
    for app in [app(), app().tokens(tokens())] {
        let server = Running::start(app).await;
        for (field, status) in [
            ("forwarded: for=192.0.2.1;proto=http", 421),
            ("forwarded: for=192.0.2.1;proto=ws", 421),
            ("forwarded: for=192.0.2.1;proto=HTTPS", 200),
            ("forwarded: for=192.0.2.1", 200),
            ("x-forwarded-proto: http", 200),
        ] {
            let response = ask_from(PROXY, &server, &get("/client", &[field])).await;
            assert_eq!(response.status, status, "{field}");
            if status == 421 {
                assert_eq!(response.problem().1, "origin.plain-http");
            }
            assert_eq!(ask_from(STRANGER, &server, &get("/client", &[field])).await.status, 200);
        }
    }
}

/// RFC 9110 7.4: the connection of the proxy has no TLS, but its client's has.
#[tokio::test]
async fn proxies_pass_on_targets_of_the_scheme_that_they_report() {
    let server = Running::start(deployed(TrustedProxies::new(PROXIES).x_forwarded())).await;
    let absolute = |scheme: &str, reported: &str| {
        let fields = [&*format!("x-forwarded-proto: {reported}")];
        get("/client", &fields).replace("GET /", &format!("GET {scheme}://api.example/"))
    };
    for (from, target, reported, status) in [
        (PROXY, "https", "https", 200),
        (PROXY, "http", "https", 200),
        (STRANGER, "http", "https", 200),
        (STRANGER, "https", "https", 421),
    ] {
        let response = ask_from(from, &server, &absolute(target, reported)).await;
        assert_eq!(response.status, status, "{target} {reported} {from:?}");
    }
}

/// RFC 6797 7.2: browsers ignore the field over plain HTTP.
#[tokio::test]
async fn proxies_say_whether_browsers_are_to_stay_with_https() {
    let server = Running::start(deployed(TrustedProxies::new(PROXIES).x_forwarded())).await;
    for (from, field, is_told) in [
        (PROXY, "x-forwarded-proto: https", true),
        (PROXY, "x-forwarded-for: 192.0.2.1", false),
        (STRANGER, "x-forwarded-proto: https", false),
    ] {
        let response = ask_from(from, &server, &get("/client", &[field])).await;
        assert_eq!(response.header("strict-transport-security").is_some(), is_told, "{field}");
    }
}

/// Secrets need https: either this server terminates TLS, or a trusted proxy reports it for each
/// request.
#[tokio::test]
async fn proxies_let_an_app_with_credentials_listen_without_tls() {
    let with_tokens = |proxies: Option<TrustedProxies>| {
        let app = app().public_origin("https://api.example").tokens(tokens());
        proxies.into_iter().fold(app, App::behind)
    };
    let proxies = || TrustedProxies::new(PROXIES);
    for (proxies, starts) in [
        (None, false),
        (Some(proxies().proxy_protocol()), false),
        (Some(proxies().forwarded()), true),
        (Some(proxies().x_forwarded()), true),
    ] {
        let bound = with_tokens(proxies).bind("0.0.0.0:0").await;
        match bound {
            Ok(_) => assert!(starts),
            Err(error) => assert!(!starts && error.to_string().contains("app.plain-credentials")),
        }
    }
}

#[tokio::test]
async fn trusted_proxies_state_the_host_if_configured() {
    let inside =
        |field: &str| request("GET /client", &[field]).replace("localhost", "app.internal");
    let proxies = || TrustedProxies::new(PROXIES);
    for (proxies, field, status) in [
        (proxies().forwarded(), "forwarded: for=192.0.2.1;host=api.example", 200),
        (proxies().forwarded(), "forwarded: for=192.0.2.1;host=\"api.example:443\"", 200),
        (proxies().forwarded(), "forwarded: for=192.0.2.1;host=evil.example", 421),
        (proxies().forwarded(), "forwarded: for=192.0.2.1", 421),
        (proxies().forwarded(), "forwarded: for=192.0.2.1;host=\"api.example@\"", 400),
        (proxies().x_forwarded_with_host(), "x-forwarded-host: api.example", 200),
        (proxies().x_forwarded_with_host(), "x-forwarded-host: api.example, evil.example", 421),
        (proxies().x_forwarded(), "x-forwarded-host: api.example", 421),
    ] {
        let server = Running::start(deployed(proxies)).await;
        let response = ask_from(PROXY, &server, &inside(field)).await;
        assert_eq!(response.status, status, "{field}");
        assert_eq!(ask_from(STRANGER, &server, &inside(field)).await.status, 421, "{field}");
    }
}

/// DNS rebinding, and a proxy that was not configured: in development, forwarded fields are only
/// trusted where loopback is declared as a proxy.
#[tokio::test]
async fn proxies_on_loopback_serve_development_only_if_they_are_named() {
    let named =
        Running::start(app().behind(TrustedProxies::new(["127.0.0.1"]).x_forwarded_with_host()))
            .await;
    let other =
        Running::start(app().behind(TrustedProxies::new(["10.0.0.0/8"]).x_forwarded())).await;
    let field = "x-forwarded-for: 192.0.2.1";
    for (server, from, field, status) in [
        (&named, PROXY, field, 200),
        (&named, PROXY, "forwarded: for=192.0.2.1", 200),
        (&named, PROXY, "x-forwarded-host: localhost:3000", 200),
        (&named, PROXY, "x-forwarded-host: app.example", 421),
        (&named, STRANGER, field, 421),
        (&other, PROXY, field, 421),
    ] {
        let response = ask_from(from, server, &request("GET /client", &[field])).await;
        assert_eq!(response.status, status, "{field} from {from:?}");
    }
}

#[tokio::test]
async fn proxies_are_not_imitated_for_layers_either() {
    use axum::middleware::map_request;

    let app = deployed(TrustedProxies::new(PROXIES).x_forwarded());
    let app = app.layer(map_request(async |mut request: policy_server::Request| {
        let has_field = request.headers().contains_key("x-forwarded-for");
        request
            .headers_mut()
            .insert("x-saw-forwarded", has_field.to_string().parse().expect("a value"));
        request
    }));
    let server = Running::start(app).await;
    let bytes = get("/client", &["x-forwarded-for: 192.0.2.1"]);
    let of_proxy = ask_from(PROXY, &server, &bytes).await;
    assert_eq!(
        of_proxy.text(),
        "192.0.2.1 over 127.0.0.1, x-forwarded-for=192.0.2.1 x-saw-forwarded=true"
    );
    let of_stranger = ask_from(STRANGER, &server, &bytes).await;
    assert_eq!(of_stranger.text(), "127.0.0.2 over 127.0.0.2, x-saw-forwarded=false");
}
