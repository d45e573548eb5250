//! Requests wait for their preflight, and a preflight is decided by origin and method alone.

use super::*;

const METHODS: &str = "access-control-allow-methods";
const HEADERS: &str = "access-control-allow-headers";
const ASKED: &str = "access-control-request-headers";

#[get("/stock")]
#[put("/stock")]
#[cors(origins = ["https://app.shop.example"])]
#[auth(public)]
async fn stock() {}

#[put("/orders")]
#[cors(origins = ["https://app.shop.example"], credentials)]
#[auth(session)]
async fn order() {}

#[put("/reports")]
#[cors(origins = ["https://app.shop.example"])]
#[auth(token)]
async fn report() {}

fn shop() -> App<()> {
    app().routes(routes![stock])
}

/// Adds a name to a list of a response to a preflight.
fn add(response: &mut Response, list: &'static str, name: &str) {
    let listed = text(response.headers(), list).to_owned();
    if !listed.is_empty() {
        set(response.headers_mut(), list, &format!("{listed},{name}"));
    }
}

#[test]
fn a_method_that_is_not_granted_is_sent() {
    let app = responding(shop(), |sent, response| {
        add(response, METHODS, "BREW");
        if sent.method == "BREW" {
            response.headers_mut().remove(ALLOW_ORIGIN);
        }
    });
    breaks(app, &[Law::PreflightGate, Law::ResponseIntegrity], ",BREW");
}

#[test]
fn a_field_that_is_not_granted_is_sent() {
    let app = responding(shop(), |sent, response| {
        add(response, HEADERS, "x-policy-fresh");
        if sent.headers.contains_key("x-policy-fresh") {
            response.headers_mut().remove(ALLOW_ORIGIN);
        }
    });
    breaks(app, &[Law::PreflightGate, Law::ResponseIntegrity], "\"x-policy-fresh\": \"1\"");
}

#[test]
fn a_request_of_a_stranger_is_sent() {
    let app = responding(shop(), |sent, response| {
        let is_stranger = text(&sent.headers, "origin") == "https://stranger.example";
        if is_preflight(sent) && is_stranger {
            *response.status_mut() = StatusCode::NO_CONTENT;
            set(response.headers_mut(), ALLOW_ORIGIN, "https://stranger.example");
            set(response.headers_mut(), METHODS, "GET, PUT");
            set(response.headers_mut(), HEADERS, "content-type");
        }
    });
    // A preflight that grants a stranger names it, too.
    let laws = [Law::PreflightGate, Law::OriginEcho, Law::ResponseIntegrity];
    breaks(app, &laws, "https://stranger.example");
}

#[test]
fn a_handler_runs_for_a_preflight() {
    let app = shop().layer(layer_fn(|inner: SharedService| {
        service_fn(move |request: Request| {
            let inner = inner.clone();
            async move {
                let (head, body) = request.into_parts();
                if is_preflight(&head) {
                    let warm = Request::get("/stock").header("host", text(&head.headers, "host"));
                    let warm = warm.body(policy_server::Body::empty()).expect("a request");
                    inner.clone().oneshot(warm).await?;
                }
                inner.oneshot(Request::from_parts(head, body)).await
            }
        })
    }));
    // The request that the layer made is no request that was sent.
    breaks(app, &[Law::RequestIntegrity, Law::PreflightPurity], "OPTIONS was sent, GET arrives");
}

/// Changes responses to preflights.
fn impure(app: App<()>, edit: fn(&Parts, &mut Response), words: &str) {
    breaks(responding(app, edit), &[Law::PreflightPurity], words);
}

#[test]
fn a_preflight_sets_a_cookie() {
    let edit = |sent: &Parts, response: &mut Response| {
        if is_preflight(sent) {
            set(response.headers_mut(), "set-cookie", "visitor=1");
        }
    };
    impure(shop(), edit, "with a cookie");
}

#[test]
fn finds_granted_preflights_without_success() {
    // No browser sends such a preflight: other laws do not see it.
    let edit = |sent: &Parts, response: &mut Response| {
        let is_simple = text(&sent.headers, "access-control-request-method") == "GET";
        if is_simple && !sent.headers.contains_key(ASKED) {
            *response.status_mut() = StatusCode::FORBIDDEN;
        }
    };
    impure(shop(), edit, "expected  a status of 200 to 299");
}

#[test]
fn a_preflight_depends_on_a_cookie() {
    let edit = |sent: &Parts, response: &mut Response| {
        if is_preflight(sent) && sent.headers.contains_key("cookie") {
            set(response.headers_mut(), "x-user", "1");
        }
    };
    impure(with_sessions().routes(routes![order]), edit, "the same response as without `cookie`");
}

#[test]
fn a_preflight_depends_on_a_token() {
    let edit = |sent: &Parts, response: &mut Response| {
        if is_preflight(sent) && sent.headers.contains_key("authorization") {
            *response.status_mut() = StatusCode::OK;
        }
    };
    let app = responding(with_tokens().routes(routes![report]), edit);
    // Some of these are refused.
    let laws = [Law::PreflightPurity, Law::ResponseIntegrity];
    breaks(app, &laws, "the same response as without `authorization`");
}

#[test]
fn a_preflight_depends_on_the_fields_that_it_names() {
    let edit = |sent: &Parts, response: &mut Response| {
        if text(&sent.headers, ASKED).contains("x-policy-fresh") {
            response.headers_mut().remove(METHODS);
        }
    };
    let laws = [Law::PreflightPurity, Law::ResponseIntegrity];
    let words = "the same response as without `access-control-request-headers`";
    breaks(responding(shop(), edit), &laws, words);
}
