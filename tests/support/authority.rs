//! Certificates in PEM files, as an operator has them, signed by a test certificate authority.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use data_encoding::BASE64;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, PublicKeyData,
};
use sha2::{Digest, Sha256};
use tokio_rustls::rustls::{
    ClientConfig, RootCertStore, SupportedProtocolVersion, crypto::aws_lc_rs,
    pki_types::CertificateDer,
};

pub const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "an authority of tests");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("an authority"))
    }

    pub fn certificate(&self) -> CertificateDer<'static> {
        self.0.der().clone()
    }

    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// The SHA-256 hash of its public key (RFC 5280 4.1.2.7), by which Chromium can be told to
    /// trust it.
    pub fn key_hash(&self) -> String {
        BASE64.encode(&Sha256::digest(self.0.key().subject_public_key_info()))
    }

    pub fn issue(&self, names: &[&str]) -> IssuedTokens {
        self.issue_with(names, |_params| ())
    }

    /// Issues a certificate that is valid between two days, counted from today; they may be in the
    /// past.
    pub fn issue_for(&self, names: &[&str], from: i32, to: i32) -> IssuedTokens {
        let day = |days: i32| {
            let (now, distance) = (SystemTime::now(), DAY * days.unsigned_abs());
            if days < 0 { now - distance } else { now + distance }
        };
        self.issue_with(names, |params| {
            (params.not_before, params.not_after) = (day(from).into(), day(to).into());
        })
    }

    pub fn issue_with(
        &self,
        names: &[&str],
        change: impl FnOnce(&mut CertificateParams),
    ) -> IssuedTokens {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("names");
        // Nodes of a cluster are both to each other.
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        change(&mut params);
        let key = KeyPair::generate().expect("a key");
        let leaf = params.signed_by(&key, &self.0).expect("a certificate");
        IssuedTokens { der: leaf.der().clone(), certificate: leaf.pem(), key: key.serialize_pem() }
    }
}

/// A client that trusts an authority, and offers these protocols.
pub fn trusting(
    authority: CertificateDer<'static>,
    versions: &[&'static SupportedProtocolVersion],
    alpn: &[&str],
) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(authority).expect("an authority");
    let mut config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(versions)
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    config
}

/// A certificate with its key.
pub struct IssuedTokens {
    pub der: CertificateDer<'static>,
    pub certificate: String,
    pub key: String,
}

impl IssuedTokens {
    /// Writes the certificate and its key over the existing files, one file after the other as
    /// renewal programs do, so that for a moment the two do not match.
    pub fn write(&self, folder: &Path) -> (PathBuf, PathBuf) {
        let write = |name: &str, text: &str| {
            let (new, path) = (folder.join(format!("{name}.new")), folder.join(name));
            fs::write(&new, text).expect("a file");
            fs::rename(&new, &path).expect("a file");
            path
        };
        (write("cert.pem", &self.certificate), write("key.pem", &self.key))
    }
}
