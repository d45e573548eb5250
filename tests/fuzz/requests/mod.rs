//! Random requests to a server with every policy: nothing panics, nothing fails except where
//! requested, and every response is valid HTTP to the byte.
//!
//! As a test, some thousand requests; `cargo xtask long requests` sends a million new ones.

mod generate;
mod response;

use std::{
    collections::BTreeMap,
    env,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use tokio::runtime::Builder;

use generate::{Credentials, Sent};
use policy_tests::{
    every_policy::app,
    http::{Received, Running, exchange},
    random::Random,
};
pub(super) use response::{Fault, ParsedResponse};

/// The number of requests that are answered as a test.
const SHORT: usize = 8_000;

/// Reads all responses of a connection.
fn responses(sent: &[Sent], received: &Received) -> Result<Vec<ParsedResponse>, String> {
    let (mut rest, mut responses) = (&received.bytes[..], Vec::new());
    let last = sent.last().expect("a request");
    while !rest.is_empty() {
        // What follows a corrupted request is not HEAD.
        let request = sent.get(responses.len());
        if request.is_none() && last.is_sound {
            return Err(format!("{} answers to {} requests", responses.len() + 1, sent.len()));
        }
        let is_of_head = request.is_some_and(|request| request.is_head);
        match ParsedResponse::read(rest, is_of_head) {
            Ok((response, behind)) => {
                rest = behind;
                // An interim response precedes the final one (RFC 9110 15.2.1).
                if response.status == 100 {
                    continue;
                }
                if let Some(request) = request {
                    judge(request, &response)?;
                }
                responses.push(response);
            }
            Err(Fault::Unfinished) if received.was_reset => break,
            // A corrupted head may not be parsed as HEAD.
            Err(fault) => return Err(format!("answer {}: {fault:?}", responses.len() + 1)),
        }
    }
    let last_request = responses.len().checked_sub(1).and_then(|last| sent.get(last));
    let has_closed = responses.last().is_some_and(|last| last.field("connection") == Some("close"))
        || last_request.is_some_and(|request| request.has_content);
    let is_sound = sent.iter().all(|request| request.is_sound);
    if is_sound && responses.len() < sent.len() && !received.was_reset && !has_closed {
        return Err(format!("{} answers to {} requests", responses.len(), sent.len()));
    }
    Ok(responses)
}

/// Checks a response beyond its syntax.
fn judge(request: &Sent, response: &ParsedResponse) -> Result<(), String> {
    let has = |name| response.field(name).is_some();
    let says = |what: &str| Err(format!("{what}: {response:?}"));
    match response.status {
        500.. if request.asked_status == Some(response.status) => (),
        // An unknown method (RFC 9110 15.6.2).
        501 if is_unknown_method(&request.bytes) => (),
        // An unknown transfer coding (RFC 9112 6.1).
        501 if !request.is_sound && has_transfer_coding(&request.bytes) => (),
        500.. => return says("failed unasked"),
        405 if !has("allow") => return says("no `Allow`"),
        416 if !has("content-range") && request.asked_status.is_none() => {
            return says("no `Content-Range`");
        }
        429 if !has("retry-after") => return says("no `Retry-After`"),
        206 if !has("content-range") && request.asked_status.is_none() => {
            return says("no `Content-Range`");
        }
        _ => (),
    }
    if response.field("content-type") == Some("application/problem+json")
        && !response.body.is_empty()
    {
        let problem: serde_json::Value = serde_json::from_slice(&response.body).unwrap_or_default();
        if problem["status"] != response.status {
            return says("no problem");
        }
    }
    Ok(())
}

fn is_unknown_method(request: &[u8]) -> bool {
    let known =
        ["GET ", "HEAD ", "POST ", "PUT ", "PATCH ", "DELETE ", "OPTIONS ", "TRACE ", "CONNECT "];
    !known.iter().any(|method| request.starts_with(method.as_bytes()))
}

fn has_transfer_coding(request: &[u8]) -> bool {
    request.to_ascii_lowercase().windows(18).any(|bytes| bytes == b"transfer-encoding:")
}

async fn log_in(address: std::net::SocketAddr) -> Credentials {
    let exchange = async |head: &str, fields: &str| {
        let text =
            format!("{head} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{fields}\r\n");
        let received = exchange(address, text.as_bytes()).await;
        let (response, _) = ParsedResponse::read(&received.bytes, false).expect("a response");
        assert!((200..300).contains(&response.status), "{head}: {response:?}");
        response
    };
    let login = exchange("POST /login", "origin: http://localhost\r\ncontent-length: 0\r\n").await;
    let cookie = login.field("set-cookie").and_then(|cookie| cookie.split(';').next());
    let cookie = cookie.expect("a cookie").to_owned();
    let csrf = exchange("GET /csrf", &format!("cookie: {cookie}\r\n")).await;
    let csrf: serde_json::Value = serde_json::from_slice(&csrf.body).expect("JSON");
    let issued = exchange("POST /tokens", "content-length: 0\r\n").await;
    let issued: serde_json::Value = serde_json::from_slice(&issued.body).expect("JSON");
    let text = |value: &serde_json::Value, name: &str| {
        value[name].as_str().unwrap_or_else(|| panic!("no `{name}` in {value}")).to_owned()
    };
    let bearer = format!("Bearer {}", text(&issued, "access_token"));
    Credentials { cookie, bearer, csrf: text(&csrf, "token") }
}

#[test]
fn every_request_gets_a_response_that_is_http() {
    let number = |name| env::var(name).ok().map(|text| text.parse().expect("a number"));
    let count = number("POLICY_FUZZ_REQUESTS").map(|count: u64| count as usize);
    let seconds = || SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_secs();
    let seed = number("POLICY_FUZZ_SEED").unwrap_or_else(|| count.map_or(1, |_| seconds()));
    let count = count.unwrap_or(SHORT);
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(run(count, seed));
}

async fn run(count: usize, seed: u64) {
    let server = Running::start(app()).await;
    let address = server.address;
    let mut random = Random(seed);
    let begun = Instant::now();
    let mut own = log_in(address).await;
    let (mut requests, mut answered, mut spoilt, mut connections) = (0, 0, 0, 0);
    let mut statuses: BTreeMap<u16, usize> = BTreeMap::new();
    while answered < count {
        // Tokens and sessions end.
        if connections % 2_000 == 1_999 {
            own = log_in(address).await;
        }
        let mut sent = Vec::new();
        let last = random.below(16);
        for at in 0..=last {
            let is_spoilt = at == last && random.below(3) == 0;
            sent.push(if is_spoilt {
                spoilt += 1;
                generate::spoilt(&mut random, &own)
            } else {
                generate::request(&mut random, &own, at == last)
            });
        }
        connections += 1;
        requests += sent.len();
        let bytes = sent.iter().map(|sent| &*sent.bytes).collect::<Vec<_>>().concat();
        let received = exchange(address, &bytes).await;
        let responses = responses(&sent, &received).unwrap_or_else(|fault| {
            panic!(
                "seed {seed}, connection {connections}: {fault}\nsent: {}\nreceived: {}",
                bytes.escape_ascii(),
                received.bytes.escape_ascii(),
            )
        });
        answered += responses.len();
        for response in responses {
            *statuses.entry(response.status).or_default() += 1;
        }
        assert_eq!(
            server.panics(),
            0,
            "seed {seed}, connection {connections}: {}",
            bytes.escape_ascii()
        );
    }
    let took = begun.elapsed().as_secs_f64();
    println!(
        "fuzz requests: {requests} requests ({spoilt} spoilt) on {connections} connections in \
         {took:.1} s, {answered} answers, seed {seed}: {statuses:?}"
    );
    let per_mille = |status| statuses.get(&status).copied().unwrap_or(0) * 1000 / answered;
    for (status, floor) in [(200, 100), (204, 10), (400, 10), (404, 10), (405, 10), (413, 1)] {
        assert!(per_mille(status) >= floor, "only {} in 1000 got {status}", per_mille(status));
    }
    let all = [201, 206, 304, 401, 403, 406, 412, 415, 416, 421, 422, 428, 431, 500, 501];
    for status in all {
        assert!(statuses.contains_key(&status), "nobody got {status}: {statuses:?}");
    }
}
