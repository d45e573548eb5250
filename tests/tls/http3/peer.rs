//! An independent HTTP/3 client: aioquic, with QPACK by ls-qpack.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use policy_tests::peers::installed;

use super::*;

#[tokio::test]
#[ignore = "needs Python with aioquic"]
async fn responses_to_aioquic_follow_the_standard() {
    let server = Server::start(app()).await;
    let input = serde_json::json!({
        "port": server.address().port(),
        "authority": server.folder().join("authority.pem"),
    });
    let python = installed("python/bin/python3");
    let mut command = Command::new(&python);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tls/http3/peer.py");
    command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut process = command.spawn().unwrap_or_else(|error| {
        panic!("{}: {error}; `cargo xtask test` installs it", python.display())
    });
    process.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
    // The server runs on this thread.
    let output = tokio::task::spawn_blocking(|| process.wait_with_output()).await.unwrap().unwrap();
    assert!(output.status.success(), "the script failed: {}", output.status);
    let results: Vec<[String; 3]> = serde_json::from_slice(&output.stdout).unwrap();
    let wrong: Vec<_> = results.iter().filter(|[_, want, got]| want != got).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    println!("{} cases", results.len());
    assert!(results.len() > 50, "{} cases", results.len());
}
