//! The messages of an app that does not start.

use policy_core::{
    cache::CacheSpec,
    cors::{CorsSpec, Origins},
    headers::HeadersSpec,
    jsonp::JsonpSpec,
    route::{Facet, RoutePolicy},
};
use policy_server::{
    CsrfPolicy, ReverseProxy, Route, ServerSettings,
    codegen::{BoxFuture, Call, Description, Endpoint, Signature},
};

use super::*;

const PAGES: CorsPolicy = CorsPolicy::origins(&["https://*.github.io"]).credentials().build();

#[get("/users/{id}")]
#[auth(public)]
async fn user(id: u32) -> String {
    id.to_string()
}

#[get("/users/{name}")]
#[auth(public)]
async fn named(name: String) -> String {
    name
}

#[get("/prices")]
#[cors(origins = config("partners", within = ["https://*.partner.example"]), credentials)]
#[auth(public)]
async fn prices() {}

#[get("/pages")]
#[cors(PAGES)]
#[auth(public)]
async fn pages() {}

#[get("/shops")]
#[cors(origins = config("shops", within = ["https://*.shop.example"]))]
#[auth(public)]
async fn shops() {}

/// The text without line numbers, which change.
fn text(error: &Error) -> String {
    let text = error.to_string();
    let mut parts = text.split("tests/app/starts.rs:");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain += "tests/app/starts.rs:_";
        plain += part.trim_start_matches(|char: char| char.is_ascii_digit());
    }
    plain
}

#[test]
fn starts_are_refused_with_every_problem_at_once() {
    let default = CorsConfig::new(["https://App.example"]);
    let error = App::new(())
        .public_origin("http://api.example")
        .policies(Policies::new().cors(default))
        .routes(routes![user, named, prices, pages])
        .group("/api/", Group::new())
        .origins("forgotten", ["https://a.example"])
        .check()
        .expect_err("problems");
    let text = text(&error);
    let (pages, text): (Vec<_>, Vec<_>) = text.lines().partition(|line| line.contains("  see: "));
    assert_eq!(pages.len(), 7);
    assert!(
        pages[0].ends_with("/reference/codes/app.html#app.public-origin-insecure"),
        "{pages:?}"
    );
    assert_eq!(
        text.join("\n"),
        "\
the app does not start: 7 problems
- public origin: `http://api.example`: a public origin must use `https` (app.public-origin-insecure)
  help: write it with `https://`; to try the app from other machines of your network, add `App::tls(Tls::development(\"target/certificate\"))`; during development on loopback, remove `public_origin`
- app: origins `https://App.example`: an origin is compared byte for byte, and browsers send scheme and host in lower case (cors.origin-upper-case)
  help: write it in lower case
- app::starts::named (tests/app/starts.rs:_): `GET /users/{name}`: another route matches the same requests: `/users/{id}` of app::starts::user (route.conflict)
  help: change the path or the method of one of them
- app::starts::prices (tests/app/starts.rs:_): origins `partners`: the app has no list of origins with this name (cors.origin-list-missing)
  help: set it with `App::origins` or a configuration file
- app::starts::pages (tests/app/starts.rs:_): origins `https://*.github.io`: anybody can register a name under this public suffix, and could read responses with the user's cookies (cors.public-suffix-with-credentials)
  help: name your own domain below it, or the ending that only names of your account have, such as `https://shop-*-acme.vercel.app`, or state the risk with `dangerous_public_suffix`
- group: `/api/`: a prefix cannot be empty, have parameters or end with `/` (route.path-prefix)
  help: write a prefix such as `/api`; without a prefix, use `App::routes` or `App::fallback`
- app: origins `forgotten`: no route names this list of origins (cors.origin-list-unused)
  help: use it as `origins = config(\"..\")`, or remove it"
    );
}

/// Zero is no way to say "no time-out", which `Duration::MAX` is.
#[test]
fn starts_need_time_for_clients() {
    let none = Duration::ZERO;
    let settings = ServerSettings::default().shutdown_timeout(none).drain(none);
    assert!(App::new(()).settings(settings.clone()).check().is_ok());
    let error = App::new(()).settings(settings.header_timeout(none).idle_timeout(none)).check();
    let error = text(&error.expect_err("problems"));
    assert_eq!(error.matches("(app.time-zero)").count(), 2, "{error}");
    for name in ["header_timeout", "idle_timeout"] {
        assert!(error.contains(&format!("App::settings: `{name}`: ")), "{error}");
    }
}

#[get("/account")]
#[auth(session)]
async fn account() {}

#[get("/hidden-account")]
#[cors(none)]
#[auth(session)]
async fn hidden() {}

#[get("/reports")]
#[auth(session | token)]
async fn reports() {}

