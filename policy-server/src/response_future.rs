//! The way from a handler to an answer that has its policy.

use std::{
    any::Any,
    convert::Infallible,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum_core::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header::CONTENT_LENGTH};
use http_body::Body as _;
use policy_core::{
    Refusal,
    cors::{Cors, Grant, finish_without_cors},
};
use tokio::{
    runtime::Handle,
    time::{Sleep, sleep},
};
use tracing::Span;

use crate::{
    body::BodyProgress,
    guard::{Guard, RequestAuth, Settled},
    handler::BoxFuture,
    problem::Problem,
    session::Outcome,
};

/// An answer in the making. What a gate answers is ready at once; a handler is run, its panic
/// caught and its time measured. Either way the answer carries the policy of its route.
pub struct ResponseFuture(Stage);

enum Stage {
    Ready(Option<Response>),
    Running(Running),
    /// An app inside of layers: the answer is finished already.
    Layered(BoxFuture),
}

impl ResponseFuture {
    pub(crate) fn ready(response: Response) -> Self {
        Self(Stage::Ready(Some(response)))
    }

    pub(crate) fn running(running: Running) -> Self {
        Self(Stage::Running(running))
    }

    pub(crate) fn boxed(answer: BoxFuture) -> Self {
        Self(Stage::Layered(answer))
    }
}

impl Future for ResponseFuture {
    type Output = Result<Response, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Stage::Ready(response) => Poll::Ready(Ok(response.take().unwrap_or_default())),
            Stage::Running(running) => running.poll(context).map(Ok),
            Stage::Layered(answer) => {
                let answer = catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(context)));
                answer.unwrap_or_else(|panic| Poll::Ready(panicked(&*panic))).map(Ok)
            }
        }
    }
}

impl fmt::Debug for ResponseFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResponseFuture")
    }
}

/// A handler at work.
pub(crate) struct Running {
    stage: Work,
    finish: Option<Finish>,
    auth: Option<Arc<RequestAuth>>,
    body: BodyProgress,
    timeout: Duration,
    /// Armed when the handler first waits: most are done before.
    deadline: Option<Pin<Box<Sleep>>>,
    span: Span,
}

enum Work {
    /// The gates that wait, and the handler.
    Answering(BoxFuture),
    /// The session is being written. No time-out cuts this off.
    Committing(BoxFuture),
    Done,
}

impl Running {
    pub(crate) fn new(
        answer: BoxFuture,
        finish: Finish,
        auth: Option<Arc<RequestAuth>>,
        body: BodyProgress,
        timeout: Duration,
        span: Span,
    ) -> Self {
        let stage = Work::Answering(answer);
        Self { stage, finish: Some(finish), auth, body, timeout, deadline: None, span }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Response> {
        let span = self.span.clone();
        let _entered = span.enter();
        if let Work::Answering(answer) = &mut self.stage {
            let answer = catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(context)));
            let (response, outcome) = match answer {
                Ok(Poll::Ready(response)) => {
                    let status = response.status();
                    (response, Outcome::Answered(status))
                }
                Ok(Poll::Pending) => {
                    let timeout = self.timeout;
                    let deadline = self.deadline.get_or_insert_with(|| Box::pin(sleep(timeout)));
                    if deadline.as_mut().poll(context).is_pending() {
                        return Poll::Pending;
                    }
                    (self.timed_out(), Outcome::Lost)
                }
                Err(panic) => (panicked(&*panic), Outcome::Lost),
            };
            self.stage = Work::Done;
            let settled = match self.auth.take() {
                Some(auth) => auth.settle(response, outcome),
                None => Settled::Ready(response),
            };
            match settled {
                Settled::Ready(response) => return Poll::Ready(self.finished(response)),
                Settled::Later(commit) => self.stage = Work::Committing(commit),
            }
        }
        let Work::Committing(commit) = &mut self.stage else { return Poll::Pending };
        let response = match catch_unwind(AssertUnwindSafe(|| commit.as_mut().poll(context))) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(response)) => response,
            Err(panic) => panicked(&*panic),
        };
        self.stage = Work::Done;
        Poll::Ready(self.finished(response))
    }

    fn finished(&mut self, response: Response) -> Response {
        self.span.record("status", response.status().as_u16());
        match self.finish.take() {
            Some(finish) => finish.apply(response),
            None => response,
        }
    }

    fn timed_out(&self) -> Response {
        let refusal =
            if self.body.is_pending() { Refusal::BodyTimedOut } else { Refusal::HandlerTimedOut };
        self.span.record("code", refusal.code());
        tracing::warn!(code = refusal.code(), "request timed out");
        Problem::from(refusal).into_response()
    }
}

/// The client is gone. A logout that it asked for happens all the same, and a commit that has
/// begun is not left half done.
impl Drop for Running {
    fn drop(&mut self) {
        let commit = match std::mem::replace(&mut self.stage, Work::Done) {
            Work::Committing(commit) => commit,
            Work::Answering(_) => {
                let Some(auth) = self.auth.take().filter(|auth| auth.takes_rights_away()) else {
                    return;
                };
                match auth.settle(Response::default(), Outcome::Lost) {
                    Settled::Ready(_) => return,
                    Settled::Later(commit) => commit,
                }
            }
            Work::Done => return,
        };
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(commit);
        }
    }
}

/// The answer in place of a handler's.
pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Response {
    Span::current().record("code", Refusal::Internal.code());
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    tracing::error!(
        code = Refusal::Internal.code(),
        panic = %text.unwrap_or("no message").escape_debug(),
        "handler panicked"
    );
    Problem::from(Refusal::Internal).into_response()
}

/// What the last gate writes onto an answer.
#[derive(Debug)]
pub(crate) struct Finish {
    cors: Option<Arc<Cors>>,
    grant: Grant,
    is_head: bool,
    /// Where nobody settles the session of the request, and a handler could set its cookie.
    guard: Option<Arc<Guard>>,
}

impl Finish {
    pub(crate) fn new(method: &Method, cors: Option<&Arc<Cors>>, grant: Grant) -> Self {
        Self { cors: cors.map(Arc::clone), grant, is_head: method == Method::HEAD, guard: None }
    }

    /// Keeps the handler's hands off the cookie of the sessions.
    pub(crate) fn keeping_cookie(mut self, guard: &Arc<Guard>) -> Self {
        self.guard = Some(Arc::clone(guard));
        self
    }

    pub(crate) fn apply(self, mut response: Response) -> Response {
        if let Some(guard) = &self.guard {
            guard.keep_cookie(response.headers_mut());
        }
        match &self.cors {
            Some(cors) => cors.finish(self.grant, response.headers_mut()),
            None => finish_without_cors(response.headers_mut()),
        }
        if self.is_head { without_body(response) } else { response }
    }
}

/// An answer of these headers and nothing else, such as that to an allowed preflight.
pub(crate) fn without_content(status: StatusCode, headers: HeaderMap) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// The answer to HEAD: GET's, its length included, without the body (RFC 9110 9.3.2). A status
/// that has no content says no length (RFC 9110 8.6).
fn without_body(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    let has_content = !parts.status.is_informational()
        && !matches!(parts.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    if has_content
        && let Some(length) = body.size_hint().exact()
        && !parts.headers.contains_key(CONTENT_LENGTH)
    {
        parts.headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    Response::from_parts(parts, Body::empty())
}
