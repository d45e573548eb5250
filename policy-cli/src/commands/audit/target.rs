//! Which host is audited, and where it is reached.

use std::path::PathBuf;

use crate::failure::Failure;

/// The origin that is audited, and where to connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) is_https: bool,
    /// As `Host` has it.
    pub(super) authority: String,
    /// Without a port and without brackets, as certificates have it.
    pub(super) host: String,
    /// Host and port.
    pub(super) address: (String, u16),
    /// Whether the address is not that of the origin.
    pub(super) is_elsewhere: bool,
    /// A PEM file with an authority to trust, beside the usual ones.
    pub(super) authority_file: Option<PathBuf>,
}

impl Target {
    /// Reads the origin, and where to connect instead if that is given.
    pub(super) fn parse(url: &str, connect: Option<&str>) -> Result<Self, Failure> {
        let wrong = || {
            Failure::new(format!("`{url}` is not an origin"))
                .help("write `https://host`, with a port if it is not 443, and without a path")
        };
        let (scheme, authority) = url.split_once("://").ok_or_else(wrong)?;
        let authority = authority.strip_suffix('/').unwrap_or(authority);
        let is_https = match scheme {
            "https" => true,
            "http" => false,
            _ => return Err(wrong()),
        };
        if authority.contains(['/', '@', '?', '#', ' ']) {
            return Err(wrong());
        }
        let usual = if is_https { 443 } else { 80 };
        let (host, port) = split(authority, Some(usual)).ok_or_else(wrong)?;
        let address = match connect {
            None => (host.clone(), port),
            Some(text) => split(text, None).ok_or_else(|| {
                Failure::new(format!("`{text}` is not an address")).help("write `HOST:PORT`")
            })?,
        };
        let authority = authority.strip_suffix(&format!(":{usual}")).unwrap_or(authority);
        let authority = authority.to_ascii_lowercase();
        let is_elsewhere = connect.is_some();
        Ok(Self { is_https, authority, host, address, is_elsewhere, authority_file: None })
    }

    /// Host and port of the connection, as in a URL.
    pub(super) fn host_and_port(&self) -> String {
        match &self.address {
            (host, port) if host.contains(':') => format!("[{host}]:{port}"),
            (host, port) => format!("{host}:{port}"),
        }
    }

    /// The origin as browsers write it.
    pub(super) fn origin(&self) -> String {
        format!("{}://{}", if self.is_https { "https" } else { "http" }, self.authority)
    }
}

/// Host and port; `usual` is the port where none is given.
fn split(authority: &str, usual: Option<u16>) -> Option<(String, u16)> {
    let end_of_name = authority.find(']').map_or(0, |end| end + 1);
    let (host, port) = match authority.get(end_of_name..)?.rfind(':') {
        None => (authority, usual?),
        Some(at) => {
            let (host, port) = authority.split_at_checked(end_of_name + at)?;
            (host, port.trim_start_matches(':').parse().ok()?)
        }
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    (!host.is_empty()).then(|| (host.to_ascii_lowercase(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_read_with_its_usual_port() {
        for (url, origin, host, port) in [
            ("https://API.example", "https://api.example", "api.example", 443),
            ("https://api.example:443/", "https://api.example", "api.example", 443),
            ("https://api.example:8443", "https://api.example:8443", "api.example", 8443),
            ("http://[::1]:8080", "http://[::1]:8080", "::1", 8080),
            ("http://[::1]", "http://[::1]", "::1", 80),
        ] {
            let target = Target::parse(url, None).unwrap();
            assert_eq!(target.origin(), origin);
            assert_eq!((&*target.host, target.address), (host, (host.to_owned(), port)));
        }
    }

    #[test]
    fn an_address_is_where_to_connect_and_nothing_else() {
        let target = Target::parse("https://api.example", Some("127.0.0.1:8443")).unwrap();
        assert_eq!(target.address, ("127.0.0.1".to_owned(), 8443));
        assert_eq!(
            (&*target.host, target.origin()),
            ("api.example", "https://api.example".to_owned())
        );
    }

    #[test]
    fn rejects_targets_that_are_not_origins() {
        for url in ["api.example", "ftp://a.example", "https://a.example/x", "https://u@a.example"]
        {
            assert!(Target::parse(url, None).is_err(), "{url}");
        }
        for url in
            ["https://", "https://a.example:http", "https://a b", "https://a?x", "https://:1"]
        {
            assert!(Target::parse(url, None).is_err(), "{url}");
        }
        assert!(Target::parse("https://a.example", Some("127.0.0.1")).is_err());
    }
}
