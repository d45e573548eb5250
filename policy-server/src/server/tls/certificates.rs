//! The certificate in use, which can change at run time.

use std::{
    fmt,
    hash::{BuildHasher, BuildHasherDefault, DefaultHasher},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use policy_core::{Rule, head::OwnOrigin};
use tokio::{task::spawn_blocking, time::timeout};
use tokio_rustls::rustls::{
    ConfigBuilder, Error, ServerConfig,
    crypto::{CryptoProvider, aws_lc_rs},
    server::{ClientHello, ProducesTickets, ResolvesServerCert, WantsServerCert},
    sign::CertifiedKey,
};

use super::{
    development,
    pair::{Files, LOCATION, covers, in_file},
};
use crate::app::tls::Source;
use crate::base::{
    error::StartProblem,
    event::{
        count::{Count, count},
        log,
        terminal::emit,
    },
    timers,
};

/// How long reading the files may take until it is reported.
const LONGEST_LOOK: Duration = Duration::from_secs(10);

/// The certificate of a server, consulted at every TLS handshake.
pub(in crate::server) struct Certificates {
    source: Source,
    /// The host of the public origin.
    host: Option<String>,
    reload: Duration,
    provider: Arc<CryptoProvider>,
    config: ConfigBuilder<ServerConfig, WantsServerCert>,
    tickets: Arc<dyn ProducesTickets>,
    current: ArcSwap<CertifiedKey>,
    /// A digest of the files in use.
    in_use: AtomicU64,
    /// The last reported error of files that cannot be used, so that each is reported once.
    reported: AtomicU64,
}

impl Certificates {
    /// Reads the certificate, and returns notices about it.
    pub(in crate::server) fn open(
        source: Source,
        reload: Duration,
        own_origin: &OwnOrigin,
    ) -> Result<(Arc<Self>, Vec<StartProblem>), Vec<StartProblem>> {
        let host = match own_origin {
            OwnOrigin::Public(origin) => Some(origin.host().to_owned()),
            OwnOrigin::Development => None,
        };
        let library = |error: Error| {
            vec![StartProblem::without_value(Rule::TlsUnavailable, LOCATION).caused_by(error)]
        };
        // Passed explicitly, so that nothing depends on the process default.
        let provider = Arc::new(aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(library)?
            .with_no_client_auth();
        // Tickets take no memory that clients could exhaust, and work on every thread.
        let tickets = aws_lc_rs::Ticketer::new().map_err(library)?;

        let files = read(&source, host.as_deref(), &provider)?;
        let pair = files.check(&provider)?;
        let mut notices = files.notices(&pair, host.as_deref());
        if let (Some(folder), Some(_)) = (source.folder(), &host) {
            notices.push(in_file(Rule::TlsDevelopment, folder));
        }
        let in_use = AtomicU64::new(files.digest());
        let (current, reported) = (ArcSwap::new(pair), AtomicU64::new(0));
        let certificates =
            Self { source, host, reload, provider, config, tickets, current, in_use, reported };
        Ok((Arc::new(certificates), notices))
    }

    /// A TLS configuration with this certificate and these protocols, the preferred one first.
    pub(in crate::server) fn config(self: Arc<Self>, alpn: &[&[u8]]) -> ServerConfig {
        let tickets = Arc::clone(&self.tickets);
        let mut config = self.config.clone().with_cert_resolver(self);
        config.ticketer = tickets;
        config.alpn_protocols = alpn.iter().map(|protocol| protocol.to_vec()).collect();
        config
    }

    /// Checks the files periodically, and on SIGHUP, which is caught when this returns.
    pub(in crate::server) fn keep_fresh(self: Arc<Self>) -> impl Future<Output = ()> + use<> {
        // In development, closing the terminal should end the server.
        let mut hangup = Hangup::listen(matches!(self.source, Source::Files { .. }));
        async move {
            // A file system that does not respond blocks one thread and no more.
            let mut looking = None;
            loop {
                tokio::select! {
                    () = timers::sleep(self.reload) => (),
                    () = hangup.next() => (),
                }
                let look = looking.get_or_insert_with(|| {
                    let certificates = Arc::clone(&self);
                    spawn_blocking(move || certificates.look())
                });
                match timeout(LONGEST_LOOK, &mut *look).await {
                    Err(error) => {
                        log!(CertificatesUnchecked, %error);
                        continue;
                    }
                    Ok(Err(error)) => log!(CertificatesUnchecked, %error),
                    Ok(Ok(())) => (),
                }
                looking = None;
            }
        }
    }

    /// Uses a new certificate, if the app would start with it. An unusable certificate is checked
    /// again each time: the cause may be a file mode or the current time, and not the content of
    /// the files.
    fn look(&self) {
        let host = self.host.as_deref();
        let files = read(&self.source, host, &self.provider);
        let digest = files.as_ref().map_or(0, Files::digest);
        if digest == self.in_use.load(Ordering::Relaxed) {
            self.reported.store(0, Ordering::Relaxed);
            return;
        }
        let taken = files.and_then(|files| {
            let pair = files.check(&self.provider)?;
            let mut notices = files.notices(&pair, host);
            if host.is_some_and(|host| covers(&self.current.load(), host)) {
                let (worse, odd): (Vec<_>, _) =
                    notices.into_iter().partition(|found| found.rule() == Rule::TlsName);
                if !worse.is_empty() {
                    return Err(worse);
                }
                notices = odd;
            }
            Ok((pair, notices))
        });
        match taken {
            Ok((pair, notices)) => {
                self.current.store(pair);
                self.in_use.store(digest, Ordering::Relaxed);
                self.reported.store(0, Ordering::Relaxed);
                log!(CertificateReplaced);
                count(Count::Reload { of: "certificate", is_applied: true });
                for notice in notices {
                    emit(|| tracing::warn!(code = notice.code(), "{notice}"));
                }
            }
            Err(problems) => {
                let codes: Vec<_> = problems.iter().map(StartProblem::code).collect();
                let report =
                    BuildHasherDefault::<DefaultHasher>::default().hash_one((digest, codes));
                if self.reported.swap(report, Ordering::Relaxed) == report {
                    return;
                }
                count(Count::Reload { of: "certificate", is_applied: false });
                for problem in problems {
                    log!(CertificateKept, text: problem);
                }
            }
        }
    }
}

fn read(
    source: &Source,
    host: Option<&str>,
    provider: &CryptoProvider,
) -> Result<Files, Vec<StartProblem>> {
    if let Some(folder) = source.folder() {
        development::provide(folder, host, provider).map_err(|found| vec![found])?;
    }
    Files::read(source.paths())
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current.load_full())
    }
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificates").field("source", &self.source).finish_non_exhaustive()
    }
}

