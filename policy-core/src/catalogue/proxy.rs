//! Upstreams that requests are passed to, and the trusted proxies in front.

area! { $ proxy
    rules {
        /// An upstream with another scheme.
        UpstreamScheme Error "proxy.upstream-scheme",
            "the scheme of an upstream must be `http` or `https`",
            "write it in full, such as `http://127.0.0.1:9000`";
        /// An upstream without a valid host.
        UpstreamHost Error "proxy.upstream-host",
            "this does not name a host that can be connected to",
            "write a name or address in lower case, with a port if needed, such as `http://127.0.0.1:9000`";
        /// An upstream with user name or password.
        UpstreamUserInfo Error "proxy.upstream-userinfo",
            "the address of an upstream has no user name or password",
            "remove everything after `//`, up to and including the `@`";
        /// An upstream with a query or a fragment.
        UpstreamQuery Error "proxy.upstream-query",
            "the address of an upstream has no query and no fragment: those come with each request",
            "remove everything from the first `?` or `#`";
        /// A path of an upstream that is not normalised.
        UpstreamPath Error "proxy.upstream-path",
            "the path of an upstream has no empty segments, no `.` or `..`, and no percent codes",
            "write the base path of the upstream, such as `http://127.0.0.1:9000/v1`";
        /// A malformed network.
        NetworkMalformed Error "proxies.network",
            "this is not a network",
            "write an address and the length of its prefix, such as `10.0.0.0/8` or `2001:db8::/32`, or a single address";
        /// A network with bits set after its prefix.
        NetworkHostBits Error "proxies.network-host-bits",
            "this address has bits set after its prefix, so the network is ambiguous",
            "write the first address of the network, such as `10.0.0.0/8`, or one address without a prefix";
        /// Trusted proxies without a network.
        ProxiesMissing Error "proxies.missing",
            "the list of proxies is empty, so no proxy is trusted",
            "name the networks of the proxies, or remove `App::behind`";
        /// Trusted proxies without a format of forwarding information.
        ProxiesUnsaid Error "proxies.unsaid",
            "nothing here says how the proxies pass on the address of the client",
            "add what they are configured to send: `.forwarded()`, `.x_forwarded()` or `.proxy_protocol()`";
        /// A trusted network that contains every address.
        ProxiesEverybody Error "proxies.everybody",
            "this network contains every address, so any client could claim the address of another one",
            "name the networks of the proxies; if only proxies can reach the server, add `.dangerous_everybody()`";
        /// A Unix socket whose peer is not named as a proxy.
        SocketUntrusted Warning "proxies.socket",
            "no proxy is named that states who sends the requests of this Unix socket: clients have no address, and rates by address count all of them together",
            "add `unix` to the proxies, as in `App::behind(Proxies::new([\"unix\"]).x_forwarded())`";
        /// A time-out of zero.
        ProxyTimeoutZero Error "proxy.timeout-zero",
            "a time-out must be longer than zero",
            "write a time such as `Duration::from_secs(10)`, or remove the time-out";
        /// A certificate authority for an upstream without TLS.
        ProxyAuthorityUnused Error "proxy.authority-unused",
            "`authority` verifies certificates, and this upstream does not use TLS",
            "write the upstream with `https://`, or remove `authority`";
        /// An upstream on the open network without TLS.
        UpstreamPlain Warning "proxy.upstream-plain",
            "this upstream may be outside of the private network, and anybody on the path can read what is sent to it",
            "write `https://`";
    }

    refusals {
        /// RFC 3986 4.2: after the prefix of a proxy, the path begins with two slashes.
        ProxyPath 400 "proxy.path", "The path could be read as the name of another host";
        /// RFC 9110 15.6.3: no connection with the upstream.
        UpstreamUnreachable 502 "proxy.unreachable", "The upstream server cannot be reached";
        /// RFC 9110 15.6.3: something else than an HTTP response.
        UpstreamAnswer 502 "proxy.bad-answer", "The upstream server sent an invalid response";
        /// RFC 9110 15.6.5: no connection or no response in time.
        UpstreamTimedOut 504 "proxy.timed-out", "The upstream server did not respond in time";
    }

    events {
        /// The client has received a part of the response.
        UpstreamBrokeOff Warn "proxy.response-broken-off", "the response of an upstream broke off";
    }
}
