//! A certificate with its key, parsed and checked.

use std::{
    fs::{self, File},
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use policy_core::{Rule, Severity};
use tokio_rustls::rustls::{
    CertificateError, Error, InconsistentKeys, RootCertStore,
    client::{verify_server_cert_signed_by_trust_anchor, verify_server_name},
    crypto::CryptoProvider,
    pki_types::{
        CertificateDer, PrivateKeyDer, ServerName, UnixTime,
        pem::{self, PemObject},
    },
    server::ParsedCertificate,
    sign::CertifiedKey,
};
use zeroize::Zeroizing;

use crate::base::{error::StartProblem, secret_file};

/// A problem with a file.
pub(super) fn in_file(rule: Rule, path: &Path) -> StartProblem {
    StartProblem::new(rule, LOCATION, path.display().to_string())
}

pub(super) const LOCATION: &str = "App::tls";

/// The bytes of the two files.
pub(super) struct Files {
    certificate: (PathBuf, Vec<u8>),
    key: (PathBuf, Zeroizing<Vec<u8>>),
}

impl Files {
    pub(super) fn read((certificate, key): (PathBuf, PathBuf)) -> Result<Self, Vec<StartProblem>> {
        let read = |path: &Path| {
            read_file(path).map_err(|error| in_file(Rule::TlsFile, path).caused_by(error))
        };
        match (read(&certificate), read(&key)) {
            (Ok(of_certificate), Ok(of_key)) => Ok(Self {
                certificate: (certificate, of_certificate),
                key: (key, Zeroizing::new(of_key)),
            }),
            (of_certificate, of_key) => {
                let mut found = Vec::from_iter(of_certificate.err());
                // Both may be the same file.
                found.extend(of_key.err().filter(|_| key != certificate));
                Err(found)
            }
        }
    }

    /// A hash that identifies these bytes.
    pub(super) fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.certificate.1, &*self.key.1).hash(&mut hasher);
        hasher.finish()
    }

    /// The certificate and its key, if clients can use them now.
    pub(super) fn check(
        &self,
        provider: &CryptoProvider,
    ) -> Result<Arc<CertifiedKey>, Vec<StartProblem>> {
        let ((certificate, of_certificate), (key, of_key)) = (&self.certificate, &self.key);
        let chain = chain(of_certificate).map_err(|rule| in_file(rule, certificate));
        let loaded = PrivateKeyDer::from_pem_slice(of_key).map_err(|error| match error {
            pem::Error::NoItemsFound => in_file(Rule::TlsKey, key),
            error => in_file(Rule::TlsKey, key).caused_by(error),
        });
        let loaded = loaded.and_then(|loaded| {
            let signing = provider.key_provider.load_private_key(loaded);
            signing.map_err(|error| in_file(Rule::TlsKey, key).caused_by(error))
        });
        let (chain, loaded) = match (chain, loaded) {
            (Ok(chain), Ok(loaded)) => (chain, loaded),
            (chain, loaded) => {
                return Err(chain.err().into_iter().chain(loaded.err()).collect());
            }
        };
        let pair = CertifiedKey::new(chain, loaded);
        let mut found = Vec::new();
        match pair.keys_match() {
            // The key does not contain its public half.
            Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => (),
            Err(Error::InconsistentKeys(_)) => {
                found.push(in_file(Rule::TlsKeyMismatch, key));
            }
            Err(error) => {
                let malformed = Rule::TlsCertificateMalformed;
                return Err(vec![in_file(malformed, certificate).caused_by(error)]);
            }
        }
        let permissions = secret_file::broken_rule(key);
        let writable = permissions.filter(|rule| rule.severity() == Severity::Error);
        found.extend(writable.map(|rule| in_file(rule, key)));
        let unusable = usable(&pair, provider, UnixTime::now()).err();
        found.extend(unusable.map(|(rule, why)| in_file(rule, certificate).caused_by(why)));
        if found.is_empty() { Ok(Arc::new(pair)) } else { Err(found) }
    }

    /// Notices about the files.
    pub(super) fn notices(&self, pair: &CertifiedKey, host: Option<&str>) -> Vec<StartProblem> {
        let mut notices = Vec::new();
        if let Some(host) = host.filter(|host| !covers(pair, host)) {
            notices.push(StartProblem::new(Rule::TlsName, LOCATION, host));
        }
        let key = &self.key.0;
        notices.extend(secret_file::broken_rule(key).map(|rule| in_file(rule, key)));
        notices
    }
}

