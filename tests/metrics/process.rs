//! What the process counts: credentials, limits, stores, connections and the log. Each test runs
//! alone, since all metrics of a process share their counts.

use std::{fs, sync::Arc, time::Duration};

use policy_server::{
    Clock, CredentialError, CsrfPolicy, Metrics, ServerSettings, StoredOrigins, Tls,
    prelude::*,
    testing::{TestClient, TestResponse},
    tokens::{SecretKey, TokenKeys},
};
use policy_tests::{
    authority::{Authority, trusting},
    folder::Folder,
    handlers::{elevate, login_as, logout, refresh},
    http::{Running, exchange, request, settle, until},
    http2,
    redis::Redis,
};
use quinn::{Endpoint, crypto::rustls::QuicClientConfig};
use tokio::{
    net::TcpStream,
    sync::{Mutex, MutexGuard},
};
use tokio_rustls::rustls::ALL_VERSIONS;

use crate::read;

pub(crate) async fn alone() -> MutexGuard<'static, ()> {
    static PROCESS: Mutex<()> = Mutex::const_new(());
    PROCESS.lock().await
}

#[post("/revoke/{user}")]
#[auth(public)]
async fn revoke(user: String, sessions: Sessions) -> Result<(), Problem> {
    sessions.revoke_user(&user).await?;
    Ok(())
}

#[post("/everyone")]
#[auth(public)]
async fn everyone(sessions: Sessions) -> Result<(), Problem> {
    sessions.revoke_everyone().await?;
    Ok(())
}

#[post("/token")]
#[auth(public)]
async fn token(tokens: Tokens) -> Result<policy_server::tokens::IssuedTokens, CredentialError> {
    tokens.login(Identity::new("ada")).await
}

#[get("/rated")]
#[limit(rate = "2/h per address")]
#[auth(public)]
async fn rated() {}

fn app(metrics: &Metrics) -> App<()> {
    App::new(())
        .metrics(metrics)
        .sessions(Sessions::memory())
        .tokens(Tokens::hs256([("k", SecretKey::from_bytes([7; 32]))]).unwrap())
        .csrf(CsrfPolicy::Exempt("the test sends no tokens"))
        .routes(routes![login_as, elevate, logout, revoke, everyone, token, refresh, rated])
}

async fn post(client: &TestClient, path: &str, cookie: &str) -> TestResponse {
    let request = client.post(path).origin("http://localhost");
    let response = request.header("cookie", cookie).send().await;
    assert_eq!(response.status(), 200, "{path}: {}", response.text());
    response
}

fn cookie(response: &TestResponse) -> String {
    let set = response.header("set-cookie").expect("a cookie");
    set.split(';').next().unwrap().to_owned()
}

#[tokio::test]
async fn logins_renewals_and_revocations_are_counted() {
    let _alone = alone().await;
    let (metrics, clock) = (Metrics::new(), Clock::at(1_800_000_000));
    let client = app(&metrics).clock(clock.clone()).test();
    let first = cookie(&post(&client, "/login/ada", "").await);
    post(&client, "/login/eve", "").await;
    post(&client, "/login/bob", "").await;
    let elevated = cookie(&post(&client, "/elevate", &first).await);
    post(&client, "/logout", &elevated).await;
    post(&client, "/revoke/eve", "").await;
    let count = |name: &str, label, value| {
        read(&metrics).sum(&format!("policy_{name}_total"), &[(label, value)])
    };
    assert_eq!(count("logins", "policy_credential", "session"), 3.0);
    assert_eq!(count("session_renewals", "", ""), 1.0);
    assert_eq!(count("revocations", "policy_object", "session"), 1.0);
    assert_eq!(count("revocations", "policy_object", "sessions_of_user"), 1.0);
    assert_eq!(count("revocations", "policy_object", "tokens_of_user"), 1.0, "theirs end, too");
    assert_eq!(count("revocations", "policy_object", "all_sessions"), 0.0);
    let sessions = || read(&metrics).sum("policy_session_count", &[]);
    // The task that counts them begins to wait.
    tokio::task::yield_now().await;
    clock.advance(Duration::from_secs(61));
    until(async || sessions() == 1.0).await;
    post(&client, "/everyone", "").await;
    assert_eq!(count("revocations", "policy_object", "all_sessions"), 1.0);
    clock.advance(Duration::from_secs(61));
    until(async || sessions() == 0.0).await;
}

