//! Lists of origins that are only known at run time.

use policy_server::{OriginList, Rule};
use policy_tests::{folder::Folder, log::Log};

use super::*;

#[get("/prices")]
#[cors(origins = config("partners", within = ["https://*.partner.example"]), credentials)]
#[auth(public)]
async fn prices() -> &'static str {
    "prices"
}

/// A configuration file in its folder.
fn config_file(text: &str) -> (Folder, PathBuf) {
    let folder = Folder::new().expect("a folder");
    let file = folder.path().join("app.toml");
    fs::write(&file, text).expect("a file");
    (folder, file)
}

async fn is_granted(client: &TestClient, origin: &str) -> bool {
    let response: TestResponse = client.get("/prices").origin(origin).send().await;
    response.header("access-control-allow-origin").is_some()
}

#[tokio::test]
async fn lists_of_origins_are_replaced_while_the_server_runs() {
    let partners = SharedOrigins::new();
    let app = App::new(()).routes(routes![prices]).origins("partners", &partners);
    let server = Running::start(app).await;
    let mut connection = server.connect().await;
    let get_prices = |origin: &str| request("GET /prices", &[&format!("origin: {origin}")]);
    let (a, b) = ("https://a.partner.example", "https://b.partner.example");

    connection.send(get_prices(a)).await;
    assert_eq!(connection.response().await.sharing(), [""; 0]);

    partners.replace(&[a]).unwrap();
    connection.send(get_prices(a)).await;
    let granted = connection.response().await.sharing();
    assert_eq!(
        granted,
        [
            "access-control-allow-credentials: true",
            "access-control-allow-origin: https://a.partner.example"
        ]
    );

    // The whole list is refused, with every reason, and the old list stays.
    let error = partners
        .replace(&[b, "https://evil.example", "https://B.partner.example", "*"])
        .unwrap_err();
    assert_eq!(error.errors().len(), 3, "{error}");
    connection.send(get_prices(b)).await;
    assert_eq!(connection.response().await.sharing(), [""; 0]);
    connection.send(get_prices(a)).await;
    assert_eq!(connection.response().await.sharing(), granted);

    partners.replace(&[b]).unwrap();
    connection.send(get_prices(a)).await;
    assert_eq!(connection.response().await.sharing(), [""; 0]);
    let preflight = request(
        "OPTIONS /prices",
        &[&format!("origin: {b}"), "access-control-request-method: GET"],
    );
    connection.send(preflight).await;
    assert_eq!(connection.response().await.status, 204);
}

/// Every request sees either the old list or the new one: exactly one of the two origins is
/// granted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_of_origins_are_replaced_atomically() {
    let partners = SharedOrigins::new();
    let both = ["https://a.partner.example", "https://always.partner.example"];
    partners.replace(&both).unwrap();
    let app = App::new(()).routes(routes![prices]).origins("partners", &partners);
    let client = app.test();
    let (done, mut is_done) = tokio::sync::oneshot::channel::<()>();
    let replacing = tokio::task::spawn_blocking(move || {
        let other = ["https://b.partner.example", "https://always.partner.example"];
        let mut count = 0;
        while is_done.try_recv() == Err(tokio::sync::oneshot::error::TryRecvError::Empty) {
            partners.replace(if count % 2 == 0 { &other } else { &both }).unwrap();
            count += 1;
        }
        count
    });
    for _ in 0..2000 {
        assert!(is_granted(&client, "https://always.partner.example").await);
    }
    done.send(()).unwrap();
    assert!(replacing.await.unwrap() > 0);
}

#[tokio::test]
async fn of_lists_with_one_name_the_last_counts_wherever_it_is_from() {
    let file = |letter: &str| {
        config_file(&format!("[origins]\npartners = [\"https://{letter}.partner.example\"]\n"))
    };
    let ((_one, one), (_other, other)) = (file("a"), file("b"));
    let app = || App::new(()).routes(routes![prices]).config_file(&one);
    for (app, last) in [
        (app().config_file(&other), "b"),
        (app().origins("partners", ["https://c.partner.example"]), "c"),
        (app().origins("partners", ["https://c.partner.example"]).config_file(&other), "b"),
    ] {
        let client = app.test();
        for letter in ["a", "b", "c"] {
            let origin = format!("https://{letter}.partner.example");
            assert_eq!(is_granted(&client, &origin).await, letter == last, "{letter}, not {last}");
        }
    }
}

