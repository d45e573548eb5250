//! How large a body may be.

use super::*;

const MIB: usize = 1 << 20;

/// Reads a body frame by frame, like an upload that is written to a file.
#[post("/upload")]
#[limit(body = "64 KiB")]
#[auth(public)]
async fn upload(State(seen): State<Seen>, request: Request) -> Result<String, Problem> {
    seen.calls.fetch_add(1, Ordering::Relaxed);
    let mut body = request.into_body();
    while let Some(frame) = body.frame().await {
        let Ok(data) =
            frame.map_err(|_cut| Problem::new(StatusCode::PAYLOAD_TOO_LARGE))?.into_data()
        else {
            continue;
        };
        seen.bytes.fetch_add(data.len(), Ordering::Relaxed);
        seen.largest.fetch_max(data.len(), Ordering::Relaxed);
    }
    Ok(seen.bytes.load(Ordering::Relaxed).to_string())
}

#[post("/json")]
#[limit(body = "10 B")]
#[auth(public)]
async fn json_body(Json(value): Json<Value>) -> Json<Value> {
    Json(value)
}

#[post("/bytes")]
#[limit(body = "10 B")]
#[auth(public)]
async fn bytes(bytes: Bytes) -> String {
    bytes.len().to_string()
}

#[post("/text")]
#[limit(body = "10 B")]
#[auth(public)]
async fn text(text: String) -> String {
    text
}

#[post("/form")]
#[limit(body = "10 B")]
#[auth(public)]
async fn form(Form(value): Form<Value>) -> Json<Value> {
    Json(value)
}

#[post("/large")]
#[limit(body = "3 MiB")]
#[auth(public)]
async fn large(bytes: Bytes) -> String {
    bytes.len().to_string()
}

/// Uses the limit of the app.
#[post("/default")]
#[auth(public)]
async fn default(bytes: Bytes) -> String {
    bytes.len().to_string()
}

fn bodies(seen: &Seen) -> App<Seen> {
    App::new(seen.clone())
        .policies(Policies::new().cors(SHOP).limits(Limits::NONE.body(20)))
        .routes(routes![upload, json_body, bytes, text, form, large, default])
}

