//! Certificates and keys of the server.

area! { $ tls
    rules {
        /// A file of TLS that cannot be read.
        TlsFile Error "tls.file-unreadable",
            "this file cannot be read",
            "write the path of a PEM file that this program may read, relative to where it is started";
        /// A file without a certificate.
        TlsCertificate Error "tls.certificate-missing",
            "there is no certificate in this file",
            "write a PEM file with the certificate of the service first, and those that signed it behind it";
        /// Something that is no certificate of a server.
        TlsCertificateMalformed Error "tls.certificate-malformed",
            "this certificate cannot be used",
            "ask for a certificate of X.509 version 3 for a server";
        /// A file without a key.
        TlsKey Error "tls.key-missing",
            "there is no private key in this file that can be used",
            "write a PEM file with the key as it is: PKCS #8, SEC 1 or PKCS #1, and not encrypted";
        /// A key of another certificate.
        TlsKeyMismatch Error "tls.key-mismatch",
            "the key in this file is not the one of the certificate",
            "write the key that the certificate was asked for with; both change together";
        /// A certificate whose time is over.
        TlsExpired Error "tls.certificate-expired",
            "this certificate has expired",
            "renew it";
        /// A certificate whose time has not come.
        TlsNotYetValid Error "tls.certificate-not-yet-valid",
            "this certificate is not valid yet",
            "look at the clock of this machine";
        /// A folder in which no certificate can be kept.
        TlsFolder Error "tls.folder-unwritable",
            "no certificate can be kept in this folder",
            "write a folder in which this program may create files";
        /// A certificate of somebody else.
        TlsName Warning "tls.name-not-covered",
            "the certificate is not for the host of the public origin, so browsers will refuse it",
            "ask for one that names the host; behind a proxy that expects another name, this is right";
        /// A key that is no secret.
        TlsKeyReadable Warning "tls.key-readable",
            "everybody on this machine can read the key",
            "take the right away: `chmod 600`";
        /// A certificate that is for the machine of a developer.
        TlsDevelopment Warning "tls.development-certificate",
            "the certificate is for development, so browsers of others will refuse it",
            "write `Tls::files(\"cert.pem\", \"key.pem\")`";
        /// An authority of which nothing can be trusted.
        TlsAuthority Error "tls.authority-malformed",
            "there is no certificate authority here that can be trusted",
            "write a PEM file with the certificate of the authority";
        /// A library that refuses to work.
        TlsUnavailable Error "tls.unavailable",
            "TLS cannot be set up",
            "let the process read `/dev/urandom`, or use the system call for it";
    }

    events {
        /// The files have a new certificate that is good.
        CertificateReplaced Info "tls.certificate-replaced", "the certificate was replaced";
        /// The files have a new certificate that is not good.
        CertificateKept Error "tls.certificate-kept", "the certificate in use stays, since the new one is wrong";
        /// The files could not be read again.
        CertificatesUnchecked Error "tls.certificates-unchecked", "certificates were not looked at";
        /// The signal cannot be listened for.
        HangupIgnored Warn "tls.hangup-ignored", "SIGHUP reloads nothing";
    }
}
