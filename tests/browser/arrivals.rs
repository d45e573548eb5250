//! Records every request that reaches an app, and its outcome.

use std::{
    sync::{Arc, Condvar, Mutex},
    time::Duration,
};

use axum::{extract::State, middleware::Next};
use http_body_util::BodyExt;
use policy_server::{Body, Request, Response, http::HeaderMap};
use serde_json::Value;

/// The longest that a step may take before the test fails, generous for a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The requests so far.
#[derive(Clone, Default)]
pub(crate) struct Arrivals(Arc<Noted>);

#[derive(Default)]
struct Noted {
    list: Mutex<Vec<Arrival>>,
    news: Condvar,
}

/// A request that arrived, and its outcome.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    pub(crate) origin: Option<String>,
    pub(crate) fetch_site: Option<String>,
    /// All Cookie fields.
    pub(crate) cookies: String,
    pub(crate) status: u16,
    /// The code of the problem, or empty.
    pub(crate) code: String,
}

impl Arrival {
    fn new(request: &Request) -> Self {
        let header = |name| text(request.headers(), name);
        Self {
            method: request.method().to_string(),
            target: request.uri().to_string(),
            origin: header("origin"),
            fetch_site: header("sec-fetch-site"),
            cookies: header("cookie").unwrap_or_default(),
            status: 0,
            code: String::new(),
        }
    }

    pub(crate) fn has_session_cookie(&self) -> bool {
        self.cookies.contains("__Host-sid=")
    }

    pub(crate) fn refused_with(&self) -> (u16, &str) {
        (self.status, &self.code)
    }
}

impl Arrivals {
    /// The first request for this path and query, once it was answered.
    pub(crate) fn first(&self, target: &str) -> Arrival {
        self.wait_for(target, 1);
        let list = self.0.list.lock().expect("a lock");
        list.iter().find(|one| one.target == target).cloned().expect("an arrival")
    }

    /// Waits until this many requests for it were answered.
    pub(crate) fn wait_for(&self, target: &str, count: usize) {
        let list = self.0.list.lock().expect("a lock");
        let is_missing = |list: &mut Vec<Arrival>| {
            list.iter().filter(|one| one.target == target).count() < count
        };
        let waited = self.0.news.wait_timeout_while(list, PATIENCE, is_missing);
        let (list, timeout) = waited.expect("a lock");
        assert!(!timeout.timed_out(), "too few arrived for `{target}`: {list:#?}");
    }

    /// The statuses of all requests for it so far.
    pub(crate) fn statuses(&self, target: &str) -> Vec<u16> {
        let list = self.0.list.lock().expect("a lock");
        list.iter().filter(|one| one.target == target).map(|one| one.status).collect()
    }

    /// The methods that arrived for a path and query so far.
    pub(crate) fn methods(&self, target: &str) -> Vec<String> {
        let list = self.0.list.lock().expect("a lock");
        let those = list.iter().filter(|one| one.target == target);
        those.map(|one| one.method.clone()).collect()
    }
}

/// Records a request when it was answered, before the response is sent.
pub(crate) async fn note(
    State(arrivals): State<Arrivals>,
    request: Request,
    next: Next,
) -> Response {
    let mut arrival = Arrival::new(&request);
    let mut response = next.run(request).await;
    arrival.status = response.status().as_u16();
    if response.status().is_client_error() || response.status().is_server_error() {
        let (parts, body) = response.into_parts();
        let body = body.collect().await.expect("a whole problem").to_bytes();
        arrival.code = code(&body).unwrap_or_default();
        response = Response::from_parts(parts, Body::from(body));
    }
    arrivals.0.list.lock().expect("a lock").push(arrival);
    arrivals.0.news.notify_all();
    response
}

/// The code of a problem in JSON or on an error page.
fn code(body: &[u8]) -> Option<String> {
    if let Ok(problem) = serde_json::from_slice::<Value>(body) {
        return problem["code"].as_str().map(str::to_owned);
    }
    let (_, behind) = str::from_utf8(body).ok()?.split_once("Code: <code>")?;
    Some(behind.split_once('<')?.0.to_owned())
}

/// All values of a field.
fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    let values: Vec<_> = headers
        .get_all(name)
        .iter()
        .map(|value| String::from_utf8_lossy(value.as_bytes()))
        .collect();
    (!values.is_empty()).then(|| values.join("; "))
}
