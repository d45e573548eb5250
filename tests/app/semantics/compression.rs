//! Compression by tower-http's layer around an app that does not know of it.

use tower_http::compression::CompressionLayer;

use super::*;

/// Long enough for the layer to compress it.
const LONG: &str = "all work and no play makes a server dull. ";

#[get("/long")]
#[cors(SHOP)]
#[cache(public, max_age = 60, vary = ["x-region"])]
#[auth(public)]
async fn long() -> (ETag, ByteRanges, String) {
    (ETag::version(1), ByteRanges, LONG.repeat(100))
}

#[get("/short")]
#[cors(SHOP)]
#[auth(public)]
async fn short() -> &'static str {
    "short"
}

#[get("/scripts")]
#[jsonp(callback = "cb")]
#[auth(public)]
async fn scripts() -> Json<String> {
    Json(LONG.repeat(100))
}

#[get("/layered-scripts")]
#[jsonp(callback = "cb")]
#[layer(CompressionLayer::new())]
#[auth(public)]
async fn layered_scripts() -> Json<String> {
    Json(LONG.repeat(100))
}

#[get("/stream")]
#[limit(concurrency = 1)]
#[auth(public)]
async fn chunks() -> Body {
    Body::from_stream(stream::iter([LONG; 50].map(Ok::<_, Infallible>)))
}

async fn server() -> Running {
    let app = App::new(()).routes(routes![long, short, scripts, layered_scripts, chunks, declared]);
    Running::start(app.layer(CompressionLayer::new())).await
}

const GZIP: &str = "accept-encoding: gzip";

