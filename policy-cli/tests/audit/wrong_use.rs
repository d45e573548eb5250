//! What an audit does not do.

use std::{
    io::{Read as _, Write as _},
    iter,
    net::{SocketAddr, TcpListener},
    thread,
};

use policy_tests::port::Port;

use crate::{
    app::HOST,
    network::{Audited, Files, audit_of, run},
};

/// Audits the app at an address where nobody listens.
async fn audit_nobody(files: &Files, arguments: &[&str]) -> Audited {
    let port = Port::reserve();
    let mut command = audit_of(&format!("https://{HOST}"), port.address, files);
    command.args(arguments);
    run(command).await
}

#[tokio::test]
async fn a_plan_sends_nothing() {
    let ran = audit_nobody(&Files::new(), &["--plan"]).await;
    assert_eq!((ran.code, &*ran.err), (0, ""));
    assert!(ran.out.contains("curl -s --path-as-is -i"), "{}", ran.out);
    assert!(!ran.out.contains("-X DELETE"), "{}", ran.out);
}

#[tokio::test]
async fn a_host_that_is_away_is_an_error() {
    let ran = audit_nobody(&Files::new(), &[]).await;
    assert_eq!((ran.code, &*ran.out), (2, ""));
    assert!(ran.err.contains("does not respond"), "{}", ran.err);
}

#[tokio::test]
async fn routes_are_inconclusive_if_nothing_may_be_sent() {
    let ran = audit_nobody(&Files::new(), &["--max-probes", "0"]).await;
    assert_eq!((ran.code, ran.codes()), (2, Vec::new()), "{}", ran.err);
    assert_ne!(ran.report()["inconclusive"], serde_json::json!([]));
}

#[tokio::test]
async fn a_proxy_without_an_upstream_shows_nothing_about_plain_http() {
    // What is found once is sent again.
    for first in ["503 Unavailable", "200 OK"] {
        let (files, proxy) = (Files::new(), TcpListener::bind("127.0.0.1:0").unwrap());
        let address = proxy.local_addr().unwrap();
        thread::spawn(move || {
            let statuses = iter::once(first).chain(iter::repeat("503 Unavailable"));
            for (mut stream, status) in proxy.incoming().flatten().zip(statuses) {
                let _ = stream.read(&mut [0; 4096]);
                let _ = write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            }
        });
        let ran = run(audit_of(&format!("http://{HOST}"), address, &files)).await;
        assert_eq!((ran.code, ran.codes()), (2, Vec::new()), "{first}: {}", ran.err);
        assert_ne!(ran.report()["inconclusive"], serde_json::json!([]), "{first}");
    }
}

#[tokio::test]
async fn another_host_than_the_manifests_is_refused() {
    let files = Files::new();
    let nowhere = SocketAddr::from(([127, 0, 0, 1], 1));
    let ran = run(audit_of("https://other.example", nowhere, &files)).await;
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("the app of this manifest is"), "{}", ran.err);
}

#[tokio::test]
async fn a_login_is_a_whole_request_to_the_origin() {
    let files = Files::new();
    let file = files.path("login");
    let own = format!("https://{HOST}/login");
    for (text, words) in [
        ("curl https://other.example/login -d a=1".to_owned(), "the login is not for"),
        (format!("curl {own} --data-urlencode password@file"), "has no body of the login"),
        (format!("wget {own}"), "this is not a curl line"),
        ("{}".to_owned(), "this is not a HAR file"),
    ] {
        std::fs::write(&file, &text).unwrap();
        let ran = audit_nobody(&files, &["--login", file.to_str().unwrap()]).await;
        assert_eq!((ran.code, &*ran.out), (2, ""), "{text}");
        assert!(ran.err.contains(words), "{text}: {}", ran.err);
    }
}

#[tokio::test]
async fn a_plan_names_the_login_without_its_secrets() {
    let files = Files::new();
    let file = files.path("login");
    let line = "curl https://HOST/login -b theme=dark -H 'x-key: secret' --json '{\"password\":\"secret\"}'";
    std::fs::write(&file, line.replace("HOST", HOST)).unwrap();
    let ran = audit_nobody(&files, &["--plan", "--login", file.to_str().unwrap()]).await;
    assert_eq!((ran.code, &*ran.err), (0, ""));
    assert!(ran.out.contains("-X POST") && ran.out.contains("/login"), "{}", ran.out);
    assert!(!ran.out.contains("secret") && !ran.out.contains("theme"), "{}", ran.out);
}

#[tokio::test]
async fn credentials_are_not_accepted_as_arguments_nor_printed() {
    let ran = audit_nobody(&Files::new(), &["--token", "secret-of-mine"]).await;
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("file:PATH") && !ran.err.contains("secret-of-mine"), "{}", ran.err);
}
