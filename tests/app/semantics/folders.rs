//! The files of a folder, with an index and a single page.

use std::fs;

use policy_server::Files;
use policy_tests::folder::Folder;

use super::*;

/// The folder `site`, with a file outside of it.
fn folder() -> Folder {
    let folder = Folder::new().unwrap();
    let site = folder.path().join("site");
    fs::create_dir_all(site.join("docs/empty")).unwrap();
    fs::create_dir_all(site.join(".git")).unwrap();
    for (name, text) in [
        ("index.html", "<p>page</p>"),
        ("app.js", "run()"),
        ("style.css", "p {}"),
        ("data", "bytes"),
        ("docs/index.html", "<p>docs</p>"),
        (".env", "SECRET=1"),
        (".git/config", "SECRET=2"),
        ("../x", "SECRET=3"),
    ] {
        fs::write(site.join(name), text).unwrap();
    }
    folder
}

fn site(folder: &Folder) -> Files {
    Files::new(folder.path().join("site"))
}

const HTML: &str = "accept: text/html,*/*;q=0.8";

#[get("/api/orders")]
#[auth(public)]
async fn orders() -> &'static str {
    "orders"
}

#[tokio::test]
async fn a_folder_is_served_below_a_prefix_with_its_indexes() {
    let folder = folder();
    let app = App::new(())
        .mount("/static", Mount::files(site(&folder)).public().policies(Policies::new().cors(SHOP)))
        .group("/g", Group::new().mount("/static", Mount::files(site(&folder)).public()));
    let inner = App::new(()).mount("/static", Mount::files(site(&folder)).public());
    let outer = axum::Router::new().nest_service("/axum", inner.into_service());
    let server =
        Running::start(app.mount("/shop", Mount::new(outer).public().strip_prefix())).await;
    for prefix in ["/static", "/g/static", "/shop/axum/static"] {
        for (path, media_type, text) in [
            ("/", "text/html", "<p>page</p>"),
            ("/index.html", "text/html", "<p>page</p>"),
            ("/app.js", "text/javascript", "run()"),
            ("/%61pp.js?v=1", "text/javascript", "run()"),
            ("/style.css", "text/css", "p {}"),
            ("/data", "application/octet-stream", "bytes"),
            ("/docs/", "text/html", "<p>docs</p>"),
        ] {
            let response = ask(&server, &format!("GET {prefix}{path}"), &[PAGE]).await;
            assert_eq!((response.status, response.text()), (200, text), "{prefix}{path}");
            assert_eq!(response.header("content-type"), Some(media_type), "{path}");
            let etag = format!("if-none-match: {}", response.header("etag").expect("a tag"));
            let again = ask(&server, &format!("GET {prefix}{path}"), &[&etag]).await;
            assert_eq!(again.status, 304, "{path}");
            let part = ask(&server, &format!("GET {prefix}{path}"), &["range: bytes=1-2"]).await;
            assert_eq!((part.status, part.text()), (206, &text[1..3]), "{path}");
            let head = ask(&server, &format!("HEAD {prefix}{path}"), &[]).await;
            assert_eq!((head.status, head.text()), (200, ""), "{path}");
        }
        // Relative to the requested address: a service does not know all that was removed from it.
        for (path, location) in [
            ("", "./static/"),
            ("?a=b", "./static/?a=b"),
            ("/docs", "./docs/"),
            ("/docs?a=/b", "./docs/?a=/b"),
        ] {
            let response = ask(&server, &format!("GET {prefix}{path}"), &[]).await;
            assert_eq!(response.status, 307, "{path}");
            assert_eq!(response.header("location"), Some(location), "{path}");
        }
    }
    let shared = ask(&server, "GET /static/app.js", &[PAGE]).await;
    assert_eq!(shared.sharing(), SHARED);
}

