//! The manifest of an app: the effective policy of everything that it serves.
//!
//! Covers: levels (app, group, route), each kind of target, run-time lists, the public origin
//! (HSTS), lines of source files.

use policy_core::secret::SecretKey;
use policy_server::{
    AuthRequirement, CsrfPolicy, Mount,
    manifest::{Auth, Csrf, Direction, Lock, Manifest, RouteKind, RouteOrigins},
    prelude::*,
};

const PARTNERS: CorsPolicy = CorsPolicy::origins(&["https://partner.example"]).build();

#[get("/orders/{id}")]
#[cors(origins = ["https://app.shop.example"], credentials, max_age = 600)]
#[auth(session | token, scopes = ["orders:read"])]
#[cache(private, max_age = 30)]
#[object(none = "a test of something else")]
async fn order(id: u64) -> String {
    id.to_string()
}

#[post("/")]
#[auth(session)]
#[csrf(origin)]
#[limit(body = "1 KiB")]
async fn write() {}

#[get("/prices")]
#[cors(origins = config("partners", within = ["https://*.partner.example"]))]
#[auth(public)]
async fn prices() {}

fn app() -> App<()> {
    let files = tower::service_fn(async |_: policy_server::http::Request<policy_server::Body>| {
        Ok::<_, std::convert::Infallible>(policy_server::http::Response::new(String::new()))
    });
    let staff = AuthRequirement::session().roles(&["staff"]);
    App::new(())
        .public_origin("https://api.shop.example")
        .sessions(Sessions::memory())
        .tokens(Tokens::hs256([("k", SecretKey::from_bytes([7; 32]))]).unwrap())
        .origins("partners", ["https://a.partner.example"])
        .policies(Policies::new().cors(PARTNERS))
        .csrf(CsrfPolicy::OriginElseToken)
        .health("/healthz")
        .routes(routes![order, prices])
        .group("/notes", Group::new().policies(Policies::new().no_cors()).routes(routes![write]))
        .mount("/files", Mount::new(files).auth(staff))
}

#[test]
fn each_route_has_the_policy_of_the_nearest_level() {
    let manifest = app().manifest();
    let paths: Vec<_> = manifest.routes.iter().map(|route| (&*route.path, route.kind)).collect();
    assert_eq!(
        paths,
        [
            ("*", RouteKind::NotFound),
            ("/files", RouteKind::Mount),
            ("/healthz", RouteKind::Probe),
            ("/notes", RouteKind::Handler),
            ("/orders/{id}", RouteKind::Handler),
            ("/prices", RouteKind::Handler),
        ]
    );
    let of = |method: &str, path: &str| manifest.route(method, path).unwrap();
    let origins = |path: &str| of("GET", path).cors.as_ref().map(|cors| cors.origins.clone());
    let listed = |origin: &str| Some(RouteOrigins::Listed(vec![origin.to_owned()]));
    assert_eq!(origins("/orders/{id}"), listed("https://app.shop.example"));
    assert_eq!(origins("/files"), listed("https://partner.example"));
    assert!(
        matches!(origins("/prices"), Some(RouteOrigins::AtRunTime(list)) if list.list == "partners")
    );
    let write = of("POST", "/notes");
    assert_eq!((&write.cors, &write.csrf), (&None, &Csrf::Origin));
    assert_eq!(write.limits.body, Some(1024));
    assert_eq!(of("GET", "/orders/{id}").csrf, Csrf::OriginElseToken);
    let Auth::Required(staff) = &of("GET", "/files").auth else { panic!("it asks for staff") };
    assert_eq!((staff.session, &*staff.roles), (true, &["staff".to_owned()][..]));
    let headers = manifest.headers_of(write).unwrap();
    assert!(headers.every.contains_key("strict-transport-security"));
    let sessions = manifest.app.sessions.as_ref().unwrap();
    assert_eq!((&*sessions.store, &*sessions.cookie), ("memory", "__Host-sid"));
}

/// One more field from which tokens are taken.
#[test]
fn tokens_of_the_websocket_protocol_are_for_review() {
    let tokens = || Tokens::hs256([("k", SecretKey::from_bytes([7; 32]))]).unwrap();
    let plain = app().manifest();
    let taken = app().tokens(tokens().from_websocket_protocol()).manifest();
    assert!(taken.to_json().contains("\"websocket_protocol\":true"), "{}", taken.to_json());
    assert_eq!(Manifest::parse(&taken.to_json()).unwrap(), taken);
    for (old, new, direction) in
        [(&plain, &taken, Direction::Opens), (&taken, &plain, Direction::Narrows)]
    {
        let update = Lock::new(old.clone()).update(new).unwrap();
        let [change] = &update.changes[..] else { panic!("{:?}", update.changes) };
        assert_eq!((change.facet, change.direction), ("tokens", direction), "{change}");
        assert_eq!(update.to_accept.len(), usize::from(direction == Direction::Opens));
    }
}

#[test]
fn the_sources_name_the_lines_that_decided() {
    let sources = app().sources();
    let line = |text: &str| {
        let lines = include_str!("manifest.rs").lines();
        1 + u32::try_from(lines.into_iter().position(|line| line.contains(text)).unwrap()).unwrap()
    };
    for (method, path, facet, level, text) in [
        ("GET", "/orders/{id}", "cors", "route", "#[cors(origins = [\"https://app.shop"),
        ("POST", "/notes", "csrf", "route", "#[csrf(origin)]"),
        ("POST", "/notes", "limits", "route", "#[limit(body"),
        ("GET", "/orders/{id}", "csrf", "app", ".csrf(CsrfPolicy::Orig"),
        ("GET", "/files", "cors", "app", ".cors(PARTNERS)"),
        ("GET", "/files", "auth", "route", ".mount(\"/files\""),
    ] {
        let source = sources.get(method, path, facet).unwrap_or_else(|| panic!("{path} {facet}"));
        assert_eq!((source.level.name(), source.line), (level, line(text)), "{path} {facet}");
        assert!(source.file.ends_with("tests/app/manifest.rs"), "{}", source.file);
    }
    assert_eq!(sources.lists["partners"], ["https://a.partner.example"]);
    assert_eq!(sources.handlers["GET /prices"], "app::manifest::prices");
}
