//! The app and the server as a whole.

area! { $ app
    rules {
        /// An own origin that is none.
        PublicOrigin Error "app.public-origin",
            "this is not an origin that the server could have in public",
            "write the `https` origin that browsers see, such as `https://api.example.com`";
        /// A public origin that is not https.
        PublicOriginInsecure Error "app.public-origin-insecure",
            "the public origin of a service is `https`",
            "write it with `https://`, or leave `public_origin` out while developing on loopback";
        /// A server that others reach and that does not know its own name.
        PublicOriginMissing Error "app.public-origin-missing",
            "this address can be reached from other machines, and the app has no public origin",
            "say who the app is with `App::public_origin(\"https://..\")`, or listen on 127.0.0.1 while developing";
        /// Credentials over plain HTTP.
        PlainCredentials Error "app.plain-credentials",
            "this address can be reached from other machines without TLS, and sessions and tokens are secrets",
            "give the app a certificate with `App::tls(Tls::files(\"cert.pem\", \"key.pem\"))`, or name the proxy in front that speaks TLS with `App::behind(Proxies::new([\"10.0.0.0/8\"]).forwarded())`, or listen on 127.0.0.1";
        /// An address that is taken, or is not of this machine.
        Listen Error "app.listen",
            "this address cannot be listened on",
            "write an address of this machine that is free, such as `127.0.0.1:8080`";
        /// A configuration file that cannot be read.
        ConfigFile Error "app.config-file",
            "this configuration file cannot be read",
            "correct the file, or remove `App::config_file`";
        /// An environment variable that is not there.
        VariableUnset Error "app.variable-unset",
            "this environment variable is not set to a text",
            "set it, or remove `App::origins_from_env`";
        /// A store that does not open.
        StoreUnavailable Error "app.store",
            "this store cannot be opened",
            "a store is opened when the app starts, and by one process at a time if it is a file";
        /// A store that has to be waited for, where nothing waits.
        StoreWaits Error "app.store-waits",
            "the store of the application's own has to be waited for, and nothing waits here",
            "use `App::open`";
        /// No random numbers.
        RandomMissing Error "app.random-missing",
            "the operating system gives no random numbers",
            "let the process read `/dev/urandom`, or use the system call for it";
        /// TRACE is answered.
        TraceOn Warning "app.trace-on",
            "TRACE is answered, and whoever asks sees the fields that proxies add to a request",
            "remove `App::trace` once the proxies in front are set up";
    }

    refusals {
        /// The server was told to stop, and nothing new should be sent to it.
        ServerStopping 503 "server.stopping", "The server is about to stop";
    }

    events {
        /// The server listens at an address.
        Listening Info "server.listening", "listening";
        /// A connection cannot be taken.
        AcceptFailed Error "server.accept-failed", "cannot accept connections";
        /// New requests are still answered, and balancers are told to send none.
        Draining Info "server.draining", "draining";
        /// Connections are closed.
        ShuttingDown Info "server.shutting-down", "shutting down";
        /// The time for requests in flight is over.
        RequestsCutOff Warn "server.requests-cut-off", "requests in flight were cut off";
    }
}
