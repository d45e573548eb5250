//! Layers and services that change a body: readers are bounded by the limit of the route, as they
//! are for an unchanged body.

use std::{collections::HashMap, io::Write};

use axum::{extract::DefaultBodyLimit, routing::post as on_post};
use bytes::Bytes;
use flate2::{
    Compression,
    write::{GzEncoder, ZlibEncoder},
};
use futures_util::{StreamExt, stream};
use http_body_util::BodyExt;
use policy_server::{
    HttpService, Limits, PolicyLayer, SharedService,
    extract::{Decoded, multipart::Multipart},
};
use policy_tests::random::Random;
use tower::{Layer, ServiceBuilder, layer::layer_fn, util::MapRequestLayer};
use tower_http::decompression::{DecompressionBody, RequestDecompressionLayer};

use super::*;

/// The limit of every route here.
const LIMIT: usize = 4096;

/// The header that states how many bytes the expanding layer inserts.
const EXPAND: &str = "x-expand";

/// Makes a long body of a short one, as a layer that decrypts bodies may.
fn expand(mut request: Request) -> Request {
    let Some(count) = request.headers_mut().remove(EXPAND) else { return request };
    let count: usize = count.to_str().unwrap_or_default().parse().unwrap_or_default();
    request.map(|body| {
        let body = body.into_data_stream().flat_map(move |piece| {
            let piece = piece.unwrap_or_default();
            let at = piece.iter().position(|byte| *byte == b'*').unwrap_or(piece.len());
            let (front, back) = (piece.slice(..at), piece.slice(piece.len().min(at + 1)..));
            let part = |from: usize| Bytes::from(vec![b'a'; (count - from).min(1000)]);
            let parts = (0..count).step_by(1000).map(part).collect::<Vec<_>>();
            let parts = [front].into_iter().chain(parts).chain([back]);
            stream::iter(parts.map(Ok::<_, Infallible>))
        });
        Body::from_stream(body)
    })
}

fn to_body(request: http::Request<DecompressionBody<Body>>) -> Request {
    request.map(Body::new)
}

/// Both layers that change a body: one from a library, and one from an app.
fn changing() -> impl Layer<SharedService, Service: HttpService> + Clone + Send + Sync + 'static {
    layer_fn(|inner: SharedService| {
        let expanding = MapRequestLayer::new(expand).layer(inner);
        ServiceBuilder::new()
            .layer(RequestDecompressionLayer::new())
            .layer(MapRequestLayer::new(to_body))
            .service(expanding)
    })
}

async fn length_of_form(
    mut form: Multipart,
) -> Result<String, axum::extract::multipart::MultipartError> {
    let mut length = 0;
    while let Some(field) = form.next_field().await? {
        length += field.bytes().await?.len();
    }
    Ok(length.to_string())
}

/// Reads the body raw, and fails if it gets more than `most` bytes.
async fn length_of_pieces(mut body: Body, most: usize) -> Response {
    let mut length = 0;
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => length += frame.into_data().map_or(0, |data| data.len()),
            Err(_cut) => {
                assert!(length <= most, "{length}");
                return (StatusCode::PAYLOAD_TOO_LARGE, length.to_string()).into_response();
            }
        }
    }
    length.to_string().into_response()
}

