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

const BROKEN: [Law; 1] = [Law::ResponseIntegrity];

#[test]
fn finds_responses_that_lose_a_field() {
    for name in [
        "x-content-type-options",
        "content-security-policy",
        "x-frame-options",
        "referrer-policy",
        "strict-transport-security",
        "permissions-policy",
        "cross-origin-opener-policy",
        "cross-origin-embedder-policy",
        "cross-origin-resource-policy",
    ] {
        let app = responding(shop(), move |_, response| drop(response.headers_mut().remove(name)));
        breaks_in(name, app, &BROKEN, &format!("no `{name}`"));
    }
}

#[test]
fn finds_responses_with_another_value() {
    each_breaks(
        shop,
        &BROKEN,
        &[
            (
                "a value is another one",
                |_, response| {
                    if response.headers().contains_key("x-frame-options") {
                        set(response.headers_mut(), "x-frame-options", "ALLOWALL");
                    }
                },
                "seen      `x-frame-options: ALLOWALL`",
            ),
            (
                "a policy for content is another one",
                |_, response| {
                    if response.headers().contains_key("content-security-policy") {
                        set(response.headers_mut(), "content-security-policy", "default-src *");
                    }
                },
                "seen      `content-security-policy: default-src *`",
            ),
            (
                "a second value is added",
                |_, response| {
                    let any = HeaderValue::from_static("unsafe-url");
                    response.headers_mut().append("referrer-policy", any);
                },
                " and unsafe-url`",
            ),
        ],
    );
}

/// Removes a field from responses with a status.
fn lose(response: &mut Response, status: u16) {
    if response.status() == status {
        response.headers_mut().remove("x-content-type-options");
    }
}

#[test]
fn finds_errors_that_lose_a_field() {
    each_breaks(
        shop,
        &BROKEN,
        &[
            (
                "a refusal",
                |_, response| lose(response, 401),
                "no `x-content-type-options`, status 401",
            ),
            (
                "an error of a handler",
                |sent, response| {
                    if sent.uri.path() == "/page" {
                        lose(response, 404);
                    }
                },
                "no `x-content-type-options`, status 404",
            ),
            (
                "a panic",
                |_, response| lose(response, 500),
                "no `x-content-type-options`, status 500",
            ),
            (
                "an unknown path",
                |sent, response| {
                    if sent.uri.path() != "/page" {
                        response.headers_mut().remove("x-content-type-options");
                    }
                },
                "no `x-content-type-options`, status 404",
            ),
        ],
    );
}

/// Asserts that this law alone finds what a layer writes into a response.
#[track_caller]
fn assert_broken(app: App<()>, edit: fn(&Parts, &mut Response), words: &str) {
    breaks(responding(app, edit), &BROKEN, words);
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
fn finds_changed_grants() {
    let lasting: Edit = |_, response| {
        if response.headers().contains_key("access-control-max-age") {
            set(response.headers_mut(), "access-control-max-age", "86400");
        }
    };
    each_breaks(
        shared,
        &BROKEN,
        &[
            ("a longer age, expected", lasting, "expected  `access-control-max-age: 600`"),
            ("a longer age, seen", lasting, "seen      `access-control-max-age: 86400`"),
            (
                // No cache stores a response to PUT, so no other law finds it.
                "no vary",
                |sent, response| {
                    if sent.method == "PUT" {
                        response.headers_mut().remove("vary");
                    }
                },
                "expected  `vary: ",
            ),
        ],
    );
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
    assert_broken(shared(), edit, "expected  no `access-control-allow-private-network`");
}

#[test]
fn pages_and_caches_get_more_than_the_policy_gives() {
    for (name, value) in [
        ("timing-allow-origin", "*"),
        ("service-worker-allowed", "/"),
        ("supports-loading-mode", "credentialed-prerender"),
        ("activate-storage-access", "load"),
        ("cdn-cache-control", "max-age=600"),
        ("x-accel-expires", "600"),
    ] {
        let app = responding(shared(), move |_, response| set(response.headers_mut(), name, value));
        breaks(app, &[Law::ResponseIntegrity], &format!("expected  no `{name}`"));
    }
    // No cache stores a response with this status, unless the field is there.
    let edit = |_: &Parts, response: &mut Response| {
        if response.status() == 303 {
            set(response.headers_mut(), "expires", "Fri, 01 Jan 2100 00:00:00 GMT");
        }
    };
    assert_broken(shop(), edit, "expected  no `expires`");
}

#[test]
fn a_refusal_becomes_a_success() {
    let edit = |_: &Parts, response: &mut Response| {
        if response.status() == 403 {
            *response.status_mut() = StatusCode::OK;
        }
    };
    let words = "a refusal: the app refuses the request with 403";
    // The refusal of a preflight, and of a page's request.
    assert_broken(shared(), edit, words);
    let app = with_sessions().routes(routes![order]);
    assert_broken(app, edit, words);
}

#[post("/orders")]
#[auth(session)]
async fn order() {}

#[test]
fn finds_layers_that_serve_refused_requests() {
    let app = short_circuit(with_sessions().routes(routes![order]), |request| {
        request.method() == "POST" && text(request.headers(), "sec-fetch-site") == "cross-site"
    });
    breaks(app, &[Law::ResponseIntegrity], "a refusal: the app refuses the request with 401");
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
        let app = responding(shared(), move |_, response| {
            if text(response.headers(), "cache-control") == "public, max-age=60" {
                set(response.headers_mut(), "cache-control", control);
            }
        });
        breaks(app, &[Law::ResponseIntegrity], "expected  `cache-control: public, max-age=60`");
    }
}

#[test]
fn finds_changed_refusals() {
    each_breaks(
        || with_sessions().routes(routes![order]),
        &BROKEN,
        &[
            (
                "caches keep it",
                |_, response| {
                    if response.status() == 401 {
                        set(response.headers_mut(), "cache-control", "private, max-age=60");
                    }
                },
                "`cache-control: private, max-age=60`",
            ),
            (
                "it asks for a password",
                |_, response| {
                    if response.status() == 401 {
                        set(response.headers_mut(), "www-authenticate", "Basic");
                    }
                },
                "`www-authenticate: Basic`",
            ),
        ],
    );
}

#[test]
fn layers_that_restrict_break_nothing() {
    let app = responding(shared(), |sent, response| {
        let headers = response.headers_mut();
        headers.append("vary", HeaderValue::from_static("accept-encoding"));
        let policy = HeaderValue::from_static("frame-src 'none'");
        headers.append("content-security-policy", policy);
        set(headers, "cache-control", "no-store");
        set(headers, "pragma", "no-cache");
        set(headers, "expires", "0");
        if !is_preflight(sent) {
            set(headers, "set-cookie", "visitor=1");
        }
    });
    breaks_none(app);
}
