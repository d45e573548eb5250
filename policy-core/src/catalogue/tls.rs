//! Certificates and keys of the server.

area! { $ tls
    rules {
        /// A certificate or key file that cannot be read.
        TlsFile Error "tls.file-unreadable",
            "this file cannot be read",
            "write the path of a PEM file that this program may read, relative to where it is started";
        /// A file without a certificate.
        TlsCertificate Error "tls.certificate-missing",
            "there is no certificate in this file",
            "write a PEM file with the certificate of the service first, followed by the intermediate certificates that signed it";
        /// A certificate that a server cannot use.
        TlsCertificateMalformed Error "tls.certificate-malformed",
            "this certificate cannot be used",
            "request an X.509 version 3 certificate for a server";
        /// A file without a key.
        TlsKey Error "tls.key-missing",
            "there is no usable private key in this file",
            "write a PEM file with an unencrypted key as PKCS #8, SEC 1 or PKCS #1";
        /// A key that belongs to another certificate.
        TlsKeyMismatch Error "tls.key-mismatch",
            "the key in this file does not belong to the certificate",
            "write the key that the certificate was requested with, and replace both together";
        /// A certificate that has expired.
        TlsExpired Error "tls.certificate-expired",
            "this certificate has expired",
            "renew it";
        /// A certificate that is not valid yet.
        TlsNotYetValid Error "tls.certificate-not-yet-valid",
            "this certificate is not valid yet",
            "check the clock of this machine";
        /// A folder in which no certificate can be stored.
        TlsFolder Error "tls.folder-unwritable",
            "no certificate can be stored in this folder",
            "write a folder in which this program may create files";
        /// A certificate for another host.
        TlsName Warning "tls.name-not-covered",
            "the certificate is not for the host of the public origin, so browsers will reject it",
            "request one that names the host; ignore this behind a proxy that expects another name";
        /// A development certificate on a server that others can reach.
        TlsDevelopment Warning "tls.development-certificate",
            "the certificate is for development, so browsers on other machines will reject it",
            "write `Tls::files(\"cert.pem\", \"key.pem\")`";
        /// A certificate authority without a usable certificate.
        TlsAuthority Error "tls.authority-malformed",
            "there is no usable certificate of an authority here",
            "write a PEM file with the certificate of the authority";
        /// A TLS library that cannot be set up.
        TlsUnavailable Error "tls.unavailable",
            "TLS cannot be set up",
            "allow the process to read `/dev/urandom`, or to make the system call `getrandom`";
    }

    events {
        /// The files have a new and valid certificate.
        CertificateReplaced Info "tls.certificate-replaced", "the certificate was replaced";
        /// The files have a new certificate that cannot be used.
        CertificateKept Error "tls.certificate-kept", "the certificate in use is kept, since the new one cannot be used";
        /// The files could not be read again.
        CertificatesUnchecked Error "tls.certificates-unchecked", "certificates could not be checked";
        /// The process cannot listen for the signal.
        HangupIgnored Warn "tls.hangup-ignored", "SIGHUP reloads nothing";
    }
}