#[tokio::test]
async fn refresh_tokens_are_counted_by_what_became_of_them() {
    let _alone = alone().await;
    let (metrics, clock) = (Metrics::new(), Clock::at(1_800_000_000));
    let client = app(&metrics).clock(clock.clone()).test();
    let issued: serde_json::Value = client.post("/token").send().await.json();
    let old = issued["refresh_token"].as_str().unwrap().to_owned();
    let refresh = |token: &str| client.post("/refresh").body(token.to_owned()).send();
    assert_eq!(refresh(&old).await.status(), 200);
    assert_eq!(refresh(&old).await.status(), 200, "within the grace period");
    clock.advance(Duration::from_secs(3_600));
    assert_eq!(refresh(&old).await.status(), 401);
    assert_eq!(refresh("no token").await.status(), 401);
    assert_eq!(refresh(&old).await.status(), 401, "of a family that has ended");
    let read = read(&metrics);
    assert_eq!(read.sum("policy_logins_total", &[("policy_credential", "token")]), 1.0);
    for (outcome, count) in [("granted", 1.0), ("repeated", 1.0), ("reused", 1.0), ("refused", 2.0)]
    {
        let counted = read.sum("policy_token_refreshes_total", &[("policy_outcome", outcome)]);
        assert_eq!(counted, count, "{outcome}");
    }
    let code = [("policy_code", "token.refresh-reuse")];
    assert_eq!(read.sum("policy_events_total", &code), 1.0, "it is logged, too");
    assert_eq!(read.sum("policy_events_total", &[("policy_code", "tls.certificate-kept")]), 0.0);
}

#[tokio::test]
async fn decisions_of_rates_are_counted_and_how_full_their_tables_are() {
    let _alone = alone().await;
    let (metrics, clock) = (Metrics::new(), Clock::at(1_800_000_000));
    let small = policy_server::RateCapacity::DEFAULT.clients(8);
    let client = app(&metrics).rate_capacity(small).clock(clock.clone()).test();
    for expected in [200, 200, 429, 429, 429] {
        assert_eq!(client.get("/rated").send().await.status(), expected);
    }
    let decided =
        |outcome| read(&metrics).sum("policy_rate_requests_total", &[("policy_outcome", outcome)]);
    assert_eq!((decided("granted"), decided("refused")), (2.0, 3.0));
    let fill = || read(&metrics).sum("policy_rate_utilization", &[]);
    clock.advance(Duration::from_secs(11));
    until(async || fill() == 0.125).await;
    clock.advance(Duration::from_secs(2 * 3_600));
    until(async || fill() == 0.0).await;
}

#[tokio::test]
async fn the_fullest_rate_table_may_be_that_of_the_fallback() {
    let _alone = alone().await;
    let (metrics, clock) = (Metrics::new(), Clock::at(1_800_000_000));
    let rated_too = Policies::new().limits(Limits::NONE.rate(Rate::per_hour(9)));
    let client = App::new(())
        .metrics(&metrics)
        .routes(routes![rated])
        .fallback(Fallback::new(axum::Router::new()).public().policies(rated_too))
        .rate_capacity(policy_server::RateCapacity::DEFAULT.clients(8))
        .clock(clock.clone())
        .test();
    assert_eq!(client.get("/of/the/router").send().await.status(), 404);
    clock.advance(Duration::from_secs(11));
    until(async || read(&metrics).sum("policy_rate_utilization", &[]) == 0.125).await;
}

#[tokio::test]
async fn the_fullest_rate_table_may_be_that_of_another_app() {
    let _alone = alone().await;
    let metrics = Metrics::new();
    let small = policy_server::RateCapacity::DEFAULT.clients(8);
    let client = |clock: &Clock| app(&metrics).rate_capacity(small).clock(clock.clone()).test();
    let [busy_clock, idle_clock] = [(); 2].map(|()| Clock::at(1_800_000_000));
    let (busy, _idle) = (client(&busy_clock), client(&idle_clock));
    assert_eq!(busy.get("/rated").send().await.status(), 200);
    let fill = || read(&metrics).sum("policy_rate_utilization", &[]);
    busy_clock.advance(Duration::from_secs(11));
    until(async || fill() == 0.125).await;
    idle_clock.advance(Duration::from_secs(11));
    settle().await;
    assert_eq!(fill(), 0.125, "the empty table of the idle app is not the fullest");
    drop(busy);
    until(async || {
        idle_clock.advance(Duration::from_secs(11));
        fill() == 0.0
    })
    .await;
}

#[get("/prices")]
#[cors(origins = config("partners", within = ["https://*.partner.example"]))]
#[auth(public)]
async fn prices() {}

