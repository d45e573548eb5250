//! Conditional requests and ranges. `tests/laws/http/conditions.rs` compares their combinations with
//! RFC 9110 13.2.2 and 14.2, step by step.

use policy_tests::handlers::login;

use super::*;

const CONTENT: &str = "0123456789";

/// Ten bytes with the validators that the request asks for.
#[get("/doc")]
#[cache(public, max_age = 60, vary = ["x-response"])]
#[auth(public)]
async fn doc(headers: HeaderMap) -> (ByteRanges, HeaderMap, &'static str) {
    (ByteRanges, asked_for(&headers), CONTENT)
}

fn app() -> App<()> {
    App::new(())
        .policies(Policies::new().cors(SHOP))
        .routes(routes![doc, unranged, empty, status, streamed])
}

const STRONG: &str = "etag: \"a\"";
const WEAK: &str = "etag: W/\"a\"";
const DATED: &str = "last-modified: Sun, 06 Nov 1994 08:49:37 GMT";
const BOTH: &str = "etag: \"a\"|last-modified: Sun, 06 Nov 1994 08:49:37 GMT";

/// What a target states, what a request asks, and the response to GET with the range of a 206.
type Case = (&'static str, &'static [&'static str], u16, Option<(usize, usize)>);

const CASES: [Case; 25] = [
    ("", &[], 200, None),
    ("", &["if-match: *"], 200, None),
    ("", &["if-none-match: *"], 304, None),
    (STRONG, &["if-match: \"b\""], 412, None),
    (WEAK, &["if-match: W/\"a\""], 412, None),
    (BOTH, &["if-match: \"a\"", "if-unmodified-since: Sat, 05 Nov 1994 08:49:37 GMT"], 200, None),
    (DATED, &["if-unmodified-since: Sat, 05 Nov 1994 08:49:37 GMT"], 412, None),
    (DATED, &["if-unmodified-since: yesterday"], 200, None),
    (WEAK, &["if-none-match: \"x\", \"a\""], 304, None),
    (
        BOTH,
        &["if-none-match: \"b\"", "if-modified-since: Mon, 07 Nov 1994 08:49:37 GMT"],
        200,
        None,
    ),
    (DATED, &["if-modified-since: Sun, 06 Nov 1994 08:49:37 GMT"], 304, None),
    (DATED, &["if-modified-since: yesterday"], 200, None),
    (STRONG, &["range: bytes=0-3"], 206, Some((0, 3))),
    (STRONG, &["range: bytes=-2"], 206, Some((8, 9))),
    (STRONG, &["range: bytes=9-99"], 206, Some((9, 9))),
    (STRONG, &["range: bytes=10-"], 416, None),
    (STRONG, &["range: bytes=-0"], 416, None),
    (STRONG, &["range: bytes=0-1,4-5"], 200, None),
    (STRONG, &["range: lines=0-3"], 200, None),
    (STRONG, &["range: bytes=3-1"], 200, None),
    (STRONG, &["range: bytes 0-3"], 200, None),
    (STRONG, &["range: bytes=4-", "if-range: \"a\""], 206, Some((4, 9))),
    (WEAK, &["range: bytes=4-", "if-range: W/\"a\""], 200, None),
    (DATED, &["range: bytes=4-", "if-range: Sun, 06 Nov 1994 08:49:37 GMT"], 206, Some((4, 9))),
    (DATED, &["range: bytes=4-", "if-range: Mon, 07 Nov 1994 08:49:37 GMT"], 200, None),
];

#[tokio::test]
async fn each_outcome_of_a_condition_has_its_fields() {
    let server = Running::start(app()).await;
    let mut connection = server.connect().await;
    for (state, asks, of_get, part) in CASES {
        for method in ["GET", "HEAD"] {
            // Only GET has parts.
            let is_part = matches!(of_get, 206 | 416);
            let status = if method == "HEAD" && is_part { 200 } else { of_get };
            let stated = format!("x-response: {state}");
            let fields = [&[PAGE, &stated][..], asks].concat();
            connection.send(request(&format!("{method} /doc"), &fields)).await;
            let response = match method {
                "HEAD" => connection.head().await,
                _ => connection.response().await,
            };
            assert_eq!(response.status, status, "{method} {fields:?} {response:?}");
            assert_eq!(response.sharing(), SHARED, "{method} {fields:?}");
            let varies = vary(&response);
            assert!(varies.is_superset(&["origin", "x-response"].map(str::to_owned).into()));
            assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
            if status != 200 {
                assert_eq!(response.header("etag"), state.strip_prefix("etag: "));
            }
            let body = if method == "HEAD" { "" } else { CONTENT };
            match (status, part) {
                (206, Some((first, last))) => {
                    assert_eq!(response.text(), &body[first..=last]);
                    let range = format!("bytes {first}-{last}/10");
                    assert_eq!(response.header("content-range"), Some(&*range));
                    let length = (last - first + 1).to_string();
                    assert_eq!(response.header("content-length"), Some(&*length));
                    assert_eq!(response.header("content-type"), Some("text/plain; charset=utf-8"));
                }
                (200, _) => {
                    assert_eq!(response.text(), body);
                    assert_eq!(response.header("content-length"), Some("10"));
                    assert_eq!(response.header("content-range"), None);
                    assert_eq!(response.header("accept-ranges"), Some("bytes"));
                }
                (304, _) => {
                    for name in ["content-type", "content-length", "content-range"] {
                        assert_eq!(response.header(name), None, "{response:?}");
                    }
                    assert_eq!(response.header("cache-control"), Some("public, max-age=60"));
                }
                (412 | 416, _) => {
                    let range = (status == 416).then_some("bytes */10");
                    assert_eq!(response.header("content-range"), range);
                    let media_type = Some("application/problem+json");
                    assert_eq!(response.header("content-type"), media_type);
                    assert_eq!(response.header("cache-control"), Some("no-store"), "{fields:?}");
                }
                other => panic!("{other:?}"),
            }
            if status == 416 {
                let code = "\"request.range-not-satisfiable\"";
                assert!(response.text().contains(code), "{response:?}");
            }
        }
    }
}

/// The problem depends on one client's conditions. A cache that stored it would serve it to
/// everyone: cache poisoning.
#[tokio::test]
async fn a_refused_condition_does_not_take_over_how_long_the_page_is_fresh() {
    #[get("/undeclared")]
    #[auth(public)]
    async fn undeclared(headers: HeaderMap) -> (ByteRanges, ETag, HeaderMap, &'static str) {
        (ByteRanges, ETag::version(1), asked_for(&headers), CONTENT)
    }

    let app = App::new(()).policies(Policies::new().cors(SHOP)).routes(routes![doc, undeclared]);
    let server = Running::start(app).await;
    let lasting = "x-response: etag: \"1\"|cache-control: public, max-age=3600|expires: Sun, 06 Nov 2094 08:49:37 GMT|cdn-cache-control: max-age=3600";
    for path in ["/doc", "/undeclared"] {
        let line = format!("GET {path}");
        for (field, status) in [("if-match: \"2\"", 412), ("range: bytes=10-", 416)] {
            let response = ask(&server, &line, &[lasting, field]).await;
            assert_eq!(response.status, status);
            for name in ["cache-control", "expires", "cdn-cache-control"] {
                let value = response.header(name);
                assert!(
                    matches!(value, None | Some("no-store")),
                    "{name}: {value:?} on {status} of {path}"
                );
            }
        }
        // The page itself carries the fields.
        let page = ask(&server, &line, &[lasting]).await;
        assert!(page.header("cache-control").unwrap().starts_with("public, max-age="));
    }
}

#[get("/unranged")]
#[auth(public)]
async fn unranged() -> (ETag, &'static str) {
    (ETag::version(1), CONTENT)
}

#[get("/empty")]
#[auth(public)]
async fn empty() -> (ByteRanges, ETag, &'static str) {
    (ByteRanges, ETag::version(1), "")
}

#[get("/streamed")]
#[auth(public)]
async fn streamed() -> (ByteRanges, ETag, Body) {
    let chunks = ["012", "", "3456", "789"].map(Ok::<_, Infallible>);
    (ByteRanges, ETag::version(1), Body::from_stream(stream::iter(chunks)))
}

#[tokio::test]
async fn a_range_is_served_only_where_the_response_has_parts() {
    let server = Running::start(app()).await;
    let range = "range: bytes=0-3";
    let response = ask(&server, "GET /unranged", &[range]).await;
    assert_eq!((response.status, response.text()), (200, CONTENT));
    // The length of a stream is not known.
    let response = ask(&server, "GET /streamed", &[range]).await;
    assert_eq!((response.status, response.text()), (200, CONTENT));
    for (fields, status) in
        [(&[range][..], 416), (&["range: bytes=-1"], 200), (&[range, "if-range: \"2\""], 200)]
    {
        let response = ask(&server, "GET /empty", fields).await;
        assert_eq!(response.status, status, "{fields:?}");
    }
    // Two `Range` fields are not one.
    let response = ask(&server, "GET /doc", &[range, "range: bytes=4-"]).await;
    assert_eq!((response.status, response.text()), (200, CONTENT));
    // Many small ranges are an attack.
    let many = format!("range: bytes={}", vec!["0-0,2-2"; 500].join(","));
    let response = ask(&server, "GET /doc", &[&many]).await;
    assert_eq!((response.status, response.text()), (200, CONTENT));
    // Large numbers do not overflow.
    let huge = format!("range: bytes=2-{}", "9".repeat(60));
    let response = ask(&server, "GET /doc", &[&huge]).await;
    assert_eq!((response.status, response.text()), (206, &CONTENT[2..]));
}

#[tokio::test]
async fn lists_may_span_several_fields() {
    let server = Running::start(app()).await;
    let state = "x-response: etag: \"a\"";
    for (fields, status) in [
        (&["if-none-match: \"x\"", "if-none-match: \"a\""][..], 304),
        (&["if-match: \"x\"", "if-match: \"a\""], 200),
        (&["if-match: \"x\"", "if-match: \"y\""], 412),
        (&["if-none-match: \"a,b\", \"a\""], 304),
        (&["if-none-match: , ,\"a\",,"], 304),
        (&["if-none-match: \"x,\"a\""], 200),
        (&["if-match: \"a\" \"b\""], 412),
        (&["if-none-match: a"], 200),
        // Invalid combinations.
        (&["if-none-match: *, \"x\""], 200),
        (&["if-modified-since: Sun, 06 Nov 1994 08:49:37 GMT", "if-modified-since: x"], 200),
    ] {
        let fields = [&[state], fields].concat();
        assert_eq!(ask(&server, "GET /doc", &fields).await.status, status, "{fields:?}");
    }
}

#[get("/status/{status}")]
#[auth(public)]
async fn status(status: u16) -> (StatusCode, ByteRanges, ETag, LastModified, &'static str) {
    let date = LastModified::from(UNIX_EPOCH + Duration::from_secs(784_111_777));
    (StatusCode::from_u16(status).unwrap(), ByteRanges, ETag::version(1), date, CONTENT)
}

/// RFC 9110 13.2.1.
#[tokio::test]
async fn conditions_do_not_change_other_statuses() {
    let server = Running::start(app()).await;
    for status in
        [201, 202, 203, 301, 302, 303, 307, 308, 400, 401, 403, 404, 409, 410, 418, 429, 500, 503]
    {
        let line = format!("GET /status/{status}");
        for fields in [
            &["if-none-match: *"][..],
            &["if-none-match: \"1\""],
            &["if-modified-since: Mon, 07 Nov 1994 08:49:37 GMT"],
            &["if-match: \"2\""],
            &["range: bytes=0-3"],
            &["range: bytes=10-"],
            &["range: bytes=0-3", "if-range: \"1\""],
        ] {
            let response = ask(&server, &line, fields).await;
            assert_eq!((response.status, response.text()), (status, CONTENT), "{fields:?}");
        }
    }
    for (line, status) in
        [("GET /nowhere", 404), ("PUT /doc", 405), ("GET /%", 400), ("BREW /doc", 501)]
    {
        let response = ask(&server, line, &["if-none-match: *", "range: bytes=0-0"]).await;
        assert_eq!(response.status, status, "{line}");
    }
}

/// The representation and its user decide; other cookies of the request do not.
#[tokio::test]
async fn a_session_does_not_break_a_304() {
    #[get("/account")]
    #[cors(origins = ["https://shop.example"], credentials)]
    #[cache(private, max_age = 9)]
    #[auth(session)]
    async fn account(session: Session) -> Result<(ETag, &'static str), Problem> {
        session.set("seen", true)?;
        Ok((ETag::version(1), "an account"))
    }

    const OWN: &str = "https://api.shop.example";
    let clock = Clock::at(START);
    let app = App::new(()).public_origin(OWN).clock(clock.clone()).sessions(Sessions::memory());
    let client = app.routes(routes![account, login]).test();
    let response = client.post("/login").origin(OWN).send().await;
    let cookie = response.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let get = |fields: &[(&str, &str)]| {
        let request =
            client.get("/account").header("cookie", &cookie).origin("https://shop.example");
        fields.iter().fold(request, |request, (name, value)| request.header(name, value)).send()
    };
    let whole = get(&[]).await;
    assert_eq!(
        (whole.status().as_u16(), whole.header("cache-control")),
        (200, Some("private, max-age=9"))
    );
    clock.advance(Duration::from_secs(300));
    for condition in [("if-none-match", "\"1\""), ("if-none-match", "*")] {
        let response = get(&[condition]).await;
        assert_eq!((response.status().as_u16(), response.text()), (304, String::new()));
        assert_eq!(response.header("access-control-allow-origin"), Some("https://shop.example"));
        assert_eq!(response.header("access-control-allow-credentials"), Some("true"));
        assert_eq!(response.header_all("vary").join(", "), "cookie, origin");
        assert_eq!(response.header("cache-control"), Some("private, max-age=9"));
        assert_eq!(response.header("etag"), Some("\"1\""));
    }
    // After logging out, there is no account to match.
    let response = client.get("/account").header("if-none-match", "*").send().await;
    assert_eq!(response.status(), 401);
}

type Version = Arc<AtomicUsize>;

#[put("/state")]
#[auth(public)]
async fn replace(
    preconditions: Preconditions,
    State(version): State<Version>,
) -> Result<ETag2, Problem> {
    let now = version.load(Ordering::Relaxed) as u64;
    let there = (now > 0).then(|| ETag::version(now));
    preconditions.check(there.as_ref())?;
    version.store(now as usize + 1, Ordering::Relaxed);
    Ok((ETag::version(now + 1), StatusCode::NO_CONTENT))
}

type ETag2 = (ETag, StatusCode);

#[patch("/state")]
#[auth(public)]
async fn change(
    preconditions: Preconditions,
    State(version): State<Version>,
) -> Result<StatusCode, Problem> {
    let now = version.load(Ordering::Relaxed) as u64;
    preconditions.require_match()?.check(&ETag::version(now))?;
    Ok(StatusCode::NO_CONTENT)
}

#[tokio::test]
async fn only_one_of_two_concurrent_updates_succeeds() {
    let app = App::new(Version::default())
        .policies(Policies::new().cors(SHOP))
        .routes(routes![replace, change]);
    let server = Running::start(app).await;
    for (field, status) in [
        ("if-match: *", 412),
        ("if-match: \"0\"", 412),
        ("if-none-match: *", 204),
        ("if-none-match: *", 412),
        ("if-match: \"1\"", 204),
        ("if-match: \"1\"", 412),
        ("if-match: W/\"2\"", 412),
        ("if-match: 2", 412),
        ("if-match: \"9\", \"2\"", 204),
        ("if-none-match: \"3\"", 412),
        ("if-none-match: \"3", 412),
        ("if-none-match: \"2\"", 204),
        ("if-match: *", 204),
        // A condition is about the state before the change, which makes the sixth.
        ("if-none-match: \"6\"", 204),
        // A condition for reading does not apply to writing, and neither does a range.
        ("if-modified-since: Sun, 06 Nov 2094 08:49:37 GMT", 204),
        ("range: bytes=0-", 204),
        ("x-nothing: 1", 204),
    ] {
        let response = ask(&server, "PUT /state", &[PAGE, field]).await;
        assert_eq!(response.status, status, "{field}");
        assert_eq!(response.sharing(), SHARED, "{field}");
        assert_eq!(response.header("etag").is_some(), status == 204, "{field}");
        if status == 412 {
            assert_eq!(code(&response).1, "request.precondition-failed");
        }
    }
    for field in [PAGE, "if-none-match: *"] {
        let missing = ask(&server, "PATCH /state", &[field]).await;
        assert_eq!(code(&missing), (428, "request.precondition-required".to_owned()), "{field}");
    }
    for (field, status) in
        [("if-match: \"9\"", 204), ("if-match: \"8\"", 412), ("if-match: garbage", 412)]
    {
        assert_eq!(ask(&server, "PATCH /state", &[field]).await.status, status, "{field}");
    }
}
