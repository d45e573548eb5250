//! Fields that are about one connection, and are not forwarded.

use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Version,
    header::{
        ALT_SVC, CONNECTION, CONTENT_LENGTH, COOKIE, EXPECT, HOST, MAX_FORWARDS, TE, UPGRADE,
    },
};

use super::framing;
use crate::{
    Refusal,
    grammar::is_length,
    head::Single,
    headers::groups::{is_about_sender, is_hop_by_hop, may_be_trailer},
    trace::is_trace_field,
};

/// The fields that `Connection` names, without `Keep-Alive`, which is always connection-specific
/// and which most peers name.
fn connection_options(headers: &HeaderMap) -> Vec<HeaderName> {
    let lines = headers.get_all(CONNECTION).iter();
    let options = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    let options = options.map(<[u8]>::trim_ascii);
    let others = options.filter(|option| !option.eq_ignore_ascii_case(b"keep-alive"));
    others.filter_map(|option| HeaderName::from_bytes(option).ok()).collect()
}

/// Removes the fields that `Connection` names from a request (RFC 9110 7.6.1), and their names from
/// `Connection`. This comes before anything is added to the request: a client must not name, and so
/// remove, what this server adds. So it has no effect on a request that it has changed already.
///
/// Fields that a proxy in front writes stay, since that proxy may have copied `Connection` from its
/// client (RFC 8470 5.1 forbids the removal of `Early-Data`), and so do those that [`end_to_end`] leaves
/// out in any case.
///
/// ```
/// use http::Request;
/// use policy_core::reverse_proxy::remove_connection_fields;
///
/// let request = Request::get("/").header("connection", "close, x-user").header("x-user", "a");
/// let mut request = request.body(())?;
/// remove_connection_fields(&mut request);
/// assert!(request.headers().is_empty());
/// # Ok::<(), http::Error>(())
/// ```
pub fn remove_connection_fields<B>(request: &mut Request<B>) {
    // HTTP/2 and later forbid `Connection`, and a request that has it is refused.
    if request.version() >= Version::HTTP_2 || !request.headers().contains_key(CONNECTION) {
        return;
    }
    let headers = request.headers_mut();
    let named = connection_options(headers);
    if named.iter().all(|name| is_hop_by_hop(name.as_str()) || name == "close") {
        return;
    }
    let is_of_proxy = |name: &str| is_trace_field(name) || name == "early-data";
    for name in named.iter().filter(|name| !is_left_out(name) && !is_of_proxy(name.as_str())) {
        headers.remove(name);
    }
    match named.contains(&UPGRADE) {
        true => drop(headers.insert(CONNECTION, HeaderValue::from_static("upgrade"))),
        false => drop(headers.remove(CONNECTION)),
    }
}

/// The headers of a request that go to an upstream unchanged: without those of this connection, and
/// without those that are rewritten for the next one (host, length, cookies, expectations,
/// forwarding headers). What the client's `Connection` names is
/// [removed earlier](remove_connection_fields).
///
/// `te: trailers` stays; before HTTP/2 `Connection` has to name it (RFC 9110 10.1.4).
pub fn end_to_end(mut headers: HeaderMap) -> HeaderMap {
    let takes_trailers = takes_trailers(&headers);
    retain(&mut headers, |name| !is_left_out(name));
    if takes_trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
    }
    headers
}

/// Whether no request to an upstream has this header as its client sent it.
fn is_left_out(name: &HeaderName) -> bool {
    matches!(*name, HOST | CONTENT_LENGTH | COOKIE | EXPECT)
        || is_hop_by_hop(name.as_str())
        || is_about_sender(name.as_str())
}

fn takes_trailers(headers: &HeaderMap) -> bool {
    let codings = headers.get_all(TE).iter().flat_map(|line| line.as_bytes().split(|b| *b == b','));
    codings.into_iter().any(|coding| coding.trim_ascii().eq_ignore_ascii_case(b"trailers"))
}

/// Checks the status of an upstream's response and how it is framed, and removes the headers about
/// its connection, lengths that must not be forwarded (RFC 9110 8.6, RFC 9112 6.3), and headers
/// about alternative services (RFC 7838), which do not lead to this server.
///
/// # Errors
///
/// [`Refusal::UpstreamAnswer`]: the status is of no class (RFC 9110 15), or recipients could disagree
/// about where the response ends.
pub fn keep_end_to_end(status: StatusCode, headers: &mut HeaderMap) -> Result<(), Refusal> {
    if status.as_u16() >= 600 {
        return Err(Refusal::UpstreamAnswer);
    }
    framing::check(status, headers)?;
    for name in connection_options(headers) {
        headers.remove(name);
    }
    // The only one of these that most responses have: without it, no list of names is made.
    headers.remove(CONNECTION);
    let is_of_connection = |name: &HeaderName| is_hop_by_hop(name.as_str()) || *name == ALT_SVC;
    if headers.keys().any(is_of_connection) {
        retain(headers, |name| !is_of_connection(name));
    }
    Ok(())
}

