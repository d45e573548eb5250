//! Upstreams that requests are passed to, and the trusted proxies in front.

area! { $ proxy
    rules {
        /// An upstream of another scheme.
        UpstreamScheme Error "proxy.upstream-scheme",
            "an upstream is spoken to by `http` or `https`",
            "write it in full, such as `http://127.0.0.1:9000`";
        /// An upstream without a host, or with one that is none.
        UpstreamHost Error "proxy.upstream-host",
            "this names no host that can be connected to",
            "write a name or address in lower case, and a port if need be, such as `http://127.0.0.1:9000`";
        /// An upstream with user name or password.
        UpstreamUserInfo Error "proxy.upstream-userinfo",
            "the address of an upstream has no user name or password",
            "remove everything from behind `//` up to and including the `@`";
        /// An upstream with a query or a fragment.
        UpstreamQuery Error "proxy.upstream-query",
            "the address of an upstream has no query and no fragment: those are the requests'",
            "remove everything from the first `?` or `#`";
        /// A path of an upstream that clients would not send like this.
        UpstreamPath Error "proxy.upstream-path",
            "the path of an upstream has no empty segments, no `.` or `..`, and no percent codes",
            "write the path that all others lie below, such as `http://127.0.0.1:9000/v1`";
        /// A network that is none.
        NetworkMalformed Error "proxies.network",
            "this is not a network",
            "write an address and the length of its prefix, such as `10.0.0.0/8` or `2001:db8::/32`, or a single address";
        /// A network with more bits than its prefix.
        NetworkHostBits Error "proxies.network-host-bits",
            "this address has bits behind its prefix, so nobody knows which network is meant",
            "write the first address of the network, such as `10.0.0.0/8`, or one address without a prefix";
        /// Nobody to believe.
        ProxiesMissing Error "proxies.missing",
            "the list of proxies is empty, so nobody is believed",
            "name the networks of the proxies, or remove `App::behind`";
        /// Nothing to believe.
        ProxiesUnsaid Error "proxies.unsaid",
            "nothing here says how the proxies tell who sent a request",
            "add what they are set up to send: `.forwarded()`, `.x_forwarded()` or `.proxy_protocol()`";
        /// Everybody is believed.
        ProxiesEverybody Error "proxies.everybody",
            "this network is everybody, so each client may say that it is another one",
            "name the networks of the proxies; where nobody else can reach the server, add `.dangerous_everybody()`";
        /// A time-out in which nothing can happen.
        ProxyTimeoutZero Error "proxy.timeout-zero",
            "a time-out is longer than zero",
            "write a time such as `Duration::from_secs(10)`, or leave the time-out out";
        /// An authority for an upstream without a certificate.
        ProxyAuthorityUnused Error "proxy.authority-unused",
            "`authority` is about certificates, and this upstream has none",
            "write the upstream with `https://`, or remove `authority`";
        /// An upstream on the open network without TLS.
        UpstreamPlain Warning "proxy.upstream-plain",
            "this upstream is not known to be in a private network, and everybody on the way reads what is sent there",
            "write `https://`";
    }

    refusals {
        /// RFC 3986 4.2: behind the prefix of a proxy the path begins with two slashes.
        ProxyPath 400 "proxy.path", "The path could be taken for another host";
        /// RFC 9110 15.6.3: no connection with the upstream.
        UpstreamUnreachable 502 "proxy.unreachable", "The server behind this one cannot be reached";
        /// RFC 9110 15.6.3: something else than an answer in HTTP.
        UpstreamAnswer 502 "proxy.bad-answer", "The server behind this one gave no valid answer";
        /// RFC 9110 15.6.5: no connection or no answer in time.
        UpstreamTimedOut 504 "proxy.timed-out", "The server behind this one did not answer in time";
    }

    events {
        /// The client has a part of the response.
        UpstreamBrokeOff Warn "proxy.response-broken-off", "the response of an upstream breaks off";
    }
}
