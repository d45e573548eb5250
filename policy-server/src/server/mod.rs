//! The server: sockets, connection limits and graceful shutdown.

mod activity;
mod connection;
#[cfg(feature = "http3")]
mod http3;
mod listen;
mod monitor;
mod outgoing;
mod proxy_protocol;
#[cfg(feature = "tls")]
mod redirect;
mod shutdown;
mod socket;
mod start;
mod stream;
#[cfg(feature = "per_core")]
mod threads;
#[cfg(feature = "tls")]
pub(crate) mod tls;
mod unsent;

use std::{
    fmt,
    net::{Ipv4Addr, SocketAddr},
    slice,
    sync::Arc,
    time::Duration,
};

use policy_core::{Event, Rule, head::OwnOrigin};
use tokio::{
    runtime::Handle,
    sync::{Semaphore, mpsc},
    task::JoinSet,
    time::{sleep, timeout},
};
use tracing::dispatcher::has_been_set;

use crate::{
    base::{
        error::{Error, StartProblem},
        event::{log, terminal},
    },
    build::report::{notices, report},
    pipeline::service::AppService,
};
pub use listen::ListenAddress;
use listen::{LocalAddress, Role};
use shutdown::{Shutdown, Signal};
use start::Listeners;
#[cfg(feature = "per_core")]
use threads::Cores;
#[cfg(feature = "tls")]
use tls::Certificates;
use unsent::UnsentBudget;

/// The time that connections have to end after ctrl-c in development.
const AT_ONCE: Duration = Duration::from_millis(100);

/// How long the last tasks may take after everything else has ended, such as the commit of a
/// request that was cut off.
const LAST_TASKS: Duration = Duration::from_secs(1);

/// A bound server, created by [`App::bind`](crate::App::bind).
pub struct Server {
    service: AppService,
    address: LocalAddress,
    listeners: Listeners,
    /// The HTTP/3 listener.
    #[cfg(feature = "http3")]
    http3: Option<http3::Http3>,
    /// The runtimes that serve connections, unless this is the current one.
    #[cfg(feature = "per_core")]
    cores: Option<Cores>,
    /// Notices about the configuration.
    notices: Vec<StartProblem>,
}

