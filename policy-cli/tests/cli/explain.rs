//! `cargo policy explain`.

use policy_core::path::TrailingSlash;

use crate::{
    fixtures::shop,
    run::{run, run_in},
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
