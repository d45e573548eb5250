//! Caches reuse a response only for requests that would get an equal one.

use super::{
    recipients::{by_path, cache},
    *,
};

const APP: CorsPolicy = CorsPolicy::origins(&["https://app.shop.example"]).credentials().build();

#[get("/drafts")]
#[cors(APP)]
#[auth(session)]
#[cache(private, max_age = 30)]
async fn drafts() {}

#[get("/stock")]
#[cors(APP)]
#[auth(public)]
#[cache(public, max_age = 60)]
async fn stock() {}

/// Changes responses, and expects words of the law about caches.
fn cached(app: App<()>, edit: fn(&Parts, &mut Response), words: &str) {
    breaks(responding(app, edit), &[Law::VarySoundness, Law::ResponseIntegrity], words);
}

#[test]
fn a_shared_cache_has_the_response_of_a_user() {
    let edit = |_: &Parts, response: &mut Response| {
        if response.status() == 200 {
            set(response.headers_mut(), "cache-control", "public, max-age=60");
            response.headers_mut().remove("vary");
        }
    };
    cached(with_sessions().routes(routes![orders]), edit, "for 7001");
}

#[test]
fn a_private_cache_has_the_response_to_another_page() {
    let edit = |_: &Parts, response: &mut Response| {
        if text(response.headers(), "cache-control").contains("private") {
            response.headers_mut().remove("vary");
        }
    };
    cached(with_sessions().routes(routes![drafts]), edit, "cache-control: private");
}

#[test]
fn finds_cacheable_errors() {
    let edit = |_: &Parts, response: &mut Response| {
        if response.status() == 404 {
            response.headers_mut().remove("vary");
            response.headers_mut().remove("cache-control");
        }
    };
    cached(
        app().policies(Policies::new().cors(APP)).routes(routes![stock]),
        edit,
        "vary: none, cache-control: none",
    );
}

#[test]
fn finds_a_changed_vary() {
    let edit = |_: &Parts, response: &mut Response| {
        if response.status() == 200 {
            set(response.headers_mut(), "vary", "accept-language");
        }
    };
    cached(app().routes(routes![stock]), edit, "vary: accept-language");
}

#[get("/home")]
#[cors(APP)]
#[auth(session)]
async fn home() {}

/// The key of a public cache: target and `Origin` of a request without credentials.
fn publicly(sent: &Parts) -> Option<String> {
    let is_anonymous = ["cookie", "authorization", "x-csrf-token"]
        .into_iter()
        .all(|name| !sent.headers.contains_key(name));
    let origins: Vec<_> = sent.headers.get_all("origin").iter().collect();
    let key = format!("{:?} {origins:?}", by_path(sent));
    Some(key).filter(|_| is_anonymous && sent.method == "GET")
}

#[test]
fn a_public_cache_around_the_app_breaks_nothing() {
    let cache = cache(publicly, |status| status == 200);
    breaks_none(with_sessions().routes(routes![stock, home]).layer(cache));
}

#[test]
fn a_public_cache_around_a_group_breaks_nothing() {
    let cache = cache(publicly, |status| status == 200);
    let group = Group::new().layer(cache).routes(routes![stock, home]);
    breaks_none(with_sessions().group("/v1", group));
}
