//! Clients that are slow on purpose, by slowhttptest.

use std::process::{Command, Stdio};

use futures_util::future::join_all;

use super::*;

/// Its arguments for each kind of attack. Together they open as many connections as one client may.
const ATTACKS: [(&str, &[&str]); 4] = [
    ("slow heads", &["-H", "-i", "1", "-t", "GET", "-u", "/hello"]),
    ("slow bodies", &["-B", "-i", "1", "-s", "8192", "-t", "POST", "-u", "/echo"]),
    ("slow readers", &["-X", "-w", "10", "-y", "20", "-n", "1", "-z", "32", "-u", "/large"]),
    ("many ranges", &["-R", "-a", "5", "-b", "2000", "-t", "HEAD", "-u", "/large"]),
];

fn slowhttptest(server: &ServerProcess, arguments: &[&str]) -> Command {
    let seconds = length().as_secs().to_string();
    let mut command = Command::new("slowhttptest");
    command.args(["-c", "100", "-r", "100", "-p", "3", "-l", &seconds]);
    for argument in arguments {
        match argument.strip_prefix('/') {
            Some(path) => command.arg(format!("http://{}/{path}", server.address)),
            None => command.arg(argument),
        };
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

async fn attack(name: &str, mut attack: Command) {
    let output = tokio::task::spawn_blocking(move || attack.output().expect("slowhttptest"));
    let output = output.await.expect("a thread");
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(report.contains("slow HTTP test status"), "{name}: it did not attack: {report}");
}

#[tokio::test]
#[ignore = "needs slowhttptest"]
async fn slow_clients_do_not_slow_others() {
    let _machine = crate::alone().await;
    if role().is_some() {
        return be_server().await;
    }
    let (server, unit) = busy_server("attack::slow::slow_clients_do_not_slow_others").await;
    assert_leaves_nothing(&server, unit, "slow clients", async || {
        let bystander = Bystander::start(server.address);
        join_all(ATTACKS.map(|(name, arguments)| attack(name, slowhttptest(&server, arguments))))
            .await;
        bystander.report("slow clients");
    })
    .await;
}
