//! The trace of a request, what spans record of queries, and the access log as JSON.

use std::{
    collections::BTreeSet,
    fs, io,
    sync::{Mutex, MutexGuard},
};

use ::http::HeaderMap;
use policy_server::{
    ReverseProxy, TrustedProxies,
    tokens::SecretKey,
    traces::{RemoteTrace, TraceContext, TraceParents, Tracing},
};
use policy_tests::{handlers::by_token, http::until, log::Log, public_api::root};
use serde_json::Value;

use super::*;

const SENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// The context that the tracer of these tests gives to every span.
const OWN: &str = "00-01010101010101010101010101010101-0202020202020202-00";

/// The trace of a request as its handler sees it.
#[get("/seen")]
#[auth(public)]
async fn seen(headers: HeaderMap) -> String {
    let lines = ["traceparent", "tracestate", "baggage"].map(|name| {
        let values = headers.get_all(name).iter().map(|value| value.to_str().expect("ASCII"));
        values.collect::<Vec<_>>().join("|")
    });
    lines.join(" ").trim_end().to_owned()
}

type Told = Arc<Mutex<Vec<Option<RemoteTrace>>>>;

/// A tracer that records its calls.
fn tracing(remotes: &Told) -> Tracing {
    let remotes = Arc::clone(remotes);
    Tracing::new().tracer(move |span, remote| {
        assert!(!span.is_disabled());
        remotes.lock().expect("a tracer").push(remote.cloned());
        TraceContext::new([1; 16], [2; 8], 0)
    })
}

fn traced(tracing: Tracing, is_behind_proxy: bool) -> App<()> {
    let app = App::new(()).tracing(tracing).routes(routes![seen]);
    match is_behind_proxy {
        true => app.behind(TrustedProxies::new(["127.0.0.1"]).x_forwarded()),
        false => app,
    }
}

async fn seen_by(server: &Running, fields: &[&str]) -> String {
    let response = server.response(request("GET /seen", fields)).await;
    assert_eq!(response.status, 200);
    response.text().to_owned()
}

#[tokio::test]
async fn a_stranger_is_a_link_and_never_a_parent() {
    let (_log, _guard) = Log::start("policy_server");
    let parent = format!("traceparent: {SENT}");
    let fields = [&*parent, "tracestate: front=1", "baggage: user=7"];
    let context = {
        let mut headers = HeaderMap::new();
        headers.insert("traceparent", SENT.parse().expect("a header"));
        TraceContext::read(&headers).expect("a context").with_state("front=1")
    };
    let (as_parent, as_link) = (RemoteTrace::Parent(context.clone()), RemoteTrace::Link(context));
    for (is_behind_proxy, parents, remote, baggage) in [
        (false, TraceParents::Proxies, &as_link, ""),
        (true, TraceParents::Proxies, &as_parent, "  user=7"),
        (false, TraceParents::Everybody, &as_parent, "  user=7"),
        (true, TraceParents::Nobody, &as_link, ""),
    ] {
        let remotes = Told::default();
        let tracer = tracing(&remotes).parents(parents);
        let server = Running::start(traced(tracer, is_behind_proxy)).await;
        assert_eq!(seen_by(&server, &fields).await, format!("{OWN}{baggage}"), "{parents:?}");
        assert_eq!(seen_by(&server, &[]).await, OWN);
        let remotes = remotes.lock().expect("a tracer").clone();
        assert_eq!(remotes, [Some(remote.clone()), None], "{parents:?}");

        // Without a tracer, an accepted trace is passed on, and a stranger's is not.
        let server = Running::start(traced(Tracing::new().parents(parents), is_behind_proxy)).await;
        let passed = match remote {
            RemoteTrace::Parent(_) => format!("{SENT} front=1 user=7"),
            _ => String::new(),
        };
        assert_eq!(seen_by(&server, &fields).await, passed, "{parents:?}");
        let twice = [&*parent, &*parent, "tracestate: front=1"];
        assert_eq!(seen_by(&server, &twice).await, "", "an invalid one, {parents:?}");
    }
}

#[tokio::test]
async fn a_tracer_is_asked_where_a_span_is_recorded() {
    let (_log, _guard) = Log::start("policy::access");
    let remotes = Told::default();
    let server = Running::start(traced(tracing(&remotes), false)).await;
    assert_eq!(seen_by(&server, &[]).await, "");
    assert!(remotes.lock().expect("a tracer").is_empty());
}

#[tokio::test]
async fn an_upstream_gets_the_trace_of_the_proxy() {
    let (_log, _guard) = Log::start("policy_server");
    let upstream = App::new(()).behind(TrustedProxies::new(["127.0.0.1"]).forwarded());
    let upstream = Running::start(upstream.routes(routes![seen])).await;
    let parent = format!("traceparent: {SENT}");
    let remotes = Told::default();
    for (tracing, is_behind_proxy, passed) in [
        (tracing(&remotes), false, OWN),
        (tracing(&remotes), true, OWN),
        (Tracing::new(), false, ""),
        (Tracing::new(), true, SENT),
    ] {
        let proxy = ReverseProxy::new("/up", format!("http://{}", upstream.address));
        let proxy = proxy.public().strip_prefix();
        let app = App::new(()).tracing(tracing).proxy(proxy);
        let app = match is_behind_proxy {
            true => app.behind(TrustedProxies::new(["127.0.0.1"]).x_forwarded()),
            false => app,
        };
        let front = Running::start(app).await;
        // A client cannot make it a header of its connection.
        for fields in [&[&*parent][..], &[&parent, "connection: traceparent"]] {
            let response = front.response(request("GET /up/seen", fields)).await;
            assert_eq!((response.status, response.text()), (200, passed), "{fields:?}");
        }
    }
}

