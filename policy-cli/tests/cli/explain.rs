//! `cargo policy explain`.

use policy_core::path::TrailingSlash;
use serde_json::{Value, json};

use crate::{
    fixtures::shop,
    run::{folder, run, run_in},
    schema::validate,
};

#[test]
fn a_websocket_over_http_2_is_an_extended_connect() {
    let evil = "CONNECT /prices --protocol websocket -H origin:https://evil.example";
    let partner = "CONNECT /prices --protocol websocket -H origin:https://a.partner.example";
    for (line, code, words) in [
        (evil, 1, "is refused: 403 cors.websocket-origin-not-granted"),
        (partner, 0, "CONNECT https://api.shop.example/prices is let through\nby the route GET"),
        ("CONNECT /prices --protocol webtransport", 1, "is refused: 501 route.protocol-unknown"),
        ("CONNECT /prices", 1, "is refused: 400 wire.target-form"),
        ("GET /prices --protocol websocket", 2, "only CONNECT has a `:protocol`"),
        ("CONNECT /prices --protocol websocket -H host:a{", 2, "is not a URL"),
    ] {
        let ran = run(&format!("explain {line} --from shop.json"));
        assert_eq!(ran.code, code, "{line}: {}", ran.err);
        assert!((ran.out + &ran.err).contains(words), "{line}");
    }
}

#[test]
fn responses_of_the_server_itself_are_shown_with_their_status() {
    let mut manifest = shop();
    manifest.app.trailing_slash = TrailingSlash::Redirect;
    let json = manifest.to_json();
    for (method, path, words) in [
        ("GET", "/prices/", "is answered by the server itself: 308\nby the route GET /prices"),
        ("OPTIONS", "/prices", "is answered by the server itself: 204\nby the route GET /prices"),
        ("POST", "/prices/", "is refused: 404 route.not-found"),
    ] {
        let arguments = ["explain", method, path, "--from", "-"];
        let ran = run_in(env!("CARGO_MANIFEST_DIR").as_ref(), &arguments, &json);
        assert!(ran.out.contains(words), "{method} {path}: {}{}", ran.out, ran.err);
    }
}

/// A page of another origin, whose preflight is refused: a browser sends nothing, and a program with the
/// same token is served.
#[test]
fn browsers_and_programs_are_told_apart() {
    let url = "https://api.shop.example/orders/1";
    let headers = json!([{ "name": "origin", "value": "https://evil.example" }]);
    let entry = json!({ "request": { "method": "GET", "url": url, "headers": headers } });
    let har = json!({ "log": { "entries": [entry] } }).to_string();
    let folder = folder("explain-browser", &[("har", &har), ("shop.json", &shop().to_json())]);
    let curl = format!("curl {url} -H origin:https://evil.example");
    for (request, code) in [
        (&["GET", url, "-H", "origin:https://evil.example"][..], 1),
        (&["--har", "har"], 1),
        (&["--curl", &curl], 0),
    ] {
        let rights = ["--token", "--scope", "orders:read", "--from", "shop.json"];
        let arguments = [&["explain"], request, &rights].concat();
        let ran = run_in(&folder, &arguments, "");
        assert_eq!(ran.code, code, "{arguments:?}: {}{}", ran.out, ran.err);
        for words in [
            "in a browser: its preflight is refused: 403 cors.origin-not-granted\n\
             The policy of this route does not grant the origin\n\
             sent by a program: is let through\n",
            "to be let through in a browser, the request has to\n  - send it from a page of",
        ] {
            assert!(ran.out.contains(words), "{}", ran.out);
        }
        let json = run_in(&folder, &[&*arguments, &["--format", "json"]].concat(), "");
        let value: Value = serde_json::from_str(&json.out).unwrap();
        assert_eq!((&value["outcome"], json.code), (&json!("reached"), code));
        let code = "cors.origin-not-granted";
        let reason = json!({ "reason": "preflight_refused", "code": code, "status": 403 });
        assert_eq!(value["unsent_by_browser"], reason);
    }
}

/// A copied request may already have the cookie that `--session` is about.
#[test]
fn a_copied_request_has_one_session_cookie_and_every_other_cookie_once() {
    let theme = format!("theme={}", "x".repeat(9000));
    for cookies in ["__Host-sid=abc", "theme=dark; __Host-sid=abc", &theme] {
        let curl = format!("curl https://api.shop.example/orders/1 -b '{cookies}'");
        let rights = ["--session", "--scope", "orders:read", "--from", "-"];
        let arguments = [&["explain", "--curl", &curl][..], &rights].concat();
        let ran = run_in(env!("CARGO_MANIFEST_DIR").as_ref(), &arguments, &shop().to_json());
        assert_eq!(ran.code, 0, "{cookies}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn the_json_follows_its_schema() {
    for line in [
        "GET /hello",
        "GET /nowhere",
        "GET /prices -H origin:https://a.partner.example",
        "PUT /admin/refunds/1 -H origin:https://evil.example --session",
        "DELETE /orders -H origin:https://app.shop.example",
        "OPTIONS /hello",
    ] {
        let ran = run(&format!("explain {line} --from shop.json --format json"));
        let value = validate(include_str!("../../../docs/schema/explain-1.json"), &ran.out);
        let is_by_list = line.contains("partner");
        assert_eq!(value["if_listed"] == "partners", is_by_list, "{line}");
        let text = run(&format!("explain {line} --from shop.json")).out;
        let words = "\ngranted if the list `partners` names the origin\n";
        assert_eq!(text.contains(words), is_by_list, "{text}");
    }
}
