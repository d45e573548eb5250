//! Each kind of origin with each rule that treats kinds differently. The results in the table are
//! written by hand, from what browsers and app shells do, and not derived from the classification.

use policy_core::{Lint, time::Timestamp};
use policy_manifest::{Date, lint};
use policy_server::{CorsConfig, SharedOrigins};
use policy_tests::log::Log;

use super::*;

/// What happens to an origin that a production app at `https://api.shop.example` grants.
struct Row {
    origin: &'static str,
    /// The code of the error with credentials.
    with_credentials: Option<&'static str>,
    /// Whether the app starts if a route accepts only a session, whose cookie has `SameSite=Lax`.
    starts: bool,
    /// Whether a notice at start says that it is a development origin.
    is_for_developers: bool,
    /// Whether `cargo policy lint` says that others can change its pages.
    is_insecure: bool,
}

const INSECURE: Option<&str> = Some("cors.insecure-origin-with-credentials");
const UNKNOWN: Option<&str> = Some("cors.unknown-scheme-with-credentials");

const fn row(
    origin: &'static str,
    with_credentials: Option<&'static str>,
    starts: bool,
    [is_for_developers, is_insecure]: [bool; 2],
) -> Row {
    Row { origin, with_credentials, starts, is_for_developers, is_insecure }
}

const ROWS: [Row; 27] = [
    // Web pages: those of the app's own site send its cookie.
    row("https://app.shop.example", None, true, [false, false]),
    row("https://app.shop.example:8443", None, true, [false, false]),
    row("https://app.partner.example", None, false, [false, false]),
    // Pages of developers.
    row("http://localhost:5173", None, true, [true, false]),
    row("http://localhost", None, true, [true, false]),
    row("http://127.0.0.1:5173", None, true, [true, false]),
    row("http://[::1]:5173", None, true, [true, false]),
    row("http://app.localhost:3000", None, true, [true, false]),
    row("http://localhost:*", None, true, [true, false]),
    // Pages of installed apps, in production.
    row("https://localhost", None, false, [false, false]),
    row("https://127.0.0.1:8443", None, false, [false, false]),
    row("capacitor://localhost", None, false, [false, false]),
    row("ionic://localhost", None, false, [false, false]),
    row("tauri://localhost", None, false, [false, false]),
    row("http://tauri.localhost", None, false, [false, false]),
    row("https://tauri.localhost", None, false, [false, false]),
    row("wails://wails.localhost", None, false, [false, false]),
    row("app://obsidian.md", None, false, [false, false]),
    row("vscode-webview://abcdef", None, false, [false, false]),
    // Pages of extensions.
    row("chrome-extension://abcdefghijklmnopabcdefghijklmnop", None, false, [false, false]),
    row("moz-extension://b2f2a1c0-0000-4000-8000-000000000001", None, false, [false, false]),
    row("safari-web-extension://b2f2a1c0-0000-4000-8000-000000000002", None, false, [false, false]),
    // Pages that are sent without TLS.
    row("http://app.shop.example", INSECURE, false, [false, true]),
    row("http://10.0.0.1:8080", INSECURE, false, [false, true]),
    row("ws://app.shop.example", INSECURE, false, [false, true]),
    // Unknown schemes, also if the host looks like loopback.
    row("shop://home", UNKNOWN, false, [false, false]),
    row("shop://localhost", UNKNOWN, false, [false, false]),
];

#[get("/me")]
#[auth(session)]
async fn me() {}

#[get("/prices")]
#[auth(public)]
async fn prices() -> &'static str {
    "prices"
}

fn cors(origin: &str, credentials: bool, dangerous: bool) -> CorsConfig {
    let mut cors = CorsConfig::new([origin]);
    cors.credentials = credentials;
    cors.dangerous_insecure_origins = dangerous;
    cors
}

fn app(cors: CorsConfig) -> App<()> {
    App::new(())
        .public_origin("https://api.shop.example")
        .sessions(Sessions::memory().same_site(SameSite::Lax))
        .policies(Policies::new().cors(cors))
}

