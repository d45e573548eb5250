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

use axum_core::response::{IntoResponse, Response};
use policy_core::{Refusal, cache::Happened};
use tokio::{
    runtime::Handle,
    time::{Sleep, sleep},
};
use tracing::Span;

use crate::{
    auth::{Commit, RequestAuth, Settled, session::Outcome},
    base::{event::log, problem::Problem},
    handler::BoxFuture,
    observe::exchange::Exchange,
    pipeline::{request_body::BodyProgress, respond::Finish},
};

/// An answer in the making. What a gate answers is ready at once; a handler is run, its panic
/// caught and its time measured. Either way the answer carries the policy of its route.
pub struct ResponseFuture(Stage);

enum Stage {
    Ready(Option<Response>),
    Running(Running),
    /// An app inside of layers: the answer is finished already.
    Layered(BoxFuture),
    /// One whose operator wants to know of it.
    Observed(Box<(ResponseFuture, Option<Exchange>)>),
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

    pub(crate) fn observed(self, exchange: Exchange) -> Self {
        Self(Stage::Observed(Box::new((self, Some(exchange)))))
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
            Stage::Observed(observed) => {
                let (answer, exchange) = &mut **observed;
                Pin::new(answer).poll(context).map_ok(|response| match exchange.take() {
                    Some(exchange) => exchange.answered(response),
                    None => response,
                })
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
    Committing(Commit),
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
                None => Settled::Ready(response, Happened::default()),
            };
            match settled {
                Settled::Ready(response, happened) => {
                    return Poll::Ready(self.finished(response, happened));
                }
                Settled::Later(commit) => self.stage = Work::Committing(commit),
            }
        }
        let Work::Committing(commit) = &mut self.stage else { return Poll::Pending };
        let (response, happened) =
            match catch_unwind(AssertUnwindSafe(|| commit.as_mut().poll(context))) {
                Ok(Poll::Pending) => return Poll::Pending,
                Ok(Poll::Ready(settled)) => settled,
                Err(panic) => (panicked(&*panic), Happened::default()),
            };
        self.stage = Work::Done;
        Poll::Ready(self.finished(response, happened))
    }

    fn finished(&mut self, response: Response, happened: Happened) -> Response {
        let response = match self.finish.take() {
            Some(finish) => finish.apply(response, happened),
            None => response,
        };
        self.span.record("status", response.status().as_u16());
        response
    }

    fn timed_out(&self) -> Response {
        let refusal =
            if self.body.is_pending() { Refusal::BodyTimedOut } else { Refusal::HandlerTimedOut };
        self.span.record("code", refusal.code());
        tracing::warn!(code = refusal.code(), "{}", refusal.title());
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
                    Settled::Ready(..) => return,
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
    log!(HandlerPanicked, panic = %text.unwrap_or("no message").escape_debug());
    Problem::from(Refusal::Internal).into_response()
}
