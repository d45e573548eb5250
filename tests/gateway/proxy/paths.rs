//! Only the app decides where a request goes.

use std::sync::LazyLock;

use policy_server::{App, ReverseProxy};
use policy_tests::paths::rfc3986;
use proptest::{prelude::*, test_runner::TestCaseError};
use tokio::{
    runtime::Runtime,
    sync::{Mutex, mpsc},
};

use super::{
    Running, Upstream,
    http::{RawRequest, request},
    law::{self, Judged, Precondition},
};

/// Two proxies for one upstream, and the requests it receives.
struct Scenario {
    runtime: Runtime,
    server: Running,
    host: String,
    arrived: Mutex<mpsc::UnboundedReceiver<RawRequest>>,
}

static SCENARIO: LazyLock<Scenario> = LazyLock::new(|| {
    let runtime = Runtime::new().expect("a runtime");
    let (server, host, arrived) = runtime.block_on(async {
        let upstream = Upstream::start().await;
        let (origin, host) = (upstream.origin(), upstream.address.to_string());
        let app = App::new(())
            .proxy(
                ReverseProxy::new("/api", format!("{origin}/base"))
                    .public()
                    .strip_prefix()
                    .encoded_slashes(),
            )
            .proxy(ReverseProxy::new("/bare", &origin).public().strip_prefix().encoded_slashes())
            .proxy(ReverseProxy::new("/whole", &origin).public());
        let arrived = upstream.answering("HTTP/1.1 204 No Content\r\n\r\n");
        (Running::start(app).await, host, arrived)
    });
    Scenario { runtime, server, host, arrived: Mutex::new(arrived) }
});

/// Fragments of known attacks.
fn piece() -> impl Strategy<Value = String> {
    let tricks = [
        "/",
        "//",
        "..",
        ".",
        "%2e",
        "%2E%2e",
        "%252e",
        "%252e%252e",
        "%2f",
        "%5c",
        "%252f",
        "\\",
        ";",
        "..;",
        "..;a=b",
        "@",
        "@evil.test",
        ":",
        "evil.test",
        "http://evil.test",
        "?",
        "#",
        "%00",
        "%09",
        "%0d%0a",
        "%23",
        "%3f",
        "a",
        "base",
        "api",
        "x.y",
        "...",
        "~",
        "%c0%ae",
        "%ff",
        "+",
        "&",
        "=",
        "https:",
        "127.0.0.1:1",
        "%25%32%65",
        "*",
    ];
    prop_oneof![
        8 => proptest::sample::select(tricks.to_vec()).prop_map(str::to_owned),
        1 => "[ -~]{1,4}",
    ]
}

fn target() -> impl Strategy<Value = String> {
    let start = prop_oneof![
        6 => Just("/api"), 6 => Just("/bare"), 3 => Just("/whole"), 1 => Just("/apix"), 1 => Just(""),
        1 => Just("//evil.test/api"), 1 => Just("http://evil.test/api"), 1 => Just("http://localhost/api"),
        1 => Just("/x/../api"), 1 => Just("/%61pi"), 1 => Just("*"), 1 => Just("evil.test:80"),
    ];
    (start, prop::collection::vec(piece(), 0..6))
        .prop_map(|(start, pieces)| {
            let slash = if pieces.is_empty() { "" } else { "/" };
            format!("{start}{slash}{}", pieces.concat())
        })
        .prop_filter("a target has no blanks", |target| !target.contains(' ') && !target.is_empty())
}

/// Fields that have misled other proxies, and that no gate refuses before the proxy is reached.
fn fields() -> impl Strategy<Value = Vec<String>> {
    let fields = [
        "x-original-url: http://evil.test/",
        "x-rewrite-url: /evil",
        "connection: host",
        "connection: forwarded, via",
        "x-host: evil.test",
        "te: trailers",
        "proxy-connection: keep-alive",
        "upgrade: h2c",
        "destination: http://evil.test/",
    ];
    let field = proptest::sample::select(fields.to_vec()).prop_map(str::to_owned);
    prop::collection::vec(field, 0..3)
}