#[test]
fn each_kind_of_origin_may_have_credentials_or_not() {
    for row in &ROWS {
        let found = codes(app(cors(row.origin, true, false)).routes(routes![prices]).check());
        assert_eq!(found, Vec::from_iter(row.with_credentials), "{}", row.origin);
        for stated in [cors(row.origin, false, false), cors(row.origin, true, true)] {
            assert!(app(stated).routes(routes![prices]).check().is_ok(), "{}", row.origin);
        }
    }
}

#[test]
fn an_app_whose_sessions_reach_no_page_of_users_does_not_start() {
    for row in &ROWS {
        let found = codes(app(cors(row.origin, true, true)).routes(routes![me]).check());
        let due: &[&str] = if row.starts { &[] } else { &["session.same-site"] };
        assert_eq!(found, due, "{}", row.origin);
    }
}

#[get("/listed")]
#[cors(origins = config("pages", within = ["https://*.shop.example:*", "https://*.partner.example", "http://localhost:*", "capacitor://localhost", "https://localhost"]), credentials)]
#[auth(session)]
async fn listed() {}

/// A run-time list is classified like one in an attribute.
#[test]
fn run_time_lists_follow_the_rules_of_attributes() {
    let pages = SharedOrigins::new();
    let app = App::new(())
        .public_origin("https://api.shop.example")
        .sessions(Sessions::memory().same_site(SameSite::Lax))
        .origins("pages", &pages)
        .routes(routes![listed]);
    app.check().expect("an app without problems");
    let is_bounded = |row: &&Row| {
        ["https://app.", "http://localhost", "capacitor:", "https://localhost"]
            .iter()
            .any(|front| row.origin.starts_with(front))
    };
    let mut tried = [0, 0];
    for row in ROWS.iter().filter(is_bounded) {
        let result = pages.replace(&[row.origin]);
        assert_eq!(result.is_ok(), row.starts, "{}: {result:?}", row.origin);
        tried[usize::from(row.starts)] += 1;
    }
    assert_eq!(tried, [3, 5]);
}

#[tokio::test]
async fn the_start_names_the_origins_of_developers() {
    for row in &ROWS {
        let (log, _guard) = Log::start("policy_server");
        let app = app(cors(row.origin, false, false)).routes(routes![prices]);
        let server = http::Running::start(app).await;
        // Once there is a response, all notices have been logged.
        server.response(http::request("GET /prices", &[])).await;
        let lines = log.with("cors.loopback-shared");
        assert_eq!(!lines.is_empty(), row.is_for_developers, "{}: {lines:?}", row.origin);
    }
}

#[test]
fn the_lint_names_the_origins_whose_pages_others_can_change() {
    for row in &ROWS {
        let app = app(cors(row.origin, false, false)).routes(routes![prices]);
        let manifest = app.manifest();
        let today = Date::from_timestamp(Timestamp::from_seconds(1_800_000_000));
        let findings = lint(&manifest, &[], today).findings;
        let found = findings.iter().any(|finding| finding.lint == Lint::InsecureOrigins);
        assert_eq!(found, row.is_insecure, "{}", row.origin);
    }
}

/// The browser model sends what app shells send, so that a test of the app sees what its users see:
/// a page reads what is shared with it, and has no session where the app does not start with one.
#[tokio::test]
async fn pages_of_every_kind_read_granted_responses() {
    // Patterns have no page, and the model knows no pages of unknown schemes.
    let is_opened = |row: &&Row| !row.origin.contains('*') && !row.origin.starts_with("shop:");
    for row in ROWS.iter().filter(is_opened).filter(|row| !row.origin.starts_with("ws:")) {
        let client = app(cors(row.origin, true, true)).routes(routes![prices]).test();
        let page = client.page(row.origin);
        let read = page.get("/prices").send().await;
        // Chromium asks the user before a public page may call loopback; the API is not on
        // loopback.
        assert_eq!(read.text(), "prices", "{}", row.origin);
        let sent = page.network().requests().pop().expect("a request");
        assert_eq!(sent.headers["origin"], row.origin);
    }
}
