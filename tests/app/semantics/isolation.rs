//! Which pages of other sites may load a response, for every combination of Fetch Metadata.

use super::*;

#[route(GET, POST, "/private")]
#[isolation(same_origin)]
#[auth(public)]
async fn own(State(calls): State<Calls>) -> &'static str {
    calls.fetch_add(1, Ordering::Relaxed);
    "own"
}

#[route(GET, POST, "/site")]
#[isolation(same_site)]
#[auth(public)]
async fn site(State(calls): State<Calls>) -> &'static str {
    calls.fetch_add(1, Ordering::Relaxed);
    "site"
}

#[route(GET, POST, "/shared")]
#[isolation(same_origin)]
#[cors(SHOP)]
#[auth(public)]
async fn shared(State(calls): State<Calls>) -> &'static str {
    calls.fetch_add(1, Ordering::Relaxed);
    "shared"
}

#[route(GET, POST, "/everybody")]
#[isolation(same_origin)]
#[cors(origins = ["*"])]
#[auth(public)]
async fn everybody(State(calls): State<Calls>) -> &'static str {
    calls.fetch_add(1, Ordering::Relaxed);
    "everybody"
}

#[get("/scripts")]
#[isolation(same_origin)]
#[jsonp(callback = "cb")]
#[auth(public)]
async fn scripts() -> Json<u8> {
    Json(7)
}

#[get("/open")]
#[isolation(none)]
#[auth(public)]
async fn open() -> &'static str {
    "open"
}

#[get("/inherits")]
#[auth(public)]
async fn inherits() -> &'static str {
    "inherits"
}

/// A page of the server itself.
const OWN_PAGE: &str = "origin: http://localhost";

type Calls = Arc<AtomicUsize>;

fn app(calls: &Calls) -> App<Calls> {
    App::new(Arc::clone(calls))
        .routes(routes![own, site, shared, everybody, scripts, open, inherits])
}

/// The resource isolation policy of W3C Fetch Metadata, as a separate table.
fn is_let_in(
    path: &str,
    method: &str,
    site: &[&str],
    mode: &[&str],
    dest: &[&str],
    origin: &str,
) -> bool {
    let is_granted = match path {
        "/shared" => origin == PAGE,
        "/everybody" => !origin.is_empty(),
        _ => false,
    };
    let is_link = mode == ["navigate"] && dest == ["document"] && matches!(method, "GET" | "HEAD");
    match site {
        // Programs state neither; a browser that states the origin alone has to state a good one.
        [] => origin.is_empty() || origin == OWN_PAGE || is_granted,
        // A request that another site redirected (Fetch, tainted origin). Two modes are read as the
        // stricter one.
        ["same-origin"] if origin == "origin: null" && (mode == ["cors"] || mode.len() > 1) => {
            is_granted
        }
        ["same-origin"] | ["none"] => true,
        ["same-site"] => path == "/site" || is_granted || is_link,
        ["cross-site"] => is_granted || is_link,
        _ => false,
    }
}

#[tokio::test]
async fn every_combination_is_let_in_as_the_standard_says() {
    let calls = Calls::default();
    let server = Running::start(app(&calls)).await;
    let sites: [&[&str]; 9] = [
        &[],
        &["same-origin"],
        &["none"],
        &["same-site"],
        &["cross-site"],
        &["cross-origin"],
        &[""],
        &["same-origin", "same-origin"],
        &["Same-Origin"],
    ];
    let modes: [&[&str]; 6] =
        [&[], &["navigate"], &["cors"], &["no-cors"], &["unknown"], &["navigate", "navigate"]];
    let dests: [&[&str]; 6] =
        [&[], &["document"], &["image"], &["iframe"], &["empty"], &["document", "image"]];
    let mut connection = server.connect().await;
    let (mut admitted, mut refused) = (0, 0);
    for path in ["/private", "/site", "/shared", "/everybody"] {
        for method in ["GET", "HEAD", "POST"] {
            for (site, origin) in sites.iter().flat_map(|site| {
                ["", PAGE, EVIL, OWN_PAGE, "origin: null"].map(|origin| (site, origin))
            }) {
                for (mode, dest) in
                    modes.iter().flat_map(|mode| dests.iter().map(move |dest| (mode, dest)))
                {
                    let mut fields = vec![origin.to_owned()];
                    for (name, values) in [("site", site), ("mode", mode), ("dest", dest)] {
                        fields.extend(
                            values.iter().map(|value| format!("sec-fetch-{name}: {value}")),
                        );
                    }
                    let fields: Vec<_> = fields
                        .iter()
                        .map(String::as_str)
                        .filter(|field| !field.is_empty())
                        .collect();
                    let before = calls.load(Ordering::Relaxed);
                    connection.send(request(&format!("{method} {path}"), &fields)).await;
                    let response = if method == "HEAD" {
                        connection.head().await
                    } else {
                        connection.response().await
                    };
                    let expected = is_let_in(path, method, site, mode, dest, origin);
                    assert_eq!(
                        response.status,
                        if expected { 200 } else { 403 },
                        "{method} {path} {fields:?}"
                    );
                    let called = calls.load(Ordering::Relaxed) - before;
                    assert_eq!(called, usize::from(expected), "{method} {path} {fields:?}");
                    let named = ["sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest", "origin"];
                    let varies = vary(&response);
                    assert!(named.iter().all(|name| varies.contains(*name)), "{response:?}");
                    if expected { admitted += 1 } else { refused += 1 }
                }
            }
        }
    }
    assert!(admitted > 3000 && refused > 3000, "{admitted} {refused}");
}

#[tokio::test]
async fn shared_routes_and_preflights_pass_isolation() {
    let server = Running::start(
        app(&Calls::default()).policies(Policies::new().isolation(Isolation::SameOrigin)),
    )
    .await;
    let script =
        ["sec-fetch-site: cross-site", "sec-fetch-mode: no-cors", "sec-fetch-dest: script"];
    assert_eq!(ask(&server, "GET /scripts?cb=f", &script).await.status, 200);
    assert_eq!(ask(&server, "GET /open", &script).await.status, 200);
    let refused = ask(&server, "GET /inherits", &script).await;
    assert_eq!(code(&refused), (403, "isolation.cross-site".to_owned()));
    assert_eq!(ask(&server, "GET /nowhere", &script).await.status, 404);
    let preflight = [
        PAGE,
        "access-control-request-method: POST",
        "sec-fetch-site: cross-site",
        "sec-fetch-mode: cors",
    ];
    assert_eq!(ask(&server, "OPTIONS /shared", &preflight).await.status, 204);
    // A page of another origin learns nothing from the refusal, and no cache stores it.
    let evil =
        ask(&server, "GET /shared", &[EVIL, "sec-fetch-site: cross-site", "sec-fetch-mode: cors"])
            .await;
    assert_eq!((evil.status, evil.sharing()), (403, vec![]));
    assert_eq!(evil.header("cache-control"), Some("no-store"));
}
