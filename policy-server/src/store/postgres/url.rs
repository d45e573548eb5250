//! The URL of a database.

use std::{error::Error, fmt, fs, net::IpAddr, time::Duration};

use form_urlencoded::Serializer;
use tokio_postgres::{
    Config,
    config::{Host, SslMode},
};
use tokio_rustls::rustls::ClientConfig;

use crate::{base::tls_roots, store::shared::url_parameters};

/// A parsed URL.
pub(super) struct Address {
    pub(super) config: Config,
    pub(super) tls: ClientConfig,
    pub(super) schema: String,
    pub(super) connections: usize,
}

/// The default schema.
const SCHEMA: &str = "policy";

/// The default size of the pool. More connections slow down a server with few cores.
const CONNECTIONS: usize = 10;

impl Address {
    /// Reads a URL. The error lists everything that is wrong with it; it contains no password.
    pub(super) fn parse(url: &str) -> Result<Self, String> {
        let mut problems = Vec::new();
        let (place, query) = url.split_once('?').unwrap_or((url, ""));
        let mut schema = SCHEMA.to_owned();
        let mut connections = CONNECTIONS;
        let mut mode = None;
        let mut authority = None;
        let mut rest = Serializer::new(String::new());
        for (name, value) in url_parameters(query) {
            match &*name {
                "schema" if is_name(&value) => schema = value,
                "schema" => problems.push(format!(
                    "`schema={value}`: write up to 40 of the characters a-z, 0-9 and _, a letter first"
                )),
                "connections" => match value.parse() {
                    Ok(number @ 1..=1000) => connections = number,
                    _ => problems.push(format!("`connections={value}`: write 1 to 1000")),
                },
                "sslmode" => match &*value {
                    "disable" => mode = Some(SslMode::Disable),
                    "prefer" => mode = Some(SslMode::Prefer),
                    "require" | "verify-full" => mode = Some(SslMode::Require),
                    _ => problems.push(format!(
                        "`sslmode={value}`: write `require`, which checks the certificate and its name, `prefer` or `disable`"
                    )),
                },
                "sslrootcert" => match fs::read(&*value) {
                    Ok(pem) => authority = Some(pem),
                    Err(error) => problems.push(format!("`sslrootcert={value}`: {error}")),
                },
                _ => drop(rest.append_pair(&name, &value)),
            }
        }
        // The serializer writes forms, and tokio-postgres reads a `+` literally, as libpq does.
        let rest = rest.finish().replace('+', "%20");
        let config = format!("{place}?{rest}").parse::<Config>();
        let mut config = match config {
            Ok(config) => config,
            Err(error) => {
                // The source names what is unknown or wrong, and no value.
                let cause = error.source().map(ToString::to_string).unwrap_or_default();
                problems.push(format!(
                    "{error}: {cause}; write `postgres://user:password@host:5432/database`"
                ));
                Config::new()
            }
        };
        let tls = tls_roots::client_config(authority.as_deref());
        let tls = tls.map_err(|problem| problems.push(format!("`sslrootcert`: {problem}"))).ok();
        if problems.is_empty() && config.get_hosts().is_empty() {
            problems.push("it names no host".to_owned());
        }
        if problems.is_empty() && config.get_dbname().is_none() {
            problems.push("it names no database".to_owned());
        }
        // Connections go to `hostaddr=`, if the URL has it, whatever the host is.
        let is_local = config.get_hosts().iter().all(is_local)
            && config.get_hostaddrs().iter().all(IpAddr::is_loopback);
        // The network of this machine cannot be read, and the certificate of a newly installed server is
        // often self-signed.
        let default = if is_local { SslMode::Disable } else { SslMode::Require };
        config.ssl_mode(mode.unwrap_or(default));
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(Duration::from_secs(2));
        }
        config.keepalives_idle(Duration::from_secs(10)).tcp_user_timeout(Duration::from_secs(10));
        if config.get_application_name().is_none() {
            config.application_name("policy");
        }
        match tls {
            Some(tls) if problems.is_empty() => Ok(Self { config, tls, schema, connections }),
            _ => Err(problems.join("; ")),
        }
    }
}

/// Without the password and the parameters.
impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Address")
            .field("hosts", &self.config.get_hosts())
            .field("database", &self.config.get_dbname())
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}

