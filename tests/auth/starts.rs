//! Apps that refuse to start, and their messages: all problems at once.

use std::{env, fs, panic, path::PathBuf, process::Command};

use policy_server::{
    Rule,
    session::{days, hours},
    store::{EmbeddedStore, LimitPolicy},
};
use policy_tests::caller_scheme::CallerScheme;

use super::*;

#[get("/a")]
#[auth(session)]
async fn a() {}

#[get("/b")]
#[auth(token)]
async fn b() {}

#[get("/c")]
#[post("/c")]
#[auth(session | token)]
async fn c() {}

#[get("/d")]
#[auth(ticket)]
async fn d() {}

#[get("/e")]
#[auth(scheme = CallerScheme)]
async fn e() {}

#[get("/f")]
#[auth(session, optional)]
async fn f() {}

fn problems<T>(result: Result<T, Error>) -> Vec<StartProblem> {
    match result {
        Err(Error::Start(problems)) => problems,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it starts"),
    }
}

fn rooms() -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("auth-starts");
    fs::create_dir_all(&path).unwrap();
    path
}

fn file(name: &str) -> PathBuf {
    let path = rooms().join(format!("{name}.redb"));
    let _ = fs::remove_file(&path);
    path
}

#[test]
fn all_missing_parts_of_an_app_are_reported_together() {
    let found = problems(App::new(()).routes(routes![a, b, c, d, e, f]).check());
    let mut codes: Vec<_> = found.iter().map(StartProblem::code).collect();
    codes.sort_unstable();
    assert_eq!(
        codes,
        [
            "auth.scheme-missing",
            "auth.sessions-missing",
            "auth.sessions-missing",
            "auth.sessions-missing",
            "auth.tokens-missing",
            "auth.tokens-missing",
            "auth.tokens-missing",
        ]
    );
    let text = Error::Start(found).to_string();
    for part in [
        "7 problems",
        "`GET /a`",
        "`GET /c, POST /c`",
        "tests/auth/starts.rs:",
        "App::sessions(",
        "App::tokens(",
    ] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
}

#[tokio::test]
async fn an_app_that_has_one_of_them_misses_the_other_only() {
    let sessions = App::new(()).sessions(Sessions::memory()).routes(routes![a, b, c]);
    assert_eq!(codes(sessions.check()), ["auth.tokens-missing"; 2]);
    let tokens = App::new(()).tokens(Tokens::hs256(secret(1)).unwrap()).routes(routes![a, b, d]);
    assert_eq!(codes(tokens.check()), ["auth.sessions-missing"]);
    let all = App::new(()).sessions(Sessions::memory()).tokens(Tokens::hs256(secret(1)).unwrap());
    assert!(all.scheme(CallerScheme).routes(routes![a, b, c, d, e, f]).check().is_ok());
}

/// Settings of every kind and a route, reported together.
#[tokio::test]
async fn invalid_settings_are_reported_together() {
    let app_with = |lifetime, staleness| {
        let sessions = Sessions::memory()
            .idle(hours(9))
            .remembered_idle(days(10))
            .remembered_absolute(days(401))
            .touch_interval(hours(3))
            .limit_per_user(0, LimitPolicy::Deny)
            .login_page("https://evil.example/")
            .cookie_name("__Host-\u{e9}");
        let tokens = Tokens::hs256(secret(1))
            .unwrap()
            .issuer("")
            .lifetime(Duration::from_secs(lifetime))
            .leeway(Duration::from_secs(301))
            .max_staleness(Duration::from_secs(staleness))
            .refresh_grace(Duration::from_secs(61));
        App::new(()).sessions(sessions).tokens(tokens).routes(routes![a, e])
    };
    let expected = [
        "auth.scheme-missing",
        "session.cookie",
        "session.idle-over-absolute",
        "session.limit-zero",
        "session.login-page",
        "session.remembered-too-long",
        "session.touch-interval",
        "token.issuer-empty",
        "token.leeway",
        "token.lifetime",
        "token.refresh-grace",
        "token.staleness",
    ];
    let app = || app_with(0, 0);
    assert_eq!(codes(app_with(3601, 1).check()), expected, "on the other side of their bounds");
    assert_eq!(codes(app().check()), expected);
    assert_eq!(codes(app().open().await), expected);
    assert_eq!(codes(app().bind("127.0.0.1:0").await), expected);
}

