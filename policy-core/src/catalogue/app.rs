//! The app and the server as a whole.

area! { $ app
    rules {
        /// A public origin that no server can have.
        PublicOrigin Error "app.public-origin",
            "this cannot be the public origin of a server",
            "write the `https` origin that browsers see, such as `https://api.example.com`";
        /// A public origin that is not https.
        PublicOriginInsecure Error "app.public-origin-insecure",
            "a public origin must use `https`",
            "write it with `https://`; to try the app from other machines of your network, add `App::tls(Tls::development(\"target/certificate\"))`; during development on loopback, remove `public_origin`";
        /// An address that other machines can reach, for an app without a public origin.
        PublicOriginMissing Error "app.public-origin-missing",
            "this address can be reached from other machines, and the app has no public origin",
            "set it with `App::public_origin(\"https://..\")`, also to try the app from other machines of your network, then with `App::tls(Tls::development(\"target/certificate\"))`; or listen on 127.0.0.1 during development";
        /// Credentials over plain HTTP.
        PlainCredentials Error "app.plain-credentials",
            "this address can be reached from other machines without TLS, which would expose sessions and tokens",
            "configure a certificate with `App::tls(Tls::files(\"cert.pem\", \"key.pem\"))`, or name the proxy in front that terminates TLS with `App::behind(Proxies::new([\"10.0.0.0/8\"]).forwarded())`, or listen on 127.0.0.1";
        /// An address that is in use, or that this machine does not have.
        Listen Error "app.listen",
            "the server cannot listen on this address",
            "take an address of this machine and a free port, such as `127.0.0.1:8081` (`ss -ltn` lists those in use; below 1024 they take a privilege); a Unix socket, such as `unix:/run/shop/shop.sock`, needs a folder that exists and in which the process may write";
        /// An address for pages of problems that is no URI reference.
        ProblemTypes Error "app.problem-types",
            "this is not an address to which the codes of problems can be added",
            "write a URI reference, such as `https://docs.example/errors/` or `/errors/`";
        /// A configuration file that cannot be read.
        ConfigFile Error "app.config-file",
            "this configuration file cannot be read",
            "correct the file, or remove `App::config_file`";
        /// An environment variable that is not set, or is not UTF-8.
        VariableUnset Error "app.variable-unset",
            "this environment variable is not set, or is not UTF-8",
            "set it, or remove the call that reads it";
        /// A file with a secret that every user of the machine may write.
        SecretWritable Error "app.secret-writable",
            "all users of this machine may write this file, which holds a secret",
            "run `chmod o-w` on it, and replace the secret if others use the machine";
        /// A file with a secret that every user of the machine may read.
        SecretReadable Warning "app.secret-readable",
            "all users of this machine may read this file, which holds a secret",
            "run `chmod o-r` on it; in Kubernetes write `defaultMode: 0440` and an `fsGroup`, in Docker the `uid` and `mode: 0400` of the secret";
        /// A store that cannot be opened.
        StoreUnavailable Error "app.store",
            "this store cannot be opened",
            "a store is opened when the app starts; a store in a file can be open in only one process at a time";
        /// A store that opens asynchronously, in a function that is not async.
        StoreWaits Error "app.store-waits",
            "the custom store opens asynchronously, and this function cannot wait for it",
            "use `App::open`";
        /// A random source that fails.
        RandomMissing Error "app.random-missing",
            "the operating system provides no random numbers",
            "allow the process to read `/dev/urandom`, or to make the system call `getrandom`";
        /// Fewer open files than connections.
        OpenFiles Warning "app.open-files",
            "the process may open fewer files than the server takes connections, so that those beyond wait for others to end",
            "raise the limit (`ulimit -n`, or `LimitNOFILE=` of a systemd unit), or lower `ServerSettings::max_connections`";
        /// TRACE is enabled.
        TraceOn Warning "app.trace-on",
            "TRACE is enabled, and its responses show clients the fields that proxies add to a request",
            "remove `App::trace` when the proxies in front are set up";
        /// A candidate policy that cannot be compiled.
        Candidate Error "app.candidate",
            "this candidate is no policy that the app could have",
            "read it from the manifest or the lock file of an app that starts, and name lists of origins that this app has, or remove `App::observe`";
    }

    refusals {
        /// The server was told to stop, and should receive no new requests.
        ServerStopping 503 "server.stopping", "The server is about to stop";
    }

    events {
        /// The server listens at an address.
        Listening Info "server.listening", "listening";
        /// A connection cannot be accepted.
        AcceptFailed Error "server.accept-failed", "cannot accept connections";
        /// New requests are still served, and load balancers are told to send no more.
        Draining Info "server.draining", "draining";
        /// Connections are closed.
        ShuttingDown Info "server.shutting-down", "shutting down";
        /// The time for requests in flight is over.
        RequestsCutOff Warn "server.requests-cut-off", "requests in flight were cut off";
        /// The candidate of `App::observe` would have decided otherwise about a request.
        CandidateDiffers Info "candidate.differs", "the candidate policy decides otherwise";
    }
}
