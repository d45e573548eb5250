//! Methods: those that a path serves, those that it does not, and unknown ones.

use policy_server::response::TaggedJson;

use super::*;

type Shelf = Arc<Mutex<Vec<u64>>>;

#[get("/lamps")]
#[auth(public)]
async fn list(State(shelf): State<Shelf>) -> Json<Vec<u64>> {
    Json(shelf.lock().unwrap().clone())
}

#[post("/lamps")]
#[auth(public)]
async fn add(State(shelf): State<Shelf>) -> StatusCode {
    let mut shelf = shelf.lock().unwrap();
    let id = shelf.len() as u64 + 1;
    shelf.push(id);
    StatusCode::CREATED
}

#[delete("/lamps/{id}")]
#[auth(public)]
async fn remove(id: u64, State(shelf): State<Shelf>) -> Result<StatusCode, Problem> {
    let mut shelf = shelf.lock().unwrap();
    let place = shelf.iter().position(|lamp| *lamp == id).ok_or_else(Problem::not_found)?;
    shelf.remove(place);
    Ok(StatusCode::NO_CONTENT)
}

#[route(PURGE, "/cache")]
#[auth(public)]
async fn purge() -> &'static str {
    "purged"
}

#[options("/own")]
#[auth(public)]
async fn own_options() -> ([(&'static str, &'static str); 1], &'static str) {
    ([("allow", "OPTIONS, BREW")], "what I can")
}

fn shop() -> App<Shelf> {
    let shelf = Shelf::new(Mutex::new(vec![1, 2]));
    App::new(shelf).policies(Policies::new().cors(SHOP)).routes(routes![
        list,
        add,
        remove,
        purge,
        own_options
    ])
}

#[tokio::test]
async fn unserved_methods_get_405_with_allow_and_unknown_methods_501() {
    let server = Running::start(shop()).await;
    for (path, allow) in [
        ("/lamps", "GET, HEAD, OPTIONS, POST"),
        ("/lamps/1", "DELETE, OPTIONS"),
        ("/cache", "OPTIONS, PURGE"),
        ("/own", "OPTIONS"),
    ] {
        for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "QUERY", "TRACE", "PURGE"] {
            if allow.split(", ").any(|served| served == method) {
                continue;
            }
            let response = ask(&server, &format!("{method} {path}"), &[PAGE]).await;
            assert_eq!(response.status, 405, "{method} {path}: {response:?}");
            if method != "HEAD" {
                assert_eq!(code(&response).1, "route.method-not-allowed", "{method} {path}");
            }
            assert_eq!(response.header("allow"), Some(allow), "{method} {path}");
            assert_eq!(response.sharing(), SHARED, "{method} {path}");
        }
        // Method names are case-sensitive, and extensions use all kinds of tokens.
        for method in ["get", "Get", "GETT", "query", "M-SEARCH", "BREW", "!#$%&'*+.^_`|~", "x"] {
            let response = ask(&server, &format!("{method} {path}"), &[PAGE]).await;
            assert_eq!(
                code(&response),
                (501, "route.method-unknown".to_owned()),
                "{method} {path}"
            );
            assert_eq!(response.header("allow"), None, "{method} {path}");
            assert_eq!(response.sharing(), SHARED, "{method} {path}");
        }
    }
    for (line, status) in [
        ("GET /nowhere", 404),
        ("DELETE /nowhere", 404),
        ("TRACE /nowhere", 404),
        // Another route serves this method, so it is known.
        ("PURGE /nowhere", 404),
        ("BREW /nowhere", 501),
        ("PURGE /cache", 200),
    ] {
        assert_eq!(ask(&server, line, &[]).await.status, status, "{line}");
    }
}

#[tokio::test]
async fn options_lists_the_methods_and_changes_nothing() {
    let server = Running::start(shop()).await;
    for (path, allow) in [
        ("/lamps", "GET, HEAD, OPTIONS, POST"),
        ("/lamps/1", "DELETE, OPTIONS"),
        ("/cache", "OPTIONS, PURGE"),
    ] {
        for fields in [&[][..], &[PAGE], &[EVIL], &["content-length: 0"]] {
            let response = ask(&server, &format!("OPTIONS {path}"), fields).await;
            assert_eq!((response.status, response.header("allow")), (204, Some(allow)), "{path}");
            assert_eq!(response.header("content-length"), None, "{path}");
            let shared = if fields == [PAGE] { &SHARED[..] } else { &[] };
            assert_eq!(response.sharing(), shared, "{path}");
        }
    }
    // A handler of the app takes its place.
    let own = ask(&server, "OPTIONS /own", &[]).await;
    assert_eq!(
        (own.status, own.header("allow"), own.text()),
        (200, Some("OPTIONS, BREW"), "what I can")
    );
    assert_eq!(ask(&server, "OPTIONS *", &[]).await.status, 204);
    assert_eq!(ask(&server, "OPTIONS /nowhere", &[]).await.status, 404);
    // A HEAD that reached the handler of POST would add one.
    assert_eq!(ask(&server, "HEAD /lamps", &[]).await.status, 200);
    assert_eq!(ask(&server, "GET /lamps", &[]).await.text(), "[1,2]");
}

