//! Responses as scripts: public ones only, and with nothing executable that a client wrote.

use policy_tests::handlers::login;

use super::*;

#[get("/prices")]
#[cors(SHOP)]
#[jsonp(callback = "cb")]
#[auth(public)]
async fn prices(headers: HeaderMap) -> Response {
    let credentials: Vec<_> = ["cookie", "authorization"]
        .into_iter()
        .flat_map(|name| headers.get_all(name))
        .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
        .collect();
    (
        asked_for(&headers),
        Json(json!({ "credentials": credentials, "text": "<!--</script>\u{2028}&" })),
    )
        .into_response()
}

#[get("/dotted")]
#[jsonp(callback = "call.back", dotted)]
#[auth(public)]
async fn dotted() -> Json<u8> {
    Json(7)
}

#[get("/tagged")]
#[jsonp(callback = "cb")]
#[cache(public, max_age = 60)]
#[auth(public)]
async fn tagged() -> (ETag, ByteRanges, Json<u8>) {
    (ETag::version(1), ByteRanges, Json(7))
}

/// An alias hides the type's name from the macro.
type Alias = CsrfToken;

/// Returns the data of the client's session.
#[get("/secret")]
#[jsonp(callback = "cb")]
#[auth(public)]
async fn secret(csrf: Alias) -> CsrfToken {
    csrf
}

fn app() -> App<()> {
    App::new(()).routes(routes![prices, dotted, tagged])
}

/// Whether the parts of the body that do not depend on its data are those of a script.
fn is_script(response: &RawResponse, callback: &str) -> bool {
    let begin = format!("/**/typeof {callback}==='function'&&{callback}(");
    response.text().starts_with(&begin)
        && response.text().ends_with(");")
        && response.header("content-type") == Some("text/javascript; charset=utf-8")
        && response.header("x-content-type-options") == Some("nosniff")
}

#[tokio::test]
async fn a_function_is_called_by_its_name() {
    let server = Running::start(app()).await;
    for name in ["f", "_", "$", "jQuery36_1", "a2", "callback", &"x".repeat(64)] {
        let response = ask(&server, &format!("GET /prices?cb={name}"), &[]).await;
        assert!(response.status == 200 && is_script(&response, name), "{response:?}");
        let body = response.text();
        assert!(
            !body.contains(['<', '>', '&', '\u{2028}']) || body.matches('&').count() == 2,
            "{body}"
        );
    }
    for query in ["cb=%66%6F%6f", "%63b=foo", "a=b&cb=foo&c", "&cb=foo&", "CB=x&cb=foo"] {
        let response = ask(&server, &format!("GET /prices?{query}"), &[]).await;
        assert!(response.status == 200 && is_script(&response, "foo"), "{query} {response:?}");
    }
    for name in ["a.b", "a.b.c", "f"] {
        let response = ask(&server, &format!("GET /dotted?call.back={name}"), &[]).await;
        assert!(is_script(&response, name), "{response:?}");
    }
    for query in ["", "?callback=f", "?CB=f", "?cb%00=f", "?%2563b=f", "?c%62%20=f"] {
        let response = ask(&server, &format!("GET /prices{query}"), &[]).await;
        assert_eq!(
            response.header("content-type"),
            Some("application/json"),
            "{query} {response:?}"
        );
    }
}

#[tokio::test]
async fn a_hostile_name_is_refused_and_written_nowhere() {
    let server = Running::start(app()).await;
    let long = "z".repeat(65);
    for value in [
        "",
        "1a",
        "a-b",
        "a%20b",
        "a.b",
        "a%2Eb",
        "a%5B0%5D",
        "alert(1)",
        "alert%281%29",
        "f%3Bg",
        "f;g",
        "%3Cscript%3Ealert(1)%3C%2Fscript%3E",
        "f%0d%0aset-cookie:x=1",
        "f%00",
        "%00f",
        "f%2528",
        "%2566",
        "f%E2%80%A8",
        "%C3%A9f",
        "%FF",
        "%",
        "%4",
        "%zz",
        "f+g",
        "+",
        "f%26g",
        "eval",
        "this",
        "function",
        "%2F%2A%2A%2Ff",
        "f%27",
        "f%22",
        "f%60",
        "..f",
        "f.",
        "CWS%07%0EhC",
        &long,
    ] {
        for accept in ["accept: */*", "accept: text/html", "accept: text/plain"] {
            let line = format!("GET /prices?cb={value}");
            let response = ask(&server, &line, &[PAGE, accept]).await;
            assert_eq!(response.status, 400, "{line} {response:?}");
            assert_eq!(response.sharing(), SHARED);
            assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
            assert!(!response.header("content-type").unwrap().contains("javascript"));
            let (headers, text) = (response.lines().join("\n"), response.text());
            assert!(text.contains("jsonp.callback-invalid"), "{text}");
            for part in ["alert", "script>", "zzzz", "set-cookie", "CWS", "eval", "%25"] {
                assert!(!headers.contains(part) && !text.contains(part), "{line} {response:?}");
            }
        }
    }
    for query in ["cb=f&cb=f", "cb=f&%63b=g", "cb=f&cb", "cb&cb=f", "cb", "cb=f&x&cb="] {
        let response = ask(&server, &format!("GET /prices?{query}"), &[]).await;
        assert_eq!(code(&response), (400, "jsonp.callback-invalid".to_owned()), "{query}");
    }
}

