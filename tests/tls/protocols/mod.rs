//! One app over every version of HTTP: the responses are the same in status, fields and body.

mod cases;
mod clients;

use std::{fs, future::pending, path::PathBuf, time::Duration};

use policy_server::{App, Limits, Policies, Rate, Tls, candidate::Candidate};
use policy_tests::every_policy as app;

use crate::client::trusting_development;
use cases::{Case, Payload};
use clients::{Client, Http1, Http2, Http3, Place};

const HOST: &str = "api.shop.example";
const ORIGIN: &str = "https://api.shop.example";

/// A response without the parts that depend on the connection or the time.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TestResponse {
    status: u16,
    fields: Vec<String>,
    body: String,
}

/// Fields about the connection (RFC 9110 7.6.1), the time, and alternative services.
const OWN: [&str; 5] = ["alt-svc", "connection", "date", "keep-alive", "transfer-encoding"];

/// Fields for TLS only, and the length of an empty body, which HTTP/1.1 must state.
const ASIDE: [&str; 2] = ["strict-transport-security:", "content-length: 0"];

fn app() -> App<()> {
    let limits = Limits::NONE.body(app::BODY as u64).rate(Rate::per_second(1_000_000));
    app::app()
        .public_origin(ORIGIN)
        .routes(cases::routes())
        .policies(Policies::new().limits(limits.concurrency(256).timeout(Duration::from_secs(1))))
}

/// Serves an app on a free port.
async fn serve(app: App<()>) -> Place {
    let server = app.bind("127.0.0.1:0").await.expect("an app that starts");
    let address = server.local_addr();
    tokio::spawn(server.run_until(pending()));
    Place { address, trust: None }
}

async fn plain() -> Place {
    serve(app()).await
}

/// The same with its own certificate, over TLS and QUIC.
async fn secure(name: &str) -> Place {
    secured(app(), name).await
}

async fn secured(app: App<()>, name: &str) -> Place {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("protocols-{name}"));
    let _none = fs::remove_dir_all(&folder);
    let place = serve(app.tls(Tls::development(&folder).http3())).await;
    Place { trust: Some(trusting_development(&folder)), ..place }
}

/// Sends all requests in order. Values that a server draws are replaced by their names, in requests
/// and responses.
async fn all(client: &mut impl Client) -> Vec<(&'static str, TestResponse)> {
    let mut drawn: Vec<(&str, String)> = Vec::new();
    let mut responses = Vec::new();
    for case in cases::all() {
        let case = case.with(&drawn);
        let mut response = client.response(&case).await;
        response.fields.retain(|line| {
            let name = line.split(':').next().unwrap_or_default();
            !OWN.contains(&name) && !ASIDE.iter().any(|aside| line.starts_with(aside))
        });
        response.fields.sort_unstable();
        assert_eq!(response.status, case.status, "{}: {response:?}", case.name);
        if let Some((name, found)) = case.draws {
            drawn.push((name, found(&response)));
        }
        responses.push((case.name, response));
    }
    for (_, response) in &mut responses {
        for (name, value) in &drawn {
            response.body = response.body.replace(value.as_str(), name);
            for line in &mut response.fields {
                *line = line.replace(value.as_str(), name);
            }
        }
    }
    responses
}

#[tokio::test]
async fn every_version_gets_the_same_responses() {
    let one = all(&mut Http1::new(plain().await)).await;
    let others = [
        ("HTTP/1.1 over TLS", all(&mut Http1::new(secure("1").await)).await),
        ("HTTP/2 over TLS", all(&mut Http2::new(secure("2").await)).await),
        ("HTTP/2 with prior knowledge", all(&mut Http2::new(plain().await)).await),
        ("HTTP/3", all(&mut Http3::new(secure("3").await)).await),
    ];
    for (version, responses) in others {
        assert_eq!(responses.len(), one.len());
        for (response, expected) in responses.iter().zip(&one) {
            assert_eq!(response, expected, "{version}");
        }
    }
}

/// The policy in force is also the candidate.
#[tokio::test]
async fn a_candidate_changes_no_response_and_sees_every_version_of_http() {
    let candidate = Candidate::new(app().manifest());
    let observed = || app().report_only(&candidate);
    let one = all(&mut Http1::new(plain().await)).await;
    for responses in [
        all(&mut Http1::new(serve(observed()).await)).await,
        all(&mut Http2::new(secured(observed(), "observed-2").await)).await,
        all(&mut Http3::new(secured(observed(), "observed-3").await)).await,
    ] {
        assert_eq!(responses, one);
    }
    let (counts, differences) = (candidate.counts(), candidate.differences());
    assert!(differences.is_empty(), "{differences:#?}");
    assert!(counts.undecided * 5 < counts.agreed, "{counts:?}");
}

/// RFC 9113 8.2.3 and RFC 9114 4.2.1: clients may split the field, and no handler sees where.
#[tokio::test]
async fn cookies_are_one_line_where_they_may_be_cut() {
    let case = cases::cut_cookies();
    for response in [
        Http2::new(plain().await).response(&case).await,
        Http2::new(secure("cookies-2").await).response(&case).await,
        Http3::new(secure("cookies-3").await).response(&case).await,
    ] {
        assert_eq!((response.status, &*response.body), (200, "a=1; b=2; c=3; d=4"));
    }
}
