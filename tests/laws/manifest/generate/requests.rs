//! Requests of browsers, of programs, and of attackers.

use http::{HeaderName, HeaderValue, Method, Request, Uri, Version};
use policy_core::testing::{NearOrigin, any_near_origin};
use policy_manifest::{ManifestRoute, RouteKind, engine::Protocol};
use proptest::{
    collection::vec,
    option,
    prelude::*,
    sample::{Index, select},
};

use super::apps::{OWN, Site};

/// A request to an app that is not known yet.
#[derive(Clone, Debug)]
pub(crate) struct Sketch {
    route: Index,
    method: Wanted,
    path: Path,
    query: &'static str,
    host: Host,
    origin: Option<Origin>,
    is_origin_repeated: bool,
    /// `Access-Control-Request-Method`, which makes OPTIONS a preflight.
    requested_method: Option<Asked>,
    fields: Vec<(&'static str, &'static str)>,
    version: Version,
    /// What an extended CONNECT asks for.
    protocol: Option<&'static str>,
}

#[derive(Clone, Debug)]
enum Wanted {
    /// A method that the route serves.
    Served(Index),
    Named(&'static str),
}

#[derive(Clone, Debug)]
struct Path {
    values: Vec<&'static str>,
    /// Below the prefix of a mount.
    below: &'static str,
    change: Option<usize>,
}

#[derive(Clone, Debug)]
enum Host {
    Own,
    Lines(&'static [&'static str]),
}

