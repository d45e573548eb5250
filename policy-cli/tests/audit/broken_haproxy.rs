//! HAProxy, configured to break the policy: each way is found, and named by its code.

use crate::network::Deployment;

async fn finds(lines: &str, arguments: &[&str], codes: &[&str]) {
    let deployment = Deployment::behind_haproxy(lines).await;
    assert_eq!(deployment.codes(arguments).await, codes);
}

#[tokio::test]
#[ignore = "needs haproxy"]
async fn haproxy_that_rewrites_vary() {
    let lines = "http-response set-header Vary Accept-Encoding";
    finds(lines, &[], &["audit.vary-missing"]).await;
}

#[tokio::test]
#[ignore = "needs haproxy"]
async fn haproxy_that_drops_origin() {
    finds("http-request del-header Origin", &[], &["audit.origin-dropped"]).await;
}

#[tokio::test]
#[ignore = "needs haproxy"]
async fn haproxy_that_reflects_origin() {
    let lines = "http-request set-var(txn.origin) req.hdr(Origin)
        http-response set-header Access-Control-Allow-Origin %[var(txn.origin)] if { var(txn.origin) -m found }";
    let codes = ["audit.cors-changed", "audit.cors-origin-reflected"];
    finds(lines, &[], &codes).await;
}

#[tokio::test]
#[ignore = "needs haproxy"]
async fn haproxy_that_removes_grants() {
    let lines = "http-response del-header Access-Control-Allow-Origin";
    finds(lines, &[], &["audit.cors-missing"]).await;
}

#[tokio::test]
#[ignore = "needs haproxy"]
async fn haproxy_that_widens_preflights() {
    let lines = "http-response set-header Access-Control-Max-Age 86400 if METH_OPTIONS";
    finds(lines, &[], &["audit.cors-changed"]).await;
}

#[tokio::test]
#[ignore = "needs haproxy"]
async fn haproxy_that_answers_preflights() {
    let lines = "http-request return status 200 hdr Access-Control-Allow-Origin * if METH_OPTIONS { req.hdr(Access-Control-Request-Method) -m found }";
    finds(lines, &[], &["audit.preflight-answered-elsewhere"]).await;
}

#[tokio::test]
#[ignore = "needs haproxy"]
async fn haproxy_that_merges_slashes() {
    let lines = "http-request normalize-uri path-merge-slashes";
    finds(lines, &[], &["audit.path-slashes"]).await;
}

#[tokio::test]
#[ignore = "needs haproxy"]
async fn haproxy_that_resolves_dot_segments() {
    let lines = "http-request normalize-uri path-strip-dotdot";
    finds(lines, &[], &["audit.path-dot-segments"]).await;
}

#[tokio::test]
#[ignore = "needs haproxy"]
async fn haproxy_that_decodes_paths() {
    let lines = "http-request set-path %[path,url_dec]";
    let codes = ["audit.path-decoded"];
    finds(lines, &[], &codes).await;
}

#[tokio::test]
#[ignore = "needs haproxy"]
async fn haproxy_that_overwrites_cache_control() {
    let lines = "http-response set-header Cache-Control 'public, max-age=600'";
    finds(lines, &[], &["audit.cache-control-changed"]).await;
}

#[tokio::test]
#[ignore = "needs haproxy"]
async fn haproxy_that_overwrites_security_headers() {
    let lines = "http-response set-header X-Content-Type-Options sniff";
    finds(lines, &[], &["audit.security-header-changed"]).await;
}

#[tokio::test]
#[ignore = "needs haproxy"]
async fn haproxy_with_error_pages_of_its_own() {
    let lines =
        "http-response return status 404 content-type text/html string sorry if { status 404 }";
    finds(lines, &[], &["audit.error-replaced"]).await;
}

#[tokio::test]
#[ignore = "needs haproxy"]
async fn haproxy_that_refuses_some_requests() {
    let lines = "http-request deny deny_status 400 if { path_beg /orders }";
    let codes = [
        "audit.answered-elsewhere",
        "audit.options-answered-elsewhere",
        "audit.preflight-answered-elsewhere",
    ];
    finds(lines, &[], &codes).await;
}

#[tokio::test]
#[ignore = "needs haproxy"]
async fn haproxy_that_redirects() {
    let lines = "http-request redirect code 301 prefix https://www.shop.example";
    finds(lines, &[], &["audit.redirected"]).await;
}

#[tokio::test]
#[ignore = "needs haproxy"]
async fn haproxy_that_rewrites_the_session_cookie() {
    let lines = "http-response replace-header Set-Cookie (.*);\\s*HttpOnly(.*) \\1\\2";
    finds(lines, &[], &["audit.set-cookie-changed"]).await;
}

#[tokio::test]
#[ignore = "needs haproxy"]
async fn haproxy_that_lists_other_methods() {
    let lines = "http-response set-header Allow GET if { res.hdr(Allow) -m found }";
    finds(lines, &[], &["audit.allow-changed"]).await;
}

#[tokio::test]
#[ignore = "needs haproxy"]
async fn haproxy_that_passes_the_clients_of_its_client() {
    // This adds no header, so the app trusts the address that a client states.
    let lines = "http-request set-header X-Forwarded-For %[src] unless { req.hdr(X-Forwarded-For) -m found }";
    finds(lines, &[], &["audit.forwarded-passed"]).await;
}

#[tokio::test]
#[ignore = "needs haproxy"]
async fn haproxy_that_serves_trace() {
    let lines =
        "http-request return status 200 content-type message/http string TRACE if METH_TRACE";
    finds(lines, &["--unsafe-methods"], &["audit.trace-served"]).await;
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

#[tokio::test]
#[ignore = "needs haproxy"]
async fn haproxy_that_shortens_the_transport_security() {
    let lines = "http-response set-header Strict-Transport-Security max-age=60";
    let codes = ["audit.security-header-changed", "audit.security-header-weakened"];
    finds(lines, &[], &codes).await;
}