fn is_local(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

fn is_name(schema: &str) -> bool {
    schema.len() <= 40
        && schema.starts_with(|first: char| first.is_ascii_lowercase())
        && schema.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_where_the_store_is() {
        let address = Address::parse(
            "postgres://ada:s%3Fcret@db.example:6000/shop?schema=sessions&connections=3&application_name=web",
        )
        .unwrap();
        assert_eq!((&*address.schema, address.connections), ("sessions", 3));
        assert_eq!(address.config.get_ports(), [6000]);
        assert_eq!(address.config.get_password(), Some(&b"s?cret"[..]));
        assert_eq!(address.config.get_application_name(), Some("web"));
        // Over a network it is TLS with a certificate, unless the URL says otherwise.
        assert_eq!(address.config.get_ssl_mode(), SslMode::Require);
        let mode = |url| Address::parse(url).unwrap().config.get_ssl_mode();
        assert_eq!(mode("postgres://localhost/shop"), SslMode::Disable);
        assert_eq!(mode("postgresql://127.0.0.1/shop"), SslMode::Disable);
        assert_eq!(mode("postgres://127.0.0.1,db.example/shop"), SslMode::Require);
        assert_eq!(mode("postgres://db.example/shop?sslmode=disable"), SslMode::Disable);
        assert_eq!(mode("postgres://db.example/shop?sslmode=verify-full"), SslMode::Require);
        assert!(!format!("{address:?}").contains("cret"), "{address:?}");
    }

    #[test]
    fn an_address_beyond_this_machine_needs_tls_whatever_the_host_is() {
        let mode = |url| Address::parse(url).unwrap().config.get_ssl_mode();
        for url in [
            "postgres://localhost/shop?hostaddr=192.0.2.7",
            "postgres://localhost,127.0.0.1/shop?hostaddr=127.0.0.1,192.0.2.7",
            "postgres://%2Frun%2Fpostgresql/shop?hostaddr=192.0.2.7",
            "postgres://db.example/shop?hostaddr=127.0.0.1",
        ] {
            assert_eq!(mode(url), SslMode::Require, "{url}");
        }
        assert_eq!(mode("postgres://localhost/shop?hostaddr=127.0.0.1"), SslMode::Disable);
        let stated = "postgres://localhost/shop?hostaddr=192.0.2.7&sslmode=disable";
        assert_eq!(mode(stated), SslMode::Disable);
    }

    #[test]
    fn a_parameter_is_percent_decoded_as_by_libpq() {
        let config = Address::parse(
            "postgres://db.example/shop?options=-c%20geqo%3Doff%20-c%20seed%3D%252B&password=a%20b%2Bc&application_name=one@two+three",
        )
        .unwrap()
        .config;
        assert_eq!(config.get_options(), Some("-c geqo=off -c seed=%2B"));
        assert_eq!(config.get_password(), Some(&b"a b+c"[..]));
        assert_eq!(config.get_application_name(), Some("one@two+three"));
        let url = "postgres://db.example/shop?sslrootcert=/none/such+one%20two";
        let error = Address::parse(url).unwrap_err();
        assert!(error.contains("sslrootcert=/none/such+one two"), "{error}");
    }

    #[test]
    fn a_server_that_is_gone_is_noticed_in_seconds() {
        let config = Address::parse("postgres://db.example/shop").unwrap().config;
        assert_eq!(config.get_connect_timeout(), Some(&Duration::from_secs(2)));
        assert_eq!(config.get_keepalives_idle(), Duration::from_secs(10));
        assert!(config.get_keepalives());
        assert_eq!(config.get_tcp_user_timeout(), Some(&Duration::from_secs(10)));
    }

    #[test]
    fn all_errors_of_a_url_are_reported_without_its_password() {
        let error = Address::parse(
            "postgres://ada:secret@db.example/shop?schema=a-b&connections=0&sslmode=allow&sslrootcert=/none/such&colour=red",
        )
        .unwrap_err();
        for part in
            ["schema=a-b", "connections=0", "sslmode=allow", "sslrootcert=/none/such", "colour"]
        {
            assert!(error.contains(part), "{part}: {error}");
        }
        assert!(!error.contains("secret"), "{error}");
        for (url, part) in [
            ("postgres://ada:secret@/shop", "no host"),
            ("postgres://ada:secret@db.example", "no database"),
            ("postgres://ada:secret@db.example:port/shop", "invalid"),
        ] {
            let error = Address::parse(url).unwrap_err();
            assert!(error.contains(part) && !error.contains("secret"), "{url}: {error}");
        }
    }
}
