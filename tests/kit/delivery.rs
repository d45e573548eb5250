//! The network of the test kit changes nothing in the model of a browser.

use std::time::Duration;

use axum::{Router, body::to_bytes, extract::Request};
use policy_browser::{Outcome, Page, Response, ServerResponse, State, Url, run};
use policy_server::{
    http::{
        HeaderMap, HeaderValue, Method,
        header::{CONTENT_LENGTH, CONTENT_TYPE, DATE, HOST},
    },
    testing::{strategies::any_fetch, *},
};
use proptest::{prelude::*, sample::select};
use tokio::runtime::Builder;

use crate::{
    PROFILES,
    law::{Precondition, holds},
};

const PAGE: &str = "https://app.shop.example/";
const HOSTS: [&str; 2] = ["https://api.shop.example", "http://localhost:8080"];

/// A server that allows everything to every page, and returns what it received.
fn respond(method: &Method, url: &str, headers: &HeaderMap, body: &[u8]) -> (HeaderMap, Vec<u8>) {
    let mut granted = HeaderMap::new();
    let sent = |name: &str, or: &'static str| {
        headers.get(name).cloned().unwrap_or(HeaderValue::from_static(or))
    };
    granted.insert("access-control-allow-origin", sent("origin", "*"));
    granted.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    granted.insert("access-control-allow-credentials", HeaderValue::from_static("true"));
    granted.insert("access-control-allow-methods", sent("access-control-request-method", "GET"));
    granted.insert("access-control-allow-headers", sent("access-control-request-headers", "a"));
    let mut fields: Vec<_> = headers
        .iter()
        .filter(|(name, _)| ![&HOST, &CONTENT_LENGTH].contains(name))
        .map(|(name, value)| format!("{name}: {value:?}"))
        .collect();
    fields.sort();
    let text = format!("{method} {url}\n{}\n{body:?}", fields.join("\n"));
    let has_content = *method != Method::HEAD;
    (granted, if has_content { text.into_bytes() } else { Vec::new() })
}

async fn serve(origin: &str, request: Request) -> (HeaderMap, Vec<u8>) {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.expect("a body");
    let length = head.headers.get(CONTENT_LENGTH).map(HeaderValue::as_bytes);
    assert_eq!(length.unwrap_or(b"0"), body.len().to_string().as_bytes());
    assert!(origin.ends_with(head.headers[HOST].to_str().expect("text")));
    respond(&head.method, &format!("{origin}{}", head.uri), &head.headers, &body)
}

/// What a page sees, without the fields that HTTP adds.
fn observe(response: &Response) -> (ResponseType, Option<&Url>, u16, HeaderMap, String) {
    let Response { kind, url, status, headers, body, .. } = response;
    let mut headers = headers.clone();
    headers.remove(CONTENT_LENGTH);
    headers.remove(DATE);
    (*kind, url.as_ref(), *status, headers, String::from_utf8_lossy(body).into_owned())
}

#[test]
fn a_load_over_the_network_is_the_load_of_the_model() {
    let runtime = Builder::new_current_thread().build().expect("a runtime");
    let hosts = HOSTS.into_iter().fold(Network::new(), |net, origin| {
        net.host(origin, Router::new().fallback(move |request| serve(origin, request)))
    });
    let fetches = (select(&HOSTS[..]), "(/[a-z%?=&#é+|^`{}\"<>']{0,6})?")
        .prop_flat_map(|(origin, rest)| any_fetch(format!("{origin}{rest}")));
    holds("delivery", 73, (fetches, select(&PROFILES[..])), |(fetch, profile)| {
        // Whether a host is reached at all is not what is compared.
        let profile = profile.local_network(LocalNetwork::Granted);
        let page = Page::at(Url::parse(PAGE).expect("an address"));
        let state = State::new(profile, Duration::from_secs(1_800_000_000));
        let (_, expected) = run(state, Some(&page), fetch.clone(), |sent| {
            let body = sent.body.as_deref().unwrap_or_default();
            let (headers, body) = respond(&sent.method, sent.url.as_str(), &sent.headers, body);
            ServerResponse::new(200, headers, body)
        });
        let tab = Browser::new(profile).open(PAGE);
        let found = runtime.block_on(tab.fetch(&hosts, fetch));
        prop_assert_eq!(found.blocked(), expected.blocked());
        if let Some(response) = expected.response() {
            prop_assert_eq!(observe(found.response()), observe(response));
        }
        Ok(Precondition::met_if(matches!(expected, Outcome::Response(_))))
    });
}
