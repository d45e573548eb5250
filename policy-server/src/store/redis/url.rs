//! The URL of a server, of the nodes of a cluster, or of sentinels.

use std::{fmt, fs, ops::RangeInclusive, sync::Arc, time::Duration};

use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisConnectionInfo};

use super::{copies::Copies, link::Access};
use crate::{base::tls_roots, store::shared::url_parameters};

/// A parsed URL.
pub(super) struct Address {
    pub(super) servers: Servers,
    pub(super) access: Access,
    pub(super) prefix: String,
    /// Whether a server without persistence is accepted.
    pub(super) may_forget: bool,
    /// How many replicas have to confirm a change.
    pub(super) copies: Option<Copies>,
}

#[derive(Debug)]
pub(super) enum Servers {
    /// One server, or nodes of a cluster.
    Named(Vec<Host>),
    Sentinels(Sentinels),
}

/// The sentinels, which know the primary.
pub(super) struct Sentinels {
    pub(super) hosts: Vec<Host>,
    /// The name of the primary at the sentinels.
    pub(super) primary: String,
    pub(super) access: Access,
}

/// A server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Host {
    pub(super) name: String,
    pub(super) port: u16,
}

/// The default prefix of the keys.
const PREFIX: &str = "policy";

/// The default time in which replicas have to confirm a change.
const WITHIN: Duration = Duration::from_secs(1);

/// The default port of servers.
const PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;

/// The parameters of a URL.
#[derive(Default)]
struct Parameters {
    prefix: Option<String>,
    may_forget: bool,
    authority: Option<Vec<u8>>,
    sentinel_user: Option<String>,
    sentinel_password: Option<String>,
    replicas: Option<u32>,
    within: Option<Duration>,
}

/// Advice on the form of a URL.
const EXAMPLE: &str = "write `redis://user:password@host:6379/0`";
const EXAMPLE_OF_SENTINELS: &str =
    "write `redis+sentinel://user:password@host1:26379,host2:26379/name`";

impl Address {
    /// Reads a URL. The error lists everything that is wrong with it; it contains no password.
    pub(super) fn parse(url: &str) -> Result<Self, String> {
        let mut problems = Vec::new();
        let (place, query) = url.split_once('?').unwrap_or((url, ""));
        let parameters = Parameters::read(query, &mut problems);
        let (scheme, place) = place.split_once("://").unwrap_or_default();
        let (uses_tls, has_sentinels) = match scheme {
            "redis" => (false, false),
            "rediss" => (true, false),
            "redis+sentinel" => (false, true),
            "rediss+sentinel" => (true, true),
            _ => {
                problems.push(format!("it does not begin like a URL of Redis: {EXAMPLE}"));
                (true, false)
            }
        };
        problems.extend(parameters.misplaced(uses_tls, has_sentinels));
        let authority = parameters.authority.as_deref();
        let tls = uses_tls.then(|| tls_roots::client_config(authority)).transpose();
        let tls = tls.map_err(|problem| problems.push(format!("`sslrootcert`: {problem}")));
        let (place, primary) = if has_sentinels {
            let (hosts, path) = place.split_once('/').unwrap_or((place, ""));
            let (primary, database) = path.split_once('/').unwrap_or((path, ""));
            if primary.is_empty() {
                problems.push(format!("it lacks the name of the primary: {EXAMPLE_OF_SENTINELS}"));
            }
            (format!("{hosts}/{database}"), Some(primary.to_owned()))
        } else {
            (place.to_owned(), None)
        };
        let port = if has_sentinels { SENTINEL_PORT } else { PORT };
        let servers = servers(&place, port).map_err(|problem| problems.push(problem));
        let (Ok((login, hosts)), Ok(tls), []) = (servers, tls, &*problems) else {
            return Err(problems.join("; "));
        };
        let access = Access { login, tls: tls.map(Arc::new) };
        let servers = match primary {
            None => Servers::Named(hosts),
            Some(primary) => {
                let access = Access { login: parameters.sentinel_login(), ..access.clone() };
                Servers::Sentinels(Sentinels { hosts, primary, access })
            }
        };
        Ok(Self {
            servers,
            access,
            prefix: parameters.prefix.unwrap_or_else(|| PREFIX.to_owned()),
            may_forget: parameters.may_forget,
            copies: parameters
                .replicas
                .map(|replicas| Copies { replicas, within: parameters.within.unwrap_or(WITHIN) }),
        })
    }

    /// The prefix of all keys.
    pub(super) fn prefix(&self) -> String {
        format!("{{{}}}:", self.prefix)
    }
}

