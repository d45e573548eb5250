//! Files by `ServeDir` of tower-http, a service that does not know of policies.

use std::fs;

use policy_tests::folder::Folder;
use tower_http::services::ServeDir;

use super::*;

const ASSETS: CachePolicy = CachePolicy::public().max_age(600).immutable().build();

/// The folder `files`, since a mount receives the whole path.
fn folder() -> Folder {
    let folder = Folder::new().unwrap();
    let path = folder.path();
    fs::create_dir_all(path.join("files/sub")).unwrap();
    fs::write(path.join("files/digits.txt"), "0123456789").unwrap();
    fs::write(path.join("files/page.html"), "<p>page</p>").unwrap();
    fs::write(path.join("secret.txt"), "secret").unwrap();
    let file = fs::File::options().write(true).open(path.join("files/digits.txt")).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_secs(784_111_777)).unwrap();
    folder
}

async fn server(folder: &Folder) -> Running {
    let files = Mount::new(ServeDir::new(folder.path()))
        .public()
        .policies(Policies::new().cache(ASSETS).cors(SHOP));
    Running::start(App::new(()).mount("/files", files)).await
}

#[tokio::test]
async fn files_have_the_policies_of_their_mount() {
    let folder = folder();
    let server = server(&folder).await;
    for method in ["GET", "HEAD"] {
        let response = ask(&server, &format!("{method} /files/digits.txt"), &[PAGE]).await;
        assert_eq!((response.status, response.header("content-length")), (200, Some("10")));
        assert_eq!(response.text(), if method == "GET" { "0123456789" } else { "" });
        assert_eq!(response.sharing(), SHARED);
        assert_eq!(response.header("cache-control"), Some("public, max-age=600, immutable"));
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(response.header("content-security-policy"), None);
        assert!(vary(&response).contains("origin"));
    }
    let page = ask(&server, "GET /files/page.html", &[]).await;
    assert!(page.header("content-security-policy").is_some());
    // Errors of the service, and of the app in front of it.
    for (line, status) in [
        ("GET /files/none.txt", 404),
        ("GET /files/../secret.txt", 400),
        ("GET /files/%2e%2e/secret.txt", 400),
        ("GET /files/..%2fsecret.txt", 0),
        ("GET /files/..%5csecret.txt", 0),
        ("PUT /files/digits.txt", 405),
        ("BREW /files/digits.txt", 501),
    ] {
        let response = ask(&server, line, &[PAGE]).await;
        let is_expected = if status == 0 {
            matches!(response.status, 400 | 404)
        } else {
            response.status == status
        };
        assert!(is_expected, "{line} {response:?}");
        // A request without a path gets no route's policy.
        if response.status != 400 {
            assert_eq!(response.sharing(), SHARED, "{line}");
        }
        assert!(
            !response.header("cache-control").is_some_and(|value| value.contains("max-age")),
            "{line} {response:?}"
        );
        assert!(!response.text().contains("secret"), "{line}");
    }
}

const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

#[tokio::test]
async fn files_support_conditions_and_ranges() {
    let folder = folder();
    let server = server(&folder).await;
    let line = "GET /files/digits.txt";
    let whole = ask(&server, line, &[]).await;
    let etag = whole.header("etag").expect("a tag").to_owned();
    assert_eq!(whole.header("last-modified"), Some(DATE));
    let (same, since) = (format!("if-none-match: {etag}"), format!("if-modified-since: {DATE}"));
    let (matches, unmodified) =
        (format!("if-match: {etag}"), format!("if-unmodified-since: {DATE}"));
    let (range, if_range, if_date) =
        ("range: bytes=2-5", format!("if-range: {etag}"), format!("if-range: {DATE}"));
    let weak = format!("if-range: W/{etag}");
    for (fields, status, body) in [
        (&[&*same][..], 304, ""),
        (&[&since], 304, ""),
        (&["if-none-match: \"x\"", &since], 200, "0123456789"),
        (&["if-none-match: *"], 304, ""),
        (&[&*matches], 200, "0123456789"),
        (&["if-match: \"x\""], 412, "!"),
        (&[&*unmodified], 200, "0123456789"),
        (&["if-unmodified-since: Sat, 05 Nov 1994 08:49:37 GMT"], 412, "!"),
        (&[range], 206, "2345"),
        (&["range: bytes=-3"], 206, "789"),
        (&["range: bytes=8-99"], 206, "89"),
        (&["range: bytes=10-"], 416, "!"),
        (&["range: lines=1-2"], 200, "0123456789"),
        // A resumed download.
        (&[range, &*if_range], 206, "2345"),
        (&[range, &*if_date], 206, "2345"),
        (&[range, "if-range: \"x\""], 200, "0123456789"),
        (&[range, "if-range: Sat, 05 Nov 1994 08:49:37 GMT"], 200, "0123456789"),
        (&[range, &*weak], 200, "0123456789"),
        (&["range: bytes=10-", &*if_range], 416, "!"),
        // Conditions are evaluated before ranges.
        (&[range, &*same], 304, ""),
        (&[range, "if-match: \"x\""], 412, "!"),
        (&[range, &*matches], 206, "2345"),
    ] {
        let response = ask(&server, line, &[&[PAGE], fields].concat()).await;
        assert_eq!(response.status, status, "{fields:?} {response:?}");
        assert_eq!(response.sharing(), SHARED, "{fields:?}");
        assert!(vary(&response).contains("origin"));
        if body != "!" {
            assert_eq!(response.text(), body, "{fields:?}");
        }
        let control = match status {
            412 | 416 => "no-store",
            _ => "public, max-age=600, immutable",
        };
        assert_eq!(response.header("cache-control"), Some(control), "{fields:?}");
        match status {
            304 => assert_eq!(response.header("etag"), Some(&*etag)),
            206 => {
                assert!(
                    response.header("content-range").is_some_and(|range| range.ends_with("/10"))
                );
                assert_eq!(response.header("content-length"), Some(&*body.len().to_string()));
            }
            416 => assert_eq!(response.header("content-range"), Some("bytes */10")),
            _ => assert_eq!(response.header("content-range"), None),
        }
    }
}

/// RFC 9110 14.2: ranges apply to GET only, and for several a server may send the whole.
#[tokio::test]
async fn ranges_that_cannot_be_served_are_ignored() {
    let folder = folder();
    let server = server(&folder).await;
    for field in ["range: bytes=2-5", "range: bytes=10-"] {
        let head = ask(&server, "HEAD /files/digits.txt", &[field]).await;
        assert_eq!((head.status, head.header("content-length")), (200, Some("10")), "{field}");
        assert_eq!(head.header("content-range"), None);
    }
    let etag = ask(&server, "HEAD /files/digits.txt", &[]).await.header("etag").unwrap().to_owned();
    let same = format!("if-none-match: {etag}");
    assert_eq!(ask(&server, "HEAD /files/digits.txt", &[&same]).await.status, 304);
    let several = ask(&server, "GET /files/digits.txt", &["range: bytes=0-1,4-5"]).await;
    assert_eq!((several.status, several.text()), (200, "0123456789"));
    let twice =
        ask(&server, "GET /files/digits.txt", &["range: bytes=0-1", "range: bytes=4-5"]).await;
    assert_eq!((twice.status, twice.text()), (200, "0123456789"));
}