#[test]
fn starts_fail_if_a_default_shares_session_routes_without_credentials() {
    const OPEN: CorsPolicy = CorsPolicy::origins(&["*"]).build();
    const CLOSED: CorsPolicy = CorsPolicy::origins(&["https://app.example"]).credentials().build();
    let refused = |app: App<()>| match app.check() {
        Err(error) => text(&error).matches("(auth.cors-without-credentials)").count(),
        Ok(_) => 0,
    };
    let routes = || routes![account, hidden, reports];
    assert_eq!(refused(App::new(()).policies(Policies::new().cors(OPEN)).routes(routes())), 1);
    assert_eq!(
        refused(
            App::new(())
                .group("/a", Group::new().policies(Policies::new().cors(OPEN)).routes(routes()))
        ),
        1
    );
    assert_eq!(refused(App::new(()).policies(Policies::new().cors(CLOSED)).routes(routes())), 0);
    assert_eq!(refused(App::new(()).routes(routes())), 0);
}

#[test]
fn refusals_to_start_name_one_problem_as_one() {
    let error = App::new(()).routes(routes![user, named]).check().expect_err("a conflict");
    assert_eq!(codes(&error), ["route.conflict"]);
    assert!(error.to_string().starts_with("the app does not start: 1 problem\n- "), "{error}");
    // What `main` prints.
    let text = error.to_string();
    assert!(format!("{:?}", policy_server::Report::from(error)).contains(&text), "{text}");
}

#[test]
fn starts_report_every_bad_entry_of_a_list() {
    let list = ["https://a.shop.example", "https://b.shop.example/", "https://evil.example"];
    let app = App::new(()).routes(routes![shops]).origins("shops", list);
    let error = app.check().expect_err("two bad entries");
    let mut found = codes(&error);
    found.sort_unstable();
    assert_eq!(found, ["cors.origin-outside-bound", "cors.origin-path"], "{error}");
    // A list without a good entry is not called unused.
    for (entry, code) in [
        ("https://evil.example", "cors.origin-outside-bound"),
        ("https://b.shop.example/", "cors.origin-path"),
    ] {
        let app = App::new(()).routes(routes![shops]).origins("shops", [entry]);
        let error = app.check().expect_err(entry);
        assert_eq!(codes(&error), [code], "{error}");
        assert!(error.to_string().contains("`shops`"), "{error}");
    }
}

fn empty() -> Mount {
    Mount::new(service_fn(async |_request: Request| {
        Ok::<_, Infallible>(Response::new(Body::empty()))
    }))
    .public()
}

#[test]
fn starts_refuse_routes_that_take_the_same_requests() {
    let group = || Group::new().routes(routes![plain]);
    for (what, app) in [
        ("twice", App::new(()).routes(routes![plain, plain])),
        ("groups", App::new(()).group("/a", group()).group("/a", group())),
        (
            "a group and a route",
            App::new(()).routes(routes![plain]).group("/plain", Group::new().routes(routes![root])),
        ),
        ("mounts", App::new(()).mount("/a", empty()).mount("/a", empty())),
    ] {
        let error = app.check().expect_err(what);
        assert_eq!(codes(&error), ["route.conflict"], "{error}");
    }
}

/// A handler that no macro made, so that its attributes were not checked.
struct Unchecked;

impl Endpoint<(), ()> for Unchecked {
    fn declare(description: &mut Description) {
        *description = Description {
            routes: &[("GET", "/unchecked")],
            policy: RoutePolicy {
                cors: Facet::Set(CorsSpec {
                    credentials: true,
                    ..CorsSpec::new(Origins::Listed(&["*"]))
                }),
                cache: Facet::Set(CacheSpec { immutable: true, ..CacheSpec::NOTHING }),
                headers: Facet::Set(HeadersSpec {
                    referrer: Some("sometimes"),
                    ..HeadersSpec::NOTHING
                }),
                jsonp: Some(JsonpSpec { callback: "call back", ..JsonpSpec::NOTHING }),
                ..RoutePolicy::PUBLIC
            },
            handler: "unchecked",
            ..Description::NOTHING
        };
    }

    fn describe(_: &mut Signature) {}

    fn call(_: &mut Call) -> BoxFuture {
        panic!("an app that does not start calls no handler")
    }
}

#[test]
fn starts_repeat_the_checks_of_macros() {
    let error =
        App::new(()).routes(vec![Route::new(Unchecked)]).check().expect_err("four mistakes");
    assert_eq!(
        codes(&error),
        [
            "cors.any-origin-with-credentials",
            "cache.immutable-without-age",
            "headers.referrer-unknown",
            "jsonp.parameter-name"
        ]
    );
}

#[test]
fn starts_report_a_bad_prefix_once() {
    for prefix in ["api", "/api/", "/{id}", "/a//b", "/", "", "/a?b", "/a b", "/..", "/{*rest}"] {
        let grouped = App::new(()).group(prefix, Group::new().routes(routes![plain, root]));
        let mounted = App::new(()).mount(prefix, empty());
        let inside = App::new(()).group("/v1", Group::new().mount(prefix, empty()));
        let proxy = ReverseProxy::new(prefix, "http://127.0.0.1:9000").public();
        let proxied = App::new(()).group("/v1", Group::new().proxy(proxy));
        for (place, app) in
            [("group", grouped), ("mount", mounted), ("mount", inside), ("proxy", proxied)]
        {
            let error = app.check().expect_err(prefix);
            assert_eq!(codes(&error).len(), 1, "{error}");
            assert!(error.to_string().contains(&format!("{place}: `{prefix}`: ")), "{error}");
        }
    }
}

