//! CONNECT tunnels to listed hosts.

mod open;

use std::{fmt, sync::Arc, time::Duration};

use policy_core::{
    Rule,
    forwarded::{IpNetwork, any_contains},
    tunnel::{Host, TunnelTarget, is_special},
};

use crate::{app::tunnel::Tunnel, base::error::StartProblem, route::limits::Concurrency};

pub(crate) use open::{as_proxy, present};

impl Tunnel {
    /// The checked tunnel, or all its problems.
    pub(crate) fn check(self) -> Result<OpenTunnels, Vec<StartProblem>> {
        let mut problems = Vec::new();
        let mut problem = |rule, value: &str| {
            problems.push(StartProblem::new(rule, "App::tunnel", value));
        };
        let (mut private, mut targets) = (Vec::new(), Vec::new());
        for text in &self.private {
            match IpNetwork::parse(text) {
                Ok(network) => private.push(network),
                Err(rule) => problem(rule, text),
            }
        }
        if self.targets.is_empty() {
            problem(Rule::TunnelTargetsMissing, "[]");
        }
        for text in &self.targets {
            match TunnelTarget::parse(text) {
                None => problem(Rule::TunnelTarget, text),
                Some(TunnelTarget { host: Host::Address(address), .. })
                    if is_special(address) && !any_contains(&private, address) =>
                {
                    problem(Rule::TunnelTargetPrivate, text);
                }
                Some(target) => targets.push(target),
            }
        }
        if self.max_tunnels == 0 {
            problem(Rule::TunnelNone, "0");
        }
        for (name, timeout) in
            [("connect_timeout", self.connect_timeout), ("idle_timeout", self.idle_timeout)]
        {
            if timeout.is_zero() {
                problem(Rule::ProxyTimeoutZero, name);
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(OpenTunnels {
            targets,
            private,
            connect_timeout: self.connect_timeout,
            idle_timeout: self.idle_timeout,
            at_once: Concurrency::new(self.max_tunnels),
        })
    }
}

#[derive(Debug)]
pub(crate) struct OpenTunnels {
    targets: Vec<TunnelTarget>,
    private: Vec<IpNetwork>,
    connect_timeout: Duration,
    idle_timeout: Duration,
    at_once: Arc<Concurrency>,
}

impl fmt::Display for OpenTunnels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let targets: Vec<_> = self.targets.iter().map(ToString::to_string).collect();
        f.write_str(&targets.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_errors_are_reported_together() {
        let codes = |tunnel: Tunnel| -> Vec<_> {
            let problems = tunnel.check().err().unwrap_or_default();
            problems.iter().map(StartProblem::code).collect()
        };
        assert_eq!(codes(Tunnel::to(["a.example:1", "93.184.216.34:22"]).public()), [""; 0]);
        assert_eq!(codes(Tunnel::to([""; 0]).public()), ["tunnel.targets-missing"]);
        let wrong = Tunnel::to(["a.example", "10.0.0.1:22", "[::1]:80"]).public();
        let wrong = wrong.connect_timeout(Duration::ZERO).idle_timeout(Duration::ZERO);
        assert_eq!(
            codes(wrong.private(["10.0.0.1/8", "fd00::/8"]).max_tunnels(0)),
            [
                "proxies.network-host-bits",
                "tunnel.target",
                "tunnel.target-private",
                "tunnel.target-private",
                "tunnel.limit-zero",
                "proxy.timeout-zero",
                "proxy.timeout-zero"
            ]
        );
        let listed = Tunnel::to(["10.0.0.1:22"]).public().private(["10.0.0.0/8"]);
        assert_eq!(codes(listed), [""; 0]);
    }
}
