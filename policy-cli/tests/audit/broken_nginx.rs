//! nginx, configured to break the policy: each way is found, and named by its code.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::network::Deployment;

const CACHE: &str = "proxy_cache_path FOLDER/cache keys_zone=mixed:1m;";

/// Each with the lines of the `location`, those beside the `server`, and the codes.
#[tokio::test]
#[ignore = "needs nginx"]
async fn each_way_of_nginx_is_found_by_its_codes() {
    for (location, http, codes) in [
        ("proxy_hide_header Vary;", "", &["audit.vary-missing"][..]),
        (
            "if ($request_method = OPTIONS) {
                add_header Access-Control-Allow-Origin $http_origin always;
                add_header Access-Control-Allow-Methods 'GET, POST, PUT, DELETE' always;
                return 204;
            }",
            "",
            &["audit.options-answered-elsewhere", "audit.preflight-answered-elsewhere"],
        ),
        (
            "add_header Access-Control-Allow-Origin * always;",
            "",
            &["audit.cors-any-origin", "audit.cors-duplicated"],
        ),
        ("proxy_cache mixed; proxy_ignore_headers Vary;", CACHE, &["audit.cache-shares-origins"]),
        (
            "proxy_cache mixed; proxy_cache_valid any 1m;
            proxy_ignore_headers Cache-Control Set-Cookie;",
            CACHE,
            &["audit.cache-shares-users", "audit.nonce-reused"],
        ),
        (
            "proxy_pass http://UPSTREAM/;",
            "",
            &["audit.path-decoded", "audit.path-dot-segments", "audit.path-slashes"],
        ),
        (
            "proxy_intercept_errors on; if ($uri = /sorry) { return 200 sorry; }",
            "error_page 401 403 404 405 /sorry;",
            &["audit.error-replaced"],
        ),
        (
            "proxy_hide_header Strict-Transport-Security; proxy_hide_header X-Content-Type-Options;",
            "",
            &["audit.security-header-missing"],
        ),
        (
            "add_header Strict-Transport-Security 'max-age=60';",
            "",
            &["audit.security-header-duplicated"],
        ),
        (
            "proxy_hide_header Content-Security-Policy;
            add_header Content-Security-Policy \"default-src * 'unsafe-inline'\" always;",
            "",
            &["audit.security-header-weakened"],
        ),
        // The policy stays as strict, and has one more field, as a handler may add.
        ("add_header Content-Security-Policy \"default-src 'none'\";", "", &[]),
        ("expires 1h;", "", &["audit.cache-control-changed"]),
        ("proxy_set_header Host UPSTREAM;", "", &["audit.host-rewritten"]),
        ("proxy_set_header Host api.shop.example;", "", &["audit.host-rewritten"]),
        ("proxy_set_header Authorization '';", "", &["audit.credential-dropped"]),
        ("gzip on; gzip_types *; gzip_min_length 1;", "", &["audit.encoding-without-vary"]),
        ("proxy_cookie_flags ~ nosecure samesite=none;", "", &["audit.set-cookie-changed"]),
        (
            "proxy_set_header X-Forwarded-Proto $stated;",
            "map $http_x_forwarded_proto $stated { '' https; default $http_x_forwarded_proto; }",
            &["audit.forwarded-passed"],
        ),
        ("proxy_set_header X-Forwarded-Proto http;", "", &["audit.scheme-not-reported"]),
        (
            "proxy_set_header Sec-Fetch-Site ''; proxy_set_header Sec-Fetch-Mode '';
            proxy_set_header Sec-Fetch-Dest '';",
            "",
            &["audit.fetch-metadata-dropped"],
        ),
        ("if ($request_method = HEAD) { return 200; }", "", &["audit.head-differs"]),
    ] {
        let deployment = Deployment::behind_nginx(location, http).await;
        assert_eq!(deployment.codes(&[]).await, codes, "{location}");
    }
}

#[tokio::test]
#[ignore = "needs nginx"]
async fn nginx_that_blocks_methods() {
    let location = "limit_except GET POST OPTIONS { deny all; }";
    let deployment = Deployment::behind_nginx(location, "").await;
    assert_eq!(deployment.codes(&["--unsafe-methods"]).await, ["audit.method-blocked"]);
}

/// The first response is stored and served to every later client.
#[tokio::test]
#[ignore = "needs nginx and curl"]
async fn nginx_with_a_cache_that_ignores_cookies() {
    let location = "proxy_cache mixed; proxy_cache_valid 200 1m;
        proxy_ignore_headers Cache-Control Set-Cookie Vary;";
    let deployment = Deployment::behind_nginx(location, CACHE).await;
    let (session, _token) = deployment.log_in().await;
    let source = deployment.files.source("session", &session);
    let audited = deployment.audit(&["--session", &source]).await;
    let report = audited.report();
    let of_users = report["findings"].as_array().unwrap().iter();
    let of_users = of_users.filter(|finding| finding["code"] == "audit.cache-shares-users");
    let routes: Vec<_> = of_users
        .flat_map(|finding| finding["cases"].as_array().unwrap())
        .map(|case| case["route"].as_str().unwrap())
        .collect();
    assert!(routes.contains(&"GET /orders/{id}"), "{}", audited.out);
    let value = session.split('=').nth(1).unwrap();
    assert!(!audited.out.contains(value) && !audited.err.contains(value), "it is not shown");
}