#[test]
fn starts_need_a_public_origin_in_its_one_form() {
    for origin in [
        "http://api.example",
        "https://api.example/",
        "https://*.example",
        "api.example",
        "https://api.example:443",
        "https://API.example",
        "*",
        "null",
        "",
        "https://u@api.example",
        "https://api.example:*",
    ] {
        let error = App::new(()).public_origin(origin).check().expect_err(origin);
        match origin {
            "http://api.example" => assert_eq!(codes(&error), ["app.public-origin-insecure"]),
            "https://*.example" => assert_eq!(codes(&error), ["app.public-origin"]),
            _ => assert_eq!(codes(&error).len(), 1, "{error}"),
        }
        assert!(error.to_string().contains(&format!("public origin: `{origin}`")), "{error}");
    }
}

/// The error names the origin, and the fix says how to try the app in a local network.
#[tokio::test]
async fn an_origin_without_tls_in_a_local_network_gets_one_error_with_its_fix() {
    let app = App::new(()).public_origin("http://192.168.0.10:8080").routes(routes![plain]);
    let error = app.bind("0.0.0.0:0").await.expect_err("refused");
    assert_eq!(codes(&error), ["app.public-origin-insecure"], "{error}");
    assert!(error.to_string().contains("Tls::development("), "{error}");
}

#[tokio::test]
async fn apps_without_a_public_origin_are_for_this_machine() {
    for address in ["0.0.0.0:0", "[::]:0"] {
        let error = App::new(()).routes(routes![plain]).bind(address).await.expect_err("refused");
        if codes(&error) == ["app.listen"] {
            // Not every machine has IPv6.
            continue;
        }
        assert_eq!(codes(&error), ["app.public-origin-missing"]);
    }
    let public = App::new(()).public_origin("https://api.example").routes(routes![plain]);
    assert!(public.bind("0.0.0.0:0").await.is_ok());
}

#[test]
fn starts_need_callers_for_routes_without_attributes() {
    fn silent() -> Mount {
        Mount::new(service_fn(async |_request: Request| {
            Ok::<_, Infallible>(Response::new(Body::empty()))
        }))
    }
    fn proxy() -> ReverseProxy {
        ReverseProxy::new("/api", "http://127.0.0.1:9")
    }
    type Change = fn(App<()>) -> App<()>;
    for (place, change) in [
        ("mount /files", (|app| app.mount("/files", silent())) as Change),
        ("proxy /api", |app| app.proxy(proxy())),
        ("fallback", |app| app.fallback(Fallback::handler(async |_| "the page"))),
        ("mount /in/files", |app| app.group("/in", Group::new().mount("/files", silent()))),
        ("proxy /in/api", |app| app.group("/in", Group::new().proxy(proxy()))),
    ] {
        let error = change(App::new(())).check().expect_err(place);
        assert_eq!(codes(&error), ["auth.mount-callers-missing"], "{error}");
        assert!(error.to_string().contains(place), "{error}");
        assert!(change(App::new(()).public()).check().is_ok(), "{place}");
    }
    // The settings of a group apply in it and nowhere else.
    let group = Group::new().public().mount("/files", silent()).proxy(proxy());
    assert!(App::new(()).group("/in", group).check().is_ok());
    let beside = App::new(()).group("/in", Group::new().public()).mount("/files", silent());
    assert_eq!(codes(&beside.check().expect_err("a mount")), ["auth.mount-callers-missing"]);
}

#[test]
fn starts_check_callers_of_mounts_as_the_compiler_checks_handlers() {
    let mount = |requirement| empty().auth(requirement);
    let exempt = empty().csrf(CsrfPolicy::Exempt(" "));
    for (mount, expected) in [
        (mount(AuthRequirement::session()), &["auth.sessions-missing"][..]),
        (mount(AuthRequirement::token().or_ticket()), &["auth.tokens-missing"]),
        (
            mount(AuthRequirement::token().roles(&[]).scopes(&[])),
            &["auth.requirement-empty", "auth.requirement-empty", "auth.tokens-missing"],
        ),
        (
            mount(AuthRequirement::token().fresh(Duration::ZERO)),
            &["auth.fresh-out-of-bounds", "auth.tokens-missing"],
        ),
        (exempt, &["csrf.exempt-without-reason"]),
    ] {
        let error = App::new(()).mount("/a", mount).check().expect_err("a problem");
        assert_eq!(codes(&error), expected, "{error}");
    }
    // A setting of an app or a group applies to all its routes, and is reported once.
    let (blank, public) = (CsrfPolicy::Exempt(""), || empty().public());
    let app = App::new(()).csrf(blank).mount("/a", public());
    let group = Group::new().csrf(blank).mount("/a", public()).mount("/b", public());
    for app in [app, App::new(()).group("/in", group)] {
        let error = app.check().expect_err("a problem");
        assert_eq!(codes(&error), ["csrf.exempt-without-reason"], "{error}");
    }
}
