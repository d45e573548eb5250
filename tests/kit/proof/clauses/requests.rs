//! The gates see each request as it was sent.

use policy_server::http::{Method, Uri};

use super::*;

#[get("/orders")]
#[post("/orders")]
#[auth(public)]
async fn orders() {}

/// Changes requests, and expects that this law alone says so.
#[track_caller]
fn altered(words: &str, edit: fn(&mut Request)) {
    breaks(requesting(app().routes(routes![orders]), edit), &[Law::RequestIntegrity], words);
}

fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut pairs = text(headers, "cookie").split("; ").filter_map(|pair| pair.split_once('='));
    pairs.find(|(known, _)| *known == name).map(|(_, value)| value)
}

fn query<'a>(uri: &'a Uri, name: &str) -> Option<&'a str> {
    let mut pairs = uri.query()?.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(known, _)| *known == name).map(|(_, value)| value)
}

#[test]
fn a_cookie_becomes_a_token() {
    let edit = |request: &mut Request| {
        if let Some(token) = cookie(request.headers(), "jwt").map(|token| format!("Bearer {token}"))
        {
            set(request.headers_mut(), "authorization", &token);
        }
    };
    altered("any page can have a browser send, and no CSRF protection asks about it", edit);
    altered("none was sent, one arrives, made of the cookie `jwt`", edit);
    altered("Group", edit);
}

#[test]
fn a_query_becomes_a_token() {
    let edit = |request: &mut Request| {
        if let Some(token) = query(request.uri(), "access_token").map(|it| format!("Bearer {it}")) {
            set(request.headers_mut(), "authorization", &token);
        }
    };
    altered("one arrives, made of `access_token` in the query", edit);
}

#[test]
fn a_query_becomes_a_session() {
    let edit = |request: &mut Request| {
        if let Some(session) = query(request.uri(), "sid").map(|sid| format!("__Host-sid={sid}")) {
            set(request.headers_mut(), "cookie", &session);
        }
    };
    altered("`cookie` reaches the gates as it was sent", edit);
}

#[test]
fn a_token_is_replaced() {
    let app = requesting(with_tokens().routes(routes![reports]), |request| {
        if request.headers().contains_key("authorization") {
            request.headers_mut().insert("authorization", token_of("user-1"));
        }
    });
    breaks_first(app, Law::RequestIntegrity, "another one arrives than was sent");
}

#[test]
fn a_key_of_ones_own_is_made() {
    let edit = |request: &mut Request| set(request.headers_mut(), "x-api-key", "partner");
    altered("`x-api-key` reaches the gates as it was sent", edit);
}

#[test]
fn the_token_of_a_session_is_made() {
    let edit = |request: &mut Request| set(request.headers_mut(), "x-csrf-token", "1");
    altered("`x-csrf-token` reaches the gates as it was sent", edit);
}

#[test]
fn the_query_decides_the_method() {
    let words =
        "the method reaches the gates as it was sent: a form or a link sends GET and POST without";
    altered(words, |request| {
        if let Some(method) = query(request.uri(), "_method") {
            *request.method_mut() = Method::from_bytes(method.as_bytes()).expect("a method");
        }
    });
}

#[test]
fn a_field_decides_the_method() {
    altered("DELETE arrives, made of `x-http-method-override`", |request| {
        if !text(request.headers(), "x-http-method-override").is_empty() {
            *request.method_mut() = Method::DELETE;
        }
    });
}

#[test]
fn another_path_is_served() {
    altered("the path reaches the gates as it was sent", |request| {
        if request.uri().path() == "/orders" {
            *request.uri_mut() = Uri::from_static("/other");
        }
    });
}

#[test]
fn another_host_is_named() {
    altered("api.shop.example was sent, API.shop.example arrives", |request| {
        if request.method() == "POST" {
            set(request.headers_mut(), "host", "API.shop.example");
        }
    });
}

#[test]
fn another_origin_is_named() {
    altered("CORS, CSRF protection and isolation would decide about another page", |request| {
        if request.method() == "POST" && request.headers().contains_key("origin") {
            set(request.headers_mut(), "origin", "https://other.shop.example");
        }
    });
}

#[test]
fn finds_apps_that_drop_the_headers_about_the_page() {
    altered("`sec-fetch-site` reaches the gates as it was sent", |request| {
        request.headers_mut().remove("sec-fetch-site");
    });
    altered("`referer` reaches the gates as it was sent", |request| {
        request.headers_mut().remove("referer");
    });
}

