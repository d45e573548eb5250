//! Errors have one structure, in the format that the client prefers, and reveal nothing internal.

use policy_server::extract::Valid;

use super::*;

const SECRET: &str = "password hunter2 in /srv/shop/db.rs:17";

#[derive(Debug)]
enum ShopError {
    Unknown(String),
    Storage(std::io::Error),
}

impl From<ShopError> for Problem {
    fn from(error: ShopError) -> Self {
        match error {
            ShopError::Unknown(name) => Problem::not_found()
                .code("lamps.unknown")
                .title("There is no such lamp")
                .detail(format!("no `{name}` here"))
                .with("name", name),
            ShopError::Storage(error) => Problem::internal(error),
        }
    }
}

fn find(name: String) -> Result<u8, ShopError> {
    match &*name {
        "storage" => Err(ShopError::Storage(std::io::Error::other(SECRET))),
        _ => Err(ShopError::Unknown(name)),
    }
}

#[get("/lamps/{name}")]
#[auth(public)]
async fn lamp(name: String) -> Result<Json<u8>, Problem> {
    Ok(Json(find(name)?))
}

#[get("/panics/{how}")]
#[auth(public)]
async fn panics(how: String) -> String {
    match &*how {
        "text" => panic!("{SECRET}"),
        "any" => std::panic::panic_any(17_u8),
        _ => Vec::<String>::new()[how.len()].clone(),
    }
}

#[get("/number/{number}")]
#[auth(public)]
async fn number(number: u8, query: Query<Page>) -> String {
    format!("{number} {}", query.page)
}

#[derive(Deserialize)]
struct Page {
    page: u8,
}

#[derive(Deserialize)]
struct NewLamp {
    name: String,
    price: u32,
    tags: Vec<String>,
}

impl Validate for NewLamp {
    fn validate(&self) -> Result<(), Invalid> {
        let mut invalid = Invalid::new()
            .check(!self.name.is_empty(), "/name", "must not be empty")
            .check(self.price > 0, "/price", "must be at least 1");
        for (place, tag) in self.tags.iter().enumerate() {
            invalid = invalid.check(
                !tag.contains('<'),
                format!("/tags/{place}"),
                format!("`{tag}` has a `<`"),
            );
        }
        invalid.result()
    }
}

#[post("/lamps")]
#[auth(public)]
async fn create(Valid(Json(lamp)): Valid<Json<NewLamp>>) -> (StatusCode, String) {
    (StatusCode::CREATED, lamp.name)
}

#[post("/forms")]
#[auth(public)]
async fn create_by_form(Valid(Form(lamp)): Valid<Form<Short>>) -> (StatusCode, String) {
    (StatusCode::CREATED, lamp.name)
}

#[derive(Deserialize)]
struct Short {
    name: String,
    price: u32,
}

impl Validate for Short {
    fn validate(&self) -> Result<(), Invalid> {
        Invalid::new()
            .check(!self.name.is_empty(), "/name", "must not be empty")
            .check(self.price > 0, "/price", "must be at least 1")
            .result()
    }
}

/// An extractor of axum, whose message is for the developer.
#[get("/extension")]
#[auth(public)]
async fn extension(axum::Extension(number): axum::Extension<u64>) -> String {
    number.to_string()
}

#[get("/unserializable")]
#[auth(public)]
async fn unserializable() -> Json<std::collections::HashMap<(u8, u8), u8>> {
    Json([((1, 2), 3)].into())
}

fn app() -> App<()> {
    App::new(()).policies(Policies::new().cors(SHOP)).routes(routes![
        lamp,
        panics,
        number,
        create,
        create_by_form,
        extension,
        unserializable,
    ])
}

const JSON: &str = "content-type: application/json";

/// The same problems for each kind of client: status, code, and words of the detail.
const CASES: [(&str, &str, &str, u16, &str); 16] = [
    ("GET /lamps/red", "", "", 404, "lamps.unknown"),
    ("GET /lamps/storage", "", "", 500, "handler.failed"),
    ("GET /panics/text", "", "", 500, "handler.failed"),
    ("GET /panics/any", "", "", 500, "handler.failed"),
    ("GET /panics/index", "", "", 500, "handler.failed"),
    ("GET /unserializable", "", "", 500, "handler.failed"),
    ("GET /extension", "", "", 500, "handler.failed"),
    ("GET /nowhere", "", "", 404, "route.not-found"),
    ("PUT /lamps", "", "", 405, "route.method-not-allowed"),
    ("BREW /lamps", "", "", 501, "route.method-unknown"),
    ("GET /number/300?page=1", "", "", 400, ""),
    ("GET /number/3", "", "", 400, ""),
    ("GET /number/3?page=300", "", "", 400, ""),
    ("POST /lamps", JSON, "{", 400, ""),
    ("POST /lamps", JSON, "{\"name\":1}", 422, ""),
    ("POST /lamps", "content-type: text/plain", "{}", 415, ""),
];

