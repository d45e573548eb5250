//! Generated policies, apps and requests: mostly sensible, often close to a boundary.

use http::{HeaderName, HeaderValue, Method, header::ORIGIN};
use proptest::{
    collection::vec,
    option,
    prelude::*,
    sample::{Index, select, subsequence},
};

use crate::{
    browser::{Mode, Script},
    exchange::{App, Policy, ROUTE, Request, World},
    near::{VARIATIONS, near},
    oracle::{is_serialized_origin, is_valid},
};

/// An entry of a list of origins. Few labels, so that hosts often share a suffix.
pub(crate) fn pattern() -> impl Strategy<Value = String> {
    let label = select(vec!["a", "b", "ab", "evil", "x-1", "_", "xn--xample-9ua"]);
    let top = prop_oneof![9 => select(vec!["test", "b", "localhost"]), 1 => Just("test.")];
    let name = (vec(label, 0..3), top)
        .prop_map(|(labels, top)| labels.into_iter().chain([top]).collect::<Vec<_>>().join("."));
    let family = (prop::bool::weighted(0.4), name)
        .prop_map(|(wildcard, name)| if wildcard { format!("*.{name}") } else { name });
    let host = prop_oneof![
        8 => family,
        1 => select(vec!["127.0.0.1", "10.0.0.1", "[::1]", "[2001:db8::1]"]).prop_map(str::to_owned),
    ];
    let scheme = prop_oneof![6 => Just("https"), 3 => Just("http"), 1 => Just("tauri")];
    let port = prop_oneof![6 => Just(""), 2 => Just(":8443"), 1 => Just(":1"), 2 => Just(":*")];
    (scheme, host, port).prop_map(|(scheme, host, port)| format!("{scheme}://{host}{port}"))
}

/// A policy that breaks no rule.
pub(crate) fn policy() -> impl Strategy<Value = Policy> {
    let origins = prop_oneof![1 => Just(vec!["*".to_owned()]), 3 => vec(pattern(), 1..5)];
    let parts = (origins, any::<bool>(), methods(), headers(), expose(), max_age());
    parts.prop_map(|(origins, credentials, methods, headers, expose, max_age)| {
        let credentials = credentials && origins.iter().all(|origin| origin != "*");
        let named = |mut list: Vec<String>| {
            list.retain(|name| !credentials || name != "*");
            list
        };
        let policy = Policy {
            origins,
            credentials,
            methods: methods.map(named),
            headers: named(headers),
            expose: named(expose),
            max_age,
            ..Policy::default()
        };
        let accepts_risk = !is_valid(&policy);
        Policy { allow_insecure: accepts_risk, allow_public_suffix: accepts_risk, ..policy }
    })
}

/// A policy with lists of origins, not `*`.
pub(crate) fn listed_policy() -> impl Strategy<Value = Policy> {
    policy().prop_filter("origins by name", |policy| policy.origins.iter().all(|one| one != "*"))
}

fn methods() -> impl Strategy<Value = Option<Vec<String>>> {
    let listed = names(&["*", "GET", "put", "PATCH", "DELETE", "PURGE", "patch", "OPTIONS"]);
    prop_oneof![4 => Just(None), 3 => listed.prop_map(Some), 1 => Just(Some(vec![]))]
}

fn headers() -> impl Strategy<Value = Vec<String>> {
    names(&["*", "Authorization", "X-A", "content-type", "Accept", "Range", "X-B"])
}

fn expose() -> impl Strategy<Value = Vec<String>> {
    names(&["*", "X-Total", "ETag", "Content-Type"])
}

fn max_age() -> impl Strategy<Value = Option<i64>> {
    option::of(select(vec![-1, 0, 600, 86400]))
}

/// Some of these names; the first, `*`, hides the others, so it is there in fewer lists.
fn names(all: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    let of = |list: Vec<&str>| list.into_iter().map(str::to_owned).collect::<Vec<String>>();
    let named: Vec<_> = all.iter().skip(1).copied().collect();
    prop_oneof![
        3 => subsequence(named, 0..all.len()).prop_map(of),
        1 => subsequence(all.to_vec(), 0..=all.len()).prop_map(of),
        1 => Just(vec!["*".to_owned()]),
    ]
}

