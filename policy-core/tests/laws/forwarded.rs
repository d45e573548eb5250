//! Laws of the reports of proxies: no field of a client changes them.

use http::{HeaderMap, HeaderName, HeaderValue};
use policy_core::forwarded::{
    Hosts, IpNetwork, ProxyReport, Statement, UriScheme, forwarded,
    proxy_protocol::{self, Progress},
    x_forwarded,
};
use policy_core_tests::law::{Judged, Precondition, holds};
use proptest::{collection::vec, prelude::*, sample::select};

fn met_if(precondition: bool) -> Judged {
    Ok(Precondition::met_if(precondition))
}

fn trusted() -> Vec<IpNetwork> {
    vec![IpNetwork::parse("10.0.0.0/8").expect("a network")]
}

/// Pieces from which a client composes lines: valid ones, almost valid ones, and ones that could
/// swallow the text after them.
fn pieces() -> impl Strategy<Value = String> {
    let piece = select(vec![
        "for=203.0.113.9",
        "for=10.0.0.9",
        "for=\"[2001:db8::9]:1\"",
        "for=_a",
        "for=",
        "proto=https",
        "proto=http",
        "host=evil.test",
        "203.0.113.9",
        "10.0.0.9",
        "unknown",
        "x=\"",
        "\"",
        "\\",
        "\\\"",
        ";",
        ",",
        ", ",
        "=",
        " ",
        "\u{e9}",
        "[",
        "]",
        ":",
        "\t",
        "a",
    ]);
    vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn headers(name: &'static str, lines: &[String]) -> HeaderMap {
    let value = |line: &String| HeaderValue::from_bytes(line.as_bytes()).expect("a value");
    lines.iter().map(|line| (HeaderName::from_static(name), value(line))).collect()
}

/// How a proxy adds its report: as a separate line, or appended to the last one.
fn added(mut lines: Vec<String>, entry: &str, is_joined: bool) -> Vec<String> {
    match lines.last_mut() {
        Some(last) if is_joined => *last = format!("{last}, {entry}"),
        _ => lines.push(entry.to_owned()),
    }
    lines
}

fn address(statement: &Statement<'_>) -> Option<String> {
    match statement.client {
        ProxyReport::Node(node) => Some(node.address.to_string()),
        ProxyReport::Nothing | ProxyReport::Hidden => None,
    }
}

/// The report of a trusted proxy counts, regardless of any text of the client before it.
#[test]
fn clients_cannot_forge_forwarded() {
    let cases = (vec(pieces(), 0..3), any::<bool>());
    holds("Forwarded", 59, cases, |(lines, is_joined)| {
        let is_written = lines.iter().any(|line| !line.is_empty());
        let own = "for=192.0.2.1;proto=http;host=a.example";
        let headers = headers("forwarded", &added(lines, own, is_joined));
        let statement = forwarded(&headers, &trusted()).expect("a proxy's own element is read");
        prop_assert_eq!(address(&statement), Some("192.0.2.1".to_owned()));
        prop_assert_eq!(
            (statement.scheme, statement.host),
            (Some(UriScheme::Other), Some("a.example"))
        );
        met_if(is_written)
    });
}

/// The same for the older fields, whose lines a client cannot break.
#[test]
fn clients_cannot_forge_x_forwarded() {
    let field = || vec(pieces(), 0..3);
    let cases = (field(), field(), field(), any::<bool>());
    holds("X-Forwarded-*", 60, cases, |(clients, schemes, hosts, is_joined)| {
        let is_written = clients.iter().any(|line| !line.is_empty());
        let mut all = headers("x-forwarded-for", &added(clients, "192.0.2.1, 10.0.0.1", is_joined));
        all.extend(headers("x-forwarded-proto", &added(schemes, "http", is_joined)));
        all.extend(headers("x-forwarded-host", &added(hosts, "a.example", is_joined)));
        let statement =
            x_forwarded(&all, &trusted(), Hosts::Believed).expect("a proxy's own entries");
        prop_assert_eq!(address(&statement), Some("192.0.2.1".to_owned()));
        prop_assert_eq!(
            (statement.scheme, statement.host),
            (Some(UriScheme::Other), Some("a.example"))
        );
        met_if(is_written)
    });
}

/// A header or parts of several, with bytes that may follow.
fn beginnings() -> impl Strategy<Value = Vec<u8>> {
    let whole = select(vec![
        &b"PROXY TCP4 192.0.2.1 198.51.100.1 4711 443\r\n"[..],
        b"PROXY TCP6 2001:db8::1 ::1 4711 443\r\n",
        b"PROXY UNKNOWN\r\n",
        b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0cabcdefghijkl",
        b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0fabcdefghijkl\x04\0\0",
        b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0",
    ]);
    let piece = select(vec![
        &b"PROXY "[..],
        b"TCP4 ",
        b"TCP6 ",
        b"192.0.2.1 ",
        b"443\r\n",
        b"\r\n\r\n\0\r\nQUIT\n",
        b"\x21\x11",
        b"\0\x0c",
        b"\xff\xff",
        b"abcdefghijkl",
        b"\0",
    ]);
    (prop::option::weighted(0.7, whole), vec(piece, 0..6))
        .prop_map(|(whole, pieces)| [whole.unwrap_or_default(), &pieces.concat()].concat())
}

/// A decision about a header is final: no later byte changes where it ends, its content, or that it
/// is malformed.
#[test]
fn the_end_of_a_header_does_not_move() {
    let cases = (beginnings(), any::<prop::sample::Index>());
    holds("PROXY protocol", 68, cases, |(bytes, cut)| {
        let at = cut.index(bytes.len() + 1);
        let (part, whole) =
            (proxy_protocol::read(bytes.get(..at).expect("a part")), proxy_protocol::read(&bytes));
        match part {
            Ok(Progress::Incomplete) => (),
            decided => prop_assert_eq!(decided, whole),
        }
        if let Ok(Progress::Complete { length, .. }) = whole {
            prop_assert!(length <= bytes.len());
            let exactly = bytes.get(..length).expect("a header");
            prop_assert_eq!(proxy_protocol::read(exactly), whole);
            let short = bytes.get(..length - 1).expect("a header");
            prop_assert_eq!(proxy_protocol::read(short), Ok(Progress::Incomplete));
        }
        met_if(matches!(whole, Ok(Progress::Complete { .. })))
    });
}