/// Removes trailers that are not allowed because they are about the message as a whole (RFC 9110
/// 6.5.1).
pub fn keep_trailers(trailers: &mut HeaderMap) {
    retain(trailers, |name| may_be_trailer(name.as_str()));
}

fn retain(headers: &mut HeaderMap, keep: impl Fn(&HeaderName) -> bool) {
    let gone: Vec<_> = headers.keys().filter(|name| !keep(name)).cloned().collect();
    for name in gone {
        headers.remove(name);
    }
}

/// Whether this server is the last recipient of an OPTIONS or TRACE request: it has
/// `Max-Forwards: 0` (RFC 9110 7.6.2).
pub fn is_last_hop(method: &Method, headers: &HeaderMap) -> bool {
    hops(method, headers) == Some(0)
}

/// Counts this server in the `Max-Forwards` of an OPTIONS or TRACE request (RFC 9110 7.6.2). A
/// value that is no number is meaningless, and is removed.
pub fn count_hop(method: &Method, headers: &mut HeaderMap) {
    if is_counted(method) && headers.contains_key(MAX_FORWARDS) {
        match hops(method, headers) {
            Some(left) => {
                headers.insert(MAX_FORWARDS, HeaderValue::from(left.saturating_sub(1)));
            }
            None => {
                headers.remove(MAX_FORWARDS);
            }
        }
    }
}

/// Methods whose hops are counted.
fn is_counted(method: &Method) -> bool {
    matches!(*method, Method::OPTIONS | Method::TRACE)
}

fn hops(method: &Method, headers: &HeaderMap) -> Option<u64> {
    let Single::One(value) = Single::read(headers, &MAX_FORWARDS) else { return None };
    let digits = Some(value.as_bytes()).filter(|value| is_counted(method) && is_length(value))?;
    str::from_utf8(digits).ok()?.parse().ok()
}

/// Whether a request opens a WebSocket (RFC 6455 4.1), the only upgrade that is forwarded. Another
/// one, such as HTTP/2, would let its bytes bypass every check.
pub fn asks_for_websocket(method: &Method, version: Version, headers: &HeaderMap) -> bool {
    method == Method::GET
        && version == Version::HTTP_11
        && is_websocket(headers)
        && connection_options(headers).contains(&UPGRADE)
}

/// Whether a response accepts the WebSocket.
pub fn switches_to_websocket(status: StatusCode, headers: &HeaderMap) -> bool {
    status == StatusCode::SWITCHING_PROTOCOLS && is_websocket(headers)
}

