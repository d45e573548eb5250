//! The site of a URL, and whether the URL is trustworthy.

use std::net::Ipv4Addr;

use url::{Host, Url};

use crate::PageOrigin;

/// The site of a URL (HTML, "obtain a site"): scheme and registrable domain, without port. An IP
/// address, a public suffix and a loopback name are sites of their own. The schemes of WebSocket
/// are equivalent to those of HTTP (WebSockets, "establish a WebSocket connection").
pub(crate) fn site(url: &Url) -> String {
    let (scheme, owner) = parts(url);
    format!("{scheme}://{owner}")
}

/// Whether a URL is same-site with an origin; an opaque origin has no site.
pub(crate) fn is_same_site(origin: &PageOrigin, url: &Url) -> bool {
    let PageOrigin::Tuple(origin) = origin else { return false };
    origin_parts(origin).is_some_and(|(scheme, host)| (scheme, registrable(host)) == parts(url))
}

/// Whether two URLs share a registrable domain, with any schemes.
pub(crate) fn is_same_domain(a: &Url, b: &Url) -> bool {
    let domain = |url: &Url| url.host_str().map(|host| registrable(host).to_owned());
    domain(a) == domain(b)
}

/// The same for an origin.
pub(crate) fn is_of_domain(origin: &PageOrigin, url: &Url) -> bool {
    let PageOrigin::Tuple(origin) = origin else { return false };
    let host = url.host_str().map(registrable);
    origin_parts(origin).is_some_and(|(_, own)| Some(registrable(own)) == host)
}

/// Scheme and host of a serialised origin.
pub(crate) fn origin_parts(origin: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = origin.split_once("://")?;
    let host = match rest.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => host,
        _ => rest,
    };
    Some((scheme, host))
}

/// Scheme and registrable domain of a URL.
fn parts(url: &Url) -> (&str, &str) {
    let scheme = match url.scheme() {
        "ws" => "http",
        "wss" => "https",
        scheme => scheme,
    };
    (scheme, registrable(url.host_str().unwrap_or_default()))
}

/// Whether a URL is potentially trustworthy (Secure Contexts, 3.1 and 3.2): TLS, or loopback.
pub(crate) fn is_trustworthy(url: &Url) -> bool {
    matches!(url.scheme(), "https" | "wss") || is_loopback(url)
}

/// Whether a URL is on loopback.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => {
            let name = name.strip_suffix('.').unwrap_or(name);
            name == "localhost" || name.ends_with(".localhost")
        }
        None => false,
    }
}

/// Whether a name is a public suffix, so that no cookie can be set for it.
pub(crate) fn is_public_suffix(name: &str) -> bool {
    psl2::lookup(name).is_some_and(|found| found.suffix() == name)
}

/// The registrable domain of a host, or the whole name if there is none. A final dot is kept (URL,
/// "registrable domain").
pub(crate) fn registrable(host: &str) -> &str {
    if is_address(host) {
        return host;
    }
    let bare = host.strip_suffix('.').unwrap_or(host);
    let registrable = psl2::lookup(bare).and_then(|name| name.registrable_domain());
    let length = registrable.map_or(bare.len(), str::len);
    host.get(bare.len() - length..).unwrap_or(host)
}

/// Whether the host of a URL is an IP address and not a name.
pub(crate) fn is_address(host: &str) -> bool {
    host.starts_with('[') || host.parse::<Ipv4Addr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::url;

    fn same(a: &str, b: &str) -> bool {
        is_same_site(&PageOrigin::from_url(&url(a)), &url(b))
    }

    #[test]
    fn a_site_is_scheme_and_registrable_domain() {
        for (address, expected) in [
            ("https://api.shop.example:8443/a", "https://shop.example"),
            ("http://a.b.shop.co.uk", "http://shop.co.uk"),
            ("https://alice.github.io", "https://alice.github.io"),
            ("https://github.io", "https://github.io"),
            ("http://localhost:3000", "http://localhost"),
            ("http://app.localhost", "http://app.localhost"),
            ("http://127.0.0.1:3000", "http://127.0.0.1"),
            ("http://[::1]:3000", "http://[::1]"),
            ("https://api.shop.example.", "https://shop.example."),
            ("wss://api.shop.example", "https://shop.example"),
        ] {
            assert_eq!(site(&url(address)), expected, "{address}");
        }
    }

    #[test]
    fn sites_differ_by_scheme_and_owner_and_not_by_port() {
        assert!(same("https://app.shop.example", "https://api.shop.example:8443"));
        assert!(same("https://app.shop.example", "wss://api.shop.example"));
        assert!(!same("http://shop.example", "https://shop.example"));
        assert!(!same("https://alice.github.io", "https://bob.github.io"));
        assert!(!same("http://10.0.0.1", "http://10.0.0.2"));
    }

    #[test]
    fn an_opaque_origin_has_no_site() {
        assert!(!is_same_site(&PageOrigin::Opaque, &url("https://shop.example")));
    }

    #[test]
    fn tls_and_the_local_machine_are_trustworthy() {
        for address in [
            "https://a.example",
            "wss://a.example",
            "http://127.9.9.9",
            "http://[::1]",
            "http://localhost",
            "http://a.localhost:3000",
            "ws://localhost",
        ] {
            assert!(is_trustworthy(&url(address)), "{address}");
        }
        for address in [
            "http://a.example",
            "ws://a.example",
            "http://10.0.0.1",
            "http://localhost.example",
            "http://notlocalhost",
        ] {
            assert!(!is_trustworthy(&url(address)), "{address}");
        }
    }
}
