//! The connections of an app.

use super::{facts, order};

facts! {
    /// The TLS of an app.
    TlsFacts {
        /// Whether it makes its own certificate, for development.
        development: bool => order::opening,
        /// Whether HTTP/3 is served.
        http3: bool => order::shifting,
        /// Whether another port redirects plain HTTP to HTTPS.
        redirects_http: bool => order::shifting,
    }
}

facts! {
    /// The settings of the connections of an app.
    ServerFacts {
        /// How many milliseconds the head of a request may take.
        header_timeout_ms: Option<u64> => order::longer_ms,
        /// How many milliseconds a connection may be idle.
        idle_timeout_ms: Option<u64> => order::longer_ms,
        /// How many bytes a second a client has to send.
        min_read_rate: Option<u64> => order::fewer,
        /// How many bytes the head of a request may have.
        header_limit: Option<u64> => order::more,
        /// How many connections may be open.
        max_connections: Option<u64> => order::more,
        /// How many bytes may wait for a client to read them.
        max_unsent_per_connection: Option<u64> => order::more,
        /// How many bytes may wait for all clients together.
        max_unsent_total: Option<u64> => order::more,
        /// Whether connections of HTTP/1.1 and HTTP/3 serve one request only.
        one_request_per_connection: bool => order::shifting,
        /// Whether other processes may listen on the same port.
        shared_port: bool => order::opening,
        /// The value of `Server`.
        server_header: Option<String> => order::shifting,
    }
}
