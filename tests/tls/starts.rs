//! Configurations of TLS that keep an app from starting, and their messages.

use policy_server::Error;
use rcgen::ExtendedKeyUsagePurpose;

use super::*;

async fn start_error(tls: Tls) -> (Vec<&'static str>, String) {
    let error = app().tls(tls).bind("127.0.0.1:0").await.expect_err("refused");
    let text = error.to_string();
    let Error::Start(problems) = error else { panic!("{text}") };
    (problems.iter().map(policy_server::StartProblem::code).collect(), text)
}

#[tokio::test]
async fn files_that_do_not_suit_are_refused() {
    let (authority, folder) = (Authority::new(), folder("starts"));
    let good = authority.issue(&["localhost"]);
    let other = authority.issue(&["localhost"]);
    let of_client = authority.issue_with(&["localhost"], |params| {
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    });
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let (half, _) = good.certificate.split_at(good.certificate.len() / 2);
    let old = authority.issue_for(&["localhost"], -30, -3);
    let early = authority.issue_for(&["localhost"], 3, 30);
    for (certificate, key, codes, words) in [
        (&*good.certificate, &*other.key, &["tls.key-mismatch"][..], "key.pem`: the key in this"),
        (&good.key, &good.key, &["tls.certificate-missing"], "cert.pem`: there is no certificate"),
        (&good.certificate, &good.certificate, &["tls.key-missing"], "key.pem`: there is no"),
        ("", "", &["tls.certificate-missing", "tls.key-missing"], "2 problems"),
        (broken, &good.key, &["tls.certificate-malformed"], "cert.pem"),
        (half, &good.key, &["tls.certificate-malformed"], "cert.pem"),
        (&of_client.certificate, &of_client.key, &["tls.certificate-malformed"], "cert.pem"),
        (
            &old.certificate,
            &old.key,
            &["tls.certificate-expired"],
            "cert.pem`: this certificate has expired: 3 days ago (",
        ),
        (
            &early.certificate,
            &early.key,
            &["tls.certificate-not-yet-valid"],
            "cert.pem`: this certificate is not valid yet: for another ",
        ),
    ] {
        let (of_certificate, of_key) = (folder.join("cert.pem"), folder.join("key.pem"));
        fs::write(&of_certificate, certificate).expect("a file");
        fs::write(&of_key, key).expect("a file");
        let (found, text) = start_error(Tls::files(of_certificate, of_key)).await;
        assert_eq!(found, codes, "{text}");
        assert!(text.contains(words) && text.contains("help: "), "{text}");
    }
}

#[tokio::test]
async fn all_problems_of_a_start_are_reported_together() {
    let folder = folder("starts-at-once");
    let taken = Secure::start(app()).await.address.to_string();
    // The server above is gone and its address is free; this listener keeps one in use.
    let occupied = std::net::TcpListener::bind("127.0.0.1:0").expect("an address");
    let address = occupied.local_addr().expect("an address").to_string();
    let tls = Tls::files(folder.join("no.pem"), folder.join("none.pem")).redirect_http(&address);
    let app = App::new(()).public_origin("http://api.example").routes(routes![hello, hello]);
    let error = app.tls(tls).bind(&address).await.expect_err("refused");
    let text = error.to_string();
    let Error::Start(problems) = error else { panic!("{text}") };
    let codes: Vec<_> = problems.iter().map(policy_server::StartProblem::code).collect();
    let expected = [
        "app.public-origin-insecure",
        "route.conflict",
        "tls.file-unreadable",
        "tls.file-unreadable",
        "app.listen",
        "app.listen",
    ];
    assert_eq!(codes, expected, "{text}");
    assert!(
        text.contains("none.pem`: this file cannot be read: No such file")
            && text.contains(&address),
        "{text}"
    );
    drop(taken);
}

#[tokio::test]
async fn a_reachable_redirect_is_refused_in_development() {
    let (tls, _authority) = identity("starts-redirect");
    let (codes, text) = start_error(tls.redirect_http("0.0.0.0:0")).await;
    assert_eq!(codes, ["app.public-origin-missing"], "{text}");
}

#[tokio::test]
async fn a_key_that_others_may_write_is_refused() {
    let folder = folder("starts-writable");
    let (certificate, key) = Authority::new().issue(&["localhost"]).write(&folder);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o646);
    fs::set_permissions(&key, mode).expect("a file");
    let (codes, text) = start_error(Tls::files(certificate, key)).await;
    assert_eq!(codes, ["app.secret-writable"], "{text}");
}

/// These start, with a notice.
#[test]
fn odd_settings_start_with_a_notice() {
    use super::process::*;

    if role().is_some() {
        let authority = Authority::new();
        let folder = folder("starts-odd");
        let (certificate, key) = authority.issue(&["localhost"]).write(&folder);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        fs::set_permissions(&key, mode).expect("a file");
        let tls = Tls::files(certificate, key).redirect_http("127.0.0.1:0");
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        return runtime.block_on(app().tls(tls).serve("127.0.0.1:0")).expect("an end");
    }
    let mut process =
        ServerProcess::start(&mut again("starts::odd_settings_start_with_a_notice", "server"));
    assert!(process.first_line.starts_with("listening on https://127.0.0.1:"), "{process:?}");
    let port = process.address.port();
    let redirect = process.lines(1);
    assert!(redirect.starts_with("redirecting http://127.0.0.1:"), "{redirect}");
    assert!(redirect.ends_with(&format!(" to https://localhost:{port}\n")), "{redirect}");
    process.terminate();
    let (_, rest) = process.wait_for_exit();
    assert!(rest.contains("notice: App::tls: `"), "{rest}");
    assert!(rest.contains("which holds a secret (app.secret-readable)"), "{rest}");
}
