//! Generated policies, apps and requests: mostly sensible, often close to a boundary.

use http::{HeaderName, HeaderValue, Method, header::ORIGIN};
use policy_core::testing::{NearOrigin, any_near_origin, any_policy};
use proptest::{
    collection::vec,
    option,
    prelude::*,
    sample::{select, subsequence},
};

use crate::{
    browser::{Mode, Script},
    exchange::{App, Policy, ROUTE, Request, World},
    oracle::is_serialized_origin,
};

/// A policy that breaks no rule.
pub(crate) fn policy() -> impl Strategy<Value = Policy> {
    any_policy().prop_map(Policy::from)
}

/// A policy with lists of origins, not `*`.
pub(crate) fn listed_policy() -> impl Strategy<Value = Policy> {
    policy().prop_filter("origins by name", |policy| policy.origins.iter().all(|one| one != "*"))
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
    (any_near_origin(), path(), method, headers, mode, watches).prop_map(
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
    origin: NearOrigin,
    script: Script,
}

impl ScriptSeed {
    /// Browsers send origins in their one form, or `null`.
    pub(crate) fn script(&self, world: &World) -> Script {
        let value = String::from_utf8(origin_near(&self.origin, world)).ok();
        let sent = |text: &String| is_serialized_origin(text);
        let origin = value.filter(sent).unwrap_or_else(|| "null".to_owned());
        Script { origin, ..self.script.clone() }
    }
}

/// The value of an Origin header that is near an entry of a world's policies.
fn origin_near(near: &NearOrigin, world: &World) -> Vec<u8> {
    let policies = world.route.iter().chain(&world.default);
    let entries: Vec<&String> = policies.flat_map(|policy| &policy.origins).collect();
    near.of(&entries)
}

/// A request whose Origin lines need a world.
#[derive(Clone, Debug)]
struct RequestSeed {
    method: Method,
    path: &'static str,
    origins: Vec<NearOrigin>,
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
        8 => vec(any_near_origin(), 1),
        1 => vec(any_near_origin(), 2),
        1 => any_near_origin().prop_map(|seed| vec![seed.clone(), seed]),
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
            let value = HeaderValue::from_bytes(&origin_near(seed, world)).expect("a header value");
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
