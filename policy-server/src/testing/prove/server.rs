//! The app with its layers, called without a socket.

use std::borrow::Cow;

use axum_core::{body::Body, extract::Request};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use http_body_util::BodyExt;
use tokio::runtime::{Builder, Runtime};

use super::{
    passage::{self, Alteration, WrittenHead},
    probe::{self, ProbeReport, ProbeScript},
};
use crate::{
    auth::AuthService,
    base::problem,
    pipeline::{dispatch::Connection, service::AppService},
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
#[derive(Clone, Debug, Default)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// The code of the problem that it shows, in any format, or that a response to HEAD leaves out.
    pub(super) code: Option<String>,
    /// The report of the handler, if it ran.
    pub(super) report: Option<ProbeReport>,
    /// The principal for whom a handler made the response, now or earlier.
    pub(super) made_for: Option<Box<str>>,
    /// Whether it passed the gates, though a layer of a group or a route may have kept it from the
    /// handler.
    pub(super) is_reached: bool,
    /// Whether there are layers around the app.
    pub(super) is_layered: bool,
    /// Whether the layers left the request as it was; `None` if none let it through.
    pub(super) passed: Option<Result<(), Alteration>>,
    /// The response of the app to this request, before the layers; `None` if none let it through, or
    /// there are none.
    pub(super) inner: Option<WrittenHead>,
    /// This response before the layers, one of which may have cached it from an earlier request;
    /// `None` if a layer made it, or there are none.
    pub(super) written: Option<WrittenHead>,
}

impl Reply {
    /// The code of the problem with which the app itself responded.
    pub(super) fn app_code(&self) -> Option<String> {
        match &self.inner {
            Some(inner) => inner.code.clone(),
            None => self.code.clone(),
        }
    }

    /// A header as text.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The status and the headers that the app itself wrote for this request; `None` if a layer
    /// changed the request, or let none through.
    pub(super) fn app_response(&self) -> Option<(u16, &HeaderMap)> {
        match (&self.passed, &self.inner) {
            (Some(Ok(())), Some(inner)) => Some((inner.status, &inner.headers)),
            (None, None) if !self.is_layered => Some((self.status, &self.headers)),
            _ => None,
        }
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

    /// Sends a request directly to the app, without the layers.
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
        let (report, is_reached) = probe::take_report();
        let is_layered = passage::is_entered();
        let (passed, inner) = passage::take();
        let written = reply.written.or_else(|| inner.clone());
        Some(Reply { report, is_reached, is_layered, passed, inner, written, ..reply })
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
        let response = service.respond(request, Connection::default()).await;
        let response = response.unwrap_or_else(|never| match never {});
        let code = problem::code(&response).map(Cow::into_owned);
        let (mut head, body) = response.into_parts();
        let written = WrittenHead::unmark(&mut head.headers);
        let body = body.collect().await.map(http_body_util::Collected::to_bytes);
        let body = body.unwrap_or_default();
        let made_for = probe::made_for(&body);
        let (status, headers) = (head.status.as_u16(), head.headers);
        Some(Reply { status, headers, body, code, made_for, written, ..Reply::default() })
    }
}
