//! The fields that describe the sender of a request to an upstream.

use std::net::IpAddr;

use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Version,
    header::{FORWARDED, VIA},
};

/// The client of a request, and the address that it requested.
#[derive(Clone, Copy, Debug)]
pub struct OriginalRequest<'a> {
    /// The address of the client, if it is known.
    pub client: Option<IpAddr>,
    /// The host that the client requested, as this server knows it.
    pub host: &'a str,
    /// `http` or `https`
    pub scheme: &'a str,
    /// The HTTP version of the request.
    pub version: Version,
}

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

impl OriginalRequest<'_> {
    /// Writes the sender for an upstream: `Forwarded` (RFC 7239), its predecessors `X-Forwarded-*`,
    /// and one more entry of `Via` (RFC 9110 7.6.3). Existing values of the first two are replaced,
    /// so that the upstream sees only the statement of this server.
    ///
    /// ```
    /// use http::{HeaderMap, Version};
    /// use policy_core::reverse_proxy::OriginalRequest;
    ///
    /// let client = Some("2001:db8::7".parse().unwrap());
    /// let sender =
    ///     OriginalRequest { client, host: "shop.example", scheme: "https", version: Version::HTTP_2 };
    /// let mut headers = HeaderMap::new();
    /// sender.write(&mut headers);
    /// assert_eq!(headers["forwarded"], r#"for="[2001:db8::7]";host=shop.example;proto=https"#);
    /// assert_eq!(headers["x-forwarded-for"], "2001:db8::7");
    /// assert_eq!(headers["via"], "2 policy");
    /// ```
    pub fn write(&self, headers: &mut HeaderMap) {
        let Self { client, host, scheme, version } = *self;
        // An address that came over IPv6 may be an IPv4-mapped one.
        let client = client.map(|client| client.to_canonical());
        // A colon, such as that before a port, is allowed only in quoted strings.
        let quote = if host.contains([':', '[']) { "\"" } else { "" };
        let (begin, end) = match client {
            Some(IpAddr::V6(_)) => ("for=\"[", "]\""),
            _ => ("for=", ""),
        };
        // One allocation: the other values are parts of the first.
        let mut text = String::with_capacity(host.len() + 80);
        text.push_str(begin);
        let address = text.len();
        match client {
            Some(client) => push_address(&mut text, client),
            None => text.push_str("unknown"),
        }
        let address = address..text.len();
        text.extend([end, ";host=", quote]);
        let named = text.len()..text.len() + host.len();
        text.extend([host, quote, ";proto="]);
        let spoken = text.len()..text.len() + scheme.len();
        text.push_str(scheme);
        let forwarded = Bytes::from(text);
        let mut put = |name: HeaderName, value: Bytes| {
            let is_ascii = value.is_ascii();
            match HeaderValue::from_maybe_shared(value) {
                Ok(value) if is_ascii => drop(headers.insert(name, value)),
                _ => drop(headers.remove(name)),
            }
        };
        put(X_FORWARDED_HOST, forwarded.slice(named));
        put(X_FORWARDED_PROTO, forwarded.slice(spoken));
        let address = forwarded.slice(address);
        put(FORWARDED, forwarded);
        match client {
            Some(_) => put(X_FORWARDED_FOR, address),
            None => drop(headers.remove(X_FORWARDED_FOR)),
        }
        let via = match version {
            Version::HTTP_10 => "1.0 policy",
            Version::HTTP_2 => "2 policy",
            Version::HTTP_3 => "3 policy",
            _ => "1.1 policy",
        };
        headers.append(VIA, HeaderValue::from_static(via));
    }
}

/// Writes the same text as `Display`, which takes twenty times the instructions for an IPv4
/// address.
fn push_address(text: &mut String, address: IpAddr) {
    let IpAddr::V4(address) = address else {
        return text.push_str(&address.to_string());
    };
    let digit = |value: u8| char::from(b'0' + value % 10);
    for (at, octet) in address.octets().into_iter().enumerate() {
        if at > 0 {
            text.push('.');
        }
        if octet >= 100 {
            text.push(digit(octet / 100));
        }
        if octet >= 10 {
            text.push(digit(octet / 10));
        }
        text.push(digit(octet));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forwarding_headers(client: Option<&str>, host: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.append(VIA, HeaderValue::from_static("1.0 other"));
        headers.append(X_FORWARDED_FOR, HeaderValue::from_static("6.6.6.6"));
        headers.append(FORWARDED, HeaderValue::from_static("for=6.6.6.6"));
        let client = client.map(|client| client.parse().unwrap());
        OriginalRequest { client, host, scheme: "http", version: Version::HTTP_11 }
            .write(&mut headers);
        headers
    }

    #[test]
    fn forwarding_fields_of_others_are_replaced() {
        let headers = forwarding_headers(Some("192.0.2.7"), "localhost:8080");
        assert_eq!(headers.get_all(FORWARDED).iter().count(), 1);
        assert_eq!(headers[FORWARDED], "for=192.0.2.7;host=\"localhost:8080\";proto=http");
        let all: Vec<_> = headers.get_all(X_FORWARDED_FOR).iter().collect();
        assert_eq!(all, ["192.0.2.7"]);
        assert_eq!(headers[X_FORWARDED_HOST], "localhost:8080");
        assert_eq!(headers[X_FORWARDED_PROTO], "http");
        let via: Vec<_> = headers.get_all(VIA).iter().collect();
        assert_eq!(via, ["1.0 other", "1.1 policy"]);
    }

    #[test]
    fn an_address_is_written_in_one_form() {
        assert_eq!(forwarding_headers(Some("::ffff:192.0.2.7"), "a")[X_FORWARDED_FOR], "192.0.2.7");
        for address in ["0.0.0.0", "1.20.100.255", "9.10.99.101", "2001:db8::7"] {
            assert_eq!(forwarding_headers(Some(address), "a")[X_FORWARDED_FOR], address);
        }
        let unknown = forwarding_headers(None, "a");
        assert_eq!(unknown[FORWARDED], "for=unknown;host=a;proto=http");
        assert!(!unknown.contains_key(X_FORWARDED_FOR));
    }
}
