//! Certificates that are generated if none exists.

use std::os::unix::fs::PermissionsExt;

use tokio_rustls::rustls::pki_types::{CertificateDer, pem::PemObject};

use super::*;

fn authority(folder: &Path) -> CertificateDer<'static> {
    CertificateDer::from_pem_file(folder.join("authority.pem")).expect("an authority")
}

/// The certificate that a server with this folder presents to a client that trusts its authority.
async fn served_certificate(folder: &Path, app: App<()>, name: &str) -> CertificateDer<'static> {
    let server = Secure::start(app.tls(Tls::development(folder))).await;
    let client = Client::trusting(authority(folder));
    client::peer_certificate(&client.try_connect(server.address, name).await.expect("a handshake"))
}

#[tokio::test]
async fn development_certificates_are_made_once_and_kept() {
    let folder = folder("development").join("below");
    let first = served_certificate(&folder, app(), "localhost").await;
    for name in ["127.0.0.1", "::1", "localhost"] {
        assert_eq!(served_certificate(&folder, app(), name).await, first, "{name}");
    }
    let mode =
        |name: &str| fs::metadata(folder.join(name)).expect("a file").permissions().mode() & 0o777;
    assert_eq!((mode("localhost.pem"), mode("authority.pem")), (0o600, 0o644));
    assert_eq!(fs::read_to_string(folder.join(".gitignore")).expect("a file"), "*\n");
    // The key of the authority is not stored.
    let kept = fs::read_dir(&folder).expect("a folder").count();
    let keys = ["localhost.pem", "authority.pem"].map(|name| {
        fs::read_to_string(folder.join(name)).expect("a file").matches("PRIVATE KEY-----").count()
    });
    assert_eq!((kept, keys), (3, [2, 0]));
}

#[tokio::test]
async fn development_certificates_are_for_the_public_origin_too() {
    let folder = folder("development-names");
    let first = served_certificate(&folder, app(), "localhost").await;
    let public = || app().public_origin("https://api.example:8443");
    let (log, _guard) = policy_tests::log::Log::start("policy_server");
    let second = served_certificate(&folder, public(), "api.example").await;
    assert_eq!(log.with_code("tls.development-certificate").len(), 1, "{:?}", log.with("code="));
    assert_ne!(first, second, "the first was not for it");
    assert_eq!(served_certificate(&folder, public(), "localhost").await, second);
    // It covers more names than needed, so it is kept.
    assert_eq!(served_certificate(&folder, app(), "localhost").await, second);
}

/// An invalid certificate in the folder is replaced, with a new authority.
#[tokio::test]
async fn unsuitable_development_certificates_are_replaced() {
    let folder = folder("development-anew");
    let mut last = served_certificate(&folder, app(), "localhost").await;
    let tester = Authority::new();
    let soon_over = tester.issue_for(&["localhost", "127.0.0.1", "::1"], -300, 20);
    let others = tester.issue(&["localhost", "127.0.0.1", "::1"]);
    let files = |issued: &authority::IssuedTokens| issued.certificate.clone() + &issued.key;
    for (pair, authority) in [
        (files(&soon_over), Some(tester.pem())),
        // Not issued by the authority next to it.
        (files(&others), None),
        (others.certificate.clone(), Some(tester.pem())),
        (String::new(), None),
    ] {
        fs::write(folder.join("localhost.pem"), pair).expect("a file");
        if let Some(authority) = authority {
            fs::write(folder.join("authority.pem"), authority).expect("a file");
        }
        let anew = served_certificate(&folder, app(), "localhost").await;
        assert_ne!(anew, last);
        last = anew;
    }
    // This one is valid.
    fs::write(folder.join("localhost.pem"), files(&others)).expect("a file");
    fs::write(folder.join("authority.pem"), tester.pem()).expect("a file");
    assert_eq!(served_certificate(&folder, app(), "localhost").await, others.der);
}

#[tokio::test]
async fn development_certificates_need_a_folder_to_be_kept_in() {
    let file = folder("development-folder").join("file");
    fs::write(&file, "").expect("a file");
    let error = app().tls(Tls::development(file.join("below"))).bind("127.0.0.1:0").await;
    let text = error.expect_err("refused").to_string();
    assert!(text.contains("(tls.folder-unwritable)") && text.contains("below"), "{text}");
}

#[tokio::test]
#[ignore = "needs curl"]
async fn development_certificates_are_trusted_by_curl_with_their_authority() {
    let folder = folder("development-curl");
    let server = Secure::start(app().tls(Tls::development(&folder))).await;
    let trusted = folder.join("authority.pem");
    for host in ["localhost", "127.0.0.1"] {
        let url = format!("https://{host}:{}/hello", server.address.port());
        let arguments = ["--cacert", trusted.to_str().expect("a path"), &url];
        assert_eq!(client::curl(&arguments).await, (true, "hello".to_owned()), "{host}");
    }
}
