//! A development certificate.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    process,
    time::{Duration, SystemTime},
};

use policy_core::Rule;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};
use tokio_rustls::rustls::{
    RootCertStore, client::verify_server_cert_signed_by_trust_anchor, crypto::CryptoProvider,
    pki_types::UnixTime, server::ParsedCertificate,
};

use super::pair::{Files, chain, covers, in_file, read_file};
use crate::base::error::StartProblem;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The validity, from a day before the certificate is created. Browsers accept at most 398 days.
const VALID: Duration = DAY.saturating_mul(365);

/// A certificate that expires within this time is replaced.
const LEFT: Duration = DAY.saturating_mul(30);

const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// The file of the certificate and its key.
pub(super) fn pair(folder: &Path) -> PathBuf {
    folder.join("localhost.pem")
}

/// The CA certificate that signed it, for clients to trust.
fn authority(folder: &Path) -> PathBuf {
    folder.join("authority.pem")
}

/// Creates a certificate, unless there is one that is valid long enough.
pub(super) fn provide(
    folder: &Path,
    host: Option<&str>,
    provider: &CryptoProvider,
) -> Result<(), StartProblem> {
    let host = host.map(|host| host.trim_matches(['[', ']']));
    let names: Vec<&str> = NAMES.into_iter().chain(host.filter(|it| !NAMES.contains(it))).collect();
    if will_do(folder, &names, provider).is_some() {
        return Ok(());
    }
    let failed = |error: io::Error| in_file(Rule::TlsFolder, folder).caused_by(error);
    let (pair, authority) = generate(&names).map_err(|error| failed(io::Error::other(error)))?;
    fs::create_dir_all(folder).map_err(failed)?;
    // A private key must not be committed to a repository.
    write(&folder.join(".gitignore"), "*\n", 0o644).map_err(failed)?;
    write(&self::authority(folder), &authority, 0o644).map_err(failed)?;
    write(&self::pair(folder), &pair, 0o600).map_err(failed)
}

/// Whether a client that trusts the CA in the folder accepts the certificate for all names, for
/// long enough.
fn will_do(folder: &Path, names: &[&str], provider: &CryptoProvider) -> Option<()> {
    let files = Files::read((pair(folder), pair(folder))).ok()?;
    let pair = files.check(provider).ok()?;
    let mut trusted = RootCertStore::empty();
    for authority in chain(&read_file(&authority(folder)).ok()?).ok()? {
        trusted.add(authority).ok()?;
    }
    let soon = UnixTime::since_unix_epoch(Duration::from_secs(UnixTime::now().as_secs()) + LEFT);
    let algorithms = provider.signature_verification_algorithms.all;
    let leaf = ParsedCertificate::try_from(pair.end_entity_cert().ok()?).ok()?;
    verify_server_cert_signed_by_trust_anchor(&leaf, &trusted, &[], soon, algorithms).ok()?;
    names.iter().all(|name| covers(&pair, name)).then_some(())
}

/// A new certificate with its key, and the CA certificate, whose key is discarded.
fn generate(names: &[&str]) -> Result<(String, String), rcgen::Error> {
    let begin = SystemTime::now() - DAY;
    let valid = |params: &mut CertificateParams| {
        params.not_before = begin.into();
        params.not_after = (begin + VALID).into();
    };
    let mut authority = CertificateParams::default();
    valid(&mut authority);
    authority.distinguished_name.push(DnType::CommonName, "policy-server development authority");
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;

    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let mut leaf = CertificateParams::new(names)?;
    valid(&mut leaf);
    leaf.distinguished_name.push(DnType::CommonName, "localhost");
    leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    leaf.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate()?;
    let leaf = leaf.signed_by(&key, &authority)?;
    Ok((leaf.pem() + &key.serialize_pem(), authority.pem()))
}

/// Writes a file atomically, so that other processes never read a part of it.
fn write(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let new = path.with_extension(format!("{}.new", process::id()));
    let written = open(&new, mode)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        // The error of the write is the one to report.
        let _ = fs::remove_file(&new);
    }
    written
}

/// Creates a new file, never opening one that exists.
fn open(path: &Path, mode: u32) -> io::Result<fs::File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    options.open(path)
}
