//! Acquires and binds everything that a server needs, before it serves.

use std::pin::Pin;
#[cfg(feature = "http3")]
use std::{
    io::{self, ErrorKind},
    sync::Arc,
};

use policy_core::{
    Rule,
    head::{OwnOrigin, PublicOrigin},
};
#[cfg(unix)]
use rlimit::Resource;

#[cfg(feature = "http3")]
use super::http3::{self, Http3};
#[cfg(feature = "per_core")]
use super::threads::Cores;
use super::{
    Server,
    listen::{ListenAddress, Listener, Role},
};
#[cfg(feature = "tls")]
use super::{redirect::Redirect, tls::Certificates};
#[cfg(feature = "tls")]
use crate::app::tls::Tls;
#[cfg(feature = "metrics")]
use crate::observe::metrics::{Endpoint, Metrics, MetricsTarget, Target};
use crate::{
    app::AppParts,
    app::settings::ServerSettings,
    base::error::{Error, StartProblem},
    build::compile,
    client::trusted_proxies::TrustedProxies,
};

impl Server {
    /// Checks the app, reads certificates and binds, and reports all problems together. Stores are
    /// opened only if there are none, since opening creates files.
    ///
    /// Boxed here, so that it is compiled once: with this crate, and not with every service.
    pub(crate) fn bind(
        app: AppParts,
        address: ListenAddress,
    ) -> Pin<Box<dyn Future<Output = Result<Self, Error>> + Send>> {
        Box::pin(Self::bound(app, address))
    }

    async fn bound(app: AppParts, address: ListenAddress) -> Result<Self, Error> {
        let mut start = Start::new(&app);
        let mut app = app;
        #[cfg(feature = "tls")]
        let listeners = match app.tls.take() {
            Some(tls) => start.with_tls(tls, address).await,
            None => start.plain(address).await,
        };
        #[cfg(not(feature = "tls"))]
        let listeners = start.plain(address).await;
        #[cfg(feature = "metrics")]
        let listeners = match &app.metrics {
            Some(MetricsTarget(Target::Own(metrics))) => {
                start.with_metrics(metrics, listeners).await
            }
            _ => listeners,
        };
        #[cfg(feature = "http3")]
        let http3 = start.http3.take();
        let Start { mut problems, notices, .. } = start;
        let port = listeners.first().and_then(|(listener, _)| listener.address.tcp());
        if let Some(address) = port {
            app.sessions = app.sessions.map(|sessions| sessions.on_port(address.port()));
        }
        let plan = match compile(app) {
            Ok(plan) => plan,
            Err(Error::Start(of_app)) => {
                problems.splice(..0, of_app);
                return Err(Error::Start(problems));
            }
            Err(error) => return Err(error),
        };
        match listeners.first() {
            Some((listener, _)) if problems.is_empty() => {
                let address = listener.address.clone();
                #[cfg(feature = "per_core")]
                let per_core = plan.assembled.settings.per_core;
                #[cfg(feature = "per_core")]
                let cores = per_core.then(Cores::start).transpose().map_err(Error::Io)?;
                let service = plan.open().await?;
                for (listener, _) in &listeners {
                    listener.listen().map_err(|problem| Error::Start(vec![problem]))?;
                }
                Ok(Self {
                    service,
                    address,
                    listeners,
                    #[cfg(feature = "http3")]
                    http3,
                    #[cfg(feature = "per_core")]
                    cores,
                    notices,
                })
            }
            _ => Err(Error::Start(problems)),
        }
    }
}

/// The state of a start.
struct Start {
    settings: ServerSettings,
    own_origin: OwnOrigin,
    /// Whether the app states a public origin, valid or not.
    states_origin: bool,
    /// Whether requests can carry credentials, and no proxy in front reports their scheme.
    has_credentials: bool,
    /// Whether the peers of Unix sockets are named as proxies.
    trusts_sockets: bool,
    problems: Vec<StartProblem>,
    notices: Vec<StartProblem>,
    #[cfg(feature = "http3")]
    http3: Option<Http3>,
}

/// The first one is the app's.
pub(super) type Listeners = Vec<(Listener, Role)>;