#[tokio::test]
async fn a_body_over_its_limit_by_its_length_is_refused_unread() {
    let seen = Seen::default();
    let server = Running::start(bodies(&seen)).await;
    for (path, over) in [
        ("/upload", 64 * 1024 + 1),
        ("/upload", usize::MAX >> 1),
        ("/json", 11),
        ("/bytes", 11),
        ("/text", 11),
        ("/form", 11),
        ("/default", 21),
        ("/large", 3 * MIB + 1),
    ] {
        // The refusal comes without `100 Continue` and before any byte of the body.
        let length = format!("content-length: {over}");
        let fields = [PAGE, &length, "expect: 100-continue", "content-type: application/json"];
        let mut connection = server.connect().await;
        connection.send(request(&format!("POST {path}"), &fields)).await;
        let response = connection.response().await;
        assert_eq!(code(&response), (413, "request.body-too-large".to_owned()), "{path}");
        assert_eq!(response.sharing(), SHARED, "{path}");
    }
    assert_eq!(seen.calls.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_body_at_its_limit_is_taken() {
    let server = Running::start(bodies(&Seen::default())).await;
    for (path, length) in [("/bytes", 10), ("/text", 10), ("/default", 20), ("/large", 3 * MIB)] {
        let response =
            ask_with(&server, &format!("POST {path}"), &[PAGE], &"x".repeat(length)).await;
        assert_eq!(response.status, 200, "{path} {response:?}");
    }
    let fields = [PAGE, "content-type: application/json"];
    assert_eq!(ask_with(&server, "POST /json", &fields, "[1,2,3,456]").await.status, 413);
    assert_eq!(ask_with(&server, "POST /json", &fields, "[1,2,3,45]").await.status, 200);
}

#[tokio::test]
async fn a_body_without_a_length_is_cut_at_its_limit() {
    let seen = Seen::default();
    let server = Running::start(bodies(&seen)).await;
    for (path, media_type) in [
        ("/json", "application/json"),
        ("/bytes", "application/octet-stream"),
        ("/text", "text/plain"),
        ("/form", "application/x-www-form-urlencoded"),
        ("/default", "application/octet-stream"),
    ] {
        let media_type = format!("content-type: {media_type}");
        let fields = [PAGE, "transfer-encoding: chunked", &media_type];
        // The body never ends, so a server that waits for all of it would time out.
        let mut connection = server.connect().await;
        connection.send(request(&format!("POST {path}"), &fields)).await;
        for _ in 0..3 {
            connection.try_send("8\r\n01234567\r\n").await;
        }
        let response = connection.response().await;
        assert_eq!(code(&response), (413, "request.body-too-large".to_owned()), "{path}");
        assert_eq!(response.sharing(), SHARED, "{path}");
        assert_eq!(connection.rest().await, b"", "{path}");
    }
    assert_eq!(server.panics(), 0);
}

/// What exceeds the limit is not buffered either: the sender runs into a closed window or
/// connection long before it has sent everything.
#[tokio::test]
async fn no_more_than_the_limit_reaches_a_handler_that_streams() {
    const LIMIT: usize = 64 * 1024;
    for chunk in [1, 1000, 8 * 1024, MIB] {
        let seen = Seen::default();
        let server = Running::start(bodies(&seen)).await;
        let mut connection = server.connect().await;
        let fields = [PAGE, "transfer-encoding: chunked"];
        connection.send(request("POST /upload", &fields)).await;
        let part = format!("{chunk:x}\r\n{}\r\n", "x".repeat(chunk)).repeat((4096 / chunk).max(1));
        let mut sent = 0;
        while sent < 2 * MIB && connection.try_send(&part).await {
            sent += part.len();
        }
        let response = connection.response().await;
        assert_eq!(response.status, 413, "{chunk}");
        assert_eq!(response.sharing(), SHARED, "{chunk}");
        let read = seen.bytes.load(Ordering::Relaxed);
        assert!(read <= LIMIT, "{read} bytes by chunks of {chunk}");
        // It was read as it arrived, up to the frame that exceeds the limit.
        let largest = seen.largest.load(Ordering::Relaxed).max(chunk.min(LIMIT));
        assert!(read + largest >= LIMIT.min(sent), "{read} bytes by chunks of {chunk}");
    }
}

#[post("/guarded")]
#[isolation(same_origin)]
#[limit(rate = "1/min", body = "1 KiB")]
#[auth(public)]
async fn guarded(bytes: Bytes) -> String {
    bytes.len().to_string()
}

#[get("/smuggled")]
#[auth(public)]
async fn smuggled(State(seen): State<Seen>) {
    seen.calls.fetch_add(1, Ordering::Relaxed);
}

/// The body of a request that is refused unread is never parsed as the next request.
#[tokio::test]
async fn unread_bodies_are_not_parsed_as_requests() {
    let seen = Seen::default();
    let app = bodies(&seen).routes(routes![guarded, smuggled]);
    let server = Running::start(app).await;
    let inner = request("GET /smuggled", &[]);
    let body = inner.repeat(9);
    assert_eq!(ask(&server, "POST /guarded", &[]).await.status, 200);
    for (line, fields, status) in [
        ("POST /bytes", &[][..], 413),
        ("POST /guarded", &[], 429),
        ("POST /guarded", &["sec-fetch-site: cross-site"], 403),
        ("PUT /bytes", &[], 405),
        ("BREW /bytes", &[], 501),
        ("POST /nowhere", &[], 404),
        ("POST /%", &[], 400),
        ("GET /smuggled/", &[], 404),
        ("OPTIONS /bytes", &[], 204),
    ] {
        let length = format!("content-length: {}", body.len());
        for framing in [&*length, "transfer-encoding: chunked"] {
            let sent = match framing.starts_with('t') {
                true => format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len()),
                false => body.clone(),
            };
            let mut connection = server.connect().await;
            connection.send(request(line, &[fields, &[framing]].concat()) + &sent).await;
            let response = connection.response().await;
            assert!(response.status == status || framing != length, "{line} {response:?}");
            // The connection may stay open or not: what comes next, if anything, is the response to
            // this.
            connection.try_send(request("GET /nowhere", &["connection: close"])).await;
            let rest = String::from_utf8(connection.rest().await).unwrap();
            let responses = rest.matches("HTTP/1.1 ").count();
            assert!(
                responses == rest.matches("HTTP/1.1 404").count() && responses <= 1,
                "{line} {rest}"
            );
        }
    }
    assert_eq!(seen.calls.load(Ordering::Relaxed), 0);
}