#[tokio::test]
async fn a_second_delete_finds_nothing_and_leaves_the_same_state() {
    let server = Running::start(shop()).await;
    for (line, status) in
        [("DELETE /lamps/1", 204), ("DELETE /lamps/1", 404), ("DELETE /lamps/1", 404)]
    {
        let response = ask(&server, line, &[PAGE]).await;
        assert_eq!(response.status, status);
        assert_eq!(response.sharing(), SHARED);
        assert_eq!(ask(&server, "GET /lamps", &[]).await.text(), "[2]");
    }
}

#[get("/json")]
#[cache(public, max_age = 60, vary = ["x-region"])]
#[auth(public)]
async fn tagged() -> TaggedJson<[u8; 3]> {
    Json([1, 2, 3]).etag()
}

#[get("/stream")]
#[cache(private, max_age = 9)]
#[auth(public)]
async fn chunks() -> Body {
    Body::from_stream(stream::iter(["a", "bc"].map(Ok::<_, Infallible>)))
}

/// Never ends, so a server that reads it for HEAD would hang.
#[get("/endless")]
#[auth(public)]
async fn endless() -> ([(&'static str, &'static str); 1], Body) {
    let chunks = stream::repeat(Ok::<_, Infallible>(Bytes::from_static(b"on and on")));
    ([("content-type", "text/html")], Body::from_stream(chunks))
}

#[get("/limited")]
#[limit(rate = "1000000/s", concurrency = 3, body = "1 KiB")]
#[auth(public)]
async fn limited() -> &'static str {
    "limited"
}

#[get("/nothing")]
#[cache(public, max_age = 5)]
#[auth(public)]
async fn nothing() -> StatusCode {
    StatusCode::NO_CONTENT
}

#[get("/panics")]
#[auth(public)]
async fn panics() {
    panic!("a panic on purpose");
}

#[get("/length")]
#[auth(public)]
async fn lies_about_nothing() -> ([(&'static str, &'static str); 1], &'static str) {
    ([("content-length", "5")], "12345")
}

/// RFC 9110 9.3.2, except for the date and the fields that RFC 9112 6.1 allows to omit.
/// `t12_head_is_get_without_the_body` compares them below the connection, for all kinds of responses.
#[tokio::test]
async fn head_is_answered_as_get_header_for_header() {
    let app = App::new(()).policies(Policies::new().cors(SHOP)).routes(routes![
        tagged,
        chunks,
        endless,
        limited,
        nothing,
        panics,
        lies_about_nothing,
    ]);
    let server = Running::start(app).await;
    let paths = [
        "/json", "/stream", "/endless", "/limited", "/nothing", "/panics", "/length", "/nowhere",
        "/%",
    ];
    let requests: [&[&str]; 6] = [
        &[],
        &[PAGE],
        &["accept: text/html"],
        &["accept: text/plain"],
        &["if-none-match: *"],
        &["if-match: \"nobody\""],
    ];
    let mut kinds = BTreeSet::new();
    for path in paths {
        for fields in requests {
            let of_head = ask(&server, &format!("HEAD {path}"), fields).await;
            let mut connection = server.connect().await;
            let fields = [fields, &["connection: close"]].concat();
            connection.send(request(&format!("GET {path}"), &fields)).await;
            let of_get = connection.head().await;
            assert_eq!(of_head.line, of_get.line, "{path} {fields:?}");
            let lines = |response: &RawResponse| {
                let mut lines = response.lines();
                lines.retain(|line| line != "transfer-encoding: chunked");
                // The rate counter differs from response to response.
                lines.retain(|line| !line.starts_with("ratelimit: "));
                lines
            };
            assert_eq!(lines(&of_head), lines(&of_get), "{path} {fields:?}");
            kinds.insert(of_get.status);
        }
    }
    assert_eq!(Vec::from_iter(kinds), [200, 204, 304, 400, 404, 412, 500]);
    // A body would be read as the head of the next response.
    let mut connection = server.connect().await;
    for path in ["/json", "/stream", "/endless", "/nothing", "/panics"] {
        connection.send(request(&format!("HEAD {path}"), &[])).await;
        connection.head().await;
        connection.send(request("GET /json", &[])).await;
        assert_eq!(connection.response().await.text(), "[1,2,3]", "{path}");
    }
}

/// There is no tunnel, and no TRACE that would show what a proxy added (RFC 9110 9.3.6, 9.3.8).
#[tokio::test]
async fn connect_and_trace_do_nothing() {
    let server = Running::start(shop()).await;
    for line in [
        "CONNECT localhost:80",
        "CONNECT evil.example:443",
        "CONNECT /lamps",
        "CONNECT *",
        "TRACE /lamps",
        "TRACE *",
    ] {
        let response = ask(&server, line, &["max-forwards: 0", "cookie: secret=1"]).await;
        assert!((400..500).contains(&response.status), "{line} {response:?}");
        assert!(!response.text().contains("secret"), "{line}");
    }
    let long = "X".repeat(2000);
    let response = ask(&server, &format!("{long} /lamps"), &[]).await;
    assert!(matches!(response.status, 400 | 501), "{response:?}");
    assert!(!response.text().contains("XXX"));
    assert_eq!(server.panics(), 0);
}