/// SIGHUP, on platforms with signals.
struct Hangup {
    #[cfg(unix)]
    signal: Option<tokio::signal::unix::Signal>,
}

impl Hangup {
    #[cfg(unix)]
    fn listen(is_wanted: bool) -> Self {
        use tokio::signal::unix::{SignalKind, signal};

        let listened = is_wanted.then(|| signal(SignalKind::hangup()));
        let signal = listened
            .and_then(|signal| signal.inspect_err(|error| log!(HangupIgnored, %error)).ok());
        Self { signal }
    }

    #[cfg(not(unix))]
    fn listen(_is_wanted: bool) -> Self {
        Self {}
    }

    async fn next(&mut self) {
        #[cfg(unix)]
        if let Some(signal) = &mut self.signal
            && signal.recv().await.is_some()
        {
            return;
        }
        std::future::pending::<()>().await;
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt, path::Path};

    use policy_core_tests::folder::Folder;

    use super::*;

    /// A new development certificate and its key, in one PEM text.
    fn generate(folder: &Path) -> Vec<u8> {
        let provider = aws_lc_rs::default_provider();
        development::provide(folder, None, &provider).unwrap();
        fs::read(development::pair(folder)).unwrap()
    }

    /// The error advises `chmod o-w`, which changes no byte of the files.
    #[test]
    fn a_certificate_is_loaded_once_the_mode_of_its_key_is_corrected() {
        let folder = Folder::new().unwrap();
        let [old, new] = ["old", "new"].map(|name| generate(&folder.path().join(name)));
        let file = folder.path().join("pair.pem");
        let mode = |mode| fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        fs::write(&file, old).unwrap();
        mode(0o600);
        let source = Source::Files { certificate: file.clone(), key: file.clone() };
        let every = Duration::from_secs(3600);
        let opened = Certificates::open(source, every, &OwnOrigin::Development).unwrap();
        let leaf = || opened.0.current.load().cert.first().cloned();
        let first = leaf();
        fs::write(&file, new).unwrap();
        mode(0o666);
        for _ in 0..2 {
            opened.0.look();
            assert_eq!(leaf(), first, "others may write its key");
        }
        mode(0o600);
        opened.0.look();
        assert_ne!(leaf(), first);
    }
}