#[tokio::test]
async fn paths_without_a_file_in_the_folder_are_not_found() {
    let folder = folder();
    let files = || Mount::files(site(&folder)).public();
    let app = App::new(())
        .mount("/static", files())
        .mount("/slashes", files().encoded_slashes())
        .fallback(Fallback::files(site(&folder)).public());
    let server = Running::start(app).await;
    for path in [
        "/static/none.js",
        "/static/data/",
        "/static/data/x",
        "/static/docs/empty/",
        "/static/.env",
        "/static/%2Eenv",
        "/static/.git/config",
        "/static/docs/.hidden",
        "/slashes/docs%2F..%2F.env",
        "/slashes/.git%2Fconfig",
        "/slashes/docs%2F.env",
        "/slashes/..%2Fx",
        "/slashes/%2Fetc%2Fpasswd",
        "/slashes/..%5Cx",
        "/.env",
        "/.git/config",
        "/none",
    ] {
        for accept in [HTML, "accept: */*"] {
            let response = ask(&server, &format!("GET {path}"), &[accept]).await;
            let is_refused =
                response.status == 404 || (response.status == 400 && path.starts_with("/slashes/"));
            assert!(is_refused, "{path} {response:?}");
            assert!(!response.text().contains("SECRET"), "{path}");
        }
    }
    for path in ["/static/../x", "/static/%2e%2e/x", "/static//app.js", "/static/a%2Fb"] {
        assert_eq!(ask(&server, &format!("GET {path}"), &[]).await.status, 400, "{path}");
    }
    for (line, status) in [
        ("POST /static/app.js", 405),
        ("POST /app.js", 404),
        ("DELETE /none", 404),
        ("OPTIONS /static/app.js", 204),
    ] {
        let response = ask(&server, line, &["content-length: 0"]).await;
        assert_eq!(response.status, status, "{line}");
    }
}

#[tokio::test]
async fn dotfiles_are_served_only_if_enabled() {
    let folder = folder();
    let files = Mount::files(site(&folder).dotfiles()).public();
    let server = Running::start(App::new(()).mount("/static", files)).await;
    for (path, text) in [("/static/.env", "SECRET=1"), ("/static/.git/config", "SECRET=2")] {
        assert_eq!(ask(&server, &format!("GET {path}"), &[]).await.text(), text);
    }
}

#[tokio::test]
async fn navigations_get_the_single_page() {
    let folder = folder();
    let page = site(&folder).single_page().not_below(["/api"]);
    let mounted = Mount::files(site(&folder).single_page()).public();
    let app = App::new(())
        .routes(routes![orders])
        .mount("/app", mounted)
        .fallback(Fallback::files(page).public());
    let server = Running::start(app).await;
    let navigate = "sec-fetch-mode: navigate";
    for (path, fields, status) in [
        ("/", &[HTML][..], 200),
        ("/settings", &[HTML], 200),
        ("/settings?tab=1", &[HTML, navigate], 200),
        ("/orders/7/", &[HTML, navigate], 200),
        ("/app/settings", &[HTML], 200),
        // Scripts and programs.
        ("/settings", &[], 404),
        ("/settings", &["accept: application/json"], 404),
        ("/settings", &[HTML, "sec-fetch-mode: cors"], 404),
        ("/app/settings", &[], 404),
        // A missing asset, and the API.
        ("/none.js", &[HTML], 404),
        ("/api/none", &[HTML, navigate], 404),
        ("/api", &[HTML], 404),
        ("/.env", &[HTML], 404),
    ] {
        for method in ["GET", "HEAD"] {
            let response = ask(&server, &format!("{method} {path}"), fields).await;
            assert_eq!(response.status, status, "{method} {path} {fields:?}");
            if method == "GET" {
                assert_eq!(response.text() == "<p>page</p>", status == 200, "{path} {fields:?}");
            }
            if status == 200 {
                assert_eq!(response.header("content-type"), Some("text/html"));
                assert!(response.header("content-security-policy").is_some());
            }
        }
    }
    // A cache keeps the page and the 404 apart.
    for fields in [&[HTML][..], &[]] {
        let response = ask(&server, "GET /settings", fields).await;
        let vary = response.header("vary").expect("Vary").to_ascii_lowercase();
        assert!(vary.contains("accept") && vary.contains("sec-fetch-mode"), "{vary}");
    }
    let asset = ask(&server, "GET /app.js", &[HTML]).await;
    assert_eq!((asset.text(), asset.header("vary")), ("run()", None));
    assert_eq!(ask(&server, "GET /api/orders", &[HTML]).await.text(), "orders");
    let form = ask(&server, "POST /settings", &[HTML, "content-length: 0"]).await;
    assert_eq!(form.status, 404);
}
