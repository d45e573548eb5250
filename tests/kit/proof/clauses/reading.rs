//! Pages read what is granted, and nothing else.

use super::*;

const APP: CorsPolicy =
    CorsPolicy::origins(&["https://app.shop.example"]).expose(&["x-total"]).build();

#[get("/stock")]
#[cors(APP)]
#[auth(public)]
async fn stock() {}

#[get("/orders")]
#[cors(origins = ["https://app.shop.example"], credentials)]
#[auth(session)]
async fn orders() {}

fn shop() -> App<()> {
    app().policies(Policies::new().cors(APP)).routes(routes![stock])
}

#[test]
fn finds_responses_that_add_credentials() {
    let app = responding(shop(), |sent, response| {
        if response.headers().contains_key(ALLOW_ORIGIN) && !is_preflight(sent) {
            set(response.headers_mut(), "access-control-allow-credentials", "true");
        }
    });
    breaks(app, &[Law::ReadSoundness, Law::ResponseIntegrity], "the page cannot read the response");
}

#[test]
fn a_page_sees_a_field_that_is_not_exposed() {
    let app = responding(shop(), |_, response| {
        if response.headers().contains_key(EXPOSE) {
            set(response.headers_mut(), EXPOSE, "x-total, x-policy-hidden");
        }
    });
    breaks(
        app,
        &[Law::ReadSoundness, Law::ResponseIntegrity],
        "the page does not see the field `x-policy-hidden`",
    );
}

#[post("/stock")]
#[cors(origins = ["https://app.shop.example"], expose = ["location"])]
#[auth(public)]
async fn delivery() {}

/// A browser follows redirects, so no page can read one.
#[test]
fn a_page_misses_no_redirect_where_it_may_see_the_address() {
    prove(app().routes(routes![delivery])).check(Law::ReadCompleteness);
}

#[test]
fn a_page_does_not_read_a_response_that_succeeds() {
    let app = responding(shop(), |sent, response| {
        if response.status().as_u16() < 400 && !is_preflight(sent) {
            response.headers_mut().remove(ALLOW_ORIGIN);
        }
    });
    breaks(
        app,
        &[Law::ReadCompleteness, Law::ResponseIntegrity],
        "the page reads the response (status 200)",
    );
}

#[test]
fn a_page_does_not_see_a_field_that_is_exposed() {
    let app = responding(shop(), |_, response| {
        if response.status().as_u16() < 400 {
            response.headers_mut().remove(EXPOSE);
        }
    });
    breaks(
        app,
        &[Law::ReadCompleteness, Law::ResponseIntegrity],
        "the page sees the field `x-total`, which is exposed",
    );
}

/// Removes the grant from some responses.
fn unread(app: App<()>, is_unread: fn(&Parts, &Response) -> bool) {
    let app = responding(app, move |sent, response| {
        if is_unread(sent, response) {
            response.headers_mut().remove(ALLOW_ORIGIN);
        }
    });
    let laws = [Law::ErrorsReadable, Law::ResponseIntegrity];
    breaks(app, &laws, "the page reads the response (status ");
}

#[test]
fn a_page_does_not_read_an_error_of_a_handler() {
    unread(shop(), |sent, response| response.status() == 404 && sent.uri.path() == "/stock");
}

#[test]
fn a_page_does_not_read_that_a_path_is_unknown() {
    unread(shop(), |sent, response| response.status() == 404 && sent.uri.path() != "/stock");
}

#[test]
fn a_page_does_not_read_that_a_method_is_not_served() {
    unread(shop(), |_, response| response.status() == 405);
}

#[test]
fn a_page_does_not_read_that_a_handler_panicked() {
    unread(shop(), |_, response| {
        let is_own = text(response.headers(), "content-type").contains("problem");
        response.status() == 500 && is_own
    });
}

#[test]
fn a_page_does_not_read_a_refusal() {
    unread(with_sessions().routes(routes![orders]), |_, response| response.status() == 401);
}

#[test]
fn a_page_does_not_see_an_exposed_field_of_an_error() {
    let app = responding(shop(), |_, response| {
        if response.status().as_u16() >= 400 {
            response.headers_mut().remove(EXPOSE);
        }
    });
    breaks(
        app,
        &[Law::ErrorsReadable, Law::ResponseIntegrity],
        "the page sees the field `x-total`, which is exposed",
    );
}
