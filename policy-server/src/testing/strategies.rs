//! Generated requests to an app and loads of pages (feature `proptest`), and what
//! [`policy_core::testing`] generates: policies and origins.

use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Uri,
    header::{
        ACCEPT, ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, AUTHORIZATION,
        CONTENT_TYPE, COOKIE, HOST, IF_NONE_MATCH, ORIGIN, RANGE,
    },
};
pub use policy_core::testing::{
    NearOrigin, any_near_origin, any_origin, any_origin_for, any_origin_value_for, any_pattern,
    any_policy, origins_near,
};
use policy_core::{
    csrf,
    path::{PathTemplate, Segment},
};
use proptest::{
    collection::vec,
    option,
    prelude::*,
    sample::{Index, select, subsequence},
};

pub use super::fetches::any_fetch;
use crate::pipeline::service::AppService;

/// Requests to the routes of an app, as browsers and other clients send them: paths with their
/// parameters filled in, served and unserved methods, preflights, origins that are granted, similar
/// or unknown, cookies, tokens, bodies and conditions.
///
/// Credentials are well-formed but invalid: add those that the app has issued.
///
/// ```
/// use policy_server::{prelude::*, testing::strategies::any_request_for, testing::TestClient};
/// use proptest::prelude::*;
///
/// #[get("/orders/{id}")]
/// #[cors(origins = ["https://app.shop.example"], credentials)]
/// #[auth(public)]
/// async fn order(id: u64) -> Json<u64> {
///     Json(id)
/// }
///
/// let app = App::new(()).public_origin("https://api.shop.example").routes(routes![order]);
/// let app = app.into_service();
/// let client = TestClient::new(app.clone(), "api.shop.example");
/// let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
/// proptest!(|(request in any_request_for(&app))| {
///     let answer = runtime.block_on(client.send(request));
///     prop_assert!(!answer.status().is_server_error());
///     let shared = answer.header("access-control-allow-origin");
///     prop_assert!(matches!(shared, None | Some("https://app.shop.example")));
/// });
/// # Ok::<(), Error>(())
/// ```
///
/// # Panics
///
/// If the app has no route.
#[track_caller]
pub fn any_request_for(
    app: &AppService,
) -> impl Strategy<Value = http::Request<Bytes>> + Clone + use<> {
    let host = app.authority().unwrap_or("localhost").to_owned();
    let routes = app.app().routes.iter().map(|route| Target {
        path: route.path().as_ref().to_owned(),
        methods: route.methods.clone(),
        origins: route.rules.cors.as_ref().map(|cors| cors.origins()).unwrap_or_default(),
    });
    let routes: Vec<Target> = routes.collect();
    assert!(!routes.is_empty(), "an app without routes has no traffic");
    let parts = (select(routes), path_values(), any_method(), any_sender(), any_content());
    parts.prop_map(move |(target, values, method, sender, content)| {
        let method = method.choose(&target.methods);
        let mut request = http::Request::new(Bytes::new());
        *request.uri_mut() = target.uri(&values);
        let headers = request.headers_mut();
        if let Ok(host) = HeaderValue::try_from(&*host) {
            headers.insert(HOST, host);
        }
        sender.write(&target.origins, &host, headers);
        if sender.is_preflight {
            headers.remove(COOKIE);
            headers.remove(AUTHORIZATION);
            if let Ok(method) = HeaderValue::from_str(method.as_str()) {
                headers.insert(ACCESS_CONTROL_REQUEST_METHOD, method);
            }
            if !sender.preflight_headers.is_empty()
                && let Ok(names) = HeaderValue::try_from(sender.preflight_headers.join(","))
            {
                headers.insert(ACCESS_CONTROL_REQUEST_HEADERS, names);
            }
            *request.method_mut() = Method::OPTIONS;
            return request;
        }
        if !matches!(method, Method::GET | Method::HEAD | Method::OPTIONS)
            && let Some((media_type, body)) = content
        {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
            *request.body_mut() = Bytes::from_static(body.as_bytes());
        }
        *request.method_mut() = method;
        request
    })
}

/// A route of the app.
#[derive(Clone, Debug)]
struct Target {
    path: String,
    methods: Vec<Method>,
    origins: Vec<String>,
}

impl Target {
    /// Its path with these values for its parameters, and the query at the end.
    fn uri(&self, values: &[&'static str]) -> Uri {
        let mut values = values.iter().copied();
        let query = values.next().unwrap_or_default();
        let mut path = String::new();
        let segments = PathTemplate::parse(&self.path);
        for segment in segments.iter().flat_map(PathTemplate::segments) {
            path.push('/');
            match segment {
                Segment::Fixed(text) => path.push_str(text),
                Segment::Parameter(_) | Segment::Rest(_) => {
                    path.push_str(values.next().unwrap_or("1"));
                }
            }
        }
        if path.is_empty() || self.path.ends_with('/') {
            path.push('/');
        }
        format!("{path}{query}").parse().unwrap_or_default()
    }
}

/// A query, and values of parameters: numbers, names, and values that look like paths.
fn path_values() -> impl Strategy<Value = Vec<&'static str>> + Clone {
    let query = prop_oneof![4 => Just(""), 1 => select(&["?page=2", "?q=a%20b&q=", "?", "?%"][..])];
    let value = prop_oneof![
        4 => select(&["1", "7", "42", "ada", "a-b"][..]),
        1 => select(&[
            "0", "-1", "18446744073709551616", "a%2Fb", "%C3%A4", "..%2f", "%2e", "~", "a+b",
            "00000000-0000-4000-8000-000000000000",
        ][..]),
    ];
    (query, vec(value, 4)).prop_map(|(query, values)| [vec![query], values].concat())
}

