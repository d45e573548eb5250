//! Lists of origins that a path parameter selects, within one bound.

use policy_server::{PolicyLayer, manifest::RouteOrigins};

use super::*;

#[get("/{tenant}/orders")]
#[cors(origins = config("tenants", by = "tenant", within = ["https://*.shop.example", "https://*.acme.example"]), credentials)]
#[auth(public)]
async fn orders(tenant: String) -> String {
    tenant
}

#[put("/{tenant}/orders/{id}")]
#[cors(origins = config("tenants", by = "tenant", within = ["https://*.shop.example"]))]
#[auth(public)]
async fn order(tenant: String, id: u32) -> String {
    format!("{tenant} {id}")
}

const ACME: &str = "https://app.acme.example";
const GLOBEX: &str = "https://globex.shop.example";

fn tenants() -> (SharedOrigins, App<()>) {
    let tenants = SharedOrigins::new();
    let app = App::new(())
        .public_origin("https://api.shop.example")
        .origins("tenants", &tenants)
        .routes(routes![orders]);
    (tenants, app)
}

/// Whether a page may read the response, and whether a preflight lets it send the request.
async fn grants(client: &TestClient, path: &str, origin: &str) -> [bool; 2] {
    let is_named =
        |response: &TestResponse| response.header("access-control-allow-origin") == Some(origin);
    let read = client.get(path).origin(origin).send().await;
    let preflight = client.request(Method::OPTIONS, path).origin(origin);
    let preflight = preflight.header("access-control-request-method", "GET").send().await;
    [is_named(&read), is_named(&preflight)]
}

#[tokio::test]
async fn each_tenant_has_its_own_origins() {
    let (tenants, app) = tenants();
    let client = app.test();
    tenants.replace_for("acme", &[ACME]).expect("within the bound");
    tenants.replace_for("globex", &[GLOBEX]).expect("within the bound");
    // The list without a key applies to no tenant.
    tenants.replace(&["https://all.shop.example"]).expect("within the bound");
    for (path, origin, expected) in [
        ("/acme/orders", ACME, true),
        ("/acme/orders", GLOBEX, false),
        ("/globex/orders", GLOBEX, true),
        ("/globex/orders", ACME, false),
        ("/initech/orders", ACME, false),
        ("/initech/orders", "https://all.shop.example", false),
        // A value is compared in its normal form: percent-encoded unreserved characters are
        // decoded.
        ("/%61cme/orders", ACME, true),
        ("/ACME/orders", ACME, false),
        ("/acme%20/orders", ACME, false),
    ] {
        assert_eq!(grants(&client, path, origin).await, [expected; 2], "{path} {origin}");
    }
    // The automatic responses of a path also use the list of its tenant.
    let wrong_method = client.request(Method::DELETE, "/acme/orders").origin(ACME).send().await;
    assert_eq!(wrong_method.status(), 405);
    assert_eq!(wrong_method.header("access-control-allow-origin"), Some(ACME));
}

#[tokio::test]
async fn a_list_of_a_tenant_is_bounded_and_removable() {
    let (tenants, app) = tenants();
    let client = app.test();
    tenants.replace_for("acme", &[ACME]).expect("within the bound");
    let outside = tenants.replace_for("acme", &["https://evil.example"]).unwrap_err();
    assert_eq!(outside.errors()[0].rule().code(), "cors.origin-outside-bound");
    assert_eq!(tenants.patterns_for("acme"), [ACME], "the old list stays");
    for key in ["", "a/b", "a%62", "ä"] {
        let refused = tenants.replace_for(key, &[ACME]).unwrap_err();
        assert_eq!(refused.errors()[0].rule().code(), "cors.list-key", "{key}");
    }
    tenants.replace_for::<&str>("acme", &[]).expect("an empty list");
    assert_eq!(grants(&client, "/acme/orders", ACME).await, [false; 2]);
}

#[test]
fn lists_are_checked_against_the_bound_at_start() {
    let (tenants, app) = tenants();
    tenants.replace_for("acme", &["https://evil.example"]).expect("no route uses it yet");
    let error = app.check().expect_err("outside of the bound");
    assert_eq!(codes(&error), ["cors.origin-outside-bound"]);
}

/// The manifest states the parameter that selects the list, and the bound.
#[test]
fn the_manifest_names_the_bound_and_the_parameter() {
    let (_tenants, app) = tenants();
    let manifest = app.routes(routes![order]).manifest().normal();
    let route = manifest.routes.iter().find(|route| route.path == "/{tenant}/orders/{id}");
    let Some(RouteOrigins::AtRunTime(list)) =
        route.and_then(|it| it.cors.as_ref()).map(|it| &it.origins)
    else {
        panic!("{manifest:?}")
    };
    assert_eq!((&*list.list, list.by.as_deref()), ("tenants", Some("tenant")));
    assert_eq!(list.within.as_deref(), Some(&["https://*.shop.example".to_owned()][..]));
    let read = policy_server::manifest::Manifest::parse(&manifest.to_json());
    assert_eq!(read.expect("its own text"), manifest);
}

#[test]
fn a_path_without_the_parameter_does_not_start() {
    const BY: CorsPolicy = CorsPolicy::origins_at_run_time("tenants")
        .within(&["https://*.shop.example"])
        .by("tenant")
        .build();

    #[get("/prices")]
    #[auth(public)]
    async fn prices() {}

    let tenants = SharedOrigins::new();
    let app = || App::new(()).origins("tenants", &tenants).policies(Policies::new().cors(BY));
    let service = || Mount::new(Router::new()).public();
    for app in [app().routes(routes![prices]), app().mount("/old", service())] {
        let error = app.check().expect_err("no parameter");
        assert_eq!(codes(&error), ["cors.list-by"]);
    }
    assert!(app().routes(routes![orders]).check().is_ok());
    let layer =
        PolicyLayer::builder().origins("tenants", &tenants).policies(Policies::new().cors(BY));
    assert_eq!(codes(&layer.build().expect_err("no parameter"))[0], "cors.list-by");
}
