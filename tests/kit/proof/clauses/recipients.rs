//! A response for one caller reaches no other caller.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use axum::body::to_bytes;
use policy_server::{
    Body, ReverseProxy,
    http::{Method, response},
};
use tokio::sync::OnceCell;
use tower::util::BoxCloneSyncServiceLayer;

use super::*;

#[post("/payments")]
#[auth(token)]
async fn pay() {}

type Stored = (response::Parts, axum::body::Bytes);

/// The key of a request in a cache; `None` for one that it does not cache.
type Key = fn(&Parts) -> Option<String>;

type CacheLayer = BoxCloneSyncServiceLayer<SharedService, Request, Response, Infallible>;

/// A layer that caches responses with some statuses. Requests that arrive while the first is served
/// get its response, whatever its status.
pub(super) fn cache(key: Key, keeps: fn(StatusCode) -> bool) -> CacheLayer {
    let kept: Arc<Mutex<HashMap<String, Arc<OnceCell<Stored>>>>> = Arc::default();
    BoxCloneSyncServiceLayer::new(layer_fn(move |inner: SharedService| {
        let kept = Arc::clone(&kept);
        service_fn(move |request: Request| {
            let (inner, kept) = (inner.clone(), Arc::clone(&kept));
            async move {
                let (head, body) = request.into_parts();
                let Some(key) = key(&head) else {
                    return inner.oneshot(Request::from_parts(head, body)).await;
                };
                let cell =
                    Arc::clone(kept.lock().expect("no panic").entry(key.clone()).or_default());
                let stored = cell.get_or_init(async || {
                    let served = inner.oneshot(Request::from_parts(head, body)).await;
                    let (head, body) = served.unwrap_or_else(|never| match never {}).into_parts();
                    (head, to_bytes(body, usize::MAX).await.expect("a body"))
                });
                let (head, body) = stored.await.clone();
                if !keeps(head.status) {
                    kept.lock().expect("no panic").remove(&key);
                }
                Ok::<_, Infallible>(Response::from_parts(head, Body::from(body)))
            }
        })
    }))
}

pub(super) fn by_path(sent: &Parts) -> Option<String> {
    Some(format!("{} {}", sent.method, sent.uri))
}

const OTHER: &str = "seen      the response that the app made for 70";

#[test]
fn a_cache_goes_by_the_path() {
    let app = with_sessions().routes(routes![orders]).layer(cache(by_path, |_| true));
    breaks_first(app, Law::OwnResponse, OTHER);
}

/// Users get their own responses. A client without a cookie gets the last user's response.
#[test]
fn finds_personal_responses_for_other_clients() {
    let last: Arc<Mutex<Option<Stored>>> = Arc::default();
    let layer = layer_fn(move |inner: SharedService| {
        let last = Arc::clone(&last);
        service_fn(move |request: Request| {
            let (inner, last) = (inner.clone(), Arc::clone(&last));
            async move {
                let is_known = request.headers().contains_key("cookie");
                let kept = last.lock().expect("no panic").clone().filter(|_| !is_known);
                if let Some((head, body)) = kept {
                    return Ok(Response::from_parts(head, Body::from(body)));
                }
                let (head, body) = inner.oneshot(request).await?.into_parts();
                let body = to_bytes(body, usize::MAX).await.expect("a body");
                if is_known && head.status == 200 {
                    *last.lock().expect("no panic") = Some((head.clone(), body.clone()));
                }
                Ok::<_, Infallible>(Response::from_parts(head, Body::from(body)))
            }
        })
    });
    let app = with_sessions().routes(routes![orders]).layer(layer);
    breaks_first(app, Law::OwnResponse, "nobody gets a response that was made for a user");
}

#[test]
fn a_cache_goes_by_whether_there_is_a_credential() {
    let key = |sent: &Parts| {
        let is_known = sent.headers.contains_key("cookie");
        Some(format!("{:?} {} {is_known}", by_path(sent), text(&sent.headers, "origin")))
    };
    let app = with_sessions().routes(routes![orders]).layer(cache(key, |_| true));
    // The law finds this for valid sessions too.
    breaks_first(app, Law::OwnResponse, "gets a response that was made for 70");
}

