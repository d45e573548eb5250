//! The app with its layers, called without a socket.

use axum_core::{body::Body, extract::Request};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use http_body_util::BodyExt;
use tokio::runtime::{Builder, Runtime};

use super::{
    passage::{self, Alteration},
    probe::{self, ProbeReport, ProbeScript},
};
use crate::{
    auth::AuthService,
    pipeline::{response_future::FirstPoll, service::AppService},
};

/// A request to the app.
#[derive(Clone, Debug)]
pub(super) struct ProbeRequest {
    pub(super) method: Method,
    /// Path and query.
    pub(super) target: String,
    /// Without `Host`.
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// The response of the app.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// The report of the handler, if it ran.
    pub(super) report: Option<ProbeReport>,
    /// For which principal a handler made the response, now or earlier.
    pub(super) made_for: Option<Box<str>>,
    /// Whether the layers left the request as it was; `None` if none let it through.
    pub(super) passed: Option<Result<(), Alteration>>,
}

impl Reply {
    /// A header as text.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// A running app, in one thread.
pub(super) struct Server {
    service: AppService,
    /// Without its layers.
    bare: AppService,
    host: HeaderValue,
    runtime: Runtime,
}

impl Server {
    /// `None` if no runtime can be started, or `own` is not an origin.
    pub(super) fn new(service: &AppService, own: &str) -> Option<Self> {
        let runtime = Builder::new_current_thread().enable_all().build().ok()?;
        let (_, host) = own.split_once("://")?;
        let host = HeaderValue::from_str(host).ok()?;
        let bare = service.without_layers().unwrap_or_else(|| service.clone());
        Some(Self { service: service.clone(), bare, host, runtime })
    }

    pub(super) fn guard(&self) -> &AuthService {
        &self.service.app().auth
    }

    pub(super) fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// Sends a request; the handler that it reaches follows `script`.
    pub(super) fn ask(&self, sent: &ProbeRequest, script: ProbeScript) -> Option<Reply> {
        self.ask_service(&self.service, sent, script)
    }

    /// Sends it past the layers.
    pub(super) fn ask_bare(&self, sent: &ProbeRequest, script: ProbeScript) -> Option<Reply> {
        self.ask_service(&self.bare, sent, script)
    }

    fn ask_service(
        &self,
        service: &AppService,
        sent: &ProbeRequest,
        script: ProbeScript,
    ) -> Option<Reply> {
        probe::program(script);
        passage::forget();
        let reply = self.runtime.block_on(self.respond(service, sent))?;
        Some(Reply { report: probe::take_report(), passed: passage::take(), ..reply })
    }

    /// Sends two requests at the same time. Which handler ran for which is not known.
    pub(super) fn ask_both(
        &self,
        [first, second]: &[ProbeRequest; 2],
        script: ProbeScript,
    ) -> [Option<Reply>; 2] {
        probe::program(ProbeScript { is_slow: true, ..script });
        let first = self.respond(&self.service, first);
        let second = self.respond(&self.service, second);
        self.runtime.block_on(futures_util::future::join(first, second)).into()
    }

    async fn respond(&self, service: &AppService, sent: &ProbeRequest) -> Option<Reply> {
        let mut request = Request::new(Body::from(sent.body.clone()));
        *request.method_mut() = sent.method.clone();
        *request.uri_mut() = sent.target.parse().ok()?;
        *request.headers_mut() = sent.headers.clone();
        request.headers_mut().insert(header::HOST, self.host.clone());
        let response = service.respond(request, None, None, FirstPoll::Later).await;
        let (head, body) = response.unwrap_or_else(|never| match never {}).into_parts();
        let body = body.collect().await.map(http_body_util::Collected::to_bytes);
        let body = body.unwrap_or_default();
        let made_for = probe::made_for(&body);
        let (status, headers) = (head.status.as_u16(), head.headers);
        Some(Reply { status, headers, body, report: None, made_for, passed: None })
    }
}