#[tokio::test]
async fn certificates_keys_and_lists_that_are_replaced_are_counted() {
    let _alone = alone().await;
    let metrics = Metrics::new();
    let folder = Folder::new().unwrap();
    let authority = Authority::new();
    let (certificate, key) = authority.issue(&["localhost"]).write(folder.path());
    let partners = StoredOrigins::in_store(
        policy_server::store::MemoryStore::new(),
        ["https://a.partner.example"],
    );
    let app = App::new(())
        .metrics(&metrics)
        .origins("partners", &partners)
        .settings(ServerSettings::default().header_timeout(Duration::from_millis(200)))
        .routes(routes![prices])
        .tls(Tls::files(&certificate, key).reload_every(Duration::from_millis(20)).http3());
    let server = app.bind("127.0.0.1:0").await.unwrap();
    let address = server.local_addr();
    let running = tokio::spawn(server.run_until(std::future::pending()));
    let reloads = |object, outcome| {
        let labels = [("policy_object", object), ("policy_outcome", outcome)];
        read(&metrics).sum("policy_reloads_total", &labels)
    };
    let before = reloads("origins", "applied");
    partners.replace(&["https://b.partner.example"]).await.unwrap();
    assert_eq!(reloads("origins", "applied"), before + 1.0);
    partners.replace(&["https://evil.example"]).await.unwrap_err();
    assert_eq!(reloads("origins", "applied"), before + 1.0);
    authority.issue(&["localhost"]).write(folder.path());
    until(async || reloads("certificate", "applied") == 1.0).await;
    fs::write(&certificate, "no certificate").unwrap();
    until(async || reloads("certificate", "kept") == 1.0).await;
    let of = |code| read(&metrics).sum("policy_events_total", &[("policy_code", code)]);
    assert_eq!((of("tls.certificate-replaced"), of("tls.certificate-kept")), (1.0, 1.0));

    let failures = || read(&metrics).sum("policy_tls_handshake_failures_total", &[]);
    // A client that closes at once has completed its handshake.
    let quic = client_that_trusts(&authority);
    let connection = quic.connect(address, "localhost").unwrap().await.unwrap();
    connection.close(0_u32.into(), b"");
    let connections = || {
        ["total", "open"]
            .map(|it| read(&metrics).sum(&format!("policy_server_connections_{it}"), &[]))
    };
    until(async || connections() == [1.0, 0.0]).await;
    assert_eq!(failures(), 0.0);
    exchange(address, b"GET / HTTP/1.1\r\n\r\n").await;
    until(async || failures() == 1.0).await;
    let _stalls = TcpStream::connect(address).await.unwrap();
    until(async || failures() == 2.0).await;
    let quic = client_that_trusts(&Authority::new());
    quic.connect(address, "localhost").unwrap().await.unwrap_err();
    until(async || failures() == 3.0).await;
    running.abort();
}

/// A client of HTTP/3.
fn client_that_trusts(authority: &Authority) -> Endpoint {
    let tls = trusting(authority.certificate(), ALL_VERSIONS, &["h3"]);
    let mut client = Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
    let config = QuicClientConfig::try_from(tls).unwrap();
    client.set_default_client_config(quinn::ClientConfig::new(Arc::new(config)));
    client
}

/// Over a socket, since the file is read again while the server runs.
#[tokio::test]
async fn key_files_that_are_read_again_are_counted() {
    let _alone = alone().await;
    let (metrics, clock) = (Metrics::new(), Clock::at(1_800_000_000));
    let folder = Folder::new().unwrap();
    let file = folder.path().join("token.keys");
    // In one step, as tools that manage secrets do.
    let write = |line: &str| {
        let new = file.with_extension("new");
        fs::write(&new, line).unwrap();
        fs::rename(new, &file).unwrap();
    };
    write(&format!("one {}00", "01".repeat(31)));
    let keys = TokenKeys::read(&file).unwrap();
    let app = App::new(()).metrics(&metrics).clock(clock.clone());
    let server = Running::start(app.tokens(Tokens::signed_with(keys)).routes(routes![token])).await;
    let reloads = |outcome| {
        let labels = [("policy_object", "token_keys"), ("policy_outcome", outcome)];
        read(&metrics).sum("policy_reloads_total", &labels)
    };
    // The file is read every ten seconds, on another thread.
    let until = async |expected| {
        until(async || {
            clock.advance(Duration::from_secs(10));
            (reloads("applied"), reloads("kept")) == expected
        })
        .await;
    };
    assert_eq!((reloads("applied"), reloads("kept")), (0.0, 0.0));
    write(&format!("two {}00", "02".repeat(31)));
    until((1.0, 0.0)).await;
    write("three no-key");
    until((1.0, 1.0)).await;
    write(&format!("three {}00", "03".repeat(31)));
    until((2.0, 1.0)).await;
    let issued = server.response(request("POST /token", &["content-length: 0"])).await;
    assert_eq!(issued.status, 200, "{}", issued.text());
    let of = |code| read(&metrics).sum("policy_events_total", &[("policy_code", code)]);
    assert_eq!((of("token.keys-replaced"), of("token.keys-kept")), (2.0, 1.0));
}