/// A handler for each way to read a body, with this limit and behind these layers.
macro_rules! readers {
    ($name:ident $(, #[$layer:meta])?) => {
        mod $name {
            use super::*;

            #[post("/bytes")]
            #[auth(public)]
            $(#[$layer])?
            async fn bytes(body: Bytes) -> String {
                body.len().to_string()
            }

            #[post("/text")]
            #[auth(public)]
            $(#[$layer])?
            async fn text(body: String) -> String {
                body.len().to_string()
            }

            #[post("/json")]
            #[auth(public)]
            $(#[$layer])?
            async fn json(Json(body): Json<String>) -> String {
                body.len().to_string()
            }

            #[post("/axum/json")]
            #[auth(public)]
            $(#[$layer])?
            async fn axum_json(axum::Json(body): axum::Json<String>) -> String {
                body.len().to_string()
            }

            #[post("/form")]
            #[auth(public)]
            $(#[$layer])?
            async fn form(Form(body): Form<HashMap<String, String>>) -> String {
                body.len().to_string()
            }

            #[post("/axum/form")]
            #[auth(public)]
            $(#[$layer])?
            async fn axum_form(axum::Form(body): axum::Form<HashMap<String, String>>) -> String {
                body.len().to_string()
            }

            #[post("/multipart")]
            #[auth(public)]
            $(#[$layer])?
            async fn multipart(
                form: Multipart,
            ) -> Result<String, axum::extract::multipart::MultipartError> {
                length_of_form(form).await
            }

            #[post("/multipart/problem")]
            #[auth(public)]
            $(#[$layer])?
            async fn multipart_problem(form: Multipart) -> Result<String, Problem> {
                Ok(length_of_form(form).await?)
            }

            #[post("/pieces")]
            #[auth(public)]
            $(#[$layer])?
            async fn pieces(body: Body) -> Response {
                length_of_pieces(body, LIMIT).await
            }

            #[post("/request")]
            #[auth(public)]
            $(#[$layer])?
            async fn request(request: Request) -> Response {
                length_of_pieces(request.into_body(), LIMIT).await
            }

            #[post("/decoded")]
            #[auth(public)]
            $(#[$layer])?
            async fn decoded(Decoded(Json(body)): Decoded<Json<String>>) -> String {
                body.len().to_string()
            }

            pub(super) fn routes() -> Vec<policy_server::Route<()>> {
                routes![
                    bytes, text, json, axum_json, form, axum_form, multipart, multipart_problem,
                    pieces, request, decoded
                ]
            }
        }
    };
}

readers!(plain);
readers!(layered, #[layer(changing())]);

/// The same readers as an axum service without layers.
fn router() -> Router {
    Router::new()
        .route("/bytes", on_post(async |body: Bytes| body.len().to_string()))
        .route("/text", on_post(async |body: String| body.len().to_string()))
        .route("/json", on_post(async |Json(body): Json<String>| body.len().to_string()))
        .route(
            "/axum/json",
            on_post(async |axum::Json(body): axum::Json<String>| body.len().to_string()),
        )
        .route(
            "/form",
            on_post(async |Form(body): Form<HashMap<String, String>>| body.len().to_string()),
        )
        .route(
            "/axum/form",
            on_post(async |axum::Form(body): axum::Form<HashMap<String, String>>| {
                body.len().to_string()
            }),
        )
        .route("/multipart", on_post(length_of_form))
        .route(
            "/decoded",
            on_post(async |Decoded(Json(body)): Decoded<Json<String>>| body.len().to_string()),
        )
}

/// The same, with the layers that change bodies inside of the service.
fn changing_router() -> Router {
    let changing = ServiceBuilder::new()
        .layer(RequestDecompressionLayer::new())
        .layer(MapRequestLayer::new(to_body))
        .layer(MapRequestLayer::new(expand));
    router().layer(changing)
}

/// A service gets up to one byte over the limit, which shows that the body is longer.
fn streams() -> Router {
    Router::new()
        .route("/pieces", on_post(async |body: Body| length_of_pieces(body, LIMIT + 1).await))
        .route(
            "/request",
            on_post(async |request: Request| {
                length_of_pieces(request.into_body(), LIMIT + 1).await
            }),
        )
}

/// Where the limit is set, and where the layers are.
const CARRIERS: [&str; 8] = [
    "attributes",
    "group",
    "app",
    "mount in a group",
    "mount",
    "fallback with layers",
    "fallback",
    "layer",
];

fn carrier(name: &str) -> TestClient {
    let limits = Limits::NONE.body(LIMIT as u64).timeout(Duration::from_secs(60));
    let app = App::new(()).policies(Policies::new().limits(limits));
    let mounted = |router: Router| Mount::new(router).all_methods().strip_prefix().public();
    let caught = |router: Router| Fallback::new(router).public();
    match name {
        "attributes" => app.routes(layered::routes()).test(),
        "group" => app.group("/in", Group::new().layer(changing()).routes(plain::routes())).test(),
        "app" => app.routes(plain::routes()).layer(changing()).test(),
        "mount in a group" => {
            let mount = mounted(router().merge(streams()));
            app.group("/in", Group::new().layer(changing()).mount("/mount", mount)).test()
        }
        "mount" => app.mount("/in", mounted(changing_router())).test(),
        "fallback with layers" => {
            app.fallback(caught(router().merge(streams())).layer(changing())).test()
        }
        "fallback" => app.fallback(caught(changing_router())).test(),
        _ => {
            let layer = PolicyLayer::builder()
                .policies(Policies::new().limits(limits))
                .build()
                .expect("right");
            TestClient::new(layer.layer(changing_router()), "localhost")
        }
    }
}

/// The media type, beginning and end of a body for a reader.
fn shape(reader: &str) -> (&'static str, &'static str, &'static str) {
    match reader {
        "/json" | "/axum/json" | "/decoded" => ("application/json", "\"", "\""),
        "/form" | "/axum/form" => ("application/x-www-form-urlencoded", "a=", ""),
        "/multipart" | "/multipart/problem" => (
            "multipart/form-data; boundary=X",
            "--X\r\ncontent-disposition: form-data; name=\"a\"\r\n\r\n",
            "\r\n--X--\r\n",
        ),
        _ => ("text/plain", "", ""),
    }
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text).expect("memory");
    encoder.finish().expect("memory")
}

/// How a body gets the length that a reader sees.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    None,
    Gzip,
    Expand,
}

async fn send(
    client: &TestClient,
    path: &str,
    reader: &str,
    change: Change,
    length: usize,
) -> TestResponse {
    let (media_type, front, back) = shape(reader);
    let inner = length - front.len() - back.len();
    let whole = || [front.as_bytes(), &vec![b'a'; inner], back.as_bytes()].concat();
    let request = client.post(path).header("content-type", media_type);
    let request = match change {
        Change::None => request.body(whole()),
        Change::Gzip => request.header("content-encoding", "gzip").body(gzip(&whole())),
        Change::Expand => request.header(EXPAND, inner.to_string()).body(format!("{front}*{back}")),
    };
    request.send().await
}

const READERS: [&str; 11] = [
    "/bytes",
    "/text",
    "/json",
    "/axum/json",
    "/form",
    "/axum/form",
    "/multipart",
    "/multipart/problem",
    "/decoded",
    "/pieces",
    "/request",
];

/// For each way to change a body, to set its limit and to read it: a body at the limit is read, and
/// a longer one gets 413.
#[tokio::test]
async fn a_changed_body_is_bounded_as_one_that_came_as_it_is() {
    let (mut cases, mut changed) = (0, 0);
    for name in CARRIERS {
        let client = carrier(name);
        for reader in READERS {
            let path = match name {
                "mount" | "group" => format!("/in{reader}"),
                "mount in a group" => format!("/in/mount{reader}"),
                _ => reader.to_owned(),
            };
            // A service with its own layers has to bound raw reads itself.
            let is_raw = reader == "/pieces" || reader == "/request";
            let has_reader = match name {
                "attributes" | "group" | "app" => true,
                "mount in a group" | "fallback with layers" => reader != "/multipart/problem",
                _ => !is_raw && reader != "/multipart/problem",
            };
            if !has_reader {
                continue;
            }
            for change in [Change::None, Change::Gzip, Change::Expand] {
                for (length, status) in
                    [(LIMIT, 200), (LIMIT + 1, 413), (LIMIT + 1000, 413), (64 * LIMIT, 413)]
                {
                    let response = send(&client, &path, reader, change, length).await;
                    let what = format!("{name} {reader} {change:?} {length}: {}", response.text());
                    assert_eq!(response.status(), status, "{what}");
                    cases += 1;
                    changed += usize::from(change != Change::None && status == 413);
                }
            }
        }
    }
    assert!(cases >= 800 && changed >= 400, "{cases} {changed}");
}

/// The default limit is the same as axum's; a higher limit of a route also applies behind layers
/// that change bodies.
#[tokio::test]
async fn axums_extractors_follow_the_limit_of_the_route() {
    let mounted = |router: Router| Mount::new(router).all_methods().strip_prefix().public();
    let of = |limits| {
        let app = App::new(()).policies(Policies::new().limits(limits));
        app.mount("/in", mounted(changing_router())).test()
    };
    let by_default = App::new(()).mount("/in", mounted(changing_router())).test();
    let larger = of(Limits::NONE.body(3 << 20));
    let unlimited = of(Limits::NONE.body(u64::MAX));
    for (client, length, status) in [
        (&by_default, 2 << 20, 200),
        (&by_default, (2 << 20) + 1, 413),
        (&larger, 3 << 20, 200),
        (&larger, (3 << 20) + 1, 413),
        (&unlimited, 5 << 20, 200),
    ] {
        for reader in ["/bytes", "/json"] {
            let response =
                send(client, &format!("/in{reader}"), reader, Change::Gzip, length).await;
            assert_eq!(response.status(), status, "{reader} {length}");
        }
    }
}

/// A smaller limit of a router applies to axum's extractors and to ours.
#[tokio::test]
async fn a_smaller_limit_of_a_service_or_of_a_layer_holds() {
    let limits = Limits::NONE.body(LIMIT as u64);
    let small = || DefaultBodyLimit::max(10);
    let mount = Mount::new(router().layer(small())).all_methods().strip_prefix().public();
    let layer =
        PolicyLayer::builder().policies(Policies::new().limits(limits)).build().expect("right");
    for client in [
        App::new(()).policies(Policies::new().limits(limits)).mount("/in", mount).test(),
        App::new(())
            .policies(Policies::new().limits(limits))
            .group("/in", Group::new().layer(small()).routes(plain::routes()))
            .test(),
        TestClient::new(
            Router::new()
                .nest("/in", Router::new().fallback_service(layer.layer(router().layer(small())))),
            "localhost",
        ),
    ] {
        for reader in ["/bytes", "/text", "/json", "/axum/json", "/form"] {
            for (length, status) in [(10, 200), (11, 413)] {
                let response =
                    send(&client, &format!("/in{reader}"), reader, Change::None, length).await;
                assert_eq!(response.status(), status, "{reader} {length} {}", response.text());
            }
        }
    }
}

/// A `PolicyLayer` without a limit keeps axum's default.
#[tokio::test]
async fn a_policy_layer_without_a_limit_keeps_the_limit_of_axum() {
    let layer = PolicyLayer::builder().build().expect("right");
    let client = TestClient::new(layer.layer(changing_router()), "localhost");
    for (length, status) in [(2 << 20, 200), ((2 << 20) + 1, 413)] {
        for change in [Change::None, Change::Gzip, Change::Expand] {
            let response = send(&client, "/bytes", "/bytes", change, length).await;
            assert_eq!(response.status(), status, "{change:?} {length}");
        }
    }
}

#[post("/large")]
#[auth(public)]
#[limit(body = "1 MiB")]
async fn large(Decoded(Json(body)): Decoded<Json<String>>) -> String {
    body.len().to_string()
}

/// RFC 9110 15.5.16 and 12.5.3: 415 states the codings that would have been accepted.
#[tokio::test]
async fn an_encoded_body_is_decoded_within_bounds_or_gets_415() {
    let client = App::new(()).routes(routes![large]).routes(plain::routes()).test();
    let send = async |path: &str, codings: &[&str], body: Vec<u8>| {
        let mut request = client.post(path).header("content-type", "application/json").body(body);
        for coding in codings {
            request = request.header("content-encoding", coding);
        }
        request.send().await
    };
    let text = |length: usize| {
        let mut random = Random(7);
        let letters = (0..length - 2).map(|_| b"abcdefgh"[random.below(8)]);
        [b'"'].into_iter().chain(letters).chain([b'"']).collect::<Vec<u8>>()
    };
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
    zlib.write_all(b"\"a lamp\"").expect("memory");
    for (codings, body, length) in [
        (&["gzip"][..], gzip(b"\"a lamp\""), "6"),
        (&["identity, X-Gzip"], gzip(b"\"a lamp\""), "6"),
        (&["gzip", "identity"], gzip(b"\"a lamp\""), "6"),
        (&["deflate"], zlib.finish().expect("memory"), "6"),
        (&[], b"\"a lamp\"".to_vec(), "6"),
        (&["identity"], b"\"a lamp\"".to_vec(), "6"),
        (&["gzip"], gzip(&text(1 << 20)), "1048574"),
    ] {
        let response = send("/large", codings, body).await;
        assert_eq!(response.text(), length, "{codings:?}");
    }
    const READ: Option<&str> = Some("gzip, deflate");
    for (path, codings, body, status, code, accepted) in [
        ("/large", &["br"][..], gzip(b"\"\""), 415, "request.content-coding", READ),
        ("/large", &["gzip", "gzip"], gzip(b"\"\""), 415, "request.content-coding", READ),
        ("/large", &["gzip, gzip"], gzip(b"\"\""), 415, "request.content-coding", READ),
        ("/large", &["gzip", "deflate"], gzip(b"\"\""), 415, "request.content-coding", READ),
        ("/large", &["gzip", "x"], gzip(b"\"\""), 415, "request.content-coding", READ),
        ("/large", &[""], gzip(b"\"\""), 415, "request.content-coding", READ),
        ("/json", &["gzip"], gzip(b"\"\""), 415, "request.content-coding", Some("identity")),
        ("/form", &["gzip"], gzip(b"\"\""), 415, "request.media-type", None),
        ("/large", &["gzip"], b"\"\"".to_vec(), 400, "request.content-coding-malformed", None),
        (
            "/large",
            &["gzip"],
            gzip(b"\"\"")[..15].to_vec(),
            400,
            "request.content-coding-malformed",
            None,
        ),
        ("/large", &["gzip"], gzip(&text((1 << 20) + 1)), 413, "request.body-too-large", None),
        ("/large", &["gzip"], gzip(&vec![b'a'; 1 << 20]), 413, "request.body-too-large", None),
        ("/large", &["gzip"], gzip(b"\""), 400, "request.json-malformed", None),
    ] {
        let response = send(path, codings, body).await;
        let problem: serde_json::Value = response.json();
        let got = (response.status().as_u16(), problem["code"].as_str());
        assert_eq!(got, (status, Some(code)), "{path} {codings:?}");
        assert_eq!(response.header("accept-encoding"), accepted, "{path} {codings:?}");
    }
}