#[test]
fn lists_of_origins_of_a_bad_file_are_refused() {
    const UNREADABLE: &str = "app.config-file";
    for (name, text, code, line) in [
        ("table", "[origin]\npartners = []\n", UNREADABLE, "line 1: "),
        ("key", "# lists\norigin = []\n[origins]\npartners = []\n", UNREADABLE, "line 2: "),
        ("type", "[origins]\npartners = \"https://a.partner.example\"\n", UNREADABLE, "line 2: "),
        ("toml", "[origins\n", UNREADABLE, "line "),
        ("twice", "[origins]\npartners = []\npartners = []\n", UNREADABLE, "line 3: "),
        (
            "bound",
            "[origins]\npartners = [\"https://evil.example\"]\n",
            "cors.origin-outside-bound",
            "",
        ),
        (
            "line",
            "[origins]\npartners = [\"https://a.example\\n- forged\"]\n",
            "cors.origin-space",
            "",
        ),
    ] {
        let (_folder, file) = config_file(text);
        let app = App::new(()).routes(routes![prices]).config_file(file);
        let error = app.check().expect_err(name);
        assert_eq!(codes(&error), [code], "{error}");
        assert!(error.to_string().contains(line), "{error}");
        // Content of a file cannot forge a line of a message.
        assert!(!error.to_string().contains("\n- forged"), "{error}");
    }
}

#[test]
fn lists_of_origins_of_a_missing_file_are_refused() {
    let app = App::new(()).routes(routes![prices]).config_file("tests/no-such-file.toml");
    let error = app.check().expect_err("no file").to_string();
    assert!(error.contains("- App::config_file: `tests/no-such-file.toml`: "), "{error}");
}

#[tokio::test]
async fn lists_of_origins_come_from_the_environment() {
    const NAME: &str = "lists_of_origins::lists_of_origins_come_from_the_environment";
    const VARIABLE: &str = "POLICY_TEST_PARTNERS";
    let app =
        || App::new(()).routes(routes![prices]).origins("partners", OriginList::env(VARIABLE));
    match process::role().as_deref() {
        None => {
            let list = "https://a.partner.example, https://b.partner.example\n  https://c.partner.example,,";
            process::succeeds(process::again(NAME, "good").env(VARIABLE, list));
            process::succeeds(process::again(NAME, "bad").env(VARIABLE, "https://evil.example"));
            process::succeeds(process::again(NAME, "empty").env(VARIABLE, ""));
            process::succeeds(process::again(NAME, "missing").env_remove(VARIABLE));
        }
        Some("good") => {
            let client = app().test();
            for name in ["a", "b", "c"] {
                assert!(is_granted(&client, &format!("https://{name}.partner.example")).await);
            }
        }
        Some("empty") => {
            assert!(!is_granted(&app().test(), "https://a.partner.example").await);
        }
        Some(role) => {
            let error = app().check().expect_err("a problem");
            let code =
                if role == "bad" { "cors.origin-outside-bound" } else { "app.variable-unset" };
            assert!(error.to_string().contains(code), "{error}");
        }
    }
}

/// A product on the domains of its customers.
#[get("/me")]
#[cors(origins = config("customer"), credentials, dangerous_configured_bound)]
#[auth(public)]
async fn me() {}

