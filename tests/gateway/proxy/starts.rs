//! Configurations of proxies that keep an app from starting.

use std::time::Duration;

use policy_server::{Error, ReverseProxy, StartProblem, prelude::*};

fn problems(proxy: ReverseProxy) -> Vec<&'static str> {
    match App::new(()).proxy(proxy).check() {
        Ok(_) => Vec::new(),
        Err(Error::Start(problems)) => problems.iter().map(StartProblem::code).collect(),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn an_address_that_is_none_is_refused() {
    for (prefix, upstream, codes) in [
        ("/api", "http://127.0.0.1:9000", &[][..]),
        ("/api", "https://api.internal/v1", &[]),
        ("api", "http://127.0.0.1", &["route.path-start"]),
        ("/api/", "http://127.0.0.1", &["route.path-prefix"]),
        ("/", "http://127.0.0.1", &["route.path-prefix"]),
        ("/{x}", "http://127.0.0.1", &["route.path-prefix"]),
        ("/api", "127.0.0.1:9000", &["proxy.upstream-scheme"]),
        ("/api", "gopher://127.0.0.1", &["proxy.upstream-scheme"]),
        ("/api", "http://ada@127.0.0.1", &["proxy.upstream-userinfo"]),
        ("/api", "http://127.0.0.1/#x", &["proxy.upstream-query"]),
        ("/api", "http://127.0.0.1/?x", &["proxy.upstream-query"]),
        ("/api", "http://127.0.0.1/a/../b", &["proxy.upstream-path"]),
        ("/api", "http://", &["proxy.upstream-host"]),
    ] {
        assert_eq!(
            problems(ReverseProxy::new(prefix, upstream).public()),
            codes,
            "{prefix} {upstream}"
        );
    }
}

#[test]
fn settings_that_cannot_be_are_all_named() {
    let proxy = ReverseProxy::new("/api", "http://127.0.0.1")
        .public()
        .connect_timeout(Duration::ZERO)
        .answer_timeout(Duration::ZERO)
        .idle_timeout(Duration::ZERO)
        .root_certificates("no-such-file.pem");
    let expected = [
        "proxy.timeout-zero",
        "proxy.timeout-zero",
        "proxy.timeout-zero",
        "proxy.authority-unused",
        "tls.file-unreadable",
    ];
    assert_eq!(problems(proxy), expected);
    let proxy =
        ReverseProxy::new("/api", "https://127.0.0.1").public().root_certificates("Cargo.toml");
    assert_eq!(problems(proxy), ["tls.authority-malformed"]);
}

#[get("/api/health")]
#[auth(public)]
async fn health() -> &'static str {
    "here"
}

#[get("/api")]
#[auth(public)]
async fn index() {}

#[tokio::test]
async fn a_used_prefix_is_refused_and_a_path_below_it_is_not() {
    let proxy = || ReverseProxy::new("/api", "http://127.0.0.1:9").public();
    for app in [
        App::new(()).proxy(proxy()).proxy(proxy()),
        App::new(()).proxy(proxy()).routes(routes![index]),
    ] {
        let error = app.check().expect_err("a conflict").to_string();
        assert!(error.contains("(route.conflict)"), "{error}");
    }
    let client = App::new(()).proxy(proxy()).routes(routes![health]).test();
    assert_eq!(client.get("/api/health").send().await.text(), "here");
}

// The laws apply to proxies too; a probe replaces the upstream.
policy_server::policy_tests!(proxied: App::new(())
.policies(Policies::new().cors(CorsPolicy::origins(&["https://app.example"]).credentials().build()))
.routes(routes![crate::proxy::starts::health])
.proxy(crate::proxy::ReverseProxy::new("/api", "http://127.0.0.1:9").public().strip_prefix())
.proxy(
    crate::proxy::ReverseProxy::new("/open", "http://127.0.0.1:9").public()
        .policies(Policies::new().cors(CorsPolicy::origins(&["*"]).build()).headers(HeadersPolicy::API))
));
