//! Ambient credentials change nothing for a page that is not trusted.

use super::*;

#[post("/orders")]
#[auth(session)]
#[csrf(origin)]
async fn order() {}

#[post("/transfers")]
#[auth(session | token)]
async fn transfer() {}

#[get("/feed")]
#[auth(session)]
async fn feed() {}

/// Guests read with tokens; their pages are not trusted with sessions.
#[allow(deprecated, reason = "a warning of the attributes: sessions are not for those pages")]
#[post("/quotes")]
#[cors(origins = ["https://guest.shop.example"])]
#[auth(session | token)]
#[csrf(origin)]
async fn quote() {}

/// Makes a page one of the app's own.
fn own(request: &mut Request) {
    set(request.headers_mut(), "origin", OWN);
    request.headers_mut().remove("sec-fetch-site");
}

const FORGED: [Law; 2] = [Law::RequestIntegrity, Law::NoAmbientWrite];

#[test]
fn a_page_of_the_same_site_orders() {
    let app = requesting(with_sessions().routes(routes![order]), |request| {
        if text(request.headers(), "origin") == "https://policy-neighbour.shop.example" {
            own(request);
        }
    });
    breaks(app, &FORGED, "`origin` reaches the gates as it was sent");
}

#[test]
fn a_page_that_is_granted_without_credentials_orders() {
    let app = with_tokens().sessions(Sessions::memory()).routes(routes![quote]);
    let app = requesting(app, |request| {
        let is_guest = text(request.headers(), "origin") == "https://guest.shop.example";
        if request.method() == "POST" && is_guest && request.headers().contains_key("cookie") {
            own(request);
        }
    });
    let proof = prove(app);
    let text = proof.refutation(Law::NoAmbientWrite);
    assert!(text.contains("nobody trusts this page with the session of its user"), "{text}");
}

#[test]
fn a_stranger_opens_a_web_socket() {
    let app = requesting(with_sessions().routes(routes![feed]), |request| {
        if request.headers().contains_key("sec-websocket-key") {
            own(request);
        }
    });
    breaks(app, &FORGED, "new WebSocket(");
}

/// A token is no cookie: nothing asks for the token of the session.
#[test]
fn an_own_page_changes_something_without_the_token_of_the_session() {
    let app = with_tokens().sessions(Sessions::memory()).routes(routes![transfer]);
    let app = replaying(
        app,
        |sent, status| sent.headers.contains_key("authorization") && status == 200,
        |sent| sent.headers.contains_key("cookie"),
    );
    let text = prove(app).refutation(Law::NoAmbientWrite);
    assert!(text.contains("the token of the session is missing"), "{text}");
}
