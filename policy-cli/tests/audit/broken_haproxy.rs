//! HAProxy, configured to break the policy: each way is found, and named by its code.

use crate::network::Deployment;

#[tokio::test]
#[ignore = "needs haproxy"]
async fn each_way_of_haproxy_is_found_by_its_codes() {
    for (lines, codes) in [
        ("http-response set-header Vary Accept-Encoding", &["audit.vary-missing"][..]),
        ("http-request del-header Origin", &["audit.origin-dropped"]),
        (
            "http-request set-var(txn.origin) req.hdr(Origin)
             http-response set-header Access-Control-Allow-Origin %[var(txn.origin)] if { var(txn.origin) -m found }",
            &["audit.cors-changed", "audit.cors-origin-reflected"],
        ),
        ("http-response del-header Access-Control-Allow-Origin", &["audit.cors-missing"]),
        (
            "http-response set-header Access-Control-Max-Age 86400 if METH_OPTIONS",
            &["audit.cors-changed"],
        ),
        (
            "http-request return status 200 hdr Access-Control-Allow-Origin * if METH_OPTIONS { req.hdr(Access-Control-Request-Method) -m found }",
            &["audit.preflight-answered-elsewhere"],
        ),
        ("http-request normalize-uri path-merge-slashes", &["audit.path-slashes"]),
        ("http-request normalize-uri path-strip-dotdot", &["audit.path-dot-segments"]),
        ("http-request set-path %[path,url_dec]", &["audit.path-decoded"]),
        (
            "http-response set-header Cache-Control 'public, max-age=600'",
            &["audit.cache-control-changed"],
        ),
        (
            "http-response set-header X-Content-Type-Options sniff",
            &["audit.security-header-changed"],
        ),
        (
            "http-response return status 404 content-type text/html string sorry if { status 404 }",
            &["audit.error-replaced"],
        ),
        (
            "http-request deny deny_status 400 if { path_beg /orders }",
            &[
                "audit.answered-elsewhere",
                "audit.options-answered-elsewhere",
                "audit.preflight-answered-elsewhere",
            ],
        ),
        (
            "http-request redirect code 301 prefix https://www.shop.example",
            &["audit.redirected"],
        ),
        (
            "http-response replace-header Set-Cookie (.*);\\s*HttpOnly(.*) \\1\\2",
            &["audit.set-cookie-changed"],
        ),
        (
            "http-response set-header Allow GET if { res.hdr(Allow) -m found }",
            &["audit.allow-changed"],
        ),
        // This adds no header, so the app trusts the address that a client states.
        (
            "http-request set-header X-Forwarded-For %[src] unless { req.hdr(X-Forwarded-For) -m found }",
            &["audit.forwarded-passed"],
        ),
        (
            "http-response set-header Strict-Transport-Security max-age=60",
            &["audit.security-header-changed", "audit.security-header-weakened"],
        ),
    ] {
        let deployment = Deployment::behind_haproxy(lines).await;
        assert_eq!(deployment.codes(&[]).await, codes, "{lines}");
    }
}

#[tokio::test]
#[ignore = "needs haproxy"]
async fn haproxy_that_serves_trace() {
    let lines =
        "http-request return status 200 content-type message/http string TRACE if METH_TRACE";
    let deployment = Deployment::behind_haproxy(lines).await;
    assert_eq!(deployment.codes(&["--unsafe-methods"]).await, ["audit.trace-served"]);
}

#[tokio::test]
#[ignore = "needs haproxy"]
async fn haproxy_that_gives_the_cookie_of_a_login_to_other_hosts() {
    let lines = "http-response replace-header Set-Cookie (.*) \\1;\\ Domain=shop.example";
    let deployment = Deployment::behind_haproxy(lines).await;
    let [flag, file] = deployment.login();
    let audited = deployment.audit(&[&flag, &file]).await;
    assert_eq!(audited.codes(), ["audit.set-cookie-changed"]);
    assert!(audited.out.contains("no `Domain`") && audited.out.contains("/login"));
}