#[test]
fn a_cache_is_behind_the_gates() {
    let layer = cache(by_path, |_| true);
    let app = with_sessions().group("/v1", Group::new().layer(layer).routes(routes![orders]));
    breaks_first(app, Law::OwnResponse, OTHER);
}

/// No other route has responses that the cache could mix up.
#[test]
fn a_cache_is_around_a_service() {
    let callers = AuthRequirement::session;
    let page = Fallback::handler(async |_: Request| StatusCode::NOT_FOUND).auth(callers());
    let proxy = ReverseProxy::new("/old", "http://127.0.0.1:9").methods([Method::GET]);
    let proxy = proxy.auth(callers());
    let files = Mount::new(axum::Router::new()).auth(callers());
    for (app, words) in [
        (with_sessions().fallback(page), "  by        the fallback"),
        (with_sessions().proxy(proxy), "  by        proxy /old"),
        (with_sessions().mount("/files", files), "  by        mount /files"),
    ] {
        breaks_first(app.layer(cache(by_path, |_| true)), Law::OwnResponse, words);
    }
}

#[get("/invoices")]
#[auth(session)]
async fn invoices() {}

/// Both groups have the same policies and a layer of the same type.
#[test]
fn the_layers_of_each_group_are_tested() {
    let right = Group::new().layer(cache(|_| None, |_| false)).routes(routes![orders]);
    let wrong = Group::new().layer(cache(by_path, |_| true)).routes(routes![invoices]);
    let app = with_sessions().group("/v1", right).group("/v2", wrong);
    breaks_first(app, Law::OwnResponse, OTHER);
}

mod right {
    use super::*;

    #[get("/right")]
    #[auth(session)]
    #[layer(session_cache())]
    pub(crate) async fn handler() {}

    fn session_cache() -> CacheLayer {
        cache(|_| None, |_| false)
    }
}

mod wrong {
    use super::*;

    #[get("/wrong")]
    #[auth(session)]
    #[layer(session_cache())]
    pub(crate) async fn handler() {}

    fn session_cache() -> CacheLayer {
        cache(by_path, |_| true)
    }
}

/// The same words in `#[layer]` call another function in another module.
#[test]
fn the_layers_of_handlers_in_each_module_are_tested() {
    let app = with_sessions().routes(routes![right::handler, wrong::handler]);
    breaks_first(app, Law::OwnResponse, OTHER);
}

#[test]
fn a_repeated_request_is_known_by_its_key_alone() {
    let key = |sent: &Parts| {
        Some(text(&sent.headers, "idempotency-key").to_owned()).filter(|key| !key.is_empty())
    };
    let app = with_tokens().routes(routes![pay]).layer(cache(key, |_| true));
    breaks_first(app, Law::OwnResponse, OTHER);
}

#[test]
fn requests_at_the_same_time_are_joined() {
    let app = with_sessions().routes(routes![orders]).layer(cache(by_path, |_| false));
    breaks(app, &[Law::OwnResponse], OTHER);
}

#[test]
fn two_users_log_in_and_get_one_session() {
    let key = |sent: &Parts| by_path(sent).filter(|_| sent.method == "POST");
    let app = with_sessions().routes(routes![login]).layer(cache(key, |_| true));
    breaks_first(app, Law::OwnResponse, "both users share a session");
}

#[test]
fn a_cache_of_each_user_breaks_nothing() {
    let key = |sent: &Parts| {
        let is_safe = sent.method == "GET" && !is_preflight(sent);
        let all = format!("{:?} {:?}", by_path(sent), sent.headers);
        Some(all).filter(|_| is_safe && sent.headers.contains_key("cookie"))
    };
    // What a handler does next is not asked of this cache.
    let app = with_sessions().routes(routes![orders]).layer(cache(key, |_| false));
    breaks_none(app);
}
