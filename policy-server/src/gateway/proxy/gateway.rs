//! A proxy with checked settings.

use std::{fs, sync::Arc};

use policy_core::{
    Rule,
    reverse_proxy::{Mapping, Upstream},
};

use super::{connector::Transport, pool::Pool};
use crate::{
    app::proxy::{ReverseProxy, Timeouts},
    base::error::StartProblem,
};

/// Forwards requests to one upstream.
pub(crate) struct Gateway {
    pub(super) mapping: Mapping,
    pub(super) pool: Arc<Pool>,
    /// HTTP/1.1 connections, each for one WebSocket.
    pub(super) websockets: Arc<Pool>,
    pub(super) timeouts: Timeouts,
    pub(super) forwards_session: bool,
}

impl Gateway {
    /// Checks the settings of a proxy. Reads the CA file; connects to nothing.
    pub(crate) fn new(location: &str, proxy: &ReverseProxy) -> Result<Self, Vec<StartProblem>> {
        let mut problems = Vec::new();
        let mut problem =
            |rule, value: &str| problems.push(StartProblem::new(rule, location, value));
        let Timeouts { connect, response, idle } = proxy.timeouts;
        for (name, timeout) in
            [("connect_timeout", connect), ("answer_timeout", response), ("idle_timeout", idle)]
        {
            if timeout.is_zero() {
                problem(Rule::ProxyTimeoutZero, name);
            }
        }
        let upstream = Upstream::parse(&proxy.upstream)
            .map_err(|rule| StartProblem::new(rule, location, &*proxy.upstream));
        let is_plain = upstream.as_ref().is_ok_and(|upstream| !upstream.has_tls());
        if is_plain && proxy.root_certificates.is_some() {
            problem(Rule::ProxyAuthorityUnused, &proxy.upstream);
        }
        let pem = proxy.root_certificates.as_ref().map(|path| {
            fs::read(path).map_err(|error| {
                let path = path.display().to_string();
                StartProblem::new(Rule::TlsFile, location, path).caused_by(error)
            })
        });
        let opened = match (upstream, pem.transpose()) {
            (Ok(upstream), Ok(pem)) => Transport::new(&upstream, pem.as_deref(), connect)
                .map(|transport| (upstream, transport))
                .map_err(|problem| vec![problem.at(location, &*proxy.upstream)]),
            (upstream, pem) => Err(upstream.err().into_iter().chain(pem.err()).collect()),
        };
        let (upstream, transport) = match opened {
            Ok(opened) if problems.is_empty() => opened,
            opened => {
                problems.extend(opened.err().into_iter().flatten());
                return Err(problems);
            }
        };
        let pool = Pool::new(&upstream, transport.connector(proxy.is_http2), true);
        let websockets = Pool::new(&upstream, transport.connector_of_websockets(), false);
        let mapping = Mapping::new(&proxy.prefix, upstream);
        Ok(Self {
            mapping: if proxy.strips { mapping.strip_prefix() } else { mapping },
            pool: Arc::new(pool),
            websockets: Arc::new(websockets),
            timeouts: proxy.timeouts,
            forwards_session: proxy.forwards_session,
        })
    }

    /// A notice about settings of the upstream that are permitted but unusual.
    pub(crate) fn notice(&self) -> Option<StartProblem> {
        let upstream = self.mapping.upstream();
        (!upstream.has_tls() && !upstream.is_nearby()).then(|| {
            let (prefix, authority) = (self.mapping.prefix(), upstream.authority());
            let location = format!("proxy {prefix}");
            StartProblem::new(Rule::UpstreamPlain, location, format!("http://{authority}"))
        })
    }
}