fn is_websocket(headers: &HeaderMap) -> bool {
    let mut protocols = headers.get_all(UPGRADE).iter();
    let one = protocols.next().filter(|_| protocols.next().is_none());
    one.is_some_and(|one| one.as_bytes().trim_ascii().eq_ignore_ascii_case(b"websocket"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headers::groups::HOP_BY_HOP;

    fn headers(fields: &[(&'static str, &'static str)]) -> HeaderMap {
        let field = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        fields.iter().map(field).collect()
    }

    const OF_CONNECTION: [(&str, &str); 10] = [
        ("connection", "close, X-Mine ,x-other"),
        ("connection", "keep-alive"),
        ("keep-alive", "timeout=5"),
        ("proxy-connection", "keep-alive"),
        ("proxy-authorization", "Basic eDp5"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "h2c"),
        ("http2-settings", "AAMAAABkAARAAAAAAAIAAAAA"),
        ("x-mine", "1"),
        ("x-other", "2"),
    ];

    #[test]
    fn connection_fields_of_clients_are_not_passed_on() {
        let mut received = headers(&OF_CONNECTION);
        received.extend(headers(&[
            ("te", "gzip;q=0.5"),
            ("host", "localhost"),
            ("cookie", "a=1"),
            ("content-length", "5"),
            ("expect", "100-continue"),
            ("forwarded", "for=6.6.6.6"),
            ("x-forwarded-for", "6.6.6.6"),
            ("x-forwarded-anything", "x"),
            ("x-real-ip", "6.6.6.6"),
        ]));
        let ours = [("accept", "a"), ("accept", "b"), ("authorization", "Bearer x"), ("x", "y")];
        received.extend(headers(&ours));
        let mut request = Request::new(());
        *request.headers_mut() = received;
        remove_connection_fields(&mut request);
        // A layer adds a field that the client has named, and what is behind it removes nothing.
        let added = HeaderValue::from_static("3");
        request.headers_mut().insert("x-mine", added.clone());
        remove_connection_fields(&mut request);
        let mut forwarded = end_to_end(request.headers().clone());
        assert_eq!(forwarded.remove("x-mine"), Some(added));
        assert_eq!(forwarded, headers(&ours));
    }

    #[test]
    fn a_client_does_not_remove_what_a_proxy_in_front_writes() {
        for (field, connection, left) in [
            ("traceparent", "traceparent, Upgrade", Some("upgrade")),
            ("x-forwarded-for", "close, x-forwarded-for, x-mine", None),
            ("early-data", "Early-Data", None),
            ("host", "host", None),
            (
                "x",
                "keep-alive, Upgrade, HTTP2-Settings",
                Some("keep-alive, Upgrade, HTTP2-Settings"),
            ),
        ] {
            let mut request = Request::new(());
            *request.headers_mut() = headers(&[(field, "1"), ("connection", connection)]);
            remove_connection_fields(&mut request);
            assert!(request.headers().contains_key(field), "{field}");
            let named = request.headers().get(CONNECTION).map(HeaderValue::as_bytes);
            assert_eq!(named, left.map(str::as_bytes), "{field}");
        }
    }

    /// RFC 9110 7.6.1: the headers that a proxy removes, in addition to those that `Connection` names.
    #[test]
    fn no_hop_by_hop_header_is_forwarded() {
        for name in HOP_BY_HOP {
            let mut headers = HeaderMap::new();
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static("x"));
            assert!(!end_to_end(headers).contains_key(name), "{name}");
        }
    }

    #[test]
    fn te_trailers_is_passed_on() {
        let kept = end_to_end(headers(&[("te", "gzip, Trailers"), ("connection", "te, close")]));
        assert_eq!(kept, headers(&[("te", "trailers")]));
    }

    #[test]
    fn connection_fields_of_upstreams_are_not_passed_on() {
        let mut received = headers(&OF_CONNECTION);
        let ours = [("set-cookie", "a=1"), ("set-cookie", "b=2"), ("trailer", "x-sum")];
        received.extend(headers(&ours));
        received.extend(headers(&[("alt-svc", "h3=\":443\""), ("proxy-authenticate", "Basic")]));
        assert_eq!(keep_end_to_end(StatusCode::OK, &mut received), Ok(()));
        assert_eq!(received, headers(&ours));
    }

    #[test]
    fn trailers_say_nothing_about_the_message_as_a_whole() {
        let mut trailers = headers(&[
            ("x-sum", "1"),
            ("grpc-status", "0"),
            ("host", "evil.test"),
            ("content-length", "0"),
            ("transfer-encoding", "chunked"),
            ("x-forwarded-for", "6.6.6.6"),
            ("traceparent", "00-1-2-01"),
            ("authorization", "Bearer x"),
            ("set-cookie", "a=1"),
            ("access-control-allow-origin", "*"),
            ("cache-control", "public"),
            ("if-match", "*"),
        ]);
        keep_trailers(&mut trailers);
        assert_eq!(trailers, headers(&[("x-sum", "1"), ("grpc-status", "0")]));
    }

    #[test]
    fn a_status_is_of_one_of_five_classes() {
        for (status, is_kept) in [(100, true), (299, true), (599, true), (600, false), (999, false)]
        {
            let status = StatusCode::from_u16(status).unwrap();
            let kept = keep_end_to_end(status, &mut HeaderMap::new());
            assert_eq!(kept.is_ok(), is_kept, "{status}");
        }
    }

    #[test]
    fn hops_are_counted_where_they_mean_something() {
        for (method, lines, is_last, left) in [
            (Method::OPTIONS, &["0"][..], true, Some("0")),
            (Method::TRACE, &["0"], true, Some("0")),
            (Method::OPTIONS, &["1"], false, Some("0")),
            (Method::OPTIONS, &["010"], false, Some("9")),
            (Method::OPTIONS, &["x"], false, None),
            (Method::OPTIONS, &["-1"], false, None),
            (Method::OPTIONS, &["0", "0"], false, None),
            (Method::OPTIONS, &[], false, None),
            (Method::GET, &["0"], false, Some("0")),
            (Method::POST, &["x"], false, Some("x")),
        ] {
            let lines = lines.iter().map(|value| (MAX_FORWARDS, HeaderValue::from_static(value)));
            let mut fields = HeaderMap::from_iter(lines);
            assert_eq!(is_last_hop(&method, &fields), is_last, "{method} {fields:?}");
            count_hop(&method, &mut fields);
            let counted = fields.get(MAX_FORWARDS).map(|value| value.to_str().unwrap());
            assert_eq!(counted, left, "{method}");
        }
    }

    #[test]
    fn websocket_upgrades_have_one_form() {
        let good = [("connection", "keep-alive, Upgrade"), ("upgrade", "WebSocket")];
        let asks =
            |method, version, fields: &[_]| asks_for_websocket(&method, version, &headers(fields));
        assert!(asks(Method::GET, Version::HTTP_11, &good));
        assert!(!asks(Method::POST, Version::HTTP_11, &good));
        assert!(!asks(Method::GET, Version::HTTP_10, &good));
        assert!(!asks(Method::GET, Version::HTTP_2, &good));
        for bad in [
            [("connection", "upgrade"), ("upgrade", "h2c")],
            [("connection", "upgrade"), ("upgrade", "websocket, h2c")],
            [("connection", "close"), ("upgrade", "websocket")],
        ] {
            assert!(!asks(Method::GET, Version::HTTP_11, &bad), "{bad:?}");
        }
        let twice = [good[0], good[1], ("upgrade", "h2c")];
        assert!(!asks(Method::GET, Version::HTTP_11, &twice));
    }
}