#[tokio::test]
async fn jsonp_handlers_have_no_caller() {
    let server = Running::start(app()).await;
    let fields =
        ["cookie: __Host-sid=x; a=b", "cookie: c=d", "authorization: Bearer x", "authorization: y"];
    for path in ["/prices", "/prices?cb=f"] {
        let response = ask(&server, &format!("GET {path}"), &fields).await;
        assert!(response.text().contains("\"credentials\":[]"), "{response:?}");
    }
    let set =
        "x-response: set-cookie: a=b|cross-origin-resource-policy: same-origin|content-length: 3";
    let response = ask(&server, "GET /prices?cb=f", &[set]).await;
    assert_eq!(response.header("set-cookie"), None, "{response:?}");
    assert_eq!(response.header("cross-origin-resource-policy"), Some("cross-origin"));
    assert!(is_script(&response, "f"));
}

/// With the token of a session, any page that loads the script could act for its owner.
#[tokio::test]
async fn no_script_has_the_token_of_a_session_in_it() {
    #[get("/plain")]
    #[auth(public)]
    async fn plain(csrf: CsrfToken) -> CsrfToken {
        csrf
    }

    const OWN: &str = "https://api.example";
    let app = App::new(()).public_origin(OWN).clock(Clock::at(START)).sessions(Sessions::memory());
    let client = app.routes(routes![login, secret, plain]).test();
    let response = client.post("/login").origin(OWN).send().await;
    let cookie = response.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let token = client.get("/plain").header("cookie", &cookie).send().await.json::<Value>();
    assert!(token["token"].is_string());
    for path in ["/secret", "/secret?cb=f"] {
        let response = client.get(path).header("cookie", &cookie).send().await;
        // Script responses have no session, so there is none to take a token from.
        assert_eq!(response.status(), 500, "{}", response.text());
        assert!(!response.text().contains(token["token"].as_str().unwrap()));
        assert!(response.header("set-cookie").is_none());
    }
}

#[tokio::test]
async fn scripts_are_revalidated_and_cut_as_other_responses() {
    let server = Running::start(app()).await;
    let script = "/**/typeof f==='function'&&f(7);";
    let response = ask(&server, "GET /tagged?cb=f", &[]).await;
    assert_eq!(
        (response.text(), response.header("cache-control")),
        (script, Some("public, max-age=60"))
    );
    let response = ask(&server, "GET /tagged?cb=f", &["if-none-match: \"1\""]).await;
    assert_eq!((response.status, response.header("content-type")), (304, None));
    let response = ask(&server, "GET /tagged?cb=f", &["range: bytes=4-9"]).await;
    assert_eq!((response.status, response.text()), (206, &script[4..10]));
    let head = ask(&server, "HEAD /tagged?cb=f", &[]).await;
    assert_eq!(head.header("content-length"), Some(&*script.len().to_string()));
    let shared = ask(&server, "GET /prices?cb=f", &[PAGE]).await;
    assert_eq!(shared.sharing(), SHARED);
}

/// Digests of the JSON do not match the script.
#[tokio::test]
async fn a_script_lacks_the_digests_of_its_json() {
    let server = Running::start(app()).await;
    let asks = "x-response: content-digest: sha-256=:AAAA:|repr-digest: sha-256=:AAAA:|\
                digest: sha-256=AAAA|content-md5: AAAA|content-language: en";
    let json = ask(&server, "GET /prices", &[asks]).await;
    assert_eq!(json.header("content-digest"), Some("sha-256=:AAAA:"));
    let script = ask(&server, "GET /prices?cb=f", &[asks]).await;
    assert!(is_script(&script, "f"));
    for name in ["content-digest", "repr-digest", "digest", "content-md5"] {
        assert_eq!(script.header(name), None, "{script:?}");
    }
    assert_eq!(script.header("content-language"), Some("en"));
    // Encoded JSON cannot be wrapped into a call.
    let asks = "x-response: content-encoding: gzip";
    let encoded = ask(&server, "GET /prices?cb=f", &[asks]).await;
    assert!(!encoded.text().starts_with("/**/"), "{encoded:?}");
}