/// An app whose handler also writes what only a policy should.
pub(crate) fn app() -> impl Strategy<Value = App> {
    let served = ["GET", "POST", "PUT", "DELETE", "PATCH", "PURGE", "OPTIONS"];
    let status = prop_oneof![4 => Just(200), 3 => select(vec![204, 302, 304, 401, 404, 500, 503])];
    let written = vec![
        ("vary", "accept-encoding"),
        ("vary", "accept-language, Cookie"),
        ("vary", "origin"),
        ("vary", "*"),
        ("access-control-allow-origin", "*"),
        ("access-control-allow-origin", "https://evil.test"),
        ("access-control-allow-credentials", "true"),
        ("access-control-allow-methods", "*"),
        ("access-control-allow-headers", "*, authorization"),
        ("access-control-expose-headers", "*"),
        ("access-control-max-age", "86400"),
        ("set-cookie", "c=1"),
        ("x-total", "7"),
        ("etag", "\"1\""),
        ("cache-control", "max-age=60"),
    ];
    let written = subsequence(written, 0..6);
    let methods = subsequence(served.to_vec(), 1..=served.len());
    (methods, status, written, prop::bool::weighted(0.1)).prop_map(
        |(methods, status, headers, panic)| {
            let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
            App {
                methods: methods.into_iter().map(str::to_owned).collect(),
                status,
                headers: headers.into_iter().map(own).collect(),
                panic,
                ..App::default()
            }
        },
    )
}

/// An app with policies at the route, at the app, at both or at none.
pub(crate) fn world() -> impl Strategy<Value = World> {
    (app(), option::weighted(0.85, policy()), option::weighted(0.5, policy()))
        .prop_map(|(app, route, default)| World { app, route, default })
}

/// A world and a request to it.
pub(crate) fn exchange() -> impl Strategy<Value = (World, Request)> {
    (world(), request_seed()).prop_map(|(world, seed)| {
        let request = seed.request(&world);
        (world, request)
    })
}

/// A world, a request, and another one that differs in the lines of one field only.
pub(crate) fn exchange_twice() -> impl Strategy<Value = (World, Request, Request)> {
    let field =
        select(vec!["origin", "access-control-request-method", "access-control-request-headers"]);
    (world(), request_seed(), request_seed(), field).prop_map(|(world, one, two, field)| {
        let request = one.request(&world);
        let mut altered = request.clone();
        altered.headers.remove(field);
        for line in two.request(&world).headers.get_all(field) {
            altered.headers.append(HeaderName::from_static(field), line.clone());
        }
        (world, request, altered)
    })
}

/// A page and the world that it fetches from. Its origin is often one that a policy grants.
pub(crate) fn visit() -> impl Strategy<Value = (World, Script)> {
    (world(), script_seed()).prop_map(|(world, seed)| {
        let script = seed.script(&world);
        (world, script)
    })
}

/// A page that fetches from a world, its origin still to be chosen.
pub(crate) fn script_seed() -> impl Strategy<Value = ScriptSeed> {
    let method = select(vec![
        "GET", "HEAD", "POST", "get", "PUT", "put", "DELETE", "PATCH", "patch", "PURGE", "OPTIONS",
        "TRACE", "b@d",
    ]);
    let headers = subsequence(
        vec![
            ("X-A", "1"),
            ("x-b", "2"),
            ("Authorization", "Bearer x"),
            ("Content-Type", "application/json"),
            ("content-type", "text/plain;charset=utf-8"),
            ("Accept", "(x)"),
            ("Accept", "text/html"),
            ("Range", "bytes=0-9"),
            ("Range", "bytes=-9"),
            ("Cookie", "a=b"),
        ],
        0..4,
    );
    let mode = select(vec![Mode::Omit, Mode::SameOrigin, Mode::Include]);
    let watches = prop::bool::weighted(0.2);
    (origin_seed(), path(), method, headers, mode, watches).prop_map(
        |(origin, path, method, headers, credentials, watches_upload)| {
            let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
            ScriptSeed {
                origin,
                script: Script {
                    origin: String::new(),
                    path: path.to_owned(),
                    method: method.to_owned(),
                    headers: headers.into_iter().map(own).collect(),
                    credentials,
                    watches_upload,
                },
            }
        },
    )
}

