//! Gate 1: requests that parsers could read differently, and invalid request targets.

use std::ops::ControlFlow;

use super::{EndOf, Gate, GatedApp, RequestEnd, RequestView, tunnel};

#[inline(always)]
pub(super) fn check<'a, A: GatedApp<'a>>(
    app: &A,
    request: &RequestView<'a>,
) -> ControlFlow<EndOf<'a, A>> {
    let head = request.head;
    let checked = head.well_formed().and_then(|()| match tunnel(app, head).is_some() {
        // The target of CONNECT is the host to connect to, not a resource of this server.
        true => head.authority().map(drop),
        false => head.target().and(request.path.map(drop)),
    });
    match checked {
        Ok(()) => ControlFlow::Continue(()),
        Err(refusal) => ControlFlow::Break(RequestEnd::malformed(Gate::Wire, refusal)),
    }
}
