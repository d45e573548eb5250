//! CONNECT.

area! { $ tunnel
    rules {
        /// A target of a tunnel that is none.
        TunnelTarget Error "tunnel.target",
            "this is not a target",
            "write host and port, such as `db.internal.example:5432`, `192.0.2.1:22` or `[2001:db8::1]:443`";
        /// A tunnel that leads nowhere.
        TunnelTargetsMissing Error "tunnel.targets-missing",
            "the list of targets is empty, so the tunnel leads nowhere",
            "name the targets, or remove `App::tunnel`";
        /// A target that no tunnel would be opened to.
        TunnelTargetPrivate Error "tunnel.target-private",
            "this address is one of this machine or its neighbours, and such are reached only where they are listed",
            "add its network, such as `.private([\"10.0.0.0/8\"])`";
        /// No tunnel at once.
        TunnelNone Error "tunnel.at-once-zero",
            "with no tunnel open at once, none is ever opened",
            "write one or more, such as `at_once(16)`";
        /// A tunnel for everybody.
        TunnelPublic Warning "tunnel.public",
            "everybody may open a tunnel to these targets",
            "say who may with `Tunnel::auth`, unless everybody who reaches the server is meant";
    }

    refusals {
        /// RFC 9110 15.5.8: a tunnel, and no credential that opens it.
        TunnelCredentials 407 "tunnel.credentials", "The tunnel needs a valid credential";
        /// A target that is not listed.
        TunnelTarget 403 "tunnel.target-not-listed", "The tunnel does not lead there";
        /// An address of this machine or its neighbours that is not listed.
        TunnelAddress 403 "tunnel.address-refused", "The tunnel does not lead to the address of the target";
        /// A page behind a CONNECT.
        TunnelOrigin 403 "tunnel.origin", "No page may open a tunnel";
        /// RFC 9110 15.6.3: the target has no address, or does not take the connection.
        TunnelUnreachable 502 "tunnel.unreachable", "The target cannot be reached";
        /// RFC 9110 15.6.5: the target does not answer.
        TunnelTimedOut 504 "tunnel.timed-out", "The target did not answer in time";
    }
}