impl Server {
    /// The address, with the port that was chosen for port 0. For a Unix socket it is the
    /// unspecified address, `0.0.0.0:0`.
    pub fn local_addr(&self) -> SocketAddr {
        self.address.tcp().unwrap_or(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0))
    }

    /// The address that [redirects](crate::Tls::redirect_http) to `https`, with the port that was
    /// chosen for port 0.
    #[cfg(feature = "tls")]
    pub fn redirect_addr(&self) -> Option<SocketAddr> {
        let redirect = self.listeners.iter().find(|(_, role)| matches!(role, Role::Redirect(_)));
        redirect.and_then(|(listener, _)| listener.address.tcp())
    }

    /// The address at which [metrics](crate::Metrics::listen) are read, with the port that was chosen for
    /// port 0 (feature `metrics`).
    #[cfg(feature = "metrics")]
    pub fn metrics_addr(&self) -> Option<SocketAddr> {
        let metrics = self.listeners.iter().find(|(_, role)| matches!(role, Role::Metrics(_)));
        metrics.and_then(|(listener, _)| listener.address.tcp())
    }

    /// Serves until ctrl-c or SIGTERM, then completes the requests in flight. In development, without a
    /// public origin, ctrl-c ends the server at once.
    ///
    /// From the first call on, these signals are caught for the whole process until it ends. Every
    /// server of the process that runs this way stops at the first of them, and one that is started
    /// after it stops at once. A program that uses these signals otherwise, or continues after its
    /// servers have stopped, uses [`run_until`](Self::run_until).
    ///
    /// # Errors
    ///
    /// The signals cannot be caught.
    pub async fn run(self) -> Result<(), Error> {
        let requested = shutdown::requested()?;
        self.run_until_told(requested).await;
        Ok(())
    }

    /// Serves until `stop` completes, then completes the requests in flight. It does not catch
    /// ctrl-c and SIGTERM.
    ///
    /// WebSocket clients get a Close frame with 1001 and have five seconds to reply; event streams
    /// end with a last event.
    pub async fn run_until(self, stop: impl Future<Output = ()>) {
        self.run_until_told(async {
            stop.await;
            Signal::Terminate
        })
        .await;
    }

    async fn run_until_told(self, stop: impl Future<Output = Signal>) {
        #[cfg(feature = "tls")]
        let fresh = self.keep_certificates_fresh();
        self.tell();
        #[cfg(feature = "http3")]
        let http3 = self.http3;
        #[cfg(feature = "per_core")]
        let cores = self.cores;
        let Self { service, listeners, address, .. } = self;
        let mut settings = service.app().settings.clone();
        let connections = Arc::new(Semaphore::new(settings.max_connections as usize));
        let unsent = Arc::new(UnsentBudget::new(&settings));
        let shutdown = Shutdown::default();
        // Every connection holds a sender, so the channel closes with the last of them.
        let (alive, mut all_ended) = mpsc::channel(1);
        let mut accepting = JoinSet::new();
        let own = Handle::current();
        let runtimes = slice::from_ref(&own);
        #[cfg(feature = "per_core")]
        let runtimes = cores.as_ref().map_or(runtimes, Cores::runtimes);
        #[cfg(feature = "tls")]
        fresh.into_iter().for_each(|fresh| drop(accepting.spawn(fresh)));
        #[cfg(unix)]
        let mut files = Vec::new();
        for (listener, role) in listeners {
            #[cfg(unix)]
            files.extend(listener.file);
            let serving = Serving {
                service: service.clone(),
                role: Arc::new(role),
                unsent: Arc::clone(&unsent),
                shutdown: shutdown.clone(),
                alive: alive.clone(),
            };
            #[cfg(feature = "http3")]
            if let (Some(http3), Role::Tls { .. }) = (&http3, &*serving.role) {
                accepting.spawn(http3.clone().accept(Arc::clone(&connections), serving.clone()));
            }
            for (socket, runtime) in listener.sockets.into_iter().zip(runtimes) {
                let accept = listen::accept(socket, serving.clone(), Arc::clone(&connections));
                accepting.spawn_on(accept, runtime);
            }
        }
        drop(alive);
        let signal = stop.await;
        if signal == Signal::Interrupt && service.app().own_origin == OwnOrigin::Development {
            // A developer waits at the terminal.
            (settings.drain, settings.shutdown_timeout) = (Duration::ZERO, AT_ONCE);
        }
        service.app().readiness.end();
        if !settings.drain.is_zero() {
            log!(Draining, %address, seconds = settings.drain.as_secs_f32());
            sleep(settings.drain).await;
        }
        #[cfg(feature = "http3")]
        if let Some(http3) = &http3 {
            http3.stop_accepting();
        }
        log!(ShuttingDown, %address);
        // From now on, a proxy sees that no process listens.
        #[cfg(unix)]
        drop(files);
        // Each listener ends once it has accepted the clients that had connected.
        shutdown.begin();
        // What may last as long as a session is ended.
        service.app().auth.revocation_bus.end_service();
        if timeout(settings.shutdown_timeout, all_ended.recv()).await.is_err() {
            log!(RequestsCutOff, %address);
            shutdown.cut();
        }
        accepting.shutdown().await;
        // Requests that were cut off, or whose clients left, leave commits behind. The process may
        // end when this returns.
        let last_commits = async {
            all_ended.recv().await;
            service.app().auth.commits.closed().await;
        };
        let _ = timeout(LAST_TASKS, last_commits).await;
        #[cfg(feature = "http3")]
        if let Some(http3) = http3 {
            http3.close().await;
        }
        #[cfg(feature = "per_core")]
        if let Some(cores) = cores {
            cores.end().await;
        }
    }

    /// The tasks that reload certificates. SIGHUP is caught when this returns, before the server is
    /// reported as listening: uncaught, it would end the process.
    #[cfg(feature = "tls")]
    fn keep_certificates_fresh(&self) -> Vec<impl Future<Output = ()> + use<>> {
        let roles = self.listeners.iter().map(|(_, role)| role);
        let certificates = roles.filter_map(|role| match role {
            Role::Tls { certificates, .. } => Some(Arc::clone(certificates)),
            _ => None,
        });
        certificates.map(Certificates::keep_fresh).collect()
    }

    /// Reports where the app listens, and any notices.
    fn tell(&self) {
        let app = self.service.app();
        if app.own_origin == OwnOrigin::Development {
            // For the developer at the terminal; production uses the log.
            eprint!("{}", report(app, &self.listening(), &self.notices).unwrap_or_default());
            terminal::print_events();
        } else if !has_been_set() {
            eprintln!("notice: {}", StartProblem::without_value(Rule::SubscriberMissing, "main"));
        }
        for line in self.listening() {
            tracing::info!(code = Event::Listening.code(), "{line}");
        }
        for notice in self.notices.iter().chain(&notices(app)) {
            tracing::warn!(code = notice.code(), "{notice}");
        }
    }

    /// One line for each address.
    fn listening(&self) -> Vec<String> {
        self.listeners
            .iter()
            .map(|(listener, role)| role.start_message(&listener.address))
            .collect()
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("address", &format_args!("{}", self.address))
            .finish_non_exhaustive()
    }
}

/// The state of the server that every connection needs.
#[derive(Clone)]
struct Serving {
    service: AppService,
    /// The role of its listener.
    role: Arc<Role>,
    /// The unsent responses of the connections of all listeners.
    unsent: Arc<UnsentBudget>,
    shutdown: Shutdown,
    /// Dropped with the connection.
    alive: mpsc::Sender<()>,
}