impl Parameters {
    fn read(query: &str, problems: &mut Vec<String>) -> Self {
        let mut read = Self::default();
        for (name, value) in url_parameters(query) {
            match &*name {
                "prefix" if is_name(&value) => read.prefix = Some(value),
                "prefix" => problems.push(format!(
                    "`prefix={value}`: write up to 40 of the characters a-z, 0-9, _ and -"
                )),
                "persistence" if value == "none" => read.may_forget = true,
                "persistence" => {
                    problems.push(format!("`persistence={value}`: write `none`, or leave it out"));
                }
                "sslrootcert" => match fs::read(&*value) {
                    Ok(pem) => read.authority = Some(pem),
                    Err(error) => problems.push(format!("`sslrootcert={value}`: {error}")),
                },
                "wait" => match number(&value, 1..=100) {
                    Some(replicas) => read.replicas = Some(replicas),
                    None => problems.push(format!(
                        "`wait={value}`: write how many replicas must have a change, 1 to 100"
                    )),
                },
                "wait_ms" => match number(&value, 1..=2500) {
                    Some(millis) => read.within = Some(Duration::from_millis(millis.into())),
                    None => problems.push(format!(
                        "`wait_ms={value}`: write how many milliseconds replicas may take, 1 to 2500"
                    )),
                },
                "sentinel_user" => read.sentinel_user = Some(value),
                "sentinel_password" => read.sentinel_password = Some(value),
                other => problems.push(format!("`{other}`: unknown parameter")),
            }
        }
        read
    }

    /// Parameters that apply to other kinds of URLs.
    fn misplaced(&self, uses_tls: bool, has_sentinels: bool) -> Vec<String> {
        let mut problems = Vec::new();
        if self.authority.is_some() && !uses_tls {
            problems.push("`sslrootcert` is for `rediss://`, with TLS".to_owned());
        }
        if self.within.is_some() && self.replicas.is_none() {
            problems.push("`wait_ms` needs `wait`, the number of replicas".to_owned());
        }
        let is_of_sentinels = self.sentinel_user.is_some() || self.sentinel_password.is_some();
        if is_of_sentinels && !has_sentinels {
            problems.push(
                "`sentinel_user` and `sentinel_password` are for `redis+sentinel://`".to_owned(),
            );
        }
        problems
    }

    fn sentinel_login(&self) -> RedisConnectionInfo {
        let mut login = RedisConnectionInfo::default();
        if let Some(user) = &self.sentinel_user {
            login = login.set_username(user);
        }
        if let Some(password) = &self.sentinel_password {
            login = login.set_password(password);
        }
        login
    }
}

/// Parses `user:password@host1:port,host2/database`.
fn servers(place: &str, usual_port: u16) -> Result<(RedisConnectionInfo, Vec<Host>), String> {
    let (authority, database) = place.split_once('/').unwrap_or((place, ""));
    let (user, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
    let mut all = Vec::new();
    let mut login = None;
    for host in hosts.split(',') {
        let has_port = host.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
        let port = if has_port { String::new() } else { format!(":{usual_port}") };
        // The library parses only one host, and no `rediss` without its TLS feature.
        let one = format!("redis://{user}@{host}{port}/{database}").into_connection_info();
        let one = one.map_err(|error| format!("{error}: {EXAMPLE}"))?;
        all.extend(Host::from_connection(&one));
        login = Some(one.redis_settings().clone());
    }
    login.map(|login| (login, all)).ok_or_else(|| format!("it names no host: {EXAMPLE}"))
}

impl Host {
    fn from_connection(place: &ConnectionInfo) -> Option<Self> {
        match place.addr() {
            ConnectionAddr::Tcp(name, port) => Some(Self { name: name.clone(), port: *port }),
            _ => None,
        }
    }

    /// The server that a redirection names, `host:port`. Without a host it is the server that redirects.
    pub(super) fn redirected(to: &str, from: &Self) -> Option<Self> {
        let (name, port) = to.rsplit_once(':')?;
        let name = if name.is_empty() { &from.name } else { name };
        Some(Self { name: name.to_owned(), port: port.parse().ok()? })
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name.contains(':') {
            write!(f, "[{}]:{}", self.name, self.port)
        } else {
            write!(f, "{}:{}", self.name, self.port)
        }
    }
}

/// Without the password and the parameters.
impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Address")
            .field("servers", &self.servers)
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}

/// Without the password.
impl fmt::Debug for Sentinels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sentinels")
            .field("hosts", &self.hosts)
            .field("primary", &self.primary)
            .finish_non_exhaustive()
    }
}

fn number(text: &str, range: RangeInclusive<u32>) -> Option<u32> {
    text.parse().ok().filter(|number| range.contains(number))
}

