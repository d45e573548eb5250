//! One tunnel, from its request to its end.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::Arc,
};

use axum_core::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{
    HeaderMap, HeaderValue, Request, StatusCode, Uri,
    header::{AUTHORIZATION, COOKIE, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, WWW_AUTHENTICATE},
    request::Parts,
};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use policy_core::{
    Refusal,
    forwarded::any_contains,
    tunnel::{Host, TunnelTarget, is_special},
};
use tokio::{
    net::{TcpStream, lookup_host},
    runtime::Handle,
};

use super::OpenTunnels;
use crate::{
    auth::sent_credentials::SentCredentials,
    base::{connect::connect_to_any, event::terminal::emit, problem::Problem, relay::relay, task},
    handler::upgrade::OpenStream,
    route::limits::{Permit, UpgradePermits},
};

/// Moves the credential for this server to where the gates read it, and removes those for other
/// servers: a CONNECT is addressed to a proxy (RFC 9110 11.7.2). Behind layers, the schemes of the
/// app read the fields as they were sent.
pub(crate) fn present(parts: &mut Parts) {
    move_credential(&mut parts.headers);
    if let Some(sent) = parts.extensions.get_mut::<SentCredentials>() {
        move_credential(sent.fields_mut());
    }
}

fn move_credential(headers: &mut HeaderMap) {
    headers.remove(AUTHORIZATION);
    headers.remove(COOKIE);
    let credentials: Vec<_> = headers.get_all(PROXY_AUTHORIZATION).iter().cloned().collect();
    headers.remove(PROXY_AUTHORIZATION);
    for value in credentials {
        headers.append(AUTHORIZATION, value);
    }
}

/// Converts a 401 of the gates into the 407 of a proxy.
pub(crate) fn as_proxy(response: Response) -> Response {
    if response.status() != StatusCode::UNAUTHORIZED {
        return response;
    }
    let challenge = response.headers().get(WWW_AUTHENTICATE).cloned();
    let mut response = Problem::from(Refusal::TunnelCredentials).into_response();
    // RFC 9110 15.5.8 requires a challenge; for a scheme without one it is a plain `Bearer`.
    let challenge = challenge.unwrap_or(HeaderValue::from_static("Bearer"));
    response.headers_mut().insert(PROXY_AUTHENTICATE, challenge);
    response
}

impl OpenTunnels {
    /// Connects to the requested target and responds. The tunnel is open from the end of the
    /// response, and at most until `ended` completes.
    pub(crate) async fn open(
        self: Arc<Self>,
        mut request: Request<Body>,
        ended: Pin<Box<dyn Future<Output = ()> + Send>>,
    ) -> Response {
        // The connection cannot be upgraded: it is HTTP/3, or belongs to another server.
        let Some(upgrade) = request.extensions_mut().remove::<OnUpgrade>() else {
            return Problem::from(Refusal::ProtocolUnknown).into_response();
        };
        match self.connect(request.uri().clone()).await {
            Ok((stream, permit)) => self.begin(request, upgrade, stream, permit, ended),
            Err(refusal) => Problem::from(refusal).into_response(),
        }
    }

    async fn connect(&self, uri: Uri) -> Result<(TcpStream, Permit), Refusal> {
        let target = uri.authority().and_then(|authority| TunnelTarget::parse(authority.as_str()));
        let target = target.ok_or(Refusal::TargetForm)?;
        if !self.targets.contains(&target) {
            return Err(Refusal::TunnelTarget);
        }
        let permit = self.at_once.enter().ok_or(Refusal::ConcurrencyExceeded)?;
        let connected = tokio::time::timeout(self.connect_timeout, self.reach(&target)).await;
        let stream = connected.map_err(|_elapsed| Refusal::TunnelTimedOut)??;
        Ok((stream, permit))
    }

    /// Connects to the first permitted address that accepts. It connects to the address and not to
    /// the name, which could resolve to another address by then.
    async fn reach(&self, target: &TunnelTarget) -> Result<TcpStream, Refusal> {
        let mut addresses: Vec<SocketAddr> = match &target.host {
            Host::Address(address) => vec![SocketAddr::new(*address, target.port)],
            Host::Name(name) => {
                let resolved = lookup_host((&**name, target.port)).await;
                resolved.map_err(|error| unreachable(target, &error))?.collect()
            }
        };
        let is_known = !addresses.is_empty();
        addresses.retain(|address| self.may_reach(address.ip()));
        if is_known && addresses.is_empty() {
            return Err(Refusal::TunnelAddress);
        }
        let connected = connect_to_any(&addresses, self.connect_timeout).await;
        connected.map_err(|error| unreachable(target, &error))
    }

    fn may_reach(&self, address: IpAddr) -> bool {
        !is_special(address) || any_contains(&self.private, address)
    }

    fn begin(
        &self,
        mut request: Request<Body>,
        upgrade: OnUpgrade,
        stream: TcpStream,
        permit: Permit,
        ended: Pin<Box<dyn Future<Output = ()> + Send>>,
    ) -> Response {
        // While this lives, the connection of the stream does not count as idle.
        let opened = request.extensions_mut().remove::<OpenStream>();
        let idle = self.idle_timeout;
        let _ = stream.set_nodelay(true);
        let of_request = UpgradePermits::default();
        let held = of_request.clone();
        task::spawn(&Handle::current(), async move {
            match upgrade.await {
                Ok(client) => relay(TokioIo::new(client), stream, Some(idle), ended).await,
                Err(error) => tracing::debug!(%error, "the client of a tunnel went away"),
            }
            drop((permit, held, opened));
        });
        // RFC 9110 9.3.6: no content, and no header that states its length.
        let mut response = StatusCode::OK.into_response();
        response.extensions_mut().insert(of_request);
        response
    }
}

fn unreachable(target: &TunnelTarget, error: &io::Error) -> Refusal {
    let refusal = Refusal::TunnelUnreachable;
    emit(|| tracing::warn!(code = refusal.code(), %target, %error, "{}", refusal.title()));
    refusal
}
