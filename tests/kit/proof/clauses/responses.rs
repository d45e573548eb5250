//! Layers do not change what the policy writes into a response.

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
    with_sessions().policies(Policies::new().headers(STRICT)).routes(routes![page])
}

/// Changes responses, and expects the law to say these words.
#[track_caller]
fn stripped(edit: fn(&Parts, &mut Response), words: &str) {
    breaks(responding(shop(), edit), &[Law::ResponseIntegrity], words);
}

/// Removes a header, and expects the law to report it.
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
fn finds_responses_that_leak_the_address() {
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

/// Removes a header from responses with a status.
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

/// Asserts that this law alone finds what a layer writes into a response.
#[track_caller]
fn written(app: App<()>, edit: fn(&Parts, &mut Response), words: &str) {
    breaks(responding(app, edit), &[Law::ResponseIntegrity], words);
}

const SHARED: CorsPolicy = CorsPolicy::origins(&["https://app.shop.example"]).max_age(600).build();

#[get("/stock")]
#[cors(SHARED)]
#[auth(public)]
#[cache(public, max_age = 60)]
async fn stock() {}

#[put("/stock")]
#[cors(SHARED)]
#[auth(public)]
async fn count() {}

fn shared() -> App<()> {
    app().routes(routes![stock, count])
}

#[test]
fn a_grant_is_kept_for_a_day() {
    let edit = |_: &Parts, response: &mut Response| {
        if response.headers().contains_key("access-control-max-age") {
            set(response.headers_mut(), "access-control-max-age", "86400");
        }
    };
    written(shared(), edit, "expected  `access-control-max-age: 600`");
    written(shared(), edit, "seen      `access-control-max-age: 86400`");
}

#[test]
fn pages_of_the_internet_reach_a_private_network() {
    let edit = |sent: &Parts, response: &mut Response| {
        if sent.headers.contains_key("access-control-request-private-network") {
            set(response.headers_mut(), "access-control-allow-private-network", "true");
        }
    };
    // The response to a preflight has to be the same with this field as without.
    let app = responding(shared(), edit);
    let laws = [Law::PreflightPurity, Law::ResponseIntegrity];
    breaks(app, &laws, "the same response as without `access-control-request-private-network`");
    let edit = |_: &Parts, response: &mut Response| {
        set(response.headers_mut(), "access-control-allow-private-network", "true");
    };
    written(shared(), edit, "expected  no `access-control-allow-private-network`");
}

#[test]
fn pages_and_caches_get_more_than_the_policy_gives() {
    for (name, value) in [
        ("timing-allow-origin", "*"),
        ("service-worker-allowed", "/"),
        ("supports-loading-mode", "credentialed-prerender"),
        ("cdn-cache-control", "max-age=600"),
        ("surrogate-control", "max-age=600"),
    ] {
        let app =
            shared().layer(tower::util::MapResponseLayer::new(move |mut response: Response| {
                set(response.headers_mut(), name, value);
                response
            }));
        breaks(app, &[Law::ResponseIntegrity], &format!("expected  no `{name}`"));
    }
}

#[test]
fn a_refusal_becomes_a_success() {
    let edit = |_: &Parts, response: &mut Response| {
        if response.status() == 403 {
            *response.status_mut() = StatusCode::OK;
        }
    };
    let words = "a refusal: the app refuses the request with 403";
    // Of a preflight, and of the request of a page.
    written(shared(), edit, words);
    let app = with_sessions().routes(routes![order]);
    written(app, edit, words);
}

#[post("/orders")]
#[auth(session)]
async fn order() {}

#[test]
fn finds_layers_that_serve_refused_requests() {
    let app = with_sessions().routes(routes![order]).layer(layer_fn(|inner: SharedService| {
        service_fn(move |request: Request| {
            let inner = inner.clone();
            async move {
                let is_cross = text(request.headers(), "sec-fetch-site") == "cross-site";
                match request.method() == "POST" && is_cross {
                    true => Ok(Response::new(policy_server::Body::empty())),
                    false => inner.oneshot(request).await,
                }
            }
        })
    }));
    breaks(app, &[Law::ResponseIntegrity], "a refusal: the app refuses the request with 401");
}

#[test]
fn finds_responses_that_lose_vary() {
    // No cache stores a response to PUT, so no other law finds it.
    let edit = |sent: &Parts, response: &mut Response| {
        if sent.method == "PUT" {
            response.headers_mut().remove("vary");
        }
    };
    written(shared(), edit, "expected  `vary: ");
}

#[test]
fn caches_keep_a_response_for_longer() {
    for control in [
        "public, max-age=61",
        "public, s-maxage=61, max-age=60",
        "public, max-age=60, stale-while-revalidate=1",
        "public, max-age=60, stale-if-error=1",
        "public",
    ] {
        let edit = move |mut response: Response| {
            if text(response.headers(), "cache-control") == "public, max-age=60" {
                set(response.headers_mut(), "cache-control", control);
            }
            response
        };
        let app = shared().layer(tower::util::MapResponseLayer::new(edit));
        breaks(app, &[Law::ResponseIntegrity], "expected  `cache-control: public, max-age=60`");
    }
}

#[test]
fn caches_keep_a_refusal() {
    let edit = |_: &Parts, response: &mut Response| {
        if response.status() == 401 {
            set(response.headers_mut(), "cache-control", "private, max-age=60");
        }
    };
    written(with_sessions().routes(routes![order]), edit, "`cache-control: private, max-age=60`");
}

#[test]
fn finds_refusals_with_a_basic_challenge() {
    let edit = |_: &Parts, response: &mut Response| {
        if response.status() == 401 {
            set(response.headers_mut(), "www-authenticate", "Basic");
        }
    };
    written(with_sessions().routes(routes![order]), edit, "`www-authenticate: Basic`");
}

#[test]
fn layers_that_restrict_break_nothing() {
    let app = responding(shared(), |sent, response| {
        let headers = response.headers_mut();
        headers.append("vary", HeaderValue::from_static("accept-encoding"));
        let policy = HeaderValue::from_static("frame-src 'none'");
        headers.append("content-security-policy", policy);
        set(headers, "cache-control", "no-store");
        if !is_preflight(sent) {
            set(headers, "set-cookie", "visitor=1");
        }
    });
    breaks_none(app);
}
