//! Traces: whose trace a request belongs to, and what its span records.

use std::{fmt, sync::Arc};

use http::HeaderMap;
use policy_core::{
    Rule,
    trace::{BAGGAGE, TraceContext, is_credential_parameter, recorded_query},
};
use tracing::Span;

use crate::base::error::StartProblem;

/// What the spans of requests record, and which traces they belong to:
/// [`App::tracing`](crate::App::tracing).
///
/// ```
/// use policy_server::{prelude::*, traces::{TraceParents, Tracing}};
///
/// let tracing = Tracing::new().parents(TraceParents::Nobody).queries(["page", "sort"]);
/// let app = App::new(()).tracing(tracing);
/// # assert!(app.check().is_ok());
/// ```
#[derive(Clone, Default)]
#[must_use = "it is given to `App::tracing`"]
pub struct Tracing {
    parents: TraceParents,
    queries: Vec<Box<str>>,
    tracer: Option<Arc<Tracer>>,
}

type Tracer = dyn Fn(&Span, Option<&RemoteTrace>) -> Option<TraceContext> + Send + Sync;

/// The callers whose `traceparent` ([W3C Trace Context](https://www.w3.org/TR/trace-context-2/)) is the
/// parent of the span of a request. The `traceparent` of any other caller is a link, and decides neither
/// what is recorded nor which trace the request belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceParents {
    /// [Trusted proxies](crate::App::behind).
    #[default]
    Proxies,
    /// Every caller: for a service that only your own services can reach. Each client that reaches
    /// it can have any request recorded, or hidden, and add it to any trace.
    Everybody,
    /// Nobody.
    Nobody,
}

/// What a request states about its trace.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RemoteTrace {
    /// The calling span, which is the parent of the request's span.
    Parent(TraceContext),
    /// The context of a caller whose parent is [not accepted](TraceParents): it is only linked.
    Link(TraceContext),
}

impl Tracing {
    /// Trusted proxies are parents, queries are not recorded, and spans have no tracer.
    pub fn new() -> Self {
        Self::default()
    }

    /// The callers whose `traceparent` is a parent: by default trusted proxies.
    pub fn parents(self, parents: TraceParents) -> Self {
        Self { parents, ..self }
    }

    /// Records these parameters of queries as `url.query`, the first 256 characters of them. By
    /// default nothing of a query is recorded.
    ///
    /// Names are compared by bytes, and the other parameters are left out. A name that may be that
    /// of a credential, such as `ticket`, `token`, `sig` or `code`, stops the start
    /// (`app.traced-credential`).
    pub fn queries<N: Into<Box<str>>>(self, names: impl IntoIterator<Item = N>) -> Self {
        Self { queries: names.into_iter().map(Into::into).collect(), ..self }
    }

    /// Connects the span of each request with a tracing system. `tracer` gets the new span before
    /// it is entered, and what the request states about its trace: with `tracing-opentelemetry`, it
    /// calls `set_parent` or `add_link`. It returns the context of that span: handlers, mounted
    /// services and upstreams get it as `traceparent` and `tracestate`, and the access log has its
    /// ids.
    ///
    /// It is called only if a subscriber records the span. If it returns `None`, or there is no
    /// tracer, an accepted parent is passed on unchanged, and the context of any other caller is
    /// not.
    ///
    /// The guide (`how-to/traces`) and `examples/operate` have a complete tracer.
    ///
    /// ```
    /// use policy_server::{prelude::*, traces::{RemoteTrace, TraceContext, Tracing}};
    ///
    /// #[get("/trace")]
    /// #[auth(public)]
    /// async fn trace(headers: policy_server::http::HeaderMap) -> String {
    ///     // The same for a request of your own: `context.write(&mut headers)`.
    ///     TraceContext::read(&headers).map(|context| context.to_string()).unwrap_or_default()
    /// }
    ///
    /// let tracing = Tracing::new().tracer(|span, remote| {
    ///     if let Some(RemoteTrace::Parent(parent)) = remote {
    ///         // `span.set_parent(..)`
    ///     }
    ///     // The ids that the tracing system gave to the span.
    ///     TraceContext::new([1; 16], [2; 8], TraceContext::SAMPLED)
    /// });
    /// let app = App::new(()).tracing(tracing).routes(routes![trace]);
    /// # assert!(app.check().is_ok());
    /// ```
    pub fn tracer(
        self,
        tracer: impl Fn(&Span, Option<&RemoteTrace>) -> Option<TraceContext> + Send + Sync + 'static,
    ) -> Self {
        Self { tracer: Some(Arc::new(tracer)), ..self }
    }

    /// The parameters that must not be recorded.
    pub(crate) fn problems(&self) -> impl Iterator<Item = StartProblem> {
        let credentials = self.queries.iter().filter(|name| is_credential_parameter(name));
        credentials
            .map(|name| StartProblem::new(Rule::TracedCredential, "App::tracing", name.to_string()))
    }

    /// What is recorded of a query.
    pub(crate) fn query(&self, query: &str) -> Option<String> {
        recorded_query(query, &self.queries)
    }

    /// Takes what a request states about its trace. Baggage stays if its sender is accepted.
    pub(crate) fn take(&self, headers: &mut HeaderMap, is_trusted: bool) -> Option<RemoteTrace> {
        let is_accepted = match self.parents {
            TraceParents::Proxies => is_trusted,
            TraceParents::Everybody => true,
            TraceParents::Nobody => false,
        };
        let context = TraceContext::read(headers);
        TraceContext::remove(headers);
        if !is_accepted {
            headers.remove(BAGGAGE);
        }
        context.map(if is_accepted { RemoteTrace::Parent } else { RemoteTrace::Link })
    }

    /// Passes a new span to the tracer. Returns the context for the calls that the request makes.
    #[inline(always)]
    pub(crate) fn begin(&self, span: &Span, remote: Option<RemoteTrace>) -> Option<TraceContext> {
        match (span.is_disabled(), &remote) {
            (true, None) => None,
            _ => self.context(span, remote),
        }
    }

    fn context(&self, span: &Span, remote: Option<RemoteTrace>) -> Option<TraceContext> {
        let tracer = self.tracer.as_ref().filter(|_| !span.is_disabled());
        let own = tracer.and_then(|tracer| tracer(span, remote.as_ref()));
        own.or(match remote {
            Some(RemoteTrace::Parent(parent)) => Some(parent),
            Some(RemoteTrace::Link(_)) | None => None,
        })
    }
}

impl fmt::Debug for Tracing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { parents, queries, tracer } = self;
        let mut debug = f.debug_struct("Tracing");
        debug.field("parents", parents).field("queries", queries);
        debug.field("has_tracer", &tracer.is_some()).finish()
    }
}