#[derive(Clone, Debug)]
enum Origin {
    Own,
    Near(NearOrigin),
    Text(&'static str),
}

#[derive(Clone, Debug)]
struct Asked {
    method: Wanted,
    is_repeated: bool,
}

const CHANGES: [fn(&str) -> String; 15] = [
    |path| format!("{path}/"),
    |path| format!("{path}//"),
    |path| format!("{path}/%2e%2E/x"),
    |path| format!("{path}/..%2fx"),
    |path| format!("{path}%zz"),
    |path| format!("{path}%00"),
    |path| format!("{path}%2F"),
    |path| path.replace('a', "%61").replace('m', "%6d"),
    |path| path.replace("/x", "%2Fx"),
    |path| path.to_uppercase(),
    |path| format!("/nowhere{path}"),
    |path| format!("{OWN}{path}"),
    |path| format!("http://localhost{path}"),
    |path| format!("ftp://own.example{path}"),
    |path| format!("ftp://localhost{path}"),
];

const SITES: [&[(&str, &str)]; 16] = [
    &[],
    &[("sec-fetch-site", "same-origin")],
    &[("sec-fetch-site", "same-origin"), ("sec-fetch-mode", "cors")],
    &[("sec-fetch-site", "none"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")],
    &[("sec-fetch-site", "same-site"), ("sec-fetch-mode", "cors")],
    &[("sec-fetch-site", "same-site"), ("sec-fetch-dest", "image")],
    &[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "cors")],
    &[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors"), ("sec-fetch-dest", "image")],
    &[
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-dest", "document"),
    ],
    &[
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-dest", "iframe"),
    ],
    &[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "websocket")],
    &[("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site")],
    &[("sec-fetch-site", "Same-Origin")],
    &[("sec-fetch-site", "same-origin"), ("sec-fetch-mode", "cors"), ("sec-fetch-mode", "cors")],
    &[("referer", "https://own.example/a?b")],
    &[("referer", "https://own.example.evil.test/")],
];

/// One byte more than all cookies of a request may have together.
const TOO_LARGE: &str = match str::from_utf8(&[b'a'; 16 * 1024 + 1]) {
    Ok(text) => text,
    Err(_) => "",
};

const COOKIES: [&[(&str, &str)]; 8] = [
    &[("cookie", "__Host-sid=AAAAAAAAAAAAAAAAAAAAAA")],
    &[("cookie", "__Host-sid=AAAAAAAAAAAAAAAAAAAAAA")],
    &[("cookie", "theme=dark; __Host-sid = AAAAAAAAAAAAAAAAAAAAAA ")],
    &[("cookie", "theme=dark")],
    &[("cookie", "__Host-sid=A; __Host-sid=B")],
    &[("cookie", "a=b"), ("cookie", "__Host-sid=AAAAAAAAAAAAAAAAAAAAAA")],
    &[("cookie", TOO_LARGE)],
    &[("cookie", "__host-sid=A; x__Host-sid=B; __Host-sid")],
];

const AUTHORIZATIONS: [&[(&str, &str)]; 10] = [
    &[("authorization", "Bearer abc.def.ghi")],
    &[("authorization", "Bearer abc.def.ghi")],
    &[("authorization", "bearer   a-._~+/9Z==")],
    &[("authorization", "Basic YTpi")],
    &[("authorization", "Bearerx abc")],
    &[("authorization", "Bearer a b")],
    &[("authorization", "Bearer")],
    &[("authorization", "Basic\tabc")],
    &[("authorization", "Bearer a"), ("authorization", "Bearer a")],
    &[("proxy-authorization", "Bearer abc.def.ghi")],
];

const RARE: [&[(&str, &str)]; 28] = [
    &[("early-data", "1")],
    &[("content-length", "5")],
    &[("content-length", "101")],
    &[("content-length", "18446744073709551615")],
    &[("content-length", "18446744073709551616")],
    &[("content-length", "+5")],
    &[("content-length", "5"), ("content-length", "5")],
    &[("content-length", "")],
    &[("transfer-encoding", "Chunked")],
    &[("transfer-encoding", "gzip, chunked")],
    &[("transfer-encoding", "chunked, Chunked")],
    &[("transfer-encoding", "chunked"), ("transfer-encoding", "chunked")],
    &[("expect", "100-Continue")],
    &[("expect", "x")],
    &[("te", "trailers")],
    &[("te", "gzip")],
    &[("connection", "close")],
    &[("keep-alive", "1")],
    &[("upgrade", "websocket"), ("connection", "upgrade")],
    &[("upgrade", "websocket"), ("connection", "upgrade")],
    &[("upgrade", "websocket"), ("connection", "upgrade")],
    &[("upgrade", "websocket"), ("connection", "upgrade")],
    &[("max-forwards", "00")],
    &[("max-forwards", "1")],
    &[("forwarded", "for=192.0.2.7")],
    &[("x-forwarded-for", "192.0.2.7")],
    &[("cf-connecting-ip", "192.0.2.7")],
    &[("referer", "http://localhost/x"), ("referer", "http://localhost/x")],
];

const QUERIES: &str =
    "a=b&ticket=one ticket=one&ticket=one %74icket=one callback=show callback=app.show
     callback=a.b.c.d %63allback=s%68ow callback= callback=alert(1) callback=a&callback=b
     callback=delete callback=%00";

const HOSTS: [&[&str]; 14] = [
    &["own.example"],
    &["OWN.example:443"],
    &["own.example:8443"],
    &["localhost"],
    &["LOCALHOST:8080"],
    &["a.localhost."],
    &["127.1.2.3:1"],
    &["[::1]:80"],
    &["[::1"],
    &["evil.test"],
    &["127.0.0.1.evil.test"],
    &["own.example:"],
    &[],
    &["localhost", "localhost"],
];

pub(crate) fn sketch() -> impl Strategy<Value = Sketch> + Clone {
    let values = prop_oneof![
        3 => select(&["1", "x", "b", "m"][..]),
        1 => select(&["+", "%2B", "~", "%7e", "a%2Fb", "a%5Cb", "x%2Fy", "\\", "%C3%A9"][..]),
    ];
    let below = prop_oneof![
        3 => select(&["", "/x", "/x/y"][..]),
        1 => select(&["/", "/a%2Fb", "/m", "/%2e"][..]),
    ];
    let path = (vec(values, 3), below, option::weighted(0.12, 0..CHANGES.len()))
        .prop_map(|(values, below, change)| Path { values, below, change });
    let host = prop_oneof![
        12 => Just(Host::Own),
        1 => select(&HOSTS[..]).prop_map(Host::Lines),
    ];
    let origin = prop_oneof![
        3 => Just(Origin::Own),
        5 => any_near_origin().prop_map(Origin::Near),
        1 => select(&["null", "http://localhost", "https://OWN.example", "https://own.example:443"][..])
            .prop_map(Origin::Text),
    ];
    let query = prop_oneof![
        4 => Just(""),
        3 => Just("ticket=one"),
        3 => select(QUERIES.split_ascii_whitespace().collect::<Vec<_>>()),
    ];
    let requested_method = (method(), prop::bool::weighted(0.12))
        .prop_map(|(method, is_repeated)| Asked { method, is_repeated });
    let fields = (
        option::weighted(0.5, select(&SITES[..])),
        option::weighted(0.6, select(&COOKIES[..])),
        option::weighted(0.5, select(&AUTHORIZATIONS[..])),
        option::weighted(0.15, select(&RARE[..])),
        option::weighted(0.04, select(&RARE[..])),
        (prop::bool::weighted(0.6), prop::bool::weighted(0.1), prop::bool::weighted(0.1)),
    );
    let fields = fields.prop_map(
        |(site, cookies, authorization, rare, other, (is_typed, is_part, is_last))| {
            let groups = [site, cookies, authorization, rare, other].into_iter().flatten();
            let typed = is_typed.then_some(("content-type", "application/json"));
            let part = is_part.then_some(("content-range", "bytes 0-1/2"));
            let last = is_last.then_some(("max-forwards", "0"));
            groups.flatten().copied().chain(typed).chain(part).chain(last).collect::<Vec<_>>()
        },
    );
    let protocol =
        option::weighted(0.06, select(&["websocket", "websocket", "websocket", "connect-udp"][..]));
    let version = prop_oneof![
        1 => Just(Version::HTTP_10),
        8 => Just(Version::HTTP_11),
        1 => Just(Version::HTTP_2),
    ];
    (
        (any::<Index>(), method(), path, query, host),
        (option::weighted(0.6, origin), prop::bool::weighted(0.08)),
        (option::weighted(0.25, requested_method), fields, version, protocol),
    )
        .prop_map(
            |((route, method, path, query, host), (origin, is_origin_repeated), rest)| {
                let (requested_method, fields, version, protocol) = rest;
                Sketch {
                    route,
                    method,
                    path,
                    query,
                    host,
                    origin,
                    is_origin_repeated,
                    requested_method,
                    fields,
                    version,
                    protocol,
                }
            },
        )
}

fn method() -> impl Strategy<Value = Wanted> + Clone {
    let named = &[
        "GET", "HEAD", "POST", "PUT", "PATCH", "QUERY", "OPTIONS", "TRACE", "PURGE", "get", "NONE",
    ];
    prop_oneof![
        8 => any::<Index>().prop_map(Wanted::Served),
        2 => select(&named[..]).prop_map(Wanted::Named),
    ]
}

impl Wanted {
    fn resolve(&self, route: &ManifestRoute) -> String {
        match self {
            Self::Served(index) if !route.methods.is_empty() => {
                route.methods[index.index(route.methods.len())].clone()
            }
            Self::Served(_) => "GET".to_owned(),
            Self::Named(name) => (*name).to_owned(),
        }
    }
}

impl Path {
    /// A path that the template matches, or one near it.
    fn fill(&self, template: &str) -> String {
        let mut values = self.values.iter();
        let segments = template.split('/').map(|segment| match segment.strip_prefix('{') {
            None => segment.to_owned(),
            Some(name) => {
                let value = values.next().copied().unwrap_or("1");
                if name.starts_with('*') {
                    format!("{value}{}", self.below)
                } else {
                    value.to_owned()
                }
            }
        });
        let path = segments.collect::<Vec<_>>().join("/");
        match self.change {
            Some(change) => CHANGES[change](&path),
            None => path,
        }
    }
}

impl Sketch {
    pub(crate) fn to_request(&self, site: &Site) -> Request<()> {
        let routes = &site.manifest.routes;
        let route = &routes[self.route.index(routes.len())];
        let is_public = site.manifest.app.public_origin.is_some();
        let own_host = if is_public { "own.example" } else { "localhost" };
        let own = if is_public { OWN } else { "http://localhost" };
        let template = match route.path.as_str() {
            "*" => "/nowhere/{*path}".to_owned(),
            "" => String::new(),
            prefix if matches!(route.kind, RouteKind::Mount | RouteKind::Proxy) => {
                format!("{prefix}{}", self.path.below)
            }
            path => path.to_owned(),
        };
        let mut method = self.method.resolve(route);
        let target = match (template.as_str(), &*method) {
            ("", _) => "db.example:5432".to_owned(),
            (_, "OPTIONS") if self.path.below == "/m" => "*".to_owned(),
            (template, _) => self.path.fill(template),
        };
        let mut fields = self.fields.clone();
        let requested_method = self.requested_method.as_ref().filter(|_| !template.is_empty());
        let requested_method = requested_method
            .map(|preflight| (preflight.method.resolve(route), preflight.is_repeated));
        if requested_method.is_some() {
            method = "OPTIONS".to_owned();
            // Few of them have what no browser adds.
            fields.retain(|(name, _)| !name.starts_with("content-"));
        }
        let protocol =
            self.protocol.filter(|_| requested_method.is_none() && target.starts_with('/'));
        let target = match protocol {
            Some(_) => {
                method = "CONNECT".to_owned();
                fields.retain(|(name, _)| *name != "upgrade" && *name != "connection");
                format!("{own}{target}")
            }
            None => target,
        };
        let target = match self.query {
            "" => target,
            query if target.contains('/') => format!("{target}?{query}"),
            _ => target,
        };
        let uri = target.parse().unwrap_or(Uri::from_static("/"));
        let version = protocol.map_or(self.version, |_| Version::HTTP_2);
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        let request = Request::builder().method(method).uri(uri).version(version).body(());
        let mut request = request.expect("a request");
        if let Some(protocol) = protocol {
            request.extensions_mut().insert(Protocol::new(protocol));
        }
        let headers = request.headers_mut();
        let mut add = |name: &'static str, value: &[u8]| {
            let value = HeaderValue::from_bytes(value).expect("a value");
            headers.append(HeaderName::from_static(name), value);
        };
        match &self.host {
            Host::Own if template.is_empty() => add("host", b"db.example:5432"),
            Host::Own => add("host", own_host.as_bytes()),
            Host::Lines(lines) => lines.iter().for_each(|line| add("host", line.as_bytes())),
        }
        let origin = match &self.origin {
            // Few requests for tunnels have an origin.
            _ if template.is_empty() && self.path.below != "/x" => None,
            Some(Origin::Own) => Some(own.as_bytes().to_vec()),
            Some(Origin::Near(near)) => Some(near.value_for(&site.patterns())),
            Some(Origin::Text(text)) => Some(text.as_bytes().to_vec()),
            None => None,
        };
        if let Some(origin) = origin {
            add("origin", &origin);
            if self.is_origin_repeated {
                add("origin", &origin);
            }
        }
        if let Some((requested_method, is_repeated)) = requested_method {
            add("access-control-request-method", requested_method.as_bytes());
            if is_repeated {
                add("access-control-request-method", requested_method.as_bytes());
            }
        }
        fields.iter().for_each(|(name, value)| add(name, value.as_bytes()));
        request
    }
}
