//! The URL of a server.

use std::{fmt, fs, sync::Arc};

use redis::{ConnectionAddr, IntoConnectionInfo, RedisConnectionInfo};
use tokio_rustls::rustls::ClientConfig;

use crate::base::tls_roots;

/// Where a store is, as its URL says.
pub(super) struct Address {
    pub(super) host: String,
    pub(super) port: u16,
    /// Who connects, and the number of the database.
    pub(super) login: RedisConnectionInfo,
    pub(super) tls: Option<Arc<ClientConfig>>,
    pub(super) prefix: String,
    /// Whether a server may be one that writes nothing to the disk.
    pub(super) may_forget: bool,
}

/// What the keys begin with, unless the URL says it.
const PREFIX: &str = "policy";

impl Address {
    /// Reads a URL. The error lists everything that is wrong with it; it contains no password.
    pub(super) fn parse(url: &str) -> Result<Self, String> {
        let mut problems = Vec::new();
        let (place, query) = url.split_once('?').unwrap_or((url, ""));
        let mut prefix = PREFIX.to_owned();
        let mut may_forget = false;
        let mut authority = None;
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "prefix" if is_name(&value) => prefix = value.into_owned(),
                "prefix" => problems.push(format!(
                    "`prefix={value}`: write up to 40 of the characters a-z, 0-9, _ and -"
                )),
                "persistence" if value == "none" => may_forget = true,
                "persistence" => {
                    problems.push(format!("`persistence={value}`: write `none`, or leave it out"));
                }
                "sslrootcert" => match fs::read(&*value) {
                    Ok(pem) => authority = Some(pem),
                    Err(error) => problems.push(format!("`sslrootcert={value}`: {error}")),
                },
                other => problems.push(format!("`{other}`: there is no such parameter")),
            }
        }
        // The library refuses this scheme where its own TLS is off.
        let (uses_tls, plain) = match place.strip_prefix("rediss:") {
            Some(rest) => (true, format!("redis:{rest}")),
            None => (false, place.to_owned()),
        };
        if authority.is_some() && !uses_tls {
            problems.push("`sslrootcert` is for `rediss://`, with TLS".to_owned());
        }
        let tls = uses_tls.then(|| tls_roots::client_config(authority.as_deref())).transpose();
        let tls = tls.map_err(|problem| problems.push(format!("`sslrootcert`: {problem}")));
        let place = plain.as_str().into_connection_info();
        let place = place.map_err(|error| {
            problems.push(format!("{error}: write `redis://user:password@host:6379/0`"));
        });
        let place = place.ok().and_then(|place| match place.addr() {
            ConnectionAddr::Tcp(host, port) => {
                Some((host.clone(), *port, place.redis_settings().clone()))
            }
            _ => {
                problems.push("it names no host".to_owned());
                None
            }
        });
        match (place, tls) {
            (Some((host, port, login)), Ok(tls)) if problems.is_empty() => {
                Ok(Self { host, port, login, tls: tls.map(Arc::new), prefix, may_forget })
            }
            _ => Err(problems.join("; ")),
        }
    }
}

/// Without the password and the parameters.
impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Address")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}

fn is_name(prefix: &str) -> bool {
    let is_fine = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-');
    (1..=40).contains(&prefix.len()) && prefix.bytes().all(is_fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_where_the_store_is() {
        let address =
            Address::parse("rediss://ada:s%3Fcret@db.example:6000/2?prefix=shop-1").unwrap();
        assert_eq!((&*address.host, address.port), ("db.example", 6000));
        assert_eq!((&*address.prefix, address.may_forget), ("shop-1", false));
        assert_eq!(address.login.username(), Some("ada"));
        assert_eq!(address.login.password(), Some("s?cret"));
        assert_eq!((address.login.db(), address.tls.is_some()), (2, true));
        assert!(!format!("{address:?}").contains("cret"), "{address:?}");
        let address = Address::parse("redis://localhost?persistence=none").unwrap();
        assert_eq!((&*address.host, address.port), ("localhost", 6379));
        assert_eq!((&*address.prefix, address.may_forget), ("policy", true));
        assert!(address.tls.is_none());
    }

    #[test]
    fn everything_that_is_wrong_is_said_at_once_and_no_password() {
        let error = Address::parse(
            "redis://ada:secret@db.example/none?prefix=A&persistence=some&sslrootcert=/none/such&colour=red",
        )
        .unwrap_err();
        for part in
            ["redis://user:", "prefix=A", "persistence=some", "sslrootcert=/none/such", "colour"]
        {
            assert!(error.contains(part), "{part}: {error}");
        }
        assert!(!error.contains("secret"), "{error}");
        for url in ["redis://ada:secret@", "redis://:secret@db.example:port/", "rediss:/secret"] {
            let error = Address::parse(url).unwrap_err();
            assert!(!error.contains("secret") && !error.is_empty(), "{url}: {error}");
        }
    }
}
