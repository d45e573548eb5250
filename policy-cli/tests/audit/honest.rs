//! T27: a network that leaves the app's responses as they are has no findings.

use crate::network::Deployment;

/// Audits a deployment as a stranger, and with credentials and all methods.
async fn has_no_findings(deployment: &Deployment) {
    let audited = deployment.audit(&[]).await;
    assert_eq!(audited.codes(), [""; 0]);
    let report = audited.report();
    assert_eq!(report["notes"], serde_json::json!([]));
    assert!(report["requests"].as_u64().unwrap() > 60, "{}", report["requests"]);
    let (session, token) = deployment.log_in().await;
    let session = deployment.files.source("session", &session);
    let token = deployment.files.source("token", &token);
    let all = ["--session", &session, "--token", &token, "--unsafe-methods"];
    let audited = deployment.audit(&all).await;
    assert_eq!(audited.codes(), [""; 0]);
    assert_eq!(audited.report()["notes"], serde_json::json!([]));
    let unseen = audited.report()["unseen"].to_string();
    assert!(!unseen.contains("a session") && !unseen.contains("a token"), "{unseen}");
    let [flag, file] = deployment.login();
    let all = [&*flag, &*file, "--all-routes", "--unsafe-methods", "--max-probes", "1000"];
    let audited = deployment.audit(&all).await;
    assert_eq!((audited.code, audited.codes()), (0, Vec::new()));
    let report = audited.report();
    assert_eq!(report["notes"], serde_json::json!([]));
    let unseen = report["unseen"].to_string();
    let has = |words: &str| unseen.contains(words);
    assert!(!has("--login") && !has("--all-routes") && !has("`Sec-Fetch-Site`"), "{unseen}");
    assert!(has("unsafe methods"), "{unseen}");
    assert!(!audited.out.contains("__Host-sid=") && !audited.out.contains("name=ada"));
}

#[tokio::test]
#[ignore = "needs curl"]
async fn an_app_without_a_proxy_has_no_findings() {
    has_no_findings(&Deployment::direct().await).await;
}

#[tokio::test]
#[ignore = "needs nginx and curl"]
async fn an_honest_nginx_has_no_findings() {
    has_no_findings(&Deployment::behind_nginx("", "").await).await;
}

/// It compresses, caches all cacheable responses, and keeps its connections.
#[tokio::test]
#[ignore = "needs nginx and curl"]
async fn a_busy_honest_nginx_has_no_findings() {
    let location = "gzip on; gzip_types *; gzip_vary on; gzip_proxied any; gzip_min_length 1;
        proxy_cache kept;
        proxy_set_header Connection '';";
    let http = "proxy_cache_path FOLDER/cache keys_zone=kept:1m;";
    has_no_findings(&Deployment::behind_nginx(location, http).await).await;
}

#[tokio::test]
#[ignore = "needs haproxy and curl"]
async fn an_honest_haproxy_has_no_findings() {
    has_no_findings(&Deployment::behind_haproxy("").await).await;
}

#[tokio::test]
#[ignore = "needs haproxy and curl"]
async fn a_busy_honest_haproxy_has_no_findings() {
    let lines = "compression algo gzip\n                 compression type text/plain text/html";
    has_no_findings(&Deployment::behind_haproxy(lines).await).await;
}
