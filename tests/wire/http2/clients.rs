//! Independent clients.

use std::{fs, process::Command};

use policy_server::Tls;
use policy_tests::folder::Folder;

use super::*;

/// The output of a program, while the server of this thread keeps running.
async fn printed(program: &'static str, arguments: &[&str]) -> String {
    let mut command = Command::new(program);
    command.args(arguments);
    let output = tokio::task::spawn_blocking(move || command.output());
    let output = output.await.expect("a thread").expect("the program");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[tokio::test]
#[ignore = "needs nghttp2-client"]
async fn nghttp_and_h2load_are_served() {
    let server = Running::start(app()).await;
    let url = |path| format!("http://{}{path}", server.address);
    let trace = printed("nghttp", &["-nv", &url("/hello")]).await;
    assert!(trace.contains(":status: 200"), "{trace}");
    let load = ["-n", "2000", "-c", "10", "-m", "20", &url("/hello")];
    let report = printed("h2load", &load).await;
    assert!(report.contains("2000 succeeded, 0 failed, 0 errored"), "{report}");
    let downloads = ["-n", "20", "-c", "2", "-m", "5", &url("/large")];
    let report = printed("h2load", &downloads).await;
    assert!(report.contains("20 succeeded, 0 failed, 0 errored"), "{report}");
    assert_serving(&server).await;
}

#[tokio::test]
#[ignore = "needs curl"]
async fn curl_is_served_over_both_versions() {
    let server = Running::start(app()).await;
    let folder = Folder::new().expect("a folder");
    let file = folder.path().join("body");
    let body = "x".repeat(1_100_000);
    fs::write(&file, &body).expect("a file");
    let file = format!("@{}", file.display());
    let url = |path| format!("http://{}{path}", server.address);
    for (flag, version) in
        [("--http1.1", "1.1"), ("--http2", "1.1"), ("--http2-prior-knowledge", "2")]
    {
        let options = ["--silent", flag, "--write-out", "|%{http_code} %{http_version}"];
        let get = printed("curl", &[&options[..], &[&url("/hello")]].concat()).await;
        assert_eq!(get, format!("hello|200 {version}"));
        // Large enough for curl to send `Expect: 100-continue`.
        let upload = ["--data-binary", &file, &url("/upload")];
        let post = printed("curl", &[&options[..], &upload].concat()).await;
        assert_eq!(post, format!("{body}|200 {version}"));
        let none = printed("curl", &[&options[..], &[&url("/none")]].concat()).await;
        assert!(none.ends_with(&format!("|404 {version}")), "{none}");
    }
    assert_serving(&server).await;
}

#[tokio::test]
#[ignore = "needs nghttp2-client"]
async fn h2load_is_served_over_tls() {
    let folder = Folder::new().expect("a folder");
    let server = Running::start(app().tls(Tls::development(folder.path()))).await;
    let url = format!("https://{}/hello", server.address);
    let report = printed("h2load", &["-n", "2000", "-c", "10", "-m", "20", &url]).await;
    assert!(report.contains("Application protocol: h2"), "{report}");
    assert!(report.contains("2000 succeeded, 0 failed, 0 errored"), "{report}");
    assert_eq!(server.panics(), 0);
}