/// Decompresses a body with the `gzip` program.
fn unzipped(body: &[u8]) -> String {
    use std::{
        io::Write,
        process::{Command, Stdio},
    };
    let mut program = Command::new("gzip")
        .arg("-dc")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("gzip");
    program.stdin.take().unwrap().write_all(body).unwrap();
    let output = program.wait_with_output().unwrap();
    assert!(output.status.success(), "trailing or broken data");
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn compression_adds_to_vary_and_leaves_the_policy() {
    let server = server().await;
    let expected: BTreeSet<_> = ["accept-encoding", "origin", "x-region"].map(str::to_owned).into();
    for fields in [&[PAGE, GZIP][..], &[PAGE]] {
        let response = ask(&server, "GET /long", fields).await;
        assert_eq!(vary(&response), expected, "{response:?}");
        assert_eq!(response.sharing(), SHARED);
        assert_eq!(response.header("cache-control"), Some("public, max-age=60"));
        let is_zipped = fields.contains(&GZIP);
        assert_eq!(response.header("content-encoding"), is_zipped.then_some("gzip"));
        let text = if is_zipped { unzipped(&response.body) } else { response.text().to_owned() };
        assert_eq!(text, LONG.repeat(100));
    }
    for path in ["/short", "/stream", "/scripts?cb=f", "/layered-scripts?cb=f"] {
        let response = ask(&server, &format!("GET {path}"), &[GZIP]).await;
        let text = match response.header("content-encoding") {
            Some("gzip") => unzipped(&response.body),
            other => {
                assert_eq!((other, path), (None, "/short"));
                response.text().to_owned()
            }
        };
        match path {
            "/short" => assert_eq!(text, "short"),
            "/stream" => assert_eq!(text, LONG.repeat(50)),
            _ => {
                assert_eq!(
                    text,
                    format!("/**/typeof f==='function'&&f(\"{}\");", LONG.repeat(100))
                );
            }
        }
    }
}

#[tokio::test]
async fn compression_skips_empty_and_partial_responses() {
    let server = server().await;
    let response = ask(&server, "GET /long", &[PAGE, GZIP, "if-none-match: \"1\""]).await;
    assert_eq!((response.status, response.header("content-encoding")), (304, None));
    assert_eq!(response.sharing(), SHARED);
    assert_eq!(response.header("cache-control"), Some("public, max-age=60"));
    assert_eq!(response.header("etag"), Some("\"1\""));
    let response = ask(&server, "GET /long", &[GZIP, "range: bytes=0-99"]).await;
    assert_eq!((response.status, response.header("content-encoding")), (206, None));
    assert_eq!(response.text(), &LONG.repeat(3)[..100]);
    let head = ask(&server, "HEAD /long", &[GZIP]).await;
    assert_eq!((head.status, head.body.len()), (200, 0));
    // The stream was compressed to its end and has released its permit.
    for _ in 0..3 {
        assert_eq!(ask(&server, "GET /stream", &[GZIP]).await.status, 200);
    }
    let problem = ask(&server, "GET /nowhere", &[GZIP, "accept: text/html"]).await;
    assert!(unzipped(&problem.body).contains("route.not-found"));
}

#[get("/declared")]
#[cache(public, max_age = 60, vary = ["accept-encoding"])]
#[auth(public)]
async fn declared() -> (ETag, String) {
    (ETag::weak("1").unwrap(), LONG.repeat(100))
}

/// The layer looks at bodies, which 304 and HEAD do not have. A route that declares what it depends
/// on sends `Vary` with them too (RFC 9110 15.4.5), and the layer does not add it twice.
#[tokio::test]
async fn a_route_that_declares_its_encodings_names_them_on_every_response() {
    let server = server().await;
    for (line, field, status) in [
        ("GET /declared", "accept: */*", 200),
        ("HEAD /declared", "accept: */*", 200),
        ("GET /declared", "if-none-match: \"1\"", 304),
    ] {
        let response = ask(&server, line, &[GZIP, field]).await;
        assert_eq!(response.status, status);
        assert_eq!(vary(&response), ["accept-encoding".to_owned()].into(), "{line} {response:?}");
    }
}

#[get("/layered")]
#[layer(CompressionLayer::new())]
#[auth(public)]
async fn layered() -> (ETag, ByteRanges, String) {
    (ETag::version(1), ByteRanges, LONG.repeat(100))
}

/// The same resource, compressed by a layer of the handler, of its group, of the app, of a mounted
/// router, and of the fallback; around a service that evaluates `If-None-Match` itself, and around
/// an app with a fallback.
async fn compressed_everywhere() -> [(Running, &'static str); 7] {
    const FIELDS: [(&str, &str); 2] = [("etag", "\"1\""), ("accept-ranges", "bytes")];
    let plain = || {
        let whole = async || (FIELDS, LONG.repeat(100));
        // By the weak comparison, as files are.
        let evaluated = async |headers: HeaderMap| {
            let known = headers.get("if-none-match").map(|tags| tags.to_str().expect("tags"));
            match known.is_some_and(|tags| tags.contains("\"1\"")) {
                true => (StatusCode::NOT_MODIFIED, FIELDS).into_response(),
                false => (FIELDS, LONG.repeat(100)).into_response(),
            }
        };
        axum::Router::new()
            .route("/long", axum::routing::get(whole))
            .route("/evaluated", axum::routing::get(evaluated))
    };
    let router = || plain().layer(CompressionLayer::new());
    let group = Group::new().routes(routes![long]).layer(CompressionLayer::new());
    let mount = || Mount::new(router()).public().strip_prefix();
    let app = || App::new(());
    let around = app().fallback(Fallback::new(plain()).public()).layer(CompressionLayer::new());
    [
        (Running::start(app().routes(routes![layered])).await, "/layered"),
        (Running::start(app().group("/group", group)).await, "/group/long"),
        (server().await, "/long"),
        (Running::start(app().mount("/mount", mount())).await, "/mount/long"),
        (Running::start(app().mount("/mount", mount())).await, "/mount/evaluated"),
        (Running::start(app().fallback(Fallback::new(router()).public())).await, "/long"),
        (Running::start(around).await, "/long"),
    ]
}

#[tokio::test]
async fn a_strong_tag_never_names_two_codings() {
    for (server, path) in compressed_everywhere().await {
        let line = format!("GET {path}");
        let coded = ask(&server, &line, &[GZIP]).await;
        assert_eq!(coded.header("content-encoding"), Some("gzip"), "{path}");
        assert_eq!(coded.header("etag"), Some("W/\"1\""), "{path}");
        let plain = ask(&server, &line, &[]).await;
        assert_eq!((plain.header("content-encoding"), plain.header("etag")), (None, Some("\"1\"")));
        // A client with the encoded form gets no part of the unencoded one.
        for fields in [
            &["range: bytes=50-", "if-range: W/\"1\""][..],
            &[GZIP, "range: bytes=50-", "if-range: W/\"1\""],
        ] {
            let resumed = ask(&server, &line, fields).await;
            assert_eq!(resumed.status, 200, "{path} {fields:?}");
        }
        let resumed = ask(&server, &line, &["range: bytes=50-", "if-range: \"1\""]).await;
        assert_eq!((resumed.status, resumed.text()), (206, &LONG.repeat(100)[50..]), "{path}");
    }
}

#[tokio::test]
async fn a_coded_response_is_validated_by_its_weak_tag() {
    for (server, path) in compressed_everywhere().await {
        let line = format!("GET {path}");
        for (field, tag) in
            [("if-none-match: W/\"1\"", "W/\"1\""), ("if-none-match: W/\"0\", W/\"1\"", "W/\"1\"")]
        {
            let response = ask(&server, &line, &[GZIP, field]).await;
            assert_eq!(
                (response.status, response.header("etag")),
                (304, Some(tag)),
                "{path} {field}"
            );
        }
        let response = ask(&server, &line, &["if-none-match: \"1\""]).await;
        assert_eq!((response.status, response.header("etag")), (304, Some("\"1\"")), "{path}");
    }
}
