//! Isolated routes keep pages out.

use super::*;

#[get("/album")]
#[post("/album")]
#[auth(public)]
#[isolation(same_origin)]
async fn album() {}

#[get("/logo")]
#[auth(public)]
#[isolation(same_site)]
async fn logo() {}

const FORGED: [Law; 2] = [Law::RequestIntegrity, Law::Isolation];

#[test]
fn a_layer_says_nothing_about_the_page() {
    let app = requesting(app().routes(routes![album]), |request| {
        request.headers_mut().remove("sec-fetch-site");
        request.headers_mut().remove("origin");
    });
    breaks(app, &FORGED, "`origin` reaches the gates as it was sent");
}

#[test]
fn a_layer_drops_the_origin_of_an_old_browser() {
    let app = requesting(app().routes(routes![album]), |request| {
        if !request.headers().contains_key("sec-fetch-site") && request.uri().query().is_none() {
            request.headers_mut().remove("origin");
        }
    });
    breaks(app, &FORGED, "`origin` reaches the gates as it was sent");
}

#[test]
fn a_page_of_another_site_is_one_of_the_same() {
    let app = requesting(app().routes(routes![logo]), |request| {
        if text(request.headers(), "sec-fetch-site") == "cross-site" {
            set(request.headers_mut(), "sec-fetch-site", "same-site");
        }
    });
    breaks(app, &FORGED, "cross-site was sent, same-site arrives");
}

#[test]
fn a_page_of_the_same_site_is_an_own_one() {
    let app = requesting(app().routes(routes![album]), |request| {
        if text(request.headers(), "sec-fetch-site") == "same-site" {
            set(request.headers_mut(), "sec-fetch-site", "same-origin");
        }
    });
    breaks(app, &FORGED, "same-site was sent, same-origin arrives");
}

const ANSWERED: [Law; 2] = [Law::Isolation, Law::ResponseIntegrity];

/// Responds in place of the app to a kind of load.
fn answering(is_answered: fn(&HeaderMap) -> bool) -> App<()> {
    short_circuit(app().routes(routes![album]), move |request| is_answered(request.headers()))
}

#[test]
fn a_layer_shows_an_image_to_every_page() {
    let app = answering(|headers| text(headers, "sec-fetch-dest") == "image");
    breaks(app, &ANSWERED, "a response that is no refusal");
}

#[test]
fn a_layer_shows_a_frame_to_every_page() {
    let app = answering(|headers| text(headers, "sec-fetch-dest") == "iframe");
    breaks(app, &ANSWERED, "iframe");
}

#[test]
fn finds_layers_that_serve_forms_of_other_pages() {
    let app = answering(|headers| {
        text(headers, "sec-fetch-mode") == "navigate" && headers.contains_key("content-type")
    });
    breaks(app, &ANSWERED, "<form method=post");
}

#[test]
fn a_link_to_an_isolated_page_breaks_nothing() {
    breaks_none(app().routes(routes![album, logo]));
}