fn problems(app: App<()>) -> Vec<(&'static str, String)> {
    match app.check() {
        Ok(_) => Vec::new(),
        Err(Error::Start(problems)) => {
            problems.iter().map(|problem| (problem.code(), problem.to_string())).collect()
        }
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn lists_of_origins_are_within_the_bound_of_the_configuration() {
    let pages = SharedOrigins::new();
    let list = OriginList::from(&pages).within(["https://*.acme.example", "https://acme.example"]);
    let app = App::new(()).routes(routes![me]).origins("customer", list);
    let (log, _guard) = Log::start("policy_server");
    let server = Running::start(app).await;
    let sharing = async |origin: &str| {
        server.response(request("GET /me", &[&format!("origin: {origin}")])).await.sharing().len()
    };
    assert_eq!(sharing("https://tasks.acme.example").await, 0);
    pages.replace(&["https://tasks.acme.example"]).expect("within the bound");
    assert_eq!(sharing("https://tasks.acme.example").await, 2);
    let error = pages.replace(&["https://tasks.other.example"]).unwrap_err();
    assert_eq!(error.errors()[0].rule(), Rule::OriginOutsideBound);
    let notices = log.with_code("cors.bound-configured");
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].contains("https://*.acme.example https://acme.example"), "{notices:?}");
}

#[test]
fn invalid_and_unused_bounds_of_the_configuration_stop_the_start() {
    let empty = || OriginList::from([""; 0]);
    let app = |list: OriginList| App::new(()).routes(routes![me]).origins("customer", list);
    for (bound, codes) in [
        (&["https://*.acme.example"][..], &[][..]),
        (&[], &["cors.origins-missing"]),
        (&["*"], &["cors.any-origin-with-credentials"]),
        (&["http://acme.example"], &["cors.insecure-origin-with-credentials"]),
        (&["https://*.co.uk"], &["cors.public-suffix-with-credentials"]),
        (&["https://Acme.example/"], &["cors.origin-upper-case"]),
    ] {
        let found = problems(app(empty().within(bound.iter().copied())));
        let found_codes: Vec<_> = found.iter().map(|(code, _)| *code).collect();
        assert_eq!(found_codes, codes, "{found:?}");
        let is_located = |(_, text): &(_, String)| {
            text.contains(", configured bound of list `customer`: within")
        };
        assert!(found.iter().all(is_located), "{found:?}");
    }
    let unset = problems(app(empty()));
    assert_eq!(unset.len(), 1, "{unset:?}");
    assert!(unset[0].1.contains(": within `customer`: "), "{unset:?}");
    assert_eq!(unset[0].0, "cors.bound-unset");
    let unused = empty().within(["https://acme.example"]);
    let unused = problems(App::new(()).routes(routes![prices]).origins("partners", unused));
    assert_eq!(unused.iter().map(|(code, _)| *code).collect::<Vec<_>>(), ["cors.bound-unused"]);
    let missing = problems(app(empty().within_env("POLICY_TEST_NO_VARIABLE")));
    let codes: Vec<_> = missing.iter().map(|(code, _)| *code).collect();
    assert_eq!(codes, ["app.variable-unset"], "{missing:?}");
    assert!(missing[0].1.starts_with("OriginList::within_env: "), "{missing:?}");
}

#[tokio::test]
async fn bounds_come_from_a_file_or_the_environment() {
    const NAME: &str = "lists_of_origins::bounds_come_from_a_file_or_the_environment";
    const VARIABLE: &str = "POLICY_TEST_BOUND";
    let app = || App::new(()).routes(routes![me]);
    let origin = "https://tasks.acme.example";
    if process::role().is_some() {
        let list = OriginList::from(vec![origin]).within_env(VARIABLE);
        assert_eq!(problems(app().origins("customer", list)), []);
        return;
    }
    let bound = "https://acme.example, https://*.acme.example";
    process::succeeds(process::again(NAME, "variable").env(VARIABLE, bound));
    for (bound, codes) in [
        ("https://*.acme.example", &[][..]),
        ("https://*.other.example", &["cors.origin-outside-bound"]),
    ] {
        // As a text editor on Windows writes it.
        let text = format!(
            "\u{feff}[bounds]\r\ncustomer = [\"{bound}\"]\r\n[origins]\r\ncustomer = [\"{origin}\"]\r\n"
        );
        let (_folder, file) = config_file(&text);
        let found = problems(app().config_file(file));
        assert_eq!(found.iter().map(|(code, _)| *code).collect::<Vec<_>>(), codes, "{found:?}");
    }
}
