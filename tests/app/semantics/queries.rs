//! QUERY (RFC 10008): a request that changes nothing and asks with its content.

use policy_server::{
    extract::{JsonRejection, MatchedRoute},
    testing::{Browser, Fetch, Network},
};

use super::*;

#[derive(Deserialize)]
struct Filter {
    words: String,
}

impl Validate for Filter {
    fn validate(&self) -> Result<(), Invalid> {
        Ok(())
    }
}

#[query("/lamps")]
#[auth(public)]
async fn find(Json(filter): Json<Filter>) -> ([(&'static str, &'static str); 1], String) {
    ([("cache-control", "public, max-age=60")], filter.words)
}

#[query("/forms")]
#[get("/forms")]
#[get("/pages")]
#[auth(public)]
async fn find_by_form(Form(filter): Form<Filter>) -> String {
    filter.words
}

#[query("/raw")]
#[auth(public)]
async fn find_raw(text: String) -> String {
    text
}

#[query("/checked")]
#[auth(public)]
#[layer(tower::layer::util::Identity::new())]
async fn find_checked(Valid(Json(filter)): Valid<Json<Filter>>) -> String {
    filter.words
}

#[any("/any")]
#[auth(public)]
async fn find_any(_route: MatchedRoute, filter: Result<Json<Filter>, JsonRejection>) -> StatusCode {
    filter.map_or(StatusCode::OK, |_| StatusCode::NO_CONTENT)
}

/// A response that caches may keep, with its own address.
#[query("/stored")]
#[auth(public)]
async fn find_stored() -> (StatusCode, [(&'static str, &'static str); 1]) {
    (StatusCode::SEE_OTHER, [("location", "/stored/1")])
}

fn app() -> App<()> {
    let routes = routes![find, find_by_form, find_checked, find_any, find_raw, find_stored];
    App::new(()).policies(Policies::new().cors(SHOP)).routes(routes)
}

const JSON: &str = "content-type: application/json";
const FORM: &str = "content-type: application/x-www-form-urlencoded";

#[tokio::test]
async fn a_query_asks_with_its_content() {
    let server = Running::start(app()).await;
    for (line, media_type, body) in [
        ("QUERY /lamps", JSON, r#"{"words":"red"}"#),
        ("QUERY /forms", FORM, "words=red"),
        ("QUERY /forms?words=green", FORM, "words=red"),
        ("QUERY /raw?green", "content-type: application/sql", "red"),
    ] {
        let response = ask_with(&server, line, &[media_type], body).await;
        assert_eq!((response.status, response.text()), (200, "red"), "{line}");
        assert_eq!(response.header("cache-control"), Some("no-store"), "{line}");
    }
    assert_eq!(ask(&server, "GET /forms?words=green", &[]).await.text(), "green");
    let elsewhere = ask_with(&server, "QUERY /stored", &[JSON], "{}").await;
    assert_eq!((elsewhere.status, elsewhere.header("location")), (303, Some("/stored/1")));
}

/// RFC 10008 2.1 and 3.
#[tokio::test]
async fn a_query_needs_its_media_type() {
    let server = Running::start(app()).await;
    for path in ["/lamps", "/forms", "/raw", "/stored"] {
        let response = ask_with(&server, &format!("QUERY {path}"), &[PAGE], "x").await;
        assert_eq!(code(&response), (415, "request.media-type".to_owned()), "{path}");
        assert_eq!(response.sharing(), SHARED, "{path}");
    }
    for (path, expected) in
        [("/lamps", "application/json"), ("/forms", "application/x-www-form-urlencoded")]
    {
        let plain = ["content-type: text/plain"];
        let response = ask_with(&server, &format!("QUERY {path}"), &plain, "x").await;
        assert_eq!(code(&response), (415, "request.media-type".to_owned()), "{path}");
        assert_eq!(response.header("accept-query"), Some(expected), "{path}");
        assert_eq!(response.header("cache-control"), Some("no-store"), "{path}");
    }
}

/// RFC 10008 3: where the extractor says which type it reads.
#[tokio::test]
async fn a_path_lists_the_media_types_of_its_queries() {
    let server = Running::start(app()).await;
    let (json, form) = (Some("application/json"), Some("application/x-www-form-urlencoded"));
    for (path, expected) in [
        ("/lamps", json),
        ("/forms", form),
        ("/checked", json),
        ("/any", json),
        ("/raw", None),
        ("/stored", None),
        ("/pages", None),
    ] {
        let response = ask(&server, &format!("OPTIONS {path}"), &[PAGE]).await;
        assert_eq!((response.status, response.header("accept-query")), (204, expected), "{path}");
        assert_eq!(response.sharing(), SHARED, "{path}");
        let response = ask_with(&server, &format!("QUERY {path}"), &[], "x").await;
        assert_eq!(response.status, if path == "/pages" { 405 } else { 415 }, "{path}");
        for name in ["accept-query", "accept"] {
            assert_eq!(response.header(name), expected, "{path}");
        }
    }
}

#[tokio::test]
async fn a_cross_origin_query_needs_a_preflight() {
    let server = Running::start(app()).await;
    let asks = |origin| [origin, "access-control-request-method: QUERY"];
    let response = ask(&server, "OPTIONS /lamps", &asks(PAGE)).await;
    assert_eq!((response.status, response.header("allow")), (204, None));
    assert_eq!(response.header("access-control-allow-methods"), Some("QUERY"));
    assert_eq!(response.header("access-control-allow-headers"), Some("content-type"));
    assert_eq!(ask(&server, "OPTIONS /lamps", &asks(EVIL)).await.status, 403);
    assert_eq!(ask(&server, "OPTIONS /lamps", &[]).await.header("allow"), Some("OPTIONS, QUERY"));
    let refused = ask(&server, "GET /lamps", &[]).await;
    assert_eq!((refused.status, refused.header("allow")), (405, Some("OPTIONS, QUERY")));
}

/// A script has to write the method in upper case (Fetch, 2.2.1).
#[tokio::test]
async fn a_browser_sends_a_query_where_the_preflight_allows_it() {
    let api = "https://api.shop.example";
    let service = app().public_origin(api).into_service();
    let network = Network::new().host(api, service);
    let url = &format!("{api}/lamps");
    let query = |method| {
        let fetch = Fetch::new(method, url).header("content-type", "application/json");
        fetch.body(r#"{"words":"red"}"#)
    };
    for browser in [Browser::chromium(), Browser::firefox(), Browser::webkit()] {
        let page = browser.open("https://shop.example");
        assert_eq!(page.fetch(&network, query("QUERY")).await.text(), "red");
        assert!(page.fetch(&network, query("query")).await.is_blocked());
        let evil = browser.open("https://evil.example");
        assert!(evil.fetch(&network, query("QUERY")).await.is_blocked());
    }
}
