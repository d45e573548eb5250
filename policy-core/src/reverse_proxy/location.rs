//! Addresses of the upstream in its responses.

use std::borrow::Cow;

use http::{
    HeaderMap, HeaderValue,
    header::{CONTENT_LOCATION, LOCATION},
};

use super::mapping::Mapping;

impl Mapping {
    /// Rewrites addresses of the upstream in `Location` and `Content-Location` (RFC 9110 8.7,
    /// 10.2.2) to paths of this server. Other addresses stay as they are.
    pub fn rewrite_locations(&self, headers: &mut HeaderMap) {
        for name in [LOCATION, CONTENT_LOCATION] {
            let Some(value) = headers.get_mut(name) else { continue };
            let own = self.own_path(value.as_bytes());
            if let Some(own) = own.and_then(|own| HeaderValue::from_bytes(&own).ok()) {
                *value = own;
            }
        }
    }

    /// This server's path for an address of the upstream: absolute, without a scheme, or a path.
    /// Relative addresses need no change.
    fn own_path(&self, address: &[u8]) -> Option<Cow<'_, [u8]>> {
        let path = match address {
            [b'/', b'/', rest @ ..] => self.path_at_upstream(rest)?,
            [b'/', ..] => address,
            _ => {
                let at = address.windows(3).position(|three| three == b"://")?;
                let (scheme, rest) = address.split_at_checked(at)?;
                let own = self.upstream().scheme().as_str().as_bytes();
                if !scheme.eq_ignore_ascii_case(own) {
                    return None;
                }
                self.path_at_upstream(rest.get(3..)?)?
            }
        };
        let path = match path {
            [] => Cow::Borrowed(&b"/"[..]),
            [b'/', ..] => Cow::Borrowed(path),
            _ => [b"/", path].concat().into(),
        };
        self.back(&path).map(|own| own.into_owned().into())
    }

    /// The rest after the authority, if it is the upstream's.
    fn path_at_upstream<'a>(&self, address: &'a [u8]) -> Option<&'a [u8]> {
        let is_end = |byte: &u8| matches!(byte, b'/' | b'?' | b'#');
        let at = address.iter().position(is_end).unwrap_or(address.len());
        let (authority, path) = address.split_at_checked(at)?;
        let upstream = self.upstream();
        let own = upstream.authority().as_str();
        let is_own = authority.eq_ignore_ascii_case(own.as_bytes()) || {
            let with_port = format!("{}:{}", upstream.authority().host(), upstream.port());
            authority.eq_ignore_ascii_case(with_port.as_bytes())
        };
        is_own.then_some(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reverse_proxy::Upstream;

    fn rewritten(upstream: &str, strips: bool, location: &str) -> String {
        let mapping = Mapping::new("/api", Upstream::parse(upstream).unwrap());
        let mapping = if strips { mapping.strip_prefix() } else { mapping };
        let mut headers = HeaderMap::new();
        for name in [LOCATION, CONTENT_LOCATION] {
            headers.insert(name, HeaderValue::from_str(location).unwrap());
        }
        mapping.rewrite_locations(&mut headers);
        assert_eq!(headers[LOCATION], headers[CONTENT_LOCATION]);
        headers[LOCATION].to_str().unwrap().to_owned()
    }

    #[test]
    fn addresses_of_the_upstream_become_paths_of_ours() {
        for (location, own) in [
            ("http://up.test:9000/x?y#z", "/api/x?y#z"),
            ("HTTP://UP.test:9000/x", "/api/x"),
            ("http://up.test:9000", "/api/"),
            ("http://up.test:9000?x", "/api/?x"),
            ("//up.test:9000/x", "/api/x"),
            ("/x", "/api/x"),
            ("/", "/api/"),
            ("/\\evil.test", "/api/\\evil.test"),
        ] {
            assert_eq!(rewritten("http://up.test:9000", true, location), own, "{location}");
        }
        assert_eq!(rewritten("http://up.test", true, "http://up.test:80/x"), "/api/x");
        assert_eq!(rewritten("https://up.test/v1", true, "https://up.test/v1/x"), "/api/x");
        assert_eq!(rewritten("http://up.test", false, "http://up.test/api/x"), "/api/x");
    }

    #[test]
    fn addresses_of_others_stay_as_they_are() {
        for location in [
            "https://up.test:9000/x",
            "http://up.test/x",
            "http://up.test:9001/x",
            "http://up.test:9000@evil.test/x",
            "http://user@up.test:9000/x",
            "http://up.test:9000.evil.test/",
            "http://up.test:9000\\@evil.test/",
            "//evil.test/x",
            "///evil.test/x",
            "https://evil.test/?next=http://up.test:9000/x",
            "x",
            "../x",
            "?x",
            "#x",
            "",
            "mailto:a@b.test",
        ] {
            assert_eq!(rewritten("http://up.test:9000", true, location), location);
        }
        for location in ["/v2/x", "/v1x", "http://up.test/v2", "//up.test/"] {
            assert_eq!(rewritten("http://up.test/v1", true, location), location);
        }
        assert_eq!(rewritten("http://up.test", false, "/login"), "/login");
    }
}
