//! What an audit does not do.

use std::net::SocketAddr;

use policy_tests::port::Port;

use crate::{
    app::HOST,
    network::{Files, audit_of, run},
};

#[tokio::test]
async fn a_plan_sends_nothing() {
    let (files, port) = (Files::new(), Port::reserve());
    let mut command = audit_of(&format!("https://{HOST}"), port.address, &files);
    command.arg("--plan");
    let ran = run(command).await;
    assert_eq!((ran.code, &*ran.err), (0, ""));
    assert!(ran.out.contains("curl -s --path-as-is -i"), "{}", ran.out);
    assert!(!ran.out.contains("-X 'DELETE'"), "{}", ran.out);
}

#[tokio::test]
async fn a_host_that_is_away_is_an_error() {
    let (files, port) = (Files::new(), Port::reserve());
    let ran = run(audit_of(&format!("https://{HOST}"), port.address, &files)).await;
    assert_eq!((ran.code, &*ran.out), (2, ""));
    assert!(ran.err.contains("does not respond"), "{}", ran.err);
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
async fn credentials_are_not_accepted_as_arguments_nor_printed() {
    let files = Files::new();
    let nowhere = SocketAddr::from(([127, 0, 0, 1], 1));
    let mut command = audit_of(&format!("https://{HOST}"), nowhere, &files);
    command.args(["--token", "secret-of-mine"]);
    let ran = run(command).await;
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("file:PATH") && !ran.err.contains("secret-of-mine"), "{}", ran.err);
}
