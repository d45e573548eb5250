//! A TLS client that trusts one authority.

use std::{io, sync::Arc};

use policy_tests::authority::trusting;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{
        ALL_VERSIONS, ClientConfig, SupportedProtocolVersion,
        pki_types::{CertificateDer, pem::PemObject},
        version,
    },
};

use super::*;

pub(super) type Stream = TlsStream<TcpStream>;

/// The configuration of a client that trusts the authority of a development certificate in this folder.
pub(super) fn trusting_development(folder: &Path) -> ClientConfig {
    let authority = CertificateDer::from_pem_file(folder.join("authority.pem"));
    trusting(authority.expect("an authority"), ALL_VERSIONS, &[])
}

/// It keeps its sessions, and resumes them when it can.
#[derive(Clone)]
pub(super) struct Client(TlsConnector);

impl Client {
    pub(super) fn trusting(authority: CertificateDer<'static>) -> Self {
        Self::with(authority, &[&version::TLS13, &version::TLS12], &["http/1.1"])
    }

    pub(super) fn with(
        authority: CertificateDer<'static>,
        versions: &[&'static SupportedProtocolVersion],
        alpn: &[&str],
    ) -> Self {
        Self(TlsConnector::from(Arc::new(trusting(authority, versions, alpn))))
    }

    pub(super) async fn try_connect(&self, address: SocketAddr, name: &str) -> io::Result<Stream> {
        let stream = soon(TcpStream::connect(address)).await?;
        soon(self.0.connect(name.to_owned().try_into().expect("a name"), stream)).await
    }

    pub(super) async fn connect(&self, address: SocketAddr) -> Stream {
        self.try_connect(address, "localhost").await.expect("a handshake")
    }

    /// The response to GET on its own connection.
    pub(super) async fn get(&self, address: SocketAddr, host: &str, path: &str) -> String {
        let mut stream = self.try_connect(address, host).await.expect("a handshake");
        let fields = format!("host: {host}\r\nconnection: close");
        exchange(&mut stream, &format!("GET {path} HTTP/1.1\r\n{fields}\r\n\r\n")).await
    }
}

/// Sends a request with `connection: close`, and reads to the end.
pub(super) async fn exchange(stream: &mut Stream, request: &str) -> String {
    soon(stream.write_all(request.as_bytes())).await.expect("a server that reads");
    let mut response = String::new();
    soon(stream.read_to_string(&mut response)).await.expect("an orderly end");
    response
}

/// The certificate that the server presented.
pub(super) fn peer_certificate(stream: &Stream) -> CertificateDer<'static> {
    let chain = stream.get_ref().1.peer_certificates().expect("certificates");
    chain[0].clone().into_owned()
}

/// curl's output, and whether it succeeded.
pub(super) async fn curl(arguments: &[&str]) -> (bool, String) {
    let arguments: Vec<String> = arguments.iter().map(|&it| it.to_owned()).collect();
    let output = tokio::task::spawn_blocking(move || {
        let fixed = ["--silent", "--show-error", "--max-time", "20"];
        std::process::Command::new("curl").args(fixed).args(arguments).output().expect("curl")
    });
    let output = soon(output).await.expect("a thread");
    let text =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    (output.status.success(), text.concat())
}