impl Start {
    fn new(app: &AppParts) -> Self {
        // An invalid origin is reported where the app is checked.
        let public = app.public_origin.as_deref().and_then(|text| PublicOrigin::parse(text).ok());
        // During development, the usual limit of 1024 is enough.
        let few_files = public.as_ref().and(few_files(open_files(), app.settings.max_connections));
        Self {
            settings: app.settings.clone(),
            states_origin: app.public_origin.is_some(),
            own_origin: public.map_or(OwnOrigin::Development, OwnOrigin::Public),
            has_credentials: app.has_credentials()
                && !app.proxies.as_ref().is_some_and(TrustedProxies::say_scheme),
            trusts_sockets: app.proxies.as_ref().is_some_and(TrustedProxies::name_sockets),
            problems: Vec::new(),
            notices: few_files.into_iter().collect(),
            #[cfg(feature = "http3")]
            http3: None,
        }
    }

    async fn listen(
        &mut self,
        address: impl Into<ListenAddress>,
        default_port: u16,
    ) -> Option<Listener> {
        let address = address.into();
        let named = address.to_string();
        let listener = match Listener::open(address, default_port, &self.settings).await {
            Ok(listener) => listener,
            Err(problem) => {
                self.problems.push(problem);
                return None;
            }
        };
        if !self.states_origin && !listener.address.is_of_this_machine() {
            self.problem(Rule::PublicOriginMissing, &named);
        }
        let is_deployed = self.own_origin != OwnOrigin::Development;
        if is_deployed && listener.address.tcp().is_none() && !self.trusts_sockets {
            self.notices.push(StartProblem::new(Rule::SocketUntrusted, "listener", named));
        }
        Some(listener)
    }

    fn problem(&mut self, rule: Rule, address: &str) {
        self.problems.push(StartProblem::new(rule, "listener", address));
    }

    /// Listens without TLS. On loopback there may be a proxy that is not configured here, and the
    /// traffic cannot be intercepted.
    async fn plain(&mut self, address: ListenAddress) -> Listeners {
        let named = address.to_string();
        let Some(listener) = self.listen(address, 80).await else { return Vec::new() };
        let is_public = self.own_origin != OwnOrigin::Development;
        if is_public && self.has_credentials && !listener.address.is_of_this_machine() {
            self.problem(Rule::PlainCredentials, &named);
        }
        vec![(listener, Role::Plain)]
    }

    /// Listens on the address of the metrics, if they have one of their own.
    #[cfg(feature = "metrics")]
    async fn with_metrics(&mut self, metrics: &Metrics, mut listeners: Listeners) -> Listeners {
        let Some(address) = metrics.listener() else { return listeners };
        match Listener::open(address.into(), Metrics::PORT, &self.settings).await {
            Ok(listener) => {
                let is_local = listener.address.is_of_this_machine();
                if !is_local {
                    let notice = StartProblem::new(Rule::MetricsPublic, "listener", address);
                    self.notices.push(notice);
                }
                let is_loopback = is_local && listener.address.tcp().is_some();
                listeners.push((listener, Role::Metrics(Endpoint::new(metrics, is_loopback))));
            }
            Err(problem) => self.problems.push(problem),
        }
        listeners
    }

    #[cfg(feature = "tls")]
    async fn with_tls(&mut self, tls: Tls, address: ListenAddress) -> Listeners {
        #[cfg(feature = "http3")]
        let named = address.to_string();
        #[cfg(feature = "http3")]
        let is_http3 = tls.http3;
        let Tls { source, reload, redirect, .. } = tls;
        let certificates = match Certificates::open(source, reload, &self.own_origin) {
            Ok((certificates, notices)) => {
                self.notices.extend(notices);
                Some(certificates)
            }
            Err(problems) => {
                self.problems.extend(problems);
                None
            }
        };
        let listener = self.listen(address, 443).await;
        let redirect = match redirect {
            Some(address) => self.listen(&address, 80).await,
            None => None,
        };
        let (Some(certificates), Some(listener)) = (certificates, listener) else {
            return Vec::new();
        };
        #[cfg(feature = "http3")]
        let (listener, role) = if is_http3 {
            match self.with_http3(certificates, listener, &named).await {
                Some(listening) => listening,
                None => return Vec::new(),
            }
        } else {
            (listener, Role::tls(certificates))
        };
        #[cfg(not(feature = "http3"))]
        let role = Role::tls(certificates);
        let redirect = redirect.map(|redirect| {
            let port = listener.address.tcp().map(|address| address.port());
            (redirect, Role::Redirect(Redirect::new(&self.own_origin, port)))
        });
        [(listener, role)].into_iter().chain(redirect).collect()
    }