/// No store is opened if the app has problems that can be found without one.
#[tokio::test]
async fn an_app_with_problems_opens_no_store() {
    let path = file("untouched");
    let tokens = Tokens::hs256(secret(1)).unwrap().lifetime(Duration::ZERO);
    let app = App::new(()).sessions(Sessions::embedded(&path)).tokens(tokens);
    assert_eq!(codes(app.open().await), ["token.lifetime"]);
    assert!(!path.exists());
}

#[test]
fn a_login_page_is_a_path_of_this_app() {
    for page in ["login", "//evil.example", "/\\evil.example", "/a b", "/login#next", "", "/\u{e9}"]
    {
        let sessions = Sessions::memory().login_page(page);
        let found = codes(App::new(()).sessions(sessions).check());
        assert_eq!(found, ["session.login-page"], "{page}");
    }
}

#[tokio::test]
async fn checks_and_tests_open_nothing_and_opening_opens_the_file() {
    let path = file("built");
    let app = || App::new(()).sessions(Sessions::embedded(&path)).routes(routes![a]);
    let client = app().test();
    assert_eq!(client.get("/a").send().await.status(), 401);
    app().check().unwrap();
    assert!(!path.exists(), "the file is there");
    let opened = app().open().await.unwrap();
    assert!(path.exists());
    // Opening a store twice in one process is refused as in two.
    let found = problems(app().open().await);
    let [problem] = &found[..] else { panic!("{found:?}") };
    assert_eq!((problem.rule(), problem.location()), (Rule::StoreUnavailable, "sessions"));
    assert!(problem.to_string().contains("built.redb"), "{problem}");
    drop(opened);
}

#[tokio::test]
async fn a_place_that_cannot_be_written_is_named() {
    let not_a_folder = file("plain");
    fs::write(&not_a_folder, "this is no database").unwrap();
    for path in [
        rooms().join("no such folder").join("sessions.redb"),
        not_a_folder.join("sessions.redb"),
        not_a_folder.clone(),
        rooms(),
    ] {
        let sessions = Sessions::embedded(&path);
        let found = problems(App::new(()).sessions(sessions).open().await);
        let [problem] = &found[..] else { panic!("{found:?}") };
        assert_eq!((problem.rule(), problem.location()), (Rule::StoreUnavailable, "sessions"));
        let name = path.file_name().unwrap().to_str().unwrap();
        let reason = std::error::Error::source(problem).unwrap().to_string();
        assert!(reason.contains(name), "{reason}");
        assert!(!problem.to_string().contains('\n') || problem.to_string().contains("help:"));
    }
    assert_eq!(fs::read_to_string(&not_a_folder).unwrap(), "this is no database");
}

/// Sessions and tokens in separate files are both reported.
#[tokio::test]
async fn every_unavailable_store_is_reported() {
    let gone = |name: &str| rooms().join("no such folder").join(name);
    let tokens = Tokens::hs256(secret(1)).unwrap().store(EmbeddedStore::new(gone("t.redb")));
    let app = App::new(()).sessions(Sessions::embedded(gone("s.redb"))).tokens(tokens);
    assert_eq!(codes(app.open().await), ["app.store"; 2]);
}

const FILE_OF_OTHER: &str = "POLICY_TEST_FILE_OF_OTHER";

/// The role of the second process of the next test.
#[tokio::test]
async fn as_the_second_process() {
    let Ok(path) = env::var(FILE_OF_OTHER) else { return };
    let found = problems(App::new(()).sessions(Sessions::embedded(path)).open().await);
    println!("refused: {}", Error::Start(found));
}

#[tokio::test]
async fn a_second_process_on_the_same_file_cannot_start_and_says_why() {
    let path = file("shared");
    let first = App::new(()).sessions(Sessions::embedded(&path)).routes(routes![a]);
    let first = first.open().await.unwrap();
    let second = Command::new(env::current_exe().unwrap())
        .args(["--exact", "starts::as_the_second_process", "--nocapture"])
        .env(FILE_OF_OTHER, &path)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&second.stdout);
    assert!(second.status.success(), "{text}");
    for part in ["refused: ", "shared.redb", "one process at a time"] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
    // The first app still works.
    let client = TestClient::new(first, "localhost");
    assert_eq!(client.get("/a").send().await.status(), 401);
}