#[test]
fn a_target_in_absolute_form_names_another_host() {
    altered("api.shop.example was sent, other.shop.example arrives", |request| {
        if request.method() == "POST" {
            let target = format!("https://other.shop.example{}", request.uri());
            *request.uri_mut() = target.parse().expect("a target");
        }
    });
}

/// An app in a layer that lets a field of the request decide about the response.
fn forwarded(edit: fn(&Parts, &mut Response), laws: &[Law], words: &str) {
    let app = with_tokens().routes(routes![orders, reports]);
    breaks(responding(app, edit), laws, words);
}

/// Grants a page whose host is the one that a field names.
fn same_origin(sent: &Parts, response: &mut Response, name: &str) {
    let (origin, host) = (text(&sent.headers, "origin"), text(&sent.headers, name));
    if !host.is_empty() && origin == format!("https://{host}") {
        set(response.headers_mut(), ALLOW_ORIGIN, origin);
    }
}

/// Redirects to the host that a field names.
fn redirect(sent: &Parts, response: &mut Response, name: &str) {
    let host = text(&sent.headers, name);
    if !host.is_empty() {
        set(response.headers_mut(), "location", &format!("https://{host}/orders/1"));
    }
}

/// Opens every path to requests whose field names a public path.
fn with_bypass(app: App<()>, name: &'static str) -> App<()> {
    short_circuit(app, move |request| text(request.headers(), name) == "/orders")
}

#[test]
fn a_page_is_an_own_one_by_a_field_of_a_proxy() {
    forwarded(
        |sent, response| same_origin(sent, response, "x-http-host-override"),
        &[Law::RequestIntegrity, Law::ResponseIntegrity],
        "without `x-http-host-override`, which any client can send",
    );
}

#[test]
fn a_redirect_leads_where_a_field_of_a_proxy_says() {
    forwarded(
        |sent, response| redirect(sent, response, "x-http-host-override"),
        &[Law::RequestIntegrity],
        "seen      the response names policy-probe.invalid",
    );
}

#[test]
fn a_refusal_is_lifted_by_a_field_of_a_proxy() {
    let app = with_bypass(with_tokens().routes(routes![orders, reports]), "x-original-path");
    let text = prove(app).refutation(Law::RequestIntegrity);
    let words = "the response is that without `x-original-path`, which any client can send";
    assert!(text.contains(words) && text.contains("status 200 in place of 401"), "{text}");
}

#[test]
fn another_path_is_served_by_a_field_of_a_proxy() {
    let app = requesting(with_tokens().routes(routes![orders, reports]), |request| {
        if text(request.headers(), "x-original-path") == "/orders" {
            *request.uri_mut() = Uri::from_static("/orders");
        }
    });
    let words = "/reports was sent, /orders arrives, made of `x-original-path`";
    breaks_first(app, Law::RequestIntegrity, words);
}

/// Layers never see the forwarded fields that the app knows: it removes them unless a trusted proxy
/// has written them.
#[test]
fn forwarding_fields_of_clients_reach_no_layer() {
    let app = responding(with_tokens().routes(routes![orders, reports]), |sent, response| {
        for name in ["x-forwarded-host", "x-original-host", "x-host"] {
            same_origin(sent, response, name);
            redirect(sent, response, name);
        }
    });
    let known = ["x-original-uri", "x-original-url", "x-rewrite-url"];
    breaks_none(known.into_iter().fold(app, with_bypass));
}

/// Common uses of layers: request ids, other spellings of a path, a prefix of a proxy.
#[test]
fn layers_that_add_and_read_break_nothing() {
    let app = requesting(with_sessions().routes(routes![orders]), |request| {
        set(request.headers_mut(), "x-request-id", "1");
        let path = request.uri().path();
        let short = path.strip_prefix("/api").unwrap_or(path).trim_end_matches('/');
        if short != path && !short.is_empty() {
            *request.uri_mut() = short.parse().expect("a path");
        }
    });
    let app = responding(app, |_, response| {
        set(response.headers_mut(), "x-served-by", "1");
        let policy = HeaderValue::from_static("frame-src 'none'");
        response.headers_mut().append("content-security-policy", policy);
    });
    breaks_none(app);
}
