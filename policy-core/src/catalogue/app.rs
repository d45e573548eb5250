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
    }

    refusals {
        /// The server was told to stop, and nothing new should be sent to it.
        ServerStopping 503 "server.stopping", "The server is about to stop";
    }
}