/// The maximum file size that is read: a chain with its key has a few KiB.
const LARGEST: u64 = 1 << 20;

/// Reads a regular file of a limited size. A device or a pipe could deliver data endlessly, or none.
pub(super) fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    // Opening a pipe waits for a writer.
    let is_regular = |file: fs::Metadata| if file.is_file() { Ok(()) } else { Err(irregular()) };
    is_regular(fs::metadata(path)?)?;
    let file = File::open(path)?;
    is_regular(file.metadata()?)?;
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 1 MiB"));
    }
    Ok(bytes)
}

fn irregular() -> io::Error {
    io::Error::other("it is not a regular file")
}

/// The certificates of a file, that of the server first.
pub(super) fn chain(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, Rule> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match chain {
        Ok(chain) if !chain.is_empty() => Ok(chain),
        Ok(_) => Err(Rule::TlsCertificate),
        Err(_malformed) => Err(Rule::TlsCertificateMalformed),
    }
}

/// Whether a client that trusts the CA would accept the certificate for a server at this time.
fn usable(
    pair: &CertifiedKey,
    provider: &CryptoProvider,
    now: UnixTime,
) -> Result<(), (Rule, String)> {
    let malformed = |error: Error| (Rule::TlsCertificateMalformed, error.to_string());
    let certificate = pair.end_entity_cert().and_then(ParsedCertificate::try_from);
    let certificate = certificate.map_err(malformed)?;
    let algorithms = provider.signature_verification_algorithms.all;
    // Without trusted roots, validation ends with an unknown issuer; errors before that concern the
    // certificate itself.
    let nobody = RootCertStore::empty();
    match verify_server_cert_signed_by_trust_anchor(&certificate, &nobody, &[], now, algorithms) {
        Err(Error::InvalidCertificate(error)) => match error {
            CertificateError::ExpiredContext { not_after, .. } => {
                let since = now.as_secs().saturating_sub(not_after.as_secs());
                Err((Rule::TlsExpired, format!("{} ago", age(since))))
            }
            CertificateError::NotValidYetContext { not_before, .. } => {
                let until = not_before.as_secs().saturating_sub(now.as_secs());
                Err((Rule::TlsNotYetValid, format!("for another {}", age(until))))
            }
            CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
                Err(malformed(Error::InvalidCertificate(error)))
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

fn age(seconds: u64) -> String {
    match seconds / 3600 {
        hours @ 48.. => format!("{} days", hours / 24),
        hours @ 2.. => format!("{hours} hours"),
        _ => format!("{} minutes", seconds / 60),
    }
}

/// Whether the certificate is for this host.
pub(super) fn covers(pair: &CertifiedKey, host: &str) -> bool {
    let Ok(name) = ServerName::try_from(host.trim_matches(['[', ']'])) else { return false };
    let certificate = pair.end_entity_cert().and_then(ParsedCertificate::try_from);
    certificate.is_ok_and(|certificate| verify_server_name(&certificate, &name).is_ok())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use policy_core_tests::folder::Folder;

    use super::*;

    #[test]
    fn reads_only_small_regular_files() {
        let folder = Folder::new().unwrap();
        let path = folder.path().join("cert.pem");
        let sized = |length| File::create(&path).unwrap().set_len(length).unwrap();
        sized(LARGEST);
        assert_eq!(read_file(&path).unwrap().len() as u64, LARGEST);
        sized(LARGEST + 1);
        assert_eq!(read_file(&path).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        fs::remove_file(&path).unwrap();
        symlink("/dev/zero", &path).unwrap();
        assert_eq!(read_file(&path).unwrap_err().to_string(), irregular().to_string());
        assert_eq!(read_file(folder.path()).unwrap_err().to_string(), irregular().to_string());
    }

    /// The order in which the two files are written does not matter.
    #[test]
    fn the_digest_covers_both_files() {
        let digest = |certificate: &[u8], key: &[u8]| {
            let files = Files {
                certificate: (PathBuf::new(), certificate.to_vec()),
                key: (PathBuf::new(), Zeroizing::new(key.to_vec())),
            };
            files.digest()
        };
        let digests = [
            digest(b"old", b"old"),
            digest(b"new", b"old"),
            digest(b"old", b"new"),
            digest(b"new", b"new"),
            digest(b"ol", b"dold"),
        ];
        let distinct: std::collections::BTreeSet<_> = digests.iter().collect();
        assert_eq!(distinct.len(), digests.len());
        assert_eq!(digest(b"old", b"old"), digest(b"old", b"old"));
    }
}