/// A script that needs a world to choose its origin by.
#[derive(Clone, Debug)]
pub(crate) struct ScriptSeed {
    origin: OriginSeed,
    script: Script,
}

impl ScriptSeed {
    /// Browsers send origins in their one form, or `null`.
    pub(crate) fn script(&self, world: &World) -> Script {
        let value = String::from_utf8(self.origin.value(world)).ok();
        let sent = |text: &String| is_serialized_origin(text);
        let origin = value.filter(sent).unwrap_or_else(|| "null".to_owned());
        Script { origin, ..self.script.clone() }
    }
}

/// The value of an Origin header that is near an entry of a world's policies.
#[derive(Clone, Debug)]
struct OriginSeed {
    entry: Index,
    variation: usize,
    /// Near this pattern instead, which no policy need have.
    stranger: Option<String>,
}

fn origin_seed() -> impl Strategy<Value = OriginSeed> {
    let variation = prop_oneof![Just(0), 0..VARIATIONS.len()];
    (any::<Index>(), variation, option::weighted(0.2, pattern()))
        .prop_map(|(entry, variation, stranger)| OriginSeed { entry, variation, stranger })
}

impl OriginSeed {
    fn value(&self, world: &World) -> Vec<u8> {
        let policies = world.route.iter().chain(&world.default);
        let mut entries: Vec<&str> =
            policies.flat_map(|policy| &policy.origins).map(String::as_str).collect();
        entries.retain(|entry| *entry != "*");
        if entries.is_empty() {
            entries.push("https://a.test");
        }
        let known: &str = self.entry.get::<&str>(&entries);
        near(self.stranger.as_deref().unwrap_or(known), self.variation)
    }
}

/// A request whose Origin lines need a world.
#[derive(Clone, Debug)]
struct RequestSeed {
    method: Method,
    path: &'static str,
    origins: Vec<OriginSeed>,
    others: Vec<(&'static str, &'static str)>,
}

fn request_seed() -> impl Strategy<Value = RequestSeed> {
    let method = prop_oneof![
        Just(Method::OPTIONS),
        select(vec!["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "PURGE"])
            .prop_map(|name| name.parse().unwrap_or_default()),
    ];
    let origins = prop_oneof![
        1 => Just(vec![]),
        8 => vec(origin_seed(), 1),
        1 => vec(origin_seed(), 2),
        1 => origin_seed().prop_map(|seed| vec![seed.clone(), seed]),
    ];
    let asked = prop_oneof![
        2 => Just(vec![]),
        6 => select(vec!["GET", "PUT", "PATCH", "patch", "PURGE"]).prop_map(|name| vec![name]),
        1 => select(vec!["", "PU T", "\"", "*"]).prop_map(|name| vec![name]),
        1 => Just(vec!["GET", "PUT"]),
    ];
    let names = prop_oneof![
        Just(vec![]),
        select(vec!["x-a", "content-type,x-a", "authorization", ",,x-a , x-b\t", "x y", "*"])
            .prop_map(|list| vec![list]),
        Just(vec!["x-a", "x-b"]),
    ];
    (method, path(), origins, asked, names).prop_map(|(method, path, origins, asked, names)| {
        let asked = asked.into_iter().map(|line| ("access-control-request-method", line));
        let names = names.into_iter().map(|line| ("access-control-request-headers", line));
        RequestSeed { method, path, origins, others: asked.chain(names).collect() }
    })
}

impl RequestSeed {
    fn request(&self, world: &World) -> Request {
        let mut request = Request::new(self.method.clone(), self.path);
        for seed in &self.origins {
            let value = HeaderValue::from_bytes(&seed.value(world)).expect("a header value");
            request.headers.append(ORIGIN, value);
        }
        for (name, value) in &self.others {
            let value = HeaderValue::from_static(value);
            request.headers.append(HeaderName::from_static(name), value);
        }
        request
    }
}

fn path() -> impl Strategy<Value = &'static str> {
    prop_oneof![8 => Just(ROUTE), 1 => Just("/missing")]
}
