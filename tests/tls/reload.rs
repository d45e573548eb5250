//! Certificates that change while a server runs.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;

use super::{client::peer_certificate, process::*, *};

/// Repeats a request on one connection until the test ends it; returns how often.
async fn ask_on(client: Client, address: SocketAddr, enough: Arc<AtomicBool>) -> usize {
    let stream = TokioIo::new(client.connect(address).await);
    let (mut sender, connection) = http1::handshake(stream).await.expect("a connection");
    tokio::spawn(connection);
    let mut count = 0;
    while !enough.load(Ordering::Relaxed) {
        let request = ::http::Request::get("/hello").header("host", "localhost");
        let request = request.body(String::new()).expect("a request");
        let response = soon(sender.send_request(request)).await.expect("a response");
        assert_eq!(response.status(), 200);
        sender.ready().await.expect("a connection that goes on");
        count += 1;
    }
    count
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_reload_takes_new_files_without_a_failed_request() {
    let (authority, folder) = (Authority::new(), folder("reload"));
    let (certificate, key) = authority.issue(&["localhost"]).write(&folder);
    let tls = Tls::files(certificate, key).reload_every(Duration::from_millis(20));
    let server = Secure::start(app().tls(tls)).await;
    let enough = Arc::new(AtomicBool::new(false));
    let client = || Client::trusting(authority.certificate());
    let lasting: Vec<_> = (0..3)
        .map(|_| tokio::spawn(ask_on(client(), server.address, Arc::clone(&enough))))
        .collect();
    let begun = Arc::new(AtomicUsize::new(0));
    let beginning = {
        let (enough, begun, address) = (Arc::clone(&enough), Arc::clone(&begun), server.address);
        // This client resumes its session across all changes.
        let client = client();
        tokio::spawn(async move {
            while !enough.load(Ordering::Relaxed) {
                let response = client.get(address, "localhost", "/hello").await;
                assert!(response.ends_with("hello"), "{response}");
                begun.fetch_add(1, Ordering::Relaxed);
            }
        })
    };
    for _ in 0..3 {
        let next = authority.issue(&["localhost"]);
        next.write(&folder);
        // A client without a session sees the current certificate.
        soon(async {
            while peer_certificate(&client().connect(server.address).await) != next.der {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        assert_eq!(peer_certificate(&client().connect(server.address).await), next.der);
    }
    enough.store(true, Ordering::Relaxed);
    for connection in lasting {
        assert!(soon(connection).await.expect("no failed request") > 3);
    }
    soon(beginning).await.expect("no failed request");
    assert!(begun.load(Ordering::Relaxed) > 0);
}

/// A device would be read for ever, and a pipe waited for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_reload_continues_after_an_unreadable_file() {
    let (authority, folder) = (Authority::new(), folder("reload-irregular"));
    let (certificate, key) = authority.issue(&["localhost"]).write(&folder);
    let tls = Tls::files(&certificate, key).reload_every(Duration::from_millis(10));
    let server = Secure::start(app().tls(tls)).await;
    let client = || Client::trusting(authority.certificate());
    let device = |path: &Path| std::os::unix::fs::symlink("/dev/zero", path).expect("a link");
    let pipe = |path: &Path| {
        let status = std::process::Command::new("mkfifo").arg(path).status();
        assert!(status.expect("a program").success());
    };
    for irregular in [&device as &dyn Fn(&Path), &pipe] {
        std::fs::remove_file(&certificate).expect("a file");
        irregular(&certificate);
        tokio::time::sleep(Duration::from_millis(100)).await;
        std::fs::remove_file(&certificate).expect("a file");
        let next = authority.issue(&["localhost"]);
        next.write(&folder);
        soon(async {
            while peer_certificate(&client().connect(server.address).await) != next.der {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
    }
}

/// The next log line of the server about a certificate.
fn next_line(process: &mut ServerProcess) -> String {
    for _ in 0..50 {
        let line = process.lines(1);
        if line.contains("the certificate") && !line.starts_with("notice") {
            return line;
        }
    }
    panic!("nothing was said");
}

#[test]
fn sighup_reloads_certificates_and_keeps_the_old_one_if_the_new_one_is_invalid() {
    let test =
        "reload::sighup_reloads_certificates_and_keeps_the_old_one_if_the_new_one_is_invalid";
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tls/reload-signal");
    let files = || Tls::files(folder.join("cert.pem"), folder.join("key.pem"));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    if role().is_some() {
        policy_tests::log::print("tls.certificate-");
        let tls = files().reload_every(Duration::from_secs(3600));
        let app = app().public_origin("https://api.example").tls(tls);
        return runtime.block_on(async {
            let server = app.bind("127.0.0.1:0").await.expect("an app that starts");
            eprintln!("listening on https://{} ", server.local_addr());
            server.run().await.expect("an end");
        });
    }
    let (authority, folder) = (Authority::new(), super::folder("reload-signal"));
    let first = authority.issue(&["api.example"]);
    first.write(&folder);
    let mut process = ServerProcess::start(&mut again(test, "server"));
    let connect = || {
        let client = Client::trusting(authority.certificate());
        runtime.block_on(client.try_connect(process.address, "api.example")).expect("a handshake")
    };
    let lasting = connect();
    assert_eq!(peer_certificate(&lasting), first.der);

    let expired = authority.issue_for(&["api.example"], -30, -3);
    let of_another = authority.issue(&["other.example"]);
    let mut mixed = authority.issue(&["api.example"]);
    mixed.key.clone_from(&expired.key);
    let mut empty = authority.issue(&["api.example"]);
    empty.certificate.clear();
    let second = authority.issue(&["api.example"]);
    for (files, word, serves) in [
        (&expired, Some("tls.certificate-expired"), &first),
        (&of_another, Some("tls.name-not-covered"), &first),
        (&mixed, Some("tls.key-mismatch"), &first),
        (&empty, Some("tls.certificate-missing"), &first),
        (&second, None, &second),
        (&expired, Some("tls.certificate-expired"), &second),
        (&first, None, &first),
    ] {
        files.write(&folder);
        process.signal("HUP");
        let line = next_line(&mut process);
        match word {
            Some(word) => {
                let begin = "ERROR message=the certificate in use is kept, since the new one \
                             cannot be used: ";
                assert!(line.starts_with(begin) && line.contains(word), "{line}");
                assert!(line.contains("tls.certificate-kept"), "{line}");
            }
            None => {
                assert!(line.starts_with("INFO message=the certificate was replaced"), "{line}");
                assert!(line.contains("tls.certificate-replaced"), "{line}");
            }
        }
        let client = Client::trusting(authority.certificate());
        let stream = runtime.block_on(client.try_connect(process.address, "api.example"));
        assert_eq!(peer_certificate(&stream.expect("a handshake")), serves.der, "{word:?}");
    }
    // A connection that began before goes on.
    let mut lasting = lasting;
    let request = "GET /hello HTTP/1.1\r\nhost: api.example\r\nconnection: close\r\n\r\n";
    assert!(runtime.block_on(client::exchange(&mut lasting, request)).ends_with("hello"));
    process.terminate();
    assert!(process.wait_for_exit().0);
}