#[test]
fn keys_that_are_none_are_no_tokens() {
    assert!(SecretKey::new(&[0; 31]).is_err());
    assert!(Tokens::hs256([("a", secret(1)), ("a", secret(2))]).is_err());
    assert!(Tokens::hs256([("", secret(1))]).is_err());
    assert!(Tokens::hs256(Vec::<(String, SecretKey)>::new()).is_err());
}

#[tokio::test]
async fn a_store_that_has_to_be_waited_for_opens_where_something_waits() {
    let (store, clock) = (FaultyStore::default(), Clock::at(START));
    store.hold();
    // A check opens no store, and so waits for none.
    app(&store, &clock, Vec::new()).0.check().unwrap();
    let (waiting, _) = app(&store, &clock, Vec::new());
    let panicked = panic::catch_unwind(panic::AssertUnwindSafe(|| waiting.into_service()));
    let text = panicked.unwrap_err().downcast::<String>().unwrap();
    assert!(text.contains("app.store-waits"), "{text}");
    let opening = tokio::spawn(app(&store, &clock, Vec::new()).0.open());
    http::soon(store.is_held()).await;
    store.release();
    assert!(opening.await.unwrap().is_ok());
}

#[tokio::test]
async fn encryption_needs_a_key() {
    let sessions = Sessions::memory().encrypted([]);
    let app = App::new(()).sessions(sessions).routes(routes![a]);
    assert_eq!(codes(app.open().await), ["session.key-missing"]);
}

/// The error about a URL that names no store does not repeat its password.
#[tokio::test]
async fn a_url_names_the_store_or_the_app_says_which_urls_there_are() {
    for (url, value) in [
        ("mysql://ada:secret@db.example/shop", "`mysql`"),
        ("memory:secret", "`memory`"),
        ("redb:", "`redb`"),
        ("secret", "`no scheme`"),
        ("", "`no scheme`"),
    ] {
        let app = || App::new(()).sessions(Sessions::from_url(url)).routes(routes![a]);
        let found = problems(app().open().await);
        let text = found[0].to_string();
        assert_eq!((found.len(), found[0].code()), (1, "session.store-url"), "{text}");
        assert!(text.contains(value) && text.contains("Sessions::from_url"), "{text}");
        assert!(text.contains("`memory:`") && !text.contains("secret"), "{text}");
        // Tests keep their sessions in memory.
        assert_eq!(app().test().get("/a").send().await.status(), 401);
    }
    let path = file("by-url");
    for url in ["memory:".to_owned(), format!("redb:{}", path.display())] {
        let app = App::new(()).sessions(Sessions::from_url(url)).routes(routes![a]);
        app.open().await.unwrap();
    }
    assert!(path.exists());
}

#[tokio::test]
async fn a_variable_names_the_store_or_the_app_says_that_it_is_not_set() {
    let open =
        |variable| App::new(()).sessions(Sessions::from_env(variable)).routes(routes![a]).open();
    let found = problems(open("POLICY_NO_SUCH_VARIABLE").await);
    assert_eq!((found.len(), found[0].code()), (1, "app.variable-unset"));
    let text = found[0].to_string();
    assert!(text.starts_with("Sessions::from_env: `POLICY_NO_SUCH_VARIABLE`"), "{text}");
    // A path: cargo sets this variable for every test.
    assert_eq!(codes(open("CARGO_MANIFEST_DIR").await), ["session.store-url"]);
}

/// The problems of both stores are reported, that of the sessions and that of the tokens.
#[tokio::test]
async fn a_malformed_url_and_a_broken_token_store_are_reported_together() {
    let broken = FaultyStore::default();
    broken.fail();
    let app = App::new(()).public_origin(OWN).routes(routes![a, b]);
    let app = app.sessions(Sessions::from_url("file:sessions")).tokens(tokens_on(&broken));
    assert_eq!(codes(app.open().await), ["app.store", "session.store-url"]);
}