fn is_name(prefix: &str) -> bool {
    let is_fine = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-');
    (1..=40).contains(&prefix.len()) && prefix.bytes().all(is_fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str, port: u16) -> Host {
        Host { name: name.to_owned(), port }
    }

    #[test]
    fn a_url_says_where_the_store_is() {
        let address =
            Address::parse("rediss://ada:s%3Fcret@db.example:6000/2?prefix=shop-1").unwrap();
        assert!(
            matches!(&address.servers, Servers::Named(all) if *all == [host("db.example", 6000)])
        );
        assert_eq!((&*address.prefix, address.may_forget), ("shop-1", false));
        let login = &address.access.login;
        assert_eq!((login.username(), login.password()), (Some("ada"), Some("s?cret")));
        assert_eq!((login.db(), address.access.tls.is_some()), (2, true));
        assert!(!format!("{address:?}").contains("cret"), "{address:?}");
        let address = Address::parse("redis://localhost?persistence=none").unwrap();
        assert!(
            matches!(&address.servers, Servers::Named(all) if *all == [host("localhost", 6379)])
        );
        assert_eq!((&*address.prefix, address.may_forget), ("policy", true));
        assert!(address.access.tls.is_none());
        assert_eq!(address.copies, None);
        let copies = |parameters| {
            Address::parse(&format!("redis://localhost?{parameters}")).unwrap().copies.unwrap()
        };
        let within = Duration::from_millis;
        assert_eq!(copies("wait=1"), Copies { replicas: 1, within: within(1000) });
        assert_eq!(copies("wait_ms=20&wait=2"), Copies { replicas: 2, within: within(20) });
    }

    #[test]
    fn a_url_names_several_nodes() {
        let address = Address::parse("redis://:secret@one,[::1]:7000,three:7001/").unwrap();
        let Servers::Named(nodes) = address.servers else { panic!("{address:?}") };
        assert_eq!(nodes, [host("one", 6379), host("::1", 7000), host("three", 7001)]);
        assert_eq!(address.access.login.password(), Some("secret"));
    }

    #[test]
    fn a_url_names_sentinels_and_the_name_of_the_primary() {
        let url = "rediss+sentinel://ada:secret@one,two:1000,[::1]/shop/3?\
                   sentinel_user=eve&sentinel_password=s%3Fcret";
        let address = Address::parse(url).unwrap();
        assert!(!format!("{address:?}").contains("cret"), "{address:?}");
        let (login, tls) = (&address.access.login, &address.access.tls);
        assert_eq!((login.username(), login.password()), (Some("ada"), Some("secret")));
        assert_eq!((login.db(), tls.is_some()), (3, true));
        let Servers::Sentinels(sentinels) = address.servers else { panic!("{url}") };
        assert_eq!(sentinels.hosts, [host("one", 26379), host("two", 1000), host("::1", 26379)]);
        assert_eq!((&*sentinels.primary, sentinels.access.tls.is_some()), ("shop", true));
        let login = sentinels.access.login;
        assert_eq!((login.username(), login.password()), (Some("eve"), Some("s?cret")));
        assert_eq!(login.db(), 0);
    }

    #[test]
    fn a_plus_in_a_parameter_is_no_space() {
        let url = "redis+sentinel://one/shop?sentinel_password=a+b%20c";
        let address = Address::parse(url).unwrap();
        let Servers::Sentinels(sentinels) = address.servers else { panic!("{url}") };
        assert_eq!(sentinels.access.login.password(), Some("a+b c"));
    }

    #[test]
    fn a_redirection_without_a_host_is_to_the_same_one() {
        let from = host("one", 6379);
        assert_eq!(Host::redirected("two:7000", &from), Some(host("two", 7000)));
        assert_eq!(Host::redirected("::1:7000", &from), Some(host("::1", 7000)));
        assert_eq!(Host::redirected(":7000", &from), Some(host("one", 7000)));
        assert_eq!(Host::redirected("two", &from), None);
        assert_eq!(Host::redirected("two:none", &from), None);
    }

    #[test]
    fn all_errors_of_a_url_are_reported_without_its_password() {
        let error = Address::parse(
            "redis://ada:secret@db.example/none?prefix=A&persistence=some&sslrootcert=/none/such\
             &colour=red&sentinel_password=secret&wait=0&wait_ms=3000",
        )
        .unwrap_err();
        for part in [
            "redis://user:",
            "prefix=A",
            "persistence=some",
            "sslrootcert=/none/such",
            "colour",
            "`sentinel_password` are for",
            "wait=0",
            "wait_ms=3000",
        ] {
            assert!(error.contains(part), "{part}: {error}");
        }
        assert!(!error.contains("secret"), "{error}");
        for url in [
            "redis://ada:secret@",
            "redis://:secret@db.example:port/",
            "redis://:secret@one,,two/",
            "rediss:/secret",
            "redis://:secret@one/?wait_ms=20",
            "redis+sentinel://:secret@one:26379,two",
            "redis+sentinel://:secret@one/name/secret",
            "redis+sentinel://:secret@/name",
        ] {
            let error = Address::parse(url).unwrap_err();
            assert!(!error.contains("secret") && !error.is_empty(), "{url}: {error}");
        }
    }
}