#[tokio::test]
async fn each_error_is_sent_in_three_forms_that_say_the_same() {
    let server = Running::start(app()).await;
    for (line, field, body, status, code) in CASES {
        for (accept, media_type) in [
            ("accept: */*", "application/problem+json"),
            ("accept: application/json", "application/problem+json"),
            ("accept: image/png", "application/problem+json"),
            ("accept: text/html,application/xhtml+xml,*/*;q=0.8", "text/html; charset=utf-8"),
            ("accept: text/plain", "text/plain; charset=utf-8"),
        ] {
            let fields: Vec<_> =
                [PAGE, accept, field].into_iter().filter(|field| !field.is_empty()).collect();
            let response = ask_with(&server, line, &fields, body).await;
            assert_eq!(
                (response.status, response.header("content-type")),
                (status, Some(media_type)),
                "{line} {response:?}"
            );
            assert_eq!(response.sharing(), SHARED, "{line}");
            assert!(
                vary(&response).is_superset(&["accept", "origin"].map(str::to_owned).into()),
                "{response:?}"
            );
            assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
            let text = response.text();
            assert!(text.contains(code) && text.contains(&status.to_string()), "{line} {text}");
            if media_type == "application/problem+json" {
                let problem: Value = serde_json::from_str(text).unwrap();
                assert_eq!(problem["status"], status);
                for member in ["type", "title", "code"] {
                    assert!(problem[member].is_string(), "{line} {text}");
                }
            }
            for inside in [
                "hunter2",
                "/srv",
                ".rs",
                "panicked",
                "on purpose",
                "index out",
                "key must be",
                "Extension",
                "u64",
            ] {
                assert!(!text.contains(inside), "{line} {text}");
            }
        }
    }
}

#[tokio::test]
async fn quoted_parts_of_a_request_are_escaped() {
    let server = Running::start(app()).await;
    let hostile = "%3Cimg%20src%3Dx%20onerror%3D%22alert(1)%22%3E%26%27%1B%5B31m";
    for (line, field, body) in [
        (format!("GET /lamps/{hostile}"), "", ""),
        (format!("GET /number/{hostile}"), "", ""),
        (format!("GET /number/1?page={hostile}"), "", ""),
        (format!("GET /{hostile}"), "", ""),
        ("POST /lamps".to_owned(), JSON, "{\"<img src=x onerror='alert(1)'>\":1,\"name\":2}"),
        (
            "POST /lamps".to_owned(),
            JSON,
            "{\"name\":\"a\",\"price\":1,\"tags\":[\"<img src=x onerror='alert(1)'>\"]}",
        ),
    ] {
        let fields: Vec<_> =
            ["accept: text/html", field].into_iter().filter(|field| !field.is_empty()).collect();
        let response = ask_with(&server, &line, &fields, body).await;
        assert!(response.status >= 400, "{line}");
        assert!(!response.text().contains("<img"), "{}", response.text());
        // Nothing can run on the page, even if markup got through.
        let policy = response.header("content-security-policy").unwrap();
        assert!(
            policy.contains("default-src 'none'") && !policy.contains("script-src"),
            "{policy}"
        );
        assert!(response.header("x-frame-options").is_some(), "{response:?}");
        let fields: Vec<_> =
            ["accept: text/plain", field].into_iter().filter(|field| !field.is_empty()).collect();
        let response = ask_with(&server, &line, &fields, body).await;
        assert!(!response.body.contains(&0x1b), "{}", response.text());
    }
}

#[tokio::test]
async fn all_that_is_invalid_is_listed() {
    let server = Running::start(app()).await;
    let body = "{\"name\":\"\",\"price\":0,\"tags\":[\"a\",\"<b>\",\"<c>\"]}";
    let response = ask_with(&server, "POST /lamps", &[PAGE, JSON], body).await;
    assert_eq!(code(&response), (422, "request.invalid".to_owned()));
    assert_eq!(response.sharing(), SHARED);
    let problem: Value = serde_json::from_str(response.text()).unwrap();
    let places: Vec<_> =
        problem["errors"].as_array().unwrap().iter().map(|error| &error["pointer"]).collect();
    assert_eq!(places, ["/name", "/price", "/tags/1", "/tags/2"]);
    let page = ask_with(&server, "POST /lamps", &["accept: text/html", JSON], body).await;
    for part in ["/name", "must be at least 1", "&lt;b&gt;", "&lt;c&gt;"] {
        assert!(page.text().contains(part), "{part} in {}", page.text());
    }
    let form = ["content-type: application/x-www-form-urlencoded"];
    let response = ask_with(&server, "POST /forms", &form, "name=&price=0").await;
    let problem: Value = serde_json::from_str(response.text()).unwrap();
    assert_eq!((response.status, problem["errors"].as_array().unwrap().len()), (422, 2));
    assert_eq!(problem["errors"][0]["field"], "name");
    let fine = "{\"name\":\"a\",\"price\":1,\"tags\":[]}";
    assert_eq!(ask_with(&server, "POST /lamps", &[JSON], fine).await.status, 201);
}