/// Whether a path leaves its folder when it is decoded, any number of times, and resolved.
fn climbs(path: &str) -> bool {
    let mut layers = vec![path.to_owned()];
    for _ in 0..6 {
        let last = layers.last().expect("a layer").clone();
        let bytes = last.as_bytes();
        let (mut decoded, mut at) = (Vec::new(), 0);
        while at < bytes.len() {
            let code = bytes.get(at + 1..at + 3).and_then(|code| str::from_utf8(code).ok());
            match (bytes[at], code.and_then(|code| u8::from_str_radix(code, 16).ok())) {
                (b'%', Some(byte)) => {
                    decoded.push(byte);
                    at += 3;
                }
                (byte, _) => {
                    decoded.push(byte);
                    at += 1;
                }
            }
        }
        layers.push(String::from_utf8_lossy(&decoded).into_owned());
    }
    layers.iter().any(|layer| {
        let segments = layer.split(['/', '\\']).map(|it| it.split(';').next().unwrap_or_default());
        segments.into_iter().any(|segment| segment == ".." || segment == ".")
    })
}

fn judge((target, fields): (String, Vec<String>)) -> Judged {
    let Scenario { runtime, server, host, arrived } = &*SCENARIO;
    let fields: Vec<_> = fields.iter().map(String::as_str).collect();
    let fail = |why: &str, got: &RawRequest| {
        Err(TestCaseError::fail(format!("{why}: {target} became {got:?}")))
    };
    runtime.block_on(async {
        let mut arrived = arrived.lock().await;
        let response = server.response(request(&format!("GET {target}"), &fields)).await;
        let Ok(got) = arrived.try_recv() else {
            let refused = matches!(response.status, 400 | 404 | 405 | 421);
            return match refused {
                true => Ok(Precondition::Unmet),
                false => Err(TestCaseError::fail(format!("{target}: {response:?}"))),
            };
        };
        if got.header("host") != Some(host) {
            return fail("another host", &got);
        }
        let sent = target.strip_prefix("http://localhost").unwrap_or(&target);
        // RFC 9112 3.2: a fragment is not part of a target.
        let sent = sent.split('#').next().unwrap_or_default();
        let (sent, query) = match sent.split_once('?') {
            Some((path, query)) => (path, format!("?{query}")),
            None => (sent, String::new()),
        };
        let Some(sent) = rfc3986(sent) else { return fail("malformed codes", &got) };
        let sent = sent + &query;
        let (path, prefixes) =
            (got.path(), [("/api", "/base"), ("/bare", ""), ("/whole", "/whole")]);
        let mapped = prefixes.iter().find_map(|(prefix, base)| {
            let rest = sent
                .strip_prefix(prefix)
                .filter(|rest| rest.is_empty() || rest.starts_with(['/', '?']))?;
            let slash = if base.is_empty() && !rest.starts_with('/') { "/" } else { "" };
            Some((*base, format!("{base}{slash}{rest}")))
        });
        let Some((base, mapped)) = mapped else { return fail("no prefix", &got) };
        if path != mapped {
            return fail("other bytes", &got);
        }
        let only_path = path.split('?').next().unwrap_or_default();
        if !only_path.starts_with(&format!("{base}/")) && only_path != base {
            return fail("outside of the base", &got);
        }
        if only_path.starts_with("//") || climbs(only_path) {
            return fail("a way out", &got);
        }
        Ok(Precondition::met_if(only_path.len() > base.len() + 1))
    })
}

#[test]
fn an_upstream_sees_only_its_own_host_and_paths_below_its_base() {
    let law = "no request chooses where it goes";
    law::holds(law, 29, (target(), fields()), judge);
}

#[tokio::test]
async fn a_path_that_could_be_another_one_is_400() {
    let upstream = Upstream::start().await;
    let proxy =
        ReverseProxy::new("/api", format!("{}/v1", upstream.origin())).public().strip_prefix();
    let bare =
        ReverseProxy::new("/bare", upstream.origin()).public().strip_prefix().encoded_slashes();
    let server = Running::start(App::new(()).proxy(proxy).proxy(bare)).await;
    for (path, code) in [
        ("/api/../x", "wire.path-dot-segment"),
        ("/api/%2e%2e/x", "wire.path-dot-segment"),
        ("/api/..%2fx", "wire.path-dot-segment"),
        ("/api/..%5cx", "wire.path-dot-segment"),
        ("/api/%252e%252e/x", "wire.path-dot-segment"),
        ("/api/..%252fx", "wire.path-dot-segment"),
        ("/api/..;/x", "wire.path-dot-segment"),
        ("/api/a%2fb", "wire.path-encoded-slash"),
        ("/bare//evil.test", "wire.path-empty-segment"),
        ("/bare/%2fevil.test", "proxy.path"),
    ] {
        let response = server.response(request(&format!("GET {path}"), &[])).await;
        assert_eq!(response.problem(), (400, code.to_owned()), "{path}");
    }
}
