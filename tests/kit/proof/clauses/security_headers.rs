//! Layers keep the security headers.

use super::*;

const STRICT: HeadersPolicy = HeadersPolicy::builder()
    .permissions(&["camera=()"])
    .coop("same-origin")
    .coep("require-corp")
    .corp("same-origin")
    .build();

#[get("/page")]
#[auth(session)]
async fn page() {}

fn shop() -> App<()> {
    with_sessions().headers(STRICT).routes(routes![page])
}

/// Changes responses, and expects words of the law about these headers.
#[track_caller]
fn stripped(edit: fn(&Parts, &mut Response), words: &str) {
    breaks(responding(shop(), edit), &[Law::SecurityHeaders], words);
}

/// Strips one, and expects that it is missed.
#[track_caller]
fn without(edit: fn(&Parts, &mut Response), name: &str) {
    stripped(edit, &format!("no `{name}`"));
}

#[test]
fn types_are_guessed() {
    without(
        |_, response| drop(response.headers_mut().remove("x-content-type-options")),
        "x-content-type-options",
    );
}

#[test]
fn content_of_any_source_runs() {
    without(
        |_, response| drop(response.headers_mut().remove("content-security-policy")),
        "content-security-policy",
    );
}

#[test]
fn any_page_shows_it_in_a_frame() {
    without(
        |_, response| drop(response.headers_mut().remove("x-frame-options")),
        "x-frame-options",
    );
}

#[test]
fn the_address_is_told() {
    without(
        |_, response| drop(response.headers_mut().remove("referrer-policy")),
        "referrer-policy",
    );
}

#[test]
fn tls_is_not_demanded() {
    without(
        |_, response| drop(response.headers_mut().remove("strict-transport-security")),
        "strict-transport-security",
    );
}

#[test]
fn devices_are_open() {
    without(
        |_, response| drop(response.headers_mut().remove("permissions-policy")),
        "permissions-policy",
    );
}

#[test]
fn openers_keep_their_hold() {
    without(
        |_, response| drop(response.headers_mut().remove("cross-origin-opener-policy")),
        "cross-origin-opener-policy",
    );
}

#[test]
fn pages_embed_anything() {
    without(
        |_, response| drop(response.headers_mut().remove("cross-origin-embedder-policy")),
        "cross-origin-embedder-policy",
    );
}

#[test]
fn any_site_loads_it() {
    without(
        |_, response| drop(response.headers_mut().remove("cross-origin-resource-policy")),
        "cross-origin-resource-policy",
    );
}

#[test]
fn a_value_is_another_one() {
    let edit = |_: &Parts, response: &mut Response| {
        if response.headers().contains_key("x-frame-options") {
            set(response.headers_mut(), "x-frame-options", "ALLOWALL");
        }
    };
    stripped(edit, "seen      `x-frame-options: ALLOWALL`");
}

#[test]
fn a_policy_for_content_is_another_one() {
    let edit = |_: &Parts, response: &mut Response| {
        if response.headers().contains_key("content-security-policy") {
            set(response.headers_mut(), "content-security-policy", "default-src *");
        }
    };
    stripped(edit, "seen      `content-security-policy: default-src *`");
}

#[test]
fn a_second_value_is_added() {
    let edit = |_: &Parts, response: &mut Response| {
        let any = HeaderValue::from_static("unsafe-url");
        response.headers_mut().append("referrer-policy", any);
    };
    stripped(edit, " and unsafe-url`");
}

/// Strips one from the responses with a status.
#[track_caller]
fn stripped_from(edit: fn(&Parts, &mut Response), words: &str) {
    stripped(edit, words);
}

#[test]
fn a_refusal_has_none() {
    let edit = |_: &Parts, response: &mut Response| {
        if response.status() == 401 {
            response.headers_mut().remove("x-content-type-options");
        }
    };
    stripped_from(edit, "no `x-content-type-options`, status 401");
}

#[test]
fn an_error_of_a_handler_has_none() {
    let edit = |sent: &Parts, response: &mut Response| {
        if response.status() == 404 && sent.uri.path() == "/page" {
            response.headers_mut().remove("x-content-type-options");
        }
    };
    stripped_from(edit, "no `x-content-type-options`, status 404");
}

#[test]
fn a_panic_has_none() {
    let edit = |_: &Parts, response: &mut Response| {
        if response.status() == 500 {
            response.headers_mut().remove("x-content-type-options");
        }
    };
    stripped_from(edit, "no `x-content-type-options`, status 500");
}

#[test]
fn an_unknown_path_has_none() {
    let edit = |sent: &Parts, response: &mut Response| {
        if sent.uri.path() != "/page" {
            response.headers_mut().remove("x-content-type-options");
        }
    };
    stripped_from(edit, "no `x-content-type-options`, status 404");
}
