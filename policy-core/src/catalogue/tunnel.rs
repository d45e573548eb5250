//! CONNECT.

area! { $ tunnel
    rules {
        /// A malformed target of a tunnel.
        TunnelTarget Error "tunnel.target",
            "this is not a target of a tunnel",
            "write host and port, such as `db.internal.example:5432`, `192.0.2.1:22` or `[2001:db8::1]:443`";
        /// A tunnel without targets.
        TunnelTargetsMissing Error "tunnel.targets-missing",
            "the list of targets is empty, so nobody can use the tunnel",
            "name the targets, or remove `App::tunnel`";
        /// A listed target with a private address that the tunnel does not allow.
        TunnelTargetPrivate Error "tunnel.target-private",
            "this address is local or private, and tunnels reach such addresses only if their network is listed",
            "add its network, such as `.private([\"10.0.0.0/8\"])`";
        /// A limit of zero tunnels.
        TunnelNone Error "tunnel.at-once-zero",
            "with a limit of zero, no tunnel is ever opened",
            "write one or more, such as `at_once(16)`";
        /// Callers that a tunnel cannot tell.
        TunnelCallers Error "tunnel.callers",
            "a tunnel reads `Proxy-Authorization` alone, which carries neither a session nor a ticket, and cannot be optional",
            "write `AuthRequirement::token()` or a scheme, or `Targets::public` for everybody";
        /// A tunnel for everybody.
        TunnelPublic Warning "tunnel.public",
            "everybody may open a tunnel to these targets",
            "restrict this with `Tunnel::auth`, unless everybody who can reach the server may use the tunnel";
    }

    refusals {
        /// RFC 9110 15.5.8: a request for a tunnel without a credential that allows it.
        TunnelCredentials 407 "tunnel.credentials", "The tunnel needs a valid credential";
        /// A target that is not listed.
        TunnelTarget 403 "tunnel.target-not-listed", "The tunnel does not allow this target";
        /// A local or private address that is not listed.
        TunnelAddress 403 "tunnel.address-refused", "The tunnel does not allow the address of the target";
        /// A CONNECT that a page sent.
        TunnelOrigin 403 "tunnel.origin", "No page may open a tunnel";
        /// RFC 9110 15.6.3: the target has no address, or does not take the connection.
        TunnelUnreachable 502 "tunnel.unreachable", "The target cannot be reached";
        /// RFC 9110 15.6.5: the target does not respond.
        TunnelTimedOut 504 "tunnel.timed-out", "The target did not respond in time";
    }
}
