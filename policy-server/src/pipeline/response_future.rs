//! From a started handler to a response that carries its policy.

use std::{
    any::Any,
    convert::Infallible,
    fmt,
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker, ready},
    thread,
    time::Duration,
};

use axum_core::response::{IntoResponse, Response};
use policy_core::{Refusal, cache::ResponseFacts};
use tokio::runtime::Handle;
use tracing::Span;

use super::{dispatch::StartedResponse, gates::body::BodyProgress, respond::ResponsePolicy};
#[cfg(feature = "metrics")]
use crate::observe::metrics::{MeasuredRequest, Meter, ReceivedRequest};
use crate::{
    auth::{Commit, RequestAuth, SettledResponse, session::HandlerOutcome},
    base::{
        event::{log, terminal::emit},
        kept_timer::KeptTimer,
        problem::Problem,
        task,
    },
    handler::BoxFuture,
    observe::{observation::Observation, span},
};

/// The response of an app, as a future. The response of a gate is ready at once; a handler is run,
/// its panic caught and its time measured. Both carry the policy of their route.
pub struct ResponseFuture(Stage);

enum Stage {
    Ready(Option<Response>),
    /// Boxed, since most requests are done before this stage.
    Running(Box<Running>),
    /// The future of an app with layers; it yields a finished response.
    Layered(BoxFuture),
    /// A future whose outcome is logged or measured.
    Observed(Box<(ResponseFuture, Option<Observation>)>),
}

/// When a handler is first polled.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum FirstPoll {
    /// When the service is called, ahead of the task. Most handlers do not wait and are done then:
    /// nothing of their request is left when the connection reads on, so that it can reuse the
    /// buffer of the request. A handler that waits is polled again with the waker of its task.
    InCall,
    /// When the future is polled.
    #[default]
    Later,
}

impl ResponseFuture {
    pub(crate) fn ready(response: Response) -> Self {
        Self(Stage::Ready(Some(response)))
    }

    /// The response to a request that has begun: a response, or what it waits for.
    pub(crate) fn new(
        begun: thread::Result<ControlFlow<Response, Work>>,
        policy: ResponsePolicy,
        auth: Option<Arc<RequestAuth>>,
        body: BodyProgress,
        timeout: Duration,
        span: &Span,
    ) -> Self {
        let settled = match begun {
            Ok(ControlFlow::Break(response)) => settle(auth, Ok(response)),
            Err(panic) => settle(auth, Err(panicked(&*panic))),
            Ok(ControlFlow::Continue(work)) => {
                return Self::running(Running::new(work, policy, auth, body, timeout, span));
            }
        };
        match settled {
            SettledResponse::Ready(response, facts) => {
                Self::ready(finished(Some(policy), response, facts, span))
            }
            SettledResponse::Later(commit) => {
                let work = Work::Committing(commit);
                Self::running(Running::new(work, policy, None, body, timeout, span))
            }
        }
    }

    fn running(running: Running) -> Self {
        Self(Stage::Running(Box::new(running)))
    }

    pub(crate) fn boxed(response: BoxFuture) -> Self {
        Self(Stage::Layered(response))
    }

    /// The timer of a request that waits. Its connection puts a kept timer into it, and takes it
    /// back for the next request.
    pub(crate) fn timer(&mut self) -> Option<&mut KeptTimer> {
        match &mut self.0 {
            Stage::Running(running) => Some(&mut running.timer),
            Stage::Observed(observed) => observed.0.timer(),
            Stage::Ready(_) | Stage::Layered(_) => None,
        }
    }

    /// Measures the request by the metrics of the app, if it has any: now if its response is ready, else
    /// when it is.
    #[cfg(feature = "metrics")]
    #[inline(always)]
    pub(crate) fn measured(
        mut self,
        request: Option<&(&Arc<Meter>, ReceivedRequest)>,
        route: usize,
    ) -> Self {
        if let Some((meter, request)) = request {
            match &mut self.0 {
                Stage::Ready(Some(response)) => meter.on_response(request, route, response),
                Stage::Running(running) => {
                    running.measured = Some(MeasuredRequest::waiting(meter, *request, route));
                }
                Stage::Ready(None) | Stage::Layered(_) | Stage::Observed(_) => (),
            }
        }
        self
    }

    pub(crate) fn observed(self, observation: Observation) -> Self {
        Self(Stage::Observed(Box::new((self, Some(observation)))))
    }
}