    /// The port of the public origin, which may be forwarded to another one here.
    #[cfg(feature = "http3")]
    fn public_port(&self) -> Option<u16> {
        let OwnOrigin::Public(origin) = &self.own_origin else { return None };
        match origin.authority().strip_prefix(origin.host())?.strip_prefix(':') {
            Some(port) => port.parse().ok(),
            None => Some(443),
        }
    }

    /// Listens for QUIC on the same port. For port 0, chooses one that both can use.
    #[cfg(feature = "http3")]
    async fn with_http3(
        &mut self,
        certificates: Arc<Certificates>,
        mut listener: Listener,
        address: &str,
    ) -> Option<(Listener, Role)> {
        const ATTEMPTS: u32 = 10;
        let mut attempts = if address.ends_with(":0") { ATTEMPTS } else { 1 };
        loop {
            attempts -= 1;
            let Some(bound) = listener.address.tcp() else {
                let problem = StartProblem::new(Rule::Listen, "listener", address);
                self.problems
                    .push(problem.caused_by("HTTP/3 needs a port, and a Unix socket has none"));
                return None;
            };
            let tls = Arc::clone(&certificates).config(&[http3::ALPN]);
            // The process that this one takes over from has the port until it ends.
            let waits = attempts == 0 && self.settings.shares_port;
            let is_fault = |error: &io::Error| !waits || error.kind() != ErrorKind::AddrInUse;
            let opened = Http3::new(bound, tls, &self.settings).and_then(|http3| {
                match http3.bind().err().filter(is_fault) {
                    Some(error) => Err(error),
                    None => Ok(http3),
                }
            });
            match opened {
                Ok(http3) => {
                    let port = self.public_port().unwrap_or(bound.port());
                    let role = Role::tls(certificates).with(http3::alternative(port));
                    self.http3 = Some(http3);
                    return Some((listener, role));
                }
                Err(error) if error.kind() == ErrorKind::AddrInUse && attempts > 0 => {
                    listener = self.listen(address, 443).await?;
                }
                Err(error) => {
                    let address = format!("{bound} (UDP)");
                    let problem = StartProblem::new(Rule::Listen, "listener", address);
                    self.problems.push(problem.caused_by(error));
                    return None;
                }
            }
        }
    }
}

/// The maximum number of open files of this process; `None` if it is unknown. No limit is the
/// largest number.
#[cfg(unix)]
fn open_files() -> Option<u64> {
    Resource::NOFILE.get_soft().ok()
}

/// Windows has no separate limit for sockets.
#[cfg(not(unix))]
fn open_files() -> Option<u64> {
    None
}

/// A notice if the limit of open files is too low for the maximum number of connections.
fn few_files(limit: Option<u64>, max_connections: u32) -> Option<StartProblem> {
    let limit = limit.filter(|limit| *limit < u64::from(max_connections))?;
    let location = format!("max_connections({max_connections})");
    Some(StartProblem::new(Rule::OpenFiles, location, limit.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_without_a_file_are_noticed() {
        for (limit, is_noticed) in
            [(Some(1024), true), (Some(24_999), true), (Some(25_000), false), (None, false)]
        {
            let notice = few_files(limit, 25_000);
            assert_eq!(notice.as_ref().map(StartProblem::rule).is_some(), is_noticed, "{limit:?}");
        }
        let notice = few_files(Some(1024), 2000).expect("a notice");
        assert_eq!(notice.rule(), Rule::OpenFiles);
        assert_eq!((notice.location(), notice.value()), ("max_connections(2000)", Some("1024")));
    }
}