/// Without a response of the app, the audit is inconclusive, which differs from "no differences".
#[tokio::test]
#[ignore = "needs nginx"]
async fn nginx_without_an_answer_of_the_app() {
    let limited = "limit_req_zone $binary_remote_addr zone=all:1m rate=1r/m;";
    for (location, http) in [
        ("return 503;", ""),
        ("proxy_pass http://127.0.0.1:1;", ""),
        ("limit_req zone=all; limit_req_status 429;", limited),
    ] {
        let deployment = Deployment::behind_nginx(location, http).await;
        let audited = deployment.audit(&[]).await;
        assert_eq!((audited.code, audited.codes()), (2, Vec::new()), "{location}");
        let report = audited.report();
        assert!(report["inconclusive"].as_array().unwrap().len() > 3, "{location}: {report}");
    }
}

/// The upstream is unavailable for one route.
#[tokio::test]
#[ignore = "needs nginx"]
async fn nginx_without_an_answer_for_one_route() {
    let location = "if ($uri = /weather) { return 502; }";
    let audited = Deployment::behind_nginx(location, "").await.audit(&[]).await;
    assert_eq!((audited.code, audited.codes()), (2, Vec::new()));
    assert_eq!(audited.report()["inconclusive"], serde_json::json!(["GET /weather"]));
}

/// Audits with the login of a user, behind a proxy that changes cookies, and expects this code.
async fn finds_with_login(location: &str, http: &str, code: &str) -> Value {
    let deployment = Deployment::behind_nginx(location, http).await;
    let [flag, file] = deployment.login();
    let audited = deployment.audit(&[&flag, &file]).await;
    assert_eq!((audited.code, audited.codes()), (1, vec![code.to_owned()]), "{location}");
    let report = audited.report();
    let cases = report["findings"][0]["cases"].to_string();
    assert!(cases.contains("/login") || !code.contains("cookie"), "{cases}");
    assert!(!audited.out.contains("name=ada"), "{}", audited.out);
    report
}

#[tokio::test]
#[ignore = "needs nginx"]
async fn nginx_that_weakens_the_cookie_of_a_login() {
    for location in ["proxy_cookie_flags ~ nosecure samesite=none;", "proxy_cookie_path / /app;"] {
        finds_with_login(location, "", "audit.set-cookie-changed").await;
    }
}

#[tokio::test]
#[ignore = "needs nginx"]
async fn nginx_that_drops_cookies() {
    let location = "proxy_set_header Cookie '';";
    finds_with_login(location, "", "audit.credential-dropped").await;
    // Without a login, the audit cannot detect this, and the report says so.
    let audited = Deployment::behind_nginx(location, "").await.audit(&[]).await;
    assert_eq!((audited.code, audited.codes()), (0, Vec::new()));
    let unseen = audited.report()["unseen"].to_string();
    assert!(unseen.contains("whether `Cookie` reaches the app: `--login`"), "{unseen}");
}

/// The files are below a wildcard, a parameter, and a public service that reads the session itself.
#[tokio::test]
#[ignore = "needs nginx"]
async fn nginx_with_a_cache_of_static_files() {
    let http = "proxy_cache_path FOLDER/cache keys_zone=files:1m;
        map $request_uri $other { ~\\.css$ 0; default 1; }";
    let location = "proxy_cache files; proxy_cache_valid 200 1m; proxy_no_cache $other;
        proxy_ignore_headers Cache-Control Set-Cookie Vary;";
    let report = finds_with_login(location, http, "audit.static-file-cached").await;
    let cases = report["findings"][0]["cases"].as_array().unwrap().iter();
    let routes: BTreeSet<_> = cases.map(|case| case["route"].as_str().unwrap()).collect();
    let expected = [
        "GET /account/{*rest}",
        "GET /members/{name}",
        // The handler accepts only numbers, but the query may contain a name.
        "GET /orders/{id}",
        "GET /portal",
    ];
    assert_eq!(routes, BTreeSet::from(expected));
}

/// All requests of some routes are left out.
#[tokio::test]
#[ignore = "needs nginx"]
async fn routes_that_are_left_out_are_inconclusive() {
    let deployment = Deployment::behind_nginx("", "").await;
    let audited = deployment.audit(&["--max-probes", "60", "--all-routes"]).await;
    assert_eq!((audited.code, audited.codes()), (2, Vec::new()));
    let inconclusive = audited.report()["inconclusive"].to_string();
    assert!(inconclusive.contains("POST /tokens"), "{inconclusive}");
}