impl Future for ResponseFuture {
    type Output = Result<Response, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Stage::Ready(response) => Poll::Ready(Ok(response.take().unwrap_or_default())),
            Stage::Running(running) => running.poll(context).map(Ok),
            Stage::Layered(response) => {
                let polled = catch_unwind(AssertUnwindSafe(|| response.as_mut().poll(context)));
                polled.unwrap_or_else(|panic| Poll::Ready(panicked(&*panic))).map(Ok)
            }
            Stage::Observed(observed) => {
                let (future, observation) = &mut **observed;
                Pin::new(future).poll(context).map_ok(|response| match observation.take() {
                    Some(observation) => observation.on_response(response),
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

/// A request being processed.
struct Running {
    stage: Work,
    policy: Option<ResponsePolicy>,
    auth: Option<Arc<RequestAuth>>,
    body: BodyProgress,
    timeout: Duration,
    timer: KeptTimer,
    /// Whether the timer is set: when the handler first waits, since most handlers never do.
    has_deadline: bool,
    span: Span,
    #[cfg(feature = "metrics")]
    measured: Option<MeasuredRequest>,
}

/// How far a request got without waiting.
pub(crate) enum Begun {
    /// A gate is waiting for a store, a scheme or a body.
    Gates(BoxedGates),
    /// All gates are passed, or one refused.
    Started(StartedResponse),
}

impl Begun {
    /// Polls the target, if `first_poll` says so: its response, or what has to be polled later.
    pub(crate) fn poll_first(
        self,
        policy: &mut ResponsePolicy,
        first_poll: FirstPoll,
    ) -> ControlFlow<Response, Work> {
        let mut target = match self {
            Self::Gates(gates) => return ControlFlow::Continue(Work::Gates(gates)),
            Self::Started(started) => started.note(Some(policy)),
        };
        if let FirstPoll::InCall = first_poll {
            let mut context = Context::from_waker(Waker::noop());
            if let Poll::Ready(response) = target.as_mut().poll(&mut context) {
                return ControlFlow::Break(response);
            }
        }
        ControlFlow::Continue(Work::Target(target))
    }
}

/// The gates as a future.
pub(crate) type BoxedGates = Pin<Box<dyn Future<Output = StartedResponse> + Send>>;

/// A preflight that asks a service for its methods. The response to a granted one is complete.
pub(crate) type BoxedPreflight = Pin<Box<dyn Future<Output = Result<Response, Refusal>> + Send>>;

/// What a request is waiting for.
pub(crate) enum Work {
    Gates(BoxedGates),
    Target(BoxFuture),
    Preflight(BoxedPreflight),
    /// The session is being written. The time-out does not interrupt this.
    Committing(Commit),
    Done,
}

/// Commits the session of a request whose target is done. An `Err` is the response if the target
/// did not complete.
fn settle(auth: Option<Arc<RequestAuth>>, done: Result<Response, Response>) -> SettledResponse {
    let (response, outcome) = match done {
        Ok(response) => {
            let status = response.status();
            (response, HandlerOutcome::Answered(status))
        }
        Err(response) => (response, HandlerOutcome::Aborted),
    };
    match auth {
        Some(auth) => auth.settle(response, outcome),
        None => SettledResponse::Ready(response, ResponseFacts::default()),
    }
}

/// Writes the policy onto a response.
fn finished(
    policy: Option<ResponsePolicy>,
    response: Response,
    facts: ResponseFacts,
    span: &Span,
) -> Response {
    let response = match policy {
        Some(policy) => policy.apply(response, facts),
        None => response,
    };
    span::responded(span, &response);
    response
}

impl Running {
    fn new(
        stage: Work,
        policy: ResponsePolicy,
        auth: Option<Arc<RequestAuth>>,
        body: BodyProgress,
        timeout: Duration,
        span: &Span,
    ) -> Self {
        let (policy, span) = (Some(policy), span.clone());
        Self {
            stage,
            policy,
            auth,
            body,
            timeout,
            timer: KeptTimer::default(),
            has_deadline: false,
            span,
            #[cfg(feature = "metrics")]
            measured: None,
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Response> {
        let span = self.span.clone();
        let _entered = span.enter();
        if let Work::Gates(_) | Work::Target(_) | Work::Preflight(_) = self.stage {
            let done = ready!(self.poll_target(context));
            self.stage = Work::Done;
            match settle(self.auth.take(), done) {
                SettledResponse::Ready(response, facts) => {
                    return Poll::Ready(self.finish(response, facts));
                }
                SettledResponse::Later(commit) => self.stage = Work::Committing(commit),
            }
        }
        let Work::Committing(commit) = &mut self.stage else { return Poll::Pending };
        let (response, facts) =
            match catch_unwind(AssertUnwindSafe(|| commit.as_mut().poll(context))) {
                Ok(polled) => ready!(polled),
                Err(panic) => (panicked(&*panic), ResponseFacts::default()),
            };
        self.stage = Work::Done;
        Poll::Ready(self.finish(response, facts))
    }

    fn finish(&mut self, response: Response, facts: ResponseFacts) -> Response {
        #[cfg_attr(not(feature = "metrics"), expect(unused_mut, reason = "for metrics"))]
        let mut response = finished(self.policy.take(), response, facts, &self.span);
        #[cfg(feature = "metrics")]
        if let Some(measured) = self.measured.take() {
            measured.on_response(&mut response);
        }
        response
    }

    /// The response of the target, or an error response after a panic or the deadline.
    fn poll_target(&mut self, context: &mut Context<'_>) -> Poll<Result<Response, Response>> {
        if let Work::Gates(gates) = &mut self.stage {
            let polled = catch_unwind(AssertUnwindSafe(|| gates.as_mut().poll(context)));
            match ready!(self.in_time(polled, context)) {
                Ok(started) => self.stage = Work::Target(started.note(self.policy.as_mut())),
                Err(response) => return Poll::Ready(Err(response)),
            }
        }
        if let Work::Preflight(preflight) = &mut self.stage {
            let polled = catch_unwind(AssertUnwindSafe(|| preflight.as_mut().poll(context)));
            let answer = ready!(self.in_time(polled, context));
            return Poll::Ready(answer.map(|answer| self.preflight_answer(answer)));
        }
        let Work::Target(response) = &mut self.stage else { return Poll::Pending };
        let polled = catch_unwind(AssertUnwindSafe(|| response.as_mut().poll(context)));
        self.in_time(polled, context)
    }

    /// The response to a preflight. Only a refusal still needs the fields of the policy.
    fn preflight_answer(&mut self, answer: Result<Response, Refusal>) -> Response {
        match answer {
            Ok(granted) => {
                self.policy = None;
                granted
            }
            Err(refusal) => {
                if let Some(policy) = &mut self.policy {
                    policy.note_refused_preflight();
                }
                Problem::from(refusal).into_response()
            }
        }
    }

    /// The output of a poll, or an error response after a panic or the deadline.
    fn in_time<T>(
        &mut self,
        polled: thread::Result<Poll<T>>,
        context: &mut Context<'_>,
    ) -> Poll<Result<T, Response>> {
        match polled {
            Ok(Poll::Ready(done)) => Poll::Ready(Ok(done)),
            Ok(Poll::Pending) => {
                if !self.has_deadline {
                    self.has_deadline = true;
                    self.timer.set(self.timeout);
                }
                ready!(self.timer.poll(context));
                Poll::Ready(Err(self.timed_out()))
            }
            Err(panic) => Poll::Ready(Err(panicked(&*panic))),
        }
    }

    fn timed_out(&self) -> Response {
        let refusal =
            if self.body.is_pending() { Refusal::BodyTimedOut } else { Refusal::HandlerTimedOut };
        self.span.record("policy.code", refusal.code());
        emit(|| tracing::warn!(code = refusal.code(), "{}", refusal.title()));
        Problem::from(refusal).into_response()
    }
}

/// The client is gone. A requested logout is still carried out, and a commit that has begun is
/// completed.
impl Drop for Running {
    fn drop(&mut self) {
        let commit = match std::mem::replace(&mut self.stage, Work::Done) {
            Work::Committing(commit) => commit,
            Work::Gates(_) | Work::Target(_) | Work::Preflight(_) => {
                let Some(auth) = self.auth.take().filter(|auth| auth.takes_rights_away()) else {
                    return;
                };
                match auth.settle(Response::default(), HandlerOutcome::Aborted) {
                    SettledResponse::Ready(..) => return,
                    SettledResponse::Later(commit) => commit,
                }
            }
            Work::Done => return,
        };
        if let Ok(runtime) = Handle::try_current() {
            task::spawn(&runtime, async move { drop(commit.await) });
        }
    }
}

/// The response in place of a handler that panicked.
pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Response {
    Span::current().record("policy.code", Refusal::Internal.code());
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    log!(HandlerPanicked, panic = %text.unwrap_or("no message").escape_debug());
    Problem::from(Refusal::Internal).into_response()
}