#[tokio::test]
async fn calls_of_the_embedded_store_are_measured() {
    let _alone = alone().await;
    let (metrics, folder) = (Metrics::new(), Folder::new().unwrap());
    let sessions = Sessions::embedded(folder.path().join("sessions.redb"));
    let app = app(&metrics).sessions(sessions).clock(Clock::at(1_800_000_000));
    let client = TestClient::new(app.open().await.unwrap(), "localhost");
    let of = |name: &str, error| {
        let labels = [("policy_store", "embedded"), ("error_type", error)];
        read(&metrics).sum(&format!("policy_store_call_duration_seconds_{name}"), &labels)
    };
    let opened = of("count", "");
    let cookie = cookie(&post(&client, "/login/ada", "").await);
    let written = of("count", "");
    assert!(written > opened, "a write");
    post(&client, "/logout", &cookie).await;
    assert!(of("count", "") >= written + 2.0, "a read and a write");
    assert!(of("sum", "") > 0.0, "they take time");
    assert_eq!(of("count", "_OTHER"), 0.0);
    assert!(!metrics.text().contains(r#"circuit_open{policy_store="embedded""#));
    let before = of("count", "");
    let in_memory = Metrics::new();
    let client = self::app(&in_memory).test();
    post(&client, "/login/ada", "").await;
    assert_eq!(of("count", ""), before, "a store in memory has no calls");
}

#[tokio::test]
async fn connections_are_counted_by_the_version_of_their_protocol() {
    let _alone = alone().await;
    #[get("/slow")]
    #[auth(public)]
    async fn slow() {
        std::future::pending::<()>().await;
    }
    let metrics = Metrics::new();
    let app = App::new(()).metrics(&metrics).settings(ServerSettings::default());
    let server = Running::start(app.routes(routes![rated, slow])).await;
    let of = |name: &str, version| {
        let name = format!("policy_server_connections{name}");
        read(&metrics).sum(&name, &[("network_protocol_version", version)])
    };
    assert_eq!(server.response(request("GET /rated", &[])).await.status, 200);
    let (mut client, connection) = http2::connect(&server).await;
    let request = http2::request("GET", "http://localhost/slow", &[]);
    let (response, mut sending) = client.send_request(request, true).unwrap();
    let waiting = [("http_request_method", "GET")];
    until(async || read(&metrics).sum("http_server_active_requests", &waiting) == 1.0).await;
    assert_eq!((of("_total", "1"), of("_total", "2")), (1.0, 1.0));
    assert_eq!(of("_open", "2"), 1.0);
    let before = read(&metrics).sum("policy_server_requests_abandoned_total", &[]);
    sending.send_reset(h2::Reason::CANCEL);
    drop(response);
    until(async || read(&metrics).sum("policy_server_requests_abandoned_total", &[]) > before)
        .await;
    let ended = [("network_protocol_version", "2"), ("error_type", "abandoned")];
    let name = "http_server_request_duration_seconds_count";
    until(async || read(&metrics).sum(name, &ended) == 1.0).await;
    drop(client);
    connection.abort();
    until(async || of("_open", "1") == 0.0 && of("_open", "2") == 0.0).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn calls_of_a_database_are_measured_and_its_absence_is_shown() {
    let _alone = alone().await;
    let redis = Redis::start(&[]).await;
    let metrics = Metrics::new();
    let app = app(&metrics).sessions(Sessions::redis(&*redis.prefix()));
    let client = TestClient::new(app.open().await.unwrap(), "localhost");
    let calls = |error| {
        let labels = [("policy_store", "redis"), ("error_type", error)];
        read(&metrics).sum("policy_store_call_duration_seconds_count", &labels)
    };
    let before = calls("");
    let cookie = cookie(&post(&client, "/login/ada", "").await);
    assert!(calls("") > before);
    let is_open = || read(&metrics).sum("policy_store_circuit_open", &[("policy_store", "redis")]);
    assert_eq!(is_open(), 0.0);
    redis.kill();
    until_open(&client, &cookie, || is_open() == 1.0).await;
    assert!(calls("_OTHER") >= 3.0);
    redis.begin().await;
    until_open(&client, &cookie, || is_open() == 0.0).await;
    let of = |code| read(&metrics).sum("policy_events_total", &[("policy_code", code)]);
    assert_eq!((of("session.store-away"), of("session.store-back")), (1.0, 1.0));
}

/// Calls the store until this is so.
async fn until_open(client: &TestClient, cookie: &str, is_so: impl Fn() -> bool) {
    until(async || {
        client.post("/logout").header("cookie", cookie).send().await;
        is_so()
    })
    .await;
}