#[tokio::test]
async fn a_query_is_recorded_where_its_parameters_are_named() {
    let (log, _guard) = Log::start("policy_server");
    for (tracing, recorded) in
        [(Tracing::new(), None), (Tracing::new().queries(["page"]), Some("url.query=page=%322"))]
    {
        let server = Running::start(traced(tracing, false)).await;
        server.response(get("/seen?ticket=s3cr3t&page=%322&%70age=s3cr3t&s3cr3t")).await;
        let span = log.with("request otel.name=").pop().expect("a span");
        assert_eq!(span.contains("url.query"), recorded.is_some(), "{span}");
        assert!(recorded.is_none_or(|recorded| span.contains(&format!(" {recorded} "))), "{span}");
        assert!(!span.contains("s3cr3t"), "{span}");
    }
    let tracing = Tracing::new().queries(["page", "ticket", "X-Amz-Signature"]);
    let problems = App::new(()).tracing(tracing).check().expect_err("problems");
    let text = problems.to_string();
    assert_eq!(text.matches(" (app.traced-credential)").count(), 2, "{text}");
    assert!(text.contains("`ticket`") && text.contains("`X-Amz-Signature`"), "{text}");
}

/// An output that a test reads.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().expect("an output")
    }

    /// The lines, once there are this many.
    async fn lines(&self, count: usize) -> Vec<Value> {
        let line_count = || self.bytes().iter().filter(|byte| **byte == b'\n').count();
        until(async || line_count() >= count).await;
        let text = String::from_utf8(self.bytes().clone()).expect("UTF-8");
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }
}

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::Write::write(&mut *self.bytes(), bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn lines_of_the_access_log_follow_their_schema() {
    let (log, _guard) = Log::start("policy");
    let written = Written::default();
    let tokens = Tokens::hs256([("k", SecretKey::from_bytes([7; 32]))]).expect("a key");
    let app = App::new(gate())
        .tokens(tokens)
        .request_ids()
        .tracing(tracing(&Told::default()))
        .access_log_json(written.clone())
        .routes(routes![hello, by_token, panics]);
    let server = Running::start(app).await;
    let requests = [
        get("/hello?ticket=s3cr3t"),
        request(
            "GET /by-token",
            &["authorization: Bearer s3cr3t", "origin: https://a.example\t\""],
        ),
        get("/panic"),
        request("BREW /hello", &[]),
        get("/a%0a\"b"),
    ];
    for (index, bytes) in requests.iter().enumerate() {
        let mut connection = server.connect().await;
        connection.send(bytes).await;
        connection.head().await;
        written.lines(index + 1).await;
    }
    let (mut client, _ended) = http2::connect(&server).await;
    get_h2(&mut client, "/hello").await;
    let lines = written.lines(requests.len() + 1).await;

    let schema = fs::read_to_string(root().join("docs/schema/access-1.json")).expect("a schema");
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let mut seen = BTreeSet::new();
    for line in &lines {
        let errors: Vec<_> = validator.iter_errors(line).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{line}: {errors:?}");
        assert!(!line.to_string().contains("s3cr3t"), "{line}");
        seen.extend(line.as_object().expect("an object").keys().cloned());
    }
    let stated = schema["properties"].as_object().expect("properties");
    assert_eq!(seen, stated.keys().cloned().collect(), "every field is in some line");
    let column = |name: &str| lines.iter().map(|line| line[name].clone()).collect::<Vec<_>>();
    assert_eq!(column("http.response.status_code"), [200, 401, 500, 501, 400, 200]);
    assert_eq!(column("network.protocol.version")[5], "2");
    assert_eq!(column("http.response.body.size")[0], 5);
    assert_eq!(column("trace_id")[1], "01010101010101010101010101010101");
    assert_eq!(column("policy.origin")[1], "https://a.example\\t\\\"");
    assert_eq!(
        column("error.type")[1..4],
        [Value::Null, "handler.failed".into(), "route.method-unknown".into()]
    );

    // These lines are no events, and a refusal is only in its line.
    assert_eq!(log.with("policy.is_complete="), [""; 0]);
    assert_eq!(log.with("request refused"), [""; 0]);
}

/// An output such as a full disk.
struct Full;

impl io::Write for Full {
    fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_line_that_cannot_be_written_is_an_event() {
    let (log, _guard) = Log::start("policy_server");
    let server = Running::start(app().access_log_json(Full)).await;
    for _ in 0..100 {
        assert_eq!(server.response(get("/hello")).await.status, 200);
    }
    let code = "server.access-log-failed";
    let events = log.until(|log| Some(log.with_code(code)).filter(|all| !all.is_empty())).await;
    assert!(events[0].starts_with("ERROR "), "{events:?}");
    assert!(log.with_code(code).len() < 100);
}
