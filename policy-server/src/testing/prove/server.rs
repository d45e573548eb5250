//! The app with its layers, called without a socket.

use axum_core::{body::Body, extract::Request};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use http_body_util::BodyExt;
use tokio::runtime::{Builder, Runtime};

use super::probe::{self, ProbeReport, ProbeScript};
use crate::{auth::AuthService, pipeline::service::AppService};

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
    host: HeaderValue,
    runtime: Runtime,
}

impl Server {
    /// `None` if no runtime can be started, or `own` is not an origin.
    pub(super) fn new(service: &AppService, own: &str) -> Option<Self> {
        let runtime = Builder::new_current_thread().enable_all().build().ok()?;
        let (_, host) = own.split_once("://")?;
        let host = HeaderValue::from_str(host).ok()?;
        Some(Self { service: service.clone(), host, runtime })
    }

    pub(super) fn guard(&self) -> &AuthService {
        &self.service.app().auth
    }

    pub(super) fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// Sends a request; the handler that it reaches follows `script`.
    pub(super) fn ask(&self, sent: &ProbeRequest, script: ProbeScript) -> Option<Reply> {
        let mut request = Request::new(Body::from(sent.body.clone()));
        *request.method_mut() = sent.method.clone();
        *request.uri_mut() = sent.target.parse().ok()?;
        *request.headers_mut() = sent.headers.clone();
        request.headers_mut().insert(header::HOST, self.host.clone());
        probe::program(script);
        let (head, body) = self.runtime.block_on(async {
            let response = self.service.respond(request, None).await;
            let (head, body) = response.unwrap_or_else(|never| match never {}).into_parts();
            let body = body.collect().await.map(http_body_util::Collected::to_bytes);
            (head, body.unwrap_or_default())
        });
        let report = probe::take_report();
        Some(Reply { status: head.status.as_u16(), headers: head.headers, body, report })
    }
}
