//! The trusted CA certificates, where this server is the client.

use std::sync::Arc;

use policy_core::Rule;
use tokio_rustls::rustls::{
    ClientConfig, RootCertStore,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, pem::PemObject},
};

use super::error::StartProblem;

/// A TLS client configuration that trusts the CA certificates of the public web, or those in this PEM
/// in their place.
pub(crate) fn client_config(authority: Option<&[u8]>) -> Result<ClientConfig, StartProblem> {
    // Passed explicitly, so that nothing depends on the process default.
    let provider = Arc::new(aws_lc_rs::default_provider());
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| problem(Rule::TlsUnavailable).caused_by(error))?
        .with_root_certificates(roots(authority)?)
        .with_no_client_auth())
}

fn roots(authority: Option<&[u8]>) -> Result<RootCertStore, StartProblem> {
    let Some(pem) = authority else {
        return Ok(webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect());
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate =
            certificate.map_err(|error| problem(Rule::TlsAuthority).caused_by(error))?;
        roots.add(certificate).map_err(|error| problem(Rule::TlsAuthority).caused_by(error))?;
    }
    if roots.is_empty() {
        return Err(problem(Rule::TlsAuthority).caused_by("it has no certificate"));
    }
    Ok(roots)
}

/// The caller adds the location.
fn problem(rule: Rule) -> StartProblem {
    StartProblem::without_value(rule, "")
}