/// The method of a request, chosen once those of its route are known.
#[derive(Clone, Debug)]
struct AnyMethod {
    served: Index,
    /// A method instead of one that is served.
    other: Option<Method>,
}

fn any_method() -> impl Strategy<Value = AnyMethod> + Clone {
    let others = [Method::HEAD, Method::OPTIONS, Method::DELETE, Method::POST, Method::TRACE];
    (any::<Index>(), option::weighted(0.15, select(others.to_vec())))
        .prop_map(|(served, other)| AnyMethod { served, other })
}

impl AnyMethod {
    fn choose(&self, served: &[Method]) -> Method {
        let chosen = served.get(self.served.index(served.len().max(1)));
        self.other.as_ref().or(chosen).cloned().unwrap_or_default()
    }
}

/// The sender of a request, and its headers.
#[derive(Clone, Debug)]
struct Sender {
    from: From,
    is_preflight: bool,
    /// The headers that a preflight requests.
    preflight_headers: Vec<&'static str>,
    fields: Vec<(HeaderName, &'static str)>,
    /// Whether its browser sends Fetch Metadata.
    has_metadata: bool,
}

#[derive(Clone, Debug)]
enum From {
    /// No page, or a page that need not send its origin.
    Nowhere,
    /// A page of the app's own origin.
    Own,
    Page(NearOrigin),
}

fn any_sender() -> impl Strategy<Value = Sender> + Clone {
    let from = prop_oneof![
        6 => any_near_origin().prop_map(From::Page),
        2 => Just(From::Nowhere),
        1 => Just(From::Own),
    ];
    let preflight_headers =
        subsequence(vec!["authorization", "content-type", csrf::HEADER, "x-a"], 0..=4);
    let fields = vec![
        (COOKIE, "__Host-sid=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA; theme=dark"),
        (AUTHORIZATION, "Bearer e30.e30.AAAA"),
        (HeaderName::from_static(csrf::HEADER), "A"),
        (ACCEPT, "text/html, */*;q=0.1"),
        (IF_NONE_MATCH, "\"1\""),
        (RANGE, "bytes=0-9"),
    ];
    let parts = (
        from,
        prop::bool::weighted(0.2),
        preflight_headers,
        subsequence(fields, 0..4),
        any::<bool>(),
    );
    parts.prop_map(|(from, is_preflight, preflight_headers, fields, has_metadata)| Sender {
        from,
        is_preflight,
        preflight_headers,
        fields,
        has_metadata,
    })
}

impl Sender {
    fn write(&self, granted: &[String], host: &str, headers: &mut HeaderMap) {
        for (name, value) in &self.fields {
            headers.insert(name.clone(), HeaderValue::from_static(value));
        }
        let scheme = if host == "localhost" { "http" } else { "https" };
        let origin = match &self.from {
            From::Nowhere => None,
            From::Own => HeaderValue::try_from(format!("{scheme}://{host}")).ok(),
            From::Page(near) => HeaderValue::try_from(near.value_for(granted)).ok(),
        };
        if let Some(origin) = origin {
            headers.insert(ORIGIN, origin);
        }
        if self.has_metadata {
            let (site, mode) = match self.from {
                From::Nowhere => ("none", "navigate"),
                From::Own => ("same-origin", "cors"),
                From::Page(_) => ("cross-site", "cors"),
            };
            headers.insert("sec-fetch-site", HeaderValue::from_static(site));
            headers.insert("sec-fetch-mode", HeaderValue::from_static(mode));
            let dest = if mode == "navigate" { "document" } else { "empty" };
            headers.insert("sec-fetch-dest", HeaderValue::from_static(dest));
        }
    }
}

/// A body with its type.
fn any_content() -> impl Strategy<Value = Option<(&'static str, &'static str)>> + Clone {
    let contents = &[
        ("application/json", "{}"),
        ("application/json", "7"),
        ("application/json", "{\"item\":7"),
        ("application/x-www-form-urlencoded", "item=7&note=a+b"),
        ("text/plain", "{\"item\":7}"),
        ("text/plain;charset=utf-8", ""),
    ];
    option::weighted(0.8, select(&contents[..]))
}

#[cfg(test)]
mod tests {
    use proptest::{strategy::ValueTree, test_runner::TestRunner};

    use super::*;
    use crate::{prelude::*, testing::TestClient};

    #[get("/a/{id}")]
    #[put("/a/{id}")]
    #[cors(origins = ["https://*.shop.example"], credentials)]
    #[auth(public)]
    async fn shared(id: u64) -> String {
        id.to_string()
    }

    #[get("/files/{*path}")]
    #[auth(public)]
    async fn below(path: String) -> String {
        path
    }

    #[tokio::test]
    async fn traffic_reaches_every_route_and_every_gate() {
        let app = App::new(()).public_origin("https://api.example").routes(routes![shared, below]);
        let app = app.into_service();
        let client = TestClient::new(app.clone(), "nobody asks for this host");
        let (traffic, mut runner) = (any_request_for(&app), TestRunner::deterministic());
        let mut seen = [0; 5];
        for _ in 0..1000 {
            let request = traffic.new_tree(&mut runner).unwrap().current();
            let (method, is_below) =
                (request.method().clone(), request.uri().path().starts_with("/files/"));
            let response = client.send(request).await;
            let is_granted = response.header("access-control-allow-origin").is_some();
            let of = [
                !is_below && response.status() == 200,
                is_below && response.status() == 200,
                is_granted && method == Method::OPTIONS,
                is_granted && method != Method::OPTIONS,
                matches!(response.status().as_u16(), 403 | 405),
            ];
            for (count, is_one) in seen.iter_mut().zip(of) {
                *count += u32::from(is_one);
            }
        }
        assert!(seen.iter().all(|count| *count >= 30), "{seen:?}");
    }
}
